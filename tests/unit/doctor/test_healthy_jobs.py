"""What real programs print around a job that went well names no cause; what is not known is a remark at most."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

from tests.unit.doctor.healthy_jobs import BANDWIDTH, HEAD, HVD, JOBS, TABLE
from tests.unit.doctor.silent_failures import SOUND_JOBS
from tests.unit.results.logs import log


def ask(text: str) -> dict[str, Any]:
    return diagnose(None, {"job.log": text})


@pytest.mark.parametrize(("name", "text"), JOBS, ids=[name for name, _text in JOBS])
def test_sound_job_with_harmless_lines_names_no_cause(name: str, text: str) -> None:
    found = ask(text)
    assert (found["findings"], found["verdict"] in ("healthy", "no_fault_seen")) == ([], True), name


@pytest.mark.parametrize("rail", ["", ":{0}", ":{0}:0", "::0"])
def test_links_of_all_nics_of_a_host_carry_a_job(rail: str) -> None:
    """As NCCL names NICs with and without rail and plane (src/transport/net_ib/init.cc)."""
    using = " ".join(f"[{{0}}]mlx5_{{0}}:1{rail}/RoCE".format(nic) for nic in range(8))
    nccl = f"node1:71000:71010 [0] NCCL INFO NET/IB : Using {using} [RO]; OOB eth0:192.0.2.11<0>\n"
    link = "        rate:            400 Gb/sec (4X NDR)\n"
    assert "figure" not in [gap["code"] for gap in ask(link + nccl + log("nccl_tests_h100.txt"))["not_shown"]]


def test_communicators_that_were_destroyed_came_to_their_end() -> None:
    """The line of their end has no commId, unlike those of their start since NCCL 2.16."""
    states = (("Init START", " commId 0x65e0"), ("Init COMPLETE", " commId 0x65e0"), ("Destroy COMPLETE", ""))
    lines = [
        f"gpu0{rank}:1:2 [0] NCCL INFO comm 0x7f0{rank} rank {rank} nranks 2 cudaDev 0 busId 1{name} - {state}"
        for state, name in states
        for rank in range(2)
    ]
    assert ask("\n".join(lines) + "\n")["shown"]
    assert not ask("\n".join(lines[:-1]) + "\n")["shown"]


def test_a_split_that_does_not_end_is_not_shown_as_begun_well() -> None:
    """NCCL prints no blank before the dash at its start (src/init.cc since 2.23)."""
    made = (
        "gpu01:1:2 [0] NCCL INFO ncclCommSplit comm 0x7f1 rank 0 nranks 2 cudaDev 0 busId 1 parent 0x7f0 color 0 key 0"
    )
    job = f"{made}- Init START\n{TABLE}"
    assert [gap["code"] for gap in ask(job)["not_shown"]][:1] == ["ranks"]
    assert "ranks" not in [gap["code"] for gap in ask(f"{job}{made} - Init COMPLETE\n")["not_shown"]]


def test_sound_jobs_are_forty() -> None:
    assert len({text for _name, text in JOBS}) == 40


LINE = "frobnicator: fatal: the driver exploded"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (f"{LINE}\n{HVD}", "no_fault_seen"),
        (f"{HVD}{LINE}\n", "cannot_tell"),
        (f"{LINE}\nstep 1 loss: 2.1\nstep 2 loss: 2.0\n", "no_fault_seen"),
        (f"step 1 loss: 2.1\nstep 2 loss: 2.0\n{LINE}\nstep 3 loss: 2.0\n", "cannot_tell"),
        (f"{HVD}step 1 loss: 2.1\n{LINE}\nstep 2 loss: 2.0\n", "cannot_tell"),
        (f"[    4.500000] {LINE}\n[  812.500000] mlx5_core 0000:41:00.0 ens1: Link up\n", "no_fault_seen"),
        (f"[  812.500000] {LINE}\n", "cannot_tell"),
    ],
    ids=["before", "behind", "before work", "amid work", "before a second job broke", "boot", "after boot"],
)
def test_unknown_trouble_counts_unless_a_job_outlived_it(text: str, verdict: str) -> None:
    found = ask(text)
    assert found["verdict"] == verdict
    assert LINE in str(found["unknown"])


def test_last_of_many_troubles_is_kept() -> None:
    many = "".join(f"frobnicator {chr(97 + n)}: fatal: exploded\n" for n in range(26))
    assert "frobnicator z" in str(ask(many)["unknown"])


def test_osu_table_that_is_cut_is_not_at_its_end() -> None:
    cut = BANDWIDTH[: BANDWIDTH.index("65536")]
    assert [gap["code"] for gap in ask(cut)["not_shown"]] == ["last_row"]
    assert ask(BANDWIDTH)["shown"] == ["job.log: OSU to 4194304 bytes"]


def test_rows_that_cannot_be_read_are_named() -> None:
    broken = re.sub(r"(?m)0$", "0node1:1:1 [0] NCCL INFO a line of NCCL", TABLE.replace(" OK", " OK "))
    found = ask(HEAD + broken)
    assert (found["verdict"], [gap["code"] for gap in found["not_shown"]]) == ("no_fault_seen", ["rows"])


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("gpu01:401:411 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", "peermem_missing"),
        ("gpu01:401:411 [0] NCCL INFO NCCL_TOPO_FILE set by environment to /opt/topo.xml", "gdr_distance"),
    ],
)
def test_line_that_its_program_calls_no_trouble_speaks_of_no_sound_job(line: str, cause: str) -> None:
    job = "\n".join(SOUND_JOBS["one host"])
    assert ask(f"{line}\n{job}\n")["findings"] == []
    assert (cause in str(ask(f"{line}\n")["findings"])) is ("Disabled" in line), "without a word of trouble"
    assert cause in str(ask(f"{line}\nthe job hangs\n")["findings"])
    assert cause in str(ask(f"{line}\n{job.replace('235.00', '12.00')}\n")["findings"]), "a slow job"


@pytest.mark.parametrize("zero", ["  0 lost carrier  0 no carrier  0 babble", "LinkDownedCounter:...............0"])
def test_counter_of_zero_is_no_trouble(zero: str) -> None:
    assert ask(f"Ethernet1/1 is up\n{zero}\n")["findings"] == []
