"""Join the other ranks: options, interface, device, process group. Torch is imported late, so that wrong options and a
missing address are told at once, and without torch."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import os
import socket
from typing import Any

import ranks


@dataclasses.dataclass(frozen=True)
class Joined:
    """``device``: a torch.device. ``gpu``: whether it is one."""

    rank: int
    world: int
    host: str
    backend: str
    device: Any
    gpu: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--precision", choices=("fp32", "bf16", "fp16"), default="fp32", help="autocast data type")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads per rank; 0: what torch chooses")
    parser.add_argument(
        "--backend", choices=("auto", "nccl", "gloo"), default="auto", help="auto: nccl if CUDA, else gloo"
    )
    parser.add_argument("--master_addr", help="address of the first host (default: MASTER_ADDR)")
    parser.add_argument("--master_port", type=int, default=None, help="TCP port there (default: MASTER_PORT or 29500)")
    parser.add_argument("--interface_cidr", help="network whose interface gloo and NCCL's control connections use")
    parser.add_argument("--init_timeout", type=int, default=300, help="seconds to wait for the other ranks")
    parser.add_argument("--seed", type=int, default=0)


def refuse_below(parser: argparse.ArgumentParser, options: argparse.Namespace, least: dict[str, int]) -> None:
    for name, limit in least.items():
        value = getattr(options, name)
        for each in value if isinstance(value, list) else [value]:
            if each < limit:
                parser.error(f"--{name} {each}: at least {limit}")


def join(options: argparse.Namespace) -> Joined:
    """Initialise the process group. SystemExit with the host's name for what this host cannot do."""
    here = ranks.place(os.environ)
    host = socket.gethostname()
    address = ranks.master(options.master_addr, os.environ, here.world)
    port = options.master_port or int(os.environ.get("MASTER_PORT", "29500"))
    if options.interface_cidr:
        interface = ranks.interface_in(options.interface_cidr, ranks.local_addresses())
        # Both look these up when the process group starts; what the caller set explicitly stays.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
        os.environ.setdefault("NCCL_SOCKET_IFNAME", "=" + interface)

    import torch  # noqa: PLC0415
    import torch.distributed as dist  # noqa: PLC0415

    gpu = torch.cuda.is_available()
    backend = ("nccl" if gpu else "gloo") if options.backend == "auto" else options.backend
    if backend == "nccl" and not gpu:
        raise SystemExit(f"{host}: --backend nccl, but torch {torch.__version__} sees no CUDA device")
    if options.precision == "fp16" and not gpu:
        raise SystemExit(f"{host}: --precision fp16 needs a GPU; on a CPU use fp32 or bf16")
    if gpu and here.local_rank >= torch.cuda.device_count():
        raise SystemExit(
            f"{host}: local rank {here.local_rank}, but only {torch.cuda.device_count()} GPU(s): "
            "too many slots for this host"
        )
    device = torch.device("cuda", here.local_rank) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    if options.threads:
        torch.set_num_threads(options.threads)
    # A rank alone meets nobody, and needs no port that another job may have.
    meeting = {"store": dist.HashStore()} if here.world == 1 else {"init_method": ranks.rendezvous(address, port)}
    dist.init_process_group(
        backend,
        **meeting,
        rank=here.rank,
        world_size=here.world,
        timeout=datetime.timedelta(seconds=options.init_timeout),
    )
    return Joined(here.rank, here.world, host, backend, device, gpu)


def leave() -> None:
    import torch.distributed as dist  # noqa: PLC0415

    dist.barrier()
    # Without this some torch versions abort at exit, after a complete result.
    dist.destroy_process_group()
