"""How good the path is, witness by witness: read from the lab's simulated NICs, named in report and summary, and never
good where it was not read. What these witnesses say changes no verdict: they speak of speed, not of the way."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import pathlib
from typing import Any, Callable

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.rdma import RdmaReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Finished, Sysfs
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import page
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.page import markdown as render
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import Inputs, build

from tests.unit.nic.twin import CARD, GPU, Rack, run_tool
from tests.unit.proof.truth import Run
from tests.unit.results.report_samples import faults

RUN = Run("2x1 ring", nodes=2)
TRUTH = RUN.inputs()
GAPS = ("ats", "acs", "relaxed_ordering", "topology", "numa")
TOPOLOGY = "\tGPU0\tNIC0\tCPU Affinity\nGPU0\t X \t{link}\t0-15\nNIC0\t{link}\t X \t\n\nNIC Legend:\n\n  NIC0: mlx5_0\n"
ON, OFF = True, False
KEY = "pciPassthru.RelaxACSforP2P"


class LabNode:
    """One node as the lab prints it. ``good``: of each gap; ``without``: programs and files that are not there."""

    def __init__(self, place: pathlib.Path, good: dict[str, bool], machine: str, without: tuple[str, ...] = ()) -> None:
        self.place, self.machine, self.link, self.without = (
            place,
            machine,
            "PIX" if good["topology"] else "SYS",
            without,
        )
        card = copy.deepcopy(CARD)
        card["params"] = {
            "ATS_ENABLED": {"default": 0, "current": 1, "next": 1},
            "PCI_WR_ORDERING": {"default": 0, "current": 0, "next": 0},
        }
        card["numa_node"] = 0 if good["numa"] else 1
        card["relaxed_ordering"] = good["relaxed_ordering"]
        # Request and completion redirect; with DirectTrans, or without.
        card["above"] = [
            {"pci": "0000:3a:00.0", "acs": None},
            {"pci": "0000:3a:01.0", "acs": 0x5D if good["acs"] else 0x1D},
        ]
        self.rack = Rack(place, [card])
        self.rack.bus[card["pci"]] = {"ats_capability": True, "ats_enabled": good["ats"], "stu": 0}
        self.rack.bus[GPU]["numa_node"] = 0
        self.rack.write()
        self.sysfs = self.rack.simulate_sysfs("10.0.0.1")
        group = self.sysfs / "bus/pci/devices" / card["pci"] / "iommu_group"
        group.mkdir()
        (group / "type").write_text("DMA-FQ\n", encoding="utf-8")

    def which(self, name: str) -> str | None:
        return None if name in ("mlnx_qos", "dcb", "ethtool", "ip", *self.without) else f"/usr/bin/{name}"

    def run(self, argv: Any, timeout: float) -> Finished:
        name = argv[0].rsplit("/", 1)[-1]
        if name == "nvidia-smi":
            return Finished(0, TOPOLOGY.format(link=self.link), "")
        if name == "systemd-detect-virt":
            return Finished(0, "vmware\n", "") if self.machine == "vm" else Finished(1, "none\n", "")
        return run_tool(self.place, name, *argv[1:])

    def read(self) -> dict[str, Any]:
        reader = RdmaReader("gpu01", run=self.run, which=self.which, sysfs=Sysfs(str(self.sysfs)), kernel="5.15.0")
        return reader.read(node=False, path=True)


@functools.lru_cache(maxsize=None)
def path(ordering: bool, *settings: str) -> str:
    text = RUN.nccl() if ordering else RUN.nccl().replace(" [RO]", "")
    head = "".join(f"gpu01:1000:2000 [0] NCCL INFO {name} set by environment to {value}.\n" for name, value in
                   (setting.split("=") for setting in settings))  # fmt: skip
    return json.dumps(RUN.path(head + text))


def summary(
    first: dict[str, Any], second: dict[str, Any], ordering: bool = True, settings: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    """Both nodes' readings in a run that is PROVEN otherwise."""
    inputs = copy.deepcopy(TRUTH)
    for node, reading in (("gpu01", first), ("gpu02", second)):
        start = inputs["evidence"]["rdma"][node]["start"]
        start["path"] = reading.get("path")
        if reading:
            start["devices"][0]["pcie"] = reading["devices"][0]["pcie"]
    log = more.pop("log", None)
    inputs["evidence"]["nccl_path"] = RUN.path(log) if log else json.loads(path(ordering, *settings))
    relaxed = more.pop("relaxed", None)
    if relaxed is not None:
        inputs["layers"]["vm"]["found"] = {"gpu01": {KEY: relaxed}, "gpu02": {KEY: "TRUE"}}
    return build(Inputs(run_id="x", **inputs, **more))


def said(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {one["name"]: (one["state"], one["evidence"]) for one in found["verdict"]["witnesses"]}


@pytest.fixture(name="sound", scope="module")
def fixture_sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What a node without any gap prints: on bare metal, and in a VM."""
    good = dict.fromkeys(GAPS, True)
    return {kind: LabNode(tmp_path_factory.mktemp(kind), good, kind).read() for kind in ("bare_metal", "vm")}


@pytest.mark.parametrize("machine", ["bare_metal", "vm"])
@pytest.mark.parametrize(
    "states",
    list(itertools.product((ON, OFF), repeat=5)),
    ids=lambda states: "".join("+" if good else "-" for good in states),
)
def test_each_of_the_32_states_is_named_on_its_node_and_nowhere_else(
    tmp_path: pathlib.Path, sound: dict[str, dict[str, Any]], machine: str, states: tuple[bool, ...]
) -> None:
    good = dict(zip(GAPS, states))
    node = LabNode(tmp_path, good, machine)
    vm = {"relaxed": "TRUE" if good["acs"] else "FALSE"} if machine == "vm" else {}
    found = summary(node.read(), sound[machine], good["relaxed_ordering"], **vm)
    for name, state in good.items():
        told, evidence = said(found)[name]
        # What a VM cannot see is not good, whatever was asked for.
        expected = "missing" if name == "acs" and machine == "vm" and state else "agrees" if state else "disagrees"
        assert told == expected, (name, evidence)
        if expected == "missing":
            assert evidence.startswith("not read on gpu01 mlx5_0, gpu02 mlx5_0: a VM sees no switch")
        elif expected == "disagrees":
            assert "gpu01 mlx5_0" in evidence or name == "relaxed_ordering", evidence
            assert "gpu02 mlx5_0" not in evidence.split("not read")[0], evidence
    verdict = found["verdict"]
    assert verdict["state"] == "PROVEN" and ("path has gaps" in verdict["line"]) == (not all(states))
    gaps = [each for each in verdict["witnesses"] if each["name"] in GAPS and each["state"] != "agrees"]
    for text in (render(found), json.dumps(found), *([page.report(found, [], "")] if machine == "vm" else [])):
        for gap in gaps:
            assert gap["title"] in text
    assert len([text for text in verdict["besides"] if any(text.startswith(gap["title"]) for gap in gaps)]) == len(gaps)
    assert faults(found) == []


def test_what_nobody_read_is_told_as_not_read_and_is_never_good() -> None:
    found = summary({}, {})
    for name in (*GAPS, "pcie_link", "detour"):
        state, evidence = said(found)[name]
        assert state == "missing" and "not read" in evidence, (name, evidence)
    assert found["verdict"]["state"] == "PROVEN" and len(found["verdict"]["besides"]) == 7
    assert "| not read |" in render(found) and ">not read</span>" in page.report(found, [], "")


def unread(*place: str) -> Callable[[dict[str, Any]], None]:
    def change(reading: dict[str, Any]) -> None:
        holder = reading["path"]["nics"]["mlx5_0"] if place[0] == "nic" else reading["path"]
        holder[place[-1]] = None

    return change


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("ats", unread("nic", "ats"), "not read on gpu01 mlx5_0: configuration space"),
        ("acs", unread("nic", "ports_above"), "not read on gpu01 mlx5_0: the ports above"),
        ("relaxed_ordering", unread("nic", "relaxed_ordering"), "not read on gpu01 mlx5_0: DevCtl"),
        ("topology", unread("node", "links"), "not read on gpu01 mlx5_0: nvidia-smi"),
        ("numa", unread("nic", "numa_node"), "not read on gpu01 mlx5_0: the bus"),
        ("numa", unread("node", "gpus"), "not read on gpu01 mlx5_0: no GPU"),
        ("pcie_link", unread("nic", "max_read_request"), "not read on gpu01 mlx5_0: width"),
        ("acs", unread("node", "machine"), "a VM sees no switch"),
        ("pcie_link", unread("node", "nics"), "not read on gpu01"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_a_single_thing_that_was_not_read_is_not_good(
    sound: dict[str, dict[str, Any]], name: str, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    reading = copy.deepcopy(sound["bare_metal"])
    change(reading)
    state, evidence = said(summary(reading, sound["bare_metal"]))[name]
    assert state == "missing" and words in evidence


def test_a_node_without_tools_and_without_the_right_to_read_says_why(tmp_path: pathlib.Path) -> None:
    node = LabNode(tmp_path, dict.fromkeys(GAPS, True), "vm", without=("nvidia-smi", "mlxconfig", "mstconfig"))
    config = node.sysfs / "bus/pci/devices/0000:3b:00.0/config"
    config.write_bytes(config.read_bytes()[:64])
    result = node.read()
    facts = result["path"]["nics"]["mlx5_0"]
    assert (facts["ats"], facts["max_payload"], facts["ports_above"], result["path"]["links"]) == (None, None, None, [])
    assert facts["firmware"] == {"ATS_ENABLED": None, "PCI_WR_ORDERING": None}
    told = {entry["what"]: entry["why"] for entry in result["unreadable"]}
    assert "only 64 of 4096 bytes" in told["mlx5_0 ATS"] and "mlxconfig" in told["PCI_WR_ORDERING of mlx5_0"]


# rule -> [RO] in the log, NCCL_IB_PCI_RELAXED_ORDERING, PCI_WR_ORDERING, state, words
ORDERING: dict[str, tuple[bool, str, str, str, str]] = {
    "switched-off": (False, "0", "per_mkey", "disagrees", "switched off by NCCL_IB_PCI_RELAXED_ORDERING=0"),
    "asked-for-in-vain": (False, "1", "per_mkey", "disagrees", "although NCCL_IB_PCI_RELAXED_ORDERING=1 asked"),
    "not-chosen": (False, "", "per_mkey", "disagrees", "neither asked for nor chosen"),
    "forced": (False, "", "force_relax", "agrees", "the firmware forces it"),
    "in-use": (True, "", "per_mkey", "agrees", "in use by NCCL"),
}


@pytest.mark.parametrize("rule", ORDERING)
def test_relaxed_ordering_is_asked_for_allowed_and_in_use(sound: dict[str, dict[str, Any]], rule: str) -> None:
    ordering, asked, firmware, state, words = ORDERING[rule]
    reading = copy.deepcopy(sound["bare_metal"])
    reading["path"]["nics"]["mlx5_0"]["firmware"]["PCI_WR_ORDERING"] = firmware
    settings = (f"NCCL_IB_PCI_RELAXED_ORDERING={asked}",) if asked else ()
    told, evidence = said(summary(reading, reading, ordering, settings))["relaxed_ordering"]
    assert told == state and words in evidence


def test_one_host_without_relaxed_ordering_is_named_whatever_the_others_say(sound: dict[str, dict[str, Any]]) -> None:
    lines = RUN.nccl().splitlines(keepends=True)
    text = "".join(line.replace(" [RO]", "") if "gpu02:" in line else line for line in lines)
    assert said(summary(sound["bare_metal"], sound["bare_metal"]))["relaxed_ordering"][0] == "agrees"
    state, evidence = said(summary(sound["bare_metal"], sound["bare_metal"], log=text))["relaxed_ordering"]
    assert state == "disagrees" and "on gpu02 (no [RO]" in evidence and "gpu01" not in evidence


def test_a_flat_bus_is_no_gap_where_nccl_is_given_a_topology(sound: dict[str, dict[str, Any]]) -> None:
    reading = copy.deepcopy(sound["vm"])
    reading["path"]["links"] = [{"gpu": "GPU0", "nic": "mlx5_0", "link": "PHB"}]
    assert said(summary(reading, reading))["topology"][0] == "disagrees"
    state, evidence = said(summary(reading, reading, True, ("NCCL_TOPO_FILE=/etc/rocemesh/topology.xml",)))["topology"]
    assert state == "agrees" and "/etc/rocemesh/topology.xml" in evidence


@pytest.mark.parametrize(
    ("rule", "iommu", "state"),
    [("identity", "identity", "agrees"), ("none", "none", "agrees"), ("translates", "DMA", "disagrees"),
     ("not-told", None, "missing")],
    ids=str,
)  # fmt: skip
def test_without_translation_nothing_needs_ats(
    sound: dict[str, dict[str, Any]], rule: str, iommu: str | None, state: str
) -> None:
    reading = copy.deepcopy(sound["bare_metal"])
    reading["path"]["nics"]["mlx5_0"].update(ats="off", iommu=iommu)
    assert said(summary(reading, reading))["ats"][0] == state


def test_a_vm_with_the_key_absent_redirects(sound: dict[str, dict[str, Any]]) -> None:
    state, evidence = said(summary(sound["vm"], sound["vm"], relaxed="FALSE"))["acs"]
    assert state == "disagrees" and "gpu01 mlx5_0" in evidence and KEY in evidence


@pytest.mark.parametrize(
    ("change", "state", "words"),
    [
        ({"current_link_width": 8}, "disagrees", "8 of 16 lanes: gpu01 mlx5_0"),
        ({"current_link_speed": 8.0}, "disagrees", "8 of 16 GT/s: gpu01 mlx5_0"),
        ({"max_payload": 128}, "disagrees", "MaxPayload 128 bytes, 256 or more is usual: gpu01"),
        ({"max_read_request": 128}, "disagrees", "MaxReadReq 128 bytes, 512 or more is usual: gpu01"),
        ({"max_read_request": 512}, "agrees", "MaxReadReq is below 4096 bytes, which may cost speed (1 of 2)"),
        ({}, "agrees", "2 NICs run as wide and as fast as they can"),
    ],
    ids=["width", "speed", "payload", "read-request", "small-read-request", "sound"],
)
def test_pcie_width_speed_and_sizes(
    sound: dict[str, dict[str, Any]], change: dict[str, Any], state: str, words: str
) -> None:
    reading = copy.deepcopy(sound["bare_metal"])
    for key, value in change.items():
        holder = reading["path"]["nics"]["mlx5_0"] if key.startswith("max_") else reading["devices"][0]["pcie"]
        holder[key] = value
    told, evidence = said(summary(reading, sound["bare_metal"]))["pcie_link"]
    assert told == state and words in evidence


def perftest(memory: str, gb_s: float) -> dict[str, Any]:
    row = {"from": "gpu01", "to": "gpu02", "test": "ib_write_bw", "size_bytes": 1048576, "bidirectional": "no"}
    return {**row, "memory": memory, "gb_s": gb_s}


def bandwidth(path_name: str, seconds: float) -> dict[str, Any]:
    return {"network": "resnet50", "path": path_name, "ranks": 2, "size_bytes": 10**9, "seconds": [seconds]}


@pytest.mark.parametrize(
    ("kind", "rows", "state", "words"),
    [
        (
            "bandwidth",
            [bandwidth("gpu_direct", 0.1), bandwidth("gpu_host", 0.1)],
            "disagrees",
            "not faster than the de",
        ),
        (
            "bandwidth",
            [bandwidth("gpu_direct", 0.2), bandwidth("gpu_host", 0.1)],
            "disagrees",
            "5 GB/s by GPUDirect, 10",
        ),
        ("bandwidth", [bandwidth("gpu_direct", 0.1), bandwidth("gpu_host", 0.2)], "agrees", "10 GB/s by GPUDirect, 5 "),
        ("bandwidth", [bandwidth("gpu_direct", 0.0415), bandwidth("gpu_host", 0.0415)], "agrees", "limit of the wire"),
        ("bandwidth", [bandwidth("gpu_direct", 0.1)], "missing", "were not measured"),
        ("perftest", [perftest("GPU", 4.0), perftest("host", 12.0)], "disagrees", "GPU memory is slower than host mem"),
        ("perftest", [perftest("GPU", 12.0), perftest("host", 12.1)], "agrees", "12 GB/s by GPUDirect"),
        ("perftest", [perftest("host", 12.0)], "missing", "were not measured"),
    ],
    ids=["equal", "slower", "faster", "both-at-the-wire", "one-way", "gpu-slower", "gpu-alike", "one-memory"],
)
def test_gpudirect_is_judged_against_the_detour(kind: str, rows: list[Any], state: str, words: str) -> None:
    document = {"results": rows, "backend": "nccl", "simulated": False}
    found = build(Inputs(run_id="x", **copy.deepcopy(TRUTH), benchmarks={kind: document}))
    told, evidence = said(found)["detour"]
    assert told == state and words in evidence, (evidence, found["problems"])
    assert ("GPUDirect" in found["verdict"]["line"] or "slower" in found["verdict"]["line"]) == (state == "disagrees")
