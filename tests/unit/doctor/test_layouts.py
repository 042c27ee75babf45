"""Bundles in the layouts of other tools: the answer names the same cause, certainty and host as in ours."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path
from typing import Any, Callable

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.bundle import Piece
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=python, GPU has fallen off the bus.\n"
LINK = "mlx5_core 0000:13:00.0 ens192np0: Link down\n"
GOOD, SMALL = (
    f"hca_id:\tmlx5_0\n\t\t\tstate:\tPORT_ACTIVE (4)\n\t\t\tactive_mtu:\t{mtu}\n" for mtu in ("4096 (5)", "1024 (3)")
)
# Cause, host, and (host, output) -> text.
FAULTS: dict[str, tuple[str, dict[tuple[str, str], str]]] = {
    "gpu": ("gpu02", {("gpu02", "dmesg"): f"[8123.1] {XID}", ("gpu01", "dmesg"): "[1.0] quiet\n"}),
    "driver": (
        "gpu03",
        {
            ("gpu03", "nvidia-smi"): "Failed to initialize NVML: Driver/library version mismatch\n",
            ("gpu01", "dmesg"): "\n",
        },
    ),
    "mtu": ("gpu04", {(f"gpu0{n}", "ibv_devinfo"): SMALL if n == 4 else GOOD for n in (1, 2, 3, 4)}),
    "link": ("gpu02", {("gpu02", "dmesg"): f"[8123.1] {LINK}", ("gpu01", "lsmod"): "mlx5_core 1 0\n"}),
    "rdma": ("gpu01", {("gpu01", "ibv_devinfo"): "No IB devices found\n", ("gpu02", "ibv_devinfo"): GOOD}),
}
OURS = "hosts/{host}/{kind}.txt"
LAYOUTS = (
    "{host}/{kind}.txt",
    "{host}/var/log/{kind}",
    "logs/{host}/{kind}.log",
    "{host}-{kind}.log",
    "collected/{host}_{kind}.txt",
    "sosreport-{host}-2026-11-05-abcdefg/sos_commands/kernel/{kind}",
    "must-gather/quay/nodes/{host}/{kind}",
    "{kind}/{host}.txt",
)


def answer(fault: str, layout: str) -> tuple[str, str, list[str]]:
    _host, outputs = FAULTS[fault]
    found = diagnose(None, {layout.format(host=host, kind=kind): text for (host, kind), text in outputs.items()})
    first = found["findings"][0]
    return first["cause"], first["certainty"], first["hosts"]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_answer_in_another_layout_is_that_of_ours(layout: str, fault: str) -> None:
    ours = answer(fault, OURS)
    assert answer(fault, layout) == ours
    assert FAULTS[fault][0] in ours[2]


@pytest.mark.parametrize(
    "name", ["job.log", "job/a.log", "logs/train-4711.log", "unknown.log", "out/job1.log", "dmesg.txt"]
)
def test_path_without_a_host_names_none(name: str) -> None:
    assert Piece(name, iter(())).host == ""


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress], ids=["plain", "gzip", "xz"])
@pytest.mark.parametrize("coding", ["utf-8", "utf-16"])
def test_file_is_unpacked_and_decoded(tmp_path: Path, coding: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "kernel").write_bytes(pack(XID.encode(coding)))
    found: dict[str, Any] = diagnose(tmp_path / "kernel")
    assert (found["verdict"], found["findings"][0]["cause"]) == ("faulty", "gpu_fault")
    assert found["findings"][0]["evidence"][0]["file"] == "kernel"
