"""500 ordinary lines of sound machines and programs: beside a good run none costs the proof (harmless_lines.txt).

So does a settled Xid: the driver was loaded again, or the host booted, after it and before the run; in a system's log:
test_earlier_boots.py.
"""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from tests.unit.proof.attack_base import BASES, Site, diagnosed, judge, site_of

HERE = pathlib.Path(__file__)
XIDS = (8, 13, 31, 32, 38, 43, 45, 48, 61, 62, 63, 64, 68, 69, 74, 79, 92, 94, 95, 109, 119, 120, 121, 122, 140, 143)


class Line(NamedTuple):
    place: str
    program: str
    text: str


@functools.lru_cache(maxsize=None)
def lines() -> tuple[Line, ...]:
    found, head = [], ("", "")
    for text in HERE.with_name("harmless_lines.txt").read_text(encoding="utf-8").splitlines():
        if text.startswith("## "):
            place, _colon, program = text[3:].partition(": ")
            head = (place, program)
        elif text and not text.startswith("#"):
            found.append(Line(*head, text))
    return tuple(found)


def put(site: Site, line: Line, seconds: float) -> None:
    """Where such a line is seen: in the kernel's log within the run, in the job's output, or in a log beside it."""
    host = site.hosts[-1]
    if line.place == "kernel":
        site.kernel_says(host, line.text, seconds)
    elif line.place == "host":
        site.beside["gpu02.syslog.log"] = site.beside.get("gpu02.syslog.log", "") + line.text + "\n"
    else:
        site.training.insert(6, f"[1,0]<stderr>:{line.text}")


def proven(together: Sequence[Line]) -> bool:
    site = site_of(BASES[0])
    for line in together:
        put(site, line, 10.0)
    return judge(site) == "PROVEN"


def test_no_ordinary_line_costs_the_proof() -> None:
    """Ten at a time, of all places; those of a group that is not PROVEN each alone."""
    groups = [lines()[start::50] for start in range(50)]
    wrong = [line.text for group in groups if not proven(group) for line in group if not proven([line])]
    assert wrong == []


def test_lines_are_five_hundred_of_ten_programs_or_more() -> None:
    assert len(lines()) == len({line.text for line in lines()}) == 500
    assert len({line.program for line in lines()}) >= 10
    assert {line.place for line in lines()} == {"kernel", "job", "host"}


@pytest.mark.parametrize("place", ["kernel", "job", "host"])
def test_all_lines_of_a_place_together_cost_nothing(place: str) -> None:
    site = site_of(BASES[0])
    given = [line for line in lines() if line.place == place]
    for number, line in enumerate(reversed(given)):
        put(site, line, 30.0 - number / 20)
    assert judge(site) == "PROVEN"


@pytest.mark.parametrize("base", range(len(BASES)))
def test_groups_that_pytorch_ends_by_an_abort_cost_nothing(base: int) -> None:
    """Up to 2.5 `destroy_process_group` is ncclCommAbort (pull request 141510); a published log has these lines."""
    site = site_of(BASES[base])
    expected = judge(site)
    for rank in range(site.run.size):
        host = site.hosts[rank * len(site.hosts) // site.run.size]
        said = [f"misc/socket.cc:{line} -> 3" for line in (47, 58, 781, 832)]
        said.append(f"comm 0x55aa{rank:04x} rank {rank} nranks {site.run.size} cudaDev 0 busId 11000 - Abort COMPLETE")
        ends = [f"{host}:{1000 + rank}:{3000 + rank} [0] NCCL INFO {text}" for text in said]
        site.nccl += ends
        site.training += [f"[1,{rank}]<stdout>:{text}" for text in ends]
    assert judge(site) == expected != "NOT PROVEN"


@pytest.mark.parametrize("ended", [True, False])
def test_warning_of_the_launcher_explains_a_job_that_did_not_end(ended: bool) -> None:
    (line,) = [line for line in lines() if "accepted a TCP connection from what appears to be a" in line.text]
    site = site_of(BASES[0])
    put(site, line, 10.0)
    if not ended:
        site.training = [each for each in site.training if not each.startswith("[1,1]")]
    assert ("mpi_addresses_mixed" in {each["cause"] for each in diagnosed(site)["findings"]}) is not ended


@pytest.mark.parametrize("number", XIDS)
def test_xid_before_the_driver_was_loaded_again_is_settled(number: int) -> None:
    site = site_of(BASES[0])
    for text, seconds in (
        ("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024", -1800),
        ("nvidia-nvlink: Nvlink Core is being initialized, major device number 510", -1801),
        (f"NVRM: Xid (PCI:0000:3b:00): {number}, pid=4211, name=python3, Ch 00000008", -7200),
    ):
        site.kernel_says(site.hosts[0], text, seconds)
    assert judge(site) == "PROVEN"


def test_kernel_that_booted_after_an_xid_knows_nothing_of_it() -> None:
    """The log of the kernel begins anew, and the host was up for ten minutes when the run began."""
    site = site_of(BASES[0])
    said = site.said[site.hosts[0]]
    said["said"] = (
        "=== ROCEMESH uptime.txt\n660.00 1.0\n=== ROCEMESH dmesg.txt\n"
        "[    0.000000] Linux version 5.15.0-119-generic (buildd@lcy02-amd64-075)\n"
        "[    9.000000] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
        "=== ROCEMESH kernel-config.txt\nGPUDirect: P2PDMA y, nvidia_peermem y\n"
    )
    assert judge(site) == "PROVEN"
