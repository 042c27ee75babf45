"""Which RoCE ports of the nodes carry the job: by RDMA device and network, never by the name of an interface. Pure.

A rail is one RoCE network; each node has a port in it. Several rails are several networks, often a switch each, and
there may be no route between them. Each Ethernet port that is not taken is named with the reason: a NIC that a job
does not use is bandwidth that the site paid for.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import Any, Iterator, Mapping, Sequence, Union

from .._layer import RefusedError
from .._results.readers.reading import few

ETHERNET, ROCE_V2 = "Ethernet", "RoCE v2"
Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
# What the proof reads before and after the training (see _proof/snapshots): RDMA alone, in units of 4 bytes.
TRAFFIC = ("port_xmit_data", "port_rcv_data")
_PAUSE_AND_LOSS = ("rx_prio{}_discards", "rx_prio{}_pause", "tx_prio{}_pause")


@dataclasses.dataclass(frozen=True)
class Gid:
    """A RoCE v2 GID that is an IPv4 address; ``network`` '' if it is in none of the rails."""

    index: int
    address: str
    netdev: str
    network: str


@dataclasses.dataclass(frozen=True)
class Port:
    """A RoCE port of the job. ``gids``: all of its RoCE v2 addresses, by index; ``index``: the one that is used."""

    node: str
    name: str
    port: int
    pci: str
    mtu: int | None
    network: str
    index: int
    address: str
    netdev: str
    gids: tuple[Gid, ...]
    lossless: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.name}:{self.port}"

    @property
    def fitting(self) -> dict[int, Gid]:
        return {gid.index: gid for gid in self.gids if gid.network}

    def using(self, index: int) -> Port:
        gid = self.fitting[index]
        return dataclasses.replace(
            self, index=index, address=gid.address, netdev=gid.netdev or self.netdev, network=gid.network
        )


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """A port that the job does not use, and why."""

    node: str
    name: str
    port: int
    netdev: str
    why: str

    def text(self) -> str:
        where = f" ({self.netdev})" if self.netdev else ""
        return f"{self.node} {self.name}:{self.port}{where} is left out: {self.why}"


@dataclasses.dataclass(frozen=True)
class Rails:
    """``ports``: node -> its ports, by name; ``networks``: one per rail, in the order that they were given."""

    networks: tuple[Network, ...]
    ports: Mapping[str, tuple[Port, ...]]
    left_out: tuple[LeftOut, ...]

    def everywhere(self) -> Iterator[Port]:
        for ports in self.ports.values():
            yield from ports

    @property
    def used(self) -> tuple[str, ...]:
        """The networks that have a port, in their order."""
        taken = {port.network for port in self.everywhere()}
        return tuple(str(network) for network in self.networks if str(network) in taken)

    def using(self, indexes: Mapping[tuple[str, str], int]) -> Rails:
        """The same with other GIDs: (node, port) -> index."""
        ports = {
            node: tuple(port.using(indexes.get((node, port.label), port.index)) for port in own)
            for node, own in self.ports.items()
        }
        return dataclasses.replace(self, ports=ports)

    def table(self) -> list[dict[str, Any]]:
        """One entry per rail with its ports: what is used, and whose counters have to move."""
        return [
            {
                "rail": number,
                "network": network,
                "ports": [_entry(port) for port in self.everywhere() if port.network == network],
            }
            for number, network in enumerate(self.used)
        ]


def _entry(port: Port) -> dict[str, Any]:
    return {
        "node": port.node,
        "device": port.name,
        "port": port.port,
        "netdev": port.netdev,
        "pci": port.pci,
        "address": port.address,
        "gid_index": port.index,
        "active_mtu": port.mtu,
        "counters": [*TRAFFIC, *(name.format(priority) for priority in port.lossless for name in _PAUSE_AND_LOSS)],
    }


# --------------------------------------------------------------------------------------------------------------- input


def refused(host: str, what: str, remedy: str = "", thing: str = "", value: Any = None) -> RefusedError:
    return RefusedError(what, host=host, thing=thing, value=value, remedy=remedy)


def cidr(text: str, thing: str, host: str = "nccl_variables") -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise refused(host, f"not a network ({error})", "give it as 192.0.2.0/24", thing, text) from error


def networks(given: str | Sequence[str], host: str = "nccl_variables") -> tuple[Network, ...]:
    """One network per rail, from a list or a text with commas or blanks. Raises RefusedError for what overlaps."""
    texts = given.replace(",", " ").split() if isinstance(given, str) else [str(text) for text in given]
    found = tuple(dict.fromkeys(cidr(text, "network", host) for text in texts))
    if not found:
        raise refused(host, "no network", "give one per rail, as 192.0.2.0/24", "network", given)
    for at, one in enumerate(found):
        for other in found[at + 1 :]:
            if one.version == other.version and one.overlaps(other):
                what = f"{one} and {other} overlap, so the rail of an address is not known"
                remedy = "give the network of each rail as its interfaces have it"
                raise refused(host, what, remedy, "network", [str(network) for network in found])
    return found


def mapped(node: str, device: str, gid: Mapping[str, Any]) -> ipaddress.IPv4Address | None:
    try:
        return ipaddress.IPv6Address(str(gid["gid"])).ipv4_mapped
    except ValueError as error:
        raise refused(node, f"not a GID ({error})", "report this spelling", device, gid.get("gid")) from error


def natural(name: str) -> tuple[Any, ...]:
    """mlx5_10 comes after mlx5_2."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|\D+", name))


# -------------------------------------------------------------------------------------------------------------- choice


def find(facts: Mapping[str, Mapping[str, Any]], wanted: Sequence[Network], devices: Sequence[str] = ()) -> Rails:
    """The ports of every node. Raises RefusedError with what was seen where a node has none, or not one per rail."""
    ports: dict[str, tuple[Port, ...]] = {}
    left_out: list[LeftOut] = []
    for node, known in facts.items():
        found, others, seen = _ports(node, known, wanted, devices)
        if not found:
            what = f"no RoCE v2 address in {_told(wanted)}; seen: {'; '.join(seen) or 'no RDMA device'}"
            remedy = (
                "give the RoCE interface an address in this network (a link-local or RoCE v1 GID is not "
                "routed), and see that the port's link layer is Ethernet and its link is up"
            )
            raise refused(node, what, remedy, "RDMA devices")
        missing = [name for name in devices if name not in {port.name for port in found}]
        if missing:
            what = f"no RoCE v2 address in {_told(wanted)} on it; seen: {'; '.join(seen)}"
            raise refused(node, what, thing="device", value=missing[0])
        ports[node] = tuple(sorted(found, key=lambda port: (natural(port.name), port.port)))
        left_out += others
    rails = Rails(tuple(wanted), ports, tuple(left_out))
    _complete(rails, bool(devices))
    return rails


def _told(wanted: Sequence[Network]) -> str:
    return ", ".join(map(str, wanted))


def _ports(
    node: str, known: Mapping[str, Any], wanted: Sequence[Network], devices: Sequence[str]
) -> tuple[list[Port], list[LeftOut], list[str]]:
    """The ports of a node that are in a network, those that are not, and what was seen."""
    found: list[Port] = []
    others: list[LeftOut] = []
    seen: list[str] = []
    for device in known.get("devices", ()):
        name, number = str(device["name"]), int(device.get("port", 1))
        netdev = str(device.get("netdev") or "")
        layer, state = str(device.get("link_layer", "")), str(device.get("state") or "")
        label = f"{name}:{number}"
        asked = not devices or name in devices
        if layer != ETHERNET:
            why = f"link layer {layer or 'unknown'}"
            seen.append(f"{label} {why}")
            if asked:
                others.append(LeftOut(node, name, number, netdev, why + "; only RoCE (Ethernet) is in scope"))
            continue
        gids = tuple(sorted(_gids(node, name, device, wanted, seen, label), key=lambda gid: gid.index))
        fitting = [gid for gid in gids if gid.network]
        if not asked:
            why = f"only {', '.join(devices)} were asked for"
        elif not fitting:
            why = _why_not(gids, wanted)
        elif state and state != "ACTIVE":
            seen.append(f"{label} {fitting[0].address}, but the port is {state}")
            why = f"its port is {state}, and NCCL takes none that is not ACTIVE: look at cable and switch port"
        else:
            mtu, first = device.get("active_mtu"), fitting[0]
            lossless = ((device.get("qos") or {}).get("pfc_priorities")) or ()
            found.append(
                Port(
                    node=node,
                    name=name,
                    port=number,
                    pci=str(device.get("pci") or ""),
                    mtu=None if mtu is None else int(mtu),
                    network=first.network,
                    index=first.index,
                    address=first.address,
                    netdev=first.netdev or netdev,
                    gids=gids,
                    lossless=tuple(int(priority) for priority in lossless),
                )
            )
            continue
        others.append(LeftOut(node, name, number, netdev, why))
    return found, others, seen


def _gids(  # noqa: PLR0917 (one port, in the words of the facts)
    node: str, name: str, device: Mapping[str, Any], wanted: Sequence[Network], seen: list[str], label: str
) -> Iterator[Gid]:
    """The RoCE v2 addresses of a port; everything that it has goes into ``seen``."""
    for gid in device.get("gids", ()):
        address = mapped(node, name, gid)
        seen.append(f"{label} GID {gid['index']} {gid.get('type', '?')} {address or gid['gid']}")
        if address is not None and gid.get("type") == ROCE_V2:
            inside = next((str(network) for network in wanted if address in network), "")
            yield Gid(int(gid["index"]), str(address), str(gid.get("netdev") or device.get("netdev") or ""), inside)


def _why_not(gids: Sequence[Gid], wanted: Sequence[Network]) -> str:
    if not gids:
        return "it has no RoCE v2 IPv4 address (give its interface one)"
    return f"{', '.join(gid.address for gid in gids)} is in no RoCE network that was given ({_told(wanted)})"


def _complete(rails: Rails, named: bool) -> None:
    """Each node has a port on each rail: a job over rails that end somewhere hangs at its first message."""
    needed = rails.used if named else tuple(map(str, rails.networks))
    for node, ports in rails.ports.items():
        missing = [network for network in needed if network not in {port.network for port in ports}]
        if missing:
            why = [other.text() for other in rails.left_out if other.node == node]
            has = ", ".join(f"{port.label} {port.address}" for port in ports)
            raise RefusedError(
                f"no port with a RoCE v2 address in {', '.join(missing)} (it has {has})"
                + (f"; {'; '.join(why)}" if why else ""),
                host=node,
                thing="rails",
                value=missing,
                remedy="give the node its address on that rail, or leave the network out for all nodes",
            )


# --------------------------------------------------------------------------------------------------------------- notes


def notes(rails: Rails) -> list[str]:
    """What is not wrong by itself and has to be known: ports left out, rails in another order, MTUs."""
    found = [other.text() for other in rails.left_out]
    found += _uneven(rails)
    found += _order(rails)
    for network in rails.used:
        found += _mtu(rails, network)
    return found


def _uneven(rails: Rails) -> Iterator[str]:
    for network in rails.used:
        counts = {node: sum(port.network == network for port in ports) for node, ports in rails.ports.items()}
        if len(set(counts.values())) > 1:
            fewer = few([f"{node} {count}" for node, count in counts.items() if count < max(counts.values())])
            yield (
                f"the nodes have different numbers of ports in {network} (most {max(counts.values())}, {fewer}): the "
                "smallest sets the pace"
            )


def _order(rails: Rails) -> list[str]:
    """NCCL connects the n-th channel of a node with the n-th of the next one, whatever their networks are."""
    if len(rails.used) < 2 or any(not port.pci for port in rails.everywhere()):
        return []
    orders: dict[tuple[str, ...], list[str]] = {}
    for node, ports in rails.ports.items():
        by_place = sorted(ports, key=lambda port: (port.pci, port.port))
        orders.setdefault(tuple(port.network for port in by_place), []).append(node)
    usual = max(orders, key=lambda own: len(orders[own]))
    return [
        f"{few(nodes)}: the rails are in another order than those of {few(orders[usual])} (by PCI address "
        f"{', '.join(own)}; there {', '.join(usual)}): NCCL connects NICs by their place, so traffic would have to "
        "cross from rail to rail; give the addresses, or the NICs to the VM, in the same order"
        for own, nodes in orders.items()
        if own != usual
    ]


def _mtu(rails: Rails, network: str) -> list[str]:
    sizes: dict[int, list[str]] = {}
    for port in rails.everywhere():
        if port.network == network and port.mtu is not None:
            sizes.setdefault(port.mtu, []).append(f"{port.node} {port.name}")
    where = f"rail {network}: " if len(rails.used) > 1 else ""
    if len(sizes) > 1:
        parts = "; ".join(f"{size}: {few(names)}" for size, names in sorted(sizes.items()))
        return [f"{where}the RoCE MTU differs, and each connection uses the smaller one ({parts})"]
    if sizes and next(iter(sizes)) < 4096:
        size, names = next(iter(sizes.items()))
        return [
            f"{where}the RoCE MTU is {size} on all {len(names)} port(s); 4096 needs an interface MTU of 4200 or more"
        ]
    return []
