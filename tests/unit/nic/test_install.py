"""The driver on the disk: what the installer did, for which kernels it is built, and when it must not be restarted."""

from __future__ import annotations

import pathlib
import subprocess
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.install_state import INSTALLER_CODES, next_kernel

from tests.unit.decisions import decide
from tests.unit.roles.collection import ROOT, tasks

# An OEM card: the firmware step fails, the installation does not.
T11 = """Logs dir: /tmp/MLNX_OFED_LINUX.175111.logs
General log file: /tmp/MLNX_OFED_LINUX.175111.logs/general.log
...
The firmware for this device is not distributed inside Mellanox driver: 31:00.0 (PSID: LNV0000000016)
To obtain firmware for this device, please contact your HW vendor.
Failed to update Firmware.
See /tmp/MLNX_OFED_LINUX.175111.logs/fw_update.log
Installation passed successfully
To load the new driver, run:
/etc/init.d/openibd restart
"""


def test_t11_a_failed_firmware_step_is_not_a_failed_installation() -> None:
    assert decide("guest_driver", installer=T11, installer_rc=0)["installed"] == {
        "installed": True,
        "problem": "",
        "remedy": "",
    }


@pytest.mark.parametrize("code", [code for code in INSTALLER_CODES if code not in (0, 2)])
def test_each_exit_code_has_its_words_whatever_the_text_says(code: int) -> None:
    told = decide("guest_driver", installer=T11, installer_rc=code)["installed"]
    assert told["installed"] is False
    assert told["problem"] == INSTALLER_CODES[code]
    assert told["remedy"]


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (
            "The 6.5.0-14 kernel is installed, MLNX_OFED_LINUX does not have drivers available for this kernel.",
            "--add-kernel-support",
        ),
        ("Error: The current MLNX_OFED_LINUX is intended for debian12.1", "archive of this distribution"),
        ("General log file: /tmp/x/general.log\nfailed", "read /tmp/x/general.log"),
        ("tar: No space left on device", "free space"),
        ("", "general.log"),
    ],
)
def test_the_remedy_is_that_of_the_cause(text: str, remedy: str) -> None:
    assert remedy in decide("guest_driver", installer=text, installer_rc=1)["installed"]["remedy"]
    # exit code 0 without its last words is no success
    assert decide("guest_driver", installer=text, installer_rc=0)["installed"]["installed"] is False


NEW = (
    "mlnx-ofed-kernel/25.10.OFED.25.10.1.6.6.1, 5.15.0-91-generic, x86_64: installed\n"
    "mlnx-ofed-kernel/25.10.OFED.25.10.1.6.6.1, 5.15.0-9-generic, x86_64: built\n"
    "iser/25.10: added\n"
)
OLD = "mlnx-ofed-kernel, 5.2, 5.15.0-91-generic, x86_64: installed (WARNING! Diff between built and installed!)\n"
BOOT = ["/boot/vmlinuz-5.15.0-9-generic", "/boot/vmlinuz-5.15.0-91-generic"]


def gaps(text: str, modules: list[str], running: str, images: list[str]) -> list[str]:
    found: list[str] = decide(
        "guest_driver", dkms=text, dkms_modules=modules, running_kernel=running, kernel_images=images
    )["gaps"]
    return found


@pytest.mark.parametrize("text", [NEW, OLD])
def test_a_driver_for_the_running_and_the_next_kernel_is_no_gap(text: str) -> None:
    assert gaps(text, ["mlnx-ofed-kernel"], "5.15.0-91-generic", BOOT) == []
    assert gaps(text, ["mlnx-ofed-kernel"], "5.15.0-91-generic", []) == []


def test_each_gap_names_module_and_kernel() -> None:
    assert gaps(NEW, ["mlnx-ofed-kernel", "iser", "srp"], "5.15.0-9-generic", BOOT) == [
        "mlnx-ofed-kernel is built for the running kernel 5.15.0-9-generic",
        "iser is not built for the running kernel 5.15.0-9-generic",
        "iser is not built for the next kernel 5.15.0-91-generic",
        "DKMS does not know srp",
    ]
    with pytest.raises(LayerError, match="something new"):
        gaps("something new\n", [], "x", [])


def test_the_next_kernel_is_the_newest_by_number_not_by_letter() -> None:
    assert next_kernel([*BOOT, "/boot/vmlinuz-5.4.0-200-generic"]) == "5.15.0-91-generic"
    assert next_kernel([]) == ""


NO_RDMA_YET: dict[str, Any] = {"devices": [], "holders": []}
RDMA: dict[str, Any] = {"devices": [{"netdev": "ens192"}, {"netdev": ""}], "holders": []}


@pytest.mark.parametrize(
    ("rdma", "connection", "words"),
    [
        (RDMA, "ens160", []),
        (RDMA, "", []),
        (RDMA, "ens192", ["carries this Ansible connection"]),
        (RDMA, "ens192.111@ens192", ["carries this Ansible connection"]),
        (RDMA, "roce bond0 ens192 mlx5_core", ["roce carries this Ansible connection"]),
        (NO_RDMA_YET, "ens192 mlx5_core", ["ens192 carries this Ansible connection"]),
        (NO_RDMA_YET, "ens160 vmxnet3", []),
        ({**RDMA, "holders": ["nvidia_peermem", "nvme_rdma"]}, "ens160", ["nvidia_peermem", "nvme_rdma"]),
        ({"devices": [], "holders": None}, "ens160", ["could not be read"]),
    ],
)
def test_a_restart_is_refused_while_somebody_uses_the_device(
    rdma: dict[str, Any], connection: str, words: list[str]
) -> None:
    reasons = decide("guest_driver", rdma=rdma, connection=connection)["refusals"]
    assert len(reasons) == len(words)
    assert all(word in reason for word, reason in zip(words, reasons))


def test_all_that_the_session_goes_over_is_read(tmp_path: pathlib.Path) -> None:
    """`ip -o address` names a VLAN, a bond or a macvlan without what it lies on."""
    for name in ("vlan100/lower_bond0", "bond0/lower_ens192", "ens192/device"):
        (tmp_path / "class/net" / name).mkdir(parents=True)
    (tmp_path / "class/net/ens192/device/driver").symlink_to("/sys/bus/pci/drivers/mlx5_core")
    (tmp_path / "ip").write_text("#!/bin/sh\necho '7: vlan100    inet 10.1.0.11/24 scope global vlan100'\n")
    (tmp_path / "ip").chmod(0o755)
    named = "Guest | Read the interface with that address"
    (task,) = [one for one in tasks(ROOT / "roles/guest/tasks/restart_driver.yml") if one["name"] == named]
    done = subprocess.run(
        [*task["ansible.builtin.command"]["argv"][:3], "10.1.0.11"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "ROCEMESH_SYSFS_ROOT": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["vlan100", "bond0", "ens192", "mlx5_core"]
