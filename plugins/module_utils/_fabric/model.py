"""A fabric as the check sees it: hosts, rails, and one NIC where they cross. Pure.

A NIC is a number, host x rails + rail: schedules of a thousand hosts hold millions of them.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, Iterable, Mapping, Sequence

from .._judge.sentences import refusal
from .._results.readers.reading import by_key


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

    def has(self, pair: tuple[int, int]) -> bool:
        """Both ends exist: with an odd number of hosts one has a bye, and a host may lack a rail."""
        return max(pair) < len(self.hosts) * self.rails and self.absent.isdisjoint(pair)

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
        """Each with the NICs behind it."""
        there = self.ports.items()
        return by_key((port.switch, nic) for nic, port in there if port.switch and nic not in self.absent)


_NOTHING = Port()


def from_rows(rows: Mapping[str, Sequence[Port | None]]) -> Fabric:
    """``rows``: host to the ports of its rails, None for a rail that it lacks."""
    rails = max(map(len, rows.values()), default=0)
    if len(rows) < 2 or rails == 0:
        raise refusal("no_pair", no_plan=True, host=next(iter(rows), "(no host)"), hosts=len(rows), rails=rails)
    slots = [row[rail] if rail < len(row) else None for row in rows.values() for rail in range(rails)]
    ports = {nic: port for nic, port in enumerate(slots) if port}
    return Fabric(tuple(rows), rails, ports, frozenset(range(len(slots))).difference(ports))


def usual(values: Iterable[Any]) -> tuple[Any, float]:
    """The most frequent value, None without any, and the share that has it."""
    counts = collections.Counter(values)
    value, count = counts.most_common(1)[0] if counts else (None, 0)
    return value, count / max(1, sum(counts.values()))
