"""The molecule playbooks of the driver profiles without the lab: a throw-away disk is the one node of gpu_vms."""

from __future__ import annotations

import pytest

from tests.integration.nic.media import BURNT, DOCA_NEW, DOCA_OLD, KERNEL_PACKAGE
from tests.integration.nic.profile_node import Node
from tests.integration.nic.throwaway import REPOSITORY, playbook


def play(node: Node, path: str) -> str:
    inventory = node.shared / "hosts.yml"
    inventory.write_text("gpu_vms: {hosts: {localhost: {ansible_connection: local}}}\n", encoding="utf-8")
    environment = {**node.environment, "MOLECULE_PROFILE_MEDIA": str(node.shared / "profile-media")}
    command = ["env", "-C", str(REPOSITORY), playbook(), "-i", str(inventory)]
    python = ["-e", "ansible_python_interpreter=/usr/bin/python3"]
    done = node.disk.run(*command, *python, str(REPOSITORY / "molecule" / path), env=environment, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("scenario", "package", "old", "new"),
    [
        ("guest_current", "doca-ofed", DOCA_OLD, DOCA_NEW),
        ("guest_guide", KERNEL_PACKAGE, "5.2-OFED.5.2.1.0.4.1", "5.2-OFED.5.2.2.2.4.1"),
    ],
    ids=["current", "guide"],
)
def test_install_upgrade_through_kills_and_a_full_disk_and_leave_nothing(
    throwaway: Node, scenario: str, package: str, old: str, new: str
) -> None:
    play(throwaway, "guest_profiles/media.yml")
    play(throwaway, f"{scenario}/converge.yml")
    assert throwaway.disk.version(package) == old

    told = play(throwaway, f"{scenario}/side_effect.yml")
    assert "no space left on device" in told
    assert throwaway.disk.version(package) == new
    assert throwaway.disk.run("dpkg", "--audit").stdout == ""
    assert not throwaway.disk.exists(BURNT)

    play(throwaway, f"{scenario}/cleanup.yml")
    assert throwaway.disk.version(KERNEL_PACKAGE) == throwaway.disk.version("doca-ofed") == ""
    assert not throwaway.disk.exists("/var/cache/rocemesh")
    assert not throwaway.disk.exists("/etc/apt/sources.list.d/rocemesh-doca.sources")
