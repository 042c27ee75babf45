# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What counters say about a run, as a witness: the state and one sentence. Pure.

``{"places": {name: seen}, "expected_bytes", "reason"}`` with ``seen`` as `snapshots` makes it: ``sent_bytes`` and
``received_bytes``, or ``sent_packets`` and ``received_packets``; ``discards``, ``pauses`` and ``events`` (None: not
read); ``nodes`` whose traffic this place carries (1 if left out); ``why`` something was not read.

``expected_bytes``: what the gradients of the run had to move per node and direction; without it no amount of traffic
is enough, because setting up connections moves bytes, too.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Mapping, Sequence

from .limits import ROCE_MTUS_BYTES

AGREES, DISAGREES, MISSING = "agrees", "disagrees", "missing"
# Of what the gradients need, this share must be seen by the counters: they are read shortly before and after the run.
COUNTED_SHARE = 0.9
# A packet carries no more payload than this, so packets x this is the most that they can have moved.
PACKET_BYTES = max(ROCE_MTUS_BYTES)
_SHOWN = 4


def judge(counters: Mapping[str, Any] | None) -> tuple[str, str]:
    """(agrees, disagrees or missing; evidence)."""
    if not counters or not counters.get("places"):
        return MISSING, str((counters or {}).get("reason") or "nobody read them")
    places: Mapping[str, Mapping[str, Any]] = counters["places"]
    state, text = _say(places, counters.get("expected_bytes"))
    return state, "; ".join([text, *_notes(places)])


def _say(places: Mapping[str, Mapping[str, Any]], expected: Any) -> tuple[str, str]:
    def where(bad: Callable[[Mapping[str, Any]], Any]) -> list[str]:
        return [place for place, seen in places.items() if bad(seen)]

    dropped = where(lambda seen: seen.get("discards"))
    drops = f"packets were discarded at {few(dropped)}" if dropped else ""
    blind = where(lambda seen: moved_bytes(seen) is None)
    if blind:
        why = next((f" ({places[place]['why']})" for place in blind if places[place].get("why")), "")
        text = f"not read at {few(blind)}{why}: a counter that is not there is no zero"
        return (DISAGREES, f"{drops}; {text}") if drops else (MISSING, text)
    moved = {place: moved_bytes(seen) or 0.0 for place, seen in places.items()}
    still = [place for place, least in moved.items() if not least]
    if dropped or still:
        return DISAGREES, "; ".join(text for text in (drops, f"nothing moved at {few(still)}" if still else "") if text)
    least = min(moved.values())
    in_packets = any(not _is_count(seen.get("sent_bytes")) for seen in places.values())
    most = " at most (in packets)" if in_packets else ""
    if not isinstance(expected, (int, float)) or isinstance(expected, bool) or expected <= 0:
        return MISSING, f"at least {_gb(least)} moved everywhere{most}, but what the run had to move is not known"
    due = {place: expected * (seen.get("nodes") or 1) for place, seen in places.items()}
    text = f"{_gb(max(due.values()))} were due"
    short = [place for place in places if moved[place] < COUNTED_SHARE * due[place]]
    if short:
        seen_there = min(moved[place] for place in short)
        return DISAGREES, f"too little moved at {few(short)}: {_gb(seen_there)}{most}, {text}"
    return AGREES, f"{_gb(least)} or more{most} at each of {len(places)} places, {text}"


def _notes(places: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Pauses and congestion by name: they are how a lossless network works, and worth a look."""
    events: dict[str, int] = {}
    for seen in places.values():
        for name, count in (seen.get("events") or {}).items():
            events[name] = events.get(name, 0) + count
    notes = []
    pauses = [(place, seen["pauses"]) for place, seen in places.items() if seen.get("pauses")]
    if pauses:
        notes.append("PFC pauses: " + few([f"{count:,} at {place}" for place, count in pauses]))
    if events:
        notes.append("counted besides: " + few([f"{name} {count:,}" for name, count in events.items()]))
    unread = [place for place, seen in places.items() if "discards" in seen and seen["discards"] is None]
    if unread and any(moved_bytes(places[place]) is not None for place in unread):
        notes.append(f"discards were not read at {few(unread)}")
    return notes


def moved_bytes(seen: Mapping[str, Any]) -> float | None:
    """Bytes in the direction that moved fewer; of packets the most that they can carry. None: not read."""
    for sent, received, unit in (
        (seen.get("sent_bytes"), seen.get("received_bytes"), 1),
        (seen.get("sent_packets"), seen.get("received_packets"), PACKET_BYTES),
    ):
        if sent is not None and received is not None and _is_count(sent) and _is_count(received):
            return float(min(sent, received) * unit)
    return None


def _is_count(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _gb(value: float) -> str:
    return f"{value / 1e9:.3f} GB"


def few(places: Sequence[str], most: int = _SHOWN) -> str:
    text = ", ".join(places[:most])
    return text if len(places) <= most else f"{text} and {len(places) - most} more"


def table(counters: Mapping[str, Any] | None) -> list[list[str]]:
    """Rows (place, sent, received, discards, pauses, remarks) for the report."""
    rows = []
    for place, seen in ((counters or {}).get("places") or {}).items():
        figures = [_figure(seen, "sent"), _figure(seen, "received")]
        figures += ["not read" if seen.get(key) is None else f"{seen[key]:,}" for key in ("discards", "pauses")]
        events = [f"{name} {count:,}" for name, count in (seen.get("events") or {}).items()]
        rows.append([str(place), *figures, "; ".join(text for text in (str(seen.get("why") or ""), *events) if text)])
    return rows


HEADER = ("place", "sent", "received", "discards", "PFC pauses", "remarks")


def _figure(seen: Mapping[str, Any], direction: str) -> str:
    if _is_count(seen.get(f"{direction}_bytes")):
        return _gb(seen[f"{direction}_bytes"])
    if _is_count(seen.get(f"{direction}_packets")):
        return f"{seen[f'{direction}_packets']:,} packets"
    return "not read"
