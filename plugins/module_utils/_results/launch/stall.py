"""Who keeps a silent job from going on: what each rank did on its host before the job was ended, its last step. Pure.

In a training that exchanges gradients all ranks stand, because one does. That one is stopped, waits in the kernel for
a device or a disk, sits in a container that does not answer, or has done fewer steps than the others: each of these is
a fact about the rank itself, which no other rank has to report.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Iterator, Mapping, Sequence

# As `leftovers.py look` tells it.
_STOPPED = ("T", "t")
_BLOCKED = "D"
_BUSY, _IDLE = 0.5, 0.1  # shares of one processor
_SHOWN = 12  # groups of ranks in a message


@dataclasses.dataclass(frozen=True)
class Seen:
    """One process of the job. ``rank``: None for a launcher; ``cpu``: the share of one processor that it used."""

    host: str
    rank: int | None
    pid: int
    state: str
    waits_in: str
    cpu: float
    command: str


@dataclasses.dataclass(frozen=True)
class Stall:
    """``silent``: seconds without a new line; ``unanswered``: host to why it could not be checked."""

    silent: float
    seen: tuple[Seen, ...] = ()
    unanswered: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Stuck:
    """Whom the facts name. ``by``: "state", what was seen of the process itself; "words", what the rank printed or did
    not; "load", that it only differs from the others."""

    ranks: tuple[int, ...]
    hosts: tuple[str, ...]
    why: str
    by: str
    remedy: str


def read(silent: Any, looks: Any) -> Stall:
    """``looks``: results of `leftovers.py look` in a loop over hosts, each with the host as its ``item``; anything that
    is not such an answer is a host that did not answer."""
    seen: list[Seen] = []
    unanswered: dict[str, str] = {}
    for look in looks if isinstance(looks, (list, tuple)) else ():
        item = look.get("item") if isinstance(look, Mapping) else None
        if not isinstance(item, Mapping) or not item.get("name"):
            continue
        host = str(item["name"])
        try:
            found = json.loads(look.get("stdout") or "")["processes"]
            seen += [
                Seen(
                    host,
                    None if each["rank"] is None else int(each["rank"]),
                    int(each["pid"]),
                    str(each["state"])[:1],
                    str(each["waits_in"])[:60],
                    float(each["cpu"]),
                    str(each["command"])[:80],
                )
                for each in found
            ]
        except (ValueError, TypeError, KeyError):
            why = str(look.get("msg") or look.get("stderr") or "no answer").strip().splitlines() or ["no answer"]
            unanswered[host] = why[0][:160]
    try:
        seconds = float(silent)
    except (ValueError, TypeError):
        seconds = 0.0
    return Stall(seconds, tuple(seen), unanswered)


def _by_rank(stall: Stall) -> dict[int, list[Seen]]:
    found: dict[int, list[Seen]] = {}
    for process in stall.seen:
        if process.rank is not None:
            found.setdefault(process.rank, []).append(process)
    return found


def _names(what: str, numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:20])) + (" ..." if len(numbers) > 20 else "")
    return f"{what}{'s' if len(numbers) != 1 else ''} {shown}"


def _held(stall: Stall) -> Iterator[tuple[Seen, str]]:
    for process in stall.seen:
        if process.state in _STOPPED:
            yield process, "is stopped (state T)"
        elif process.state == _BLOCKED:
            where = f", in {process.waits_in}" if process.waits_in else ""
            yield process, f"waits in the kernel (state D{where})"


def judge(stall: Stall, places: Mapping[int, str], steps: Mapping[int, int], spoke: Mapping[int, Any]) -> Stuck | None:
    """``places``: rank to host; ``steps``: the last step that each rank printed; ``spoke``: ranks that said a word."""
    held = list(_held(stall))
    if held:
        ranks = tuple(sorted({process.rank for process, _why in held if process.rank is not None}))
        first = min(held, key=lambda one: (one[0].rank is None, one[0].rank or 0, one[0].pid))
        who = _names("rank", ranks) if ranks else f"{first[0].command.split(' ')[0]} (no rank)"
        stopped = first[0].state in _STOPPED
        return Stuck(
            ranks,
            tuple(sorted({process.host for process, _why in held})),
            f"{who} stood still: process {first[0].pid} {first[1]}",
            "state",
            "a user or a program stopped this process (SIGSTOP, a debugger, a paused container): find out who, and "
            "run again"
            if stopped
            else "read the kernel log of this host (dmesg: disk or file server that does not answer, Xid, hung task), "
            "then run again",
        )
    asked = {process.host for process in stall.seen}
    if stall.unanswered and asked:
        where = tuple(sorted(stall.unanswered))
        ranks = tuple(sorted(rank for rank, host in places.items() if host in stall.unanswered))
        return Stuck(
            ranks,
            where,
            f"{_names('rank', ranks) if ranks else 'no rank'} could not be looked at, the others were: "
            f"{stall.unanswered[where[0]]}",
            "state",
            "look at power, link and load of this host and at its container (docker ps: paused), then run again",
        )
    silent = sorted(rank for rank in places if rank not in spoke) if spoke else []
    if silent and len(silent) * 2 < len(places):
        return _of(places, silent, f"{_names('rank', silent)} never said a word, the others did")
    most = max(steps.values(), default=0)
    behind = sorted(rank for rank, step in steps.items() if step < most)
    if behind and len(behind) * 2 <= len(steps):
        last = min(steps[rank] for rank in behind)
        return _of(places, behind, f"{_names('rank', behind)} stood still after step {last}, the others at {most}")
    shares = {rank: sum(process.cpu for process in each) for rank, each in _by_rank(stall).items()}
    for kind, odd in (
        ("computes, while the others sleep", [rank for rank, share in shares.items() if share >= _BUSY]),
        ("sleeps, while the others compute or poll", [rank for rank, share in shares.items() if share < _IDLE]),
    ):
        rest = len(shares) - sum(share >= _BUSY or share < _IDLE for share in shares.values())
        if odd and not rest and len(odd) * 2 < len(shares):
            return _of(places, sorted(odd), f"{_names('rank', sorted(odd))} {kind}", "load")
    return None


def _of(places: Mapping[int, str], ranks: Sequence[int], why: str, by: str = "words") -> Stuck:
    return Stuck(
        tuple(ranks),
        tuple(sorted({places[rank] for rank in ranks if rank in places})),
        why,
        by,
        "look at this rank, not at those that wait for it: what it printed last, py-spy dump of the process in a run "
        "of its own, then the kernel log of its host",
    )


def table(stall: Stall, places: Mapping[int, str], steps: Mapping[int, int]) -> str:
    """All ranks in words, those alike together: last step, host, state and processor."""
    alike: dict[tuple[str, str, str], list[int]] = {}
    by_rank = _by_rank(stall)
    for rank in sorted({*places, *by_rank, *steps}):
        processes = by_rank.get(rank, [])
        host = processes[0].host if processes else places.get(rank, "an unknown host")
        step = f"step {steps[rank]}" if rank in steps else "no step said"
        alike.setdefault((host, step, _doing(processes)), []).append(rank)
    # The rarest first: a rank that differs is what a reader looks for.
    rows = sorted(alike.items(), key=lambda row: (len(row[1]), row[1]))
    groups = [f"{_names('rank', ranks)} on {host}: {step}, {doing}" for (host, step, doing), ranks in rows[:_SHOWN]]
    return "; ".join(groups + ([f"and {len(rows) - _SHOWN} more groups"] if len(rows) > _SHOWN else []))


def _doing(processes: Sequence[Seen]) -> str:
    if not processes:
        return "its process was not seen"
    # Of a rank's processes (a shell, the program, its data loaders) the one that says most.
    chief = max(processes, key=lambda one: (one.state in _STOPPED, one.state == _BLOCKED, one.cpu, one.pid))
    share = sum(process.cpu for process in processes)
    cpu = "no processor" if share < _IDLE else "its processor" if share >= _BUSY else "a little of its processor"
    where = f" in {chief.waits_in}" if chief.waits_in and chief.state in ("D", "S") and share < _IDLE else ""
    return f"state {chief.state}{where}, used {cpu}"
