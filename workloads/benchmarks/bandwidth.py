# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bandwidth of the exchange of gradients: all-reduce of every parameter array of named networks, as training does it.

One iteration starts the all-reduce of all arrays and ends when the last one is done on the slowest rank. The warm-up is
dropped. GB/s per GPU = size x 2(n-1)/n / seconds / 1e9 for n ranks: what the wire of each rank carries in a ring, the
figure that MXNet's measure.py prints and that nccl-tests calls busbw. It is 0 for one rank.
Every iteration starts from known values, and every sum is checked: "error" is the largest relative deviation of any
element of any iteration from the exact sum, on the worst rank.
--staged copies each array to a buffer in host memory, reduces there (gloo) and copies it back: the price of the way
through the host.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from typing import Any, Sequence

import common
import joining
from architectures import arrays, find

PERIOD = 251  # elements after which the values repeat; prime, so that no shift by a frame or block fits
NETWORKS = ("resnet50", "vgg16", "alexnet", "inception-v3")
TOLERANCE = {"fp32": 1e-5, "bf16": 5e-2, "fp16": 1e-2}  # relative, of a sum over some hundred ranks
MOST = 200  # iterations whose times fit into one line
WRONG = 4


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    made = common.parser(__doc__ or "")
    made.add_argument("--networks", nargs="+", default=list(NETWORKS), help="whose arrays to exchange")
    made.add_argument("--path", default="", help="name of the path in the results (default: by what is used)")
    made.add_argument("--staged", action="store_true", help="by way of a buffer in host memory")
    options = common.parse(made, arguments)
    if options.iterations > MOST:
        made.error(f"--iterations {options.iterations}: at most {MOST}, each of which is recorded")
    return options


def gigabytes_per_second(size_bytes: int, ranks: int, seconds: float) -> float:
    return size_bytes * 2 * (ranks - 1) / ranks / seconds / 1e9


class Exchange:
    """The arrays of one network on this rank, filled with values whose sum over the ranks is known.

    Element i of rank r is ((i mod PERIOD) + 1) / 3 x (r + 1), so the exact sum is ((i mod PERIOD) + 1) / 3 x n(n+1)/2.
    """

    def __init__(self, shapes: Sequence[tuple[int, ...]], joined: Any, dtype: Any) -> None:
        import torch  # noqa: PLC0415
        import torch.distributed as dist  # noqa: PLC0415

        self._torch, self._dist = torch, dist
        self._group: Any = None
        self._tensors = [torch.empty(shape, dtype=dtype, device=joined.device).view(-1) for shape in shapes]
        self._staging = self._tensors
        row = (torch.arange(PERIOD, dtype=torch.float64) + 1) / 3
        self._mine = (row * (joined.rank + 1)).to(device=joined.device, dtype=dtype)
        self._sum = (row * (joined.world * (joined.world + 1) / 2)).to(joined.device)

    def stage(self) -> None:
        """From now on by way of host memory. On all ranks together: it makes a process group."""
        self._group = self._dist.new_group(backend="gloo")
        self._staging = [
            self._torch.empty(tensor.numel(), dtype=tensor.dtype, pin_memory=tensor.is_cuda) for tensor in self._tensors
        ]

    @property
    def size_bytes(self) -> int:
        return sum(tensor.numel() * tensor.element_size() for tensor in self._tensors)

    def fill(self) -> None:
        for tensor in self._tensors:
            whole = tensor.numel() // PERIOD * PERIOD
            tensor[:whole].view(-1, PERIOD).copy_(self._mine)
            tensor[whole:].copy_(self._mine[: tensor.numel() - whole])

    def reduce(self) -> None:
        if self._group is not None:
            for tensor, buffer in zip(self._tensors, self._staging):
                buffer.copy_(tensor, non_blocking=True)
            if self._tensors[0].is_cuda:
                self._torch.cuda.current_stream().synchronize()
        work = [self._dist.all_reduce(buffer, group=self._group, async_op=True) for buffer in self._staging]
        for each in work:
            each.wait()
        if self._group is not None:
            for tensor, buffer in zip(self._tensors, self._staging):
                tensor.copy_(buffer, non_blocking=True)

    def error(self) -> float:
        """The largest relative deviation from the exact sum; infinite if there is a nan."""
        worst = 0.0
        for tensor in self._tensors:
            # In blocks: the comparison in double precision would else need three times the largest array.
            for begin in range(0, tensor.numel(), 4096 * PERIOD):
                block = tensor[begin : begin + 4096 * PERIOD].double()
                rows = (block.numel() + PERIOD - 1) // PERIOD
                exact = self._sum.repeat(rows)[: block.numel()]
                deviation = float(((block - exact) / exact).abs().max())
                worst = max(worst, deviation) if math.isfinite(deviation) else math.inf
        return worst


def run(options: argparse.Namespace) -> int:
    networks = [find(name) for name in options.networks]
    joined = joining.join(options)
    import torch  # noqa: PLC0415

    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[options.precision]
    path = options.path or ("gpu" if joined.gpu else "cpu") + ("_staged" if options.staged else "")
    tell = common.Teller(joined.rank)
    tell.result({"settings": {**common.settings(joined, options), "path": path}})
    status = 0
    steps = len(networks) * (options.warmup + options.iterations)
    for index, network in enumerate(networks):
        before = index * (options.warmup + options.iterations)
        shapes = [array.shape for array in arrays(network)]
        what = f"{network.name} by {path}"
        tell.progress("bandwidth", what, before, steps)
        exchange, why = common.together(lambda s=shapes: Exchange(s, joined, dtype), joined)  # type: ignore[misc]
        if why:
            tell.problem(f"{network.name}: {why} on at least one rank; left out")
            continue
        if options.staged:
            exchange.stage()
        seconds, worst = [], 0.0
        for number in range(options.warmup + options.iterations):
            exchange.fill()
            took = common.timed(exchange.reduce, joined)
            worst = max(worst, *common.gathered(exchange.error(), joined))
            if number >= options.warmup:
                seconds.append(took)
            tell.progress("bandwidth", what, before + number + 1, steps)
        middle = statistics.median(seconds)
        wrong = not worst <= TOLERANCE[options.precision]
        tell.result(
            {
                "network": network.name,
                "path": path,
                "ranks": joined.world,
                "precision": options.precision,
                "arrays": len(shapes),
                "size_bytes": exchange.size_bytes,
                "seconds": [common.rounded(each) for each in seconds],
                "gb_s": round(gigabytes_per_second(exchange.size_bytes, joined.world, middle), 6),
                "error": worst if math.isfinite(worst) else None,
                "error_tolerance": TOLERANCE[options.precision],
            }
        )
        if wrong:
            tell.problem(
                f"{network.name} by {path}: the sums are wrong (relative error {worst:g}): do not train on this"
            )
            status = WRONG
        del exchange
    joining.leave()
    return status


if __name__ == "__main__":
    sys.exit(run(parse_arguments()))
