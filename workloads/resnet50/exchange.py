"""How fast the ranks exchange data, and how fast each GPU talks to its host, measured alone when the training is over.

A training hides its exchange behind its arithmetic: its rate hardly tells whether the path is as fast as its links.
"""

from __future__ import annotations

import functools
import statistics
import time
from typing import Any, Callable

import torch
import torch.distributed as dist

MEBIBYTE = 1 << 20
LEAST_MB = 64  # below, an all-reduce of fast links measures how long it takes to begin
WARM, TIMED = 2, 5
COPY_MB = 128


def measure(device: torch.device, world: int, megabytes: int) -> dict[str, Any]:
    """``exchange``: bytes of one all-reduce, how many there were, seconds of the median one on this rank;
    ``copy_gb_s``: the slower direction between GPU and host. What was not measured is None. Every rank has to call
    it."""
    gpu = device.type == "cuda"
    if gpu:
        torch.cuda.empty_cache()
    return {
        "exchange": _exchange(device, megabytes) if world > 1 and megabytes else None,
        "copy_gb_s": _copy(device) if gpu and megabytes else None,
    }


def _exchange(device: torch.device, megabytes: int) -> dict[str, Any] | None:
    buffer = _room(device, megabytes)
    if buffer is None:
        return None
    times = []
    for number in range(WARM + TIMED):
        seconds = _timed(device, lambda: dist.all_reduce(buffer))
        times += [seconds] if number >= WARM else []
    size = buffer.numel() * buffer.element_size()
    return {"bytes": size, "times": WARM + TIMED, "seconds": round(statistics.median(times), 9)}


def _room(device: torch.device, megabytes: int) -> torch.Tensor | None:
    """As much as every rank has room for: one that cannot take part would keep all others waiting."""
    while True:
        try:
            buffer = torch.zeros(megabytes * MEBIBYTE // 4, dtype=torch.float32, device=device)
        except RuntimeError:  # torch's own error for memory that is not there is one of these
            buffer = None
        room = torch.tensor([int(buffer is not None)], device=device)
        dist.all_reduce(room, op=dist.ReduceOp.MIN)
        if int(room):
            return buffer
        del buffer
        megabytes //= 2
        if megabytes < LEAST_MB:
            return None


def _copy(device: torch.device) -> float | None:
    try:
        host = torch.empty(COPY_MB * MEBIBYTE, dtype=torch.uint8, pin_memory=True)
        there = torch.empty(COPY_MB * MEBIBYTE, dtype=torch.uint8, device=device)
    except RuntimeError:
        return None
    slowest = 0.0
    for target, source in ((there, host), (host, there)):
        copy = functools.partial(target.copy_, source, non_blocking=True)
        times = [_timed(device, copy) for _number in range(WARM + TIMED)]
        slowest = max(slowest, statistics.median(times[WARM:]))
    return round(COPY_MB * MEBIBYTE / slowest / 1e9, 3)


def _timed(device: torch.device, work: Callable[[], Any]) -> float:
    """Seconds; of a GPU by its own clock, between two events of its queue."""
    if device.type != "cuda":
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun
    before, after = (torch.cuda.Event(enable_timing=True) for _event in range(2))
    torch.cuda.synchronize(device)
    before.record()
    work()
    after.record()
    torch.cuda.synchronize(device)
    return float(before.elapsed_time(after)) / 1e3
