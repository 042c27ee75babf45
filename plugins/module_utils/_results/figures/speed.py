"""Whether the exchange is as fast as its links, from what every rank measured alone after the training. Pure.

An all-reduce goes at the pace of the slowest link, host and GPU of its ring, whatever slows it down: so this one figure
shows what no setting and no counter does. What it cannot show is where; the copies of each GPU can, for its own link.
"""

from __future__ import annotations

import dataclasses
import statistics
from typing import Any, Mapping, Sequence

from ..readers.reading import by_key
from .limits import Limit, bus_gbyte_per_s, is_positive, ring_factor

# Of what the links of a node carry. Sound sites print 92 to 97 % of it for large messages (published.ALL_REDUCE: two to
# 64 hosts, 100 to 400 Gb/s); the smallest step down of a link (half the lanes, one generation, half the rate) leaves
# about a half of that link. Between them, nearer to the sound ones for links that were not the tightest before.
LEAST_SHARE = 0.75
USUAL_SHARE = 0.9  # below it nothing is lost, and something may be set better
# More than this is beyond what is left by such a step, whatever the algorithm. Between the two, NVLink may be the limit
# of trees over two nodes: sound nodes alone print 77 % (rings) to 100 % (NVLS) of what the NVLinks of a GPU carry.
MORE_THAN_A_STEP = 0.6
# A link of PCI Express loses in steps of two (lanes, generation). Copies of alike GPUs scatter less.
LEAST_COPY = 0.7
# Smaller exchanges measure latency: nccl-tests reach their bandwidth from some MiB on.
LEAST_BYTES = 1 << 20
WHAT = "all-reduce alone, after the training"
GOOD, BAD, NOT_MEASURED = "good", "bad", "not measured"


@dataclasses.dataclass(frozen=True)
class Copy:
    """A GPU that talks to its host more slowly than others of its model do; GB/s."""

    rank: int | None
    host: str
    gb_s: float
    usual_gb_s: float


@dataclasses.dataclass(frozen=True)
class Speed:
    """``bus_gb_s``: bus bandwidth of the all-reduce (None: not measured), ``link_gb_s``: what the links of a node
    carry; ``share``: of these links that its bytes filled; ``why``: why one of them is not known; ``moved_bytes``: that
    the measurement itself moved at each rank; ``nvlink_share``: of a GPU's NVLinks, where they are the limit."""

    state: str
    bus_gb_s: float | None
    link_gb_s: float | None
    how: str
    why: str
    least_share: float
    moved_bytes: float
    slow_copies: tuple[Copy, ...] = ()
    share: float | None = None
    nvlink_share: float | None = None


def judge(
    per_rank: Sequence[Mapping[str, Any]],
    wire: Limit,
    nodes: int | None,
    least_share: float | None,
    *,
    seen: tuple[float, float] | None = None,
    nvlink: Limit | None = None,
) -> Speed:
    """``wire``: what the NICs of a node carry; ``seen``: how often the bytes of an all-reduce crossed the link of the
    busiest node by its counters, at least and at most. Bus bandwidth alone says nothing about the links: NCCL computes
    it for a ring of all ranks, and a tree over nodes of eight GPUs prints 1.875 times what its links carry."""
    least = least_share or LEAST_SHARE
    bus, moved, why = _bus(per_rank)
    if bus is not None and wire.value is None:
        why = wire.because
    elif bus is not None and min(nodes or 0, len(per_rank)) < 2:
        why = "all ranks are on one node: the network is not in the way"
    state, share, of_nvlink = NOT_MEASURED, None, None
    if not why and bus and wire.value and nodes:
        ring = ring_factor(len(per_rank))
        # How many times the bytes cross the link of the busiest node, if the counters do not tell: a ring of N ranks
        # sends 2 (N - 1) / N; a tree over n nodes, whose other hops stay inside them, 2 (n - 1) / n on average at most.
        least_crossed, most_crossed = seen or (ring_factor(nodes), ring)
        low, high = (bus / wire.value * times / ring for times in (least_crossed, most_crossed))
        inside = bus / nvlink.value if nvlink and nvlink.value else 0.0
        if low >= least:
            state, share = GOOD, low
        elif low >= MORE_THAN_A_STEP and inside >= max(least, LEAST_SHARE):
            state, share, of_nvlink = GOOD, low, inside
        elif high < least:
            state, share = BAD, high
        else:
            why = (
                f"the all-reduce fills {100 * low:.0f} to {100 * high:.0f} % of the links, depending on the algorithm "
                "that NCCL chose; the counters of the NICs, which would tell, were not read or not well enough"
            )
    return Speed(state, bus, wire.value, wire.how, why, least, moved, slow_copies(per_rank), share, of_nvlink)


def moved_bytes(per_rank: Sequence[Mapping[str, Any]]) -> float:
    """Bytes of the all-reduces that were measured alone, over all repetitions; 0 where none was."""
    return _bus(per_rank)[1]


def _bus(per_rank: Sequence[Mapping[str, Any]]) -> tuple[float | None, float, str]:
    """The slowest rank's, bytes moved by it, and why there is none."""
    rows = [_row((rank.get("machine") or {}).get("exchange")) for rank in per_rank]
    known = [row for row in rows if row]
    if not known:
        return None, 0.0, "no rank measured an all-reduce alone after the training"
    sizes = {(size, times) for size, times, _seconds in known}
    if len(known) < len(rows) or len(sizes) > 1:
        return None, 0.0, "not every rank measured the same all-reduce after the training"
    size, times = sizes.pop()
    if size < LEAST_BYTES:
        why = f"the all-reduce after the training was of {size:g} bytes; less than {LEAST_BYTES} tell no bandwidth"
        return None, 0.0, why
    slowest = max(seconds for _size, _times, seconds in known)
    return bus_gbyte_per_s(size, len(rows), slowest), size * times, ""


def _row(exchange: Any) -> tuple[float, float, float] | None:
    given = exchange if isinstance(exchange, Mapping) else {}
    size, times, seconds = (given.get(key) for key in ("bytes", "times", "seconds"))
    return (size, times, seconds) if is_positive(size) and is_positive(times) and is_positive(seconds) else None


def slow_copies(per_rank: Sequence[Mapping[str, Any]]) -> tuple[Copy, ...]:
    """GPUs that stay behind those of their model; with fewer than three of a model it is not known which is right, so
    the slower one is named."""
    pairs = ((rank.get("machine") or {}, rank) for rank in per_rank)
    known = ((machine, rank) for machine, rank in pairs if is_positive(machine.get("copy_gb_s")))
    models = by_key((str(machine.get("device") or ""), (machine["copy_gb_s"], rank)) for machine, rank in known)
    found = []
    for rows in models.values():
        usual = statistics.median_high([value for value, _rank in rows])
        found += [
            Copy(rank.get("rank"), str(rank.get("host") or ""), value, usual)
            for value, rank in rows
            if value < LEAST_COPY * usual
        ]
    return tuple(found)
