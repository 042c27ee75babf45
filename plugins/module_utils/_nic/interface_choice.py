"""Which interface is that of the RoCE network: the one of an RDMA device, and never the one that manages the VM.

Pure: no I/O. Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import dataclasses
import ipaddress
from typing import Any, Mapping, Sequence

from .._layer import RefusedError
from .interface_state import Link, ports

AUTO = "auto"
DRIVER = "mlx5_core"


@dataclasses.dataclass(frozen=True)
class Wanted:
    """``networks``: CIDRs of the RoCE network; ``session``: the address that this connection came in on.

    ``management``: whether an interface that the VM is managed over may be taken; ``mtu``: 0 leaves it alone;
    ``simulated``: the RDMA devices are a twin's, whose interfaces have no driver; ``drivers``: of the interfaces that
    may be taken, as ``ethtool -i`` names them.
    """

    interfaces: tuple[str, ...] = (AUTO,)
    networks: tuple[str, ...] = ()
    session: str = ""
    management: bool = False
    mtu: int = 0
    simulated: bool = False
    drivers: tuple[str, ...] = (DRIVER,)


def no_roce(links: Mapping[str, Link], link: Link, wanted: Wanted) -> str:
    """Why this is no interface of a RoCE device with one of the drivers that are wanted; '' if it is."""
    below = ports(links, link)
    if not below:
        return f"the {link.kind} has no member"
    for port in below:
        what = "" if port.name == link.name else f"its {'member' if link.kind in ('bond', 'team') else 'parent'} "
        if not port.devices and port.driver == DRIVER and not any(other.devices for other in links.values()):
            continue  # the RDMA part of the driver is not loaded yet, for no function
        if not port.devices and port.driver == DRIVER and port.master and any(other.devices for other in below):
            continue  # RoCE LAG: one device for the bond, at the first function
        if not port.devices:
            kind = f"driver {port.driver}" if port.driver else f"kind {port.kind}" if port.kind else "no driver"
            return f"{what}{port.name} has no RDMA device ({kind})"
        if port.driver not in wanted.drivers and not (wanted.simulated and not port.driver):
            return f"{what}{port.name} has driver {port.driver or 'unknown'}, not {' or '.join(wanted.drivers)}"
        if port.link_layer != "Ethernet":
            return f"{what}{port.name} is {port.link_layer or 'of unknown kind'}, and only RoCE (Ethernet) is in scope"
    return ""


def management(defaults: frozenset[str], link: Link, session: str) -> str:
    """Why the VM is managed over this interface, '' if it is not.

    What lies on it does not count: a VLAN keeps its own MTU.
    """
    if link.name in defaults:
        return "carries a default route"
    if session and any(ipaddress.ip_interface(text).ip == ipaddress.ip_address(session) for text in link.addresses):
        return f"has the address {session} that this connection came in on"
    return ""


def in_networks(link: Link, networks: Sequence[str]) -> bool:
    cidrs = [ipaddress.ip_network(text, strict=False) for text in networks]
    own = [ipaddress.ip_interface(text).ip for text in link.addresses]
    return any(address.version == cidr.version and address in cidr for address in own for cidr in cidrs)


def _called(wanted: Wanted) -> str:
    if wanted.drivers == (DRIVER,):
        return "a ConnectX function"
    return f"a RoCE device (driver {' or '.join(wanted.drivers)})"


def _seen(links: Mapping[str, Link], wanted: Wanted) -> str:
    """The interfaces that could be meant, for a person."""
    seen = [
        f"{link.name} ({', '.join(link.addresses) or 'no address'}"
        f"{', member of ' + link.master if link.master else ''})"
        for link in links.values()
        if not no_roce(links, link, wanted)
    ]
    return "; ".join(sorted(seen)) or "none"


def _error(host: str, value: Any, why: str, remedy: str) -> RefusedError:
    return RefusedError(why, host=host, thing="interface", value=value, remedy=remedy)


def _found(links: Mapping[str, Link], defaults: frozenset[str], wanted: Wanted, host: str) -> list[str]:
    roce = [link for link in links.values() if not link.master and not no_roce(links, link, wanted)]
    if wanted.networks:
        names = sorted(link.name for link in roce if in_networks(link, wanted.networks))
        where = f"with an address in {', '.join(wanted.networks)}"
    else:
        free = [link for link in roce if not management(defaults, link, wanted.session)]
        names = sorted(link.name for link in free if link.global_addresses)
        where = "with an address that the VM is not managed over"
        if len(names) > 1:
            why = f"several interfaces of RDMA devices have an address: {', '.join(names)}"
            raise _error(host, AUTO, why, "say which network is RoCE (guest_networks), or name them (guest_interfaces)")
    if not names:
        why = f"no interface of {_called(wanted)} {where}; those that there are: {_seen(links, wanted)}"
        raise _error(host, AUTO, why, "load the driver, give the interface its address, or correct guest_networks")
    return names


def _named(links: Mapping[str, Link], wanted: Wanted, host: str) -> list[str]:
    for name in wanted.interfaces:
        link = links.get(name)
        why = "there is no such interface" if link is None else no_roce(links, link, wanted)
        if link is not None and not why and link.master:
            why = f"it is a member of {link.master}, which sets its MTU"
        if why:
            why += f"; those of {_called(wanted)}: {_seen(links, wanted)}"
            raise _error(host, name, why, "name one of those in guest_interfaces, or write auto alone")
    return list(wanted.interfaces)


def choose(links: Mapping[str, Link], defaults: frozenset[str], wanted: Wanted, host: str) -> tuple[str, ...]:
    """The interfaces of the RoCE network; raises `RefusedError` with the reason where that is not safe to say."""
    auto = list(wanted.interfaces) == [AUTO]
    if AUTO in wanted.interfaces and not auto:
        raise _error(host, list(wanted.interfaces), "auto is not the only entry", "write auto, or names")
    names = _found(links, defaults, wanted, host) if auto else _named(links, wanted, host)
    for name in names:
        why = management(defaults, links[name], wanted.session)
        if why and not wanted.management:
            why = f"it {why}, so a mistake here would cut the VM off"
            remedy = "name the one of the RoCE network; if it is for both, guest_management_interface allow says so"
            raise _error(host, name, why, remedy)
    return tuple(dict.fromkeys(names))
