"""What a witness is, and how it comes to its word. Pure.

A witness is one file in `witnesses`: a function that takes all evidence and says agrees, disagrees, missing or
impossible, with one sentence. `registry` lists them.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Callable, NamedTuple

if TYPE_CHECKING:
    from .evidence import Evidence

AGREES, DISAGREES, MISSING, IMPOSSIBLE = "agrees", "disagrees", "missing", "impossible"
STATES = (AGREES, DISAGREES, MISSING, IMPOSSIBLE)


class Said(NamedTuple):
    """``evidence``: one sentence; ``fact``: the same in a few words, for the first line of the report; ``unseen``: what
    it could not observe although the data's way is certain."""

    state: str
    evidence: str
    fact: str = ""
    unseen: str = ""


class Witness(NamedTuple):
    """``name``: key in summary.json; ``title``: in the report; ``needs``: its evidence, for the docs.

    ``needed``: whether a run that it is missing from is not proven. ``decides``: whether the run is proven only if it
    agrees. Those that do not speak of how good the path is, not of whether the data took it: what they say against it,
    or could not read, is shown beside the verdict. ``spares``: states in which it leaves the path proven, because it
    speaks of the fabric or of the pace: the run then has the lower grade.
    """

    name: str
    title: str
    judge: Callable[[Evidence], Said]
    needs: str
    needed: bool = True
    decides: bool = True
    spares: tuple[str, ...] = ()


@dataclasses.dataclass
class Doubts:
    """Everything that speaks against what a witness would say: the worst kind decides, and nothing is left out.

    ``notes``: worth knowing, whatever is said.
    """

    impossible: list[str] = dataclasses.field(default_factory=list)
    wrong: list[str] = dataclasses.field(default_factory=list)
    missing: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    unseen: list[str] = dataclasses.field(default_factory=list)

    def says(self, good: str, fact: str = "") -> Said:
        """``good``: the sentence if there is no doubt; ``fact``: what the first line says if there is."""
        kinds = ((IMPOSSIBLE, self.impossible), (DISAGREES, self.wrong), (MISSING, self.missing))
        state = next((kind for kind, texts in kinds if texts), AGREES)
        texts = list(dict.fromkeys(text for _kind, found in kinds for text in found))
        sentence = "; ".join(text for text in [*(texts or [good]), *self.unseen, *self.notes] if text)
        return Said(state, sentence, (fact or texts[0]) if texts else "", "; ".join(self.unseen))
