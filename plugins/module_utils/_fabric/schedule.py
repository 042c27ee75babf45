"""Who measures with whom, and when: no NIC is used twice at once. Pure.

*Full*: a round-robin tournament (circle method), n - 1 rounds for n hosts (n for an odd n), all rails at the same time;
each rail is a few rounds ahead of the one before it, so that the NICs of one host talk to different hosts at once.

*Quick*: log2 n + 8 rounds of that tournament, spread over it. Every NIC meets that many others, so that a NIC, port,
host, rail or switch that is bad is seen again and again; one bad pair among all pairs is not (that takes *full*).

*Cross*: the same, but rail q of one host with rail q + d of the other. *Bisection*: half of the hosts against the
other half, everybody at once.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Iterable, Iterator, Sequence, Union

from .._judge.sentences import refusal
from .._results.readers.reading import by_key
from .model import Fabric

Pair = tuple[int, int]
FORMS = ("quick", "full", "bisection")
QUICK_EXTRA = 8
# Start of the programs, the way until the server listens, and the time until both ends have ended. In seconds, on an
# idle host; option ``startup`` says more where hosts are slower.
STARTUP = 1.5


@dataclasses.dataclass(frozen=True)
class Tournament(Sequence[Pair]):
    """One round of one rail, computed and not stored. The first of a pair is the client; that alternates."""

    fabric: Fabric
    rail: int
    number: int
    shift: int = 0  # the server's rail is so many further

    @property
    def players(self) -> int:
        return len(self.fabric.hosts) + len(self.fabric.hosts) % 2

    def __len__(self) -> int:
        return self.players // 2

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        last, rails = self.players - 1, self.fabric.rails
        one, other = (self.number + index) % last, (self.number - index) % last if index else last
        if (self.number + index) % 2:
            one, other = other, one
        return one * rails + self.rail, other * rails + (self.rail + self.shift) % rails

    def __iter__(self) -> Iterator[Pair]:
        return map(self.__getitem__, range(len(self)))

    def real(self) -> list[Pair]:
        return list(filter(self.fabric.has, self))


Sweep = Union[Tournament, tuple[Pair, ...]]
Round = tuple[Sweep, ...]  # what runs at the same time: one sweep per rail


def pairs(sweeps: Round) -> list[Pair]:
    return [pair for sweep in sweeps for pair in (sweep.real() if isinstance(sweep, Tournament) else sweep)]


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a plan takes. ``seconds``: all of it; ``gigabytes``: what crosses the fabric, 0 if no rate is known."""

    rounds: int
    follow_up_rounds: int
    tests: int
    seconds: float
    gigabytes: float

    def sentence(self) -> str:
        load = f", about {self.gigabytes:,.0f} GB over the fabric" if self.gigabytes else ""
        return (
            f"{self.rounds} round(s) and at most {self.follow_up_rounds} to confirm, {self.tests:,} measurement(s), "
            f"at most {duration(self.seconds)}{load}. Every NIC of these hosts is busy meanwhile."
        )


def duration(seconds: float) -> str:
    minutes, rest = divmod(math.ceil(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def tournament_rounds(hosts: int) -> int:
    return max(1, hosts - 1 + hosts % 2)


def quick_rounds(hosts: int) -> int:
    return min(tournament_rounds(hosts), math.ceil(math.log2(max(2, hosts))) + QUICK_EXTRA)


def follow_up_limit(hosts: int) -> int:
    """Rounds that may be added to confirm; with the quick ones not more than 2 k log2 n for k = 3 faults."""
    return max(6, 6 * math.ceil(math.log2(max(2, hosts))) - quick_rounds(hosts))


def rounds(fabric: Fabric, form: str, *, cross_rail: bool = False, rails_at_once: int = 0) -> list[Round]:
    if form not in FORMS:
        raise refusal("form_unknown", form, known=", ".join(FORMS))
    hosts, rails = len(fabric.hosts), range(fabric.rails)
    total = tournament_rounds(hosts)
    if form == "bisection":
        made = [_bisection(fabric, turn) for turn in range(min(4, max(1, hosts // 2)))]
    else:
        count = total if form == "full" else quick_rounds(hosts)
        stride = max(1, total // fabric.rails)
        # The number of the round on each rail, and how many rails further the server is.
        starts = [([index * total // count + rail * stride for rail in rails], 0) for index in range(count)]
        if cross_rail:
            starts += [([shift * total // fabric.rails] * fabric.rails, shift) for shift in rails[1:]]
        made = [
            tuple(Tournament(fabric, rail, numbers[rail] % total, shift) for rail in rails) for numbers, shift in starts
        ]
    step = rails_at_once or fabric.rails
    return [each[first : first + step] for each in made for first in range(0, fabric.rails, step)]


def _bisection(fabric: Fabric, turn: int) -> Round:
    """Halves as they stand in the list: hosts of one switch should stand together."""
    half = len(fabric.hosts) // 2
    sweeps = []
    for rail in range(fabric.rails):
        ends = [(fabric.nic(host, rail), fabric.nic(half + (host + turn) % half, rail)) for host in range(half)]
        present = enumerate(filter(fabric.has, ends))
        sweeps.append(tuple(pair if (index + turn) % 2 else pair[::-1] for index, pair in present))
    return tuple(sweeps)


def pack(tests: Iterable[Pair], fabric: Fabric, limit: int) -> list[Round]:
    """At most ``limit`` rounds in which no NIC is used twice, each test in the first that has room, if one has."""
    busy: list[set[int]] = []
    members: list[list[Pair]] = []
    for pair in tests:
        place = next((index for index, used in enumerate(busy) if used.isdisjoint(pair)), len(busy))
        if place >= limit:
            continue
        if place == len(busy):
            busy.append(set())
            members.append([])
        busy[place].update(pair)
        members[place].append(pair)
    by_rail = [by_key((tuple(map(fabric.rail_of, pair)), pair) for pair in found) for found in members]
    return [tuple(tuple(found) for _rails, found in sorted(rails.items())) for rails in by_rail]


def cost(
    fabric: Fabric,
    plan: Sequence[Round],
    *,
    seconds: float,
    programs: int,
    follow_up: int,
    bandwidth: int = 1,
    startup: float = STARTUP,
) -> Cost:
    """``seconds``: of one program; ``programs``: one after the other in a round; ``bandwidth``: so many load."""
    tests = gigabytes = 0.0
    rates = [fabric.port(nic).rate for nic in range(len(fabric.hosts) * fabric.rails)]
    for each in plan:
        for one, other in pairs(each):
            tests += programs
            gigabytes += bandwidth * seconds * min(rates[one], rates[other]) / 8
    return Cost(len(plan), follow_up, int(tests), (len(plan) + follow_up) * programs * (seconds + startup), gigabytes)


def refuse_too_long(wanted: Cost, limit: float, form: str) -> None:
    if wanted.seconds > limit:
        takes = duration(wanted.seconds)
        raise refusal("takes_too_long", limit, no_plan=True, form=form, takes=takes, limit=duration(limit))
