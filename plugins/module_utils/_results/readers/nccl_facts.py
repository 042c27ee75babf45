"""What reader `nccl_log` found in NCCL's lines, as data. Pure."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

from .reading import Problem, picked, shown


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
    """One rank of one communicator. ``comm``: NCCL's commId (of a part without one COMM/COUNT/COLOR), "" if not known.

    ``complete``: Init COMPLETE was seen; ``split``: made from another one, so it may rightly hold a part of the job.
    """

    process: Process
    rank: int
    nranks: int
    device: int
    bus_id: str
    comm: str
    complete: bool
    split: bool = False
    nvml: int | None = None

    @property
    def gpus(self) -> set[str]:
        """How channel lines may write its GPU: bus id from 2.5 on, NVML's number since 2.18, CUDA's in some of both."""
        return {self.bus_id, str(self.device), str(self.device if self.nvml is None else self.nvml)}


@dataclasses.dataclass
class Channel:
    """Connections of one kind between two ranks, as one side reports them.

    ``direction``: send, receive, or "" inside a host; ``kind``: net, p2p, shm, fabric (multi-node NVLink), unknown;
    ``device``: NCCL's index of the NIC; ``gdr``: the line ends in /GDRDMA; ``comm``: commId of the communicator that
    this thread was setting up, "" if not known; ``gpus``: of source and target, as NCCL writes them, "" where it does
    not; ``count`` lines, ``line`` is the first; ``numbers``: NCCL's channels,
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
    gpus: tuple[str, str]
    line: str
    count: int = 0
    numbers: set[str] = dataclasses.field(default_factory=set)

    @property
    def own_end(self) -> int:
        """The rank that prints the line."""
        return self.target if self.direction == "receive" else self.source

    @property
    def own_gpu(self) -> str:
        return self.gpus[self.direction == "receive"]


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

    ``distance``, ``limit``: NCCL's own numbers for the path between GPU and NIC, which depend on the version. Lines
    that differ in these alone are the same.
    """

    process: Process
    enabled: bool
    gpu: str
    hca: str
    distance: int | None = dataclasses.field(compare=False)
    limit: int | None = dataclasses.field(compare=False)
    line: str = dataclasses.field(compare=False)


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


def _lists() -> Any:
    return collections.defaultdict(dict)


@dataclasses.dataclass
class NcclLog:
    """Everything that was found; a dictionary with values None is a list of different things in order of appearance.

    ``hosts``: all that printed a line of NCCL; ``tagged``: rank in mpirun's tag -> host; ``networks``: process ->
    names; ``relaxed``: processes that named their NICs -> whether with [RO]; ``sockets``: host -> interfaces with their
    addresses; ``environment``: variable -> values; ``edges``: process -> neighbours; ``connected``: process ->
    (commId, kind of edges) that it says it connected; ``summaries``: process -> the last number behind GDR in
    "Connected all rings", None where the version has none; ``timeouts``: collectives that PyTorch gave up.
    """

    lines: int = 0
    tagged: dict[int, str] = dataclasses.field(default_factory=dict)
    versions: dict[str, None] = dataclasses.field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    ranks: tuple[Rank, ...] = ()
    channels: tuple[Channel, ...] = ()
    networks: dict[Process, dict[str, None]] = dataclasses.field(default_factory=_lists)
    hcas: dict[Hca, None] = dataclasses.field(default_factory=dict)
    relaxed: dict[Process, bool] = dataclasses.field(default_factory=dict)
    sockets: dict[str, dict[str, None]] = dataclasses.field(default_factory=_lists)
    no_ib_device: dict[Process, None] = dataclasses.field(default_factory=dict)
    gdr: dict[GdrLine, None] = dataclasses.field(default_factory=dict)
    environment: dict[str, dict[str, None]] = dataclasses.field(default_factory=_lists)
    edges: dict[Process, dict[Edge, None]] = dataclasses.field(default_factory=_lists)
    connected: dict[Process, dict[tuple[str, str], None]] = dataclasses.field(default_factory=_lists)
    summaries: dict[Process, str | None] = dataclasses.field(default_factory=dict)
    collnet: int = 0
    warnings: dict[str, None] = dataclasses.field(default_factory=dict)
    timeouts: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    problems: tuple[Problem, ...] = ()

    @property
    def good(self) -> bool:
        """There are lines of NCCL, and none of them is a complaint. It says nothing about the path."""
        return self.lines > 0 and not self.problems

    @property
    def relaxed_ordering(self) -> bool | None:
        return all(self.relaxed.values()) if self.relaxed else None

    def as_dict(self) -> dict[str, Any]:
        return shown(
            self,
            *("lines", "hosts", "relaxed_ordering", "timeouts", "problems"),
            ok=self.good,
            found=self.lines > 0,
            versions=[*self.versions],
            ranks=[{**picked(rank.process, "host", "pid"), **picked(rank, *_RANK)} for rank in self.ranks],
            networks={process.name: [*names] for process, names in self.networks.items()},
            hcas=[*self.hcas],
            sockets={host: [*names] for host, names in self.sockets.items()},
            gdr=[{"process": line.process.name, **picked(line, *_GDR)} for line in self.gdr],
            channels=[{"host": channel.process.host, **picked(channel, *_CHANNEL)} for channel in self.channels],
            environment={name: [*values] for name, values in self.environment.items()},
            warnings=[*self.warnings],
        )
