"""What NetworkManager makes of an interface at the next boot, from its profiles (keyfiles, and ifcfg files of RHEL).

Pure: no I/O. Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from typing import Iterator, Mapping

from .boot_state import NextBoot, Planned, Tree
from .interface_state import Link, interface_of, sections

KEYFILES = (
    "/etc/NetworkManager/system-connections",
    "/run/NetworkManager/system-connections",
    "/usr/lib/NetworkManager/system-connections",
)
CONFIGURATION = ("/etc/NetworkManager/conf.d", "/run/NetworkManager/conf.d", "/usr/lib/NetworkManager/conf.d")
IFCFG = "/etc/sysconfig/network-scripts"
TIMES = "/var/lib/NetworkManager/timestamps"
_VIRTUAL = ("bond", "vlan", "bridge", "team")
_COPIES = ("~", ".bak", ".orig", ".rpmnew", ".rpmsave", ".swp")
_NO = frozenset(("false", "no", "0", "off"))
_NO_GATEWAY = frozenset(("", "0.0.0.0", "::"))
# Without quotes a value ends at a blank, and a comment may follow.
_SHELL = re.compile(r"^\s*(?P<key>[A-Z0-9_]+)=(?P<quote>[\"'])?(?P<value>(?(quote)[^\"'\n]*|\S*))", re.MULTILINE)


class Profile:
    """One connection that comes up by itself. ``settings``: (section, key) -> value of a keyfile."""

    def __init__(self, path: str, settings: dict[tuple[str, str], str]) -> None:
        self.path = path
        self.settings = settings

    def get(self, section: str, key: str, default: str = "") -> str:
        return self.settings.get((section, key), default)

    @property
    def uuid(self) -> str:
        return self.get("connection", "uuid")

    @property
    def interface(self) -> str:
        made = f"{self.get('vlan', 'parent')}.{self.get('vlan', 'id')}" if self.kind == "vlan" else ""
        return self.get("connection", "interface-name", made)

    @property
    def kind(self) -> str:
        kind = self.get("connection", "type")
        return {"ethernet": "", "802-3-ethernet": "", "infiniband": "ipoib"}.get(kind, kind)

    @property
    def table(self) -> str:
        """Of its routes where the family has none; the ports of a VRF have their addresses still."""
        return "vrf" if "vrf" in (self.get("connection", "port-type"), self.get("connection", "slave-type")) else "0"

    @property
    def priority(self) -> int:
        text = self.get("connection", "autoconnect-priority", "0")
        return int(text) if re.fullmatch(r"-?\d+", text) else 0

    def is_automatic(self) -> bool:
        return self.get("connection", "autoconnect", "true").lower() not in _NO

    def fits(self, link: Link) -> bool:
        if self.kind != link.kind:
            return False
        if self.interface and self.interface != link.name:
            return False
        mac = self.get("ethernet", "mac-address") or self.get("802-3-ethernet", "mac-address")
        if mac and re.sub("-", ":", mac).lower() != link.mac:
            return False
        own = {"interface-name": link.name, "driver": link.driver, "path": link.udev.get("ID_PATH", "")}
        for key, name in own.items():
            patterns = [one for one in self.get("match", key).split(";") if one]
            if patterns and not any(fnmatch.fnmatchcase(name, one) for one in patterns):
                return False
        return bool(self.interface) or not link.kind


def profiles(tree: Tree) -> list[Profile]:
    """A file of /etc hides one of the same name further down; what is not root's alone is not read."""
    found: dict[str, Profile] = {}
    for folder in reversed(KEYFILES):
        for path in tree.folder(folder):
            name = path.rpartition("/")[2]
            if name.startswith(".") or name.endswith(_COPIES):
                continue
            if path in tree.masked:
                found.pop(name, None)
            elif path not in tree.loose:
                settings = {
                    (section, key): value for section, rows in sections(tree.files[path]) for key, value in rows
                }
                if ("connection", "type") in settings:
                    found[name] = Profile(path, settings)
    return [*found.values(), *_ifcfg(tree)]


def apply(tree: Tree, links: Mapping[str, Link], boot: NextBoot, ifupdown: frozenset[str] = frozenset()) -> None:
    """Add what NetworkManager sets up to ``boot``; ``ifupdown``: interfaces that its plugin leaves to ifupdown."""
    there = [one for one in profiles(tree) if one.is_automatic()]
    refused, plain = _configuration(tree)
    for one in there:
        if one.kind in _VIRTUAL and one.interface:
            boot.created.setdefault(one.interface, one.path)
    names = {one.uuid: one.interface for one in there if one.uuid and one.interface}
    made = {name: Link(name=name, kind=next(one.kind for one in there if one.interface == name))
            for name in boot.created if name not in links and any(one.interface == name for one in there)}  # fmt: skip
    times = {
        key: int(value) for _name, rows in sections(tree.files.get(TIMES, "")) for key, value in rows if value.isdigit()
    }
    taken: dict[str, str] = {}
    for link in [*links.values(), *made.values()]:
        if link.name in ifupdown or _is_listed(refused, link) or link.udev.get("NM_UNMANAGED") in ("1", "true"):
            continue
        chosen = _choose(
            [one for one in there if one.fits(link) and taken.get(one.path, link.name) == link.name], link, times
        )
        if chosen is not None:
            several = chosen.get("match", "interface-name") or chosen.get("connection", "multi-connect") in ("2", "3")
            if not several:
                taken[chosen.path] = link.name
            _profile(chosen, names, boot.interfaces.setdefault(link.name, Planned()), boot, link.name)
        elif not link.kind and link.driver and not _is_listed(plain, link):
            planned = boot.interfaces.setdefault(link.name, Planned())
            planned.by.append("NetworkManager without a profile: DHCP")
            planned.dhcp |= {4, 6}
            planned.dhcp_mtu = True


def _choose(found: list[Profile], link: Link, times: Mapping[str, int]) -> Profile | None:
    """By priority; of equal ones that which was up last, so the present one."""
    return max(found, key=lambda one: (one.priority, one.uuid == link.profile, times.get(one.uuid, 0)), default=None)


def _configuration(tree: Tree) -> tuple[list[str], list[str]]:
    """unmanaged-devices and no-auto-default; the last file that sets one wins, ``+=`` adds to those before it."""
    lists: dict[str, list[str]] = {}
    main = "/etc/NetworkManager/NetworkManager.conf"
    found = [main, *tree.in_force(CONFIGURATION, ".conf").values()]
    for path in sorted(found, key=lambda one: (one.startswith("/etc/"), one != main)):
        for section, rows in sections("" if path in tree.masked else tree.files.get(path, "")):
            for key, value in rows:
                name = f"{section}.{key.rstrip('+')}"
                before = lists.get(name, []) if key.endswith("+") else []
                lists[name] = before + [one for one in re.split("[;,]", value) if one.strip()]
    return lists.get("keyfile.unmanaged-devices", []), lists.get("main.no-auto-default", [])


def _is_listed(words: list[str], link: Link) -> bool:
    """NetworkManager's list of devices: names, MAC addresses, types, drivers, ``*``, ``except:`` (alone: all else)."""
    listed = bool(words) and all(each.strip().startswith("except:") for each in words)
    for word in (each.strip() for each in words):
        negative = word.startswith("except:")
        key, colon, value = word[7 * negative :].partition(":")
        if not colon or re.fullmatch("[0-9A-Fa-f]{2}", key):
            value = word[7 * negative :]
            hit = value == "*" or value.lower() == link.mac or value == link.name
        else:
            own = {"interface-name": link.name, "mac": link.mac, "driver": link.driver, "type": link.kind or "ethernet"}
            hit = key in own and fnmatch.fnmatchcase(own[key], value.lower() if key == "mac" else value.lstrip("=~"))
        if hit and negative:
            return False
        listed = listed or hit
    return listed


def _profile(one: Profile, names: Mapping[str, str], planned: Planned, boot: NextBoot, link: str) -> None:
    planned.by.append(one.path)
    master = one.get("connection", "controller") or one.get("connection", "master")
    if master:
        planned.master, planned.master_by = names.get(master, master), one.path
    if not master or one.table == "vrf":
        for family, section in ((4, "ipv4"), (6, "ipv6")):
            _addresses(one, section, family, planned)
    mtu = one.get("ethernet", "mtu") or one.get("802-3-ethernet", "mtu") or "0"
    if mtu.isdigit() and int(mtu):
        planned.set_mtu(int(mtu), one.path)
    planned.dhcp_mtu = planned.dhcp_mtu or 4 in planned.dhcp
    if one.get("ethernet", "cloned-mac-address") not in ("", "preserve", "permanent"):
        boot.unknown.setdefault(link, f"{one.path} sets a MAC address, which is not followed here")


def _addresses(one: Profile, section: str, family: int, planned: Planned) -> None:
    method = one.get(section, "method", "auto")
    if method in ("auto", "dhcp"):
        planned.dhcp.add(family)
    if family == 6:
        planned.router_advertisements = method in ("auto", "ignore")
    if method not in ("auto", "manual"):
        return
    gateways = [one.get(section, "gateway")]
    for text in _listed(one, section, "address"):
        address, _comma, gateway = text.partition(",")
        interface = interface_of(address.strip())
        if interface and not interface.is_link_local:
            planned.addresses[str(interface)] = one.path
        gateways.append(gateway.strip())
    if _is_in_main(one, section) and one.get(section, "never-default", "false").lower() in _NO:
        for gateway in {*gateways} - _NO_GATEWAY:
            planned.add_route("default", gateway, one.path, family)
    for text in _listed(one, section, "route"):
        fields = [each.strip() for each in text.split(",")]
        gateway = "".join(fields[1:2])
        planned.add_route(fields[0], "" if gateway in _NO_GATEWAY else gateway, one.path, family)


def _listed(one: Profile, section: str, key: str) -> Iterator[str]:
    """address1, address2 ... (addresses1 in older files), and the list of newer ones."""
    for (name, each), value in one.settings.items():
        if name == section and re.fullmatch(key + r"(?:es|s)?\d+", each):
            if key == "address" or _is_in_main(one, section, each):
                yield value
        elif name == section and each in (f"{key}es", f"{key}s"):
            yield from (text for text in value.split(";") if text.strip())


def _is_in_main(one: Profile, section: str, route: str = "") -> bool:
    """The table of the route itself goes before that of all routes of the family, the gateway's among them."""
    own = re.search(r"\btable=([1-9]\d*)", one.get(section, f"{route}_options"))
    return (own.group(1) if own else one.get(section, "route-table", one.table)) in ("0", "254")


# ---- ifcfg files of RHEL --------------------------------------------------------------------------------------------


def _ifcfg(tree: Tree) -> Iterator[Profile]:
    for path in tree.folder(IFCFG):
        name = path.rpartition("/")[2]
        if not name.startswith("ifcfg-") or name == "ifcfg-lo" or name.endswith(_COPIES):
            continue
        row = {each["key"]: each["value"] for each in _SHELL.finditer(tree.files.get(path, ""))}
        if row.get("NM_CONTROLLED", "yes").lower() in _NO:
            continue
        kind = "vlan" if row.get("VLAN", "no").lower() == "yes" else row.get("TYPE", "").lower()
        kind = "bond" if "BONDING_OPTS" in row else kind
        settings = {
            ("connection", "type"): kind,
            ("connection", "uuid"): row.get("UUID", ""),
            ("connection", "interface-name"): row.get("DEVICE", ""),
            ("connection", "autoconnect"): row.get("ONBOOT", "yes"),
            ("connection", "autoconnect-priority"): row.get("AUTOCONNECT_PRIORITY", "0"),
            ("connection", "master"): row.get("MASTER") or row.get("TEAM_MASTER") or row.get("BRIDGE", ""),
            ("ethernet", "mac-address"): row.get("HWADDR", ""),
            ("ethernet", "mtu"): row.get("MTU", ""),
            ("ipv4", "method"): "auto" if row.get("BOOTPROTO", "none").lower() in ("dhcp", "bootp") else "manual",
            ("ipv4", "gateway"): row.get("GATEWAY", ""),
            ("ipv4", "never-default"): "false" if row.get("DEFROUTE", "yes").lower() == "yes" else "true",
            ("ipv6", "method"): "auto" if row.get("IPV6INIT", "yes") == "yes" else "disabled",
        }
        for number in ("", *map(str, range(10))):
            address = row.get(f"IPADDR{number}", "")
            if address:
                prefix = row.get(f"PREFIX{number}") or _prefix(row.get(f"NETMASK{number}", ""))
                settings["ipv4", f"address{number or '99'}"] = f"{address}/{prefix}"
        for at, address in enumerate([row.get("IPV6ADDR", ""), *row.get("IPV6ADDR_SECONDARIES", "").split()]):
            settings["ipv6", f"address{at}"] = address
        for family, file in (("ipv4", f"{IFCFG}/route-{name[6:]}"), ("ipv6", f"{IFCFG}/route6-{name[6:]}")):
            for at, (route, options) in enumerate(_routes(tree.files.get(file, ""))):
                settings[family, f"route{at}"], settings[family, f"route{at}_options"] = route, options
        yield Profile(path, settings)


def _routes(text: str) -> Iterator[tuple[str, str]]:
    """Lines ``DESTINATION via GATEWAY table N``, or ADDRESS0, NETMASK0 and GATEWAY0: as keyfiles have them."""
    row = dict(re.findall(r"^\s*([A-Z]+\d+)=[\"']?([^\"'\s]*)", text, re.MULTILINE))
    for number in [key[7:] for key in row if key.startswith("ADDRESS")]:
        prefix = _prefix(row.get(f"NETMASK{number}", ""))
        yield f"{row[f'ADDRESS{number}']}/{prefix},{row.get(f'GATEWAY{number}', '')}", ""
    for words in [line.partition("#")[0].split() for line in ([] if row else text.splitlines())]:
        after = dict(zip(words, words[1:]))
        if words:
            yield f"{words[0]},{after.get('via', '')}", f"table={after.get('table', '0')}"


def _prefix(mask: str) -> str:
    try:
        return str(ipaddress.ip_network(f"0.0.0.0/{mask}").prefixlen)
    except ValueError:
        return "32"
