"""Runs, imported logs and published figures side by side, and whether one run is slower than another. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable, Iterator, Mapping, Sequence, Tuple

from ..._layer import LayerError, RefusedError
from ..._yaml_files import Beside
from ..figures import published
from ..figures.benchmark_files import read
from ..figures.statistics import CONFIDENCE, MARGIN, gate
from .page import number, or_unknown, tables

SIMULATED = "SIMULATED"
_PARTS = Beside(__file__, "comparison.yml")


@dataclasses.dataclass(frozen=True)
class Entry:
    """One run or log: ``summary`` has the keys of summary.json, those of a log only as far as a log knows them."""

    name: str
    summary: Mapping[str, Any]
    imported: bool = False


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
    figures: Sequence[Mapping[str, Any]] = (),
    with_published: bool = True,
    *,
    baseline: str = "",
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
) -> dict[str, Any]:
    """The comparison, plain types: ``parts`` (tables of text), ``gates``, ``problems``, ``simulated`` (number).
    ``figures``: imported ones (from readers of other formats), as module run_compare describes them."""
    names = [entry.name for entry in entries] + [figure["name"] for figure in figures]
    for name in names:
        if names.count(name) > 1:
            raise _refused("two entries have this name", name, "give each log and figure a name of its own")
    if not names:
        raise _refused("nothing to compare", "", "give at least one run, log or figure")
    if baseline and baseline not in [entry.name for entry in entries]:
        raise _refused("is not among the runs", baseline, "the runs are " + ", ".join(names), "baseline")
    gates = _gates(entries, baseline, margin, confidence) if baseline else []
    found = {kind: _rows(entries, kind) for kind in ("scaling", "bandwidth", "training")}
    if with_published:
        document = {"kind": "scaling", "results": published.scaling_results(), "problems": []}
        rows = read({"scaling": document})["scaling"]["rows"]
        found["scaling"] += [("DLPerf, V100", row, published.MARK) for row in rows]
        found["bandwidth"] += [("MXNet measure.py", row, published.MARK) for row in published.BANDWIDTH]
    found = {"gates": [(gate["run"], gate, _mark(gate)) for gate in gates], **found}
    parts = [
        _training(entries, figures, with_published),
        *(_by_columns(kind, rows, baseline=baseline, margin=100 * margin) for kind, rows in found.items()),
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


def _training(entries: Sequence[Entry], figures: Sequence[Mapping[str, Any]], with_published: bool) -> dict[str, Any]:
    rows = [_run_row(entry) for entry in entries if entry.summary["images_per_second"].get("per_rank")]
    for figure in figures:
        rate, ranks = figure["images_per_second"], figure.get("ranks")
        known = [or_unknown(figure.get(key)) for key in ("nodes", "ranks", "precision", "batch")]
        speeds = number(rate), number(rate / ranks if ranks else None)
        rows.append(([figure["name"], "imported figure", *known, *speeds, figure.get("note", "")], _mark(figure)))
    for name, *case, rate, each, note, source in published.TRAINING if with_published else ():
        per_rank = number(each) if each else "-"
        said = [name, "-", *map(str, case), rate, per_rank, f"{note} [{source}]".strip()]
        rows.append((said, published.MARK))
    part = _PARTS["runs"]
    return _part(part["title"], part["note"], part["header"], part["figures"], rows)


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


def _by_columns(kind: str, found: Sequence[_Found], **words: Any) -> dict[str, Any]:
    """A part of comparison.yml that is a table of tables.yml, its rows behind their names."""
    part = _PARTS[kind]
    header, texts = tables(part.get("table", kind), [row for _name, row, _mark in found])
    kept = [place for place, heading in enumerate(header) if heading != part.get("without")]
    rows = [
        ([name, *(_PUBLISHED.get((mark, header[place])) or cells[place] for place in kept)], mark)
        for (name, _row, mark), cells in zip(found, texts)
    ]
    title, note = (part[key].format(**words) for key in ("title", "note"))
    return _part(title, note, ["run", *(header[place] for place in kept)], part["figures"], rows)


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
            found = gate(row["repeats"], before["repeats"], margin=margin, confidence=confidence)
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


def _refused(what: str, value: str, remedy: str, thing: str = "runs") -> RefusedError:
    return RefusedError(what, host="compare", thing=thing, value=value or None, remedy=remedy)
