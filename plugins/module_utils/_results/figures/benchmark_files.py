"""The result files of the benchmarks, checked and ready for the report. Pure.

A row that cannot be read is left out and named; it never takes the others with it, and it never becomes a zero.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping, Sequence

from ..._layer import LayerError
from ..readers.reading import picked
from .limits import bus_gbyte_per_s
from .statistics import Case, describe, groups, scaling

KINDS = ("bandwidth", "scaling", "scoring", "training", "nccl_tests", "perftest", "advice", "input")
# A bandwidth that a file prints beside size and time has to follow from them; both are rounded when they are written.
GB_S_TOLERANCE = 0.01
_SPREAD = ("count", "median", "mean", "stdev", "iqr", "mad", "cv", "low", "high", "confidence")
_RATIOS = ("speedup_1gpu", "efficiency_1gpu", "speedup_1node", "efficiency_1node")
_UNREADABLE = (AttributeError, KeyError, OverflowError, TypeError, ValueError, LayerError)


def load(kind: str, text: str) -> dict[str, Any]:
    """One result file as `read` wants it; a file that is no JSON object becomes a result with a problem."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {"kind": kind, "results": [], "problems": [f"{kind}.json cannot be read: {error}"]}
    if not isinstance(document, dict):
        return {
            "kind": kind,
            "results": [],
            "problems": [f"{kind}.json holds {type(document).__name__}, not an object"],
        }
    return document


def read(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """kind -> {simulated, backend, rows, problems [text]}, for the kinds that are there. Unknown kinds are refused."""
    found = {}
    for kind in KINDS:
        if kind not in documents:
            continue
        document = documents[kind]
        problems = [_text(problem) for problem in _list(document.get("problems"))]
        if document.get("kind", kind) != kind:
            problems.append(f"{kind}.json says that it is {document['kind']!r}: not read")
            rows: list[dict[str, Any]] = []
        else:
            if not isinstance(document.get("results"), (list, tuple)):
                problems.append(f"{kind}.json has no list of results")
            rows = _READERS[kind](_list(document.get("results")), problems)
        found[kind] = {
            # What does not say that it is real is not taken for real.
            "simulated": document.get("simulated") is not False,
            "backend": str(document.get("backend") or "unknown"),
            "rows": rows,
            "problems": problems,
        }
    return found


def _scaling(results: Sequence[Any], problems: list[str]) -> list[dict[str, Any]]:
    rows = []
    for position, entry in enumerate(results):
        try:
            spread = describe(_positive(entry["repeats"], "repeats"))
            nodes = _whole(entry["nodes"], "nodes")
            gpus_per_node = _whole(entry["gpus_per_node"], "gpus_per_node")
            row: dict[str, Any] = {
                "case": f"{nodes}n{gpus_per_node}g",
                "nodes": nodes,
                "gpus_per_node": gpus_per_node,
                "model": _name(entry, "model"),
                "precision": _name(entry, "precision"),
                "batch": _batch(entry),
                "repeats": [float(value) for value in entry["repeats"]],
                **picked(spread, *_SPREAD),
            }
        except _UNREADABLE as error:
            problems.append(_left_out("scaling", position, entry, error))
            continue
        for key in ("mean", "median"):
            printed = entry.get(key)
            if _figure(printed) and abs(printed - row[key]) > 0.01 + 0.001 * abs(row[key]):
                problems.append(f"scaling: {row['case']} prints the {key} {printed:g}, its repeats give {row[key]:g}")
        rows.append(row)
    for shared, same in groups(rows, ("model", "precision", "batch")).items():
        seen: set[str] = set()
        matrix = []
        for mapping in same:
            if mapping["case"] in seen:
                problems.append(
                    f"scaling: {mapping['case']} comes twice ({', '.join(map(str, shared))}): the first one is used"
                )
                continue
            seen.add(mapping["case"])
            matrix.append(mapping)
        ratios = scaling([Case(row["nodes"], row["gpus_per_node"], row["median"]) for row in matrix])
        for mapping, ratio in zip(matrix, ratios):
            row = next(row for row in rows if row is mapping)
            row.update(picked(ratio, "gpus", *_RATIOS), baseline_missing=ratio.reason)
    return [row for row in rows if "gpus" in row]


def _bandwidth(results: Sequence[Any], problems: list[str]) -> list[dict[str, Any]]:
    rows = []
    for position, entry in enumerate(results):
        try:
            seconds = _positive(entry["seconds"], "seconds")
            ranks, size = _whole(entry["ranks"], "ranks"), _positive([entry["size_bytes"]], "size_bytes")[0]
            spread = describe(seconds)
            row = {
                "network": _name(entry, "network"),
                "path": _name(entry, "path"),
                "ranks": ranks,
                "nodes": entry.get("nodes") if isinstance(entry.get("nodes"), int) else None,
                "size_bytes": size,
                "count": spread.count,
                "median_s": spread.median,
                # The interval turns round: the longest time is the lowest bandwidth.
                "gb_s": bus_gbyte_per_s(size, ranks, spread.median),
                "gb_s_low": None if spread.high is None else bus_gbyte_per_s(size, ranks, spread.high),
                "gb_s_high": None if spread.low is None else bus_gbyte_per_s(size, ranks, spread.low),
                "error": entry.get("error"),
                **{key: entry[key] for key in ("servers", "optimizer") if entry.get(key)},
            }
        except _UNREADABLE as error:
            problems.append(_left_out("bandwidth", position, entry, error))
            continue
        printed = entry.get("gb_s")
        slowest, fastest = (bus_gbyte_per_s(size, ranks, limit) for limit in (max(seconds), min(seconds)))
        if _figure(printed) and not (
            slowest * (1 - GB_S_TOLERANCE) - 0.01 <= printed <= fastest * (1 + GB_S_TOLERANCE) + 0.01
        ):
            problems.append(
                f"bandwidth: {row['network']} over {row['path']} prints {printed:g} GB/s, its size and times give "
                f"{slowest:.4g} to {fastest:.4g} GB/s (size x 2 (n - 1) / n / seconds)"
            )
        rows.append(row)
    return rows


def _training(results: Sequence[Any], problems: list[str]) -> list[dict[str, Any]]:
    rows = []
    for position, entry in enumerate(results):
        try:
            compute = _positive([entry["compute_s"]], "compute_s")[0]
            comm = _finite(entry["comm_s"], "comm_s")
            row = {
                "model": _name(entry, "model"),
                "batch": _batch(entry),
                "ranks": None if entry.get("ranks") is None else _whole(entry["ranks"], "ranks"),
                "compute_s": compute,
                "comm_s": comm,
                "comm_share": comm / (compute + comm),
                # The rule of MXNet's own page: ideally the cost is less than the time to compute a batch.
                "comm_below_compute": comm < compute,
                "images_per_second": _positive([entry["img_s"]], "img_s")[0],
            }
        except _UNREADABLE as error:
            problems.append(_left_out("training", position, entry, error))
            continue
        rows.append(row)
    return rows


def _scoring(results: Sequence[Any], problems: list[str]) -> list[dict[str, Any]]:
    rows = []
    for position, entry in enumerate(results):
        try:
            rows.append(
                {
                    "model": _name(entry, "model"),
                    "batch": _whole(entry["batch"], "batch"),
                    "images_per_second": _positive([entry["img_s"]], "img_s")[0],
                }
            )
        except _UNREADABLE as error:
            problems.append(_left_out("scoring", position, entry, error))
    return rows


def _as_given(results: Sequence[Any], problems: list[str]) -> list[dict[str, Any]]:
    """Results of other tools, as their readers give them: the plain figures and texts, under their own names."""
    rows = []
    for position, entry in enumerate(results):
        if isinstance(entry, Mapping):
            flat = {str(key): value for key, value in entry.items() if isinstance(value, (int, float, str))}
            nested = {
                f"{key}.{inner}": value
                for key, found in entry.items()
                if isinstance(found, Mapping)
                for inner, value in found.items()
                if isinstance(value, (int, float, str))
            }
            rows.append({**flat, **nested})
        else:
            problems.append(_left_out("result", position, entry, TypeError("not an object")))
    return rows


_READERS: Mapping[str, Callable[[Sequence[Any], list[str]], list[dict[str, Any]]]] = {
    "bandwidth": _bandwidth,
    "scaling": _scaling,
    "scoring": _scoring,
    "training": _training,
    "nccl_tests": _as_given,
    "perftest": _as_given,
    "advice": _as_given,
    "input": _as_given,
}


def single_gpu_rate(
    read_kinds: Mapping[str, Mapping[str, Any]], precision: Any, batch_per_rank: Any
) -> tuple[float, str] | None:
    """(images/s, where from): the case 1n1g with the same precision and batch as the run; None if there is none."""
    for row in read_kinds.get("scaling", {}).get("rows", ()):
        if row["case"] == "1n1g" and row["precision"] == str(precision) and str(row["batch"]) == str(batch_per_rank):
            return row[
                "median"
            ], f"benchmark scaling, 1n1g, {row['precision']}, batch {row['batch']}, {row['count']} repeats"
    return None


def single_gpu_differs(read_kinds: Mapping[str, Mapping[str, Any]], precision: Any, batch_per_rank: Any) -> str:
    """Why the case 1n1g that was measured is no reference for this run; empty if there is no such case."""
    rows = [row for row in read_kinds.get("scaling", {}).get("rows", ()) if row["case"] == "1n1g"]
    if not rows:
        return ""
    measured = " and ".join(f"batch {row['batch']}, {row['precision']}" for row in rows)
    return f"one GPU was measured with {measured}; the run has batch {batch_per_rank}, {precision}"


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _text(problem: Any) -> str:
    return str(problem.get("message", problem)) if isinstance(problem, Mapping) else str(problem)


def _name(entry: Mapping[str, Any], key: str) -> str:
    return str(entry.get(key) or "unknown")


def _batch(entry: Mapping[str, Any]) -> int | str | None:
    value = entry.get("batch")
    return value if value is None or (isinstance(value, int) and not isinstance(value, bool)) else str(value)


def _finite(value: Any, thing: str) -> float:
    if not _figure(value) or value < 0:
        raise ValueError(f"{thing} is {str(value)[:60]}")
    return float(value)


def _figure(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _positive(values: Any, thing: str) -> list[float]:
    if not isinstance(values, (list, tuple)) or not values:
        raise ValueError(f"{thing} is {values!r}, not a list of figures")
    for value in values:
        if _finite(value, thing) <= 0:
            raise ValueError(f"{thing} holds {value!r}")
    return [float(value) for value in values]


def _whole(value: Any, thing: str) -> int:
    if not isinstance(value, int) or not _figure(value) or value < 1:
        raise ValueError(f"{thing} is {value!r}, not a whole number from 1 on")
    return value


def _left_out(kind: str, position: int, entry: Any, error: Exception) -> str:
    why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return f"{kind}: result {position + 1} is left out ({why}): {str(entry)[:200]}"
