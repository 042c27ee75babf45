"""What systemd-networkd and udev make of an interface at the next boot, from their files.

As systemd.network(5), systemd.netdev(5) and systemd.link(5) say. Pure: no I/O. Imports on Python 3.8: runs on nodes.
"""

from __future__ import annotations

import fnmatch
import re
from typing import Iterator, Mapping, Sequence

from .boot_state import NextBoot, Planned, Tree
from .interface_state import (
    NETWORK_FOLDERS,
    Link,
    Section,
    interface_of,
    is_true,
    last,
    sections,
    uses_dhcp_mtu,
    values,
)

_FALSE = frozenset(("no", "false", "off", "0", "n", "f"))
_SIZES = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
# Keys of [Network] that put an interface below another one, or make one on top of it.
_MASTERS = ("Bond", "Bridge", "VRF")
_UPPER = ("VLAN", "MACVLAN", "IPVLAN", "MACVTAP")


class CannotTell(Exception):
    """A file may or may not be for this interface; its text names the key."""


def size(text: str) -> int:
    """``9000``, ``9K``; 0 for what systemd ignores."""
    found = re.fullmatch(r"(\d+)\s*([KMG]?)", text.strip())
    return int(found.group(1)) * _SIZES[found.group(2)] if found else 0


def files(tree: Tree, suffix: str) -> Iterator[tuple[str, list[Section]]]:
    """The files of one kind that are in force, in the order in which they are tried, with their drop-ins."""
    for name, path in tree.in_force(NETWORK_FOLDERS, suffix).items():
        text = tree.files.get(path, "")
        if path in tree.masked or not text.strip():
            continue
        parts = sections(text)
        for dropin in dropins(tree, name):
            parts += sections(tree.files.get(dropin, ""))
        yield path, parts


def dropins(tree: Tree, name: str) -> list[str]:
    found = tree.in_force([f"{folder}/{name}.d" for folder in NETWORK_FOLDERS], ".conf")
    return [path for path in found.values() if path not in tree.masked]


# ---- matching -------------------------------------------------------------------------------------------------------


def matches(parts: Sequence[Section], link: Link, command_line: str = "") -> bool:
    """Raises CannotTell if all that is known fits and a key is left that is not known here."""
    settings = [(key, value.strip('"')) for name, rows in parts if name == "Match" for key, value in rows if value]
    wanted: dict[str, list[str]] = {}
    for key, value in settings:
        wanted.setdefault(key, []).extend(value.split())
    unknown = ""
    for key, words in wanted.items():
        answer = _fits(key, words, link, command_line)
        if answer is False:
            return False
        unknown = unknown if answer else key
    if unknown:
        raise CannotTell(unknown)
    return True


def _fits(key: str, words: list[str], link: Link, command_line: str) -> bool | None:
    """None: not known here."""
    names = {
        "Name": [link.name, *link.altnames],
        "Driver": [link.driver],
        "Kind": [link.kind],
        "Type": ["ether", link.kind or "ether"],
        # Only the kernel's own name counts; what it was before udev gave another one is taken to be of its usual form.
        "OriginalName": ["eth0" if link.renamed else link.name],
        "Path": [link.udev["ID_PATH"]] if "ID_PATH" in link.udev else [],
    }
    if names.get(key):
        # What it does not have ("") fits no pattern: Kind=!* is a device of its own.
        return _any(words, [name for name in names[key] if name])
    if key in ("MACAddress", "PermanentMACAddress"):
        return link.mac in {re.sub(r"[-.]", ":", word).lower() for word in words}
    if key == "Property" and link.udev:
        pairs = [word.partition("=") for word in words]
        return all(link.udev.get(name) == value for name, _equals, value in pairs)
    if key == "KernelCommandLine":
        return all(word in command_line.split() for word in words)
    # A guest is no container; which hypervisor it has, only systemd knows.
    plain = {word.lower() for word in words}
    known = plain <= {"yes", "vm", "1", "true", "container", "no"}
    return plain <= {"yes", "vm", "1", "true"} if key == "Virtualization" and known else None


def _any(words: list[str], names: list[str]) -> bool:
    """A word that begins with ! turns the whole list round."""
    negative = bool(words) and words[0].startswith("!")
    patterns = [word.lstrip("!") for word in words]
    return negative != any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)


# ---- interfaces -----------------------------------------------------------------------------------------------------


def is_starting(tree: Tree) -> bool:
    """netplan's generator starts it where it has made files for it."""
    if "/etc/systemd/system/systemd-networkd.service" in tree.masked:
        return False
    made = any(path.startswith("/run/systemd/network/10-netplan-") for path in tree.files)
    return made or tree.is_enabled("systemd-networkd.service")


def apply(tree: Tree, links: Mapping[str, Link], boot: NextBoot, command_line: str = "") -> None:
    """Add what networkd sets up to ``boot``."""
    networks = list(files(tree, ".network"))
    netdevs = {}
    for path, parts in files(tree, ".netdev"):
        name, kind = last(parts, "NetDev", "Name"), last(parts, "NetDev", "Kind")
        if name and kind:
            netdevs[name] = (path, kind)
    # A VLAN is made only if a file of what it lies on names it.
    named = {
        word
        for _path, parts in networks
        for key in _UPPER
        for value in values(parts, "Network", key)
        for word in value.split()
    }
    for name, (path, kind) in netdevs.items():
        if kind not in ("vlan", "macvlan", "ipvlan", "macvtap") or name in named:
            boot.created[name] = path
    made = {name: Link(name=name, kind=netdevs[name][1]) for name in boot.created if name not in links}
    for link in [*links.values(), *made.values()]:
        try:
            found = next(((path, parts) for path, parts in networks if matches(parts, link, command_line)), None)
        except CannotTell as error:
            boot.unknown[link.name] = f"a file of systemd-networkd matches by {error}, which is not followed here"
            continue
        if found is not None and not is_true(last(found[1], "Link", "Unmanaged")):
            _network(found[0], found[1], tree, boot.interfaces.setdefault(link.name, Planned()))


def _network(path: str, parts: Sequence[Section], tree: Tree, planned: Planned) -> None:
    planned.by.append(path)
    listed = values(parts, "Network", "Address")
    for name, settings in parts:
        listed += [value for key, value in settings if name == "Address" and key == "Address" and value]
    for text in listed:
        interface = interface_of(text)
        if interface and not (interface.is_link_local or interface.ip.is_unspecified):
            planned.addresses[str(interface)] = path
    table = last(parts, "Network", "VRF") or "main"
    for text in values(parts, "Network", "Gateway"):
        if text and not text.startswith("_") and table == "main":
            planned.add_route("default", text, path)
    for name, settings in parts:
        row = dict(settings)
        if name == "Route" and row.get("Table", table) in ("main", "254") and row.get("Type", "unicast") == "unicast":
            gateway = row.get("Gateway", "")
            if not gateway.startswith("_") and ("Destination" in row or gateway):
                planned.add_route(row.get("Destination", "default"), gateway, path)
    dhcp = last(parts, "Network", "DHCP").lower()
    planned.dhcp |= {4, 6} if is_true(dhcp) or dhcp == "both" else {4} if dhcp in ("ipv4", "v4") else set()
    planned.dhcp |= {6} if dhcp in ("ipv6", "v6") else set()
    planned.router_advertisements = last(parts, "Network", "IPv6AcceptRA").lower() not in _FALSE
    for key in _MASTERS:
        if last(parts, "Network", key):
            planned.master, planned.master_by = last(parts, "Network", key), path
    planned.dhcp_mtu = bool(planned.dhcp) and uses_dhcp_mtu(parts)
    if last(parts, "Link", "ActivationPolicy") in ("down", "always-down"):
        planned.down_by = path
    mtu = size(last(parts, "Link", "MTUBytes"))
    if mtu:
        owner = next(
            (one for one in reversed(dropins(tree, path.rpartition("/")[2]))
             if size(last(sections(tree.files.get(one, "")), "Link", "MTUBytes"))),
            path,
        )  # fmt: skip
        planned.set_mtu(mtu, owner)


# ---- rules of udev --------------------------------------------------------------------------------------------------

RULE_FOLDERS = ("/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d")
_LINKS = "80-net-setup-link.rules"  # where the .link files are read: of two MTUs the later one stays
_WORD = re.compile(r'(\w+(?:\{[^}]*\})?)\s*(==|!=|[-+:]?=)\s*"([^"]*)"')


def apply_rules(tree: Tree, links: Mapping[str, Link], boot: NextBoot, *, late: bool) -> None:
    """The MTU by ``ATTR{mtu}="N"``, as udev 252 was seen to do; ``late``: of the rules after the .link files."""
    for name, path in tree.in_force(RULE_FOLDERS, ".rules").items():
        text = "" if path in tree.masked or (name > _LINKS) is not late else tree.files.get(path, "")
        for line in re.sub(r"\\\n\s*", "", text).splitlines():
            words = [] if line.lstrip().startswith("#") else _WORD.findall(line)
            given = [
                value for key, sign, value in words if key == "ATTR{mtu}" and sign in ("=", ":=") and value.isdigit()
            ]
            runs = any(key.startswith("RUN") and "mtu" in value for key, _sign, value in words)
            runs = runs or (bool(given) and "GOTO" in text)
            for link in links.values() if given or runs else ():
                answers = {_holds(key, sign, value, link, late): key for key, sign, value in words}
                planned = boot.interfaces.setdefault(link.name, Planned())
                if False in answers:
                    continue
                if runs or None in answers:
                    why = answers.get(None, "RUN or GOTO")
                    boot.unknown[path] = f"{why} of a rule about the MTU of {link.name} is not followed here"
                planned.mtu_open = runs or None in answers
                planned.set_mtu(0 if planned.mtu_open else int(given[-1]), path)


def _holds(key: str, sign: str, value: str, link: Link, late: bool) -> bool | None:
    """Whether a condition of a rule fits when the device appears (None: not known); what is assigned is none."""
    if sign not in ("==", "!="):
        return True
    words = value.split("|")
    # A device appears under the kernel's name, eth and a number, and is seen again under the one that it is given.
    first = ["ib0" if link.kind == "ipoib" else "eth0"]
    either = _any(words, [link.name]) or _any([re.sub(r"[\d[].*", "*", word) for word in words], first)
    known = {
        "SUBSYSTEM": ["net"],
        "ACTION": ["add"],
        "DRIVERS": [link.driver],
        "ATTR{address}": [link.mac],
        "KERNEL": [] if link.renamed and either else [link.name],
        "NAME": [link.name if late else ""],
    }
    if late and link.udev and key.startswith("ENV{") and key[4] != ".":
        known[key] = [link.udev.get(key[4:-1], "")]
    return (sign == "==") == _any(words, known[key]) if known.get(key) else None


# ---- names ----------------------------------------------------------------------------------------------------------


def apply_links(tree: Tree, links: Mapping[str, Link], boot: NextBoot, command_line: str = "") -> None:
    """Names, and the MTU that udev sets before anybody else. Only of devices that udev knows."""
    found = list(files(tree, ".link"))
    for link in links.values():
        if not link.udev or link.kind:
            continue
        try:
            chosen = next(((path, parts) for path, parts in found if matches(parts, link, command_line)), None)
        except CannotTell:
            continue  # the default file is the last one, and gives the name that it gave before
        if chosen is None:
            continue
        path, parts = chosen
        name = _name(parts, link, command_line)
        # The file that gave the present name gives it again; a udev rule may have gone before it.
        again = path == link.udev.get("ID_NET_LINK_FILE") and not last(parts, "Link", "Name")
        if name and not again:
            boot.names[link.name] = (name, path)
        mtu = size(last(parts, "Link", "MTUBytes"))
        if mtu:
            boot.interfaces.setdefault(link.name, Planned()).set_mtu(mtu, path)


_POLICIES = {"onboard": "ID_NET_NAME_ONBOARD", "slot": "ID_NET_NAME_SLOT", "path": "ID_NET_NAME_PATH",
             "mac": "ID_NET_NAME_MAC", "database": "ID_NET_NAME_FROM_DATABASE"}  # fmt: skip


def _name(parts: Sequence[Section], link: Link, command_line: str) -> str:
    """The name at the next boot, "" if it is not known."""
    policies = last(parts, "Link", "NamePolicy").split()
    if "net.ifnames=0" in command_line.split():
        policies = [one for one in policies if one in ("keep", "kernel")]
    for policy in policies:
        name = link.udev.get(_POLICIES.get(policy, ""), "")
        if name:
            return name
    given = last(parts, "Link", "Name")
    if given:
        return given
    return "" if policies or not link.renamed else "the kernel's, such as eth0"
