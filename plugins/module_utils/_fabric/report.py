"""The answer of the fabric check: a table, JSON for other programs, and a heat map as SVG. Pure."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any, Sequence

from .._judge.finding import Finding, text_table
from .._results.readers.reading import by_key
from .judge import Place, Places, Sample
from .model import Fabric
from .reach import FAULTS
from .wire import Failure

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


def accusation(fabric: Fabric, place: Place, bandwidth: bool, failures: Sequence[Failure]) -> Finding:
    """A measured place, in the form of every other fault. ``bandwidth``: of latency otherwise."""
    nics = set(place.nics(fabric, "pair", "switch"))
    everywhere = place.kind in ("rail", "fabric")
    why = next((f"; {each.why}" for each in failures if everywhere or nics & {each.client, each.server}), "")
    what = "bandwidth" if bandwidth else "speed of answering"
    bad = "without a result" if place.dead else f"bad, {100 * place.ratio:.0f} % of the others' {what}"
    text = f"{place.bad} of {place.tests} measurements {bad}{why}"
    return Finding(place, "dead" if place.dead else "slow", text, FAULTS.say(f"slow_{place.kind}")["remedy"])


def fault_rows(fabric: Fabric, faults: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {
            "thing": fault.thing,
            "kind": fault.place.kind,
            "place": place_text(fabric, fault.place),
            "hosts": sorted(_hosts(fabric, fault.place)),
            "found": fault.text,
            "remedy": fault.remedy,
        }
        for fault in faults
    ]


def seen(fabric: Fabric, places: Places) -> dict[str, Any]:
    """What one program measured."""
    medians = {
        f"rail {one}" + (f" to {other}" if one != other else ""): value
        for (one, other), value in places.medians.items()
    }
    once = [place_text(fabric, place) for place in places.open]
    return {"tests": places.tests, "bad": places.bad, "medians": medians, "seen_once": once}


def _hosts(fabric: Fabric, place: Place) -> set[str]:
    nics = place.nics(fabric, "pair", "switch")
    return {
        fabric.hosts[host] for host in (place.members if place.kind in ("host", "gpu") else map(fabric.host_of, nics))
    }


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
    nics = fabric.rails * step  # along an edge of a cell
    tests = (test for each in seen for test in zip(each.sweep, each.values) if not math.isnan(test[1]))
    cells = by_key((tuple(sorted((one // nics, other // nics))), value) for (one, other), value in tests)
    medians = {place: statistics.median(values) for place, values in cells.items()}
    edge, best = -(-len(fabric.hosts) // step), max(medians.values(), default=1.0) or 1.0
    # Here: the file is imported where modules run, too, and only the controller has the library for certain.
    import jinja2  # noqa: PLC0415

    text = Path(__file__).with_name("heat_map.svg.j2").read_text(encoding="utf-8")
    template = jinja2.Template(text, autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    names, size = fabric.hosts[::step], max(6, min(28, 640 // edge))
    return str(template.render(names=names, medians=medians, size=size, best=best, unit=unit, simulated=simulated))
