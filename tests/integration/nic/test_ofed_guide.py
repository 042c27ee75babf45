"""The driver profile `guide` with a real dpkg on a throw-away disk: installed, again, replaced, interrupted, with its
nv_peer_memory."""

from __future__ import annotations

from typing import Any

from tests.integration.nic import media
from tests.integration.nic.media import BURNT, OFED_NEW, OFED_OLD
from tests.integration.nic.profile_node import Node
from tests.integration.nic.throwaway import checksum

KERNEL_OLD, KERNEL_NEW = "5.2-OFED.5.2.1.0.4.1", "5.2-OFED.5.2.2.2.4.1"
ARGUMENTS = "/etc/SIMULATED-installer-arguments"


def runs(node: Node) -> list[str]:
    """The arguments of every run of the installer."""
    return node.disk.run("cat", ARGUMENTS).stdout.splitlines()


def test_it_installs_through_kills_once_replaces_only_if_told_and_burns_no_firmware(throwaway: Node) -> None:
    """One disk, one life: a wrong checksum; ansible-playbook killed while it installs; another release, whose
    installer's dpkg is killed twice."""
    more = {"guest_ofed_install_args": ["--add-kernel-support"]}
    old, new = {**throwaway.archive(OFED_OLD), **more}, {**throwaway.archive(OFED_NEW), **more}
    throwaway.refused(**{**old, "guest_ofed_checksum": "sha256:" + "0" * 64})
    assert not throwaway.disk.exists(ARGUMENTS)

    # The killed run leaves the installer to itself, and the next run waits for it, and runs it again.
    throwaway.killed_and_again("Wait for a running installer", **old)
    assert throwaway.whole(KERNEL_OLD)
    assert "changed=0 " in throwaway.must(**old)

    assert "does not replace" in throwaway.refused(**new)
    assert throwaway.whole(KERNEL_OLD)

    new["guest_allow_driver_replacement"] = True
    for stage in ("unpack", "configure"):
        throwaway.disk.run("touch", f"/etc/SIMULATED-kill-{stage}")
        output = throwaway.refused(**new)
        assert not throwaway.disk.exists(f"/etc/SIMULATED-kill-{stage}")
        assert "the installation failed (mlnxofedinstall ended with 1)" in output
        assert "general.log" in output
        # its first package is there and says that all is well
        assert throwaway.disk.run("ofed_info", "-s").stdout == f"MLNX_OFED_LINUX-{OFED_NEW}:\n"
        assert not throwaway.whole(KERNEL_NEW)

    assert "and not loaded" in throwaway.must(**new)
    assert throwaway.whole(KERNEL_NEW)
    assert "changed=0 " in throwaway.must(**new)
    assert runs(throwaway) == ["--force --without-fw-update -q --add-kernel-support"] * 5
    assert not throwaway.disk.exists(BURNT)


def test_an_installer_that_says_done_and_is_not_is_not_believed(throwaway: Node) -> None:
    options = throwaway.archive(OFED_OLD)
    options["guest_ofed_version"] = OFED_NEW
    wrong = throwaway.shared / f"MLNX_OFED_LINUX-{OFED_OLD}-{media.SYSTEM}-x86_64"
    script = 'cd "$1" && tar xzf "$2.tgz" && mv "$2" "$3" && tar czf "$2.tgz" "$3"'
    new = f"MLNX_OFED_LINUX-{OFED_NEW}-{media.SYSTEM}-x86_64"
    throwaway.disk.run("sh", "-c", script, "sh", str(throwaway.shared), wrong.name, new)
    options["guest_ofed_checksum"] = checksum(wrong.with_name(wrong.name + ".tgz"))
    output = throwaway.refused(**options)
    assert f"it passed, and MLNX_OFED {OFED_NEW} is not there: found {OFED_OLD} (other)" in output


# ---- nv_peer_memory -------------------------------------------------------------------------------------------------

MODPROBE = """#!/bin/sh
# SIMULATED modprobe
[ -e /etc/SIMULATED-modprobe ] && { cat /etc/SIMULATED-modprobe >&2; exit 1; }
mkdir -p "$ROCEMESH_SYSFS_ROOT/module/$1" && echo "$1" >> /etc/SIMULATED-modules
"""
SYSTEMCTL = """#!/bin/sh
# SIMULATED systemctl: has loaded what its files say, and reloads nothing.
case " $* " in
  *" show "*) echo NeedDaemonReload=no ;;
  *) echo "SIMULATED systemctl: $*" >&2; exit 1 ;;
esac
"""


def with_peer_memory(node: Node, version: str = media.NV) -> dict[str, Any]:
    node.rack.simulate_sysfs("10.78.0.11")
    node.disk.write("/usr/sbin/modprobe", MODPROBE)
    node.disk.write("/usr/bin/systemctl", SYSTEMCTL)
    media.build_tools(node.shared / "distribution")
    node.disk.write(
        "/etc/apt/sources.list.d/distribution.list", "deb [trusted=yes] file:/mirror/distribution ./\n", 0o644
    )
    made = media.nv_peer_memory(node.shared, version)
    return {
        **node.archive(),
        "guest_peer_memory": "nv_peer_memory",
        "guest_nv_peer_memory": {"url": made.as_uri(), "checksum": checksum(made)},
    }


def test_nv_peer_memory_is_built_by_its_packaging_explained_where_it_fails_and_loaded_at_every_boot(
    throwaway: Node,
) -> None:
    """One disk, one life: check mode; the archive of another tag; a module that cannot be loaded; the right one."""
    wrong = with_peer_memory(throwaway, "1.2-0")
    output = throwaway.must("--check", "--diff", **wrong)
    assert f"would install MLNX_OFED {OFED_NEW}" in output
    assert "build and install nv_peer_memory 1.1-0" in output
    assert not throwaway.disk.exists("/var/cache/rocemesh")
    assert not throwaway.disk.exists("/etc/systemd/system/rocemesh-peermem.service")

    output = throwaway.refused(**wrong)
    assert "guest_nv_peer_memory.version is 1.1-0 and the archive" in output
    assert throwaway.disk.version("nvidia-peer-memory-dkms") == ""

    made = media.nv_peer_memory(throwaway.shared)
    options = {**wrong, "guest_nv_peer_memory": {"url": made.as_uri(), "checksum": checksum(made)}}
    throwaway.disk.write(
        "/etc/SIMULATED-modprobe", "modprobe: ERROR: could not insert 'nv_peer_mem': Invalid argument\n"
    )
    output = throwaway.refused(**options)
    assert "nv_peer_memory 1.1-0 was built and" in output and "and not installed" in output
    assert "could not insert 'nv_peer_mem': Invalid argument" in output
    assert "rebuild it after OFED (dkms" in output

    throwaway.disk.run("rm", "/etc/SIMULATED-modprobe")
    throwaway.must(**options)
    assert throwaway.disk.run("dpkg", "--audit").stdout == ""
    assert throwaway.disk.version("nvidia-peer-memory") == media.NV
    assert throwaway.disk.version("nvidia-peer-memory-dkms") == media.NV
    assert throwaway.disk.exists("/usr/src/nvidia-peer-memory-1.1/dkms.conf")
    assert set(throwaway.disk.run("cat", "/etc/SIMULATED-modules").stdout.split()) == {"nv_peer_mem"}
    unit = throwaway.disk.run("cat", "/etc/systemd/system/rocemesh-peermem.service").stdout
    assert "ExecStart=/usr/bin/env modprobe nv_peer_mem\n" in unit
    wanted = "/etc/systemd/system/multi-user.target.wants/rocemesh-peermem.service"
    assert throwaway.disk.run("readlink", "-f", wanted).stdout == "/etc/systemd/system/rocemesh-peermem.service\n"
    assert "changed=0 " in throwaway.must(**options)

    throwaway.disk.write(
        "/etc/SIMULATED-dkms",
        "mlnx-ofed-kernel/1, " + throwaway.disk.run("uname", "-r").stdout.strip() + ", x86_64: installed\n",
    )
    assert "DKMS does not know nvidia-peer-memory" in throwaway.refused(**options)
