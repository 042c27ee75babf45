"""When hosts may be restarted, and how many at once: pure functions of what the site says and of the clock."""

from __future__ import annotations

import datetime
import re
from typing import Any, Mapping, Sequence

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TIME = re.compile(r"^([01]?\d|2[0-3]):([0-5]\d)$")
_ONCE, _WEEKLY = {"from", "to"}, {"days", "start", "end", "timezone"}


def batch_size(max_unavailable: Any, hosts: int) -> int:
    """How many hosts may be down at once: a number, or a percentage of all ``hosts`` rounded down; never none.

    Raises ValueError for anything else.
    """
    text = str(max_unavailable).strip()
    if isinstance(max_unavailable, bool) or not re.match(r"^\d+%?$", text):
        raise ValueError(
            f"max_unavailable {max_unavailable!r} is neither a number of hosts nor a percentage. "
            "What to do: write 1, 2 ... or '25%'."
        )
    number = int(text.rstrip("%"))
    if text.endswith("%"):
        if number > 100:
            raise ValueError(f"max_unavailable {text} is more than all hosts. What to do: write at most 100%.")
        number = hosts * number // 100
    elif number < 1:
        raise ValueError("max_unavailable 0 lets no host restart. What to do: write at least 1.")
    return max(1, min(number, max(hosts, 1)))


def clock(window: Mapping[str, Any], name: str) -> datetime.time:
    value = window.get(name)
    if isinstance(value, int) and not isinstance(value, bool):  # YAML reads an unquoted 22:00 as 1320 (base 60)
        value = f"{value // 60}:{value % 60:02d}"
    match = _TIME.match(str(value))
    if not match:
        raise ValueError(f"change window: {name} {value!r} is no time of day. What to do: write it as '22:00'.")
    return datetime.time(int(match.group(1)), int(match.group(2)))


def _zone(name: str) -> datetime.tzinfo:
    import zoneinfo  # noqa: PLC0415 - Python 3.9; module_utils must import on 3.8

    try:
        return datetime.timezone.utc if name == "UTC" else zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(
            f"change window: no time zone {name!r} is known here. What to do: write UTC or a name like Europe/Berlin."
        ) from error


def _moment(value: Any) -> datetime.datetime:
    try:
        moment = value if isinstance(value, datetime.datetime) else datetime.datetime.fromisoformat(str(value))
    except ValueError as error:
        raise ValueError(
            f"change window: {value!r} is no date and time. What to do: write it as '2026-11-21T22:00:00+00:00'."
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)


def _span(window: Mapping[str, Any], now: datetime.datetime) -> tuple[datetime.datetime, datetime.datetime] | None:
    """The occurrence of ``window`` that ``now`` lies in, as (begin, end)."""
    keys = set(window)
    if keys == _ONCE:
        begin, end = _moment(window["from"]), _moment(window["to"])
        if begin >= end:
            raise ValueError(f"change window: it ends ({end.isoformat()}) before it begins ({begin.isoformat()}).")
        return (begin, end) if begin <= now < end else None
    if not {"start", "end"} <= keys or keys - _WEEKLY:
        raise ValueError(
            f"change window with the keys {', '.join(sorted(keys)) or 'none'}. What to do: give from and to, or start "
            "and end (and days and timezone, if not every day in UTC)."
        )
    days = [str(day).strip().lower()[:3] for day in window.get("days", DAYS)]
    unknown = [day for day in days if day not in DAYS]
    if unknown:
        raise ValueError(f"change window: no such day {unknown[0]!r}. What to do: write {', '.join(DAYS)}.")
    zone = _zone(str(window.get("timezone", "UTC")))
    start, end_time = clock(window, "start"), clock(window, "end")
    here = now.astimezone(zone)
    for back in (0, 1):  # one that began yesterday may still be open
        day = here.date() - datetime.timedelta(days=back)
        begin = datetime.datetime.combine(day, start, zone)
        end = datetime.datetime.combine(day, end_time, zone)
        if end <= begin:
            end = datetime.datetime.combine(day + datetime.timedelta(days=1), end_time, zone)
        if DAYS[day.weekday()] in days and begin <= here < end:
            return begin, end
    return None


def change_window(
    windows: Sequence[Mapping[str, Any]] | Mapping[str, Any], now: datetime.datetime, least_minutes: int = 0
) -> dict[str, Any]:
    """Say whether a host may be begun ``now``: {``open``, ``minutes_left`` (None: no end), ``reason``}.

    ``windows``: none (always open), one or several of ``{from, to}`` (ISO 8601; UTC where no zone is given) or
    ``{start, end, days, timezone}`` (weekly; one that passes midnight belongs to the day on which it begins).
    ``least_minutes``: a window with less time left counts as closed. Raises ValueError for what it does not know.
    """
    given = [windows] if isinstance(windows, Mapping) else list(windows)
    if not given:
        return {"open": True, "minutes_left": None, "reason": "no change window is set"}
    left: list[int] = []
    for window in given:
        span = _span(window, now)
        if span:
            left.append(int((span[1] - now).total_seconds() // 60))
    shown = "; ".join(", ".join(f"{key} {value}" for key, value in sorted(window.items())) for window in given)
    stamp = now.astimezone(datetime.timezone.utc).strftime("%a %Y-%m-%d %H:%M UTC")
    if not left:
        return {"open": False, "minutes_left": None, "reason": f"it is {stamp}, outside of the change window ({shown})"}
    minutes = max(left)
    enough = minutes >= least_minutes
    return {
        "open": enough,
        "minutes_left": minutes,
        "reason": f"it is {stamp}, {minutes} minutes before the end of the change window ({shown})"
        + ("" if enough else f"; a host is begun only with at least {least_minutes} minutes left"),
    }
