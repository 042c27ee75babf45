"""What ifupdown, enabled units and rc.local make of an interface at the next boot, from their files.

Pure: no I/O. Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from typing import Iterator, Mapping, NamedTuple

from .boot_state import NextBoot, Planned, Tree
from .interface_plan import LIST_DIRECTORY, UNIT_DIRECTORY, instance
from .interface_state import Link, interface_of, normal_route

INTERFACES = "/etc/network/interfaces"
_METHODS = frozenset(
    {"static", "dhcp", "manual", "auto", "loopback", "ppp", "bootp", "tunnel", "v4tunnel", "6to4", "wvdial"}
    | {"ipv4ll", "none", "can"}
)
_COMMANDS = ("up", "post-up", "pre-up")
_STARTED = ("auto", "allow-auto", "allow-hotplug")
_UNFOLLOWED = ("mapping", "template", "rename")
_DEEPEST = 5  # files that source one another
_OWN_NAME = re.compile(r"\"?\$(?:IFACE\b|\{IFACE\})\"?")
_NOTHING = ("/bin/true", "/bin/false", "/usr/bin/false", "/usr/bin/true")  # in place of a driver


class Stanza(NamedTuple):
    interface: str
    family: str
    method: str
    options: list[tuple[str, str]]
    path: str


class Interfaces(NamedTuple):
    """``started``: interfaces that come up at boot."""

    stanzas: list[Stanza]
    started: frozenset[str]


class Refused(Exception):
    """ifupdown refuses its files; the text names file and line."""


def parse(tree: Tree, path: str = INTERFACES, depth: int = 0) -> Interfaces:
    """Raises Refused where ``ifup`` would stop at the file."""
    stanzas: list[Stanza] = []
    started: set[str] = set()
    is_open = False
    text = re.sub(r"\\\n", " ", tree.files.get(path, ""))
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        first, rest = words[0], words[1:]
        was_open, is_open = is_open, first == "iface"
        if first == "iface":
            stanzas.append(_begun(rest, path, f"{path} line {number}: {line.strip()!r}"))
        elif first in _STARTED:
            started |= set(rest)
        elif first in ("source", "source-directory"):
            for other in _sourced(tree, path, rest, first == "source-directory") if depth < _DEEPEST else ():
                found = parse(tree, other, depth + 1)
                stanzas += found.stanzas
                started |= found.started
        elif first in _UNFOLLOWED:
            stanzas.append(Stanza(rest[0] if rest else "", "", first, [], path))
        elif was_open:
            stanzas[-1].options.append((first, " ".join(rest)))
            is_open = True
        elif first not in ("script", "map", "no-auto-down", "no-scripts") and not first.startswith("allow-"):
            raise Refused(f"{path} line {number}: option {first!r} without a stanza")
    return Interfaces(stanzas, frozenset(started))


def _begun(words: list[str], path: str, place: str) -> Stanza:
    name, family, method = [*words, "", "", ""][:3]
    if not name or (family and not method):
        raise Refused(f"{place} names no method")
    if family not in ("", "inet", "inet6", "ipx", "can"):
        raise Refused(f"{place}: unknown address family {family!r}")
    if method not in ("", *_METHODS):
        raise Refused(f"{place}: unknown method {method!r}")
    return Stanza(name, family or "inet", method, [], path)


def _sourced(tree: Tree, path: str, patterns: list[str], is_folder: bool) -> Iterator[str]:
    for pattern in patterns:
        full = pattern if pattern.startswith("/") else f"{path.rpartition('/')[0]}/{pattern}"
        folder, _slash, name = (full.rstrip("/"), "/", "") if is_folder else full.rpartition("/")
        for one in tree.folder(folder):
            last = one.rpartition("/")[2]
            if re.fullmatch(r"[A-Za-z0-9_-]+", last) if is_folder else fnmatch.fnmatchcase(last, name):
                yield one


def apply(tree: Tree, boot: NextBoot) -> None:
    """Add what ifupdown sets up to ``boot``."""
    try:
        found = parse(tree)
    except Refused as error:
        boot.invalid[INTERFACES] = str(error)
        return
    for stanza in found.stanzas:
        if stanza.method in _UNFOLLOWED:
            boot.unknown[stanza.interface] = f"{stanza.path} has a {stanza.method}, which is not followed here"
            continue
        if stanza.interface not in found.started or stanza.method == "loopback":
            continue
        planned = boot.interfaces.setdefault(stanza.interface, Planned())
        if stanza.path not in planned.by:
            planned.by.append(stanza.path)
        _stanza(stanza, planned, boot)


def _stanza(stanza: Stanza, planned: Planned, boot: NextBoot) -> None:
    family = 6 if stanza.family == "inet6" else 4
    options = [(key.replace("_", "-"), value) for key, value in stanza.options]
    row = dict(options)
    _virtual(stanza, options, boot)
    if row.get("bond-master"):
        planned.master, planned.master_by = row["bond-master"], stanza.path
    if stanza.method in ("dhcp", "auto", "bootp"):
        planned.dhcp.add(family)
        planned.dhcp_mtu = planned.dhcp_mtu or family == 4
    # ifupdown2 needs no method, and takes several addresses.
    for text in [value for key, value in options if key == "address" and stanza.method in ("static", "")]:
        mask = "" if "/" in text or "netmask" not in row else f"/{row['netmask']}"
        try:
            planned.addresses[str(ipaddress.ip_interface(text + mask))] = stanza.path
            if row.get("gateway"):
                planned.routes[normal_route("default", row["gateway"], family)] = stanza.path
        except ValueError as error:
            boot.invalid[stanza.path] = f"{stanza.interface}: {error}"
    if row.get("mtu", "").isdigit():
        planned.set_mtu(int(row["mtu"]), stanza.path)
    for key, value in options:
        if key in _COMMANDS:
            commands(_OWN_NAME.sub(stanza.interface, value), stanza.path, boot)


def _virtual(stanza: Stanza, options: list[tuple[str, str]], boot: NextBoot) -> None:
    """VLANs by their name or what they lie on; bonds and bridges, which take their members."""
    name, keys = stanza.interface, {key for key, _value in options}
    if keys & {"vlan-raw-device", "bond-slaves", "bond-mode", "bridge-ports"} or re.fullmatch(
        r"[A-Za-z][\w-]*\.\d+|vlan\d+", name
    ):
        boot.created.setdefault(name, stanza.path)
    members = {each for key, value in options if key in ("bond-slaves", "bridge-ports") for each in value.split()}
    for member in members - {"none", "all"}:
        below = boot.interfaces.setdefault(member, Planned())
        below.master, below.master_by = name, stanza.path


# ---- commands that are run at boot ----------------------------------------------------------------------------------

_IP = re.compile(r"(?:^|[\s/;&|'\"-])ip\s+(?:-\S+\s+)*(?P<rest>(?:l|link|a|addr|address|r|ro|route)\s+[^;&|'\"]+)")
_OTHER_TABLE = re.compile(r"\stable\s+(?!(?:main|254)\b)\S")
_IFCONFIG = re.compile(r"(?:^|[\s/;&|'\"])ifconfig\s+(?P<name>[\w.@-]+)\s+(?P<rest>[^;&|'\"]+)")


def commands(text: str, path: str, boot: NextBoot) -> None:
    """``ip link set``, ``ip address``, ``ip route`` (table main), ``ifconfig``: plain words; others change nothing."""
    for found in _IP.finditer(text):
        if "$" not in found["rest"] and not _OTHER_TABLE.search(found["rest"]):
            _ip(found["rest"].split(), path, boot)
    for found in _IFCONFIG.finditer(text):
        words = re.sub(r"\s+netmask\s+", "/", found["rest"]).split()
        planned = boot.interfaces.setdefault(found["name"], Planned())
        if "mtu" in words[:-1] and words[words.index("mtu") + 1].isdigit():
            planned.set_mtu(int(words[words.index("mtu") + 1]), path)
        if words and "/" in words[0]:
            _changed_address("add", words[0], path, planned)
        if words[:1] == ["down"]:
            planned.down_by = path


def _ip(words: list[str], path: str, boot: NextBoot) -> None:
    thing, verb, rest = words[0], words[1] if len(words) > 1 else "", words[2:]
    after = {word: rest[at + 1] for at, word in enumerate(rest[:-1])}
    if thing[0] == "l" and verb == "set" and rest:
        name = after["dev"] if "dev" in after else rest[0]
        planned = boot.interfaces.setdefault(name, Planned())
        if after.get("mtu", "").isdigit():
            planned.set_mtu(int(after["mtu"]), path)
        if "down" in rest:
            planned.down_by = path
        elif "up" in rest:
            planned.down_by = ""
    elif thing[0] == "a" and "dev" in after:
        planned = boot.interfaces.setdefault(after["dev"], Planned())
        if verb == "flush":
            planned.addresses.clear()
            planned.by.append(path)
        elif rest:
            _changed_address(verb, rest[0], path, planned)
    elif thing[0] == "r" and "dev" in after and rest:
        planned = boot.interfaces.setdefault(after["dev"], Planned())
        try:
            route = normal_route(rest[0], after.get("via", ""))
        except ValueError:
            return
        if verb in ("add", "replace", "append"):
            planned.routes[route] = path
        elif verb in ("del", "delete"):
            planned.routes.pop(route, None)
    elif thing[0] == "r" and "via" in after and rest and verb in ("add", "replace", "append"):
        _routed(rest[0], after["via"], path, boot)


def _changed_address(verb: str, text: str, path: str, planned: Planned) -> None:
    address = str(interface_of(text) or "")
    if address and verb in ("add", "replace", "change"):
        planned.addresses[address] = path
    elif verb in ("del", "delete") and address in planned.addresses:
        del planned.addresses[address]
        planned.by.append(path)


def _routed(destination: str, via: str, path: str, boot: NextBoot) -> None:
    """Without a device: by that whose network holds the gateway."""
    try:
        gateway, route = ipaddress.ip_address(via), normal_route(destination, via)
    except ValueError:
        return
    for planned in boot.interfaces.values():
        if any(gateway in ipaddress.ip_interface(one).network for one in planned.addresses):
            planned.routes[route] = path


def apply_units(tree: Tree, boot: NextBoot) -> None:
    """Units of /etc that start at boot, rc.local, and this collection's own unit with its lists."""
    for path in tree.folder(LIST_DIRECTORY):
        name = path.rpartition("/")[2]
        if any(link.endswith(f"/rocemesh-mtu@{instance(name)}.service") for link in tree.links):
            for line in tree.files[path].splitlines():
                words = line.split()
                if len(words) == 2 and words[1].isdigit():
                    boot.interfaces.setdefault(words[0], Planned()).set_mtu(int(words[1]), path)
    for path in tree.folder(UNIT_DIRECTORY):
        unit = path.rpartition("/")[2]
        if not path.endswith(".service") or unit.endswith("@.service") or not tree.is_enabled(unit):
            continue
        for line in re.sub(r"\\\n", " ", tree.files.get(path, "")).splitlines():
            if re.match(r"\s*ExecStart(Pre|Post)?\s*=", line):
                commands(line.partition("=")[2].lstrip("-@:+! "), path, boot)
    script = "/etc/rc.local"
    if script in tree.executable:
        for line in tree.files[script].splitlines():
            if line.strip().startswith("exit"):
                break
            if not line.strip().startswith("#"):
                commands(line, script, boot)


def apply_drivers(tree: Tree, links: Mapping[str, Link], boot: NextBoot) -> None:
    """Drivers that modprobe's files keep from loading."""
    barred: dict[str, str] = {}
    for path in tree.folder("/etc/modprobe.d"):
        if path.endswith(".conf"):
            for line in tree.files.get(path, "").splitlines():
                words = line.split()
                refused = len(words) > 2 and words[0] == "install" and words[2] in _NOTHING
                if len(words) > 1 and (words[0] == "blacklist" or refused):
                    barred[words[1].replace("-", "_")] = path
    for link in links.values():
        if link.driver.replace("-", "_") in barred and link.driver:
            boot.without[link.name] = barred[link.driver.replace("-", "_")]
