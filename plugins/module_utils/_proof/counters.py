"""What counters say about a run: how much moved, against what the gradients had to move. Pure.

``{"places": {name: seen}, "reason"}`` with ``seen`` as `snapshots` makes it: ``sent_bytes`` and ``received_bytes``, or
``sent_packets`` and ``received_packets``; ``discards``, ``pauses`` and ``events`` (None: not read); ``nodes`` whose
traffic this place carries (1 if left out); ``why`` something was not read.

What is due does not depend on the algorithm. Whatever NCCL chooses (ring, trees, NVLS), a node has to send its own
part of every gradient once and to receive the others' once: S bytes each way. All nodes together have to move
2 (n - 1) S, because every algorithm without help from the network does (a ring 2 (n - 1) / n S at each of n nodes, a
tree more at the inner nodes and S at its leaves).
"""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Any, Mapping

from .._results.figures.limits import MEASUREMENT_MARGIN, ROCE_MTUS_BYTES
from .._results.readers.reading import few
from .witness import Doubts

# Of what the gradients need, this share must be seen by the counters: they are read shortly before and after the run.
COUNTED_SHARE = 0.9
# Of what can be due, this share may be seen: retransmissions and control are small; more is the traffic of others.
MOST_SHARE = 1.15
MOST_NEIGHBOURS = 3
# A packet carries no more payload than this, so packets x this is the most that they can have moved.
PACKET_BYTES = max(ROCE_MTUS_BYTES)


@dataclasses.dataclass(frozen=True)
class Due:
    """``gradient_bytes``: the gradients of all steps of one rank; ``nodes``: that exchange them; ``measured_bytes``:
    of the all-reduce that is measured alone afterwards, which moves through the same counters; ``other_bytes``: what
    steps before the clock and the start may add at most; ``before_bytes``: at least."""

    gradient_bytes: float
    nodes: int
    measured_bytes: float = 0.0
    other_bytes: float = 0.0
    before_bytes: float = 0.0

    @property
    def each(self) -> float:
        """Bytes per direction of a node."""
        return self.gradient_bytes + self.measured_bytes

    @property
    def of_gradients(self) -> float:
        """Bytes per direction over all nodes, of the gradients alone."""
        return 2 * (self.nodes - 1) * self.gradient_bytes

    @property
    def everywhere(self) -> float:
        """Bytes per direction over all nodes."""
        return 2 * (self.nodes - 1) * self.each

    @property
    def most_each(self) -> float:
        """Bytes per direction of a node: an inner node of a tree sends to its children and to its parent."""
        return MOST_NEIGHBOURS * (self.each + self.other_bytes) * MOST_SHARE

    @property
    def most_everywhere(self) -> float:
        """Bytes per direction over all nodes: no algorithm moves more than a ring of very many ranks."""
        return 2 * self.nodes * (self.each + self.other_bytes) * MOST_SHARE


def judge(counters: Mapping[str, Any] | None, due: Due | None, doubts: Doubts) -> str:
    """Adds what is doubtful; returns the sentence for the case that nothing is."""
    if not counters or not counters.get("places"):
        doubts.missing.append(str((counters or {}).get("reason") or "they were not read"))
        return ""
    places: Mapping[str, Mapping[str, Any]] = counters["places"]
    doubts.add_if([place for place, seen in places.items() if seen.get("discards")], "discarded")
    blind = [place for place, seen in places.items() if moved_bytes(seen) is None]
    why = next((f" ({places[place]['why']})" for place in blind if places[place].get("why")), "")
    doubts.add_if(blind, "counters_blind", why=why)
    unread = [place for place, seen in places.items() if place not in blind and not _is_count(seen.get("discards"))]
    doubts.add_if(unread, "discards_unread")
    doubts.add_if([place for place, seen in places.items() if _beyond(seen)], "too_fast")
    text = _enough({place: seen for place, seen in places.items() if place not in blind}, due, doubts, bool(blind))
    doubts.notes.extend(notes(places))
    return text


def _enough(places: Mapping[str, Mapping[str, Any]], due: Due | None, doubts: Doubts, partly: bool) -> str:
    moved = {place: moved_bytes(seen) or 0.0 for place, seen in places.items()}
    if not moved:
        return ""
    still = [place for place, least in moved.items() if not least]
    doubts.add_if(still, "nothing_moved")
    least, packets = min(moved.values()), any(not _is_count(seen.get("sent_bytes")) for seen in places.values())

    def amount(value: float) -> str:
        return f"{_gb(value)} at most (counted in packets)" if packets else _gb(value)

    shown = amount(least) if packets else f"at least {_gb(least)}"
    if due is None or not math.isfinite(due.gradient_bytes) or due.gradient_bytes <= 0 or due.nodes < 2:
        doubts.add("due_unknown", shown=shown)
        return ""
    wanted = {name: due.everywhere if (seen.get("nodes") or 1) > 1 else due.each for name, seen in places.items()}
    short = [place for place, least in moved.items() if 0 < least < COUNTED_SHARE * wanted[place]]
    there = amount(min((moved[place] for place in short), default=0.0))
    doubts.add_if(short, "too_little", there=there, each=_gb(due.each), everywhere=_gb(due.everywhere))
    whole = sum(moved.values())
    if not partly and not short and not still and whole < COUNTED_SHARE * due.everywhere:
        doubts.add("too_little_together", whole=amount(whole), everywhere=_gb(due.everywhere))
    if not packets:
        most = {place: max(seen["sent_bytes"], seen["received_bytes"]) for place, seen in places.items()}
        over = [f"{place} ({_gb(value)})" for place, value in most.items() if value > due.most_each]
        if over or sum(most.values()) > due.most_everywhere:
            these = over or f"{_gb(sum(most.values()))} together"
            doubts.add_if(these, "too_much", each=_gb(due.most_each), everywhere=_gb(due.most_everywhere))
    at = f"at each of {len(places)} places" if len(places) > 1 else "at one place that sees all nodes"
    return f"{shown} {at}, {_gb(whole)} together; {_gb(due.everywhere)} were due"


def _beyond(seen: Mapping[str, Any]) -> bool:
    """More moved than the links carry between the two readings."""
    moved = [seen[key] for key in ("sent_bytes", "received_bytes") if _is_count(seen.get(key))]
    return (
        bool(moved) and _is_count(seen.get("most_bytes")) and max(moved) > seen["most_bytes"] * (1 + MEASUREMENT_MARGIN)
    )


def notes(places: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Pauses and congestion by name: they are how a lossless network works, and worth a look."""
    events: collections.Counter[str] = collections.Counter()
    for seen in places.values():
        events.update(seen.get("events") or {})
    found = []
    pauses = [(place, seen["pauses"]) for place, seen in places.items() if seen.get("pauses")]
    if pauses:
        found.append("PFC pauses: " + few([f"{count:,} at {place}" for place, count in pauses]))
    if events:
        found.append("counted besides: " + few([f"{name} {count:,}" for name, count in events.items()]))
    return found


def moved_bytes(seen: Mapping[str, Any]) -> float | None:
    """Bytes in the direction that moved fewer; of packets the most that they can carry. None: not read."""
    for unit, most in (("bytes", 1), ("packets", PACKET_BYTES)):
        both = [seen[key] for key in (f"sent_{unit}", f"received_{unit}") if _is_count(seen.get(key))]
        if len(both) == 2:
            return float(min(both) * most)
    return None


def _is_count(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _gb(value: float) -> str:
    return f"{value / 1e9:.3f} GB"


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
    packets = seen.get(f"{direction}_packets")
    return f"{packets:,} packets" if _is_count(packets) else "not read"
