"""Training: images per second for a table of networks and batch sizes, and what the communication costs per batch.

Three measurements per case, each the median of --iterations, on the slowest rank: "compute_s" (forward, backward and
optimizer, without any exchange), "comm_s" (all-reduce of all gradient arrays, alone) and "step_s" (a whole step with
DistributedDataParallel, where both overlap). exposed_s = step_s - compute_s is the communication that nobody hides;
comm_over_compute below 1 means that it could be hidden. img_s = all ranks' images / seconds over all timed steps.
--trace writes the profile of one step of the first case that ran, in the format of chrome://tracing, by rank 0, and
puts the operators that took most time into the settings.
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
from architectures import arrays

MODELS = ("alexnet*8", "inception-v3", "resnet50")
BATCHES = (1, 2, 4, 8, 16, 32)


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    made = common.parser(__doc__ or "")
    common.table_arguments(made, MODELS, BATCHES)
    made.add_argument("--trace", metavar="FILE", help="profile one step into this file, on the host of rank 0")
    return common.parse(made, arguments)


class Case:
    """One network with its batch on this rank. ``step`` computes; ``exchange`` communicates; ``whole`` does both."""

    def __init__(self, network: Any, batch: int, options: argparse.Namespace, joined: Any) -> None:
        import torch  # noqa: PLC0415
        from models import build  # noqa: PLC0415
        from torch import nn  # noqa: PLC0415

        self._torch, self._nn, self._joined = torch, nn, joined
        self._dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(options.precision)
        layout = torch.channels_last if joined.gpu else torch.contiguous_format
        torch.manual_seed(options.seed)
        self._module = build(network).to(device=joined.device, memory_format=layout)
        self._optimizer = torch.optim.SGD(self._module.parameters(), lr=0.001, momentum=0.9)
        source = torch.Generator().manual_seed(options.seed + 1 + joined.rank)
        shape = (batch, 3, options.image_size, options.image_size)
        self._images = torch.randn(shape, generator=source).to(device=joined.device, memory_format=layout)
        self._labels = torch.randint(0, 1000, (batch,), generator=source).to(joined.device)
        self._criterion = nn.CrossEntropyLoss()
        self._gradients = [torch.ones(array.shape, device=joined.device) for array in arrays(network)]
        self._parallel: Any = None

    @property
    def size_bytes(self) -> int:
        return sum(gradient.numel() * gradient.element_size() for gradient in self._gradients)

    def _train(self, module: Any) -> None:
        self._optimizer.zero_grad(set_to_none=True)
        mixed: Any = contextlib.nullcontext()
        if self._dtype is not None:
            mixed = self._torch.autocast(self._joined.device.type, dtype=self._dtype)
        with mixed:
            loss = self._criterion(module(self._images), self._labels)
        # No loss scaling for fp16: what is measured is time, and the values of synthetic images mean nothing.
        loss.backward()
        self._optimizer.step()

    def step(self) -> None:
        self._train(self._module)

    def exchange(self) -> None:
        import torch.distributed as dist  # noqa: PLC0415

        for work in [dist.all_reduce(gradient, async_op=True) for gradient in self._gradients]:
            work.wait()

    def whole(self) -> None:
        if self._parallel is None:
            device = [self._joined.device.index] if self._joined.gpu else None
            self._parallel = self._nn.parallel.DistributedDataParallel(
                self._module, device_ids=device, gradient_as_bucket_view=True, broadcast_buffers=False
            )
        self._train(self._parallel)


def run(options: argparse.Namespace) -> int:
    table = common.cases(options.models, options.batches)
    joined = joining.join(options)
    import torch  # noqa: PLC0415

    tell = common.Teller(joined.rank)
    if joined.gpu:
        torch.backends.cudnn.benchmark = True
    tell.result({"settings": {**common.settings(joined, options), "image_size": options.image_size}})
    traced = False

    def prepared(network: Any, batch: int) -> Case:
        case = Case(network, batch, options, joined)
        case.step()  # takes the memory that the later steps take
        return case

    def repeated(action: Any) -> list[float]:
        for _number in range(options.warmup):
            action()
        return [common.timed(action, joined) for _number in range(options.iterations)]

    for number, (network, batch) in enumerate(table):
        what = f"{network.name} b{batch}"
        tell.progress("training", what, number, len(table))
        if common.too_small(network, options, tell):
            continue
        case, why = common.together(lambda n=network, b=batch: prepared(n, b), joined)  # type: ignore[misc]
        if why:
            tell.problem(f"{network.name} b{batch}: {why} on at least one rank; left out")
            continue
        compute = statistics.median(repeated(case.step))
        communicate = statistics.median(repeated(case.exchange))
        case.whole()
        for _number in range(options.warmup):
            case.whole()
        begun = time.perf_counter()
        steps = [common.timed(case.whole, joined) for _number in range(options.iterations)]
        elapsed = max(common.gathered(time.perf_counter() - begun, joined))
        speed = joined.world * batch * options.iterations / sum(steps)
        tell.progress("training", what, number + 1, len(table), speed)
        step = statistics.median(steps)
        tell.result(
            {
                "model": network.name,
                "batch": batch,
                "compute_s": common.rounded(compute),
                "comm_s": common.rounded(communicate),
                "step_s": common.rounded(step),
                "exposed_s": common.rounded(step - compute),
                "comm_over_compute": round(communicate / compute, 4),
                "img_s": round(speed, 3),
                "wall_s": common.rounded(elapsed),
                "size_bytes": case.size_bytes,
                "ranks": joined.world,
                "image_size": options.image_size,
                "precision": options.precision,
            }
        )
        if options.trace and not traced:
            write_trace(options.trace, case, joined, tell, f"{network.name} b{batch}")
            traced = True
        del case
    joining.leave()
    return 0


def write_trace(path: str, case: Case, joined: Any, tell: common.Teller, what: str) -> None:
    from torch import profiler  # noqa: PLC0415

    if joined.rank:
        case.whole()
        return
    activities = [profiler.ProfilerActivity.CPU] + ([profiler.ProfilerActivity.CUDA] if joined.gpu else [])
    with profiler.profile(activities=activities) as profile:
        case.whole()
        common.settle(joined.device)
    temporary = f"{path}.{os.getpid()}.tmp.json"
    profile.export_chrome_trace(temporary)
    os.replace(temporary, path)
    tell.result({"settings": {"operators": {"step": what, "by_self_time": operators(profile, joined.gpu)}}})
    tell.result({"trace": {"file": path, "bytes": os.path.getsize(path), "step": what}})


def operators(profile: Any, gpu: bool) -> list[dict[str, Any]]:
    """The 15 operators with the most time of their own (not that of what they call), on the GPU where there is one."""

    def own_us(event: Any) -> float:
        if not gpu:
            return float(event.self_cpu_time_total)
        # torch 2.4 renamed it.
        return float(getattr(event, "self_device_time_total", 0) or getattr(event, "self_cuda_time_total", 0))

    import torch  # noqa: PLC0415

    # The kernels of a GPU stand among the averages once more, by themselves.
    asked = [each for each in profile.key_averages() if each.device_type == torch.autograd.DeviceType.CPU]
    events = sorted(asked, key=own_us, reverse=True)
    total = sum(own_us(event) for event in events) or 1.0
    return [
        {
            "operator": event.key[:60],
            "calls": event.count,
            "self_us": round(own_us(event), 1),
            "share": round(own_us(event) / total, 4),
        }
        for event in events[:15]
    ]


if __name__ == "__main__":
    sys.exit(run(parse_arguments()))
