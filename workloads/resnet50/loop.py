# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The training loop: DistributedDataParallel on synthetic images, timed between barriers.

Runs on torch 1.13 and later, with and without numpy: only tensors are exchanged, never pickled objects.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import hashlib
import math
import time
from typing import Any, Callable

import torch
import torch.distributed as dist
from model import resnet50
from torch import nn

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


@dataclasses.dataclass(frozen=True)
class Measured:
    """One rank's run.

    ``wall_seconds``: from the barrier before the first timed step to the barrier after the last one, on this rank's
    clock; ``warmup_seconds``: everything before, from the first step on, with compiling and capturing where asked for;
    ``busy_seconds``: as ``wall_seconds``, without waiting at the closing barrier; ``images_per_second``: this rank's
    images / ``wall_seconds``; ``total``: images of all ranks / the slowest rank's ``wall_seconds``.
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


class HostClock:
    """Step times on a CPU, where a step is over when its call returns."""

    def __init__(self) -> None:
        self._marks: list[float] = []

    def mark(self) -> None:
        self._marks.append(time.perf_counter())

    def seconds(self) -> list[float]:
        return [after - before for before, after in zip(self._marks, self._marks[1:])]


class CudaClock:
    """Step times on a GPU, by events in its queue: the host may run ahead without spoiling them."""

    def __init__(self) -> None:
        self._marks: list[Any] = []
        self._seconds: list[float] = []

    def mark(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._marks.append(event)

    def seconds(self) -> list[float]:
        if self._marks:
            self._marks[-1].synchronize()
        done = len(self._seconds)
        for before, after in zip(self._marks[done:], self._marks[done + 1 :]):
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


class Trainer:
    """The network, its optimizer and one synthetic batch on ``device``; `step` trains on that batch once."""

    def __init__(self, settings: Settings, device: torch.device, rank: int) -> None:
        gpu = device.type == "cuda"
        # channels_last is what the tensor cores work in; on a CPU it gains or loses with the version of torch.
        last = settings.memory_format == "channels_last" or (gpu and settings.memory_format == "auto")
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
            )
        self._optimizer = torch.optim.SGD(self._parallel.parameters(), lr=0.01, momentum=0.9)
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

    def _on_stream(self) -> Any:
        return contextlib.nullcontext() if self._stream is None else torch.cuda.stream(self._stream)

    def _eager(self) -> torch.Tensor:
        self._optimizer.zero_grad(set_to_none=True)
        mixed: Any = contextlib.nullcontext()
        if self._precision != "fp32":
            # Its cache of converted weights would outlive the capture.
            mixed = torch.autocast(self.device.type, dtype=DTYPES[self._precision], cache_enabled=self._stream is None)
        with mixed:
            loss = self._criterion(self._parallel(self._images), self._labels)
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        return loss.detach()

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
    loss = torch.tensor(math.nan)
    for number in range(1, settings.num_batches + 1):
        loss = trainer.step()
        clock.mark()
        if number == 1 or number % settings.display_every == 0 or number == settings.num_batches:
            on_step(number, clock.seconds(), float(loss))
    trainer.settle()
    busy = time.perf_counter() - started
    # A rank that is done early has to wait for the others in any real run: the waiting is part of its time. Without
    # this, short runs on busy CPUs would show ranks that are together faster than the whole.
    dist.barrier()
    trainer.settle()
    wall = time.perf_counter() - started

    images_done = settings.batch_size * settings.num_batches
    figures = torch.tensor([wall, float(images_done)], dtype=torch.float64, device=trainer.device)
    rows = [row.tolist() for row in _gather(figures, world)]
    digest = weights_digest(trainer.network)
    mine = torch.tensor(list(digest), dtype=torch.uint8, device=trainer.device)
    digests = [bytes(row.tolist()) for row in _gather(mine, world)]
    gpu = trainer.device.type == "cuda"
    return Measured(
        step_seconds=tuple(clock.seconds()),
        wall_seconds=wall,
        busy_seconds=busy,
        images_per_second=images_done / wall,
        total=sum(row[1] for row in rows) / max(row[0] for row in rows),
        loss=float(loss),
        checksum=digest.hex(),
        checksums_equal=all(other == digest for other in digests),
        peak_memory_bytes=torch.cuda.max_memory_allocated(trainer.device) if gpu else None,
        warmup_seconds=warmup,
        memory_format=trainer.memory_format,
    )
