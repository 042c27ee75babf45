"""Scoring: images per second of the forward pass alone, for a table of networks and batch sizes, synthetic images.

Every rank scores for itself, all at the same time; "img_s" is the median of the ranks, per GPU, as published tables
give it, and "per_rank" shows the rank that is slower than the others. A batch that does not fit into memory is told
as a problem and left out.
--advice follows one piece of MXNet's perf.md, to compare with "none": half_the_processors (OMP_NUM_THREADS = processors
/ 2 / ranks on this host), affinity (threads stay on their cores: KMP_AFFINITY for Intel's OpenMP, OMP_PROC_BIND for
GNU's), both, and without_autotune (cuDNN takes its own first choice instead of trying; MXNET_CUDNN_AUTOTUNE_DEFAULT=0).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import time
from typing import Any, Sequence

import common
import joining

MODELS = ("alexnet", "vgg16", "inception-bn", "inception-v3", "resnet50", "resnet152")
BATCHES = (1, 2, 4, 8, 16, 32)
ADVICE = {
    "none": (),
    "half_the_processors": ("threads",),
    "affinity": ("affinity",),
    "both": ("threads", "affinity"),
    "without_autotune": ("autotune",),
}


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    made = common.parser(__doc__ or "")
    common.table_arguments(made, MODELS, BATCHES)
    made.add_argument("--advice", choices=tuple(ADVICE), default="", help="what to do otherwise than usual")
    return common.parse(made, arguments)


def ranks_of_this_host() -> int:
    """As Open MPI or torchrun tell it; 1 with a launcher that does not."""
    told = [os.environ[name] for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "LOCAL_WORLD_SIZE") if name in os.environ]
    return int(told[0]) if told else 1


def follow(advice: str, ranks_here: int, processors: int) -> dict[str, str]:
    """The environment that the advice asks for; it has to be there before torch is."""
    found: dict[str, str] = {}
    if "threads" in ADVICE[advice]:
        found["OMP_NUM_THREADS"] = str(max(1, processors // 2 // ranks_here))
    if "affinity" in ADVICE[advice]:
        found.update(KMP_AFFINITY="granularity=fine,compact,1,0", OMP_PROC_BIND="close", OMP_PLACES="cores")
    return found


def run(options: argparse.Namespace) -> int:
    table = common.cases(options.models, options.batches)
    asked = follow(options.advice or "none", ranks_of_this_host(), os.cpu_count() or 1)
    os.environ.update(asked)
    if "OMP_NUM_THREADS" in asked:
        options.threads = int(asked["OMP_NUM_THREADS"])
    joined = joining.join(options)
    import torch  # noqa: PLC0415
    from models import build  # noqa: PLC0415

    tell = common.Teller(joined.rank)
    if joined.gpu:
        torch.backends.cudnn.benchmark = "autotune" not in ADVICE[options.advice or "none"]
    layout = torch.channels_last if joined.gpu else torch.contiguous_format
    tell.result({"settings": {**common.settings(joined, options), "image_size": options.image_size}})
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(options.precision)

    def measure(network: Any, batch: int) -> float:
        """Images per second of this rank; talks to nobody."""
        torch.manual_seed(options.seed)
        module = build(network).to(device=joined.device, memory_format=layout).eval()
        images = torch.randn(batch, 3, options.image_size, options.image_size)
        images = images.to(device=joined.device, memory_format=layout)
        mixed: Any = torch.autocast(joined.device.type, dtype=dtype) if dtype else contextlib.nullcontext()
        with torch.inference_mode(), mixed:
            for _number in range(options.warmup):
                module(images)
            common.settle(joined.device)
            begun = time.perf_counter()
            for _number in range(options.iterations):
                module(images)
            common.settle(joined.device)
            return batch * options.iterations / (time.perf_counter() - begun)

    for number, (network, batch) in enumerate(table):
        what = f"{network.name} b{batch}"
        tell.progress("scoring", what, number, len(table))
        if common.too_small(network, options, tell):
            continue
        speed, why = common.together(lambda n=network, b=batch: measure(n, b), joined)  # type: ignore[misc]
        if why:
            tell.problem(f"{network.name} b{batch}: {why} on at least one rank; left out")
            continue
        speeds = common.gathered(speed, joined)
        tell.progress("scoring", what, number + 1, len(table), sum(speeds))
        shown = speeds if len(speeds) <= 64 else [min(speeds), statistics.median(speeds), max(speeds)]
        tell.result(
            {
                "model": network.name,
                "batch": batch,
                "img_s": round(statistics.median(speeds), 3),
                **({"advice": options.advice, "threads": torch.get_num_threads()} if options.advice else {}),
                "per_rank": [round(each, 3) for each in shown],
                "ranks": joined.world,
                "image_size": options.image_size,
                "precision": options.precision,
            }
        )
    joining.leave()
    return 0


if __name__ == "__main__":
    sys.exit(run(parse_arguments()))
