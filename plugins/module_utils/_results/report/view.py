"""What a report shows, for the templates of both pages: texts, tables and their headings. Pure."""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping, Sequence, Tuple

from ..._fabric import gpus
from ..._proof import counters
from ..._proof.verdict import INVALID, PATH_PROVEN, PROVEN
from ..._proof.witness import MISSING
from . import rank_columns
from .summary import TITLES, headline

LINEAR = "linear scaling from one GPU"  # name of the limit
MANY_RANKS = 32  # from here on the table of ranks starts folded
_TONES = {PROVEN: "good", PATH_PROVEN: "part", INVALID: "bad"}
_CELL = 300  # characters of a finding in a table; the whole of it is in summary.json


# Of witnesses that do not decide.
_BESIDE = "Beside the verdict: how good that path is. What was not read may be good or bad."
_STATES = {"agrees": "agrees", "disagrees": "**DISAGREES**", "missing": "missing", "impossible": "**IMPOSSIBLE**"}


def of(summary: Mapping[str, Any], no_plots: str = "") -> dict[str, Any]:
    """By name, what the templates take. ``no_plots``: why there are no plots."""
    verdict, limits, stages = summary["verdict"], summary["limits"], summary["stages"]
    seconds = sum(stages.values())
    tone = "warn" if summary["simulated"] and verdict["state"] != INVALID else _TONES.get(verdict["state"], "warn")
    fabric_line, fabric_rows = _fabric_rows(summary)
    return {
        "s": summary,
        "verdict": verdict,
        "tone": tone,
        "headline": headline(summary),
        "cards": _cards(summary, seconds),
        "no_plots": no_plots,
        "witnesses": [(heading, _witness_rows(verdict, not heading)) for heading in ("", _BESIDE)],
        "counter_header": counters.HEADER,
        "counter_rows": _counter_rows(summary),
        "doctor_header": _DOCTOR_HEADER,
        "doctor_rows": _doctor_rows(summary),
        "doctor_lines": _doctor_lines(summary),
        "fabric_line": fabric_line,
        "fabric_header": _FABRIC_HEADER,
        "fabric_rows": fabric_rows,
        "gpu_header": gpus.HEADER,
        "gpu_rows": _gpu_rows(summary),
        "limit_rows": [
            (limit["name"], figure(limit["value"], limit["unit"]), limit["how"]) for limit in limits["limits"]
        ],
        "known": _known(summary),
        "comparison_rows": [_comparison(entry) for entry in limits["comparisons"]],
        "benchmarks": [(kind, found, *tables(kind, found["rows"])) for kind, found in summary["benchmarks"].items()],
        "layers": [(TITLES[name], layer, _found(layer["found"])) for name, layer in summary["layers"].items()],
        "layer_rows": [_layer(TITLES[name], layer) for name, layer in summary["layers"].items()],
        "stages": [(name, spent, spent / seconds if seconds else 0.0) for name, spent in stages.items()],
        "stage_rows": [(name, f"{spent:.1f}") for name, spent in stages.items()],
        "rank_columns": rank_columns.COLUMNS,
        "rank_rows": rank_columns.rows(summary),
        "rank_figures": [place for place, column in enumerate(rank_columns.COLUMNS) if column.figure],
        "fold_ranks": summary["ranks"] >= MANY_RANKS,
    }


def _witness_rows(verdict: Mapping[str, Any], decides: bool) -> list[tuple[str, str, str]]:
    return [
        (
            witness["title"],
            _STATES[witness["state"]] if decides or witness["state"] != MISSING else "not read",
            witness["evidence"],
        )
        for witness in verdict["witnesses"]
        if witness["decides"] is decides
    ]


def _comparison(entry: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return (
        f"{entry['what']} ({entry['limit_name']})",
        f"{number(entry['achieved'])} {entry['unit']}",
        figure(entry["limit"], entry["unit"]),
        percent(entry["ratio"]) + (" **ABOVE**" if entry["exceeded"] else ""),
    )


def _layer(title: str, layer: Mapping[str, Any]) -> tuple[str, str, str, Any]:
    return (
        ("**SIMULATED** " if layer["simulated"] else "") + title,
        {True: "yes", False: "**NO**", None: "not looked at"}[layer["verified"]],
        "yes" if layer["changed"] else "no",
        "" if layer["found"] in (None, {}, []) else layer["found"],
    )


_DOCTOR_HEADER = ("how sure", "cause", "where", "seen", "look", "fix")


def _doctor_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """What may be wrong, root cause first."""
    return [
        [
            f"{'SIMULATED ' if finding['simulated'] else ''}{finding['certainty']}"
            + (f", accepted: {finding['accepted']}" if finding.get("accepted") else ""),
            f"{finding['means']} ({finding['cause']}, {finding['layer']})",
            _where(finding),
            "; ".join(f"{entry['file']}:{entry['line']}: {entry['text']}" for entry in finding["evidence"][:2]),
            f"{finding['next']['where']}: {finding['next']['run']}",
            f"{finding['fix']['what']} ({finding['fix']['who']}; interrupts {finding['fix']['interrupts']})",
        ]
        for finding in (summary.get("doctor") or {}).get("findings") or ()
    ]


def _doctor_lines(summary: Mapping[str, Any]) -> list[str]:
    """What the doctor says beside its findings."""
    doctor = summary.get("doctor") or {}
    lines = [f"Look next, {entry['where']}: {entry['run']}" for entry in doctor.get("next") or ()]
    unknown = doctor.get("unknown") or ()
    lines += [f"No rule knows this line: {entry['file']}:{entry['line']}: {entry['text']}" for entry in unknown]
    lines += [f"Wanted and not found: {'; '.join(doctor['asked'])}"] if doctor.get("asked") else []
    return [*lines, *doctor.get("notes", ())]


def _where(finding: Mapping[str, Any]) -> str:
    places = [*(finding["hosts"][:4] or [finding["host"]]), finding["device"]]
    rank = [f"rank {finding['rank']}"] if finding["rank"] is not None else []
    return " ".join(part for part in [*places, *rank] if part) or "unknown"


def _counter_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """What NICs and switch moved."""
    found = summary.get("counters") or {}
    return [row for key in ("rdma", "switch") for row in counters.table(found.get(key))]


_FABRIC_HEADER = ("thing", "place", "found", "what to do")


def _fabric_rows(summary: Mapping[str, Any]) -> tuple[str, list[list[str]]]:
    """What the fabric check came to, in a line and its faults; "": none was given."""
    fabric = summary.get("fabric") or {}
    report = fabric.get("report") or {}
    if not report:
        return (f"Not checked: {fabric['skipped']}." if fabric.get("skipped") else ""), []
    medians = [
        f"{program} {rail} {value:.4g}"
        for program, each in (report.get("measured") or {}).items()
        for rail, value in (each.get("medians") or {}).items()
    ]
    mark = "SIMULATED. " if report.get("simulated") else ""
    whole = "" if report.get("complete") else " Not everything was measured."
    line = (
        f"{mark}Form {report.get('form')}, {len(report.get('hosts') or ())} hosts, {report.get('rails')} rail(s), "
        f"{len(report.get('faults') or ())} fault(s).{whole} Medians (Gb/s, 1/us for latency): "
        f"{', '.join(medians) or 'none'}."
    )
    keys = ("thing", "place", "found", "remedy")
    return line, [[flat(fault.get(key, "")) for key in keys] for fault in report.get("faults") or ()]


def _gpu_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """The GPUs of the job's hosts as the fabric check saw them, equal ones in one row."""
    report = (summary.get("fabric") or {}).get("report") or {}
    return [list(row) for row in gpus.merged(report.get("gpus") or ())]


def number(value: float | None, digits: int = 2) -> str:
    return "unknown" if value is None else f"{value:,.{digits}f}"


def figure(value: float | None, unit: str) -> str:
    """Four digits that count; whole numbers in full from 100,000 on."""
    if value is None:
        return "unknown"
    return f"{value:,.0f} {unit}" if abs(value) >= 1e5 else f"{value:.4g} {unit}"


def percent(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.1f} %"


def _known(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(key, value, source) of what the limits are computed from."""
    found = summary["limits"]
    return [(key, flat(value), (found.get("sources") or {}).get(key, "given")) for key, value in found["given"].items()]


Columns = Sequence[Tuple[str, Callable[[Mapping[str, Any]], str]]]  # heading, and the text of a row


def or_unknown(value: Any) -> str:
    return "unknown" if value in (None, "") else str(value)


def _interval(low: float | None, high: float | None, digits: int = 2) -> str:
    return "one repeat" if low is None else f"{number(low, digits)} to {number(high, digits)}"


INTERVAL = "95 % interval"
SCALING: Columns = (
    ("case", lambda row: row["case"]),
    ("precision", lambda row: row["precision"]),
    ("batch", lambda row: or_unknown(row["batch"])),
    ("repeats", lambda row: str(row["count"])),
    ("median images/s", lambda row: number(row["median"])),
    (INTERVAL, lambda row: _interval(row["low"], row["high"])),
    ("spread (CV)", lambda row: percent(row["cv"])),
    ("x 1 GPU", lambda row: number(row["speedup_1gpu"])),
    ("of linear", lambda row: percent(row["efficiency_1gpu"])),
    ("x 1 node", lambda row: number(row["speedup_1node"])),
    ("of linear", lambda row: percent(row["efficiency_1node"])),
)
BANDWIDTH: Columns = (
    ("network", lambda row: row["network"]),
    ("path", lambda row: row["path"]),
    ("ranks", lambda row: str(row["ranks"])),
    ("MB", lambda row: number(row["size_bytes"] / 1e6)),
    ("repeats", lambda row: str(row["count"])),
    ("median ms", lambda row: number(1e3 * row["median_s"], 3)),
    ("GB/s per rank", lambda row: number(row["gb_s"], 3)),
    (INTERVAL, lambda row: _interval(row["gb_s_low"], row["gb_s_high"], 3)),
    ("error", lambda row: or_unknown(row["error"])),
)
TRAINING: Columns = (
    ("model", lambda row: row["model"]),
    ("batch", lambda row: or_unknown(row["batch"])),
    ("images/s", lambda row: number(row["images_per_second"])),
    ("compute ms", lambda row: number(1e3 * row["compute_s"], 3)),
    ("communication ms", lambda row: number(1e3 * row["comm_s"], 3)),
    ("communication share", lambda row: percent(row["comm_share"])),
    ("below compute", lambda row: "yes" if row["comm_below_compute"] else "NO"),
)
_BENCHMARKS: Mapping[str, Columns] = {"scaling": SCALING, "bandwidth": BANDWIDTH, "training": TRAINING}


def tables(kind: str, rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Header and cells of one benchmark. Units stand in the header."""
    if kind in _BENCHMARKS:
        columns = _BENCHMARKS[kind]
        return [heading for heading, _text in columns], [[text(row) for _heading, text in columns] for row in rows]
    if kind != "scoring":
        names = list(dict.fromkeys(name for row in rows for name in row))
        return names, [[flat(row[name]) if name in row else "-" for name in names] for row in rows]
    batches = sorted({row["batch"] for row in rows})
    by_model: dict[str, dict[int, float]] = {}
    for row in rows:
        by_model.setdefault(row["model"], {})[row["batch"]] = row["images_per_second"]
    models = list(by_model)
    return (
        ["batch", *(f"{model} images/s" for model in models)],
        [
            [str(batch), *("-" if batch not in by_model[model] else number(by_model[model][batch]) for model in models)]
            for batch in batches
        ],
    )


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
