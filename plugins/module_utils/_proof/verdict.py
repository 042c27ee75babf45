"""PROVEN, PATH PROVEN, NOT PROVEN or INVALID RUN: what independent witnesses say about one run. Pure.

The claim is always the same: the ranks trained together, and their gradients went from GPU to GPU by RDMA over this
network. What each grade means: docs/report.md. Simulated devices cannot prove anything about hardware, so a simulated
run is never proven, whatever they answered.
"""

from __future__ import annotations

from typing import Any, Iterable, Sequence

from .._results.readers.reading import picked
from .evidence import Evidence
from .witness import AGREES, DISAGREES, IMPOSSIBLE, MISSING, STATES, Doubts, Heard, witnesses

PROVEN, PATH_PROVEN, NOT_PROVEN, INVALID = "PROVEN", "PATH PROVEN", "NOT PROVEN", "INVALID RUN"
VERDICTS = (PROVEN, PATH_PROVEN, NOT_PROVEN, INVALID)
_FACT = 320  # characters of one witness in the first line: a cause of the doctor is said in whole


def hear(evidence: Evidence) -> list[Heard]:
    """Every witness; the list has the same names in the same order for every run."""
    found = []
    for each in witnesses():
        doubts = Doubts()
        found.append(doubts.says(each.judge(evidence, doubts), each))
    return found


def judge(heard: Sequence[Heard], simulated: bool) -> dict[str, Any]:
    """One impossible witness makes it invalid; else each that decides and is needed, or was heard, has to agree.

    Part ``verdict`` of the summary. ``line``: the first line of every report; ``besides``: what witnesses that do not
    decide say against the path, or could not read.
    """
    deciding = [w for w in heard if w.by.decides and (w.by.needed or w.state != MISSING)]
    said = {state: [witness for witness in deciding if witness.state == state] for state in STATES}
    others = {state: [w for w in heard if not w.by.decides and w.state == state] for state in STATES}
    reasons = [f"{each.by.title} disagrees: {each.evidence}" for each in said[DISAGREES]]
    reasons += [f"{each.by.title} is missing: {each.evidence}" for each in said[MISSING]]
    unseen = [each for each in said[AGREES] if each.unseen]
    if said[IMPOSSIBLE]:
        state, parts = INVALID, [f"{each.by.title}: {each.evidence}" for each in said[IMPOSSIBLE]]
        reasons = parts + reasons
    elif not deciding or any(w.state in (DISAGREES, MISSING) and w.state not in w.by.spares for w in deciding):
        state = NOT_PROVEN
        parts = [_facts(said[DISAGREES])] if said[DISAGREES] else []
        parts += [f"missing: {', '.join(map(_name, said[MISSING]))}"] if said[MISSING] else []
        parts = parts or ["no witness was heard"]
    elif simulated:
        state, parts, reasons = NOT_PROVEN, ["no witness of the path disagrees"], []
    elif reasons or unseen:
        agree = f"{len(said[AGREES])} independent witnesses agree"
        state, parts = PATH_PROVEN, [f"at the hosts the gradients went from GPU to GPU by RDMA ({agree})"]
        parts += [f"not as it should be: {_facts(said[DISAGREES])}"] if said[DISAGREES] else []
        lacking = [*map(_name, said[MISSING]), *(_short(f"{_name(each)} ({each.unseen})") for each in unseen)]
        parts += [f"not observed: {', '.join(lacking)}"] if lacking else []
        reasons += [f"{each.by.title}: {each.unseen}" for each in unseen]
    else:
        agree = f"{len(deciding)} independent witnesses agree"
        state, parts = PROVEN, [f"{agree} that the gradients went from GPU to GPU by RDMA"]
    nothing = ["simulated devices prove nothing about hardware"] if simulated else []
    accepted = "; ".join(each.fact for each in said[AGREES] if each.fact)
    reasons += nothing
    parts = parts + nothing + ([f"accepted: {accepted}"] if accepted else [])
    parts += [f"the path has gaps: {_facts(others[DISAGREES])}"] if others[DISAGREES] else []
    text = "; ".join(parts)
    return {
        "state": state,
        "simulated": simulated,
        "line": f"{'SIMULATED - ' if simulated else ''}{state}: {text}{'' if text.endswith('...') else '.'}",
        "reasons": reasons,
        "besides": [f"{each.by.title}: {each.evidence}" for each in others[DISAGREES] + others[MISSING]],
        "witnesses": [
            {**picked(each.by, "name", "title", "decides"), **picked(each, "state", "evidence")} for each in heard
        ],
    }


def _name(witness: Heard) -> str:
    title = witness.by.title
    return title[0].lower() + title[1:] if title[1:2].islower() else title


def _facts(found: Iterable[Heard]) -> str:
    """What the witnesses saw, in a few words each: the first line of the report says the fact, not who said it."""
    return "; ".join(_short(f"{_name(witness)}: {witness.fact or witness.evidence}") for witness in found)


def _short(text: str) -> str:
    """As many whole words as fit; the report has the whole sentence below."""
    return text if len(text) <= _FACT else text[:_FACT].rpartition(" ")[0].rstrip(",;:(") + " ..."
