"""Witness: nothing was found between the job's hosts when every rail was checked, shortly before the training. Pure.

It may be missing: the data path is proven by others. What it found does count.
"""

from __future__ import annotations

from typing import Mapping

from ..evidence import CLOCK_S, Evidence, moment, rows, short, whole
from ..witness import Doubts

# The fabric check and the training belong to one run of the site: not more than this lies between them.
_SLACK_S = 3600.0


def judge(evidence: Evidence, doubts: Doubts) -> str:
    fabric = evidence.fabric or {}
    report = fabric.get("report")
    if not isinstance(report, Mapping) or not report:
        doubts.missing.append(str(fabric.get("skipped") or "no check before this run"))
        return ""
    doubts.add_if(report.get("simulated"), "fabric_simulated")
    at, started = moment(fabric.get("at")), evidence.job.started
    # Too old, or of another time, is as good as none: it says nothing for or against this run.
    if at is None or started is None:
        doubts.add("fabric_when")
        return ""
    if not -CLOCK_S <= started - at <= _SLACK_S:
        doubts.add("fabric_old", minutes=_SLACK_S / 60)
        return ""
    checked = {short(str(name)) for name in report.get("hosts") or ()}
    job = {short(name) for name in evidence.job.hosts}
    if job - checked or not job:
        doubts.add("fabric_hosts", hosts=", ".join(sorted(job - checked)[:4]) or "which hosts the job had")
    faults = rows(report.get("faults"))
    for fault in faults:
        hosts = {short(str(name)) for name in fault.get("hosts") or ()}
        text = f"{fault.get('place')}: {fault.get('thing')} ({fault.get('found')})"
        # A rail, switch or the whole fabric names no host: then it is everybody's. A GPU says nothing of the path.
        path = fault.get("kind") != "gpu"
        (doubts.wrong if path and (not hosts or hosts & job) else doubts.notes).append(text)
    if report.get("complete") is not True:
        lacking = ", ".join(map(str, report.get("missing") or ()))
        doubts.add("fabric_incomplete", silent=f", no answer from {lacking}" if lacking else "")
    elif report.get("ok") is not True and not faults:
        doubts.add("fabric_disorder")
    tests = sum(whole(each.get("tests")) or 0 for each in rows((report.get("measured") or {}).values()))
    doubts.add_if(not tests, "fabric_empty")
    return (
        f"{report.get('form', 'a')} form: {tests:,} measurements between {len(checked)} hosts on "
        f"{report.get('rails')} rail(s), nothing found"
    )
