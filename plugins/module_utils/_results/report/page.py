"""The pages of a run and of a comparison, from templates and tables.yml: HTML that needs nothing beside itself, and
Markdown. Pure.

Everything that devices and logs said is escaped, and the policy of the HTML pages forbids scripts and any request.
"""

from __future__ import annotations

import base64
import functools
import json
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from ..._fabric import gpus
from ..._proof import counters
from ..._proof.verdict import INVALID, PATH_PROVEN, PROVEN
from ..._yaml_files import Beside
from .plots import Plot
from .summary import TITLES, headline

_TEMPLATES = Path(__file__).with_name("templates")
_TABLES = Beside(__file__, "tables.yml")
_TONES = {PROVEN: "good", PATH_PROVEN: "part", INVALID: "bad"}
_CELL = 300  # characters of a finding in a table; the whole of it is in summary.json


def report(summary: Mapping[str, Any], plots: Sequence[Plot] = (), no_plots: str = "", heat_map: str = "") -> str:
    """report.html. ``no_plots``: why there are none; ``heat_map``: SVG of the fabric check."""
    return _rendered("report.html.j2", **_view(summary, no_plots), plots=plots, heat_map=heat_map.encode())


def markdown(summary: Mapping[str, Any], plots: Sequence[str] = (), no_plots: str = "", heat_map: str = "") -> str:
    """report.md. ``plots``, ``heat_map``: names of the files beside it; ``no_plots``: why there are none."""
    return _rendered("report.md.j2", **_view(summary, no_plots), plots=plots, heat_map=heat_map)


def compare(table: Mapping[str, Any], form: str = "html") -> str:
    """compare.html, or compare.md; ``table`` as `comparison.build` returns it."""
    return _rendered(f"compare.{form}.j2", t=table)


@functools.lru_cache(maxsize=None)
def _environment() -> Any:
    # Here: the file is imported where modules run, too, and only the controller has the library for certain.
    import jinja2  # noqa: PLC0415

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=lambda name: bool(name) and ".html." in str(name),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    named = (number, percent, flat, figure, cell, line, or_unknown, located, embedded)
    environment.filters.update({function.__name__: function for function in named})
    environment.globals.update(style=(_TEMPLATES / "style.css").read_text(encoding="utf-8"))
    return environment


def _rendered(name: str, **values: Any) -> str:
    return str(_environment().get_template(name).render(**values))


@functools.lru_cache(maxsize=None)
def _row_of(kind: str) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    """What is in a row of this table, all of it in one expression: there may be thousands of ranks."""
    row: Callable[[Mapping[str, Any]], Sequence[Any]] = _environment().compile_expression(
        f"[{', '.join(f'({text})' for _heading, text in _TABLES[kind])}]"
    )
    return row


def tables(kind: str, rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Header and cells of a table of tables.yml, or of another benchmark. Units stand in the header."""
    if kind in _TABLES.table:
        cells_of = _row_of(kind)
        return [heading for heading, _text in _TABLES[kind]], [[str(each) for each in cells_of(row)] for row in rows]
    if kind != "scoring":
        names = list(dict.fromkeys(name for row in rows for name in row))
        return names, [[flat(row[name]) if name in row else "-" for name in names] for row in rows]
    batches = sorted({row["batch"] for row in rows})
    by_model: dict[str, dict[int, float]] = {}
    for row in rows:
        by_model.setdefault(row["model"], {})[row["batch"]] = row["images_per_second"]
    cells = [
        [str(batch), *(number(by[batch]) if batch in by else "-" for by in by_model.values())] for batch in batches
    ]
    return ["batch", *(f"{model} images/s" for model in by_model)], cells


def _view(summary: Mapping[str, Any], no_plots: str) -> dict[str, Any]:
    """By name, what the templates of both pages take."""
    verdict, limits = summary["verdict"], summary["limits"]
    tone = "warn" if summary["simulated"] and verdict["state"] != INVALID else _TONES.get(verdict["state"], "warn")
    doctor, checked = summary.get("doctor") or {}, summary["fabric"] or {}
    fabric = checked.get("report") or {}
    return {
        "s": summary,
        "verdict": verdict,
        "tone": tone,
        "headline": headline(summary),
        "no_plots": no_plots,
        "beside": "Beside the verdict: how good that path is. What was not read may be good or bad.",
        "counters": (
            counters.HEADER,
            [row for key in ("rdma", "switch") for row in counters.table(summary["counters"][key])],
        ),
        "doctor": tables("doctor", doctor.get("findings") or ()),
        "doctor_lines": _doctor_lines(doctor),
        "fabric_line": _rendered("fabric.j2", report=fabric, skipped=checked.get("skipped")),
        "fabric": tables("fabric", fabric.get("faults") or ()),
        # Of the job's hosts as the fabric check saw them, equal ones in one row.
        "gpus": (tuple(gpus.columns().values()), gpus.merged(fabric.get("gpus") or ())),
        "known": [(key, flat(value), limits["sources"][key]) for key, value in limits["given"].items()],
        "benchmarks": [(kind, found, *tables(kind, found["rows"])) for kind, found in summary["benchmarks"].items()],
        "layers": [(TITLES[name], layer, _found(layer["found"])) for name, layer in summary["layers"].items()],
        "ranks": tables("ranks", summary["rank_details"]),
    }


def _doctor_lines(doctor: Mapping[str, Any]) -> list[str]:
    """What the doctor says beside its findings."""
    lines = [f"Look next, {entry['where']}: {entry['run']}" for entry in doctor.get("next") or ()]
    lines += [f"No rule knows this line: {located(entry)}" for entry in doctor.get("unknown") or ()]
    lines += [f"Wanted and not found: {'; '.join(doctor['asked'])}"] if doctor.get("asked") else []
    return [*lines, *doctor.get("notes", ())]


def _found(found: Any) -> list[tuple[str, str]]:
    """One line per host, as far as the finding is kept per host."""
    if found in (None, {}, [], ""):
        return []
    if isinstance(found, Mapping):
        return [(str(host), flat(value)) for host, value in found.items()]
    return [("", flat(found))]


# ------------------------------------------------------------------------------------------- filters of the templates


def number(value: float | None, digits: int = 2) -> str:
    return "unknown" if value is None else f"{value:,.{digits}f}"


def figure(value: float | None, unit: str) -> str:
    """Four digits that count; whole numbers in full from 100,000 on."""
    if value is None:
        return "unknown"
    return f"{value:,.0f} {unit}" if abs(value) >= 1e5 else f"{value:.4g} {unit}"


def percent(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.1f} %"


def or_unknown(value: Any) -> str:
    return "unknown" if value in (None, "") else str(value)


def located(entry: Mapping[str, Any]) -> str:
    """A line that the doctor quotes, with its place."""
    return f"{entry['file']}:{entry['line']}: {entry['text']}"


def flat(value: Any) -> str:
    if isinstance(value, str):
        text = value
    elif isinstance(value, Mapping):
        text = "; ".join(
            f"{key}: {'{' + flat(entry) + '}' if isinstance(entry, Mapping) else flat(entry)}"
            for key, entry in value.items()
        )
    elif isinstance(value, (list, tuple)):
        text = ", ".join(flat(entry) for entry in value)
    else:
        text = json.dumps(value)
    return " ".join(text.split())


def cell(value: Any, limit: int = _CELL) -> str:
    text = flat(value)
    if len(text) > limit:
        text = text[:limit] + " [more in summary.json]"
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def line(value: Any) -> str:
    """One line of Markdown text: what devices and logs said must not become markup."""
    return flat(value).replace("<", "&lt;")


def embedded(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
