# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NCCL's variables for RoCE, computed from what the nodes have, each with its reason. Pure.

Facts, per node::

    {node: {"devices": [{"name": "mlx5_0", "port": 1, "netdev": "ens192", "pci": "0000:13:00.0",
                         "link_layer": "Ethernet", "active_mtu": 4096,
                         "gids": [{"index": 3, "gid": "0000:...:ffff:c633:640b", "type": "RoCE v2",
                                   "netdev": "ens192"}]}],
            "interfaces": [{"name": "ens160", "addresses": ["192.0.2.11"]}]}}

as sysfs has them (``/sys/class/infiniband/D/ports/P``: ``gids``, ``gid_attrs/types``, ``gid_attrs/ndevs``,
``link_layer``); ``active_mtu`` in bytes. ``interfaces`` is only needed for a control network that is not the RoCE
network; without it NCCL's TCP interface is left alone, and a note says so.

Sources: NCCL's documentation of its environment; its source for when NCCL chooses the GID itself (2.21) and for the
second traffic class (2.22.3).

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import Any, Mapping, Sequence, Union

from .._layer import RefusedError

_CHOOSES_GID = (2, 21)
_ECT0 = 2  # the low two bits of a traffic class: this sender understands congestion marks
_PLAIN = re.compile(r"[A-Za-z0-9._:=,/-]+")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


@dataclasses.dataclass(frozen=True)
class Reason:
    """``node`` empty: the value is the same on all."""

    name: str
    value: str
    node: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Variables:
    """``shared``: for every rank; ``per_node``: node -> what differs there."""

    shared: Mapping[str, str]
    per_node: Mapping[str, Mapping[str, str]]
    reasons: tuple[Reason, ...]
    notes: tuple[str, ...]

    def as_result(self) -> dict[str, Any]:
        return {
            "shared": dict(self.shared),
            "per_node": {node: dict(values) for node, values in self.per_node.items()},
            "reasons": [dataclasses.asdict(reason) for reason in self.reasons],
            "notes": list(self.notes),
        }


@dataclasses.dataclass(frozen=True)
class Port:
    """A RoCE port of a node with the GID that routes in the wanted network."""

    name: str
    port: int
    netdev: str
    index: int
    address: str
    mtu: int | None


def choose(
    facts: Mapping[str, Mapping[str, Any]],
    network: str,
    *,
    dscp: int | None = None,
    ecn: bool = True,
    control_network: str = "",
    nccl_version: str = "",
    devices: Sequence[str] = (),
) -> Variables:
    """The variables for a job over all nodes of ``facts``. Raises RefusedError where the facts allow no choice.

    ``network`` (CIDR) of the RoCE addresses; ``dscp`` 0..63 of the switch's lossless class, None: no traffic class;
    ``ecn``: mark packets as able to carry congestion marks; ``control_network`` (CIDR) of NCCL's TCP connections,
    empty: ``network``; ``nccl_version``: "2.21.5", empty: not known; ``devices``: only these; empty: all that have an
    address in ``network``.
    """
    if not facts:
        raise RefusedError("no facts of any node", host="nccl_variables", remedy="read the RDMA devices of the nodes")
    roce = _cidr(network, "network")
    control = _cidr(control_network, "control_network") if control_network else roce
    chosen = {node: _ports(node, known, roce, devices) for node, known in facts.items()}
    wanted = _Collector(list(facts))
    told = control == roce or all("interfaces" in known for known in facts.values())
    for node, ports in chosen.items():
        names = ",".join(f"{port.name}:{port.port}" for port in ports)
        where = ", ".join(f"{port.netdev} {port.address}" for port in ports)
        wanted.add(
            node,
            "NCCL_IB_HCA",
            f"={names}",
            f"the RoCE port(s) with an address in {roce} ({where}); '=' because NCCL otherwise takes every name that "
            "begins like this one",
        )
        if not told:
            continue
        interface = _interface(node, facts[node], ports, control)
        wanted.add(
            node,
            "NCCL_SOCKET_IFNAME",
            f"={interface}",
            f"the interface with an address in {control}; left to itself NCCL may take a bridge that every node has "
            "with the same address",
        )
    _gid(wanted, chosen, roce, _version(nccl_version))
    if dscp is not None:
        _traffic_class(wanted, dscp, ecn)
    notes = _mtu_notes(chosen)
    if not told:
        notes.append(
            f"NCCL_SOCKET_IFNAME is not set: the facts do not say which interface of each node is in {control}"
        )
    return wanted.result(tuple(notes))


def launcher(variables: Variables, names: Mapping[str, str]) -> list[str]:
    """Words before a program's own that give each rank the variables of its node; empty if no node differs.

    ``mpirun -x`` gives all ranks the same value, so a shell on the rank's node picks by host name. ``names``: node ->
    what the node calls itself. A node that is not in the list is an error there, not a silent default.
    """
    if not variables.per_node:
        return []
    cases = []
    for node, values in variables.per_node.items():
        name = names.get(node, node)
        if not _HOST.fullmatch(name):
            raise RefusedError("not a host name", host=node, thing="hostname", value=name)
        # What somebody set for the run or for the container goes before what was computed.
        words = " ".join(f'{key}="${{{key}:-{value}}}"' for key, value in values.items())
        cases.append(f"{name}) export {words};;")
    unknown = '*) echo "NCCL variables: no values for host $(hostname)" >&2; exit 64;;'
    return ["sh", "-c", f'case "$(hostname)" in {" ".join(cases)} {unknown} esac; exec "$@"', "sh"]


# -------------------------------------------------------------------------------------------------------------- choices


class _Collector:
    """Values per node; what is alike everywhere becomes one value for all."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._nodes = nodes
        self._values: dict[str, dict[str, tuple[str, str]]] = {}

    def add(self, node: str, name: str, value: str, reason: str) -> None:
        if not _PLAIN.fullmatch(value):
            raise RefusedError("not a value that can be handed on", host=node, thing=name, value=value)
        self._values.setdefault(name, {})[node] = (value, reason)

    def add_to_all(self, name: str, value: str, reason: str) -> None:
        for node in self._nodes:
            self.add(node, name, value, reason)

    def result(self, notes: tuple[str, ...]) -> Variables:
        shared: dict[str, str] = {}
        per_node: dict[str, dict[str, str]] = {}
        reasons: list[Reason] = []
        for name, values in self._values.items():
            if len({value for value, _reason in values.values()}) == 1 and len(values) == len(self._nodes):
                value, reason = values[self._nodes[0]]
                shared[name] = value
                reasons.append(Reason(name, value, "", reason if len(self._nodes) == 1 else f"on all nodes: {reason}"))
                continue
            for node, (value, reason) in values.items():
                per_node.setdefault(node, {})[name] = value
                reasons.append(Reason(name, value, node, f"differs between the nodes: {reason}"))
        return Variables(shared, per_node, tuple(reasons), notes)


def _gid(
    wanted: _Collector, chosen: Mapping[str, Sequence[Port]], roce: _Network, version: tuple[int, int] | None
) -> None:
    if version is not None and version >= _CHOOSES_GID:
        wanted.add_to_all(
            "NCCL_IB_ADDR_RANGE",
            str(roce),
            "since 2.21 NCCL looks for the RoCE v2 GID in this range itself, on every port of every node",
        )
        return
    for node, ports in chosen.items():
        if len({port.index for port in ports}) > 1:
            seen = ", ".join(f"{port.name}:{port.port} has {port.address} at {port.index}" for port in ports)
            raise RefusedError(
                f"one process has one NCCL_IB_GID_INDEX, but the ports of this node need different ones ({seen})",
                host=node,
                thing="NCCL_IB_GID_INDEX",
                remedy="give the version of NCCL if it is 2.21 or later (it then chooses itself), or name one device",
            )
        port = ports[0]
        wanted.add(
            node,
            "NCCL_IB_GID_INDEX",
            str(port.index),
            f"GID {port.index} of {port.name}:{port.port} is RoCE v2 for {port.address}; before 2.21 NCCL takes GID 0, "
            "which is no RoCE v2 address of this network",
        )


def _traffic_class(wanted: _Collector, dscp: int, ecn: bool) -> None:
    if not 0 <= dscp <= 63:
        raise RefusedError("not a DSCP (0 to 63)", host="nccl_variables", thing="dscp", value=dscp)
    value = str(dscp << 2 | (_ECT0 if ecn else 0))
    how = f"DSCP {dscp} << 2" + (" + 2 (ECN-capable)" if ecn else "")
    reason = f"{how}: puts the traffic into the switch's lossless class; NCCL's default is 0"
    wanted.add_to_all("NCCL_IB_TC", value, reason)
    wanted.add_to_all("NCCL_IB_FIFO_TC", value, f"{how}: the same class for NCCL's control messages (2.22.3 and later)")


def _ports(node: str, known: Mapping[str, Any], roce: _Network, devices: Sequence[str]) -> list[Port]:
    """The RoCE ports of a node that have a RoCE v2 address in the network, by name. Raises RefusedError without any."""
    found: list[Port] = []
    seen: list[str] = []
    for device in known.get("devices", ()):
        name, number = str(device["name"]), int(device.get("port", 1))
        layer = str(device.get("link_layer", ""))
        if devices and name not in devices:
            continue
        if layer != "Ethernet":
            seen.append(f"{name}:{number} link layer {layer or 'unknown'}")
            continue
        routed = []
        for gid in device.get("gids", ()):
            address = _mapped(node, name, gid)
            seen.append(f"{name}:{number} GID {gid['index']} {gid.get('type', '?')} {address or gid['gid']}")
            if address is not None and gid.get("type") == "RoCE v2" and address in roce:
                routed.append((int(gid["index"]), address, str(gid.get("netdev") or device.get("netdev") or "")))
        if routed:
            index, address, netdev = min(routed)
            mtu = device.get("active_mtu")
            found.append(Port(name, number, netdev, index, str(address), None if mtu is None else int(mtu)))
    if not found:
        raise RefusedError(
            f"no RoCE v2 address in {roce}; seen: {'; '.join(seen) or 'no RDMA device'}",
            host=node,
            thing="RDMA devices",
            remedy="give the RoCE interface an address in this network (a link-local or RoCE v1 GID is not routed), "
            "and see that the port's link layer is Ethernet",
        )
    missing = [name for name in devices if name not in {port.name for port in found}]
    if missing:
        raise RefusedError(
            f"no RoCE v2 address in {roce} on it; seen: {'; '.join(seen)}",
            host=node,
            thing="device",
            value=missing[0],
        )
    return sorted(found, key=lambda port: (port.name, port.port))


def _mapped(node: str, device: str, gid: Mapping[str, Any]) -> ipaddress.IPv4Address | None:
    try:
        return ipaddress.IPv6Address(str(gid["gid"])).ipv4_mapped
    except ValueError as error:
        raise RefusedError(
            f"not a GID ({error})", host=node, thing=device, value=gid.get("gid"), remedy="report this spelling"
        ) from error


def _interface(node: str, known: Mapping[str, Any], ports: Sequence[Port], control: _Network) -> str:
    names = {port.netdev for port in ports if port.netdev and ipaddress.ip_address(port.address) in control}
    for interface in known.get("interfaces", ()):
        if any(ipaddress.ip_address(str(address)) in control for address in interface["addresses"]):
            names.add(str(interface["name"]))
    if not names:
        raise RefusedError(
            f"no interface with an address in {control}",
            host=node,
            thing="control_network",
            remedy="give the interfaces of this node with their addresses, or another control network",
        )
    return min(names)


def _mtu_notes(chosen: Mapping[str, Sequence[Port]]) -> list[str]:
    sizes: dict[int, list[str]] = {}
    for node, ports in chosen.items():
        for port in ports:
            if port.mtu is not None:
                sizes.setdefault(port.mtu, []).append(f"{node} {port.name}")
    if len(sizes) > 1:
        parts = "; ".join(f"{size}: {', '.join(names)}" for size, names in sorted(sizes.items()))
        return [f"the RoCE MTU differs, and each connection uses the smaller one ({parts})"]
    if sizes and next(iter(sizes)) < 4096:
        size, names = next(iter(sizes.items()))
        return [f"the RoCE MTU is {size} on all {len(names)} port(s); 4096 needs an interface MTU of 4200 or more"]
    return []


# --------------------------------------------------------------------------------------------------------------- values


def _cidr(text: str, thing: str) -> _Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise RefusedError(
            f"not a network ({error})", host="nccl_variables", thing=thing, value=text, remedy="give it as 192.0.2.0/24"
        ) from error


def _version(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    match = re.match(r"(\d+)\.(\d+)", text)
    if not match:
        raise RefusedError("not a version", host="nccl_variables", thing="nccl_version", value=text)
    return int(match[1]), int(match[2])
