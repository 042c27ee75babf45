"""What NVIDIA's tools printed on an H200 in a VM, driver 580.159.04 (serial number and UUID replaced)."""

from __future__ import annotations

import os
import pathlib
from typing import Sequence

from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.gpu_health import parse_state
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.gpu_state import parse_cuda, parse_gpus
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.gpus import GpuReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.rdma_state import parse_topology
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Finished, Sysfs

RECORDED = pathlib.Path(__file__).parent / "recorded" / "h200"
NAMES = {
    "nvidia-smi": "nvidia-smi.txt",
    "nvidia-smi -L": "nvidia-smi-L.txt",
    "nvidia-smi -q -x": "nvidia-smi-q.xml",
}
UUID = "GPU-00000000-0000-0000-0000-000000000001"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


def run(argv: Sequence[str], timeout: float) -> Finished:
    if os.path.basename(argv[0]) == "dmesg":
        return Finished(0, "[    0.000000] Linux version 6.18.44\n", "")
    name = NAMES.get(" ".join([os.path.basename(argv[0]), *argv[1:]]))
    # `nvidia-smi nvlink -s` printed nothing: no NVLink in this VM.
    return Finished(0, recorded(name) if name else "", "")


def test_the_state_of_the_gpu() -> None:
    (gpu,) = parse_state(recorded("nvidia-smi-q.xml"), "vm")
    assert (gpu["name"], gpu["uuid"], gpu["bus"]) == ("NVIDIA H200", UUID, "0000:00:06.0")
    assert (gpu["pcie_gen"], gpu["pcie_width"], gpu["pcie_gen_most"], gpu["pcie_width_most"]) == (5, 16, 5, 16)
    assert (gpu["ecc"], gpu["ecc_uncorrected"], gpu["ecc_corrected"]) == (True, 0, 0)
    assert (gpu["remap_failed"], gpu["remap_pending"], gpu["slowed"], gpu["recovery"]) == (False, False, [], "")
    assert (gpu["persistence"], gpu["performance_state"], gpu["fabric"]) == (True, "P0", "")


def test_the_reader_finds_nothing_wrong(tmp_path: pathlib.Path) -> None:
    device = tmp_path / "bus/pci/devices/0000:00:06.0"
    device.mkdir(parents=True)
    for name, text in (("class", "0x030200"), ("vendor", "0x10de"), ("device", "0x2335")):
        (device / name).write_text(text)
    (tmp_path / "module/nvidia").mkdir(parents=True)
    (tmp_path / "module/nvidia/version").write_text("580.159.04\n")
    tools = ("nvidia-smi", "dmesg")
    reader = GpuReader(
        "vm",
        run=run,
        which=lambda name: f"/usr/bin/{name}" if name in tools else None,
        sysfs=Sysfs(str(tmp_path)),
        control=True,
    )
    found = {**reader.read(), **reader.health(True)}
    assert found["gpus"] == [{"index": 0, "name": "NVIDIA H200", "uuid": UUID}] and found["usable"] is True
    assert found["driver"]["loaded"] == "580.159.04" and found["driver"]["cuda"] == "13.0"
    assert (found["xids"], found["since_boot"], found["unreadable"]) == ([], True, [])
    assert [gpu["nvlinks"] for gpu in found["state"]] == [None]


def test_the_list_and_the_banner() -> None:
    assert parse_gpus(recorded("nvidia-smi-L.txt"), "vm")[0]["name"] == "NVIDIA H200"
    assert parse_cuda(recorded("nvidia-smi.txt")) == "13.0"


def test_a_topology_without_a_nic_has_no_link() -> None:
    assert "\x1b[4m" in recorded("nvidia-smi-topo.txt"), "the heading is underlined"
    assert parse_topology(recorded("nvidia-smi-topo.txt"), "vm") == []
