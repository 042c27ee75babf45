"""The answer of the fabric check: a table, JSON for other programs, and a heat map as SVG. Pure."""

from __future__ import annotations

import html
import math
import statistics
from typing import Any, Mapping, Sequence

from .._judge.finding import Finding, text_table
from .gpus import Gpus
from .judge import Place, Places, Sample
from .model import Fabric
from .reach import remedy
from .wire import Failure

SCHEMA = 1
_NO_GPUS = Gpus()
MOST_CELLS = 128  # hosts along an edge of the heat map; more are put together


def place_text(fabric: Fabric, place: Place) -> str:
    if place.kind in ("fabric", "rail", "switch"):
        rail = f"rail {''.join(map(str, place.members))}"
        return {"fabric": "the whole fabric", "switch": f"switch {place.switch}"}.get(place.kind, rail)
    if place.kind == "host":
        return f"host {fabric.hosts[place.members[0]]}"
    if place.kind == "gpu":
        return f"{', '.join(fabric.hosts[host] for host in place.members)} {place.part}"
    if place.kind == "pair":
        return " with ".join(map(fabric.name, place.members))
    return fabric.name(place.members[0]) + (f", only what it {place.direction}" if place.direction else "")


def accusation(fabric: Fabric, place: Place, what: str, failures: Sequence[Failure]) -> Finding:
    """A measured place, in the form of every other fault."""
    nics = set(fabric.nics_of(place.members[0])) if place.kind == "host" else set(place.members)
    said = [
        failure.why
        for failure in failures
        if place.kind in ("rail", "fabric") or nics & {failure.client, failure.server}
    ]
    share = f"{place.bad} of {place.tests} measurements"
    found = (
        f"{share} without a result" if place.dead else f"{share} bad, {100 * place.ratio:.0f} % of the others' {what}"
    )
    text = found + (f"; {said[0]}" if said else "")
    return Finding(place, "dead" if place.dead else "slow", text, remedy(f"slow_{place.kind}"))


def document(
    fabric: Fabric,
    faults: Sequence[Finding],
    places: Mapping[str, Places],
    *,
    notes: Sequence[str] = (),
    missing: Sequence[str] = (),
    form: str = "",
    counters: Mapping[str, Mapping[str, int]] | None = None,
    gpus: Gpus = _NO_GPUS,
    simulated: bool = False,
    complete: bool = True,
) -> dict[str, Any]:
    """``ok`` only if nothing was found and everything was looked at: what was not measured is no good news."""
    return {
        "schema": SCHEMA,
        "form": form,
        "ok": complete and not faults and not missing,
        "complete": complete and not missing,
        "simulated": simulated,
        "hosts": list(fabric.hosts),
        "rails": fabric.rails,
        "missing": list(missing),
        "faults": [
            {
                "thing": fault.thing,
                "kind": fault.place.kind,
                "place": place_text(fabric, fault.place),
                "hosts": sorted(_hosts(fabric, fault.place)),
                "found": fault.text,
                "remedy": fault.remedy,
            }
            for fault in faults
        ],
        "measured": {
            name: {
                "tests": each.tests,
                "bad": each.bad,
                "medians": {
                    f"rail {key[0]}" + (f" to {key[1]}" if key[0] != key[1] else ""): value
                    for key, value in each.medians.items()
                },
                "seen_once": [place_text(fabric, place) for place in each.open],
            }
            for name, each in places.items()
        },
        "counters": {name: dict(counts) for name, counts in (counters or {}).items()},
        "gpus": [dict(row) for row in gpus.rows],
        "gpu_table": gpus.table,
        "notes": list(notes),
        "table": table(fabric, faults, simulated),
    }


def _hosts(fabric: Fabric, place: Place) -> set[str]:
    if place.kind in ("host", "gpu"):
        return {fabric.hosts[host] for host in place.members}
    if place.kind in ("nic", "pair", "switch"):
        return {fabric.hosts[fabric.host_of(nic)] for nic in place.members}
    return set()


def table(fabric: Fabric, faults: Sequence[Finding], simulated: bool) -> list[str]:
    lines = ["SIMULATED: a device or a program of this check is no real one."] if simulated else []
    if not faults:
        return [*lines, f"{len(fabric.hosts)} host(s), {fabric.rails} rail(s): nothing found."]
    rows = [("thing", "place", "found", "what to do")]
    rows += [(fault.thing, place_text(fabric, fault.place), fault.text, fault.remedy) for fault in faults]
    return [*lines, *text_table(rows, 60)]


def heat_map(fabric: Fabric, seen: Sequence[Sample], unit: str, simulated: bool) -> str:
    """Hosts against hosts, the median over rails and repeats; grey where nothing was measured."""
    step = -(-len(fabric.hosts) // MOST_CELLS)
    cells: dict[tuple[int, int], list[float]] = {}
    nics = fabric.rails * step  # along an edge of a cell
    for each in seen:
        for (one, other), value in zip(each.sweep, each.values):
            if not math.isnan(value):
                row, column = one // nics, other // nics
                cells.setdefault((row, column) if row < column else (column, row), []).append(value)
    edge, best = (
        -(-len(fabric.hosts) // step),
        max((statistics.median(each) for each in cells.values()), default=1.0) or 1.0,
    )
    size, left, top = max(6, min(28, 640 // edge)), 110, 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + edge * size + 20}" height="{top + edge * size + 20}" '
        'font-family="sans-serif" font-size="11">',
        f"<title>Host against host, {html.escape(unit)}{' (SIMULATED)' if simulated else ''}</title>",
        f'<text x="4" y="16">Host against host, {html.escape(unit)}; full colour is {best:.4g}'
        f"{' - SIMULATED' if simulated else ''}</text>",
    ]
    for row in range(edge):
        if size >= 10:
            parts.append(
                f'<text x="4" y="{top + row * size + size - 2}">{html.escape(fabric.hosts[row * step][:16])}</text>'
            )
        for column in range(edge):
            values = cells.get((min(row, column), max(row, column)))
            median = statistics.median(values) if values else None
            names = f"{fabric.hosts[row * step]} - {fabric.hosts[column * step]}"
            given = "not measured" if median is None else f"{median:.4g}"
            parts.append(
                f'<rect x="{left + column * size}" y="{top + row * size}" width="{size - 1}" height="{size - 1}" '
                f'fill="{_colour(median, best)}"><title>{html.escape(names)}: {given}</title></rect>'
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _colour(value: float | None, best: float) -> str:
    if value is None:
        return "#dddddd"
    share = max(0.0, min(1.0, value / best))
    # From red over yellow to green, in steps that differ in brightness too.
    return f"hsl({round(120 * share**2)},70%,{round(38 + 14 * share)}%)"
