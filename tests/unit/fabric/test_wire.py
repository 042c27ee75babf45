"""What comes back from the hosts: a quarter of a million tables are read quickly, and as perftest's reader does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import check, schedule, wire
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.model import Fabric
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import perftest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.fabric.test_check import printed, site

TITLE = "                    RDMA_Write BW Test\n Mtu             : 4096[B]\n"
COLUMNS = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
LATENCY = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]"
HEADS = (
    TITLE + COLUMNS,
    TITLE + COLUMNS.replace("Gb", "MiB"),
    TITLE + COLUMNS + "\n" + " local address: LID 0000 QPN 0x0088",
    TITLE + " 1048576 20000 0.00 390.00 0.046492\n" + COLUMNS,
    TITLE + COLUMNS + "\n 8388608 20000 0.00 350.00 0.005215",
    TITLE + COLUMNS + "\n" + TITLE.replace("Write", "Read") + COLUMNS,
    "[1,0]<stdout>:" + COLUMNS,
    TITLE + " #bytes     #iterations    BW average[Gb/sec]    something",
    " #bytes BW average[Gb/sec]",
    TITLE + LATENCY,
    TITLE,
    "",
)
ROWS = (
    " 1048576    20000            0.00               390.12              0.046506",
    " 1048576    20000            0.00               0.00              0.000000",
    " 1048576    20000            0.00               390.12              0.900000",
    " 1048576    20000            0.00               nan              0.046506",
    " 1048576    20000            0.00               -1.00              0.046506",
    " 1048576    20000            0.00               390.12",
    " 1048576    20000.5            0.00               390.12              0.046506",
    " 1048576    20000            0.00               390.12              0.046506  7",
    " 1048576    20000            0.00               390.12              1e-2",
    " 10485760000000000000    20000            0.00               390.12              0.046506",
    " 2    1000    1.70    3.02    1.75    1.78",
    " 1048576    20000\t0.00\r390.12  0.046506",
    " \u0661\u0662    20000            0.00               390.12              0.046506",
    " 8192",
    "no row",
    "",
)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What the reader was asked."""
    asked: list[Any] = []
    real = perftest.read
    monkeypatch.setattr(perftest, "read", lambda text: asked.append(text) or real(text))
    yield asked


def answer(head: str, lines: list[str]) -> wire.Replies:
    return wire.Replies({0: {"heads": [head], "tests": [[0, 0, 0, 1, "client", 0, lines, 0]]}}, ())


def by_the_reader(head: str, lines: list[str]) -> float:
    return wire._value("\n".join([head, *lines]), 0)[0]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("lines", [[row] for row in ROWS] + [[ROWS[0], ROWS[0]], [ROWS[0], ROWS[2]], []])
def test_a_row_is_worth_what_the_reader_makes_of_the_whole_table(head: str, lines: list[str]) -> None:
    rounds = [schedule.Round((((0, 1),),))]
    measured = wire.measured(rounds, 1, answer(head, lines))
    assert list(measured.seen[0][0].values) == [by_the_reader(head, lines)]
    assert not measured.simulated
    assert wire.measured(rounds, 1, answer(f"SIMULATED\n{head}", lines)).simulated


@settings(deadline=None)
@given(st.integers(1, 10**9), st.floats(0, 1e6), st.floats(0, 1e3), st.sampled_from(HEADS[:2]))
def test_any_row_is_worth_what_the_reader_says(size: int, average: float, rate: float, head: str) -> None:
    row = f" {size}    20000            0.00               {average:.2f}              {rate:.6f}"
    """None: the reader has to be asked, as the two figures of the row differ."""
    assert wire._quick_rate(head, [row]) in (None, by_the_reader(head, [row]))


def test_heads_are_read_once_and_rows_without_the_reader(readings: list[Any]) -> None:
    """Else the controller thinks longer about 256 hosts than a tenth of the measurements take."""
    wire._head.cache_clear()
    what = site(8, 2, form="full")
    outputs: list[str] = []
    while (part := check.next_part(what, outputs))["part"] != "done":
        readings.clear()
        outputs.append(printed(part))
    assert part["report"]["measured"]["ib_write_bw"]["tests"] == 8 * 7
    assert len(readings) == 1


def test_probes_are_judged_once_and_a_broken_line_stops_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged: list[int] = []
    real = check.reach.faults
    monkeypatch.setattr(check.reach, "faults", lambda *given, **named: judged.append(1) or real(*given, **named))
    what = site(6, 2)
    outputs: list[str] = []
    while (part := check.next_part(what, outputs))["part"] != "done":
        assert not judged
        outputs.append(printed(part, lambda pair: 150.0 if 9 in pair else 390.0))
    assert len(outputs) == 3 and judged == [1]
    with pytest.raises(wire.ParseError):
        check.next_part(what, [outputs[0].replace("}", "", 1)])


@pytest.mark.parametrize("hosts", [2, 3, 6, 7, 16])
@pytest.mark.parametrize("shift", [0, 1, 3])
def test_a_round_is_the_same_in_a_row_and_one_by_one(hosts: int, shift: int) -> None:
    fabric = Fabric(tuple(map(str, range(hosts))), 4, absent=frozenset({1, 6}))
    for number in range(schedule.tournament_rounds(hosts)):
        for rail in range(4):
            sweep = schedule.Tournament(fabric, rail, number, shift)
            assert list(sweep) == [sweep[index] for index in range(len(sweep))]
            assert sweep.real() == [pair for pair in sweep if fabric.has(pair)]
            ends = [nic for pair in sweep.real() for nic in pair]
            assert all(nic < hosts * 4 and nic not in fabric.absent for nic in ends)
