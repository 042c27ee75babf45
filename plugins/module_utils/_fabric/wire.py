"""The plan as it goes to the hosts, and what comes back from them. Pure.

The plan is one argument of a command line: at most 128 KiB on Linux, so rounds of a tournament go as three numbers.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
import math
import re
import zlib
from typing import Any, Iterable, Mapping, Sequence

from .._judge.sentences import refusal
from .._layer import ParseError
from .._results.readers import perftest
from .judge import Sample
from .model import Fabric
from .schedule import Round, Sweep, Tournament

LONGEST = 131_000


def encode(
    fabric: Fabric, rounds: Sequence[Round], *, netdevs: Mapping[int, str] | None = None, mtu: int = 0, **settings: Any
) -> str:
    """``settings``: phase, desk, port, word, limit, slot, programs and tos, as workloads/fabric/agent.py reads them."""
    names = netdevs or {}
    plan = {
        "hosts": [
            {"name": name, "rails": [_nic(fabric, fabric.nic(host, rail), names, mtu) for rail in range(fabric.rails)]}
            for host, name in enumerate(fabric.hosts)
        ],
        "rails": fabric.rails,
        "absent": sorted(fabric.absent),
        "rounds": [[_sweep(sweep) for sweep in each] for each in rounds],
        **settings,
    }
    text = base64.b64encode(zlib.compress(json.dumps(plan, separators=(",", ":")).encode(), 9)).decode()
    if len(text) > LONGEST:
        raise refusal("plan_too_long", host=fabric.hosts[0], hosts=len(fabric.hosts), length=len(text), most=LONGEST)
    return text


def _nic(fabric: Fabric, nic: int, netdevs: Mapping[int, str], mtu: int) -> dict[str, Any] | None:
    if nic in fabric.absent:
        return None
    port = fabric.port(nic)
    return {
        "device": port.device,
        "address": port.address,
        "gid_index": port.gid_index,
        "netdev": netdevs.get(nic, ""),
        "wanted_mtu": mtu or port.mtu,
    }


def _sweep(sweep: Sweep) -> list[Any]:
    if isinstance(sweep, Tournament):
        return ["t", sweep.rail, sweep.number, sweep.shift]
    return ["p", [list(pair) for pair in sweep]]


@dataclasses.dataclass(frozen=True)
class Replies:
    """What the hosts sent: host number to its answer; ``missing``: names of those that sent none."""

    by_host: Mapping[int, Mapping[str, Any]]
    missing: tuple[str, ...]


def answers(fabric: Fabric, lines: Iterable[str]) -> Replies:
    """A host's lines put together again; one whose last line is not there is missing."""
    found: dict[int, dict[str, Any]] = {}
    for line in lines:
        if not line.startswith("FABRIC "):
            continue
        try:
            document = json.loads(line[len("FABRIC ") :])
            whole = found.setdefault(int(document.pop("host")), {})
            for key, value in document.items():
                if isinstance(value, list):
                    whole.setdefault(key, []).extend(value)
                elif isinstance(value, dict):
                    whole.setdefault(key, {}).update(value)
                else:
                    whole[key] = value
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ParseError("a line of the fabric check is not whole", host=fabric.hosts[0], raw=line) from error
    found = {host: whole for host, whole in found.items() if whole.get("end")}
    return Replies(found, tuple(name for number, name in enumerate(fabric.hosts) if number not in found))


@dataclasses.dataclass(frozen=True)
class Failure:
    """A measurement without a figure, and what perftest said."""

    client: int
    server: int
    why: str


@dataclasses.dataclass
class Measured:
    """Per program its sweeps with their values; ``failures``: those that ended without one."""

    seen: list[list[Sample]]
    failures: list[Failure]
    simulated: bool = False


def measured(rounds: Sequence[Round], programs: int, got: Replies, before: Measured | None = None) -> Measured:
    """Values in the order of the plan, behind those of ``before``. What a host that is missing should have measured is
    NaN: unknown."""
    result = before or Measured([[] for _program in range(programs)], [])
    values: dict[tuple[int, int, int, int], float] = {}
    for document in got.by_host.values():
        for turn, step, client, server, end, head, lines, status in document.get("tests", ()):
            above = document["heads"][head] if head >= 0 else ""
            text = "\n".join([above, *lines])
            result.simulated |= "SIMULATED" in text
            if end == "server":
                result.failures.append(Failure(client, server, f"on the server: {_why(text, status)}"))
                continue
            quick = None if status else _quick_rate(above, lines)
            value, why = _value(text, status) if quick is None else (quick, "")
            values[turn, step, client, server] = value
            if why:
                result.failures.append(Failure(client, server, why))
    for turn, each in enumerate(rounds):
        for step in range(programs):
            for sweep in each:
                row = [values.get((turn, step, *pair), math.nan) for pair in sweep]
                result.seen[step].append(Sample(sweep, row))
    return result


_ROW = re.compile(r"[ \t]*[0-9]{1,18}(?:[ \t]+[0-9]{1,18}(?:\.[0-9]{1,18})?)+[ \t]*")


def _quick_rate(head: str, lines: Sequence[str]) -> float | None:
    """Gb/s, as the reader would say, of a table of one row below a head that others have too, as nearly all of a
    quarter of a million are. None: the reader has to be asked, also if the message rate is another."""
    table = _head(head)
    words = lines[0].split() if len(lines) == 1 and _ROW.fullmatch(lines[0]) else []
    if table is None or len(words) != table[0] or "." in words[0] or "." in words[1]:
        return None
    _columns, average, scale = table
    found, moved = float(words[average]) * scale, float(words[0]) * float(words[-1]) / 1e3
    return 8 * found if abs(found - moved) <= 0.01 * moved else None


@functools.lru_cache(maxsize=128)
def _head(head: str) -> tuple[int, int, float] | None:
    """How many columns, which of them is the average, and its unit in GB/s."""
    tests = perftest.read(head).parts
    if len(tests) != 1 or tests[0].rows or not tests[0].columns or not tests[0].unit:
        return None
    average = f"BW average[{tests[0].unit}]"
    columns = tests[0].columns
    # What has tags is of ranks, and a row without one belongs to none of them.
    if columns.count(average) != 1 or columns[-1] != "MsgRate[Mpps]" or "<std" in head:
        return None
    return len(columns), columns.index(average), perftest.UNITS[tests[0].unit] / 1e9


def _value(text: str, status: int) -> tuple[float, str]:
    """More is better: Gb/s, or one over microseconds."""
    read = perftest.read(text)
    if not status:
        for test in read.parts:
            if test.bandwidth:
                return test.bandwidth[max(test.bandwidth)].gigabits_per_second, ""
            for row in test.latency.values():
                typical = row.typical_us or row.average_us
                if typical:
                    return 1 / typical, ""
    return 0.0, _why(text, status)


def _why(text: str, status: int) -> str:
    problems = [problem.message for problem in perftest.read(text).problems if problem.code == "failed"]
    if problems:
        return problems[0]
    if status == -1:
        return "it did not end in time"
    said = " ".join(text.split())[:160]
    return said or f"perftest ended with status {status} without a word"
