"""Network interfaces of a GPU VM and who sets them up, as data, and the only code that parses what their tools print.

Pure: no I/O. Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import re
from typing import Any, Mapping, Sequence

from .._layer import ParseError

NETWORKD = "networkd"
NETWORK_MANAGER = "NetworkManager"
IFUPDOWN = "ifupdown"
UNKNOWN = "unknown"

DROPIN = "90-rocemesh-mtu.conf"
_GLOB = re.compile(r"[*?\[\]!]")


@dataclasses.dataclass(frozen=True)
class Link:
    """``kind``: as ``ip -details`` names it, '' for a device of its own; ``devices``: its RDMA devices.

    ``parent``: what a VLAN lies on; ``driver``: '' if it has none; ``addresses``: with prefix length.
    """

    name: str
    index: int
    mtu: int
    kind: str = ""
    master: str = ""
    parent: str = ""
    addresses: tuple[str, ...] = ()
    driver: str = ""
    devices: tuple[str, ...] = ()
    link_layer: str = ""

    @property
    def global_addresses(self) -> tuple[str, ...]:
        return tuple(text for text in self.addresses if not ipaddress.ip_interface(text).is_link_local)


def parse_links(text: str, host: str) -> dict[str, Link]:
    """``ip -details -json address show`` -> name -> link, without what sysfs knows."""
    found = {}
    try:
        for row in json.loads(text or "[]"):
            if not row:
                continue  # iproute2 prints {} for what a filter left out
            found[row["ifname"]] = Link(
                name=row["ifname"],
                index=int(row["ifindex"]),
                mtu=int(row["mtu"]),
                kind=row.get("linkinfo", {}).get("info_kind", ""),
                master=row.get("master", ""),
                parent=row.get("link", "") or "",
                addresses=tuple(f"{address['local']}/{address['prefixlen']}" for address in row.get("addr_info", [])),
            )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ParseError("no list of interfaces", host=host, thing="ip -json address show", raw=text) from None
    return found


def parse_default_routes(text: str, host: str) -> frozenset[str]:
    """``ip -json route show default`` -> the interfaces that carry one, each path of a multipath route too."""
    try:
        rows = json.loads(text or "[]")
        paths = [hop for row in rows for hop in (row.get("nexthops") or [row])]
        return frozenset(hop["dev"] for hop in paths if hop.get("dev"))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ParseError("no list of routes", host=host, thing="ip -json route show default", raw=text) from None


# ---- files of systemd-networkd --------------------------------------------------------------------------------------

# Each setting is (section, key, value).


def parse_unit_file(text: str) -> list[tuple[str, str, str]]:
    """systemd's own syntax: sections, ``Key=value``, comments, a backslash that continues a line."""
    section = ""
    found = []
    for line in re.sub(r"\\\n", " ", text).splitlines():
        words = line.strip()
        if not words or words[0] in "#;":
            continue
        if words.startswith("[") and words.endswith("]"):
            section = words[1:-1]
        elif "=" in words:
            key, _equals, value = words.partition("=")
            found.append((section, key.strip(), value.strip()))
    return found


def mtu_of(settings: Sequence[tuple[str, str, str]]) -> str:
    """The last ``MTUBytes=`` of [Link], as written there; '' without one."""
    return next(
        (value for section, key, value in reversed(settings) if (section, key) == ("Link", "MTUBytes")),
        "",
    )


def uses_dhcp_mtu(settings: Sequence[tuple[str, str, str]]) -> bool:
    return any(
        section.startswith("DHCP") and key == "UseMTU" and value in ("yes", "true", "1", "on")
        for section, key, value in settings
    )


def without_mtu(settings: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    return [setting for setting in settings if setting[:2] != ("Link", "MTUBytes")]


def matches_one_only(settings: Sequence[tuple[str, str, str]]) -> bool:
    """Whether [Match] fits one interface only: a whole name or one MAC address. A driver or glob fits the next too."""
    match = {key: value.split() for section, key, value in settings if section == "Match" and value}
    exact = ("Name", "MACAddress", "PermanentMACAddress")
    return any(len(match.get(key, [])) == 1 and not _GLOB.search(match[key][0]) for key in exact)


def parse_link_state(text: str) -> dict[str, str]:
    """``/run/systemd/netif/links/INDEX``: what networkd says of a link (``NETWORK_FILE`` is the file it took)."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {key: value for key, _equals, value in pairs}


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
    notes: tuple[str, ...] = ()

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
