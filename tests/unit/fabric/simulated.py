"""Simulated fabrics: what perftest would print on them, with known faults. SIMULATED: no hardware was measured.

Values are drawn with numpy, rail by rail; `as_printed` sends a value through perftest's own table and its reader.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from typing import Any, Sequence

import numpy
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import judge, schedule
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.model import Fabric
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import perftest

LINE_RATE = 391.87  # Gb/s, what ib_write_bw shows on 400GbE
NOISE = 0.02
TABLE = (
    "                    RDMA_Write BW Test\n Device         : mlx5_0\n Mtu             : 4096[B]\n"
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
)


@dataclasses.dataclass(frozen=True)
class Fault:
    """``keeps``: what is left of the rate (0: dead); ``chance``: how often it shows (a lossy port: not always)."""

    kind: str  # host, nic, pair
    members: tuple[int, ...]
    keeps: float
    chance: float = 1.0

    @property
    def key(self) -> tuple[str, tuple[int, ...], str]:
        return self.kind, self.members, ""


def some_faults(fabric: Fabric, dice: random.Random, count: int, kinds: Sequence[str]) -> list[Fault]:
    """Faults that do not hide each other: a host's NIC is not bad a second time, nor a pair of it."""
    found: list[Fault] = []
    taken: set[int] = set()
    while len(found) < count:
        kind = dice.choice(kinds)
        keeps = dice.choice((0.0, round(dice.uniform(0.1, 0.75), 3)))
        chance = 1.0
        if kind == "host":
            members: tuple[int, ...] = (dice.randrange(len(fabric.hosts)),)
            nics = set(fabric.nics_of(members[0]))
        elif kind == "nic":
            members = (dice.randrange(len(fabric.hosts) * fabric.rails),)
            nics = set(members)
            chance = dice.choice((1.0, dice.uniform(0.6, 0.9)))
        else:
            rail = dice.randrange(fabric.rails)
            one, other = sorted(dice.sample(range(len(fabric.hosts)), 2))
            members = (fabric.nic(one, rail), fabric.nic(other, rail))
            nics = set(members)
        if taken.isdisjoint(nics):
            taken |= nics
            found.append(Fault(kind, members, keeps, chance))
    return found


class Fabricated:
    """A fabric with faults, which answers a schedule."""

    def __init__(self, fabric: Fabric, faults: Sequence[Fault], seed: int) -> None:
        self.fabric, self.faults = fabric, list(faults)
        self.dice = numpy.random.Generator(numpy.random.SFC64(seed))
        self.of_nic: dict[int, list[Fault]] = {}
        for fault in faults:
            nics = fabric.nics_of(fault.members[0]) if fault.kind == "host" else fault.members
            for nic in nics:
                self.of_nic.setdefault(nic, []).append(fault)
        self.gaps = bool(fabric.absent or len(fabric.hosts) % 2)
        self.on_rail: dict[int, list[int]] = {}  # hosts of the NICs with a fault
        for nic in self.of_nic:
            self.on_rail.setdefault(fabric.rail_of(nic), []).append(fabric.host_of(nic))

    def measure(self, rounds: Sequence[schedule.Round], *, printed: bool = False) -> list[judge.Sample]:
        """All values of a plan are drawn at once; each sweep gets a view of its own."""
        sweeps = [sweep for each in rounds for sweep in each]
        lengths = [len(sweep) for sweep in sweeps]
        if not any(lengths):
            return []
        drawn = self.dice.standard_normal(sum(lengths), dtype=numpy.float32)
        drawn *= LINE_RATE * NOISE
        drawn += LINE_RATE
        ends = list(itertools.accumulate(lengths))
        starts = [end - length for end, length in zip(ends, lengths, strict=True)]
        for sweep, start, end in zip(sweeps, starts, ends, strict=True):
            self._spoil(sweep, drawn[start:end])
        view = memoryview(drawn)
        return [
            judge.Sample(sweep, [as_printed(value) for value in view[start:end]] if printed else view[start:end])
            for sweep, start, end in zip(sweeps, starts, ends, strict=True)
        ]

    def _spoil(self, sweep: schedule.Sweep, values: Any) -> None:
        if isinstance(sweep, schedule.Tournament):
            if sweep.rail not in self.on_rail and not self.gaps:
                return
            if self.gaps:
                values[[index for index in range(len(sweep)) if not self.fabric.has(sweep[index])]] = numpy.nan
            touched = self._touched(sweep)
        else:
            touched = set(range(len(sweep)))
        for index in touched:
            one, other = sweep[index]
            for fault in {id(fault): fault for nic in (one, other) for fault in self.of_nic.get(nic, ())}.values():
                if fault.kind == "pair" and set(fault.members) != {one, other}:
                    continue
                if self.dice.random() < fault.chance:
                    values[index] *= fault.keeps

    def _touched(self, sweep: schedule.Tournament) -> set[int]:
        """Where in a round the NICs with a fault play."""
        found, last = set(), sweep.players - 1
        for host in self.on_rail.get(sweep.rail, ()):
            ahead = (host - sweep.number) % last if host != last else 0
            index = min(ahead, last - ahead)
            found.add(index)
        return found


def as_printed(value: float) -> float:
    """The value as ib_write_bw prints it and as this collection's reader reads it; a test that died prints no row."""
    if numpy.isnan(value):
        return value
    if value == 0:
        text = " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n"
    else:
        rate = value * 1e9 / 8 / 1048576 / 1e6
        text = TABLE + f" 1048576    20000            0.00               {value:.2f}              {rate:.6f}\n"
    result = perftest.read(text)
    rows = [row for test in result.parts for row in test.bandwidth.values()]
    return rows[0].gigabits_per_second if rows else 0.0


def check(
    fabric: Fabric,
    faults: Sequence[Fault],
    form: str,
    seed: int,
    *,
    printed: bool = False,
    plan: Sequence[schedule.Round] = (),
) -> tuple[judge.Places, int]:
    """The whole check: base rounds, then at most two times what is needed to be sure. Findings, and rounds in all.

    ``plan``: the base rounds of this form, if they are there already.
    """
    site = Fabricated(fabric, faults, seed)
    plan = plan or schedule.rounds(fabric, form)
    seen, used = site.measure(plan, printed=printed), len(plan)
    left = schedule.follow_up_limit(len(fabric.hosts))
    findings = judge.judge(fabric, seen)
    for _turn in range(2):
        tests = judge.wanted(fabric, findings)
        if not tests or (_turn and not findings.open):
            break
        more = schedule.pack(tests, fabric, left)
        left -= len(more)
        used += len(more)
        seen += site.measure(more, printed=printed)
        findings = judge.judge(fabric, seen)
    return findings, used
