"""Findings of the doctor that the user has looked at and accepts, each with the reason. Pure.

The doctor as a witness is strict: a mere candidate keeps a run from PROVEN. What is intended on one site is listed
here and shown in the report with its reason. It never hides more than it names: one cause, on one host if given.
"""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any, Iterable, Mapping, Sequence

from ..._doctor.catalogue import catalogue
from ..._judge.packs.model import PROVEN
from ..._judge.sentences import refusal

THING = "report_accepted_findings"


@dataclasses.dataclass(frozen=True)
class Accepted:
    """``host``: as the inventory names it; '' for every host."""

    cause: str
    why: str
    host: str = ""

    def takes(self, finding: Mapping[str, Any], host: str) -> bool:
        return finding["cause"] == self.cause and self.host in ("", host)


def accepted_from(entries: Sequence[Mapping[str, Any]]) -> tuple[Accepted, ...]:
    """Raises RefusedError for a cause that there is not, and for one without a reason."""
    found = []
    for entry in entries:
        cause, why = (str(entry.get(key) or "").strip() for key in ("cause", "why"))
        if cause not in catalogue().causes:
            near = difflib.get_close_matches(cause, catalogue().causes, 3) or ["docs/causes.md has all"]
            raise refusal("cause_unknown", cause, near=", ".join(near))
        if not why:
            raise refusal("cause_without_reason", cause)
        found.append(Accepted(cause, why, str(entry.get("host") or "").strip()))
    return tuple(found)


def marked(findings: Iterable[Mapping[str, Any]], accepted: Sequence[Accepted]) -> list[dict[str, Any]]:
    """Each finding with ``accepted``, the reason, '' for one that is not accepted: those first. One of several hosts is
    accepted if each of them is; one that the device itself proves is not, whatever is said of it."""
    found = []
    for finding in findings:
        hosts = finding.get("hosts") or [finding.get("host") or ""]
        reasons = [next((each.why for each in accepted if each.takes(finding, host)), "") for host in hosts]
        taken = all(reasons) and finding["certainty"] != PROVEN
        found.append({**finding, "accepted": "; ".join(dict.fromkeys(reasons)) if taken else ""})
    return sorted(found, key=lambda each: bool(each["accepted"]))


def notes(findings: Sequence[Mapping[str, Any]], accepted: Sequence[Accepted]) -> list[str]:
    """What is accepted in vain: not found, or proven."""
    said = []
    for each in accepted:
        where = f" on {each.host}" if each.host else ""
        hits = [row for row in findings if row["cause"] == each.cause]
        if not [row for row in hits if each.host in ("", *(row.get("hosts") or ()), row.get("host"))]:
            said.append(f"{THING}: {each.cause}{where} was not found, take it out")
        elif all(row["certainty"] == PROVEN for row in hits):
            said.append(f"{THING}: {each.cause}{where} is proven, and counts all the same")
    return said
