"""Data-parallel ResNet-50 on synthetic images: one process per GPU (or per CPU rank), started by mpirun or torchrun.

Prints the lines of tf_cnn_benchmarks (per rank: running images/s; at the end the total of ALL ranks, which every rank
prints - do not add the totals), and per rank one line "ROCEMESH {json}" for programs. The warm-up is not counted.
Nothing is learned: the same random batch repeats, and the loss only shows that the arithmetic lives.

Exit status: 0 done; 2 wrong options; 3 the ranks ended with different weights, so they did not train together.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
from typing import Any, Sequence

import joining
import output

WEIGHTS_DIFFER = 3
EXCHANGE_MB = 512
GRAPH_WARMUP = 11  # steps that DistributedDataParallel needs before its communication may be captured


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--batch_size", type=int, default=32, help="images per rank and step (default 32)")
    parser.add_argument("--image_size", type=int, default=224, help="pixels per side (default 224)")
    parser.add_argument("--num_batches", type=int, default=100, help="timed steps (default 100)")
    parser.add_argument("--num_warmup_batches", type=int, default=10, help="steps before the clock (default 10)")
    parser.add_argument("--display_every", type=int, default=10, help="steps between two lines (default 10)")
    parser.add_argument(
        "--memory_format",
        choices=("auto", "channels_last", "contiguous"),
        default="auto",
        help="auto: channels_last, but contiguous on a CPU before torch 2",
    )
    parser.add_argument(
        "--gradients", choices=("fp32", "bf16", "fp16"), default="fp32", help="data type in which they are exchanged"
    )
    parser.add_argument("--compile", action="store_true", help="torch.compile the network (torch 2.0 or later)")
    parser.add_argument(
        "--cuda_graph",
        action="store_true",
        help=f"replay the whole step as one CUDA graph (GPU; not with fp16; warm-up of at least {GRAPH_WARMUP} steps)",
    )
    parser.add_argument(
        "--exchange_mb",
        type=int,
        default=None,
        help=f"MiB of an all-reduce that is measured alone after the training, 0: none (default {EXCHANGE_MB} between "
        "GPUs, else 0)",
    )
    joining.add_arguments(parser)
    parser.add_argument("--json", metavar="FILE", help="rank 0 writes the records of all ranks here")
    options = parser.parse_args(arguments)
    joining.refuse_below(
        parser,
        options,
        {"batch_size": 1, "image_size": 32, "num_batches": 1, "num_warmup_batches": 0, "display_every": 1},
    )
    if options.exchange_mb is not None:
        joining.refuse_below(parser, options, {"exchange_mb": 0})
    if options.cuda_graph and options.num_warmup_batches < GRAPH_WARMUP:
        parser.error(f"--cuda_graph needs --num_warmup_batches {GRAPH_WARMUP} or more")
    if options.cuda_graph and options.precision == "fp16":
        parser.error("--cuda_graph with --precision fp16: the loss scaling asks the host at each step; use bf16")
    return options


def run(options: argparse.Namespace) -> int:
    if options.cuda_graph:
        # Capturing forbids the watchdog's own CUDA calls; read when the process group starts.
        os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0")
        os.environ.setdefault("NCCL_ASYNC_ERROR_HANDLING", "0")
    here = joining.join(options)
    device, backend, host, gpu = here.device, here.backend, here.host, here.gpu

    import exchange  # noqa: PLC0415
    import torch  # noqa: PLC0415
    from loop import Settings, Trainer, train  # noqa: PLC0415

    if options.compile and not hasattr(torch, "compile"):
        raise SystemExit(f"{host}: --compile needs torch 2.0 or later; this is {torch.__version__}")
    if options.gradients == "bf16" and not gpu:
        raise SystemExit(f"{host}: --gradients bf16 needs a GPU and NCCL; between CPUs take fp16 or fp32")
    if options.cuda_graph and not gpu:
        raise SystemExit(f"{host}: --cuda_graph needs a GPU")
    settings = Settings(
        batch_size=options.batch_size,
        image_size=options.image_size,
        num_batches=options.num_batches,
        num_warmup_batches=options.num_warmup_batches,
        display_every=options.display_every,
        precision=options.precision,
        seed=options.seed,
        memory_format=options.memory_format,
        compiled=options.compile,
        cuda_graph=options.cuda_graph,
        gradients=options.gradients,
    )
    if here.rank == 0:
        for line in banner(options, backend, here.world, torch.__version__):
            output.emit(line)

    def on_warm() -> None:
        output.emit("Done warm up")
        output.emit(output.HEADER)

    def on_step(step: int, step_seconds: list[float], loss: float) -> None:
        output.emit(output.step_line(step, options.batch_size, step_seconds, loss))

    measured = train(Trainer(settings, device, here.rank), settings, here.world, on_warm, on_step)
    for line in output.total_lines(measured.total):
        output.emit(line)
    straggler = output.straggler_line(measured.alone_seconds)
    if here.rank == 0 and straggler:
        output.emit(straggler)
    megabytes = options.exchange_mb if options.exchange_mb is not None else EXCHANGE_MB * int(gpu)
    alone = exchange.measure(device, here.world, megabytes)
    finite = math.isfinite(measured.loss)
    record: dict[str, Any] = {
        "format": 1,
        "rank": here.rank,
        "world": here.world,
        "host": host,
        "images_per_second": round(measured.images_per_second, 4),
        "total_images_per_second": round(measured.total, 4),
        "wall_seconds": round(measured.wall_seconds, 6),
        "busy_seconds": round(measured.busy_seconds, 6),
        "warmup_seconds": round(measured.warmup_seconds, 6),
        "warmup_batches": options.num_warmup_batches + int(options.cuda_graph),
        "batches": options.num_batches,
        "batch_size": options.batch_size,
        "image_size": options.image_size,
        "precision": options.precision,
        "gradients": options.gradients,
        "tf32": measured.tf32,
        "alone_ms": round(1e3 * measured.alone_seconds[here.rank], 3),
        **alone,
        "memory_format": measured.memory_format,
        "compiled": options.compile,
        "cuda_graph": options.cuda_graph,
        "step": output.step_summary(measured.step_seconds),
        "loss": round(measured.loss, 6) if finite else None,
        "loss_finite": finite,
        "checksum": measured.checksum,
        "checksums_equal": measured.checksums_equal,
        "backend": backend,
        "device": torch.cuda.get_device_name(device) if gpu else "cpu",
        "device_memory_peak_bytes": measured.peak_memory_bytes,
        "rss_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": "{}.{}.{}".format(*sys.version_info[:3]),
    }
    output.emit(output.machine_line(record))
    if options.json:
        records = gather_records(record, here.world, device)
        if here.rank == 0:
            output.write_json(options.json, {"format": 1, "ranks": records})
    joining.leave()
    if not measured.checksums_equal:
        print(f"rank {here.rank}: the ranks ended with different weights: no common training", file=sys.stderr)
        return WEIGHTS_DIFFER
    return 0


def banner(options: argparse.Namespace, backend: str, world: int, version: str) -> list[str]:
    """The head of the output, in the words of tf_cnn_benchmarks where it has them."""
    return [
        f"PyTorch:     {version}",
        "Model:       resnet50",
        "Dataset:     imagenet (synthetic)",
        "Mode:        training",
        f"Batch size:  {options.batch_size * world} global",
        f"             {options.batch_size} per device",
        f"Num batches: {options.num_batches}",
        f"Image size:  {options.image_size}",
        f"Precision:   {options.precision}",
        *([f"Gradients:   {options.gradients}"] if options.gradients != "fp32" else []),
        f"Variables:   distributed_data_parallel ({backend})",
        "==========",
        "Running warm up",
    ]


def gather_records(record: dict[str, Any], world: int, device: Any) -> list[dict[str, Any]]:
    """The machine records of all ranks, in the order of the ranks; as bytes in tensors (pickling would need numpy)."""
    import torch  # noqa: PLC0415
    import torch.distributed as dist  # noqa: PLC0415

    text = json.dumps(record).encode()
    row = torch.zeros(2 * output.MACHINE_LIMIT, dtype=torch.uint8, device=device)
    row[: len(text)] = torch.tensor(list(text), dtype=torch.uint8, device=device)
    rows = [torch.empty_like(row) for _rank in range(world)]
    dist.all_gather(rows, row)
    return [json.loads(bytes(other.tolist()).rstrip(b"\0")) for other in rows]


if __name__ == "__main__":
    sys.exit(run(parse_arguments()))
