"""What a witness is, and how it comes to its word. Pure, but for the table of all witnesses.

A witness is a function in `witnesses` and an entry in witnesses.yml. It takes all evidence, adds what is doubtful, as
doubts.yml words it, and returns the sentence for the case that nothing is.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence

from .. import _yaml_files as yaml_files
from .._judge.sentences import Sentences
from .._results.readers.reading import few

if TYPE_CHECKING:
    from .evidence import Evidence

AGREES, DISAGREES, MISSING, IMPOSSIBLE = "agrees", "disagrees", "missing", "impossible"
STATES = (AGREES, DISAGREES, MISSING, IMPOSSIBLE)
_TEXTS = Sentences(__file__, "doubts.yml")


class Witness(NamedTuple):
    """``name``: key in summary.json; the others: see witnesses.yml."""

    name: str
    title: str
    judge: Callable[[Evidence, Doubts], str]
    needed: bool = True
    decides: bool = True
    spares: Sequence[str] = ()


class Heard(NamedTuple):
    """A witness with its word. ``state``: one of STATES; ``evidence``: one sentence; ``fact``: the same in a few words,
    for the first line of the report; ``unseen``: what it could not observe although the data's way is certain."""

    by: Witness
    state: str
    evidence: str
    fact: str = ""
    unseen: str = ""


@dataclasses.dataclass
class Doubts:
    """Everything that speaks against what a witness would say: the worst kind decides, and nothing is left out.

    ``notes``: worth knowing, whatever is said. ``fact``: what the first line of the report says, else the first doubt.
    """

    impossible: list[str] = dataclasses.field(default_factory=list)
    wrong: list[str] = dataclasses.field(default_factory=list)
    missing: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    unseen: list[str] = dataclasses.field(default_factory=list)
    fact: str = ""

    def add(self, code: str, /, **words: Any) -> None:
        """A doubt as doubts.yml words it."""
        for kind, text in _TEXTS.say(code, **words).items():
            getattr(self, kind).append(text)

    def add_if(self, these: Any, code: str, /, **words: Any) -> None:
        """As `add`, if there is something wrong; ``these``: what it is, of a list the first ones."""
        if these:
            self.add(code, these=few(these) if isinstance(these, list) else these, **words)

    def says(self, good: str, by: Witness) -> Heard:
        """``good``: the sentence if there is no doubt."""
        kinds = ((IMPOSSIBLE, self.impossible), (DISAGREES, self.wrong), (MISSING, self.missing))
        state = next((kind for kind, texts in kinds if texts), AGREES)
        texts = list(dict.fromkeys(text for _kind, found in kinds for text in found))
        sentence = "; ".join(text for text in [*(texts or [good]), *self.unseen, *self.notes] if text)
        return Heard(by, state, sentence, self.fact or "".join(texts[:1]), "; ".join(self.unseen))


@functools.lru_cache(maxsize=1)
def witnesses() -> tuple[Witness, ...]:
    """All, in the order of the report. Raises ImportError without PyYAML."""
    found = []
    for name, entry in yaml_files.read(Path(__file__).with_name("witnesses.yml")).items():
        file, _dot, function = entry.pop("judge", f"{name}.judge").partition(".")
        judge = getattr(importlib.import_module(f"{__package__}.witnesses.{file}"), function)
        found.append(Witness(name, judge=judge, **entry))
    return tuple(found)
