# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver profile `current` with real apt and dpkg on a throw-away disk: installed, again, upgraded, interrupted."""

from __future__ import annotations

import pathlib
from typing import Any, Iterator

import pytest
import yaml

from tests.integration.nic.throwaway import REPOSITORY, Disk, checksum, disk, index, package, playbook, possible, sign
from tests.unit.nic.twin import TOOLS, Rack

WHY_NOT = possible()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

OLD, NEW = "3.2.1-044000", "3.3.0-010000"
KERNEL_PACKAGE = "mlnx-ofed-kernel-dkms"
BURNT = "/etc/SIMULATED-firmware-was-burnt"
# dkms says what this file says; without it, that the module is built for the running kernel.
DKMS = """#!/bin/sh
[ -e /etc/SIMULATED-dkms ] && exec cat /etc/SIMULATED-dkms
echo "mlnx-ofed-kernel/25.10, $(uname -r), x86_64: installed"
"""
# Ends dpkg in the middle, once.
KILLER = """#!/bin/sh
[ -e /etc/SIMULATED-kill ] || exit 0
rm /etc/SIMULATED-kill
kill -9 "$PPID"
sleep 5
"""


def media(directory: pathlib.Path) -> pathlib.Path:
    """A repository with two releases of the driver; each recommends the package that burns firmware."""
    directory.mkdir()
    for version in (OLD, NEW):
        package(directory, "doca-ofed", version, Depends=KERNEL_PACKAGE, Recommends="mlnx-fw-updater")
    package(directory, KERNEL_PACKAGE, "25.10", postinst=KILLER, **{"file:/usr/sbin/dkms": DKMS})
    package(directory, "mlnx-fw-updater", "25.10", postinst=f"#!/bin/sh\ntouch {BURNT}\n")
    index(directory)
    return directory


class Node:
    def __init__(self, shared: pathlib.Path, place: Disk) -> None:
        self.disk = place
        self.shared = shared
        (shared / "hw").mkdir()
        self.rack = Rack(shared / "hw")
        self.repository = media(shared / "media")

    def role(self, *options: str, **variables: Any) -> tuple[int, str]:
        variables = {"guest_ofed_profile": "current", "guest_ats_state": "queried", **variables}
        task = {"ansible.builtin.include_role": {"name": "rocemesh.multinode.guest"}, "vars": variables}
        book = self.shared / "play.yml"
        play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [task]}
        book.write_text(yaml.safe_dump([play]), encoding="utf-8")
        environment = {
            "PATH": f"{TOOLS}:/usr/sbin:/usr/bin:/sbin:/bin",
            "LAB_HW_DIR": str(self.rack.directory),
            "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
            "ANSIBLE_LOCALHOST_WARNING": "False",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LOCAL_TEMP": str(self.shared / "ansible"),
            "ANSIBLE_HOME": str(self.shared / "home"),
        }
        command = ["env", "-C", str(REPOSITORY), playbook(), "-i", "localhost,"]
        interpreter = ["-e", "ansible_python_interpreter=/usr/bin/python3"]
        done = self.disk.run(*command, *interpreter, *options, str(book), env=environment, timeout=400)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def deb(self) -> dict[str, Any]:
        """Options for a package that carries the repository, as doca-host does."""
        made = self.shared / "doca-host_3.2.1_amd64.deb"
        if not made.exists():
            target = "/usr/share/doca-host-3.2.1/repo"
            (self.shared / "carried").mkdir()
            source = f"deb [trusted=yes] file:{target} ./\n"
            package(self.shared, "doca-host", "3.2.1", tree=f"{self.repository}:/repo",
                    postinst=f"#!/bin/sh\nmkdir -p $(dirname {target}); ln -sfn /repo {target}\n",
                    **{"file:/etc/apt/sources.list.d/doca.list": source})  # fmt: skip
        return {
            "guest_doca_source": "deb",
            "guest_doca_deb_url": made.as_uri(),
            "guest_doca_deb_checksum": checksum(made),
        }

    def signed(self) -> dict[str, Any]:
        key = sign(self.repository, self.shared / "gnupg")
        return {
            "guest_doca_repository": "file:///mirror/media",
            "guest_doca_key_url": key.as_uri(),
            "guest_doca_key_checksum": checksum(key),
        }


@pytest.fixture(name="node")
def fixture_node(tmp_path: pathlib.Path) -> Iterator[Node]:
    shared = tmp_path / "shared"
    shared.mkdir()
    with disk(tmp_path / "disk", shared) as place:
        yield Node(shared, place)


def test_a_package_with_the_repository_installs_once_and_burns_no_firmware(node: Node) -> None:
    options = node.deb()
    code, output = node.role(**{**options, "guest_doca_deb_checksum": "sha256:" + "0" * 64})
    assert code != 0
    assert node.disk.version("doca-host") == ""

    code, output = node.role(**options)
    assert code == 0, output
    assert node.disk.version("doca-ofed") == NEW
    assert node.disk.version(KERNEL_PACKAGE) == "25.10"
    assert node.disk.version("mlnx-fw-updater") == ""
    assert not node.disk.exists(BURNT)
    assert "the driver is installed and not loaded" in output

    code, output = node.role(**options)
    assert code == 0, output
    assert "changed=0 " in output


def test_a_signed_repository_installs_a_version_and_upgrades_to_another(node: Node) -> None:
    options = node.signed()
    code, output = node.role(**options, guest_doca_version=OLD)
    assert code == 0, output
    assert node.disk.version("doca-ofed") == OLD

    for changed in (True, False):
        code, output = node.role(**options, guest_doca_version=NEW)
        assert code == 0, output
        assert ("changed=0 " not in output) is changed
    assert node.disk.version("doca-ofed") == NEW
    assert not node.disk.exists(BURNT)


def test_a_repository_that_somebody_changed_is_not_used(node: Node) -> None:
    options = node.signed()
    release = node.repository / "InRelease"
    release.write_text(release.read_text().replace("DOCA-HOST", "DOCA-EVIL"), encoding="utf-8")
    (node.repository / "Release").unlink()
    code, _output = node.role(**options)
    assert code != 0
    assert node.disk.version("doca-ofed") == ""


def test_a_killed_dpkg_is_finished_by_the_next_run(node: Node) -> None:
    options = node.deb()
    node.disk.run("touch", "/etc/SIMULATED-kill")
    code, output = node.role(**options)
    assert code != 0, output
    assert node.disk.version("doca-ofed") == ""
    assert node.disk.run("dpkg", "--audit").stdout

    code, output = node.role(**options)
    assert code == 0, output
    assert node.disk.version("doca-ofed") == NEW
    assert node.disk.run("dpkg", "--audit").stdout == ""
    assert not node.disk.exists(BURNT)


def test_a_driver_that_is_not_built_for_the_next_kernel_is_named(node: Node) -> None:
    options = node.deb()
    node.disk.run("touch", "/boot/vmlinuz-99.1.0-7-generic")
    code, output = node.role(**options)
    assert code != 0
    assert "mlnx-ofed-kernel is not built for the next kernel 99.1.0-7-generic" in output
    assert "dkms autoinstall" in output


def test_check_mode_installs_nothing(node: Node) -> None:
    code, output = node.role("--check", **node.deb())
    assert code == 0, output
    assert node.disk.version("doca-host") == ""
    assert not node.disk.exists("/etc/apt/preferences.d/rocemesh-no-firmware")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "guest_doca_repository, guest_doca_key_url, guest_doca_key_checksum"),
        ({"guest_doca_source": "deb", "guest_doca_deb_url": "file:///x"}, "needs guest_doca_deb_checksum"),
    ],
)
def test_no_source_or_no_checksum_stops_before_anything(node: Node, variables: dict[str, Any], words: str) -> None:
    code, output = node.role(**variables)
    assert code != 0
    assert words in output
    assert not node.disk.exists("/etc/apt/preferences.d/rocemesh-no-firmware")
