"""A summary as Markdown (report.md). Pure: the summary in, text out."""

from __future__ import annotations

import json
from typing import Any, Callable, Collection, Iterable, Mapping, Sequence, Tuple

from ..._fabric import gpus
from ..._proof import counters
from ..._proof.witness import MISSING
from . import rank_columns
from .summary import TITLES, headline

_CELL = 300  # characters of a finding in a table; the whole of it is in summary.json


def render(summary: Mapping[str, Any], plots: Sequence[str] = (), no_plots: str = "", heat_map: str = "") -> str:
    """report.md. ``plots``, ``heat_map``: names of the files beside it; ``no_plots``: why there are none."""
    simulated = summary["simulated"]
    lines = [f"# {_text(summary['verdict']['line'])}", "", f"**{_text(headline(summary))}**", ""]
    lines += [f"Multi-node training run {summary['run_id']}", ""]
    if simulated:
        lines += [
            "> The devices marked SIMULATED below do not exist. Their state is what simulators answered behind real",
            "> protocols; the speed is that of CPU processes and says nothing about any GPU, NIC or switch.",
            "",
        ]
    lines += _proof_section(summary)
    lines += _doctor_section(summary)
    lines += _speed_section(summary)
    lines += _plot_section(plots, no_plots)
    lines += _fabric_section(summary, heat_map)
    lines += _limit_section(summary)
    lines += _benchmark_sections(summary)
    lines += _layer_section(summary)
    lines += ["## Time", "", f"{summary['started'] or 'unknown'} to {summary['finished'] or 'unknown'} (UTC).", ""]
    if summary["stages"]:
        spent = [(name, f"{seconds:.1f}") for name, seconds in summary["stages"].items()]
        lines += [*_table(("stage", "seconds"), spent, (1,)), ""]
    rebooted = _text(", ".join(summary["hosts_rebooted"])) or "none"
    lines += [f"ESXi hosts rebooted by this run{' (SIMULATED)' if simulated else ''}: {rebooted}.", ""]
    lines += ["## Problems", ""]
    lines += [f"- {_text(entry['message'])} (`{entry['code']}`)" for entry in summary["problems"]] or ["None."]
    for name, heading in (("workload", "Workload"), ("versions", "Versions")):
        if summary[name]:
            lines += ["", f"## {heading}", "", *_table(("", ""), summary[name].items())]
    return "\n".join(lines) + "\n"


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]], figures: Collection[int] = ()) -> list[str]:
    """``figures``: the places of columns that hold numbers."""
    rule = "|".join("---:" if place in figures else "---" for place in range(len(header)))
    return [_line(header), f"|{rule}|", *(_line(map(cell, row)) for row in rows)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


# Of witnesses that do not decide.
BESIDE = "Beside the verdict: how good that path is. What was not read may be good or bad."
_STATES = {"agrees": "agrees", "disagrees": "**DISAGREES**", "missing": "missing", "impossible": "**IMPOSSIBLE**"}


def _proof_section(summary: Mapping[str, Any]) -> list[str]:
    lines = ["## Witnesses"]
    for decides, heading in ((True, ""), (False, BESIDE)):
        heard = [
            (
                witness["title"],
                _STATES[witness["state"]] if decides or witness["state"] != MISSING else "not read",
                witness["evidence"],
            )
            for witness in summary["verdict"]["witnesses"]
            if witness["decides"] is decides
        ]
        lines += ["", *([heading, ""] if heading else []), *_table(("witness", "says", "evidence"), heard)]
    rows = counter_rows(summary)
    if rows:
        lines += ["", "Counters, before and after the training:", "", *_table(counters.HEADER, rows, range(1, 5))]
    return [*lines, ""]


DOCTOR_HEADER = ("how sure", "cause", "where", "seen", "look", "fix")


def doctor_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """What may be wrong, root cause first, for Markdown and HTML alike."""
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


def doctor_lines(summary: Mapping[str, Any]) -> list[str]:
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


def _doctor_section(summary: Mapping[str, Any]) -> list[str]:
    doctor = summary.get("doctor")
    if not doctor:
        return []
    lines = ["## What is wrong", "", _text(doctor["message"]), ""]
    rows = doctor_rows(summary)
    if rows:
        lines += [*_table(DOCTOR_HEADER, rows), ""]
    more = doctor_lines(summary)
    return [*lines, *(f"- {_text(line)}" for line in more), *([""] if more else [])]


def counter_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """What NICs and switch moved, for Markdown and HTML alike."""
    found = summary.get("counters") or {}
    return [row for key in ("rdma", "switch") for row in counters.table(found.get(key))]


def _plot_section(plots: Sequence[str], no_plots: str) -> list[str]:
    if plots:
        return ["## Plots", "", *(f"![{name.rsplit('.', 1)[0]}]({name})" for name in plots), ""]
    return ["## Plots", "", f"None: {no_plots}", ""] if no_plots else []


FABRIC_HEADER = ("thing", "place", "found", "what to do")


def fabric_rows(summary: Mapping[str, Any]) -> tuple[str, list[list[str]]]:
    """What the fabric check came to, in a line and its faults, for Markdown and HTML alike; "": none was given."""
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


def gpu_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """The GPUs of the job's hosts as the fabric check saw them, equal ones in one row, for Markdown and HTML alike."""
    report = (summary.get("fabric") or {}).get("report") or {}
    return [list(row) for row in gpus.merged(report.get("gpus") or ())]


def _fabric_section(summary: Mapping[str, Any], heat_map: str) -> list[str]:
    line, rows = fabric_rows(summary)
    if not line:
        return []
    lines = ["## Fabric before the job", "", _text(line), ""]
    if rows:
        lines += [*_table(FABRIC_HEADER, rows), ""]
    gpus_shown = gpu_rows(summary)
    if gpus_shown:
        lines += [*_table(gpus.HEADER, gpus_shown), ""]
    return [*lines, *([f"![host against host]({heat_map})", ""] if heat_map else [])]


def number(value: float | None, digits: int = 2) -> str:
    return "unknown" if value is None else f"{value:,.{digits}f}"


def figure(value: float | None, unit: str) -> str:
    """Four digits that count; whole numbers in full from 100,000 on."""
    if value is None:
        return "unknown"
    return f"{value:,.0f} {unit}" if abs(value) >= 1e5 else f"{value:.4g} {unit}"


def percent(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.1f} %"


def _limit_section(summary: Mapping[str, Any]) -> list[str]:
    found = summary["limits"]
    lines = ["## Limits", "", "Computed from what is known of this cluster; nothing is assumed.", ""]
    rows = [(limit["name"], figure(limit["value"], limit["unit"]), limit["how"]) for limit in found["limits"]]
    lines += _table(("limit", "value", "from"), rows, (1,))
    if found["given"]:
        lines += ["", *_table(("known of the cluster", "value", "source"), known(summary))]
    if found["comparisons"]:
        measured = [
            (
                f"{entry['what']} ({entry['limit_name']})",
                f"{number(entry['achieved'])} {entry['unit']}",
                figure(entry["limit"], entry["unit"]),
                percent(entry["ratio"]) + (" **ABOVE**" if entry["exceeded"] else ""),
            )
            for entry in found["comparisons"]
        ]
        lines += ["", *_table(("measured", "value", "limit", "achieved"), measured, (1, 2, 3))]
    if found.get("in_words"):
        lines += ["", "Is that normal? What others published is no limit of this cluster, and judges nothing.", ""]
        lines += [f"- {_text(entry['what'])}: {_text(entry['text'])}" for entry in found["in_words"]]
    communication = found["communication"]
    if communication["exposed_share"] is not None:
        lines += ["", f"Exposed communication: {percent(communication['exposed_share'])} of a step"]
        lines[-1] += f", overlap {percent(communication['overlap'])} ({communication['how']})."
    else:
        lines += ["", f"Exposed communication: {communication['how']}."]
    lines += [f"- {_text(note)}" for note in found["notes"]]
    return [*lines, ""]


def known(summary: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
    """(key, value, source) of what the limits are computed from, for Markdown and HTML alike."""
    found = summary["limits"]
    return [(key, value, (found.get("sources") or {}).get(key, "given")) for key, value in found["given"].items()]


def _benchmark_sections(summary: Mapping[str, Any]) -> list[str]:
    lines = []
    for kind, found in summary["benchmarks"].items():
        mark = " (SIMULATED: no statement about hardware)" if found["simulated"] else ""
        lines += [f"## Benchmark: {kind}{mark}", "", f"Backend: {_text(found['backend'])}.", ""]
        header, rows = tables(kind, found["rows"])
        lines += _table(header, rows) if rows else ["No result."]
        lines += ["", *(f"- {_text(text)}" for text in found["problems"])]
        if found["problems"]:
            lines.append("")
    return lines


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
    """Header and cells of one benchmark, for Markdown and HTML alike. Units stand in the header."""
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


def _speed_section(summary: Mapping[str, Any]) -> list[str]:
    speed, agreement = summary["images_per_second"], summary["agreement"]
    lines = ["## Speed", ""]
    if not summary["ranks"]:
        return [*lines, "No rank has a result.", ""]
    columns = rank_columns.COLUMNS
    figures = [place for place, column in enumerate(columns) if column.figure]
    lines += _table([column.heading for column in columns], rank_columns.rows(summary), figures)
    rest = " |" * (len(columns) - 3)
    lines.append(f"| sum | | {speed['sum_of_ranks']:,.2f} |{rest}")
    if speed["total"] is None:
        return [*lines, "", "No total was printed: the run did not end normally.", ""]
    lines.append(f"| **printed total** | | **{speed['total']:,.2f}** |{rest}")
    difference = agreement["relative_difference"]
    verdict = "agrees with" if agreement["ok"] else "CONTRADICTS"
    lines += [
        "",
        f"The sum of the ranks {verdict} the printed total ({100 * difference:+.2f} %, allowed 1 %). "
        "Each rank prints the total of all ranks: totals are not added. The warm-up is left out.",
        "",
    ]
    return lines


def _layer_section(summary: Mapping[str, Any]) -> list[str]:
    rows = [
        (
            ("**SIMULATED** " if layer["simulated"] else "") + TITLES[name],
            {True: "yes", False: "**NO**", None: "not looked at"}[layer["verified"]],
            "yes" if layer["changed"] else "no",
            "" if layer["found"] in (None, {}, []) else layer["found"],
        )
        for name, layer in summary["layers"].items()
    ]
    lines = ["## Layers", "", *_table(("layer", "verified", "changed by this run", "found"), rows), ""]
    for name, layer in summary["layers"].items():
        if layer["changes"]:
            mark = " (SIMULATED)" if layer["simulated"] else ""
            lines += [f"### Changed: {TITLES[name]}{mark}", "", *(f"- {_text(text)}" for text in layer["changes"]), ""]
    return lines


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


def _text(value: Any) -> str:
    """One line of Markdown text: what devices and logs said must not become markup."""
    return flat(value).replace("<", "&lt;")
