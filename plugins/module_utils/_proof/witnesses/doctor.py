"""Witness: the doctor finds no cause of trouble, not even a possible one, in what this run read. Pure.

It may be missing: the data path is proven by others. What it finds does count, except congestion control at work: that
is how a lossless network works, and is only reported, unless the exchange is slow.
"""

from __future__ import annotations

import re
from typing import Any, Mapping

from ..._judge.packs.model import CANDIDATE
from ..._results.figures.speed import BAD
from ..evidence import Evidence, rows
from ..witness import Doubts

# A queue asked its sender to wait, or marked packets: the lossless class does its work.
_CONGESTION = re.compile(r"^\s*(?:[rt]x_prio\d_pause|(?:np|rp)_\w*(?:ecn|cnp)\w*)\s*[:=]|.*Possible SYN flooding")
_STATE = re.compile(r"^(?:hosts|switches|esxi)/(?!.*dmesg)")
_SHOWN = 4


def judge(evidence: Evidence, doubts: Doubts) -> str:
    diagnosis = evidence.doctor
    if not diagnosis or diagnosis.get("failed"):
        doubts.add_if(not diagnosis, "doctor_none")
        doubts.add_if(diagnosis and diagnosis.get("failed"), "doctor_failed")
        return ""
    findings = rows(diagnosis.get("findings"))
    slow = evidence.speed is not None and evidence.speed.state == BAD
    taken = [finding for finding in findings if finding.get("accepted")]
    for finding in [finding for finding in findings if not finding.get("accepted")]:
        quiet = _of_the_pace(finding) or (_congestion(finding) and not slow)
        said = doubts.notes if quiet else doubts.wrong
        if len(said) < _SHOWN:
            said.append(sentence(finding))
    doubts.notes += [f"accepted: {sentence(finding)}, because {finding['accepted']}" for finding in taken]
    besides = " but what was accepted" if taken else ""
    if doubts.wrong:
        doubts.fact = doubts.wrong[0].partition(" (seen: ")[0]
    else:
        doubts.fact = "; ".join(f"{each['cause']}, because {each['accepted']}" for each in taken)
    return f"nothing that this run read names a cause of trouble{besides}"


def sentence(finding: Mapping[str, Any]) -> str:
    """One finding in one sentence: cause, layer, place, what was seen."""
    where = ", ".join(map(str, (finding.get("hosts") or [finding.get("host")])[:_SHOWN])) or "the job"
    seen = next((f" (seen: {entry.get('text')})" for entry in finding.get("evidence") or ()), "")
    said = f"{finding.get('layer')}, {finding.get('certainty')}"
    return f"{where or 'the job'}: {finding.get('cause')} ({said}): {str(finding.get('means')).rstrip('.')}{seen}"


def _congestion(finding: Mapping[str, Any]) -> bool:
    texts = [str(entry.get("text")) for entry in finding.get("evidence") or ()]
    return bool(texts) and all(map(_CONGESTION.match, texts))


def _of_the_pace(finding: Mapping[str, Any]) -> bool:
    """A mere candidate because the exchange is slow, and for nothing else: the witness of the speed says that."""
    files = {str(entry.get("file")) for entry in finding.get("evidence") or ()}
    elsewhere = {file for file in files if not _STATE.match(file)}
    return finding.get("certainty") == CANDIDATE and elsewhere == {"job/facts/speed.json"}
