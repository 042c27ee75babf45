"""Which read-only command to run next: the one that is expected to split the candidates best for its cost. Pure."""

from __future__ import annotations

import dataclasses
import math
from typing import Iterable, Mapping

# A cause of which a command said nothing that would have shown it: a device can be wrong between two looks.
SILENT = 0.05


@dataclasses.dataclass(frozen=True)
class Question:
    """``cost``: 1 one look here, 2 another machine or root, 3 a short job, 5 something that needs a window. ``look``:
    name of the command in ``looks.yml``, empty if it is a cause's own."""

    where: str
    run: str
    cost: int = 1
    look: str = ""


_STATE = "dmesg -T | tail -100; nvidia-smi; ibv_devinfo; show_gids"
_FAILED, _SOUND = Question("on the host of the rank that failed first", _STATE), Question("on each host", _STATE)
_AGAIN = Question(
    "in the job's script",
    "run again with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV and keep the whole output",
    3,
)
# Where the log ends after the bootstrap.
STOPPED = Question(
    "between the hosts of the job",
    "nc -l 29999 on one and nc -vz ADDRESS 29999 on the other, with the address after 'Bootstrap : Using'",
    2,
)


def general(failed: bool, nccl: bool) -> list[Question]:
    """Where nothing tells more. ``nccl``: it has a word in what was read."""
    return [_FAILED, _AGAIN] if failed else [_AGAIN] if nccl else [_SOUND]


def rank(candidates: Iterable[tuple[str, float]], looks: Mapping[str, Mapping[Question, float]]) -> list[Question]:
    """Commands, best first. ``candidates``: cause and weight; ``looks``: commands that show a cause, and how likely.

    A command says that it is one of its causes, or none of them, so it removes the entropy of that split; what is
    compared is this gain per cost. A command that shows several causes counts for all of them.
    """
    weights = [(cause, max(weight, 0.01)) for cause, weight in candidates]
    total = sum(weight for _cause, weight in weights)
    shares: dict[Question, float] = {}
    for cause, weight in weights:
        for look, chance in looks.get(cause, {}).items():
            shares[look] = shares.get(look, 0.0) + chance * weight / total
    order = {look: place for place, look in enumerate(shares)}
    return sorted(shares, key=lambda look: (-_gain(shares[look]) / look.cost, look.cost, order[look]))


def _gain(share: float) -> float:
    """Bits that a yes or no of this probability tells; what is nearly certain is still worth confirming."""
    if share > 0.5:
        return 1.0
    return -share * math.log2(share) - (1 - share) * math.log2(1 - share)
