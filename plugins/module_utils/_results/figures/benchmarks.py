"""The benchmarks on the controller's side: what to run, what was said, and the documents of the results.

Pure, but for `saved`.

A scaling measurement is a list of repeats. Each has a name that holds all of its parameters (as a digest): a repeat
that is on disk under its name is done, and one that was made with other parameters has another name.

What the reader of another tool's log complains about is a problem of the file: a figure of a log that contradicts
itself is shown beside its problem and used for nothing else. GB are 1e9 bytes, Gbit are 1e9 bits.
"""

from __future__ import annotations

import hashlib
import json
import re
import statistics
from pathlib import Path
from typing import Any, Mapping, Sequence

from ..._judge.sentences import refusal
from ..._layer import RefusedError
from ..launch.mpirun import nodes
from ..readers.mxnet_scaling import Case, Group
from ..readers.tags import lines_of
from .statistics import groups

MARK = "ROCEMESH-BENCHMARK "
_CASE = re.compile(r"([1-9]\d*)n([1-9]\d*)g")
# perftest's client asks until the server listens; what it says before that is no failure if a figure followed.
_ASKED_TOO_EARLY = re.compile(r"Couldn't connect to|Unable to init the socket connection")
# Both ends time the same transfer for themselves. Above this they did not mean the same.
ENDS_MARGIN = 0.05
# What a row says of its in-place and its out-of-place half, by the reader's names.
_OF_A_HALF = {"us": "time_us", "algbw_gb_s": "algbw", "busbw_gb_s": "busbw", "wrong": "wrong"}
# The same for what perftest measures: bandwidth, or latency.
_OF_PERFTEST = {
    "gb_s": "gigabytes_per_second",
    "gbit_s": "gigabits_per_second",
    **{name: name for name in ("message_rate_mpps", "average_us", "minimum_us", "maximum_us", "p99_us")},
}


# ------------------------------------------------------------------------------------------------------------ plan


def cases_of(hosts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Cases that show scaling on these hosts: 1, 2, 4, ... ranks on the first one, then 2, 4, ... full hosts."""
    slots = [node.slots for node in nodes(hosts)]
    full = [f"{count}n{min(slots[:count])}g" for count in _doubling(len(slots))[1:]]
    return [*(f"1n{count}g" for count in _doubling(slots[0])), *full]


def _doubling(most: int) -> list[int]:
    """1, 2, 4, ... and ``most`` itself."""
    return sorted({most, *(1 << power for power in range(most.bit_length()))})


def scaling_plan(
    hosts: Sequence[Mapping[str, Any]],
    cases: Sequence[str],
    batches: Mapping[str, int],
    repeats: int,
    parameters: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Every repeat, in the order to run: all first repeats, then all second ones, so that a drift of the machine meets
    all cases alike and an interrupted measurement has something of each.

    ``cases``: ``<nodes>n<ranks per node>g``; empty: `cases_of`. ``batches``: precision -> images per rank and step.
    ``parameters``: everything else that decides the figure. Each entry: C(name), C(case), C(nodes), C(gpus_per_node),
    C(precision), C(batch), C(repeat), C(hosts) (with the slots of the case), C(parameters). Raises RefusedError.
    """
    found = nodes(hosts)
    if repeats < 1:
        raise RefusedError("not a number of repeats", host="benchmark", thing="repeats", value=repeats)
    plan = []
    for repeat in range(1, repeats + 1):
        for case in cases or cases_of(hosts):
            match = _CASE.fullmatch(str(case))
            if not match:
                raise refusal("no_case", case)
            count, gpus = map(int, match.groups())
            if count > len(found) or any(node.slots < gpus for node in found[:count]):
                there = ", ".join(f"{node.name} ({node.slots})" for node in found)
                raise refusal("case_too_large", case, count=count, gpus=gpus, hosts=there)
            used = [{"name": node.name, "address": node.address, "slots": gpus} for node in found[:count]]
            for precision, batch in batches.items():
                case_of = {"precision": str(precision), "batch": int(batch)}
                everything = {**plain(parameters), "hosts": used, **case_of}
                plan.append(
                    {
                        "name": f"{case}_{precision}_b{int(batch)}_{digest(everything)}_r{repeat}",
                        "case": case,
                        "nodes": count,
                        "gpus_per_node": gpus,
                        **case_of,
                        "repeat": repeat,
                        "hosts": used,
                        "parameters": everything,
                    }
                )
    return plan


def plain(value: Any) -> Any:
    """As it will be when it comes back from JSON: plain types, and a number in quotes stays what it is."""
    return json.loads(json.dumps(value))


def digest(parameters: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(plain(parameters), sort_keys=True).encode()).hexdigest()[:12]


def saved(path: Path, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The record or document in this file, if it is whole and was made with exactly these parameters; else nothing."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) and record.get("parameters") == plain(parameters) else {}


# --------------------------------------------------------------------------------------------------------- records


def records(text: str) -> dict[str, Any]:
    """What a benchmark program said: C(results), C(settings), C(trace) (None: none was written) and C(problems).

    Problems are those the program printed (each once), and lines with its mark that are not what it writes.
    """
    results: list[dict[str, Any]] = []
    settings: dict[str, Any] = {}
    trace: dict[str, Any] | None = None
    problems: list[str] = []
    for line in lines_of(text):
        words = line.text.strip()
        if not words.startswith(MARK):
            continue
        try:
            record = json.loads(words[len(MARK) :])
        except ValueError:
            record = None
        if not isinstance(record, dict):
            problems.append(f"a broken line: {words[:120]}")
        elif "problem" in record:
            problems.append(str(record["problem"]))
        elif isinstance(record.get("settings"), dict):
            settings.update(record["settings"])
        elif isinstance(record.get("trace"), dict):
            trace = record["trace"]
        else:
            results.append(record)
    return {"results": results, "settings": settings, "trace": trace, "problems": list(dict.fromkeys(problems))}


def nccl_tests(read: Mapping[str, Any], log: str = "") -> dict[str, Any]:
    """``results`` (one row per table and size), ``settings``, ``problems`` (texts) of one log. ``read``: what reader
    `nccl_tests` returns as a dictionary."""
    rows = []
    settings: dict[str, Any] = {"log": log, "one_job": read.get("one_job")}
    for table in read["tables"]:
        for row in table["rows"]:
            said = {
                "collective": table["collective"],
                "ranks": table["ranks"],
                "hosts": len(table["hosts"]) or None,
                "size_bytes": row["size"],
                "type": row["type"],
            }
            for half in ("out_of_place", "in_place"):
                said.update({f"{half}_{name}": (row[half] or {}).get(key) for name, key in _OF_A_HALF.items()})
            rows.append(_known(said))
        for key in ("nccl_version", "average_busbw", "checked", "finished"):
            settings.setdefault(key, table[key])
    return {"results": rows, "settings": settings, "problems": _messages("nccl-tests", read["problems"])}


def perftest(read: Mapping[str, Any], source: str, target: str, log: str = "") -> dict[str, Any]:
    """The same for perftest between two hosts. Client and server print one table each: a size that both have counts
    once, with the smaller figure."""
    label = f"perftest {source} to {target}"
    problems = _messages(label, read["problems"])
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for test in read["tests"]:
        for figures in (*test["bandwidth"], *test["latency"]):
            row = _perftest_row(test, figures)
            key = (str(row.get("test")), row["size_bytes"])
            other = rows.setdefault(key, row)
            if other is not row and other.get("gb_s") and row.get("gb_s"):
                low, high = sorted((other["gb_s"], row["gb_s"]))
                if high - low > ENDS_MARGIN * high:
                    said = f"the two ends say {low:.3f} and {high:.3f} GB/s for {row['size_bytes']} bytes"
                    problems.append(f"{label}: {said}")
                rows[key] = min(other, row, key=lambda each: float(each["gb_s"]))
    if rows:
        problems = [text for text in problems if not _ASKED_TOO_EARLY.search(text)]
    results = [{"from": source, "to": target, **row, "log": log} for row in rows.values()]
    return {"results": results, "settings": {}, "problems": problems}


def _perftest_row(test: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[str, Any]:
    said = {
        "test": test["verb"] or test["title"],
        "size_bytes": figures["bytes"],
        "iterations": figures["iterations"],
        **{key: test[key] for key in ("device", "mtu", "gid_index", "queue_pairs")},
        "memory": {True: "GPU", False: "host"}.get(test["gpu_memory"]),
        "bidirectional": "yes" if test["bidirectional"] else "no",
    }
    return _known({**said, **{name: figures.get(key) for name, key in _OF_PERFTEST.items()}})


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    """Without what the log did not tell: an empty cell says that better than a null."""
    return {key: value for key, value in row.items() if value is not None}


def _messages(label: str, problems: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(f"{label}: {problem['message']} ({problem['code']})" for problem in problems))


def repeat_record(entry: Mapping[str, Any], result: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """What is kept of one repeat. ``result``: as reader tf_cnn gives it; ``seconds``: the whole job took."""
    machines = [rank.get("machine") or {} for rank in result["per_rank"]]
    first = machines[0] if machines else {}
    return {
        **{key: value for key, value in entry.items() if key != "hosts"},
        "img_s": result["total"],
        "per_rank": [rank["images_per_second"] for rank in result["per_rank"]],
        "backend": first.get("backend"),
        "torch": first.get("torch"),
        "device": first.get("device"),
        "warmup_s": max((machine.get("warmup_seconds") or 0.0 for machine in machines), default=0.0),
        "job_s": round(float(seconds), 3),
    }


# ------------------------------------------------------------------------------------------------------- documents


def scaling_results(
    plan: Sequence[Mapping[str, Any]], done: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[str]]:
    """(results, problems): one result per case, precision and batch of the plan, with the repeats that are there.
    ``done``: saved records; those that the plan does not name are left out."""
    by_name = {record["name"]: record for record in done}
    results, problems = [], []
    keys = ("nodes", "gpus_per_node", "precision", "batch")
    for case, entries in groups(plan, keys).items():
        there = [by_name[entry["name"]] for entry in entries if entry["name"] in by_name]
        if len(there) < len(entries):
            missing = [entry["repeat"] for entry in entries if entry["name"] not in by_name]
            count = f"{len(there)} of {len(entries)} repeats; missing: {missing}"
            problems.append("{}n{}g {} b{}: ".format(*case) + count)
        if there:
            speeds = [float(record["img_s"]) for record in there]
            results.append(
                {
                    **dict(zip(keys, case)),
                    "repeats": speeds,
                    "mean": round(statistics.fmean(speeds), 4),
                    "median": round(statistics.median(speeds), 4),
                    "warmup_s": [round(float(record["warmup_s"]), 3) for record in there],
                }
            )
    return results, problems


def dlperf(results: Sequence[Mapping[str, Any]], precision: str, batch: int) -> dict[str, Any]:
    """The results of one precision and batch size under the keys that DLPerf's extract_mxnet_logs.py writes, rounded as
    there. ``speedup``: median / median of 1n1g; None if that was not measured."""
    group = Group("rn50", batch, precision)
    for each in results:
        if (each["precision"], each["batch"]) == (precision, batch):
            case = Case(f"{each['nodes']}n{each['gpus_per_node']}g", each["nodes"], each["gpus_per_node"])
            case.runs.update(enumerate(each["repeats"], 1))
            group.cases[case.name] = case
    return group.result()
