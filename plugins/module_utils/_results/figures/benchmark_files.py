"""The result files of the benchmarks, checked and ready for the report. Pure.

A row that cannot be read is left out and named; it never takes the others with it, and it never becomes a zero.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence

from ..._layer import LayerError
from .limits import bus_gbyte_per_s
from .statistics import describe, groups, scaling

KINDS = ("bandwidth", "scaling", "scoring", "training", "nccl_tests", "perftest", "advice", "input")
# A bandwidth that a file prints beside size and time has to follow from them; both are rounded when they are written.
GB_S_TOLERANCE = 0.01
_UNREADABLE = (AttributeError, KeyError, OverflowError, TypeError, ValueError, LayerError)


def load(kind: str, text: str) -> dict[str, Any]:
    """One result file as `read` wants it; a file that is no JSON object becomes a result with a problem."""
    try:
        document = json.loads(text)
        problem = "" if isinstance(document, dict) else f"holds {type(document).__name__}, not an object"
    except (ValueError, RecursionError) as error:
        problem = f"cannot be read: {error}"
    return {"kind": kind, "results": [], "problems": [f"{kind}.json {problem}"]} if problem else dict(document)


def read(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """kind -> {simulated, backend, rows, problems [text]}, for the known kinds that are there."""
    found = {}
    for kind in KINDS:
        if kind not in documents:
            continue
        document = documents[kind]
        said, results = (document.get(key) for key in ("problems", "results"))
        problems = [
            str(each.get("message", each) if isinstance(each, Mapping) else each)
            for each in (said if isinstance(said, (list, tuple)) else ())
        ]
        rows: list[dict[str, Any]] = []
        if document.get("kind", kind) != kind:
            problems.append(f"{kind}.json says that it is {document['kind']!r}: not read")
        elif not isinstance(results, (list, tuple)):
            problems.append(f"{kind}.json has no list of results")
        else:
            rows = list(_rows(kind, results, problems))
            rows = _compared(rows, problems) if kind == "scaling" else rows
        found[kind] = {
            # What does not say that it is real is not taken for real.
            "simulated": document.get("simulated") is not False,
            "backend": str(document.get("backend") or "unknown"),
            "rows": rows,
            "problems": problems,
        }
    return found


def _rows(kind: str, results: Sequence[Any], problems: list[str]) -> Iterator[dict[str, Any]]:
    """What can be read of each result; what cannot is named and left out."""
    row = _ROWS.get(kind, _given_row)
    for position, entry in enumerate(results):
        try:
            yield row(entry, problems)
        except _UNREADABLE as error:
            why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            problems.append(f"{kind}: result {position + 1} is left out ({why}): {str(entry)[:200]}")


def _scaling_row(entry: Any, problems: list[str]) -> dict[str, Any]:
    repeats = _figures(entry, "repeats")
    nodes, gpus_per_node = _whole(entry, "nodes"), _whole(entry, "gpus_per_node")
    row = {
        "case": f"{nodes}n{gpus_per_node}g",
        "nodes": nodes,
        "gpus_per_node": gpus_per_node,
        "model": _name(entry, "model"),
        "precision": _name(entry, "precision"),
        "batch": _batch(entry),
        "repeats": repeats,
        **describe(repeats),
    }
    for key in ("mean", "median"):
        printed = entry.get(key)
        if _figure(printed) and abs(printed - row[key]) > 0.01 + 0.001 * abs(row[key]):
            problems.append(f"scaling: {row['case']} prints the {key} {printed:g}, its repeats give {row[key]:g}")
    return row


def _compared(rows: list[dict[str, Any]], problems: list[str]) -> list[dict[str, Any]]:
    """The rows with their speed-up and efficiency. Of a case that comes twice, the first one."""
    for shared, same in groups(rows, ("model", "precision", "batch")).items():
        matrix: dict[tuple[int, int], Any] = {}
        for each in same:
            if matrix.setdefault((each["nodes"], each["gpus_per_node"]), each) is not each:
                problems.append(
                    f"scaling: {each['case']} comes twice ({', '.join(map(str, shared))}): the first one is used"
                )
        for shape, ratios in scaling({shape: row["median"] for shape, row in matrix.items()}).items():
            matrix[shape].update(ratios)
    return [row for row in rows if "gpus" in row]


def _bandwidth_row(entry: Any, problems: list[str]) -> dict[str, Any]:
    ranks, size, seconds = _whole(entry, "ranks"), _positive(entry, "size_bytes"), _figures(entry, "seconds")
    spread = describe(seconds)
    row = {
        "network": _name(entry, "network"),
        "path": _name(entry, "path"),
        "ranks": ranks,
        "nodes": entry.get("nodes") if isinstance(entry.get("nodes"), int) else None,
        "size_bytes": size,
        "count": spread["count"],
        "median_s": spread["median"],
        # The interval turns round: the longest time is the lowest bandwidth.
        "gb_s": bus_gbyte_per_s(size, ranks, spread["median"]),
        "gb_s_low": spread["high"] and bus_gbyte_per_s(size, ranks, spread["high"]),
        "gb_s_high": spread["low"] and bus_gbyte_per_s(size, ranks, spread["low"]),
        "error": entry.get("error"),
        **{key: entry[key] for key in ("servers", "optimizer") if entry.get(key)},
    }
    printed = entry.get("gb_s")
    slowest, fastest = (bus_gbyte_per_s(size, ranks, each) for each in (max(seconds), min(seconds)))
    least, most = slowest * (1 - GB_S_TOLERANCE) - 0.01, fastest * (1 + GB_S_TOLERANCE) + 0.01
    if _figure(printed) and not least <= printed <= most:
        problems.append(
            f"bandwidth: {row['network']} over {row['path']} prints {printed:g} GB/s, its size and times give "
            f"{slowest:.4g} to {fastest:.4g} GB/s (size x 2 (n - 1) / n / seconds)"
        )
    return row


def _training_row(entry: Any, _problems: list[str]) -> dict[str, Any]:
    compute, comm = _positive(entry, "compute_s"), _positive(entry, "comm_s", zero=True)
    return {
        "model": _name(entry, "model"),
        "batch": _batch(entry),
        "ranks": None if entry.get("ranks") is None else _whole(entry, "ranks"),
        "compute_s": compute,
        "comm_s": comm,
        "comm_share": comm / (compute + comm),
        # The rule of MXNet's own page: ideally the cost is less than the time to compute a batch.
        "comm_below_compute": comm < compute,
        "images_per_second": _positive(entry, "img_s"),
    }


def _scoring_row(entry: Any, _problems: list[str]) -> dict[str, Any]:
    return {
        "model": _name(entry, "model"),
        "batch": _whole(entry, "batch"),
        "images_per_second": _positive(entry, "img_s"),
    }


def _given_row(entry: Any, _problems: list[str]) -> dict[str, Any]:
    """A result of another tool, as its reader gives it: the plain figures and texts, under their own names."""
    if not isinstance(entry, Mapping):
        raise TypeError("not an object")
    nested = [(key, found) for key, found in entry.items() if isinstance(found, Mapping)]
    everything = {**entry, **{f"{key}.{inner}": value for key, found in nested for inner, value in found.items()}}
    return {str(key): value for key, value in everything.items() if isinstance(value, (int, float, str))}


_Row = Callable[[Any, List[str]], Dict[str, Any]]
_ROWS: Mapping[str, _Row] = {
    "scaling": _scaling_row,
    "bandwidth": _bandwidth_row,
    "training": _training_row,
    "scoring": _scoring_row,
}


def rows_of(read_kinds: Mapping[str, Mapping[str, Any]], kind: str) -> Sequence[Mapping[str, Any]]:
    rows: Sequence[Mapping[str, Any]] = read_kinds.get(kind, {}).get("rows", ())
    return rows


def single_gpu(
    read_kinds: Mapping[str, Mapping[str, Any]], precision: Any, batch_per_rank: Any
) -> tuple[float | None, str]:
    """(images/s, where from) of the case 1n1g with the precision and batch of the run. Without one (None, why another
    1n1g is no reference), empty if there is none."""
    rows = [row for row in rows_of(read_kinds, "scaling") if row["case"] == "1n1g"]
    for row in rows:
        if row["precision"] == str(precision) and str(row["batch"]) == str(batch_per_rank):
            how = f"1n1g, {row['precision']}, batch {row['batch']}, {row['count']} repeats"
            return row["median"], f"benchmark scaling, {how}"
    measured = " and ".join(f"batch {row['batch']}, {row['precision']}" for row in rows)
    run = f"the run has batch {batch_per_rank}, {precision}"
    return None, f"one GPU was measured with {measured}; {run}" if measured else ""


def _name(entry: Mapping[str, Any], key: str) -> str:
    return str(entry.get(key) or "unknown")


def _batch(entry: Mapping[str, Any]) -> int | str | None:
    value = entry.get("batch")
    return value if value is None or (isinstance(value, int) and not isinstance(value, bool)) else str(value)


def _figure(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _positive(entry: Mapping[str, Any], key: str, *, zero: bool = False) -> float:
    """Raises KeyError, ValueError. ``zero``: it may be 0."""
    value = entry[key]
    if not _figure(value) or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{key} is {str(value)[:60]}")
    return float(value)


def _figures(entry: Mapping[str, Any], key: str) -> list[float]:
    """As `_positive`, of a list."""
    values = entry[key]
    if not isinstance(values, (list, tuple)) or not values:
        raise ValueError(f"{key} is {values!r}, not a list of figures")
    return [_positive({key: value}, key) for value in values]


def _whole(entry: Mapping[str, Any], key: str) -> int:
    value = entry[key]
    if not isinstance(value, int) or not _figure(value) or value < 1:
        raise ValueError(f"{key} is {value!r}, not a whole number from 1 on")
    return value
