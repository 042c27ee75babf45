# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which read-only command to run next: the one that is expected to split the candidates best for its cost. Pure.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class Question:
    """``cost``: 1 one look here, 2 another machine or root, 3 a short job, 5 something that needs a window."""

    where: str
    run: str
    cost: int = 1


def rank(candidates: Sequence[tuple[str, float]], looks: Mapping[str, Question]) -> list[Question]:
    """Commands, best first. ``candidates``: cause and weight; ``looks``: the command that confirms or excludes a cause.

    A command answers yes with the probability of its causes together, so it removes the entropy of that split; what is
    shown is gain per cost. One command that decides several causes counts for all of them.
    """
    total = sum(max(weight, 0.01) for _cause, weight in candidates)
    shares: dict[Question, float] = {}
    for cause, weight in candidates:
        look = looks.get(cause)
        if look is not None:
            shares[look] = shares.get(look, 0.0) + max(weight, 0.01) / total
    order = {look: place for place, look in enumerate(shares)}
    return sorted(shares, key=lambda look: (-_gain(shares[look]) / look.cost, look.cost, order[look]))


def _gain(share: float) -> float:
    """Bits that a yes or no of this probability tells; a single candidate is still worth confirming."""
    if share >= 1:
        return 1.0
    return -share * math.log2(share) - (1 - share) * math.log2(1 - share)
