"""True evidence of sound runs, in the shapes in which it is read: NCCL's log, the training's log, NICs, switches, job.

The lines of NCCL are composed from the formats in its source (NVIDIA/nccl, tags), the suffix /flush= from a log that a
user of 2.31.2 published (NVIDIA/nccl#2389). Nothing here was recorded on hardware.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures.limits import bus_gbyte_per_s
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.path import path_verdict
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import nccl_log, tf_cnn
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import LAYERS, Inputs, build

STARTED = 1_790_000_000.0
BATCHES, BATCH, SPEED = 100, 256, 2000.0
WARMUP = 10
GRADIENTS = 25_557_032 * 4 * BATCHES
# The all-reduce that every rank measures alone afterwards, and what a sound ring gets of its links
# (published.ALL_REDUCE).
MEASURED_BYTES, MEASURED_TIMES = 512 << 20, 7
SOUND_SHARE = 0.92
COPY_GB_S = 24.6  # of a link of generation 4 with 16 lanes
JOB = "20260131T120000Z"


@dataclasses.dataclass(frozen=True)
class Run:
    """``algorithm``: ring, tree or nvls; ``groups``: tensor parallel in a node, data parallel over the nodes, and no
    communicator of all ranks; ``rails``: NICs per node, each in a network of its own, ``link`` in Gb/s; ``share``:
    what an all-reduce alone gets of these links; ``copies``: host -> GB/s of its GPUs' copies, if not the usual."""

    name: str
    nodes: int = 4
    gpus: int = 1
    version: str = "2.21.5"
    rails: int = 1
    algorithm: str = "ring"
    groups: bool = False
    link: int = 200
    share: float = SOUND_SHARE
    copies: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.nodes * self.gpus

    @property
    def hosts(self) -> list[str]:
        return [f"gpu{node + 1:02}" for node in range(self.nodes)]

    @property
    def release(self) -> tuple[int, ...]:
        return tuple(map(int, self.version.split(".")))

    # ------------------------------------------------------------------------------------------------------ NCCL's log

    def edges(self) -> list[tuple[int, int]]:
        """(child, parent) of the tree over the nodes."""
        return [(node, (node - 1) // 2) for node in range(1, self.nodes)]

    def ring(self, channel: int) -> list[int]:
        """All ranks in the order of a channel: on each node from the GPU of its rail around to the one before."""
        return [
            node * self.gpus + (channel + step) % self.gpus for node in range(self.nodes) for step in range(self.gpus)
        ]

    def nccl(self) -> str:
        lines: dict[int, list[str]] = {rank: [] for rank in range(self.size)}
        start = {rank: self._begin(rank) for rank in range(self.size)}
        end: dict[int, list[str]] = {rank: [] for rank in range(self.size)}
        if self.groups:
            for node in range(self.nodes):
                ranks = [node * self.gpus + gpu for gpu in range(self.gpus)]
                self._group(ranks, f"0x{node + 1:x}7", lines, inside=True)
            for gpu in range(self.gpus):
                self._group([node * self.gpus + gpu for node in range(self.nodes)], f"0x{gpu + 1:x}d", lines)
        else:
            for rank in range(self.size):
                start[rank].append(self._state(rank, rank, self.size, "0xabc1", "Init START"))
                end[rank].append(self._state(rank, rank, self.size, "0xabc1", "Init COMPLETE"))
            for channel in range(max(2, self.rails)):
                self._channel(channel, lines)
            said = {"ring": "all rings", "tree": "all trees", "nvls": "NVLS tree"}[self.algorithm]
            for rank in range(self.size):
                lines[rank].append(f"Connected {said}")
        text = [f"NCCL version {self.version}+cuda12.4"]
        for rank in range(self.size):
            prefix = f"{self.hosts[rank // self.gpus]}:{1000 + rank}:{2000 + rank} [{rank % self.gpus}] NCCL INFO "
            text += [prefix + line for line in (*start[rank], *lines[rank], *end[rank])]
        return "\n".join(text) + "\n"

    def _begin(self, rank: int) -> list[str]:
        rail = ":0:0" if self.release >= (2, 30) else ""
        nics = " ".join(f"[{nic}]mlx5_{nic}:1{rail}/RoCE" for nic in range(self.rails))
        return [f"NET/IB : Using {nics} [RO]; OOB ens192:192.0.2.{rank // self.gpus + 1}<0>", "Using network IB"]

    def _state(self, rank: int, number: int, size: int, comm: str, state: str) -> str:
        gpu = rank % self.gpus
        return (
            f"ncclCommInitRankConfig comm 0x55aa{rank:04x} rank {number} nranks {size} cudaDev {gpu} nvmlDev {gpu} "
            f"busId {gpu + 1:x}1000 commId {comm} - {state}"
        )

    def _end(self, rank: int) -> str:
        return f"{rank}[{rank % self.gpus}]"

    def _net(self, lines: dict[int, list[str]], channel: int, source: int, target: int, names: dict[int, int]) -> None:
        nic = channel % self.rails
        near = source // self.gpus * self.gpus + nic  # the GPU beside this NIC sends for the others (PXN)
        proxy = f"({names.get(near, near)})" if self.rails > 1 and near != source else ""
        flush = "/flush=None" if self.release >= (2, 31) else ""
        ends = (
            f"Channel {channel:02}/0 : {names[source]}[{source % self.gpus}] -> {names[target]}[{target % self.gpus}]"
        )
        lines[source].append(f"{ends} [send] via NET/IB/{nic}{proxy}/GDRDMA")
        lines[target].append(f"{ends} [receive] via NET/IB/{nic}/GDRDMA{flush}")

    def _channel(self, channel: int, lines: dict[int, list[str]]) -> None:
        names = {rank: rank for rank in range(self.size)}
        ring = self.ring(channel)
        lines[0].append(f"Channel {channel:02}/{max(2, self.rails):02} : {' '.join(map(str, ring))}")
        for at, rank in enumerate(ring):
            before, after = ring[at - 1], ring[(at + 1) % self.size]
            lines[rank].append(f"Ring {channel:02} : {before} -> {rank} -> {after}")
            if self.algorithm == "ring" and rank // self.gpus != after // self.gpus:
                self._net(lines, channel, rank, after, names)
            elif self.algorithm == "ring":
                lines[rank].append(
                    f"Channel {channel:02}/0 : {self._end(rank)} -> {self._end(after)} via P2P/CUMEM/read"
                )
        if self.algorithm == "ring":
            return
        head = channel % self.gpus
        for rank in range(self.size):
            node, first = rank // self.gpus, rank % self.gpus == head
            up = [parent * self.gpus + head for child, parent in self.edges() if child == node and first]
            down = [child * self.gpus + head for child, parent in self.edges() if parent == node and first]
            down = [*down, -1, -1, -1][:3]
            lines[rank].append(f"Trees [{channel}] {'/'.join(map(str, down))}->{rank}->{[*up, -1][0]}")
        for child, parent in self.edges():
            low, high = child * self.gpus + head, parent * self.gpus + head
            self._net(lines, channel, low, high, names)
            self._net(lines, channel, high, low, names)

    def _group(self, ranks: list[int], comm: str, lines: dict[int, list[str]], inside: bool = False) -> None:
        names = {rank: number for number, rank in enumerate(ranks)}
        for rank in ranks:
            lines[rank].append(self._state(rank, names[rank], len(ranks), comm, "Init START"))
        for channel in range(2):
            for at, rank in enumerate(ranks):
                before, after = ranks[at - 1], ranks[(at + 1) % len(ranks)]
                lines[rank].append(f"Ring {channel:02} : {names[before]} -> {names[rank]} -> {names[after]}")
            for at, rank in enumerate(ranks):
                after = ranks[(at + 1) % len(ranks)]
                if inside:
                    ends = f"{names[rank]}[{rank % self.gpus}] -> {names[after]}[{after % self.gpus}]"
                    lines[rank].append(f"Channel {channel:02}/0 : {ends} via P2P/CUMEM/read")
                else:
                    self._rail(lines, channel, rank, after, names)
        for rank in ranks:
            lines[rank].append("Connected all rings")
            lines[rank].append(self._state(rank, names[rank], len(ranks), comm, "Init COMPLETE"))

    def _rail(self, lines: dict[int, list[str]], channel: int, source: int, target: int, names: dict[int, int]) -> None:
        nic = source % self.rails
        ends = (
            f"Channel {channel:02}/0 : {names[source]}[{source % self.gpus}] -> {names[target]}[{target % self.gpus}]"
        )
        lines[source].append(f"{ends} [send] via NET/IB/{nic}/GDRDMA")
        lines[target].append(f"{ends} [receive] via NET/IB/{nic}/GDRDMA")

    # -------------------------------------------------------------------------------------------------- training's log

    def training(self) -> str:
        head = ["Model:       resnet50", f"Batch size:  {BATCH * self.size} global", f"             {BATCH} per device"]
        head += [f"Num batches: {BATCHES}", "Precision:   bf16", "Variables:   distributed_data_parallel (nccl)"]
        text = [f"[1,0]<stdout>:{line}" for line in head]
        for step in (1, 50, BATCHES):
            text += [
                f"[1,{rank}]<stdout>:{step}\timages/sec: {SPEED:.1f} +/- 1.0 (jitter = 2.0)\t7.100"
                for rank in range(self.size)
            ]
        wall = BATCHES * BATCH / SPEED
        for rank in range(self.size):
            record = {
                "rank": rank,
                "world": self.size,
                "host": self.hosts[rank // self.gpus],
                "images_per_second": SPEED,
                "total_images_per_second": SPEED * self.size,
                "wall_seconds": wall,
                "warmup_batches": WARMUP,
                "batches": BATCHES,
                "batch_size": BATCH,
                "backend": "nccl",
                "device": "NVIDIA A100-SXM4-80GB",
                "exchange": {"bytes": MEASURED_BYTES, "times": MEASURED_TIMES, "seconds": self.exchange_seconds()},
                "copy_gb_s": self.copies.get(self.hosts[rank // self.gpus], COPY_GB_S),
                "checksum": "5" * 64,
            }
            text.append(f"[1,{rank}]<stdout>:total images/sec: {SPEED * self.size:.2f}")
            text.append(f"[1,{rank}]<stdout>:ROCEMESH {json.dumps(record)}")
        return "\n".join(text) + "\n"

    # ----------------------------------------------------------------------------------------------- NICs and switches

    @property
    def link_gb_s(self) -> float:
        """Of one NIC: 82 bytes of headers and gap around each packet."""
        return self.link / 8 * 4096 / (4096 + 82)

    def exchange_seconds(self) -> float:
        return bus_gbyte_per_s(MEASURED_BYTES, self.size, 1.0) / (self.share * self.link_gb_s * self.rails)

    def sent(self, node: int) -> float:
        """Bytes that a node sends for the gradients and for what is measured alone: in a ring all nodes
        alike, in a tree by its neighbours."""
        due = GRADIENTS * (BATCHES + WARMUP) / BATCHES + MEASURED_BYTES * MEASURED_TIMES
        if self.groups:
            return 2 * (self.nodes - 1) / self.nodes * due
        if self.algorithm == "ring":
            return 2 * (self.size - 1) / self.size * due
        return float(sum(node in edge for edge in self.edges()) * due)

    def rdma(self) -> dict[str, Any]:
        return {
            host: {
                "start": self._nics(node, 0, STARTED - 300),
                "before": self._nics(node, 0, STARTED - 20),
                "after": self._nics(node, self.sent(node) * 1.03, STARTED + 60),
            }
            for node, host in enumerate(self.hosts)
        }

    def _nics(self, node: int, moved: float, at: float) -> dict[str, Any]:
        words = 10**14 + round(moved / 4 / self.rails)
        return {
            "at": at,
            "simulated": False,
            "error": "",
            "hostname": f"gpu{node + 1:02}",
            "boot_id": f"0b0c2d5e-0000-4000-8000-{node + 1:012x}",
            "devices": [
                {
                    "name": f"mlx5_{nic}",
                    "node_guid": f"b83f:d203:00{node + 1:02x}:{nic:04x}",
                    "port": 1,
                    "link_layer": "Ethernet",
                    "rate": f"{self.link} Gb/sec (4X HDR)",
                    "active_mtu": 4096,
                    "netdev": f"ens{nic}",
                    "netdev_mtu": 9000,
                    "is_vf": False,
                    "pcie": {"current_link_speed": 16.0, "current_link_width": 16, "max_payload": 256},
                    "gids": [
                        {
                            "index": 3,
                            "gid": f"0000:0000:0000:0000:0000:ffff:0a{nic:02x}:00{node + 1:02x}",
                            "type": "RoCE v2",
                            "netdev": f"ens{nic}",
                        }
                    ],
                    "qos": {"pfc_priorities": [3]},
                    "counters": {
                        "counters": {"port_xmit_data": words, "port_rcv_data": words},
                        "ethtool": {"rx_prio3_discards": 7},
                    },
                }
                for nic in range(self.rails)
            ],
        }

    def switches(self) -> dict[str, Any]:
        def ports(moved: bool) -> dict[str, Any]:
            packets = {
                host: 500 + (round(self.sent(node) * 1.03 / 4096 / self.rails) + 10 if moved else 0)
                for node, host in enumerate(self.hosts)
            }
            return {
                f"1/{node * self.rails + nic + 1}": {
                    "oper": "up",
                    "counters": {
                        "tx_roce_packets": packets[host],
                        "rx_roce_packets": packets[host],
                        "rx_discards": 2,
                        "tx_discards": 2,
                    },
                }
                for node, host in enumerate(self.hosts)
                for nic in range(self.rails)
            }

        return {
            "sw01": {
                "before": {"at": STARTED - 20, "error": "", "ports": ports(False)},
                "after": {"at": STARTED + 60, "error": "", "ports": ports(True)},
            }
        }

    # ------------------------------------------------------------------------------------------------------ everything

    def path(self, text: str | None = None) -> dict[str, Any]:
        log = nccl_log.read(self.nccl() if text is None else text, self.hosts)
        found = path_verdict.judge(log, self.size, self.hosts).as_result()
        return {**found, "job": JOB, "at": STARTED + 45}

    def result(self, text: str | None = None) -> dict[str, Any]:
        return {**tf_cnn.read(self.training() if text is None else text, self.size).as_dict(), "job": JOB}

    def inputs(self) -> dict[str, Any]:
        """What run_report is given."""
        found = {host: {"as": "wanted"} for host in self.hosts}
        layer = {"changed": False, "verified": True, "found": found, "changes": []}
        return {
            "evidence": {
                "job": {
                    "id": JOB,
                    "hosts": {host: host for host in self.hosts},
                    "ranks": self.size,
                    "network": "IB",
                    "rdma_networks": [f"10.{nic}.0.0/24" for nic in range(self.rails)],
                    "cluster_network": "192.0.2.0/24",
                    "started": STARTED,
                    "ended": STARTED + 40,
                },
                "nccl_path": self.path(),
                "rdma": self.rdma(),
                "switches": self.switches(),
            },
            "result": self.result(),
            "layers": {name: json.loads(json.dumps(layer)) for name in LAYERS},
            "expected_ranks": self.size,
        }


RUNS = (
    Run("4x1 ring"),
    Run("2x1 ring", nodes=2, version="2.18.6"),
    Run("4x8 tree", gpus=8, rails=8, algorithm="tree"),
    Run("2x8 8 rails", nodes=2, gpus=8, rails=8),
    Run("4x8 8 rails", gpus=8, rails=8, version="2.27.7"),
    Run("4x8 NVLS", gpus=8, rails=8, version="2.27.7", algorithm="nvls"),
    Run("TP8 x DP4", gpus=8, rails=8, groups=True),
    Run("TP2 x DP4 one NIC", gpus=2, groups=True),
    Run("4x1 2.18", version="2.18.6"),
    Run("4x1 2.27", version="2.27.7"),
    Run("4x1 2.31", version="2.31.2"),
    Run("4x8 2.31 tree", gpus=8, rails=8, version="2.31.2", algorithm="tree"),
)


def verdict(inputs: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = build(Inputs(run_id="x", **inputs))["verdict"]
    return found


def state(inputs: dict[str, Any]) -> str:
    """Also for evidence that no report is written of."""
    try:
        return str(verdict(inputs)["state"])
    except RefusedError as error:
        return f"refused: {error}"
