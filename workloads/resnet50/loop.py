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
from typing import Any, Callable, List, Optional, Tuple

import torch
import torch.distributed as dist
from model import resnet50
from torch import nn

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
DIGEST_BYTES = hashlib.sha256().digest_size


@dataclasses.dataclass(frozen=True)
class Settings:
    batch_size: int
    image_size: int
    num_batches: int
    num_warmup_batches: int
    display_every: int
    precision: str
    seed: int


@dataclasses.dataclass(frozen=True)
class Measured:
    """One rank's run. ``total``: images of all ranks / the slowest rank's time between the two barriers."""

    step_seconds: Tuple[float, ...]
    wall_seconds: float
    images_per_second: float
    total: float
    loss: float
    checksum: str
    checksums_equal: bool
    peak_memory_bytes: Optional[int]


class HostClock:
    """Step times on a CPU, where a step is over when its call returns."""

    def __init__(self) -> None:
        self._marks: List[float] = []

    def mark(self) -> None:
        self._marks.append(time.perf_counter())

    def seconds(self) -> List[float]:
        return [after - before for before, after in zip(self._marks, self._marks[1:])]


class CudaClock:
    """Step times on a GPU, by events in its queue: the host may run ahead without spoiling them."""

    def __init__(self) -> None:
        self._marks: List[Any] = []
        self._seconds: List[float] = []

    def mark(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._marks.append(event)

    def seconds(self) -> List[float]:
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


def _gather(row: torch.Tensor, world: int) -> List[torch.Tensor]:
    rows = [torch.empty_like(row) for _ in range(world)]
    dist.all_gather(rows, row)
    return rows


def _grad_scaler(enabled: bool) -> Any:
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cuda", enabled=enabled)
    return torch.cuda.amp.GradScaler(enabled=enabled)  # before torch 2.3


def train(
    settings: Settings,
    device: torch.device,
    rank: int,
    world: int,
    on_warm: Callable[[], None],
    on_step: Callable[[int, List[float], float], None],
) -> Measured:
    """Warm up, then time ``num_batches`` steps. Needs an initialised process group, also for one rank.

    ``on_warm()`` is called when the warm-up is over, ``on_step(step, step seconds so far, loss)`` at step 1 and every
    ``display_every`` steps. The batch is synthetic, fixed, and different on each rank.
    """
    gpu = device.type == "cuda"
    layout = torch.channels_last if gpu else torch.contiguous_format
    torch.manual_seed(settings.seed)
    if gpu:
        torch.backends.cudnn.benchmark = True
    network = resnet50().to(device=device, memory_format=layout)
    parallel = nn.parallel.DistributedDataParallel(
        network, device_ids=[device.index] if gpu else None, gradient_as_bucket_view=True
    )
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    scaler = _grad_scaler(gpu and settings.precision == "fp16")
    source = torch.Generator().manual_seed(settings.seed + 1 + rank)
    shape = (settings.batch_size, 3, settings.image_size, settings.image_size)
    images = torch.randn(shape, generator=source).to(device=device, memory_format=layout)
    labels = torch.randint(0, 1000, (settings.batch_size,), generator=source).to(device)

    def mixed() -> Any:
        if settings.precision == "fp32":
            return contextlib.nullcontext()
        return torch.autocast(device.type, dtype=DTYPES[settings.precision])

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        with mixed():
            loss = criterion(parallel(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    def settle() -> None:
        if gpu:
            torch.cuda.synchronize(device)

    for _ in range(settings.num_warmup_batches):
        step()
    settle()
    on_warm()

    dist.barrier()
    settle()
    clock: Any = CudaClock() if gpu else HostClock()
    started = time.perf_counter()
    clock.mark()
    loss = torch.tensor(math.nan)
    for number in range(1, settings.num_batches + 1):
        loss = step()
        clock.mark()
        if number == 1 or number % settings.display_every == 0 or number == settings.num_batches:
            on_step(number, clock.seconds(), float(loss))
    settle()
    wall = time.perf_counter() - started

    images_done = settings.batch_size * settings.num_batches
    figures = torch.tensor([wall, float(images_done)], dtype=torch.float64, device=device)
    rows = [row.tolist() for row in _gather(figures, world)]
    total = sum(row[1] for row in rows) / max(row[0] for row in rows)
    digest = weights_digest(network)
    mine = torch.tensor(list(digest), dtype=torch.uint8, device=device)
    digests = [bytes(row.tolist()) for row in _gather(mine, world)]
    return Measured(
        step_seconds=tuple(clock.seconds()),
        wall_seconds=wall,
        images_per_second=images_done / wall,
        total=total,
        loss=float(loss),
        checksum=digest.hex(),
        checksums_equal=all(other == digest for other in digests),
        peak_memory_bytes=torch.cuda.max_memory_allocated(device) if gpu else None,
    )
