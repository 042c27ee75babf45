"""NCCL's variables for RoCE, computed from what the nodes have, each with its reason. Pure.

Facts are ``devices`` and ``interfaces`` of module rdma_info, per node. ``interfaces`` is only needed for a control
network that is not the RoCE network; without it NCCL's TCP interface is left alone, and a note says so.

Several networks are several rails, see `rails`.

Sources: NCCL's documentation of its environment; its source for when and how NCCL chooses the GID itself (2.21,
net_ib: the first RoCE v2 IPv4 GID in the one range that it takes), for the second traffic class (2.22.3), and for
NCCL_CROSS_NIC (search.cc, 2.4 and later).
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import Any, Mapping, Sequence

from . import rails as _rails
from .rails import Network, Port, Rails, refused

CHOOSES_GID = (2, 21)  # the first NCCL that finds the RoCE v2 GID by itself
_ECT0 = 2  # the low two bits of a traffic class: this sender understands congestion marks
_PLAIN = re.compile(r"[A-Za-z0-9._:=,/-]+")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


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
    rails: Rails | None = None

    def as_result(self) -> dict[str, Any]:
        return {
            "shared": dict(self.shared),
            "per_node": {node: dict(values) for node, values in self.per_node.items()},
            "reasons": [dataclasses.asdict(reason) for reason in self.reasons],
            "notes": list(self.notes),
            "rails": self.rails.table() if self.rails else [],
            "left_out": [dataclasses.asdict(port) for port in self.rails.left_out] if self.rails else [],
        }


def choose(
    facts: Mapping[str, Mapping[str, Any]],
    network: str | Sequence[str],
    *,
    dscp: int | None = None,
    ecn: bool = True,
    control_network: str = "",
    nccl_version: str = "",
    devices: Sequence[str] = (),
) -> Variables:
    """The variables for a job over all nodes of ``facts``. Raises RefusedError where the facts allow no choice.

    ``network`` (CIDR) of the RoCE addresses, one per rail; ``dscp`` 0..63 of the switch's lossless class, None: no
    traffic class; ``ecn``: mark packets as able to carry congestion marks; ``control_network`` (CIDR) of NCCL's TCP
    connections, empty: the first rail; ``nccl_version``: "2.21.5", empty: not known; ``devices``: only these; empty:
    all that have an address in ``network``.
    """
    if not facts:
        raise refused("nccl_variables", "no facts of any node", "read the RDMA devices of the nodes")
    roce = _rails.networks(network)
    control = _rails.cidr(control_network, "control_network") if control_network else roce[0]
    rails = _rails.find(facts, roce, devices)
    wanted = _Collector(list(facts))
    interfaces_known = control in roce or all("interfaces" in known for known in facts.values())
    for node, ports in rails.ports.items():
        names = ",".join(port.label for port in ports)
        where = ", ".join(f"{port.netdev} {port.address}" for port in ports)
        inside = ", ".join(rails.used)
        wanted.add(
            node,
            "NCCL_IB_HCA",
            f"={names}",
            f"the RoCE port(s) with an address in {inside} ({where}); '=' because NCCL otherwise takes every name that "
            "begins like this one",
        )
        if not interfaces_known:
            continue
        interface = _interface(node, facts[node], ports, control)
        wanted.add(
            node,
            "NCCL_SOCKET_IFNAME",
            f"={interface}",
            f"the interface with an address in {control}; left to itself NCCL may take a bridge that every node has "
            "with the same address",
        )
    if interfaces_known and _has_both_families(facts, control):
        wanted.add_to_all(
            "NCCL_SOCKET_FAMILY",
            "AF_INET6" if control.version == 6 else "AF_INET",
            f"an interface with an address in {control} has one of the other family as well, which NCCL may take on "
            "one node and not on another",
        )
    rails = _gid(wanted, rails, _version(nccl_version))
    if len(rails.used) > 1:
        wanted.add_to_all(
            "NCCL_CROSS_NIC",
            "0",
            f"{len(rails.used)} rails are networks of their own, and nothing here says that there is a route between "
            "them: each ring and tree stays on its rail (the default, 2, may leave it)",
        )
    if dscp is not None:
        _traffic_class(wanted, dscp, ecn)
    notes = _rails.notes(rails)
    if not interfaces_known:
        notes.append(
            f"NCCL_SOCKET_IFNAME is not set: the facts do not say which interface of each node is in {control}"
        )
    return wanted.result(tuple(notes), rails)


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
            raise refused(node, "not a host name", thing="hostname", value=name)
        # A value that is set for the run or for the container goes before the computed one.
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
            raise refused(node, "not a value that can be handed on", thing=name, value=value)
        self._values.setdefault(name, {})[node] = (value, reason)

    def add_to_all(self, name: str, value: str, reason: str) -> None:
        for node in self._nodes:
            self.add(node, name, value, reason)

    def result(self, notes: tuple[str, ...], rails: Rails) -> Variables:
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
        return Variables(shared, per_node, tuple(reasons), notes, rails)


def _gid(wanted: _Collector, rails: Rails, version: tuple[int, int] | None) -> Rails:
    """Sets the GID, and returns the rails with the GIDs that will be used."""
    if version is not None and version >= CHOOSES_GID:
        return _range(wanted, rails)
    indexes: dict[tuple[str, str], int] = {}
    anywhere = _common([port for ports in rails.ports.values() for port in ports])
    for node, ports in rails.ports.items():
        common = anywhere or _common(ports)
        if not common:
            seen = ", ".join(f"{port.label} has {port.address} at {port.index}" for port in ports)
            what = f"one process has one NCCL_IB_GID_INDEX, but the ports of this node need different ones ({seen})"
            remedy = "give the version of NCCL if it is 2.21 or later (it then chooses itself), or name one device"
            raise refused(node, what, remedy, "NCCL_IB_GID_INDEX")
        index = min(common)
        indexes.update({(node, port.label): index for port in ports})
        names = ", ".join(f"{port.label} for {port.fitting[index].address}" for port in ports)
        wanted.add(
            node,
            "NCCL_IB_GID_INDEX",
            str(index),
            f"GID {index} is RoCE v2 of {names}; before 2.21 NCCL takes GID 0, which is no RoCE v2 address of this "
            "network",
        )
    return rails.using(indexes)


def _common(ports: Sequence[Port]) -> set[int]:
    return set.intersection(*(set(port.fitting) for port in ports))


def _range(wanted: _Collector, rails: Rails) -> Rails:
    """NCCL looks for the GID itself, in one range for all rails: the smallest that holds them."""
    networks = [network for network in rails.networks if str(network) in rails.used]
    around = networks[0]
    while not all(network.overlaps(around) and network.prefixlen >= around.prefixlen for network in networks):
        around = around.supernet()
    indexes: dict[tuple[str, str], int] = {}
    for port in rails.everywhere():
        taken = next(gid for gid in port.gids if ipaddress.ip_address(gid.address) in around)
        if not taken.network:
            what = (
                f"NCCL takes one range of addresses for all rails, the smallest is {around}, and there it finds "
                f"{taken.address} (GID {taken.index}) of {port.label} before {port.address} in {port.network}"
            )
            remedy = "take that address off the RDMA interface, or number the rails inside one network of their own"
            raise refused(port.node, what, remedy, "NCCL_IB_ADDR_RANGE", str(around))
        indexes[port.node, port.label] = taken.index
    if around.prefixlen:
        wanted.add_to_all(
            "NCCL_IB_ADDR_RANGE",
            str(around),
            "since 2.21 NCCL looks for the RoCE v2 GID in this range itself, on every port of every node"
            + (
                f"; it takes one range, and this is the smallest that holds {', '.join(map(str, networks))}: no port "
                "has another RoCE v2 address in it that NCCL would take"
                if len(networks) > 1
                else ""
            ),
        )
    return rails.using(indexes)


def _traffic_class(wanted: _Collector, dscp: int, ecn: bool) -> None:
    if not 0 <= dscp <= 63:
        raise refused("nccl_variables", "not a DSCP (0 to 63)", thing="dscp", value=dscp)
    value = str(dscp << 2 | (_ECT0 if ecn else 0))
    how = f"DSCP {dscp} << 2" + (" + 2 (ECN-capable)" if ecn else "")
    reason = f"{how}: puts the traffic into the switch's lossless class; NCCL's default is 0"
    wanted.add_to_all("NCCL_IB_TC", value, reason)
    wanted.add_to_all("NCCL_IB_FIFO_TC", value, f"{how}: the same class for NCCL's control messages (2.22.3 and later)")


def _interface(node: str, known: Mapping[str, Any], ports: Sequence[Port], control: Network) -> str:
    names = {port.netdev for port in ports if port.netdev and ipaddress.ip_address(port.address) in control}
    for interface in known.get("interfaces", ()):
        if any(ipaddress.ip_interface(str(address)).ip in control for address in interface["addresses"]):
            names.add(str(interface["name"]))
    if not names:
        remedy = "give the interfaces of this node with their addresses, or another control network"
        raise refused(node, f"no interface with an address in {control}", remedy, "control_network")
    return min(names)


def _has_both_families(facts: Mapping[str, Mapping[str, Any]], control: Network) -> bool:
    """Whether an interface in ``control`` has a global address of the other family, on any node."""
    for known in facts.values():
        for interface in known.get("interfaces", ()):
            found = [ipaddress.ip_interface(str(address)).ip for address in interface["addresses"]]
            if any(one in control for one in found) and any(
                one.version != control.version and not one.is_link_local for one in found
            ):
                return True
    return False


# --------------------------------------------------------------------------------------------------------------- values


def version_of(text: str) -> tuple[int, int] | None:
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def _version(text: str) -> tuple[int, int] | None:
    found = version_of(text)
    if text and found is None:
        raise refused("nccl_variables", "not a version", thing="nccl_version", value=text)
    return found
