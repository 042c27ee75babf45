"""A fabric as the check sees it: hosts, rails, and one NIC where they cross. Pure.

A NIC is a number, host x rails + rail: schedules of a thousand hosts hold millions of them.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, Iterable, Mapping, Sequence

from .._judge.sentences import refusal
from .._layer import RefusedError


@dataclasses.dataclass(frozen=True)
class Port:
    """Where a NIC is plugged in, as far as it is known. ``rate``: Gb/s; 0: unknown."""

    device: str = ""
    address: str = ""
    gid_index: int = -1
    mtu: int = 0
    rate: float = 0.0
    switch: str = ""
    switch_port: str = ""

    @property
    def behind(self) -> str:
        return " ".join(part for part in (self.switch, self.switch_port) if part)


@dataclasses.dataclass(frozen=True)
class Fabric:
    """``ports``: NIC to what is known of it; ``absent``: NICs that their hosts do not have."""

    hosts: tuple[str, ...]
    rails: int
    ports: Mapping[int, Port] = dataclasses.field(default_factory=dict)
    absent: frozenset[int] = frozenset()

    def nic(self, host: int, rail: int) -> int:
        return host * self.rails + rail

    def host_of(self, nic: int) -> int:
        return nic // self.rails

    def rail_of(self, nic: int) -> int:
        return nic % self.rails

    def nics_of(self, host: int) -> list[int]:
        first = host * self.rails
        return [nic for nic in range(first, first + self.rails) if nic not in self.absent]

    def port(self, nic: int) -> Port:
        return self.ports.get(nic, _NOTHING)

    def name(self, nic: int) -> str:
        """For a person: host, rail, device, and the port behind it."""
        port, host = self.port(nic), self.hosts[self.host_of(nic)]
        device = f" ({port.device})" if port.device else ""
        behind = f" at {port.behind}" if port.behind else ""
        return f"{host} rail {self.rail_of(nic)}{device}{behind}"

    @property
    def switches(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for nic, port in self.ports.items():
            if port.switch and nic not in self.absent:
                found.setdefault(port.switch, []).append(nic)
        return found


_NOTHING = Port()


def from_hosts(hosts: Sequence[Mapping[str, Any]]) -> Fabric:
    """``hosts``: ``name`` and ``rails``, a list of the fields of `Port`, null for a rail that the host lacks."""
    names = tuple(str(host["name"]) for host in hosts)
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise RefusedError("is listed twice", host=twice[0], thing="fabric_hosts", remedy="list each host once")
    rails = max((len(host["rails"]) for host in hosts), default=0)
    if len(names) < 2 or rails == 0:
        raise refusal("no_pair", no_plan=True, host=names[0] if names else "(no host)", hosts=len(names), rails=rails)
    ports: dict[int, Port] = {}
    absent = set()
    known = {field.name for field in dataclasses.fields(Port)}
    for number, host in enumerate(hosts):
        for rail in range(rails):
            nic = number * rails + rail
            entry = host["rails"][rail] if rail < len(host["rails"]) else None
            if not entry:
                absent.add(nic)
                continue
            ports[nic] = Port(**{key: value for key, value in entry.items() if key in known and value is not None})
    return Fabric(names, rails, ports, frozenset(absent))


def usual(values: Iterable[Any]) -> tuple[Any, float]:
    """The most frequent value, None without any, and the share that has it."""
    counts = collections.Counter(values)
    value, count = counts.most_common(1)[0] if counts else (None, 0)
    return value, count / max(1, sum(counts.values()))
