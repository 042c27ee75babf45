"""Which ports of a node carry the training, in a reading of module rdma_info. Pure."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Collection, Iterator, Mapping, Sequence

from .evidence import rows

ROCE_V2 = "RoCE v2"
_LINK = (("speed", "GT/s"), ("width", "lanes"))
_RATE = re.compile(r"(\d+(?:\.\d+)?) Gb/sec\b")


def roce_gids(port: Mapping[str, Any], networks: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """RoCE v2 GIDs of a port that are addresses in one of ``networks`` (CIDR); of no network: all of them."""
    subnets = [ipaddress.ip_network(network, strict=False) for network in networks]
    return (gid for gid, address in _reached(port) if not subnets or any(address in subnet for subnet in subnets))


def addresses(port: Mapping[str, Any]) -> set[str]:
    """RoCE v2 addresses of a port that others reach."""
    return {str(address) for _gid, address in _reached(port)}


def _reached(port: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """RoCE v2 GIDs without those of the link alone, which each interface makes itself."""
    for gid in rows(port.get("gids")):
        if gid.get("type") == ROCE_V2:
            try:
                address = ipaddress.IPv6Address(str(gid.get("gid")))
            except ValueError:
                continue
            if not address.is_link_local and int(address):
                yield gid, address.ipv4_mapped or address


def training_ports(
    reading: Any, networks: Sequence[str], hcas: Collection[str] | None = None
) -> list[Mapping[str, Any]]:
    """Ports of a node that carry the training: which NCCL names (``hcas``), else with an address in the networks."""
    devices = reading.get("devices") if isinstance(reading, Mapping) else None
    return [
        port
        for port in rows(devices)
        if port.get("link_layer") == "Ethernet" and (name(port) in hcas if hcas else any(roce_gids(port, networks)))
    ]


def name(port: Mapping[str, Any]) -> str:
    """mlx5_0, with the number of the port where it is not the first."""
    number = port.get("port", 1)
    return str(port.get("name")) if number == 1 else f"{port.get('name')}:{number}"


def gbit_per_s(port: Mapping[str, Any]) -> float | None:
    """Its rate, as sysfs prints it ("100 Gb/sec (4X EDR)"); None: not read."""
    found = _RATE.match(str(port.get("rate") or ""))
    return float(found[1]) if found else None


def below_best(pcie: Mapping[str, Any]) -> list[str]:
    """Speed and width of a PCIe link that run below what the device can do ("8 of 16 lanes")."""
    found = [(pcie.get(f"current_link_{key}"), pcie.get(f"max_link_{key}"), unit) for key, unit in _LINK]
    return [f"{now:g} of {best:g} {unit}" for now, best, unit in found if now and best and now < best]
