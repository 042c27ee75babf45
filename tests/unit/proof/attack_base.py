"""The evidence of one sound run, as texts and readings, and the judge as `run_report` calls it."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import pathlib
import pickle
import random
import re
import tempfile
from typing import Any, Callable, Iterator

from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.path import path_verdict
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import nccl_log, tf_cnn
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import diagnosis
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import Inputs, build

from tests.unit.proof.truth import STARTED, Run

UPTIME = 90_000.0
READ_AT = STARTED + 60
RECORD = "ROCEMESH "
GRADES = ("PROVEN", "PATH PROVEN")
Reading = dict[str, Any]


@dataclasses.dataclass
class Site:
    """``nccl`` and ``training`` are lines of the two logs; ``names``: how the hosts call themselves; ``path`` and
    ``result``: what is changed after the logs were read; ``beside``: other logs in the job's folder."""

    run: Run
    inputs: dict[str, Any]
    nccl: list[str]
    training: list[str]
    names: list[str]
    path: dict[str, Any] = dataclasses.field(default_factory=dict)
    result: dict[str, Any] = dataclasses.field(default_factory=dict)
    beside: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def job(self) -> dict[str, Any]:
        return self.inputs["evidence"]["job"]  # type: ignore[no-any-return]

    @property
    def rdma(self) -> dict[str, Any]:
        return self.inputs["evidence"]["rdma"]  # type: ignore[no-any-return]

    @property
    def switches(self) -> dict[str, Any]:
        return self.inputs["evidence"]["switches"]  # type: ignore[no-any-return]

    @property
    def said(self) -> dict[str, Any]:
        return self.inputs["evidence"]["hosts"]  # type: ignore[no-any-return]

    @property
    def hosts(self) -> list[str]:
        return self.run.hosts

    def nic(self, host: str, word: str, rail: int = 0) -> Reading:
        return self.rdma[host][word]["devices"][rail]  # type: ignore[no-any-return]

    def nics(self, *words: str) -> Iterator[Reading]:
        for host in self.hosts:
            for word in words or ("start", "before", "after"):
                yield from self.rdma[host][word]["devices"]

    def port(self, host: str, word: str, rail: int = 0) -> Reading:
        """Of the only switch: the port of this NIC."""
        number = self.hosts.index(host) * self.run.rails + rail + 1
        return self.switches["sw01"][word]["ports"][f"1/{number}"]  # type: ignore[no-any-return]

    def grow(self, host: str, rail: int, side: str, factor: float) -> None:
        """Let a NIC's counter grow by so much of what it did; ``side``: xmit or rcv."""
        before, after = (self.nic(host, word, rail)["counters"]["counters"] for word in ("before", "after"))
        name = f"port_{side}_data"
        after[name] = before[name] + round((after[name] - before[name]) * factor)

    def grow_port(self, host: str, rail: int, side: str, factor: float) -> None:
        before, after = (self.port(host, word, rail)["counters"] for word in ("before", "after"))
        name = f"{side}_roce_packets"
        after[name] = before[name] + round((after[name] - before[name]) * factor)

    def grow_all(self, factor: float, sides: tuple[str, ...] = ("xmit", "rcv"), hosts: list[str] | None = None) -> None:
        for host in hosts or self.hosts:
            for rail in range(self.run.rails):
                for side in sides:
                    self.grow(host, rail, side, factor)

    def grow_ports(self, factor: float, sides: tuple[str, ...] = ("tx", "rx"), hosts: list[str] | None = None) -> None:
        for host in hosts or self.hosts:
            for rail in range(self.run.rails):
                for side in sides:
                    self.grow_port(host, rail, side, factor)

    def records(self, change: Callable[[dict[str, Any]], Any], *ranks: int) -> None:
        """Rewrite the machine lines of these ranks, or of all."""
        for number, line in enumerate(self.training):
            head, found, text = line.partition(RECORD)
            if found:
                record = json.loads(text)
                if not ranks or record["rank"] in ranks:
                    change(record)
                    self.training[number] = head + found + json.dumps(record)

    def replace(self, pattern: str, text: str, count: int = 0, of: str = "nccl") -> bool:
        """In the lines of a log; False if nothing matches."""
        lines: list[str] = getattr(self, of)
        done = 0
        for number, line in enumerate(lines):
            if count and done == count:
                break
            new = re.sub(pattern, text, line)
            done += new != line
            lines[number] = new
        return bool(done)

    def channels(self, *ends: str) -> list[int]:
        """Numbers of NCCL's lines of channels over the network."""
        wanted = [f"[{end}]" for end in ends or ("send", "receive")]
        return [
            number
            for number, line in enumerate(self.nccl)
            if " via NET/" in line and any(end in line for end in wanted)
        ]

    def pairs(self) -> list[tuple[str, str]]:
        """Of neighbours on different hosts: the end of the sender's line, from -> to, and its host."""
        found = []
        for number in self.channels("send"):
            line = self.nccl[number]
            match = re.search(r"(\d+\[\w+\] -> \d+\[\w+\])", line)
            if match:
                found.append((match[1], line.split(":", 1)[0]))
        return sorted(set(found))

    def both_ends(self, line: int) -> list[int]:
        """The lines of sender and receiver of the channel of this line."""
        head = self._channel(self.nccl[line])
        return [number for number in self.channels() if self._channel(self.nccl[number]) == head]

    @staticmethod
    def _channel(line: str) -> str:
        return line.split("NCCL INFO ", 1)[1].split(" [send]", maxsplit=1)[0].split(" [receive]", maxsplit=1)[0]

    def rank_of(self, host: str) -> int:
        return self.hosts.index(host) * self.run.gpus

    def kernel_says(self, host: str, line: str, seconds: float) -> None:
        """A line of the kernel's log, so many seconds after the begin of the run."""
        stamp = UPTIME - (READ_AT - STARTED) + seconds
        mark = "=== ROCEMESH dmesg.txt\n"
        self.said[host]["said"] = self.said[host]["said"].replace(mark, f"{mark}[{stamp:12.6f}] {line}\n")


def _enrich(run: Run, inputs: dict[str, Any]) -> None:
    """What the modules return besides the fields of ``truth``: names of cards, neighbours of ports, kernel logs."""
    evidence = inputs["evidence"]
    for node, host in enumerate(run.hosts):
        for word, reading in evidence["rdma"][host].items():
            reading.setdefault("unreadable", [])
            for rail, device in enumerate(reading["devices"]):
                device.setdefault("node_guid", f"b8ce:f603:00{node + 1:02x}:{rail:02x}00")
                device.setdefault("sys_image_guid", f"b8ce:f603:00{node + 1:02x}:{rail:02x}00")
                device.setdefault("pci", f"0000:{0x3B + rail:02x}:00.0")
                device.setdefault("state", "ACTIVE")
                device.setdefault("firmware", "22.31.1014")
                counters = device["counters"]
                sent = counters["counters"]["port_xmit_data"] * 4
                counters.setdefault("hw_counters", {"out_of_sequence": 0, "packet_seq_err": 0})
                counters["ethtool"].setdefault("tx_prio3_bytes", sent)
                counters["ethtool"].setdefault("rx_prio3_bytes", sent)
                counters["ethtool"].setdefault("tx_prio0_bytes", 1_000_000 if word != "after" else 1_050_000)
                counters["ethtool"].setdefault("rx_prio0_bytes", 1_000_000 if word != "after" else 1_050_000)
    for word in ("before", "after"):
        for node, host in enumerate(run.hosts):
            for rail in range(run.rails):
                port = evidence["switches"]["sw01"][word]["ports"][f"1/{node * run.rails + rail + 1}"]
                port.setdefault("admin", "up")
                port.setdefault("mtu", 9216)
                port.setdefault("neighbors", [{"system": host, "port": f"ens{rail}", "description": ""}])
    evidence.setdefault(
        "hosts",
        {
            host: {
                "said": f"=== ROCEMESH uptime.txt\n{UPTIME:.2f} 1.0\n=== ROCEMESH dmesg.txt\n"
                f'[{UPTIME - 5000:12.6f}] audit: type=1400 audit(1.0:9): apparmor="STATUS"\n'
                "=== ROCEMESH kernel-config.txt\nGPUDirect: P2PDMA y, nvidia_peermem y\n",
                "at": READ_AT,
                "since": STARTED,
                "error": "",
            }
            for host in run.hosts
        },
    )


BASES = (
    Run("2 hosts x 1 GPU", nodes=2),
    Run("4 hosts x 1 GPU", version="2.27.7"),
    Run("2 hosts x 2 GPUs, 2 rails", nodes=2, gpus=2, rails=2),
    Run("4 hosts x 2 GPUs, 2 rails", gpus=2, rails=2, version="2.18.6"),
    Run("2 hosts x 8 GPUs, 1 rail", nodes=2, gpus=8),
    Run("4 hosts x 8 GPUs, 2 rails", gpus=8, rails=2, version="2.31.2"),
    Run("4 hosts x 8 GPUs, 8 rails, tree", gpus=8, rails=8, algorithm="tree"),
    Run("2 hosts x 1 GPU, no switch", nodes=2),
    Run("4 hosts x 2 GPUs, 2 rails, no switch", gpus=2, rails=2),
)


def enriched(run: Run) -> Site:
    """The evidence of any run."""
    inputs = run.inputs()
    _enrich(run, inputs)
    if "no switch" in run.name:
        del inputs["evidence"]["switches"]
    return Site(run, inputs, run.nccl().splitlines(), run.training().splitlines(), run.hosts)


@functools.lru_cache(maxsize=None)
def _truth(name: str) -> Site:
    return enriched(next(run for run in BASES if run.name == name))


def site_of(run: Run) -> Site:
    return copy.deepcopy(_truth(run.name))


def judge(site: Site) -> str:
    """State of the verdict, or ``refused``. The doctor is asked where it is still to be lost: it improves no grade."""
    try:
        given = _given(site)
        state = str(build(given)["verdict"]["state"])
        return str(_heard(site, given)["verdict"]["state"]) if state in GRADES else state
    except RefusedError:
        return "refused"


@functools.lru_cache(maxsize=256)
def _path_of(nccl: str, size: int, names: tuple[str, ...]) -> bytes:
    return pickle.dumps(path_verdict.judge(nccl_log.read(nccl, names), size, names).as_result())


def _path(nccl: str, size: int, names: tuple[str, ...]) -> Reading:
    """Many changes leave a log as it was."""
    return pickle.loads(_path_of(nccl, size, names))  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=256)
def _result_of(training: str, size: int) -> bytes:
    return pickle.dumps(tf_cnn.read(training, size).as_dict())


def _result(training: str, size: int) -> Reading:
    return pickle.loads(_result_of(training, size))  # type: ignore[no-any-return]


def summary(site: Site) -> Reading:
    """The summary, the doctor heard, as main() of `run_report` makes it. Raises RefusedError."""
    return _heard(site, _given(site))


def _given(site: Site) -> Inputs:
    inputs = site.inputs
    at = {key: inputs["evidence"]["nccl_path"][key] for key in ("job", "at")}
    path = _path("\n".join(site.nccl) + "\n", site.run.size, tuple(site.names))
    inputs["evidence"]["nccl_path"] = {**inputs["evidence"]["nccl_path"], **path, **at, **site.path}
    result = _result("\n".join(site.training) + "\n", site.run.size)
    inputs["result"] = {**result, "job": inputs["result"]["job"], **site.result}
    return Inputs(run_id="x", **inputs)


def diagnosed(site: Site, given: Inputs | None = None) -> Reading:
    """What the doctor says of it."""
    given = given or _given(site)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {"train.log": "\n".join(site.training) + "\n", **site.beside}.items():
            pathlib.Path(folder, name).write_text(text, encoding="utf-8")
        return diagnosis.diagnose(build(given), given.evidence, folder, ())


def _heard(site: Site, given: Inputs) -> Reading:
    return build(dataclasses.replace(given, doctor=diagnosed(site, given)))


def some(dice: random.Random, given: list[Any]) -> list[Any]:
    """One, a few or all."""
    return dice.sample(given, dice.choice(sorted({1, (len(given) + 1) // 2, len(given)})))
