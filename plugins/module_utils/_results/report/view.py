"""What a report shows, for the templates of both pages: texts, tables and their headings. Pure."""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping, Sequence, Tuple

from ..._fabric import gpus
from ..._proof import counters
from ..._proof.verdict import INVALID, PATH_PROVEN, PROVEN
from .summary import TITLES, headline

LINEAR = "linear scaling from one GPU"  # name of the limit
MANY_RANKS = 32  # from here on the table of ranks starts folded
_TONES = {PROVEN: "good", PATH_PROVEN: "part", INVALID: "bad"}
_CELL = 300  # characters of a finding in a table; the whole of it is in summary.json


def of(summary: Mapping[str, Any], no_plots: str = "") -> dict[str, Any]:
    """By name, what the templates take. ``no_plots``: why there are no plots."""
    verdict, limits, stages = summary["verdict"], summary["limits"], summary["stages"]
    seconds = sum(stages.values())
    tone = "warn" if summary["simulated"] and verdict["state"] != INVALID else _TONES.get(verdict["state"], "warn")
    fabric = (summary["fabric"] or {}).get("report") or {}
    rank_header, rank_rows = tables("ranks", summary["rank_details"])
    return {
        "s": summary,
        "verdict": verdict,
        "tone": tone,
        "headline": headline(summary),
        "cards": _cards(summary, seconds),
        "no_plots": no_plots,
        "beside": "Beside the verdict: how good that path is. What was not read may be good or bad.",
        "counter_header": counters.HEADER,
        "counter_rows": [row for key in ("rdma", "switch") for row in counters.table(summary["counters"][key])],
        "doctor_header": ("how sure", "cause", "where", "seen", "look", "fix"),
        "doctor_rows": _doctor_rows(summary),
        "doctor_lines": _doctor_lines(summary),
        "fabric_line": _fabric_line(fabric, (summary["fabric"] or {}).get("skipped")),
        "fabric_header": ("thing", "place", "found", "what to do"),
        "fabric_rows": [
            [flat(fault.get(key, "")) for key in ("thing", "place", "found", "remedy")]
            for fault in fabric.get("faults") or ()
        ],
        "gpu_header": tuple(gpus.columns().values()),
        # Of the job's hosts as the fabric check saw them, equal ones in one row.
        "gpu_rows": gpus.merged(fabric.get("gpus") or ()),
        "known": [(key, flat(value), limits["sources"][key]) for key, value in limits["given"].items()],
        "benchmarks": [(kind, found, *tables(kind, found["rows"])) for kind, found in summary["benchmarks"].items()],
        "layers": [(TITLES[name], layer, _found(layer["found"])) for name, layer in summary["layers"].items()],
        "stages": [(name, spent, spent / seconds if seconds else 0.0) for name, spent in stages.items()],
        "rank_header": rank_header,
        "rank_rows": rank_rows,
        "rank_figures": _RANK_FIGURES,
        "fold_ranks": summary["ranks"] >= MANY_RANKS,
    }


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


def _fabric_line(report: Mapping[str, Any], skipped: Any) -> str:
    """What the fabric check came to; "": none was given."""
    if not report:
        return f"Not checked: {skipped}." if skipped else ""
    medians = [
        f"{program} {rail} {value:.4g}"
        for program, each in (report.get("measured") or {}).items()
        for rail, value in (each.get("medians") or {}).items()
    ]
    mark = "SIMULATED. " if report.get("simulated") else ""
    whole = "" if report.get("complete") else " Not everything was measured."
    return (
        f"{mark}Form {report.get('form')}, {len(report.get('hosts') or ())} hosts, {report.get('rails')} rail(s), "
        f"{len(report.get('faults') or ())} fault(s).{whole} Medians (Gb/s, 1/us for latency): "
        f"{', '.join(medians) or 'none'}."
    )


def number(value: float | None, digits: int = 2) -> str:
    return "unknown" if value is None else f"{value:,.{digits}f}"


def figure(value: float | None, unit: str) -> str:
    """Four digits that count; whole numbers in full from 100,000 on."""
    if value is None:
        return "unknown"
    return f"{value:,.0f} {unit}" if abs(value) >= 1e5 else f"{value:.4g} {unit}"


def percent(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.1f} %"


Columns = Sequence[Tuple[str, Callable[[Mapping[str, Any]], str]]]  # heading, and the text of a row


def or_unknown(value: Any) -> str:
    return "unknown" if value in (None, "") else str(value)


def _interval(low: float | None, high: float | None, digits: int = 2) -> str:
    return "one repeat" if low is None else f"{number(low, digits)} to {number(high, digits)}"


def _step(rank: Mapping[str, Any], key: str) -> str:
    value = (rank["step"] or {}).get(key)
    return "-" if value is None else number(value, 1)


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
# The sum of the ranks and the printed total stand below the third.
_RANKS: Columns = (
    ("rank", lambda rank: "?" if rank["rank"] is None else str(rank["rank"])),
    ("host", lambda rank: rank["host"] or "unknown"),
    ("images/s", lambda rank: number(rank["images_per_second"])),
    ("median step, ms", lambda rank: _step(rank, "median_ms")),
    ("95th percentile, ms", lambda rank: _step(rank, "p95_ms")),
    ("device", lambda rank: rank["device"] or "unknown"),
)
_RANK_FIGURES = (0, 2, 3, 4)
_TABLES = {"scaling": SCALING, "bandwidth": BANDWIDTH, "training": TRAINING, "ranks": _RANKS}


def tables(kind: str, rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Header and cells of one benchmark, or of the ranks. Units stand in the header."""
    if kind in _TABLES:
        columns = _TABLES[kind]
        return [heading for heading, _text in columns], [[text(row) for _heading, text in columns] for row in rows]
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


def _cards(summary: Mapping[str, Any], seconds: float) -> list[tuple[str, str, str]]:
    """(label, figure, note) of the few figures that everybody asks for first."""
    total, per_rank = summary["images_per_second"]["total"], summary["images_per_second"]["per_rank"]
    hosts = {rank["host"] for rank in summary["rank_details"]} - {None}
    if total is None:
        throughput = ("none", "no total was printed")
    elif summary["agreement"]["ok"] is True:
        throughput = (number(total), "images/s, all ranks")
    else:
        throughput = ("not a result", f"the log prints {number(total)} images/s")
    cards = [
        ("Throughput", *throughput),
        ("Ranks", str(summary["ranks"]), f"on {len(hosts)} hosts" if hosts else "hosts unknown"),
    ]
    if per_rank:
        slowest, fastest = number(min(per_rank)), number(max(per_rank))
        cards.append(("Slowest to fastest rank", f"{slowest} to {fastest}", "images/s"))
    compared = summary["limits"]["comparisons"]
    linear = next((entry["ratio"] for entry in compared if entry["limit_name"] == LINEAR), None)
    how = next(limit["how"] for limit in summary["limits"]["limits"] if limit["name"] == LINEAR)
    scaled = how.removeprefix("unknown, because ") if linear is None else "of ranks x one GPU"
    exposed = summary["limits"]["communication"]["exposed_share"]
    spent = "needs one GPU's rate" if exposed is None else "of a step"
    cards += [("Scaling efficiency", percent(linear), scaled), ("Exposed communication", percent(exposed), spent)]
    if seconds:
        cards.append(("Wall time", f"{seconds / 60:.1f} min" if seconds >= 120 else f"{seconds:.0f} s", "all stages"))
    return cards


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
