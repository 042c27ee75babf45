"""gpu_info with gather_state: what drivers of three schemas say of a GPU, its NVLinks, and the Xids of the kernel log.

Elements and their order are those of schemas v11 (driver 470), v12 (535) and v13 (590), as recorded for the tests of
influxdata/telegraf (plugins/inputs/nvidia_smi/testdata); values, UUIDs and addresses are made up.
"""

from __future__ import annotations

import pathlib
import re
import time
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.gpu_health import (
    bus_address,
    from_boot_on,
    parse_nvlinks,
    parse_state,
    parse_xids,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.gpus import GpuReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Finished

from tests.unit.nic.test_gpus import HOST, Machine

UUID = "GPU-00000000-0000-0000-0000-000000000000"
LINKS = {"max_link_width": "16x", "current_link_width": "16x"}


def elements(given: dict[str, Any]) -> str:
    return "".join(
        f"<{name}>{elements(inner) if isinstance(inner, dict) else inner}</{name}>" for name, inner in given.items()
    )


def log(schema: str, driver: str, gpu: dict[str, Any], bus: str = "00000000:18:00.0") -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_{schema}.dtd">
<nvidia_smi_log>
    <timestamp>Sun Nov 22 10:00:00 2026</timestamp>
    <driver_version>{driver}</driver_version>
    <attached_gpus>1</attached_gpus>
    <gpu id="{bus}">
        <uuid>{UUID}</uuid>
        {elements(gpu)}
    </gpu>
</nvidia_smi_log>
"""


V12 = {
    "product_name": "NVIDIA A100-SXM4-80GB",
    "persistence_mode": "Disabled",
    "gpu_reset_status": {"reset_required": "No"},
    "pci": {
        "pci_gpu_link_info": {
            "pcie_gen": {"max_link_gen": "4", "current_link_gen": "4", "max_host_link_gen": "4"},
            "link_widths": LINKS,
        }
    },
    "performance_state": "P0",
    "clocks_event_reasons": {
        "clocks_event_reason_gpu_idle": "Active",
        "clocks_event_reason_sw_power_cap": "Active",
        "clocks_event_reason_hw_slowdown": "Not Active",
        "clocks_event_reason_hw_thermal_slowdown": "Not Active",
    },
    "ecc_mode": {"current_ecc": "Enabled"},
    "ecc_errors": {
        "volatile": {
            "sram_correctable": "1",
            "sram_uncorrectable": "0",
            "dram_correctable": "2",
            "dram_uncorrectable": "0",
        },
        "aggregate": {"dram_uncorrectable": "9"},
    },
    "retired_pages": {"pending_retirement": "N/A"},
    "remapped_rows": "N/A",
    "fabric": {"state": "N/A", "status": "N/A"},
}
# Idle (its link sleeps), with NVSwitches, and with everything that newer drivers call otherwise.
V13 = {
    "product_name": "NVIDIA H100 80GB HBM3",
    "persistence_mode": "Enabled",
    "gpu_recovery_action": "None",
    "pci": {"pci_gpu_link_info": {"pcie_gen": {"max_link_gen": "5", "current_link_gen": "1"}, "link_widths": LINKS}},
    "performance_state": "P8",
    "clocks_event_reasons": {
        "clocks_event_reason_hw_slowdown": "Active",
        "clocks_event_reason_hw_power_brake_slowdown": "Active",
    },
    "ecc_mode": {"current_ecc": "Enabled"},
    "ecc_errors": {
        "volatile": {
            "sram_correctable": "0",
            "sram_uncorrectable_parity": "1",
            "sram_uncorrectable_secded": "0",
            "dram_correctable": "0",
            "dram_uncorrectable": "2",
        },
        "aggregate": {"sram_threshold_exceeded": "No"},
    },
    "remapped_rows": {"remapped_row_corr": "0", "remapped_row_pending": "Yes", "remapped_row_failure": "No"},
    "gpu_power_readings": {"power_state": "Requested functionality has been deprecated"},
    "fabric": {"state": "Completed", "status": "Success"},
}
# Volta under an older driver.
V11 = {
    "product_name": "Tesla V100-SXM2-32GB",
    "persistence_mode": "Enabled",
    "gpu_reset_status": {"reset_required": "Yes"},
    "clocks_throttle_reasons": {"clocks_throttle_reason_sw_thermal_slowdown": "Active"},
    "ecc_errors": {
        "volatile": {
            "single_bit": {"device_memory": "4", "total": "5"},
            "double_bit": {"device_memory": "1", "total": "1"},
        }
    },
    "retired_pages": {"pending_blacklist": "Yes"},
}
NOTHING: dict[str, Any] = {
    "index": 0,
    "uuid": UUID,
    "bus": "0000:18:00.0",
    "performance_state": "",
    "ecc": None,
    "ecc_corrected": None,
    "ecc_uncorrected": None,
    "remap_failed": None,
    "remap_pending": None,
    "pcie_width": None,
    "pcie_width_most": None,
    "pcie_gen": None,
    "pcie_gen_most": None,
    "slowed": [],
    "fabric": "",
    "fabric_status": "",
    "recovery": "",
}


@pytest.mark.parametrize(
    ("schema", "driver", "gpu", "told"),
    [
        (
            "v12",
            "535.54.03",
            V12,
            {
                "name": "NVIDIA A100-SXM4-80GB",
                "persistence": False,
                "performance_state": "P0",
                "ecc": True,
                "ecc_corrected": 3,
                "ecc_uncorrected": 0,
                "pcie_width": 16,
                "pcie_width_most": 16,
                "pcie_gen": 4,
                "pcie_gen_most": 4,
            },
        ),
        (
            "v13",
            "590.44.01",
            V13,
            {
                "name": "NVIDIA H100 80GB HBM3",
                "persistence": True,
                "performance_state": "P8",
                "ecc": True,
                "ecc_corrected": 0,
                "ecc_uncorrected": 3,
                "remap_failed": False,
                "remap_pending": True,
                "pcie_width": 16,
                "pcie_width_most": 16,
                "pcie_gen": 1,
                "pcie_gen_most": 5,
                "slowed": ["hw_power_brake_slowdown", "hw_slowdown"],
                "fabric": "Completed",
                "fabric_status": "Success",
            },
        ),
        (
            "v11",
            "470.57.02",
            V11,
            {
                "name": "Tesla V100-SXM2-32GB",
                "persistence": True,
                "ecc_corrected": 5,
                "ecc_uncorrected": 1,
                "remap_pending": True,
                "slowed": ["sw_thermal_slowdown"],
                "recovery": "GPU Reset",
            },
        ),
    ],
    ids=["v12", "v13", "v11"],
)
def test_each_schema_is_read_and_what_it_lacks_is_not_known(
    schema: str, driver: str, gpu: str, told: dict[str, Any]
) -> None:
    assert parse_state(log(schema, driver, gpu), HOST) == [{**NOTHING, **told}]


def test_a_driver_that_asks_for_something_is_heard() -> None:
    (gpu,) = parse_state(log("v13", "590.44.01", {"gpu_recovery_action": "Drain and Reset"}), HOST)
    assert gpu["recovery"] == "Drain and Reset"


@pytest.mark.parametrize("text", ["", "No devices were found\n", "<html></html>"])
def test_what_is_no_log_of_nvidia_smi_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse_state(text, HOST)


NVLINKS = f"""\
GPU 0: NVIDIA H100 PCIe (UUID: {UUID})
\t Link 0: 26.562 GB/s
\t Link 1: 26.562 GB/s
\t Link 2: <inactive>
GPU 1: NVIDIA H100 PCIe (UUID: GPU-00000000-0000-0000-0000-000000000001)
NVML: Unable to retrieve NVLink information as all links are inActive
GPU 2: NVIDIA A10 (UUID: GPU-00000000-0000-0000-0000-000000000002)
"""


def test_nvlinks_are_counted_and_a_gpu_without_any_is_left_out() -> None:
    dark = "GPU-00000000-0000-0000-0000-000000000001"
    assert parse_nvlinks(NVLINKS) == {UUID: (2, 3, 79.686), dark: (0, 0, None)}


def test_one_address_however_it_is_spelled() -> None:
    spellings = ("00000000:3B:00.0", "0000:3b:00", "3b:00.0", "0000:3B:00.0")
    assert {bus_address(text) for text in spellings} == {"0000:3b:00.0"}
    assert bus_address("00010001:00:00.0") == "10001:00:00.0"
    assert bus_address("unknown") == "unknown"


BOOT = "[    0.000000] Linux version 5.15.0-119-generic (buildd@lcy02) #129-Ubuntu SMP\n"
XIDS = """\
[ 8120.113201] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[ 8121.113201] NVRM: Xid (PCI:0000:3b:00 GPU-I:05 GPU-CI:00): 79, pid=1412, GPU has fallen off the bus.
[ 9120.113201] NVRM: Xid (PCI:0000:af:00): 31, pid=991, name=python3, Ch 00000010, intr 00000000. MMU Fault
[ 9130.113201] NVRM: GPU at PCI:0000:af:00: GPU-00000000-0000-0000-0000-000000000001
"""
BOOTED = 1_769_844_600.0  # 2026-01-31, half past seven
FOUND = [
    {"bus": "0000:3b:00.0", "xid": 79, "count": 2, "earlier": False, "last": "2026-01-31T09:45:21Z"},
    {"bus": "0000:af:00.0", "xid": 31, "count": 1, "earlier": False, "last": "2026-01-31T10:02:00Z"},
]
LOADED = (
    "[ {}.000100] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n",
    "[ {}.000100] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.105.08  Release Build\n",
    "[ {}.000100] gpu01 kernel: NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.105.08  Release Build\n",
)


def test_xids_are_counted_by_gpu() -> None:
    assert parse_xids(BOOT + XIDS, BOOTED) == FOUND
    assert from_boot_on(BOOT + XIDS) and not from_boot_on(XIDS)


@pytest.mark.parametrize("line", LOADED)
def test_xids_before_the_driver_was_loaded_for_the_last_time_stand_by_themselves(line: str) -> None:
    text = BOOT + line.format(12) + XIDS + line.format(9500) + XIDS.replace("[ 81", "[ 98").replace("[ 91", "[ 99")
    early, late = [dict(entry, earlier=True) for entry in FOUND], parse_xids(text, BOOTED)[2:]
    assert parse_xids(text, BOOTED)[:2] == early
    assert [(entry["xid"], entry["count"], entry["earlier"]) for entry in late] == [(79, 2, False), (31, 1, False)]
    assert late[0]["last"] > early[0]["last"]


def test_a_log_without_times_gives_none() -> None:
    assert [entry["last"] for entry in parse_xids(re.sub(r"(?m)^\[.*?\] ", "", XIDS), BOOTED)] == ["", ""]


def test_the_clock_of_the_log_is_the_hosts() -> None:
    begun = GpuReader("gpu01")._booted
    assert begun == pytest.approx(time.time() - time.monotonic(), abs=5)


JOURNAL = "journalctl -k -b -q --no-pager -o short-monotonic"


@pytest.mark.parametrize(
    ("dmesg", "journal", "told", "missed"),
    [
        pytest.param(Finished(0, BOOT + XIDS, ""), None, (FOUND, True), "", id="the ring has all"),
        pytest.param(Finished(0, BOOT, ""), None, ([], True), "", id="none since boot"),
        pytest.param(
            Finished(0, "[ 9000.0] eth0: link up\n", ""),
            Finished(0, BOOT.replace("]", "] gpu01 kernel:") + XIDS, ""),
            (FOUND, True),
            "",
            id="the journal has what the ring lost",
        ),
        pytest.param(
            Finished(0, XIDS, ""), None, (FOUND, False), "no longer reaches back", id="a ring that lost the boot"
        ),
        pytest.param(
            Finished(1, "", "dmesg: read kernel buffer failed: Operation not permitted"),
            None,
            (None, False),
            "neither dmesg nor journalctl",
            id="nobody may read it",
        ),
    ],
)
def test_no_xid_means_none_since_boot_only_where_the_log_reaches_back(
    tmp_path: pathlib.Path,
    dmesg: Finished,
    journal: Finished | None,
    told: tuple[Any, bool],
    missed: str,
) -> None:
    machine = Machine(tmp_path)
    machine.answers.update(
        {
            "nvidia-smi -q -x": Finished(0, log("v13", "590.44.01", V13), ""),
            "nvidia-smi nvlink -s": Finished(0, NVLINKS, ""),
            "dmesg": dmesg,
            JOURNAL: journal or Finished(1, "", "No journal files were found."),
        }
    )
    found = machine.reader().read(health=True)
    assert (found["xids"], found["since_boot"]) == told
    assert [missed in entry["why"] for entry in found["unreadable"]] == [True] * bool(missed)
    (gpu,) = found["state"]
    assert (gpu["nvlinks_active"], gpu["nvlinks"], gpu["nvlinks_gb_s"]) == (2, 3, 79.686)
    assert gpu["ecc_uncorrected"] == 3


def test_a_driver_that_does_not_tell_leaves_the_state_unknown(tmp_path: pathlib.Path) -> None:
    machine = Machine(tmp_path)
    machine.answers.update(
        {"nvidia-smi -q -x": Finished(9, "", "NVIDIA-SMI has failed"), "dmesg": Finished(0, BOOT, "")}
    )
    found = machine.reader().read(health=True)
    assert found["state"] is None
    assert found["unreadable"][0]["why"] == "NVIDIA-SMI has failed"


def test_a_machine_without_gpus_is_asked_nothing(tmp_path: pathlib.Path) -> None:
    machine = Machine.__new__(Machine)
    machine.root, machine.control, machine.answers = tmp_path, False, {}
    found = machine.reader().read(health=True)
    assert (found["state"], found["xids"], found["unreadable"]) == ([], [], [])
    assert "state" not in machine.read()
