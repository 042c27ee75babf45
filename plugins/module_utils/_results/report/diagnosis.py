"""What the doctor says of a run that is not proven, from what the run has read anyway. Its only I/O: reading the logs.

The doctor adds to a report and takes nothing from it: if it fails, its section says so, and all else stays. As
a witness it is strict: a mere candidate keeps a run from PROVEN. Findings that the user has looked at and accepts are
listed with the reason and shown with it; that hides no more than it names: one cause, on one host if given.
"""

from __future__ import annotations

import difflib
import re
from typing import Any, Iterable, Mapping, Sequence

from ..._doctor import doctor, run_facts
from ..._doctor.boots import Boots
from ..._doctor.bundle import Selection
from ..._doctor.catalogue import catalogue
from ..._doctor.completeness import HEALTHY, NO_FAULT_SEEN
from ..._judge.packs import model
from ..._judge.sentences import refusal
from ..._proof.evidence import Job, gathered, short
from ..._proof.witness import AGREES
from ..._proof.witnesses.doctor import sentence

THING = "report_accepted_findings"
LOGS = re.compile(r"\.(?:log|err|out)$")  # beside them lie results and counters, which are read for what they are
LOG_BYTES = 1 << 30  # of the logs; a minute of reading
_SOUND = "Nothing that this run read names a fault. See Witnesses for what keeps it from PROVEN."
_QUIET = (HEALTHY, NO_FAULT_SEEN)
_HOST = re.compile(r"hosts/([^/]+)/")
_LOG = re.compile(r"^job/|dmesg|\.log$")
_OF_THE_END = ("job", "log", "ranks")  # witnesses
_QUESTIONS, _LINES = 5, 5
Accepted = Mapping[str, str]  # cause, why, and host as the inventory names it, '' for every host


def diagnose(
    summary: Mapping[str, Any], evidence: Mapping[str, Any], logs: str | None, known: Sequence[Accepted] = ()
) -> dict[str, Any]:
    """Part ``doctor`` of the summary; ``logs``: a folder, or one log; ``known``: findings that the user accepts. Raises
    nothing."""
    try:
        layers = summary["layers"]
        job = Job.of(evidence.get("job"))
        used = gathered(job, evidence.get("nccl_path"))
        texts = run_facts.pieces(evidence, (layers.get("esxi") or {}).get("found"), used)
        texts |= run_facts.speed(summary.get("speed") or {}, (evidence.get("job") or {}).get("hosts") or {})
        states = {witness["name"]: witness["state"] for witness in summary["verdict"]["witnesses"]}
        ended = all(states[name] == AGREES for name in _OF_THE_END)
        unreal = run_facts.simulated(evidence, layers)
        names = {short(known): node for node, name in job.hosts.items() for known in (node, name)}
        boots = Boots(evidence, names, job.started) if job.started else None
        found = doctor.diagnose(logs, texts, selection=Selection(LOGS, "job/", LOG_BYTES), boots=boots, ended=ended)
        findings = [
            {**finding, "simulated": any(entry["file"].startswith(unreal) for entry in finding["evidence"])}
            for finding in marked(found["findings"], known)
        ]
        vain = notes(found["findings"], known)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"[:500]
        lists: dict[str, list[Any]] = {key: [] for key in ("findings", "next", "asked", "unknown", "notes", "read")}
        return {"failed": why, "verdict": None, "message": f"The doctor failed: {why}", "settled": "", **lists}
    return {
        "failed": "",
        "verdict": found["verdict"],
        "message": _SOUND if found["verdict"] in _QUIET else found["message"],
        "settled": found["settled"],
        "findings": findings,
        "next": found["next"][:_QUESTIONS],
        "asked": found["asked"],
        "unknown": found["unknown"][:_LINES],
        "notes": [*found["notes"], *vain],
        "read": found["read"],
    }


def brief(doctor: Mapping[str, Any]) -> str:
    """The first finding that may have to do with what failed in one sentence, for the end of a message; without any
    finding, what to look at next. Empty where the doctor has nothing to add."""
    if doctor["findings"]:
        first = of_the_failure(doctor)
        if first is None:
            return ""
        settled = doctor["settled"] == first["cause"]
        todo = f"What to do: {first['fix']['what']}" if settled else f"Look at: {first['next']['run']}"
        return f"The doctor: {sentence(first)}. {todo}."
    return "" if doctor["verdict"] in (None, *_QUIET) else f"The doctor: {doctor['message']}"


def of_the_failure(doctor: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The first finding that may have to do with what failed."""
    return next((each for each in doctor["findings"] if _of_the_failure(each, doctor)), None)


def _of_the_failure(finding: Mapping[str, Any], doctor: Mapping[str, Any]) -> bool:
    """A mere candidate that rests on a state which all hosts share, and of which no log of the job or of a kernel says
    a word, was there before anything failed: it is shown in the report, and not in the message."""
    if finding.get("accepted"):
        return False
    if finding["certainty"] != model.CANDIDATE or doctor["settled"] == finding["cause"]:
        return True
    hosts = {match[1] for match in map(_HOST.match, doctor["read"]) if match}
    logged = any(_LOG.search(str(entry.get("file"))) for entry in finding["evidence"])
    return logged or len(hosts) < 2 or not hosts <= set(finding["hosts"])


# ------------------------------------------------------------------------------------- what the user accepts


def accepted_from(entries: Sequence[Mapping[str, Any]]) -> list[Accepted]:
    """Raises RefusedError for a cause that there is not, and for one without a reason."""
    found: list[Accepted] = []
    for entry in entries:
        cause, why, host = (str(entry.get(key) or "").strip() for key in ("cause", "why", "host"))
        if cause not in catalogue().causes:
            near = difflib.get_close_matches(cause, catalogue().causes, 3) or ["docs/causes.md has all"]
            raise refusal("cause_unknown", cause, near=", ".join(near))
        if not why:
            raise refusal("cause_without_reason", cause)
        found.append({"cause": cause, "why": why, "host": host})
    return found


def marked(findings: Iterable[Mapping[str, Any]], accepted: Sequence[Accepted]) -> list[dict[str, Any]]:
    """Each finding with ``accepted``, the reason, '' for one that is not accepted: those first. One of several hosts is
    accepted if each of them is; one that the device itself proves is not, whatever is said of it."""
    found = []
    for finding in findings:
        hosts = finding.get("hosts") or [finding.get("host") or ""]
        meant = [each for each in accepted if each["cause"] == finding["cause"]]
        reasons = [next((each["why"] for each in meant if each["host"] in ("", host)), "") for host in hosts]
        taken = all(reasons) and finding["certainty"] != model.PROVEN
        found.append({**finding, "accepted": "; ".join(dict.fromkeys(reasons)) if taken else ""})
    return sorted(found, key=lambda each: bool(each["accepted"]))


def notes(findings: Sequence[Mapping[str, Any]], accepted: Sequence[Accepted]) -> list[str]:
    """What is accepted in vain: not found, or proven."""
    said = []
    for each in accepted:
        cause, host = each["cause"], each["host"]
        where = f" on {host}" if host else ""
        hits = [row for row in findings if row["cause"] == cause]
        if not [row for row in hits if host in ("", *(row.get("hosts") or ()), row.get("host"))]:
            said.append(f"{THING}: {cause}{where} was not found, take it out")
        elif all(row["certainty"] == model.PROVEN for row in hits):
            said.append(f"{THING}: {cause}{where} is proven, and counts all the same")
    return said
