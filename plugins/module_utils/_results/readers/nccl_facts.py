"""What reader `nccl_log` found in NCCL's lines, as data. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

from .reading import Problem, picked, plain_problems


@dataclasses.dataclass(frozen=True)
class Process:
    """Who printed a line. ``host`` None: the line has no prefix; ``tag``: rank in mpirun's tag."""

    host: str | None
    pid: int | None
    tag: int | None

    @property
    def name(self) -> str:
        if self.host is not None:
            return f"{self.host}:{self.pid}"
        return "a process without prefix" if self.tag is None else f"mpirun's rank {self.tag}"


@dataclasses.dataclass(frozen=True)
class Rank:
    """One rank of one communicator. ``comm``: NCCL's commId, "" if not known; ``complete``: Init COMPLETE was seen.

    ``split``: made from another communicator, so it may hold a part of the job without anything being wrong.
    """

    process: Process
    rank: int
    nranks: int
    device: int
    bus_id: str
    comm: str
    complete: bool
    split: bool = False


@dataclasses.dataclass(frozen=True)
class Channel:
    """Connections of one kind between two ranks, as one side reports them.

    ``direction``: send, receive, or "" inside a host; ``kind``: net, p2p, shm, fabric (multi-node NVLink), unknown;
    ``device``: NCCL's index of the NIC; ``gdr``: the line ends in /GDRDMA; ``comm``: commId of the communicator that
    this thread was setting up, "" if not known; ``count`` lines, ``line`` is the first; ``numbers``: NCCL's channels,
    each with the index of its connection ("00/0").
    """

    process: Process
    comm: str
    source: int
    target: int
    direction: str
    kind: str
    network: str
    device: int | None
    gdr: bool
    count: int
    line: str
    numbers: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Edge:
    """Neighbours in a ring or tree as NCCL planned them: data of channel ``number`` goes from ``source`` to ``target``,
    both as the communicator ``comm`` numbers its ranks."""

    kind: str
    number: str
    comm: str
    source: int
    target: int


@dataclasses.dataclass(frozen=True)
class GdrLine:
    """What NCCL says about GPUDirect RDMA for a NIC, or for a GPU and a NIC (``gpu`` not empty).

    ``distance``, ``limit``: NCCL's own numbers for the path between GPU and NIC, which depend on the version.
    """

    process: Process
    enabled: bool
    gpu: str
    hca: str
    distance: int | None
    limit: int | None
    read: bool | None
    line: str


@dataclasses.dataclass(frozen=True)
class Hca:
    host: str
    index: int
    name: str
    port: int
    layer: str


# What `NcclLog.as_dict` tells of each.
_RANK = ("rank", "nranks", "device", "bus_id", "comm", "complete")
_GDR = ("enabled", "gpu", "hca", "distance", "limit", "line")
_CHANNEL = ("source", "target", "direction", "kind", "network", "device", "gdr", "count", "line")


@dataclasses.dataclass(frozen=True)
class NcclLog:
    """Everything that was found. ``hosts``: all that printed a line of NCCL; ``networks``: process -> names, in order
    of appearance; ``edges``: process -> neighbours; ``connected``: process -> (commId, kind of edges) that it says it
    connected; ``summaries``: process -> last (PXN, GDR) of "Connected all rings", None where the version has none;
    ``notes``: new to the reader, no fault.
    """

    lines: int
    versions: tuple[str, ...]
    hosts: tuple[str, ...]
    ranks: tuple[Rank, ...]
    channels: tuple[Channel, ...]
    networks: Mapping[Process, tuple[str, ...]]
    hcas: tuple[Hca, ...]
    relaxed_ordering: bool | None
    without_relaxed_ordering: tuple[Process, ...]
    sockets: Mapping[str, tuple[str, ...]]
    no_ib_device: tuple[Process, ...]
    gdr: tuple[GdrLine, ...]
    dma_buf: tuple[str, ...]
    environment: Mapping[str, tuple[str, ...]]
    edges: Mapping[Process, tuple[Edge, ...]]
    connected: Mapping[Process, tuple[tuple[str, str], ...]]
    notes: tuple[str, ...]
    summaries: Mapping[Process, tuple[int, int] | None]
    collnet: int
    warnings: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def good(self) -> bool:
        """There are lines of NCCL, and none of them is a complaint. It says nothing about the path."""
        return self.lines > 0 and not self.problems

    def as_dict(self) -> dict[str, Any]:
        """Plain types, for a filter."""
        return {
            "ok": self.good,
            "found": self.lines > 0,
            "lines": self.lines,
            "versions": list(self.versions),
            "hosts": list(self.hosts),
            "ranks": [{**picked(rank.process, "host", "pid"), **picked(rank, *_RANK)} for rank in self.ranks],
            "networks": {process.name: list(names) for process, names in self.networks.items()},
            "hcas": [dataclasses.asdict(hca) for hca in self.hcas],
            "relaxed_ordering": self.relaxed_ordering,
            "sockets": {host: list(names) for host, names in self.sockets.items()},
            "gdr": [{"process": line.process.name, **picked(line, *_GDR)} for line in self.gdr],
            "channels": [{"host": channel.process.host, **picked(channel, *_CHANNEL)} for channel in self.channels],
            "environment": {name: list(values) for name, values in self.environment.items()},
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "problems": plain_problems(self.problems),
        }
