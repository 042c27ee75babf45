"""What the benchmarks share: joining the ranks, lines for programs, clocks, the settings worth recording.

Every line for programs is one write of at most 4000 bytes, by rank 0 only: "ROCEMESH-BENCHMARK {json}" with either a
result, {"settings": ...} or {"problem": text}; and "ROCEMESH-PROGRESS {json}" for whoever watches.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from typing import Any, Callable, Mapping, Sequence

# The parts that the training script has already: output, ranks, joining. Behind our own folder in the path.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "resnet50"))

import joining
import output
from architectures import Network, find

PERIOD = 251  # elements after which known values repeat; prime, so that no shift by a frame or block fits
RESULT_MARK = "ROCEMESH-BENCHMARK "
PROGRESS_MARK = "ROCEMESH-PROGRESS "
# What a run of the seeds' time and one of today may be told to use; recorded if set.
ENVIRONMENT = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "KMP_AFFINITY", "OMP_PROC_BIND", "OMP_PLACES"),
    *("CUDA_VISIBLE_DEVICES", "CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE", "TORCH_CUDNN_V8_API_DISABLED"),
)


def parser(text: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    made.add_argument("--iterations", type=int, default=10, help="timed iterations (default 10)")
    made.add_argument("--warmup", type=int, default=2, help="iterations before, not counted (default 2)")
    joining.add_arguments(made)
    return made


def table_arguments(made: argparse.ArgumentParser, models: Sequence[str], batches: Sequence[int]) -> None:
    made.add_argument(
        "--models",
        nargs="+",
        default=list(models),
        help="networks; name*8 takes eight times each batch, as the published tables do for alexnet",
    )
    made.add_argument("--batches", nargs="+", type=int, default=list(batches), help="images per rank and step")
    made.add_argument("--image_size", type=int, default=224, help="pixels per side (default 224)")


def parse(made: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    options = made.parse_args(arguments)
    least = {"iterations": 1, "warmup": 0}
    if hasattr(options, "batches"):
        least.update({"batches": 1, "image_size": 32})
    joining.refuse_below(made, options, least)
    return options


def cases(models: Sequence[str], batches: Sequence[int]) -> list[tuple[Network, int]]:
    """(network, batch) in the order of the table. SystemExit for a network that is not there or a wrong factor."""
    found = []
    for model in models:
        name, star, factor = model.partition("*")
        if star and not (factor.isdigit() and int(factor) > 0):
            raise SystemExit(f"model {model!r}: behind the * stands by what to multiply the batch, 1 or more")
        network = find(name)
        found += [(network, batch * int(factor or 1)) for batch in batches]
    return found


class Teller:
    """Speaks for rank 0, and is silent on the others."""

    def __init__(self, rank: int) -> None:
        self._speaks = rank == 0

    def result(self, record: Mapping[str, Any]) -> None:
        self._line(RESULT_MARK, record)

    def problem(self, text: str) -> None:
        self._line(RESULT_MARK, {"problem": text})

    def progress(self, stage: str, what: str, done: int, of: int, speed: float | None = None) -> None:
        record = {"stage": stage, "what": what, "done": done, "of": of, "img_s": speed and round(speed, 2)}
        self._line(PROGRESS_MARK, record)

    def _line(self, mark: str, record: Mapping[str, Any]) -> None:
        if self._speaks:
            line = mark + json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)
            if len(line.encode()) > output.MACHINE_LIMIT:
                raise SystemExit(f"a line for programs would have {len(line.encode())} bytes: {line[:200]}...")
            output.emit(line)


def rounded(seconds: float) -> float:
    return round(seconds, 9)


# ------------------------------------------------------------------------------------------------ with torch behind


def settle(device: Any) -> None:
    """Wait until the device has done everything that was asked of it."""
    if device.type == "cuda":
        import torch  # noqa: PLC0415

        torch.cuda.synchronize(device)


def gathered(value: float, joined: Any) -> list[float]:
    """The value of every rank, in their order."""
    import torch  # noqa: PLC0415
    import torch.distributed as dist  # noqa: PLC0415

    mine = torch.tensor([value], dtype=torch.float64, device=joined.device)
    rows = [torch.empty_like(mine) for _rank in range(joined.world)]
    dist.all_gather(rows, mine)
    return [float(row) for row in rows]


def timed(action: Callable[[], Any], joined: Any) -> float:
    """Seconds from a common start until ``action`` is done on the slowest rank."""
    import torch.distributed as dist  # noqa: PLC0415

    dist.barrier()
    settle(joined.device)
    begun = time.perf_counter()
    action()
    settle(joined.device)
    return max(gathered(time.perf_counter() - begun, joined))


def scale(precision: str, world: int, rounds: int) -> float:
    """By what the known values are divided, so that the sum over ranks and rounds stays below 32768: half of what fp16
    holds. A power of two rounds nothing. The other types hold any of these sums."""
    largest = PERIOD / 3 * world * (world + 1) / 2 * rounds
    return 1.0 if precision != "fp16" else 2.0 ** max(0, math.ceil(math.log2(largest / 32768)))


def known(joined: Any, dtype: Any, scale: float) -> tuple[Any, Any]:
    """PERIOD values of this rank, and in double precision what they add up to over all ranks.

    Element i of rank r is v x (r + 1) with v = ((i mod PERIOD) + 1) / 3 / scale, so the exact sum is v x n(n+1)/2.
    """
    import torch  # noqa: PLC0415

    row = (torch.arange(PERIOD, dtype=torch.float64) + 1) / 3 / scale
    mine = (row * (joined.rank + 1)).to(device=joined.device, dtype=dtype)
    return mine, (row * (joined.world * (joined.world + 1) / 2)).to(joined.device)


def fill(flat: Any, row: Any) -> None:
    """``row`` (PERIOD values) over and over again."""
    whole = flat.numel() // PERIOD * PERIOD
    flat[:whole].view(-1, PERIOD).copy_(row)
    flat[whole:].copy_(row[: flat.numel() - whole])


def deviation(flat: Any, row: Any) -> float:
    """The largest relative deviation of what `fill` would have left; infinite if there is a nan."""
    worst = 0.0
    # In blocks: the comparison in double precision would else need three times the largest array.
    for begin in range(0, flat.numel(), 4096 * PERIOD):
        block = flat[begin : begin + 4096 * PERIOD].double()
        rows = (block.numel() + PERIOD - 1) // PERIOD
        exact = row.repeat(rows)[: block.numel()]
        found = float(((block - exact) / exact).abs().max())
        worst = max(worst, found) if math.isfinite(found) else math.inf
    return worst


REASONS = ("", "out of memory", "one value per channel is too little for batch normalisation (larger batch or image)")


def reason(error: BaseException) -> int:
    """Which of REASONS an error of torch stands for; 0: none of them."""
    text = str(error).lower()
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return 1
    if isinstance(error, RuntimeError) and ("out of memory" in text or "can't allocate memory" in text):
        return 1
    return 2 if isinstance(error, ValueError) and "more than 1 value per channel" in text else 0


def together(attempt: Callable[[], Any], joined: Any) -> tuple[Any, str]:
    """(what ``attempt`` returned, why it is impossible on at least one rank or ""). ``attempt`` must not talk to other
    ranks: one that runs out of memory would leave them waiting for ever."""
    value, failed = None, 0
    try:
        value = attempt()
        settle(joined.device)
    except (MemoryError, RuntimeError, ValueError) as error:
        failed = reason(error)
        if not failed:
            raise
    worst = int(max(gathered(failed, joined)))
    return (None if worst else value), REASONS[worst]


def too_small(network: Network, options: argparse.Namespace, tell: Teller) -> bool:
    if options.image_size >= network.smallest:
        return False
    tell.problem(
        f"{network.name}: needs images of {network.smallest} pixels or more, not {options.image_size}; left out"
    )
    return True


def settings(joined: Any, options: argparse.Namespace) -> dict[str, Any]:
    """What has to be known to repeat the figures."""
    import torch  # noqa: PLC0415

    cudnn = torch.backends.cudnn
    found: dict[str, Any] = {
        "backend": joined.backend,
        "ranks": joined.world,
        "precision": options.precision,
        "device": torch.cuda.get_device_name(joined.device) if joined.gpu else processor(),
        "machine": platform.machine(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cuda": torch.version.cuda,
        "threads": torch.get_num_threads(),
        "processors": os.cpu_count(),
        "environment": {name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
        "mkldnn": bool(torch.backends.mkldnn.is_available()),
        "mkl": bool(torch.backends.mkl.is_available()),
    }
    if joined.gpu:
        found["cudnn"] = {
            "version": cudnn.version(),
            "benchmark": cudnn.benchmark,
            "deterministic": cudnn.deterministic,
            "allow_tf32": cudnn.allow_tf32,
            "matmul_allow_tf32": torch.backends.cuda.matmul.allow_tf32,
        }
    return found


def processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            names = [line.partition(":")[2].strip() for line in stream if line.startswith("model name")]
    except OSError:
        names = []
    return f"cpu ({names[0]})" if names else "cpu"
