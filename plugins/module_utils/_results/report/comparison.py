"""Runs, imported logs and published figures side by side, and whether one run is slower than another. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable, Iterator, Mapping, Sequence, Tuple

from ..._layer import LayerError, RefusedError
from ..figures import published
from ..figures.benchmark_files import read
from ..figures.statistics import CONFIDENCE, MARGIN, gate
from .view import BANDWIDTH, INTERVAL, SCALING, TRAINING, Columns, number, or_unknown, percent

SIMULATED = "SIMULATED"


@dataclasses.dataclass(frozen=True)
class Entry:
    """One run or log: ``summary`` has the keys of summary.json, those of a log only as far as a log knows them."""

    name: str
    summary: Mapping[str, Any]
    imported: bool = False


@dataclasses.dataclass(frozen=True)
class Figure:
    """One imported figure (from a reader of another format). ``note`` is shown as it is."""

    name: str
    images_per_second: float
    nodes: int | None = None
    ranks: int | None = None
    precision: str | None = None
    batch: int | None = None
    note: str = ""
    simulated: bool = False


def check(name: str, document: Any) -> Mapping[str, Any]:
    """A summary.json of format 1, or RefusedError that names the file."""
    given: Mapping[str, Any] = document if isinstance(document, dict) else {}
    if given.get("format") != 1 or "images_per_second" not in given:
        kind = f"format {given['format']!r}" if "format" in given else "no format 1"
        what = f"is not a summary.json of this collection ({kind})"
        raise _refused(what, name, "give the folder of a run, or its summary.json")
    return given


def build(
    entries: Sequence[Entry],
    figures: Sequence[Figure] = (),
    with_published: bool = True,
    *,
    baseline: str = "",
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
) -> dict[str, Any]:
    """The comparison, plain types: ``parts`` (tables of text), ``gates``, ``problems``, ``simulated`` (number)."""
    names = [entry.name for entry in entries] + [figure.name for figure in figures]
    for name in names:
        if names.count(name) > 1:
            raise _refused("two entries have this name", name, "give each log and figure a name of its own")
    if not names:
        raise _refused("nothing to compare", "", "give at least one run, log or figure")
    if baseline and baseline not in [entry.name for entry in entries]:
        raise _refused("is not among the runs", baseline, "the runs are " + ", ".join(names), "baseline")
    gates = _gates(entries, baseline, margin, confidence) if baseline else []
    rule = "Ideally communication takes less time than computing the batch (MXNet's own rule)."
    parts = [
        _training(entries, figures, with_published),
        _gate_part(gates, baseline, margin),
        _scaling(entries, with_published),
        _bandwidth(entries, with_published),
        _by_columns("Communication in a training step", rule, TRAINING[:-1], 2, _rows(entries, "training")),
        _by_batch("Training, each device", entries, "training", "training_per_device" if with_published else ""),
        _by_batch("Scoring (forward only)", entries, "scoring", "scoring" if with_published else ""),
    ]
    parts = [part for part in parts if part["rows"]]
    simulated = sum(row["simulated"] for part in parts for row in part["rows"])
    problems = [
        f"{entry.name}: {problem['message']}" for entry in entries for problem in entry.summary.get("problems", ())
    ] + [*_uncompared(entries, gates, baseline)]
    return {
        "title": _title(entries, len(names)),
        "line": "Measured, imported and published figures. Only rows of one workload, precision and batch compare.",
        "simulated": simulated,
        "parts": parts,
        "gates": gates,
        "problems": problems,
        "sources": [*published.SOURCES.values()] if with_published else [],
    }


_Row = Tuple[Sequence[str], str]  # cells, mark
_Found = Tuple[str, Mapping[str, Any], str]  # name of the run, row of a benchmark, mark


def _part(title: str, note: str, header: Sequence[str], figures: Iterable[int], rows: Iterable[_Row]) -> dict[str, Any]:
    """``figures``: columns with numbers."""
    shown = [{"cells": [*cells], "mark": mark, "simulated": mark == SIMULATED} for cells, mark in rows]
    return {"title": title, "note": note, "header": [*header], "figures": [*figures], "rows": shown}


def _title(entries: Sequence[Entry], count: int) -> str:
    """SIMULATED comes first if everything is, else last, with the number: one real run is not made unreal."""
    unreal = sum(
        any(part.get("simulated") for part in (entry.summary, *(entry.summary.get("benchmarks") or {}).values()))
        for entry in entries
    )
    text = f"Comparison of {count} measurement{'s' * (count > 1)}"
    if unreal and unreal == len(entries):
        return f"SIMULATED - {text}"
    return f"{text}, {unreal} of them SIMULATED" if unreal else text


def _mark(*said: Mapping[str, Any]) -> str:
    return SIMULATED if any(each.get("simulated") for each in said) else ""


def _training(entries: Sequence[Entry], figures: Sequence[Figure], with_published: bool) -> dict[str, Any]:
    rows = [_run_row(entry) for entry in entries if entry.summary["images_per_second"].get("per_rank")]
    for figure in figures:
        each = figure.images_per_second / figure.ranks if figure.ranks else None
        known = map(or_unknown, (figure.nodes, figure.ranks, figure.precision, figure.batch))
        said = [figure.name, "imported figure", *known, number(figure.images_per_second), number(each), figure.note]
        rows.append((said, _mark(vars(figure))))
    for name, *case, rate, each, note, source in published.TRAINING if with_published else ():
        per_rank = number(each) if each else "-"
        said = [name, "-", *map(str, case), rate, per_rank, f"{note} [{source}]".strip()]
        rows.append((said, published.MARK))
    header = ("run", "verdict", "nodes", "ranks", "precision", "batch per rank", "images/s", "per rank", "note")
    note = "images/s of all ranks together. A figure that contradicts itself is shown and is no result."
    return _part("Training", note, header, (2, 3, 5, 6, 7), rows)


def _run_row(entry: Entry) -> _Row:
    summary = entry.summary
    speed, workload = summary["images_per_second"], summary.get("workload", {})
    ranks = summary.get("ranks") or len(speed["per_rank"])
    hosts = {rank.get("host") for rank in summary.get("rank_details", ())} - {None}
    agrees = summary.get("agreement", {}).get("ok")
    total = speed.get("total")
    note = {True: "ranks agree with the total", False: f"ranks add up to {number(speed.get('sum_of_ranks'))}"}
    cells = [
        entry.name,
        summary.get("verdict", {}).get("state") or ("imported log" if entry.imported else "not judged"),
        str(len(hosts)) if hosts else "unknown",
        str(ranks),
        or_unknown(workload.get("precision")),
        or_unknown(workload.get("batch_size_per_device")),
        number(total) if agrees else "none" if total is None else f"not a result ({number(total)} printed)",
        number(total / ranks) if agrees and total and ranks else "-",
        note.get(agrees, "no total to compare with"),
    ]
    return cells, _mark(summary)


def _rows(entries: Sequence[Entry], kind: str) -> list[_Found]:
    found = []
    for entry in entries:
        benchmark = entry.summary.get("benchmarks", {}).get(kind, {"rows": ()})
        found += [(entry.name, row, _mark(benchmark, entry.summary)) for row in benchmark["rows"]]
    return found


# What DLPerf's page says of its medians, which stand here as one repeat each.
_PUBLISHED = {(published.MARK, "repeats"): "5", (published.MARK, "spread (CV)"): "not published"}


def _scaling(entries: Sequence[Entry], with_published: bool) -> dict[str, Any]:
    found = _rows(entries, "scaling")
    if with_published:
        document = {"kind": "scaling", "results": published.scaling_results(), "problems": []}
        found += [("DLPerf, V100", row, published.MARK) for row in read({"scaling": document})["scaling"]["rows"]]
    note = "Against one GPU and against one full node: a loss inside the node is none of the network's."
    return _by_columns("Scaling", note, [column for column in SCALING if column[0] != INTERVAL], 3, found)


def _by_columns(title: str, note: str, columns: Columns, first: int, found: Iterable[_Found]) -> dict[str, Any]:
    """``first``: the first column with numbers."""
    rows = [
        ([name, *(_PUBLISHED.get((mark, heading)) or text(row) for heading, text in columns)], mark)
        for name, row, mark in found
    ]
    return _part(title, note, ["run", *(heading for heading, _text in columns)], range(first, 1 + len(columns)), rows)


def _bandwidth(entries: Sequence[Entry], with_published: bool) -> dict[str, Any]:
    header = ["network", "path", "ranks", "MB", "GB/s per rank"]
    columns = [text for heading, text in BANDWIDTH if heading in header]
    rows = [([name, *(text(row) for text in columns), ""], mark) for name, row, mark in _rows(entries, "bandwidth")]
    for network, path, ranks, size, speed, note in published.BANDWIDTH if with_published else ():
        said = ["MXNet measure.py", network, path, str(ranks), number(size), number(speed, 3), note]
        rows.append((said, published.MARK))
    note = "size x 2 (n - 1) / n / seconds, GB = 1e9 bytes."
    return _part("All-reduce bandwidth", note, ["run", *header, "note"], (3, 4, 5), rows)


def _by_batch(title: str, entries: Sequence[Entry], kind: str, others: str) -> dict[str, Any]:
    """A column for each batch size. ``others``: the published figures beside them. As these are of one device, what all
    ranks of a training measured together is divided by them."""
    rates: dict[tuple[str, str, str], dict[int, float]] = {}
    for name, row, mark in _rows(entries, kind):
        devices = row.get("ranks") if kind == "training" else 1
        if devices and isinstance(row["batch"], int):
            rates.setdefault((name, row["model"], mark), {})[row["batch"]] = row["images_per_second"] / devices
    for device, model, batch, rate in published.per_device(others) if others else ():
        rates.setdefault((f"MXNet, {device}", model, published.MARK), {})[batch] = rate
    batches = sorted({batch for by in rates.values() for batch in by})
    rows = [
        ([name, model, *("-" if batch not in by else number(by[batch]) for batch in batches)], mark)
        for (name, model, mark), by in rates.items()
    ]
    header = ["run", "model", *(f"batch {batch}" for batch in batches)]
    return _part(title, "images/s of one device.", header, range(2, 2 + len(batches)), rows)


def _gates(entries: Sequence[Entry], baseline: str, margin: float, confidence: float) -> list[dict[str, Any]]:
    """Each case of each run's scaling benchmark against the same case of the baseline."""
    rows = _rows(entries, "scaling")
    old = {_case(row): (row, mark) for name, row, mark in rows if name == baseline}
    gates = []
    for name, row, mark in rows:
        if name == baseline or _case(row) not in old:
            continue
        before, old_mark = old[_case(row)]
        try:
            found = gate(row["repeats"], before["repeats"], margin=margin, confidence=confidence).as_result()
        except LayerError as error:
            raise _refused(f"cannot be compared with {baseline}: {error}", name, "look at its repeats") from error
        gates.append({"run": name, "case": _case(row)[0], **found, "simulated": bool(mark or old_mark)})
    return gates


def _uncompared(entries: Sequence[Entry], gates: Sequence[Mapping[str, Any]], baseline: str) -> Iterator[str]:
    """Cases of the baseline that a run lacks: what was not measured is not fast enough."""
    wanted = [_case(row)[0] for name, row, _mark in _rows(entries, "scaling") if name == baseline]
    for name in [entry.name for entry in entries if baseline not in ("", entry.name) and not entry.imported]:
        judged = {gate["case"] for gate in gates if gate["run"] == name}
        lacking = "; ".join(case for case in wanted if case not in judged)
        if lacking or not wanted:
            yield f"{name}: not compared with {baseline}: {lacking or 'no benchmark scaling there'}"


def _case(row: Mapping[str, Any]) -> tuple[str, Any]:
    """In words, and the model."""
    return f"{row['case']}, {row['precision']}, batch {row['batch']}", row.get("model")


def _gate_part(gates: Sequence[Mapping[str, Any]], baseline: str, margin: float) -> dict[str, Any]:
    rows = []
    for entry in gates:
        verdict = entry["verdict"].replace("_", " ")
        verdict = verdict.upper() if verdict == "slower" else verdict
        cells = [entry["run"], entry["case"], verdict, f"{100 * entry['change']:+.2f} %"]
        rows.append(([*cells, percent(entry["probability"])], _mark(entry)))
    note = f"Bootstrap of both medians: the chance that a run is slower by more than {100 * margin:g} %."
    header = ("run", "case", "answer", "change", "chance of being slower")
    return _part(f"Slower than {baseline}?", note, header, (3, 4), rows)


def _refused(what: str, value: str, remedy: str, thing: str = "runs") -> RefusedError:
    return RefusedError(what, host="compare", thing=thing, value=value or None, remedy=remedy)
