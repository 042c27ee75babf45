"""Network interfaces of a GPU VM and who sets them up, as data, and the only code that parses what their tools print.

Pure: no I/O. Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import re
from typing import Any, Mapping, NamedTuple, Sequence

from .._layer import ParseError

NETWORKD = "networkd"
NETWORK_MANAGER = "NetworkManager"
IFUPDOWN = "ifupdown"
UNKNOWN = "unknown"

DROPIN = "90-rocemesh-mtu.conf"
# Of systemd-networkd, in its own order: an earlier folder's file hides one of the same name.
NETWORK_FOLDERS = (
    "/etc/systemd/network",
    "/run/systemd/network",
    "/usr/local/lib/systemd/network",
    "/usr/lib/systemd/network",
    "/lib/systemd/network",
)
DEFAULT_MTU = 1500
_GLOB = re.compile(r"[*?\[\]!]")


@dataclasses.dataclass(frozen=True)
class Link:
    """An interface as it is now.

    Of ``ip``: ``kind``: '' for a device of its own; ``parent``: what a VLAN lies on; ``addresses``: with prefix length;
    ``lasting``: the global ones that no program moves, in normal form, and whether DHCP or a router gave them;
    ``altnames``: its other names.

    Of other files: ``driver``: '' if it has none; ``devices``: its RDMA devices; ``manager``: who says that it is
    theirs, '' if none does; ``profile``: the UUID of NetworkManager's profile; ``udev``: properties of its udev record;
    ``renamed``: whether its name came from udev.
    """

    name: str
    index: int = 0
    mtu: int = DEFAULT_MTU
    kind: str = ""
    master: str = ""
    parent: str = ""
    addresses: tuple[str, ...] = ()
    lasting: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    mac: str = ""
    carrier: bool = True
    driver: str = ""
    devices: tuple[str, ...] = ()
    link_layer: str = ""
    manager: str = ""
    profile: str = ""
    udev: Mapping[str, str] = dataclasses.field(default_factory=dict)
    renamed: bool = False
    altnames: tuple[str, ...] = ()

    @property
    def global_addresses(self) -> tuple[str, ...]:
        return tuple(text for text in self.addresses if not ipaddress.ip_interface(text).is_link_local)


def parse_links(text: str, host: str) -> dict[str, Link]:
    """``ip -details -json address show`` -> name -> link, without what other files know."""
    found = {}
    try:
        for row in json.loads(text or "[]"):
            if not row:
                continue  # iproute2 prints {} for what a filter left out
            addresses = row.get("addr_info", [])
            found[row["ifname"]] = Link(
                name=row["ifname"],
                index=int(row["ifindex"]),
                mtu=int(row["mtu"]),
                kind=row.get("linkinfo", {}).get("info_kind", ""),
                master=row.get("master", ""),
                parent=row.get("link", "") or "",
                addresses=tuple(f"{address['local']}/{address['prefixlen']}" for address in addresses),
                lasting=_lasting(addresses),
                mac=str(row.get("permaddr") or row.get("address") or "").lower(),
                altnames=tuple(row.get("altnames", [])),
                carrier="NO-CARRIER" not in row.get("flags", []) and "UP" in row.get("flags", ["UP"]),
            )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ParseError("no list of interfaces", host=host, thing="ip -json address show", raw=text) from None
    return found


def _lasting(rows: Sequence[Mapping[str, Any]]) -> dict[str, bool]:
    found = {}
    for row in rows:
        address = ipaddress.ip_interface(f"{row['local']}/{row['prefixlen']}")
        is_moving = row.get("temporary") or row.get("protocol") == "keepalived"
        if row.get("scope", "global") == "global" and not is_moving and not address.is_link_local:
            found[str(address)] = bool(row.get("dynamic") or row.get("mngtmpaddr"))
    return found


class Route(NamedTuple):
    """``gateway``: "" for none."""

    family: int
    destination: str
    gateway: str


def parse_routes(text: str, family: int, host: str) -> dict[str, frozenset[tuple[Route, str]]]:
    """``ip -json route show`` of one family -> interface -> its routes, each with the protocol that set it."""
    found: dict[str, set[tuple[Route, str]]] = {}
    try:
        for row in json.loads(text or "[]"):
            if row.get("type", "unicast") != "unicast":
                continue
            for hop in row.get("nexthops") or [row]:
                via = hop.get("gateway") or (hop.get("via") or {}).get("host") or ""
                route = normal_route(str(row["dst"]), str(via), family)
                if hop.get("dev"):
                    found.setdefault(str(hop["dev"]), set()).add((route, str(row.get("protocol", "boot"))))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ParseError("no list of routes", host=host, thing="ip -json route show", raw=text) from None
    return {name: frozenset(routes) for name, routes in found.items()}


def interface_of(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface | None:
    """None: it is no address, and who reads the file ignores it."""
    try:
        return ipaddress.ip_interface(text)
    except ValueError:
        return None


def normal_route(destination: str, via: str, family: int = 0) -> Route:
    """Raises ValueError for what is no network."""
    gateway = str(ipaddress.ip_address(via)) if via else ""
    if destination in ("default", ""):
        family = family or (6 if ":" in gateway else 4)
        return Route(family, "default", gateway)
    network = ipaddress.ip_network(destination, strict=False)
    return Route(network.version, "default" if network.prefixlen == 0 else str(network), gateway)


# ---- files of systemd and NetworkManager ----------------------------------------------------------------------------


class Section(NamedTuple):
    name: str
    settings: list[tuple[str, str]]


def sections(text: str) -> list[Section]:
    """The sections in their order, each as often as it is there; lines of a comment do not end a continued one."""
    found: list[Section] = []
    for line in re.sub(r"\\\n", " ", text).splitlines():
        words = line.strip()
        if not words or words[0] in "#;":
            continue
        if words.startswith("[") and words.endswith("]"):
            found.append(Section(words[1:-1], []))
        elif "=" in words and found:
            key, _equals, value = words.partition("=")
            found[-1].settings.append((key.strip(), value.strip()))
    return found


def parse_unit_file(text: str) -> list[tuple[str, str, str]]:
    """Each setting as (section, key, value)."""
    return [(name, key, value) for name, settings in sections(text) for key, value in settings]


def values(parts: Sequence[Section], section: str, key: str) -> list[str]:
    """All values of a key that may repeat; an empty one takes away those before it."""
    found: list[str] = []
    for name, settings in parts:
        if name == section:
            for each, value in settings:
                if each == key:
                    found = [*found, value] if value else []
    return found


def last(parts: Sequence[Section], section: str, key: str) -> str:
    return next(iter(reversed(values(parts, section, key))), "")


def is_true(text: str) -> bool:
    return text.lower() in ("yes", "true", "on", "1", "y", "t")


def uses_dhcp_mtu(parts: Sequence[Section]) -> bool:
    return any(is_true(last(parts, name, "UseMTU")) for name in ("DHCP", "DHCPv4"))


def without_mtu(settings: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    return [setting for setting in settings if setting[:2] != ("Link", "MTUBytes")]


def matches_one_only(settings: Sequence[tuple[str, str, str]]) -> bool:
    """Whether [Match] fits one interface only: a whole name or one MAC address. A driver or glob fits the next too."""
    match = {key: value.split() for section, key, value in settings if section == "Match" and value}
    exact = ("Name", "MACAddress", "PermanentMACAddress")
    return any(len(match.get(key, [])) == 1 and not _GLOB.search(match[key][0]) for key in exact)


def parse_pairs(text: str, prefix: str = "") -> dict[str, str]:
    """Lines ``KEY=VALUE`` behind a prefix, as networkd writes down what it knows of a link, and systemctl and udev."""
    lines = (line[len(prefix) :] for line in text.splitlines() if line.startswith(prefix) and not line.startswith("#"))
    return {key: value for key, equals, value in (line.partition("=") for line in lines) if equals}


def netplan_id(path: str) -> str | None:
    """The id of netplan from which a file of networkd was made; None: not made by netplan."""
    found = re.match(r"^/run/systemd/network/\d+-netplan-(.+)\.network$", path)
    return found.group(1) if found else None


# ---- NetworkManager -------------------------------------------------------------------------------------------------


def parse_terse(text: str) -> dict[str, str]:
    """``nmcli --terse`` with one setting in a line: ``802-3-ethernet.mtu:auto``; a colon in a value is escaped."""
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {key: re.sub(r"\\(.)", r"\1", value) for key, _colon, value in pairs}


def split_terse(line: str) -> list[str]:
    """One line of ``nmcli --terse`` with several fields."""
    return [re.sub(r"\\(.)", r"\1", word) for word in re.split(r"(?<!\\):", line)]


def profile_settings(values: Mapping[str, str]) -> dict[str, str]:
    """What is stored in a profile, without its MTU and what NetworkManager writes down by itself."""
    own = {"802-3-ethernet.mtu", "connection.timestamp"}
    return {key: value for key, value in values.items() if key[:1].islower() or key[:1].isdigit() if key not in own}


# ---- who sets the interface up --------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Keeper:
    """Who sets an interface up at the next boot.

    ``name``: networkd's file or NetworkManager's profile; ``path``: where that lies; ``mtu``: the one that it sets,
    '' for none; ``own``: whether this collection wrote it; ``others``: further interfaces that the
    same file or profile is for; ``exact``: whether it can be for this one only; ``dhcp_mtu``: it takes the MTU that a
    DHCP server has given (which one, '' for none); ``later``: a file that is read after ours and sets another MTU;
    ``refused``: why nothing may be built on what was read, '' if it may.
    """

    kind: str = UNKNOWN
    name: str = ""
    path: str = ""
    mtu: str = ""
    own: bool = False
    others: tuple[str, ...] = ()
    exact: bool = False
    dhcp_mtu: str = ""
    later: str = ""
    refused: str = ""
    unit_mtu: str = ""  # what this collection's own unit sets at present, '' without it

    @property
    def words(self) -> str:
        return {
            NETWORKD: f"systemd-networkd by {self.path}",
            NETWORK_MANAGER: f"NetworkManager by its profile {self.name}",
            IFUPDOWN: "ifupdown by /etc/network/interfaces",
            UNKNOWN: "no known program (neither systemd-networkd nor NetworkManager nor ifupdown)",
        }[self.kind]


@dataclasses.dataclass(frozen=True)
class Interfaces:
    """What `roce_interface` observes. ``chosen``: the interfaces of the RoCE network, a VLAN's parent before it."""

    links: Mapping[str, Link]
    defaults: frozenset[str]
    chosen: tuple[str, ...] = ()
    keepers: Mapping[str, Keeper] = dataclasses.field(default_factory=dict)

    def as_result(self, name: str) -> dict[str, Any]:
        link, keeper = self.links[name], self.keepers.get(name)
        return {
            "name": name,
            "kind": link.kind or "ethernet",
            "ports": [port.name for port in ports(self.links, link)],
            "devices": sorted({device for port in ports(self.links, link) for device in port.devices}),
            "addresses": list(link.addresses),
            "mtu": link.mtu,
            "set_up_by": keeper.words if keeper else "",
        }


def ports(links: Mapping[str, Link], link: Link) -> list[Link]:
    """The interfaces with a device below: itself, the members of a bond, those of what a VLAN lies on."""
    if link.devices:
        return [link]
    if link.kind == "vlan" and link.parent in links:
        return ports(links, links[link.parent])
    if link.kind in ("bond", "team"):
        members = [other for other in links.values() if other.master == link.name]
        return [port for member in sorted(members, key=lambda one: one.name) for port in ports(links, member)]
    return [link]
