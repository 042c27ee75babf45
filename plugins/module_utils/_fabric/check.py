"""The whole check, part by part: probes, rounds of perftest, repeats of what was seen too seldom, answer. Pure.

Nothing is remembered between the parts but what they printed: the same input gives the same plan again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from typing import Any, Mapping, Sequence

from .._judge.sentences import refusal
from .._judge.xids import known_from
from .._layer import RefusedError
from .._results.readers.tags import lines_of
from . import counters, judge, reach, readings, report, schedule, wire

SCHEMA = 1
CONFIRMATIONS = 2
_LATENCY = ("ib_send_lat", "ib_write_lat", "ib_read_lat")
_BANDWIDTH = ("ib_write_bw", "ib_read_bw", "ib_send_bw")


@dataclasses.dataclass(frozen=True)
class Options:
    form: str = "quick"
    programs: tuple[str, ...] = ("ib_write_bw",)
    seconds: float = 1.0
    startup: float = schedule.STARTUP
    size: int = 1048576
    arguments: tuple[str, ...] = ()
    limit: float = 900.0
    cross_rail: bool = False
    rails_at_once: int = 0
    tos: int = 106
    mtu: int = 0
    port: int = 18600
    drop: float = judge.DROP
    networks: tuple[str, ...] = ()
    known_xids: tuple[str, ...] = ()

    def commands(self) -> list[list[str]]:
        found = []
        for program in self.programs:
            if program not in _BANDWIDTH + _LATENCY:
                raise refusal("program_unknown", program, known=", ".join(_BANDWIDTH + _LATENCY))
            size = [] if program in _LATENCY else ["--report_gbits", "-s", str(self.size)]
            found.append([program, "-F", "-D", f"{self.seconds:g}", *size, *self.arguments])
        return found


def options_from(given: Mapping[str, Any]) -> Options:
    kinds = {field.name: type(field.default) for field in dataclasses.fields(Options)}
    unknown = sorted(set(given) - set(kinds))
    if unknown:
        raise RefusedError("is not known", host="fabric", thing="options", value=unknown[0], remedy="correct its name")
    made = Options(**{key: _as(kinds[key], value) for key, value in given.items()})
    if made.seconds < 1 or made.seconds != int(made.seconds):
        raise refusal("part_of_second", made.seconds)
    return made


def _as(kind: type, value: Any) -> Any:
    """A value as its default is; a number may be a text."""
    if kind is tuple:  # of a list, or of a text as -e gives it
        return tuple(value.replace(",", " ").split()) if isinstance(value, str) else tuple(map(str, value))
    return kind(value) if kind in (int, float) else value


def next_part(site: Mapping[str, Any], outputs: Sequence[str]) -> dict[str, Any]:
    options = options_from(site.get("options") or {})
    known = known_from(options.known_xids)
    found = readings.fabric_from(site["hosts"], site["readings"], site.get("switches"), options.networks, known)
    return _Check(found, options, str(site["hosts"][0]["address"])).after([_lines(output) for output in outputs])


def _lines(output: str) -> list[str]:
    """Of mpirun with tags only the first rank prints; without tags it is the text itself."""
    tagged = (line.text.strip() for line in lines_of(output) if line.rank is not None and line.stream == "stdout")
    return [text for text in tagged if text] or output.splitlines()


class _Check:
    def __init__(self, found: readings.Readings, options: Options, head: str) -> None:
        self.found, self.options, self.head = found, options, head
        self.fabric = found.fabric
        self.commands = options.commands()
        self.mtu = options.mtu or max((port.mtu for port in self.fabric.ports.values()), default=0)
        self.rounds = schedule.rounds(
            self.fabric, options.form, cross_rail=options.cross_rail, rails_at_once=options.rails_at_once
        )
        self.budget = schedule.follow_up_limit(len(self.fabric.hosts))
        self.cost = schedule.cost(
            self.fabric,
            self.rounds,
            seconds=options.seconds,
            programs=len(self.commands),
            follow_up=self.budget,
            bandwidth=sum(program in _BANDWIDTH for program in options.programs),
            startup=options.startup,
        )
        schedule.refuse_too_long(self.cost, options.limit, options.form)

    def after(self, outputs: Sequence[Sequence[str]]) -> dict[str, Any]:
        if not outputs:
            return self._part("reach", self.rounds)
        # Read at once, so that a broken line stops here; what the probes say is needed in the report alone.
        got = [wire.answers(self.fabric, outputs[0])]
        if len(outputs) == 1:
            return self._part("measure", self.rounds)
        parts, left = list(self.rounds), self.budget
        measured = wire.Measured([[] for _command in self.commands], [], self.found.simulated)
        places: list[judge.Places] = []
        for turn, output in enumerate(outputs[1:]):
            got.append(wire.answers(self.fabric, output))
            wire.measured(parts, len(self.commands), got[-1], measured)
            places = [judge.judge(self.fabric, each, self.options.drop) for each in measured.seen]
            tests = list(dict.fromkeys(pair for each in places for pair in judge.wanted(self.fabric, each)))
            tests = [pair for pair in tests for _turn in range(2)] if len(tests) < 4 else tests
            parts = schedule.pack(tests, self.fabric, left)
            sure = turn > 0 and not any(each.open for each in places)
            if turn == len(outputs) - 2 and parts and turn < CONFIRMATIONS and not sure:
                return self._part("confirm", parts)
            left -= len(parts)
        return self._answer(got, measured, places)

    def _answer(
        self, got: Sequence[wire.Replies], measured: wire.Measured, places: Sequence[judge.Places]
    ) -> dict[str, Any]:
        """``ok`` only if nothing was found and everything was looked at: what was not measured is no good news."""
        fabric, found, first = self.fabric, self.found, measured.seen[0]
        probed = reach.faults(fabric, got[0], tos=self.options.tos, netdevs=found.netdevs, mtu=self.mtu)
        given = {(fault.thing, fault.place.key) for fault in found.faults}
        faults = [*found.faults, *(fault for fault in probed if (fault.thing, fault.place.key) not in given)]
        grown = counters.moved(answer for each in got[1:] for answer in each.by_host.values())
        known = {fault.place.key for fault in faults}
        accused = [
            report.accusation(fabric, place, program in _BANDWIDTH, measured.failures)
            for program, each in zip(self.options.programs, places)
            for place in each.accused
            if place.key not in known
        ]
        faults += counters.joined(fabric, accused, grown)
        missing = sorted({name for each in got for name in each.missing})
        # It is unknown what was not measured, and what was seen once and could not be repeated is not settled.
        complete = not missing and not any(each.open for each in places)
        complete = complete and not any(
            math.isnan(value) and fabric.has(pair) for each in first for pair, value in zip(each.sweep, each.values)
        )
        answer = {
            "schema": SCHEMA,
            "form": self.options.form,
            "ok": complete and not faults,
            "complete": complete,
            "simulated": measured.simulated,
            "hosts": list(fabric.hosts),
            "rails": fabric.rails,
            "missing": missing,
            "faults": report.fault_rows(fabric, faults),
            "measured": {name: report.seen(fabric, each) for name, each in zip(self.options.programs, places)},
            "counters": {fabric.name(nic): counts for nic, counts in sorted(grown.items())},
            "gpus": [dict(row) for row in found.gpus.rows],
            "gpu_table": found.gpus.table,
            "notes": [*found.notes, *counters.losses(fabric, grown)],
            "table": report.table(fabric, faults, measured.simulated),
        }
        unit = "Gb/s" if self.options.programs[0] in _BANDWIDTH else "1/us"
        return {
            "part": "done",
            "report": answer,
            "heat_map": report.heat_map(fabric, first, unit, measured.simulated),
        }

    def _part(self, name: str, rounds: Sequence[schedule.Round]) -> dict[str, Any]:
        slot = self.options.seconds + self.options.startup
        limit = len(rounds) * len(self.commands) * slot + 30
        if name == "reach":  # one that answers no peer is asked for 0.75 s by each of its peers, one after the other
            limit = max(120.0, 60.0 + 0.8 * len(rounds))
        plan = wire.encode(
            self.fabric,
            rounds,
            phase="reach" if name == "reach" else "measure",
            desk=(self.head, self.options.port - 1),
            port=self.options.port,
            word=hashlib.sha256(",".join(self.fabric.hosts).encode()).hexdigest()[:12],
            limit=limit,
            slot=slot,
            programs=self.commands,
            tos=self.options.tos,
            netdevs=self.found.netdevs,
            mtu=self.mtu,
        )
        return {
            "part": name,
            "plan": plan,
            "limit": round(limit + 90),
            "rounds": len(rounds),
            "sentence": self.cost.sentence(),
            "gpu_table": self.found.gpus.table,
        }
