"""Which link, NIC, host, switch or rail explains what was measured. Pure.

A measurement is bad if it lies below its rail's median by 12 %, and by six times what the rail scatters. Then the place
that explains most bad measurements is taken out, and what it does not explain is looked at again: a rail or switch
before a host, a host before a NIC, a NIC before one pair. A place is accused only after it was seen bad three times, by
others that are good among themselves; what was seen once is measured again (`wanted`) or reported as a remark.

Values: more is better, 0 is a failure, NaN was not measured (latency enters as its inverse).
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
import statistics
from typing import Mapping, Sequence

from .._results.readers.reading import by_key
from .model import Fabric
from .schedule import Pair, Sweep, Tournament

DROP = 0.12
SIGMAS = 6.0
MOST_SCATTER = 0.5
SHARE = 0.3  # of its measurements that a bad NIC spoils at least (a lossy port does not spoil all)
MOST = 0.75  # of the NICs of a host, or of the measurements of a switch
NEARLY_ALL = 0.9  # of the measurements of a rail: with one of two leaves dead, three quarters fail
ENOUGH = 3
REPEATS = 4
_SAMPLE = 5_000  # of a rail: its median is then known to 0.1 % where it scatters by 2 %


@dataclasses.dataclass(frozen=True)
class Sample:
    """One sweep and what it showed, value by value (a `Tournament` has places without a pair: NaN)."""

    sweep: Sweep
    values: Sequence[float]


@dataclasses.dataclass(frozen=True)
class Place:
    """``kind``: fabric, rail, switch, host, nic, pair or gpu; ``members``: rail, host(s), or NICs.

    ``ratio``: median of what was left; ``part``: of a host what no NIC is (a GPU, its driver).
    """

    kind: str
    members: tuple[int, ...]
    tests: int = 0
    bad: int = 0
    ratio: float = 0.0
    dead: bool = False
    direction: str = ""
    switch: str = ""
    part: str = ""

    @property
    def key(self) -> tuple[str, tuple[int, ...], str]:
        return self.kind, self.members, self.switch

    def nics(self, fabric: Fabric, *kinds: str) -> list[int]:
        """Of a host, a NIC, or one of these kinds; none of any other."""
        if self.kind == "host":
            return fabric.nics_of(self.members[0])
        return list(self.members) if self.kind in ("nic", *kinds) else []


@dataclasses.dataclass(frozen=True)
class Places:
    """``accused``: seen often enough; ``open``: to be measured again; ``medians``: per group of rails."""

    accused: tuple[Place, ...]
    open: tuple[Place, ...]
    medians: Mapping[Pair, float]
    tests: int
    bad: int


@dataclasses.dataclass
class _Group:
    """All measurements between two rails (usually one and the same)."""

    median: float = 0.0
    limit: float = 0.0
    tests: int = 0


def group_of(sweep: Sweep, fabric: Fabric) -> Pair:
    if isinstance(sweep, Tournament):
        return sweep.rail, (sweep.rail + sweep.shift) % fabric.rails
    one, other = sweep[0] if sweep else (0, 0)
    return fabric.rail_of(one), fabric.rail_of(other)


def judge(fabric: Fabric, seen: Sequence[Sample], drop: float = DROP, enough: int = ENOUGH) -> Places:
    """``enough``: bad measurements before a part is accused; 1 where each was repeated already."""
    groups = _groups(fabric, seen, drop)
    bad: list[tuple[int, int, float]] = []
    for each in seen:
        group = groups[group_of(each.sweep, fabric)]
        limit, median = group.limit, group.median or 1.0
        # At the speed of C; not so where the first value is NaN: then each is looked at.
        if not each.values or min(each.values) >= limit:
            continue
        bad += [(*each.sweep[index], value / median) for index, value in enumerate(each.values) if value < limit]
    return _Search(fabric, seen, bad, groups, enough).places(drop)


def _groups(fabric: Fabric, seen: Sequence[Sample], drop: float) -> dict[Pair, _Group]:
    result = {}
    for key, parts in by_key((group_of(each.sweep, fabric), each.values) for each in seen).items():
        total = sum(map(len, parts))
        step = max(1, total // _SAMPLE)
        sample = [value for part in parts for value in part[::step] if value > 0]
        group = _Group(tests=total)
        sample.sort()
        if sample:
            group.median = statistics.median(sample)
            high = sample[len(sample) * 9 // 10]
            if group.median < (1 - drop) * high:  # of few hosts, one bad one is in half of all pairs
                sample = [value for value in sample if value >= (1 - drop) * high]
                group.median = statistics.median(sample)
            scatter = statistics.median(abs(value - group.median) for value in sample) * 1.4826
            group.limit = group.median * (1 - min(MOST_SCATTER, max(drop, SIGMAS * scatter / group.median)))
        else:
            group.limit = 1e-9  # nothing but failures
        result[key] = group
    return result


@dataclasses.dataclass
class _Search:
    fabric: Fabric
    seen: Sequence[Sample]
    all_bad: Sequence[tuple[int, int, float]]
    groups: Mapping[Pair, _Group]
    enough: int

    def __post_init__(self) -> None:
        self.bad = list(self.all_bad)
        # Sweeps of a tournament by their rails; with most of a plan in them, a NIC is looked for in the others alone.
        self.tournaments = collections.Counter(
            group_of(each.sweep, self.fabric) for each in self.seen if isinstance(each.sweep, Tournament)
        )
        self.listed = collections.Counter(
            nic for each in self.seen if not isinstance(each.sweep, Tournament) for pair in each.sweep for nic in pair
        )
        self.found: list[Place] = []
        self.open: list[Place] = []

    def places(self, drop: float) -> Places:
        self._rails(drop)
        while self._next_place():
            pass
        self._pairs()
        medians = {key: group.median for key, group in self.groups.items()}
        tests = sum(group.tests for group in self.groups.values())
        return Places(tuple(self.found), tuple(self.open), medians, tests, len(self.all_bad))

    # ----------------------------------------------------------------------------------------------- whole rails

    def _rails(self, drop: float) -> None:
        """A rail that is bad as a whole has a low median of its own, or nothing but failures."""
        own = {key[0]: group for key, group in self.groups.items() if key[0] == key[1]}
        best = max((group.median for group in own.values()), default=0.0)
        rail_of = self.fabric.rail_of
        failed = ((rail_of(one), rail_of(other)) for one, other, ratio in self.all_bad if not ratio)
        failures = collections.Counter(one for one, other in failed if one == other)
        dead = {rail for rail in own if self._is_dead(rail, failures[rail])}
        worst = [rail for rail, each in own.items() if each.tests and (each.median < (1 - drop) * best or rail in dead)]
        if worst and len(worst) == len(own) and not any(self.groups[rail, rail].median for rail in worst):
            self._accept(Place("fabric", (), sum(map(self._played, own)), len(self.all_bad), dead=True), set(own))
            return
        two = len(self.fabric.hosts) == 2
        for rail in worst:
            played, ratio = self._played(rail), 0.0 if rail in dead else own[rail].median / best
            count = failures[rail] if rail in dead else played
            kind, members = ("pair", (rail, self.fabric.rails + rail)) if two else ("rail", (rail,))
            self._accept(Place(kind, members, played, count, ratio, rail in dead), {rail})

    def _is_dead(self, rail: int, bad: int) -> bool:
        # Counting is slow; with less than a tenth of the places it could not be.
        return 10 * bad >= self.groups[rail, rail].tests and bad >= NEARLY_ALL * self._played(rail)

    def _played(self, rail: int) -> int:
        return sum(
            sum(1 for value in each.values if not math.isnan(value))
            for each in self.seen
            if group_of(each.sweep, self.fabric) == (rail, rail)
        )

    def _accept(self, place: Place, rails: set[int]) -> None:
        self.found.append(place)
        self.bad = [test for test in self.bad if rails.isdisjoint(map(self.fabric.rail_of, test[:2]))]

    # ----------------------------------------------------------------------------------- switches, hosts and NICs

    def _next_place(self) -> bool:
        counts = collections.Counter(nic for one, other, _ratio in self.bad for nic in (one, other))
        hot = {nic for nic, count in counts.items() if count >= 2 and count >= SHARE * self._total(nic)}
        if not hot:
            return False

        def badness(nic: int) -> tuple[float, int, int]:
            return counts[nic] / self._total(nic), counts[nic], -nic

        worst = max(hot, key=badness)
        if self._is_one_pair(worst):
            # Only ever with one other: who of the two it is, no measurement says.
            hot = {nic for nic in hot if not self._is_one_pair(nic)}
            if not hot:
                return False
            worst = max(hot, key=badness)
        host, switch = self.fabric.host_of(worst), self.fabric.port(worst).switch
        mine, behind = self.fabric.nics_of(host), self.fabric.switches.get(switch, [])
        place = Place("nic", (worst,))
        if len(mine) > 1 and len(hot.intersection(mine)) >= max(2, MOST * len(mine)):
            place = Place("host", (host,))
        elif 2 < len(behind) < len(self.fabric.ports) and self._spoilt(behind, counts, worst):
            place = Place("switch", tuple(behind), switch=switch)
        nics = set(place.nics(self.fabric, "switch"))
        place = self._measured(place, nics)
        (self.found if place.bad >= self.enough else self.open).append(place)
        self.bad = [test for test in self.bad if nics.isdisjoint(test[:2])]
        return True

    def _spoilt(self, nics: Sequence[int], counts: Mapping[int, int], worst: int) -> bool:
        """Whether most of what a switch carried is bad; each NIC of a small one may look bad through a single other.

        So a good part has to be bad without the worst of them: repeats are measured with that one alone.
        """
        behind = set(nics)
        mine = [test for test in self.bad if test[0] in behind or test[1] in behind]
        rest = sum(worst not in test[:2] for test in mine)
        if rest < 2 or 4 * rest < len(mine):
            return False
        return sum(counts.get(nic, 0) for nic in nics) >= MOST * sum(map(self._total, nics))

    def _is_one_pair(self, nic: int) -> bool:
        others = {other if one == nic else one for one, other, _ratio in self.bad if nic in (one, other)}
        return len(others) == 1

    def _total(self, nic: int) -> int:
        """How often a NIC was measured."""
        rail = self.fabric.rail_of(nic)
        total = self.listed[nic] + sum(count for group, count in self.tournaments.items() if rail in group)
        return max(1, total)

    def _measured(self, place: Place, nics: set[int]) -> Place:
        mine = [test for test in self.bad if test[0] in nics or test[1] in nics]
        sent, received = (sum(test[end] in nics for test in mine) for end in (0, 1))
        ratios = [test[2] for test in mine]  # of one measurement at least: a place is described because it is bad
        direction = "" if (sent and received) or len(mine) < 2 else "sends" if sent else "receives"
        median, tests = statistics.median(ratios), sum(map(self._total, nics))
        return dataclasses.replace(
            place, tests=tests, bad=len(mine), ratio=median, dead=max(ratios) == 0, direction=direction
        )

    # ------------------------------------------------------------------------------------------------------- pairs

    def _pairs(self) -> None:
        """What no NIC, host or switch explains: one pair, if it was bad each time, or something seen once."""
        rest = by_key(((min(test[:2]), max(test[:2])), test) for test in self.bad)
        # How often each was measured at all; of very many pairs that is not looked for.
        ways = {way: pair for pair in rest for way in (pair, pair[::-1])} if len(rest) <= 64 else {}
        measured = collections.Counter(ways[way] for each in self.seen if ways for way in each.sweep if way in ways)
        for pair, tests in sorted(rest.items()):
            total = max(len(tests), measured[pair])
            ratios = [ratio for _one, _other, ratio in tests]
            place = Place("pair", pair, total, len(tests), statistics.median(ratios), max(ratios) == 0)
            if len(tests) >= self.enough and 2 * len(tests) >= total:
                self.found.append(place)
            elif 4 * len(tests) >= total:
                self.open.append(place)


def wanted(fabric: Fabric, places: Places) -> list[Pair]:
    """What to measure to be sure: each suspect with others that nothing speaks against, and open pairs themselves."""
    suspects: set[int] = set()
    for place in (*places.accused, *places.open):
        suspects.update(place.nics(fabric, "pair"))
    tests: list[Pair] = []
    for place in (*places.accused, *places.open):
        if place.kind in ("fabric", "rail", "switch"):
            continue
        if place.kind == "pair":
            tests += [place.members if turn % 2 else place.members[::-1] for turn in range(REPEATS)]  # type: ignore[misc]
        times = 2 if place.kind == "pair" else 1 if place.kind == "host" else REPEATS
        for nic in place.nics(fabric, "pair"):
            tests += _with_others(fabric, nic, suspects, times)
    return tests


def _with_others(fabric: Fabric, nic: int, suspects: set[int], times: int) -> list[Pair]:
    host, rail, hosts = fabric.host_of(nic), fabric.rail_of(nic), len(fabric.hosts)
    stride = 7919 if hosts % 7919 else 1  # a prime number: all others come up, neighbours far apart
    others = (fabric.nic((host + step * stride) % hosts, rail) for step in range(1, hosts))
    sound = (other for other in others if other not in suspects and other not in fabric.absent)
    return [(nic, other) if turn % 2 else (other, nic) for turn, other in enumerate(itertools.islice(sound, times))]
