# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver profile `current` with real apt and dpkg on a throw-away disk: installed, again, upgraded, interrupted."""

from __future__ import annotations

import pytest

from tests.integration.nic.media import BURNT, DOCA_NEW, DOCA_OLD
from tests.integration.nic.profile_node import Node

KERNEL_NEW = "26.01"


def test_a_package_with_the_repository_installs_once_and_burns_no_firmware(throwaway: Node) -> None:
    options = throwaway.deb()
    throwaway.refused(**{**options, "guest_doca_deb_checksum": "sha256:" + "0" * 64})
    assert throwaway.disk.version("doca-host") == ""

    output = throwaway.must(**options)
    assert throwaway.disk.version("doca-ofed") == DOCA_NEW
    assert throwaway.whole(KERNEL_NEW)
    assert throwaway.disk.version("mlnx-fw-updater") == ""
    assert not throwaway.disk.exists(BURNT)
    assert "the driver is installed and not loaded" in output

    assert "changed=0 " in throwaway.must(**options)


def test_a_signed_repository_installs_a_version_and_upgrades_to_another(throwaway: Node) -> None:
    options = throwaway.signed()
    throwaway.must(**options, guest_doca_version=DOCA_OLD)
    assert throwaway.disk.version("doca-ofed") == DOCA_OLD
    assert throwaway.whole(KERNEL_NEW)

    for changed in (True, False):
        output = throwaway.must(**options, guest_doca_version=DOCA_NEW)
        assert ("changed=0 " not in output) is changed
    assert throwaway.disk.version("doca-ofed") == DOCA_NEW
    assert throwaway.whole(KERNEL_NEW)
    assert not throwaway.disk.exists(BURNT)


def test_a_repository_that_somebody_changed_is_not_used(throwaway: Node) -> None:
    options = throwaway.signed()
    release = throwaway.shared / "media" / "InRelease"
    release.write_text(release.read_text().replace("DOCA-HOST", "DOCA-EVIL"), encoding="utf-8")
    (throwaway.shared / "media" / "Release").unlink()
    throwaway.refused(**options)
    assert throwaway.disk.version("doca-ofed") == ""


@pytest.mark.parametrize("stage", ["unpack", "configure"])
def test_a_killed_dpkg_is_finished_by_the_next_run(throwaway: Node, stage: str) -> None:
    options = throwaway.deb()
    throwaway.disk.run("touch", f"/etc/SIMULATED-kill-{stage}")
    throwaway.refused(**options)
    assert not throwaway.disk.exists(f"/etc/SIMULATED-kill-{stage}")
    assert throwaway.disk.version("doca-ofed") == ""
    assert throwaway.disk.run("dpkg", "--audit").stdout

    throwaway.must(**options)
    assert throwaway.disk.version("doca-ofed") == DOCA_NEW
    assert throwaway.whole(KERNEL_NEW)
    assert not throwaway.disk.exists(BURNT)


def test_a_killed_run_leaves_apt_to_itself_and_the_next_run_waits_for_it(throwaway: Node) -> None:
    options = throwaway.deb()
    throwaway.killed_and_again("Let dpkg finish them", **options)
    assert throwaway.disk.version("doca-ofed") == DOCA_NEW
    assert throwaway.whole(KERNEL_NEW)
    assert "changed=0 " in throwaway.must(**options)


def test_a_driver_that_is_not_built_for_the_next_kernel_is_named(throwaway: Node) -> None:
    options = throwaway.deb()
    throwaway.disk.run("touch", "/boot/vmlinuz-99.1.0-7-generic")
    output = throwaway.refused(**options)
    assert "mlnx-ofed-kernel is not built for the next kernel 99.1.0-7-generic" in output
    assert "dkms autoinstall" in output


def test_check_mode_installs_nothing(throwaway: Node) -> None:
    throwaway.must("--check", **throwaway.deb())
    assert throwaway.disk.version("doca-host") == ""
    assert not throwaway.disk.exists("/etc/apt/preferences.d/rocemesh-no-firmware")
