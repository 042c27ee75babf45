"""Rows of nccl_tests.json and perftest.json, from what the readers found in the logs. Pure.

What the reader complains about is a problem of the file: a figure of a log that contradicts itself is shown beside its
problem and used for nothing else. GB are 1e9 bytes, Gbit are 1e9 bits.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Sequence

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

Result = Dict[str, Any]


def nccl_tests(read: Mapping[str, Any], log: str = "") -> Result:
    """``results`` (one row per table and size), ``settings``, ``problems`` (texts) of one log. ``read``: what reader
    `nccl_tests` returns as a dictionary."""
    rows = []
    settings: Result = {"log": log, "one_job": read.get("one_job")}
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


def perftest(read: Mapping[str, Any], source: str, target: str, log: str = "") -> Result:
    """The same for perftest between two hosts. Client and server print one table each: a size that both have counts
    once, with the smaller figure."""
    label = f"perftest {source} to {target}"
    problems = _messages(label, read["problems"])
    rows: dict[tuple[str, int], Result] = {}
    for test in read["tests"]:
        for figures in (*test["bandwidth"], *test["latency"]):
            row = _row(test, figures)
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


def _row(test: Mapping[str, Any], figures: Mapping[str, Any]) -> Result:
    said = {
        "test": test["verb"] or test["title"],
        "size_bytes": figures["bytes"],
        "iterations": figures["iterations"],
        **{key: test[key] for key in ("device", "mtu", "gid_index", "queue_pairs")},
        "memory": {True: "GPU", False: "host"}.get(test["gpu_memory"]),
        "bidirectional": "yes" if test["bidirectional"] else "no",
    }
    return _known({**said, **{name: figures.get(key) for name, key in _OF_PERFTEST.items()}})


def _known(row: Mapping[str, Any]) -> Result:
    """Without what the log did not tell: an empty cell says that better than a null."""
    return {key: value for key, value in row.items() if value is not None}


def _messages(label: str, problems: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(f"{label}: {problem['message']} ({problem['code']})" for problem in problems))
