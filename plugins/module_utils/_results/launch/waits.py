"""Who stood still: ranks that waited in vain, or whose peer went away, are the victims of a hang, not its cause. Pure.

A rank that is stopped, starved or cut off says nothing. The others say so for it: PyTorch's NCCL watchdog (with the
number of the collective that never came), gloo's time limits, a monitored barrier that names who is missing, and
connections that a peer closed. Texts: gloo recorded (torch 1.13, Open MPI 4.1.4: one rank under SIGSTOP, one under
SIGKILL); the watchdog's and NCCL's from lines in public issues of pytorch/pytorch and NVIDIA/nccl, releases 1.12 to
2.6, not verified on hardware.
"""

from __future__ import annotations

from typing import Match

from ..._judge.packs.loader import form
from ..readers.nccl_log import LINES

_LIMIT = 1 << 16
KEPT = 300  # characters of a line that are kept as evidence

WORDS = ("watchdog", "enqueued", "gloo/transport", "monitoredbarrier", "remote peer", "call to recv", "call to send")
_CLOSED = ("lost_gloo", "lost_peer", "lost_recv")  # forms


def is_echo(lower: str) -> bool:
    """Whether this line (in lower case) is what a victim says, or a library for it, and no fault of the rank's own."""
    return any(word in lower for word in (*WORDS, "nccl", "connection reset", "broken pipe", "torch.distributed"))


class Waits:
    """Lines of a failed run, one by one; bounded by the number of ranks.

    ``peers``: hosts that went away, as they were named; ``losers``: ranks that lost one; ``evidence``: the first line
    that says so, or that a rank waited.
    """

    def __init__(self) -> None:
        self._waited: dict[int, float] = {}  # rank -> seconds
        self._seen: set[int] = set()
        self._in: dict[tuple[int, str], set[int]] = {}  # collective (number, kind) -> ranks that wait in it
        self._missing: set[int] = set()
        self.peers: set[str] = set()
        self.losers: set[int] = set()
        self.evidence = ""

    def line(self, rank: int | None, text: str, lower: str) -> None:
        if rank is not None and len(self._seen) < _LIMIT:
            self._seen.add(rank)
        if not any(word in lower for word in WORDS):
            return
        who = form("wait_who").search(text)
        rank = int(who["who"]) if rank is None and who else rank
        for match in LINES["wait_watchdog"].finditer(text):
            # The number in brackets is that of the process group, which is not the job's in groups of a part of it.
            number = int(match["rank"]) if rank is None else rank
            self._wait(number, match, text)
            key = (int(match["number"] or 0), match["what"])
            if key in self._in or len(self._in) < _LIMIT:
                self._in.setdefault(key, set()).add(number)
        limit = form("wait_gloo").search(text)
        if limit:
            self._wait(-1 if rank is None else rank, limit, text)
        barrier = form("wait_barrier").search(text)
        if barrier:
            self._missing.update(map(int, barrier["ranks"].split(",")))
            self.evidence = self.evidence or text[:KEPT]
        for name in _CLOSED:
            closed = form(name).search(text)
            if closed and len(self.peers) < _LIMIT:
                self.peers.add(closed["peer"])
                if rank is not None:
                    self.losers.add(rank)
                self.evidence = self.evidence or text[:KEPT]

    def _wait(self, rank: int, match: Match[str], text: str) -> None:
        if len(self._waited) < _LIMIT:
            self._waited.setdefault(rank, int(match["ms"]) / 1000)
            self._seen.add(rank)
        self.evidence = self.evidence or text[:KEPT]

    @property
    def in_vain(self) -> bool:
        """Whether a rank waited for one that never came."""
        return bool(self._missing or self._waited)

    def behind(self, world: int) -> list[int]:
        """Ranks that never came to where the others waited: those that are named, of two collectives the earlier one,
        else who is silent. Empty if the output cannot tell. ``world``: how many ranks there were, 0 if unknown."""
        if self._missing or -1 in self._waited:
            return sorted(self._missing)
        if len(self._in) > 1:
            first = min(number for number, _what in self._in)
            late = {rank for (number, _what), ranks in self._in.items() if number == first for rank in ranks}
            if len(late) * 2 < len(self._waited):
                return sorted(late)
        everybody = set(range(world)) or set(range(max(self._seen, default=-1) + 1))
        silent = everybody - set(self._waited)
        return sorted(silent) if len(silent) < len(everybody) else []

    def in_words(self) -> str:
        """How many waited in vain, where and how long."""
        what = "a barrier" if self._missing else "an exchange"
        if self._in and not self._missing:
            number, kind = max(self._in, key=lambda key: len(self._in[key]))
            what = f"{kind} number {number}"
        many, long = len(self._waited), f" for {max(self._waited.values()):.0f} s" if self._waited else ""
        return f"{many} rank{'s' if many != 1 else ''} waited in {what}{long}"
