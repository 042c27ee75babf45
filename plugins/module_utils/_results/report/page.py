"""A summary as one web page (report.html) that needs nothing beside itself. Pure: the summary and plots in, text out.

The templates are text in `page_text.py`: a module runs from an archive that holds Python files only. Everything that
devices and logs said is escaped by the template engine, and the page's own policy forbids scripts and any request.
"""

from __future__ import annotations

import base64
import functools
from typing import Any, Mapping, Sequence

from ..._fabric import gpus
from ..._proof import counters
from ..._proof.verdict import INVALID, PATH_PROVEN, PROVEN
from . import rank_columns
from .markdown import (
    BESIDE,
    DOCTOR_HEADER,
    FABRIC_HEADER,
    counter_rows,
    doctor_lines,
    doctor_rows,
    fabric_rows,
    figure,
    flat,
    gpu_rows,
    known,
    number,
    percent,
    tables,
)
from .page_text import COMPARE, MACROS, REPORT, STYLE
from .plots import Plot
from .summary import TITLES, headline

JINJA2_IMPORT_ERROR: Exception | None = None
jinja2: Any = None
try:
    import jinja2
except ImportError as import_error:
    JINJA2_IMPORT_ERROR = import_error

LINEAR = "linear scaling from one GPU"  # name of the limit
MANY_RANKS = 32  # from here on the table of ranks starts folded
_TONES = {PROVEN: "good", PATH_PROVEN: "part", INVALID: "bad"}


def report(summary: Mapping[str, Any], plots: Sequence[Plot] = (), no_plots: str = "", heat_map: str = "") -> str:
    """report.html. ``no_plots``: why there are none; ``heat_map``: SVG of the fabric check."""
    fabric_line, fabric_faults = fabric_rows(summary)
    verdict = summary["verdict"]
    tone = "warn" if summary["simulated"] and verdict["state"] != INVALID else _TONES.get(verdict["state"], "warn")
    seconds = sum(summary["stages"].values())
    state, _colon, why = verdict["line"].partition(": ")
    return str(
        _template(REPORT).render(
            s=summary,
            verdict=verdict,
            tone=tone,
            state=state,
            why=why,
            headline=headline(summary),
            cards=_cards(summary, seconds),
            plots=[_embedded(plot) for plot in plots],
            no_plots=no_plots,
            benchmarks=[(kind, found, *tables(kind, found["rows"])) for kind, found in summary["benchmarks"].items()],
            layers=[(TITLES[name], layer, _found(layer["found"])) for name, layer in summary["layers"].items()],
            stages=[(name, spent, spent / seconds if seconds else 0.0) for name, spent in summary["stages"].items()],
            beside=BESIDE,
            counter_header=counters.HEADER,
            counter_rows=counter_rows(summary),
            doctor_header=DOCTOR_HEADER,
            doctor_rows=doctor_rows(summary),
            doctor_lines=doctor_lines(summary),
            fabric_line=fabric_line,
            fabric_header=FABRIC_HEADER,
            fabric_rows=fabric_faults,
            gpu_header=gpus.HEADER,
            gpu_rows=gpu_rows(summary),
            heat_map=heat_map and "data:image/svg+xml;base64," + base64.b64encode(heat_map.encode()).decode(),
            known=[(key, flat(value), source) for key, value, source in known(summary)],
            rank_columns=rank_columns.COLUMNS,
            rank_rows=rank_columns.rows(summary),
            fold_ranks=summary["ranks"] >= MANY_RANKS,
        )
    )


def compare(table: Mapping[str, Any]) -> str:
    """compare.html; ``table`` as `comparison.build` returns it."""
    return str(_template(COMPARE).render(t=table))


@functools.lru_cache(maxsize=None)
def _template(text: str) -> Any:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(number=number, percent=percent, flat=flat, figure=figure)
    environment.globals.update(style=STYLE)
    return environment.from_string(MACROS + text)


def _embedded(plot: Plot) -> dict[str, str]:
    return {
        "title": plot.title,
        "alt": plot.alt,
        "light": "data:image/png;base64," + base64.b64encode(plot.light).decode(),
        "dark": "data:image/png;base64," + base64.b64encode(plot.dark).decode(),
    }


def _cards(summary: Mapping[str, Any], seconds: float) -> list[tuple[str, str, str]]:
    """(label, figure, note) of the few figures that everybody asks for first."""
    speed, agreement = summary["images_per_second"], summary["agreement"]
    hosts = {rank["host"] for rank in summary["rank_details"]} - {None}
    cards = []
    if speed["total"] is None:
        cards.append(("Throughput", "none", "no total was printed"))
    elif agreement["ok"] is True:
        cards.append(("Throughput", number(speed["total"]), "images/s, all ranks"))
    else:
        cards.append(("Throughput", "not a result", f"the log prints {number(speed['total'])} images/s"))
    cards.append(("Ranks", str(summary["ranks"]), f"on {len(hosts)} hosts" if hosts else "hosts unknown"))
    if speed["per_rank"]:
        cards.append(
            (
                "Slowest to fastest rank",
                f"{number(min(speed['per_rank']))} to {number(max(speed['per_rank']))}",
                "images/s",
            )
        )
    linear = next(
        (
            entry
            for entry in summary["limits"]["comparisons"]
            if entry["limit_name"] == LINEAR and entry["ratio"] is not None
        ),
        None,
    )
    cards.append(
        ("Scaling efficiency", percent(linear["ratio"]), "of ranks x one GPU")
        if linear
        else ("Scaling efficiency", "unknown", _no_reference(summary))
    )
    exposed = summary["limits"]["communication"]["exposed_share"]
    cards.append(
        ("Exposed communication", percent(exposed), "of a step" if exposed is not None else "needs one GPU's rate")
    )
    if seconds:
        cards.append(("Wall time", f"{seconds / 60:.1f} min" if seconds >= 120 else f"{seconds:.0f} s", "all stages"))
    return cards


def _no_reference(summary: Mapping[str, Any]) -> str:
    """Why there is nothing to scale from: not measured, or measured with another batch."""
    how = next((limit["how"] for limit in summary["limits"]["limits"] if limit["name"] == LINEAR), "")
    return str(how).removeprefix("unknown, because ") or "one GPU was not measured"


def _found(found: Any) -> list[tuple[str, str]]:
    """One line per host, as far as the finding is kept per host."""
    if found in (None, {}, [], ""):
        return []
    if isinstance(found, Mapping):
        return [(str(host), flat(value)) for host, value in found.items()]
    return [("", flat(found))]
