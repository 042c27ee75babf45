"""Whether evidence belongs to this run: same job, same time. Hosts: `evidence.Job.foreign`. Pure."""

from __future__ import annotations

from typing import Any, Mapping

from .evidence import CLOCK_S, READING_SLACK_S, Job, moment
from .witness import Doubts


def same_job(run: Any, job: Job, what: str, doubts: Doubts) -> None:
    """The name that role run gave to both."""
    if not run or not job.id:
        doubts.missing.append(f"the run of {what} is not known")
    elif str(run) != job.id:
        doubts.wrong.append(f"{what} is of run {run}, not of {job.id}")


def around(place: str, seen: Mapping[str, Any], job: Job, doubts: Doubts) -> None:
    """Two readings, shortly before and shortly after the training."""
    before, after = moment(seen.get("before_at")), moment(seen.get("after_at"))
    if before is None or after is None or job.started is None or job.ended is None:
        doubts.missing.append(f"{place}: when it was read, or when the training ran, is not known")
        return
    if before > job.started + CLOCK_S or after < job.ended - CLOCK_S:
        doubts.wrong.append(f"{place}: the readings do not lie around the training")
    elif job.started - before > READING_SLACK_S or after - job.ended > READING_SLACK_S:
        doubts.wrong.append(
            f"{place}: read more than {READING_SLACK_S / 60:.0f} minutes before or after the training: what others "
            "moved meanwhile is in it"
        )


def during(time: Any, job: Job, what: str, doubts: Doubts) -> None:
    """What the training itself wrote, read shortly after its end: what is read earlier lacks what came later."""
    at = moment(time)
    if at is None or job.started is None or job.ended is None:
        doubts.missing.append(f"when {what} was read, or when the training ran, is not known")
    elif at < job.ended - CLOCK_S:
        doubts.missing.append(
            f"the training was not observed to its end: {what} was read {job.ended - at:.0f} s before that; let NCCL "
            "write its log in the training (docs/data-path.md), and read it afterwards"
        )
    elif at > job.ended + READING_SLACK_S:
        doubts.wrong.append(
            f"{what} was read more than {READING_SLACK_S / 60:.0f} minutes after the training: it may be of another one"
        )
