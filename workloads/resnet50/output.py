"""What the run prints: the lines of tf_cnn_benchmarks, and one machine line per rank. No torch here.

Every line leaves in ONE write: mpirun tags what it reads, not what was meant as a line, and a line written in two
pieces ends up glued to another rank's.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from typing import Any, Mapping, Sequence

RULE = "-" * 64
HEADER = "Step\tImg/sec\ttotal_loss"
STRAGGLES = 0.1
MACHINE_MARK = "ROCEMESH "
MACHINE_LIMIT = 4000  # bytes; below PIPE_BUF (4096), so that the kernel does not split it


def emit(line: str) -> None:
    data = (line + "\n").encode()
    while data:
        data = data[os.write(1, data) :]


def speed_text(batch_size: int, step_seconds: Sequence[float]) -> str:
    """The running speed of one rank over the steps so far, as tf_cnn_benchmarks computes it.

    Speed: batch / mean step time. ``+/-``: population standard deviation of the step speeds / sqrt(number of steps).
    Jitter: 1.4826 x median absolute deviation (a standard deviation that outliers do not move).
    """
    speeds = [batch_size / seconds for seconds in step_seconds]
    mean = batch_size / statistics.fmean(step_seconds)
    uncertainty = statistics.pstdev(speeds) / math.sqrt(len(speeds))
    middle = statistics.median(speeds)
    jitter = 1.4826 * statistics.median(abs(speed - middle) for speed in speeds)
    return f"images/sec: {mean:.1f} +/- {uncertainty:.1f} (jitter = {jitter:.1f})"


def step_line(step: int, batch_size: int, step_seconds: Sequence[float], loss: float) -> str:
    return f"{step}\t{speed_text(batch_size, step_seconds)}\t{loss:.3f}"


def total_lines(images_per_second: float) -> Sequence[str]:
    return (RULE, f"total images/sec: {images_per_second:.2f}", RULE)


def straggler_line(alone_seconds: Sequence[float]) -> str:
    """Which rank computes slowest when nobody waits for another, by more than STRAGGLES; else empty."""
    middle, slowest = statistics.median(alone_seconds), max(alone_seconds)
    if slowest <= middle * (1 + STRAGGLES):
        return ""
    return (
        f"Straggler: rank {list(alone_seconds).index(slowest)} takes {1e3 * slowest:.1f} ms to compute a step without "
        f"any exchange, the median rank {1e3 * middle:.1f} ms"
    )


def step_summary(step_seconds: Sequence[float]) -> dict[str, float]:
    """Milliseconds per step: mean, median, shortest, longest, and the 95th percentile (nearest rank)."""
    ordered = sorted(step_seconds)
    return {
        "mean_ms": round(1e3 * statistics.fmean(ordered), 3),
        "median_ms": round(1e3 * statistics.median(ordered), 3),
        "min_ms": round(1e3 * ordered[0], 3),
        "p95_ms": round(1e3 * ordered[math.ceil(0.95 * len(ordered)) - 1], 3),
        "max_ms": round(1e3 * ordered[-1], 3),
    }


def machine_line(record: Mapping[str, Any]) -> str:
    """One line for programs; raises ValueError if it would not fit into one write."""
    line = MACHINE_MARK + json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)
    if len(line.encode()) > MACHINE_LIMIT:
        raise ValueError(f"the machine line has {len(line.encode())} bytes, more than {MACHINE_LIMIT}")
    return line


def write_json(path: str, data: Mapping[str, Any]) -> None:
    """Write a whole file or none: readers never see half of it."""
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8") as stream:
        json.dump(data, stream, indent=2, sort_keys=True, allow_nan=False)
        stream.write("\n")
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)
