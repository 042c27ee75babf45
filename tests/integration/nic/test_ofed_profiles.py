"""The driver profile `current` with real apt and dpkg on a throw-away disk: installed, again, upgraded, interrupted."""

from __future__ import annotations

from tests.integration.nic.media import BURNT, DOCA_NEW, DOCA_OLD
from tests.integration.nic.profile_node import Node

KERNEL_NEW = "26.01"


def test_a_package_with_the_repository_installs_through_kills_once_and_burns_no_firmware(throwaway: Node) -> None:
    """One disk, one life: check mode; a wrong checksum; dpkg killed twice; whole; a kernel that has no driver."""
    options = throwaway.deb()
    throwaway.must("--check", **options)
    assert throwaway.disk.version("doca-host") == ""
    assert not throwaway.disk.exists("/etc/apt/preferences.d/rocemesh-no-firmware")

    throwaway.refused(**{**options, "guest_doca_deb_checksum": "sha256:" + "0" * 64})
    assert throwaway.disk.version("doca-host") == ""

    for stage in ("unpack", "configure"):
        throwaway.disk.run("touch", f"/etc/SIMULATED-kill-{stage}")
        throwaway.refused(**options)
        assert not throwaway.disk.exists(f"/etc/SIMULATED-kill-{stage}")
        assert throwaway.disk.version("doca-ofed") == ""
        assert throwaway.disk.run("dpkg", "--audit").stdout

    assert "and not loaded" in throwaway.must(**options)
    assert throwaway.disk.version("doca-ofed") == DOCA_NEW
    assert throwaway.whole(KERNEL_NEW)
    assert throwaway.disk.version("mlnx-fw-updater") == ""
    assert not throwaway.disk.exists(BURNT)
    assert "changed=0 " in throwaway.must(**options)

    throwaway.disk.run("touch", "/boot/vmlinuz-99.1.0-7-generic")
    output = throwaway.refused(**options)
    assert "the next kernel 99.1.0-7-generic" in output
    assert "dkms autoinstall" in output


def test_a_signed_repository_installs_a_version_through_a_kill_and_upgrades_to_another(throwaway: Node) -> None:
    """One disk, one life: a repository that somebody changed; ansible-playbook killed while it installs; an upgrade."""
    options = throwaway.signed()
    media = throwaway.shared / "media"
    signed, plain = (media / "InRelease").read_text(encoding="utf-8"), (media / "Release").read_bytes()
    (media / "InRelease").write_text(signed.replace("DOCA-HOST", "DOCA-EVIL"), encoding="utf-8")
    (media / "Release").unlink()
    throwaway.refused(**options)
    assert throwaway.disk.version("doca-ofed") == ""

    (media / "InRelease").write_text(signed, encoding="utf-8")
    (media / "Release").write_bytes(plain)
    # The killed run leaves apt to itself, and the next run waits for it.
    throwaway.killed_and_again("Configure half-configured packages", **options, guest_doca_version=DOCA_OLD)
    assert throwaway.disk.version("doca-ofed") == DOCA_OLD
    assert throwaway.whole(KERNEL_NEW)

    for changed in (True, False):
        output = throwaway.must(**options, guest_doca_version=DOCA_NEW)
        assert ("changed=0 " not in output) is changed
    assert throwaway.disk.version("doca-ofed") == DOCA_NEW
    assert throwaway.whole(KERNEL_NEW)
    assert not throwaway.disk.exists(BURNT)
