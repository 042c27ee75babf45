"""Who keeps a silent job from going on: what each rank did on its host before the job was ended, its last step. Pure.

In a training that exchanges gradients all ranks stand, because one does. That one is stopped, waits in the kernel for
a device or a disk, sits in a container that does not answer, or has done less than the others: each of these is
a fact about the rank itself, which no other rank has to report.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Mapping, Sequence

from ..readers.reading import by_key, names
from .causes import Diagnosis, ending

# As `leftovers.py look` tells it.
_STOPPED = ("T", "t")
_BLOCKED = "D"
_BUSY, _IDLE = 0.5, 0.1  # shares of one processor
_SHOWN = 12  # groups of ranks in a message


@dataclasses.dataclass(frozen=True)
class Process:
    """One process of the job. ``rank``: None for a launcher; ``cpu``: the share of one processor that it used."""

    host: str
    rank: int | None
    pid: int
    cpu: float
    state: str
    waits_in: str
    command: str


@dataclasses.dataclass(frozen=True)
class Stall:
    """``silent``: seconds without a new line; ``unanswered``: host to why it could not be checked. By NCCL's RAS,
    ``begun``: rank to collectives that it has begun; ``lost``: ranks without an answer."""

    silent: float
    seen: tuple[Process, ...] = ()
    unanswered: Mapping[str, str] = dataclasses.field(default_factory=dict)
    begun: Mapping[int, int] = dataclasses.field(default_factory=dict)
    lost: tuple[int, ...] = ()


def read(silent: float | None, looks: Sequence[Mapping[str, Any]] | None) -> Stall:
    """``looks``: results of `leftovers.py look` in a loop over hosts, each with the host as its ``item``; what is no
    such answer is a host that did not answer."""
    seen: list[Process] = []
    unanswered: dict[str, str] = {}
    ras: Mapping[str, Any] = {}
    for look in looks or ():
        host = str(look["item"]["name"])
        try:
            answer = json.loads(look.get("stdout") or "")
            seen += [_process(host, each) for each in answer["processes"]]  # all of an answer, or nothing
            ras = ras if ras.get("begun") else answer.get("ras") or {}
        except (ValueError, TypeError, KeyError, AttributeError):
            why = str(look.get("msg") or look.get("stderr") or "no answer").strip().splitlines() or ["no answer"]
            unanswered[host] = why[0][:160]
    begun = {int(rank): int(count) for rank, count in ras.get("begun", {}).items()}
    return Stall(float(silent or 0), tuple(seen), unanswered, begun, tuple(ras.get("lost", ())))


def _process(host: str, said: Mapping[str, Any]) -> Process:
    words = [str(said[key])[:width] for key, width in (("state", 1), ("waits_in", 60), ("command", 80))]
    rank = None if said["rank"] is None else int(said["rank"])
    return Process(host, rank, int(said["pid"]), float(said["cpu"]), *words)


def _by_rank(stall: Stall) -> dict[int, list[Process]]:
    return by_key((process.rank, process) for process in stall.seen if process.rank is not None)


def numbered(ranks: Sequence[int]) -> str:
    return f"rank{'s' if len(ranks) != 1 else ''} {names(ranks)}"


def held(stall: Stall, places: Mapping[int, str]) -> Diagnosis | None:
    """The rank whose process itself was seen to stand, or could not be seen. ``places``: rank to host."""
    standing = [process for process in stall.seen if process.state in (*_STOPPED, _BLOCKED)]
    if standing:
        first = min(standing, key=lambda one: (one.rank is None, one.rank or 0, one.pid))
        ranks = sorted({process.rank for process in standing if process.rank is not None})
        return ending(
            "stopped" if first.state in _STOPPED else "blocked",
            sorted({process.host for process in standing}),
            ranks[0] if ranks else None,
            who=numbered(ranks) if ranks else f"{first.command.split(' ')[0]} (no rank)",
            pid=first.pid,
            where=f", in {first.waits_in}" if first.waits_in else "",
        )
    if stall.unanswered and stall.seen:
        ranks = sorted(rank for rank, host in places.items() if host in stall.unanswered)
        who, first_of = (numbered(ranks), ranks[0]) if ranks else ("no rank", None)
        hosts = sorted(stall.unanswered)
        return ending("unanswered", hosts, first_of, who=who, why=stall.unanswered[hosts[0]])
    return None


def behind(
    stall: Stall, places: Mapping[int, str], steps: Mapping[int, int], spoke: Mapping[int, Any]
) -> Diagnosis | None:
    """The rank that did less than the others. ``steps``: the last step that each rank printed; ``spoke``: ranks that
    said a word."""

    def of(kind: str, ranks: Sequence[int], why: str) -> Diagnosis:
        hosts = sorted({places[rank] for rank in ranks if rank in places})
        return ending(kind, hosts, ranks[0], who=numbered(ranks), why=why)

    silent = sorted(rank for rank in places if rank not in spoke) if spoke else []
    if silent and len(silent) * 2 < len(places):
        return of("differs", silent, "never said a word, the others did")
    if stall.lost and len(stall.lost) <= len(stall.begun):
        return of("differs", stall.lost, "is lost to NCCL's RAS, the others answer")
    for done, how in (
        (steps, "stood still after step {}, the others at {}"),
        (stall.begun, "has begun {} of NCCL's collectives, the others {}"),
    ):
        most = max(done.values(), default=0)
        late = sorted(rank for rank, number in done.items() if number < most)
        # Rank 0 alone waits for its GPU where only it writes a log: the others begin more without having done more.
        if late and len(late) * 2 <= len(done) and (late != [0] or done is steps):
            return of("differs", late, how.format(min(done[rank] for rank in late), most))
    shares = {rank: sum(process.cpu for process in each) for rank, each in _by_rank(stall).items()}
    for kind, odd in (
        ("computes, while the others sleep", [rank for rank, share in shares.items() if share >= _BUSY]),
        ("sleeps, while the others compute or poll", [rank for rank, share in shares.items() if share < _IDLE]),
    ):
        rest = len(shares) - sum(share >= _BUSY or share < _IDLE for share in shares.values())
        if odd and not rest and len(odd) * 2 < len(shares):
            return of("differs_in_load", sorted(odd), kind)
    return None


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
    groups = [f"{numbered(ranks)} on {host}: {step}, {doing}" for (host, step, doing), ranks in rows[:_SHOWN]]
    return "; ".join(groups + ([f"and {len(rows) - _SHOWN} more groups"] if len(rows) > _SHOWN else []))


def _doing(processes: Sequence[Process]) -> str:
    if not processes:
        return "its process was not seen"
    # Of a rank's processes (a shell, the program, its data loaders) the one that says most.
    chief = max(processes, key=lambda one: (one.state in _STOPPED, one.state == _BLOCKED, one.cpu, one.pid))
    share = sum(process.cpu for process in processes)
    cpu = "no processor" if share < _IDLE else "its processor" if share >= _BUSY else "a little of its processor"
    where = f" in {chief.waits_in}" if chief.waits_in and chief.state in ("D", "S") and share < _IDLE else ""
    return f"state {chief.state}{where}, used {cpu}"
