"""Whose maintenance is it, and who may open windows: what is written into vCenter, and what it proves. Pure.

A mark on the host says "this run entered maintenance mode, and vCenter's event about it is number N". It proves nothing
by itself: it counts only while that event is still the last word about the host.
"""

from __future__ import annotations

import dataclasses
import datetime
from typing import Callable, Sequence, TypeVar

from .run_identity import Run

MARK_FIELD = "rocemesh.window"
_MARK, _LEASE = "rocemesh-window", "rocemesh-lease"
_CLOCK_STEP = datetime.timedelta(seconds=1)  # the event's time is written with less precision
_SLACK = datetime.timedelta(seconds=60)  # between the clocks of vCenter and of the host that stamps the event
Made = TypeVar("Made")


@dataclasses.dataclass(frozen=True)
class Mark:
    """Written on a host once this run's own task had put it into maintenance mode. ``event`` 0: none was seen."""

    run: Run
    entered: datetime.datetime
    event: int


@dataclasses.dataclass(frozen=True)
class Lease:
    """Who may open windows. All times are those of vCenter's clock."""

    run: Run
    user: str
    since: datetime.datetime
    heard: datetime.datetime
    until: datetime.datetime


@dataclasses.dataclass(frozen=True)
class MaintenanceEvent:
    """``kind``: entered or left."""

    key: int
    kind: str
    at: datetime.datetime
    user: str


def stamp(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)


def readable(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def _write(kind: str, fields: dict[str, str]) -> str:
    """One line that a person can read in the vSphere client: words "key=value"."""
    return " ".join([kind, *(f"{key}={value}" for key, value in fields.items() if value)])


def _read(kind: str, text: str, make: Callable[[dict[str, str]], Made]) -> Made | None:
    """None for no text. Raises ValueError for text that is not ours."""
    if not text.strip():
        return None
    first, *rest = text.split()
    try:
        if first != kind:
            raise ValueError(first)
        return make(dict(word.split("=", 1) for word in rest))
    except (KeyError, ValueError) as error:
        raise ValueError(text) from error


def _run(fields: dict[str, str]) -> Run:
    return Run(fields["run"], fields["controller"], fields.get("process", ""))


def write_mark(mark: Mark) -> str:
    return _write(_MARK, {**_who(mark.run), "entered": stamp(mark.entered), "event": str(mark.event)})


def read_mark(text: str) -> Mark | None:
    return _read(_MARK, text, lambda fields: Mark(_run(fields), _moment(fields["entered"]), int(fields["event"])))


def _who(run: Run) -> dict[str, str]:
    return {"run": run.name, "controller": run.controller, "process": run.process}


def write_lease(lease: Lease) -> str:
    times = {"since": stamp(lease.since), "heard": stamp(lease.heard), "until": stamp(lease.until)}
    return _write(_LEASE, {**_who(lease.run), "user": lease.user.replace(" ", "_")[:40], **times})


def read_lease(text: str) -> Lease | None:
    def made(fields: dict[str, str]) -> Lease:
        times = [_moment(fields[name]) for name in ("since", "heard", "until")]
        return Lease(_run(fields), fields.get("user", ""), *times)

    return _read(_LEASE, text, made)


def ago(moment: datetime.datetime, now: datetime.datetime) -> str:
    seconds = int((now - moment).total_seconds())
    if abs(seconds) < 120:
        return f"{seconds} s ago"
    return f"{seconds // 60} min ago"


def describe_lease(lease: Lease, now: datetime.datetime) -> str:
    who = f"run {lease.run.name} on controller {lease.run.controller}" + (f" as {lease.user}" if lease.user else "")
    return (
        f"{who}, since {readable(lease.since)} ({ago(lease.since, now)}), last heard of {ago(lease.heard, now)}, "
        f"good until {readable(lease.until)}"
    )


def stays_text(host: str, moid: str, story: str, doubt: str) -> str:
    """For maintenance mode that is left alone: whose it is, whom to ask, what is safe, and the command."""
    text = f"{host}: the host is in maintenance mode and stays there; no VM can start on it. It was {story}"
    if doubt:
        text += (
            f" ({doubt}). Ask the user who entered it; it is safe to leave it so. Only if you know that an "
            "interrupted run left it: ansible-playbook playbooks/recover.yml -e "
            f"rocemesh_adopt_maintenance={moid} (or esxi_reboot with in_maintenance=adopt) takes it out"
        )
    return text


# ---------------------------------------------------------------- what the events prove
def in_order(events: Sequence[MaintenanceEvent]) -> list[MaintenanceEvent]:
    return sorted(events, key=lambda event: (event.at, event.key))


def last_entry(events: Sequence[MaintenanceEvent]) -> MaintenanceEvent | None:
    """The event by which the host came into the maintenance mode that it is in; None if the last word is another."""
    ordered = in_order(events)
    return ordered[-1] if ordered and ordered[-1].kind == "entered" else None


def own_entry(events: Sequence[MaintenanceEvent], asked: datetime.datetime, user: str) -> MaintenanceEvent | None:
    """The entry that a task has made which was asked for at ``asked`` by ``user``, and succeeded.

    It is the first since then, not the last: a user who left and entered again before the run looked owns that entry.
    """
    since = [event for event in in_order(events) if event.kind == "entered" and event.at >= asked]
    named = [event for event in since if event.user.lower() == user.lower()]
    if since:
        return (named or since)[0]
    entry = last_entry(events)
    return entry if entry is not None and entry.at >= asked - _SLACK else None


def who_entered(events: Sequence[MaintenanceEvent] | None) -> str:
    """Words for a message: "entered by U at T"."""
    entry = last_entry(events or ())
    if entry is None:
        return "entered by a user whom vCenter's events do not name"
    return f"entered by {entry.user or 'a user that vCenter does not name'} at {readable(entry.at)}"


def not_ours(mark: Mark | None, events: Sequence[MaintenanceEvent] | None) -> str:
    """Why the maintenance mode that a host is in now is not the one of ``mark``; "" if it is proved to be.

    A user who left it and entered again afterwards owns it, also under the same account. An entry that names no
    user and follows no exit is vCenter's own report about a host that came back.
    """
    if mark is None:
        return "no run of this collection has left its mark on it"
    if events is None:
        return "vCenter does not tell the events of the host, so nothing proves the mark on it"
    ordered = in_order(events)
    places = [
        place
        for place, event in enumerate(ordered)
        if event.kind == "entered" and event.key == mark.event and abs(event.at - mark.entered) <= _CLOCK_STEP
    ]
    if not places:
        return f"the mark on it names event {mark.event} of {readable(mark.entered)}, and vCenter has no such event"
    for event in ordered[places[0] + 1 :]:
        if event.kind == "left":
            return f"{event.user or 'an unnamed user'} ended the maintenance mode of the mark at {readable(event.at)}"
        if event.user:
            return f"{event.user} entered it again at {readable(event.at)}"
    return ""
