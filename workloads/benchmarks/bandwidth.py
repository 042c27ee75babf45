"""Bandwidth of the exchange of gradients: all-reduce of every parameter array of named networks, as training does it.

One iteration starts the all-reduce of all arrays and ends when the last one is done on the slowest rank. The warm-up is
dropped. GB/s per GPU = size x 2(n-1)/n / seconds / 1e9 for n ranks: what the wire of each rank carries in a ring, the
figure that MXNet's measure.py prints and that nccl-tests calls busbw. It is 0 for one rank.
Every iteration starts from known values, and every sum is checked: "error" is the largest relative deviation of any
element of any iteration from the exact sum, on the worst rank.
--staged copies each array to a buffer in host memory, reduces there (gloo) and copies it back: the price of the way
through the host. --servers N takes parameter servers instead (servers.py). --optimizer sgd makes the step with the sum
within the time: on every rank, or on the servers.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from typing import Any, Callable, Sequence

import common
import joining
import servers
from architectures import arrays, find

NETWORKS = ("resnet50", "vgg16", "alexnet", "inception-v3")
TOLERANCE = {"fp32": 1e-5, "bf16": 5e-2, "fp16": 1e-2}  # relative, of a sum over some hundred ranks
MOST = 200  # iterations whose times fit into one line
WRONG = 4


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    made = common.parser(__doc__ or "")
    made.add_argument("--networks", nargs="+", default=list(NETWORKS), help="whose arrays to exchange")
    made.add_argument("--path", default="", help="name of the path in the results (default: by what is used)")
    made.add_argument("--staged", action="store_true", help="by way of a buffer in host memory")
    made.add_argument(
        "--servers", type=int, default=0, metavar="N", help="by N parameter servers, on the first N ranks"
    )
    made.add_argument("--asynchronous", action="store_true", help="the servers answer each rank at once")
    made.add_argument(
        "--optimizer", choices=("none", "sgd"), default="none", help="make its step inside the exchange, in the time"
    )
    options = common.parse(made, arguments)
    if options.servers < 0 or (options.asynchronous and not options.servers):
        made.error(f"--servers {options.servers}: 0 or more, and with --asynchronous 1 or more")
    if options.servers and options.staged:
        made.error("--servers and --staged: the servers keep the values in host memory anyway")
    if options.iterations > MOST:
        made.error(f"--iterations {options.iterations}: at most {MOST}, each of which is recorded")
    return options


def gigabytes_per_second(size_bytes: int, ranks: int, seconds: float) -> float:
    return size_bytes * 2 * (ranks - 1) / ranks / seconds / 1e9


class Exchange:
    """The arrays of one network on this rank, filled with values whose sum over the ranks is known (`common.known`)."""

    def __init__(
        self, shapes: Sequence[tuple[int, ...]], joined: Any, dtype: Any, update: bool = False, scale: float = 1.0
    ) -> None:
        import torch  # noqa: PLC0415
        import torch.distributed as dist  # noqa: PLC0415

        self._torch, self._dist = torch, dist
        self._group: Any = None
        self._tensors = [torch.empty(shape, dtype=dtype, device=joined.device).view(-1) for shape in shapes]
        self._staging = self._tensors
        # With an optimizer every rank keeps the weights, and all of them make the same step.
        # In single precision: many small steps would be lost in a shorter one.
        weights = [torch.zeros_like(tensor, dtype=torch.float32) for tensor in self._tensors] if update else []
        self._weights = weights
        self._rounds = 0
        self._mine, self._sum = common.known(joined, dtype, scale)

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
            common.fill(tensor, self._mine)

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
        for weights, tensor in zip(self._weights, self._tensors):
            weights.add_(tensor, alpha=-servers.LEARNING_RATE)
        self._rounds += 1

    def error(self) -> float:
        """The largest relative deviation from the exact sum, or from the weights that it makes; infinite for a nan."""
        if self._weights:
            exact = self._sum * (-servers.LEARNING_RATE * self._rounds)
            return max(common.deviation(weights, exact) for weights in self._weights)
        return max(common.deviation(tensor, self._sum) for tensor in self._tensors)

    def drop(self) -> None:
        """Nothing that others would wait for."""


def default_path(options: argparse.Namespace, gpu: bool) -> str:
    if options.servers:
        return "servers_async" if options.asynchronous else "servers"
    return ("gpu" if gpu else "cpu") + ("_staged" if options.staged else "")


def made(number: int, shapes: Sequence[tuple[int, ...]], joined: Any, dtype: Any, options: argparse.Namespace) -> Any:
    # Weights and what an asynchronous server keeps grow with each round; a plain sum begins anew.
    grows = options.asynchronous or options.optimizer == "sgd"
    rounds = options.warmup + options.iterations if grows else 1
    scale = common.scale(options.precision, joined.world, rounds)
    if options.servers:
        return servers.ServerExchange(number, shapes, joined, dtype, options, scale=scale)
    return Exchange(shapes, joined, dtype, update=options.optimizer == "sgd", scale=scale)


def in_step(
    exchange: Any, joined: Any, options: argparse.Namespace, tell: Callable[[int], None]
) -> tuple[list[float], float]:
    """(seconds of the slowest rank per exchange, largest error of any of them)"""
    seconds, worst = [], 0.0
    for number in range(options.warmup + options.iterations):
        exchange.fill()
        took = common.timed(exchange.reduce, joined)
        worst = max(worst, *common.gathered(exchange.error(), joined))
        if number >= options.warmup:
            seconds.append(took)
        tell(number + 1)
    return seconds, worst


def free_running(
    exchange: Any, joined: Any, options: argparse.Namespace, tell: Callable[[int], None]
) -> tuple[list[float], float]:
    """The same where no rank waits for another: times of its own, and the values are checked when all are done."""
    times = []
    for _number in range(options.warmup + options.iterations):
        begun = time.perf_counter()
        exchange.reduce()
        common.settle(joined.device)
        times.append(time.perf_counter() - begun)
        tell(len(times))
    worst = max(common.gathered(exchange.error(), joined))
    return [max(common.gathered(each, joined)) for each in times[options.warmup :]], worst


def run(options: argparse.Namespace) -> int:
    networks = [find(name) for name in options.networks]
    joined = joining.join(options)
    if options.servers > joined.world:
        raise SystemExit(f"--servers {options.servers}: there are {joined.world} rank(s) to keep the values")
    path = options.path or default_path(options, joined.gpu)
    tell = common.Teller(joined.rank)
    tell.result({"settings": {**common.settings(joined, options), "path": path}})
    if options.servers:
        servers.start(joined, options)
    right = [measure(number, path, joined, options, tell) for number in range(len(networks))]
    if options.servers:
        servers.stop()
    joining.leave()
    return 0 if all(right) else WRONG


def measure(number: int, path: str, joined: Any, options: argparse.Namespace, tell: common.Teller) -> bool:
    """Tells the result of network ``number`` of the options. False if a sum was wrong."""
    import torch  # noqa: PLC0415

    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[options.precision]
    network = find(options.networks[number])
    each = options.warmup + options.iterations

    def done(count: int) -> None:
        tell.progress("bandwidth", f"{network.name} by {path}", number * each + count, len(options.networks) * each)

    done(0)
    shapes = [array.shape for array in arrays(network)]
    exchange, why = common.together(lambda: made(number, shapes, joined, dtype, options), joined)
    if why:
        tell.problem(f"{network.name}: {why} on at least one rank; left out")
        return True
    if options.staged:
        exchange.stage()
    seconds, worst = (free_running if options.asynchronous else in_step)(exchange, joined, options, done)
    tell.result(
        {
            "network": network.name,
            "path": path,
            "ranks": joined.world,
            "precision": options.precision,
            "arrays": len(shapes),
            "size_bytes": exchange.size_bytes,
            "seconds": [common.rounded(one) for one in seconds],
            "gb_s": round(gigabytes_per_second(exchange.size_bytes, joined.world, statistics.median(seconds)), 6),
            **({"servers": options.servers} if options.servers else {}),
            **({"optimizer": options.optimizer} if options.optimizer != "none" else {}),
            "error": worst if math.isfinite(worst) else None,
            "error_tolerance": TOLERANCE[options.precision],
        }
    )
    exchange.drop()
    if worst <= TOLERANCE[options.precision]:
        return True
    tell.problem(f"{network.name} by {path}: the sums are wrong (relative error {worst:g}): do not train on this")
    return False


if __name__ == "__main__":
    sys.exit(run(parse_arguments()))
