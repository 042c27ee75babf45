"""The training loop: DistributedDataParallel on synthetic images, timed between barriers.

Runs on torch 1.13 and later, with and without numpy: only tensors are exchanged, never pickled objects.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import dataclasses
import hashlib
import inspect
import os
import statistics
import time
from typing import Any, Callable

import torch
import torch.distributed as dist
from model import resnet50
from torch import nn

ALONE = 3  # passes without exchange, after the clock
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclasses.dataclass(frozen=True)
class Settings:
    batch_size: int
    image_size: int
    num_batches: int
    num_warmup_batches: int
    display_every: int
    precision: str
    seed: int
    memory_format: str = "auto"
    compiled: bool = False
    cuda_graph: bool = False
    gradients: str = "fp32"


@dataclasses.dataclass(frozen=True)
class Measured:
    """One rank's run.

    ``wall_seconds``: from the barrier before the first timed step to the barrier after the last one, of the rank that
    took longest; ``warmup_seconds``: everything before, from the first step on, with compiling and capturing where
    asked for; ``busy_seconds``: of this rank, without waiting at the closing barrier; ``images_per_second``: this
    rank's images / ``wall_seconds``; ``total``: images of all ranks / ``wall_seconds``.
    ``alone_seconds``: of each rank in their order, forward and backward of one step without any exchange, the median
    of ALONE passes: in a step with exchange all ranks take as long as the slowest one. ``tf32``: whether fp32
    convolutions are computed with 10 bits of mantissa, which is torch's default on GPUs from Ampere on; None without
    a GPU.
    """

    step_seconds: tuple[float, ...]
    wall_seconds: float
    busy_seconds: float
    images_per_second: float
    total: float
    loss: float
    checksum: str
    checksums_equal: bool
    peak_memory_bytes: int | None
    warmup_seconds: float
    memory_format: str
    alone_seconds: tuple[float, ...]
    tf32: bool | None


class HostClock:
    """Step times on a CPU, where a step is over when its call returns."""

    def __init__(self) -> None:
        self._marks: list[float] = []

    def mark(self) -> None:
        self._marks.append(time.perf_counter())

    def seconds(self) -> list[float]:
        return [after - before for before, after in zip(self._marks, self._marks[1:])]

    def is_over(self, step: int) -> bool:
        return step < len(self._marks)


class CudaClock:
    """Step times on a GPU, by events in its queue: the host may run ahead without spoiling them."""

    def __init__(self) -> None:
        self._marks: list[Any] = []
        self._seconds: list[float] = []

    def mark(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._marks.append(event)

    def is_over(self, step: int) -> bool:
        """Whether the GPU has done it. Asks, and does not wait."""
        return step < len(self._marks) and bool(self._marks[step].query())

    def seconds(self) -> list[float]:
        """Of the steps that are over."""
        done = len(self._seconds)
        for before, after in zip(self._marks[done:], self._marks[done + 1 :]):
            if not after.query():
                break
            self._seconds.append(before.elapsed_time(after) / 1e3)
        return list(self._seconds)


def weights_digest(network: nn.Module) -> bytes:
    """SHA-256 over all parameters. Equal on all ranks only if the gradients were really averaged among them."""
    digest = hashlib.sha256()
    for parameter in network.parameters():
        values = parameter.detach().to("cpu", torch.float32).contiguous()
        # The tensor's memory itself: this way needs no numpy.
        digest.update((ctypes.c_char * (values.numel() * 4)).from_address(values.data_ptr()))
    return digest.digest()


def _gather(row: torch.Tensor, world: int) -> list[torch.Tensor]:
    rows = [torch.empty_like(row) for _rank in range(world)]
    dist.all_gather(rows, row)
    return rows


def _grad_scaler(enabled: bool) -> Any:
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cuda", enabled=enabled)
    return torch.cuda.amp.GradScaler(enabled=enabled)  # before torch 2.3


def _compressing(precision: str) -> Any:
    """What turns gradients into half precision for the exchange, and back."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks  # noqa: PLC0415

    return {"bf16": default_hooks.bf16_compress_hook, "fp16": default_hooks.fp16_compress_hook}[precision]


class Trainer:
    """The network, its optimizer and one synthetic batch on ``device``; `step` trains on that batch once."""

    def __init__(self, settings: Settings, device: torch.device, rank: int) -> None:
        gpu = device.type == "cuda"
        # What the tensor cores work in, and oneDNN on CPUs as torch 2 brings it; before, it lost time on CPUs.
        gains = gpu or int(torch.__version__.partition(".")[0]) >= 2
        last = settings.memory_format == "channels_last" or (gains and settings.memory_format == "auto")
        self.memory_format = "channels_last" if last else "contiguous"
        layout = torch.channels_last if last else torch.contiguous_format
        torch.manual_seed(settings.seed)
        if gpu:
            torch.backends.cudnn.benchmark = True
        self.device = device
        self.network = resnet50().to(device=device, memory_format=layout)
        self._graph: Any = None
        # A graph is captured on a stream of its own, and DistributedDataParallel has to be made on that stream.
        self._stream = torch.cuda.Stream(device) if settings.cuda_graph else None
        with self._on_stream():
            self._parallel = nn.parallel.DistributedDataParallel(
                torch.compile(self.network) if settings.compiled else self.network,
                device_ids=[device.index] if gpu else None,
                gradient_as_bucket_view=True,
                # Each rank normalises with its own batch; sending rank 0's running means before each step costs time.
                broadcast_buffers=False,
            )
        if settings.gradients != "fp32":
            self._parallel.register_comm_hook(None, _compressing(settings.gradients))
        # One kernel for all parameters (torch 2.3 and later). Not with fp16: if the loss scaling skips the first step,
        # the fused kernel leaves its momentum unwritten, and the next step takes what lay in memory.
        fused = gpu and settings.precision != "fp16" and "fused" in inspect.signature(torch.optim.SGD).parameters
        self._optimizer = torch.optim.SGD(
            self._parallel.parameters(), lr=0.01, momentum=0.9, **({"fused": True} if fused else {})
        )
        self._criterion = nn.CrossEntropyLoss()
        self._precision = settings.precision
        self._scaler = _grad_scaler(gpu and settings.precision == "fp16")
        # Each rank has its own images: equal weights at the end then prove that the gradients were exchanged.
        source = torch.Generator().manual_seed(settings.seed + 1 + rank)
        shape = (settings.batch_size, 3, settings.image_size, settings.image_size)
        self._images = torch.randn(shape, generator=source).to(device=device, memory_format=layout)
        self._labels = torch.randint(0, 1000, (settings.batch_size,), generator=source).to(device)

    def step(self) -> torch.Tensor:
        if self._graph is not None:
            self._graph.replay()
            return self._loss
        with self._on_stream():
            return self._eager()

    def capture(self) -> None:
        """Record one step as a CUDA graph, which `step` then replays: one launch instead of some thousand. After the
        warm-up only. The optimizer's arithmetic is in the graph, its Python side (here: nothing) is not."""
        self.settle()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._stream):
            self._loss = self._eager()
        self._graph = graph

    def alone(self) -> None:
        """Forward and backward without any exchange; the weights stay as they are. Not as a graph."""
        with self._on_stream(), self._parallel.no_sync(), self._mixed():
            loss = self._criterion(self._parallel(self._images), self._labels)
        with self._on_stream(), self._parallel.no_sync():
            self._scaler.scale(loss).backward()
        self._optimizer.zero_grad(set_to_none=True)

    def _mixed(self) -> Any:
        if self._precision == "fp32":
            return contextlib.nullcontext()
        # Its cache of converted weights would outlive the capture.
        return torch.autocast(self.device.type, dtype=DTYPES[self._precision], cache_enabled=self._stream is None)

    def _on_stream(self) -> Any:
        return contextlib.nullcontext() if self._stream is None else torch.cuda.stream(self._stream)

    def _eager(self) -> torch.Tensor:
        self._optimizer.zero_grad(set_to_none=True)
        with self._mixed():
            loss = self._criterion(self._parallel(self._images), self._labels)
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        return loss.detach()

    def on_the_way(self, loss: torch.Tensor) -> torch.Tensor:
        """A copy in host memory, there when the step is over. The next step may overwrite the original."""
        if self.device.type != "cuda":
            return loss.clone()
        return torch.empty((), dtype=loss.dtype, pin_memory=True).copy_(loss, non_blocking=True)

    def settle(self) -> None:
        """Wait until the device has done everything that was asked of it."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def clock(self) -> HostClock | CudaClock:
        return CudaClock() if self.device.type == "cuda" else HostClock()


def train(
    trainer: Trainer,
    settings: Settings,
    world: int,
    on_warm: Callable[[], None],
    on_step: Callable[[int, list[float], float], None],
) -> Measured:
    """Warm up, then time ``num_batches`` steps. Needs an initialised process group, also for one rank.

    ``on_warm()`` is called when the warm-up is over, ``on_step(step, step seconds so far, loss)`` at step 1, every
    ``display_every`` steps and at the last one.
    """
    began = time.perf_counter()
    for _step in range(settings.num_warmup_batches):
        trainer.step()
    if settings.cuda_graph:
        trainer.capture()
        trainer.step()  # the first replay sets the graph up
    trainer.settle()
    warmup = time.perf_counter() - began
    on_warm()

    dist.barrier()
    trainer.settle()
    clock = trainer.clock()
    started = time.perf_counter()
    clock.mark()
    last_loss = float("nan")
    # Steps to show, with the loss on its way to the host: asking for it at once would stop the GPU's queue each time.
    shown: collections.deque[tuple[int, torch.Tensor]] = collections.deque()
    for number in range(1, settings.num_batches + 1):
        loss = trainer.step()
        if number == 1 or number % settings.display_every == 0 or number == settings.num_batches:
            shown.append((number, trainer.on_the_way(loss)))
        clock.mark()
        while shown and clock.is_over(shown[0][0]):
            step, value = shown.popleft()
            last_loss = float(value)
            on_step(step, clock.seconds()[:step], last_loss)
    trainer.settle()
    busy = time.perf_counter() - started
    for step, value in shown:
        last_loss = float(value)
        on_step(step, clock.seconds()[:step], last_loss)
    # A rank that is done early has to wait for the others in any real run: the waiting is part of its time. Without
    # this, short runs on busy CPUs would show ranks that are together faster than the whole.
    dist.barrier()
    trainer.settle()
    wall = time.perf_counter() - started

    images_done = settings.batch_size * settings.num_batches
    figures = torch.tensor([wall, float(images_done)], dtype=torch.float64, device=trainer.device)
    rows = [row.tolist() for row in _gather(figures, world)]
    # All were let go by one barrier and ended at one: what a busy host takes to wake a rank is no rank's speed.
    wall = max(row[0] for row in rows)
    digest = weights_digest(trainer.network)
    mine = torch.tensor(list(digest), dtype=torch.uint8, device=trainer.device)
    digests = [bytes(row.tolist()) for row in _gather(mine, world)]
    gpu = trainer.device.type == "cuda"
    return Measured(
        step_seconds=tuple(clock.seconds()),
        wall_seconds=wall,
        busy_seconds=busy,
        images_per_second=images_done / wall,
        total=sum(row[1] for row in rows) / wall,
        loss=last_loss,
        checksum=digest.hex(),
        checksums_equal=all(other == digest for other in digests),
        peak_memory_bytes=torch.cuda.max_memory_allocated(trainer.device) if gpu else None,
        warmup_seconds=warmup,
        memory_format=trainer.memory_format,
        alone_seconds=_alone(trainer, world),
        tf32=_tf32() if gpu else None,
    )


def _tf32() -> bool:
    """NVIDIA_TF32_OVERRIDE=0 acts within the libraries: torch goes on saying that it is allowed."""
    allowed = torch.backends.cudnn.allow_tf32 and os.environ.get("NVIDIA_TF32_OVERRIDE") != "0"
    return bool(allowed) and torch.cuda.get_device_capability()[0] >= 8


def _alone(trainer: Trainer, world: int) -> tuple[float, ...]:
    """Of each rank; the first pass, which takes memory of its own, does not count."""
    times = []
    for _number in range(ALONE + 1):
        trainer.settle()
        begun = time.perf_counter()
        trainer.alone()
        trainer.settle()
        times.append(time.perf_counter() - begun)
    mine = torch.tensor([statistics.median(times[1:])], dtype=torch.float64, device=trainer.device)
    return tuple(float(row) for row in _gather(mine, world))
