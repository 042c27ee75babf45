"""500 ordinary lines of sound machines and programs: beside a good run none costs the proof (harmless_lines.txt).

So does a settled Xid: the driver was loaded again, or the host booted, after it and before the run.
"""

from __future__ import annotations

import functools
import pathlib
from typing import NamedTuple

import pytest
import yaml

from tests.unit.proof.attack_base import BASES, Site, judge, site_of

HERE = pathlib.Path(__file__)
OPEN: dict[str, str] = yaml.safe_load(HERE.with_name("harmless_lines_open.yml").read_text(encoding="utf-8")) or {}
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


def proven(line: Line) -> bool:
    site = site_of(BASES[0])
    put(site, line, 10.0)
    return judge(site) == "PROVEN"


def test_no_ordinary_line_costs_the_proof() -> None:
    wrong = [line.text for line in lines() if line.text not in OPEN and not proven(line)]
    assert wrong == []


@pytest.mark.parametrize("text", sorted(OPEN))
def test_open_line_is_still_open(text: str) -> None:
    """If this fails, the line costs nothing any more: remove it from harmless_lines_open.yml."""
    (line,) = [line for line in lines() if line.text == text]
    assert not proven(line)


def test_lines_are_five_hundred_of_ten_programs_or_more() -> None:
    assert len(lines()) == len({line.text for line in lines()}) == 500
    assert len({line.program for line in lines()}) >= 10 and {line.place for line in lines()} == {"kernel", "job", "host"}
    assert len(OPEN) <= 1


@pytest.mark.parametrize("place", ["kernel", "job", "host"])
def test_all_lines_of_a_place_together_cost_nothing(place: str) -> None:
    site = site_of(BASES[0])
    given = [line for line in lines() if line.place == place and line.text not in OPEN]
    for number, line in enumerate(reversed(given)):
        put(site, line, 30.0 - number / 20)
    assert judge(site) == "PROVEN"


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


@pytest.mark.parametrize("number", XIDS)
def test_xid_before_the_host_booted_is_settled(number: int) -> None:
    site = site_of(BASES[0])
    site.beside["gpu01.kern.log"] = (
        f"Sep 20 10:00:00 gpu01 kernel: [61234.123456] NVRM: Xid (PCI:0000:3b:00): {number}, pid=4211, name=python3\n"
        "Sep 20 13:13:00 gpu01 kernel: [    0.000000] Linux version 5.15.0-119-generic (buildd@lcy02-amd64-075)\n"
        "Sep 20 13:13:01 gpu01 kernel: [    9.000000] nvidia: loading out-of-tree module taints kernel.\n"
        "Sep 21 14:13:30 gpu01 kernel: [90000.000000] docker0: port 1(veth3a1b2c3) entered forwarding state\n"
    )
    assert judge(site) == "PROVEN"
