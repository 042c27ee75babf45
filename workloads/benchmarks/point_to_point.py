"""Bandwidth between two ranks, nobody else talking: what the exchange of gradients is to be compared with.

The ranks stand in a ring; each sends one array to the next, one pair after the other. "point_to_point" sends one way,
"both_ways" at once in both directions, GB/s of each. What the receiver got is compared with what was sent: "error" is
the largest deviation. With more than MOST ranks only the first of each host takes part.
Source: MXNet's README of tools/bandwidth puts its figures beside CUDA's p2pBandwidthLatencyTest, unidirectional.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from typing import Any, Sequence

import common
import joining

MOST = 64
WRONG = 4


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    made = common.parser(__doc__ or "")
    made.add_argument("--bytes", type=int, default=64 << 20, help="size of the array (default 64 MiB)")
    options = common.parse(made, arguments)
    joining.refuse_below(made, options, {"bytes": 4})
    return options


def ring(hosts: Sequence[str], most: int = MOST) -> list[tuple[int, int]]:
    """Pairs of ranks; ``hosts``: the host of each rank. Two ranks are one pair, a single one is none."""
    members = list(range(len(hosts)))
    if len(members) > most:
        members = [rank for rank in members if hosts.index(hosts[rank]) == rank]
    if len(members) < 3:
        return [(members[0], members[1])] if len(members) == 2 else []
    return list(zip(members, members[1:] + members[:1]))


class Pair:
    """One array from the first to the second, or one each way."""

    def __init__(self, ends: tuple[int, int], both_ways: bool, options: argparse.Namespace, joined: Any) -> None:
        import torch  # noqa: PLC0415
        import torch.distributed as dist  # noqa: PLC0415

        self._dist, self._rank, self._both = dist, joined.rank, both_ways
        self._first, self._second = ends
        count = options.bytes // 4
        row = torch.arange(common.PERIOD, dtype=torch.float32, device=joined.device) + 1
        self._expected = row.double()
        self._sent = torch.empty(count, device=joined.device)
        common.fill(self._sent, row)
        self._received = torch.zeros(count, device=joined.device)

    def receives(self) -> bool:
        return self._rank == self._second or (self._both and self._rank == self._first)

    def move(self) -> None:
        if self._rank not in (self._first, self._second):
            return
        other = self._second if self._rank == self._first else self._first
        work = []
        if self._both or self._rank == self._first:
            work.append(self._dist.P2POp(self._dist.isend, self._sent, other))
        if self.receives():
            work.append(self._dist.P2POp(self._dist.irecv, self._received, other))
        for each in self._dist.batch_isend_irecv(work):
            each.wait()

    def error(self) -> float:
        return common.deviation(self._received, self._expected) if self.receives() else 0.0


def run(options: argparse.Namespace) -> int:
    joined = joining.join(options)
    import torch.distributed as dist  # noqa: PLC0415

    hosts: list[Any] = [None] * joined.world
    dist.all_gather_object(hosts, joined.host)
    tell = common.Teller(joined.rank)
    tell.result({"settings": {**common.settings(joined, options), "path": "point_to_point"}})
    pairs, status = ring(hosts), 0
    if not pairs:
        tell.problem("point_to_point: one rank alone has nobody to send to")
    for number, (ends, both_ways) in enumerate([(ends, both) for ends in pairs for both in (False, True)]):
        what = " to ".join(f"{hosts[rank]} rank {rank}" for rank in ends)
        tell.progress("bandwidth", what, number, 2 * len(pairs))
        pair, why = common.together(lambda e=ends, b=both_ways: Pair(e, b, options, joined), joined)  # type: ignore[misc]
        if why:
            tell.problem(f"{what}: {why} on at least one rank; left out")
            continue
        for _number in range(options.warmup):
            pair.move()
        seconds = [common.timed(pair.move, joined) for _number in range(options.iterations)]
        worst = max(common.gathered(pair.error(), joined))
        size = options.bytes // 4 * 4
        tell.result(
            {
                "network": what,
                "path": "both_ways" if both_ways else "point_to_point",
                "ranks": 2,
                "size_bytes": size,
                "seconds": [common.rounded(each) for each in seconds],
                "gb_s": round(size / statistics.median(seconds) / 1e9, 6),
                "error": worst if math.isfinite(worst) else None,
                "error_tolerance": 0,
            }
        )
        if worst:
            tell.problem(f"{what}: what arrived is not what was sent (relative error {worst:g})")
            status = WRONG
        tell.progress("bandwidth", what, number + 1, 2 * len(pairs))
    joining.leave()
    return status


if __name__ == "__main__":
    sys.exit(run(parse_arguments()))
