"""Reads what the next boot of a guest reads, and what is there now. Changes nothing.

netplan's generator runs on a copy of its files; everything else is read. Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import dataclasses
import glob
import os
import re
import stat
from typing import Any

from .._layer import LayerError
from . import boot_commands, boot_networkd, boot_profiles
from .boot_networkd import RULE_FOLDERS
from .boot_profiles import CONFIGURATION, KEYFILES
from .boot_state import NextBoot, Present, Tree, as_result, parse_mounts
from .interface_reading import NETPLAN, InterfaceReader, netplan_copy
from .interface_state import NETWORK_FOLDERS, Link, last, parse_pairs, parse_routes, sections
from .manifest import leftovers, read, written
from .node import names_in

# Files right in these folders.
_FOLDERS = (
    *NETWORK_FOLDERS,
    *KEYFILES,
    *CONFIGURATION,
    *RULE_FOLDERS,
    "/etc/network/interfaces.d",
    "/run/network/interfaces.d",  # Debian's images for clouds
    "/etc/sysconfig/network-scripts",
    "/etc/systemd/system",
    "/etc/modprobe.d",
    "/etc/rocemesh/mtu",
)
_SINGLE = (
    "/etc/network/interfaces",
    "/etc/NetworkManager/NetworkManager.conf",
    "/var/lib/NetworkManager/timestamps",
    "/etc/rc.local",
    "/etc/fstab",
)
_WANTS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
_LARGEST = 256 * 1024
_BY = {"by-uuid": "UUID=", "by-label": "LABEL=", "by-partuuid": "PARTUUID=", "by-partlabel": "PARTLABEL="}


def read_next_boot(reader: InterfaceReader) -> dict[str, Any]:
    """``differences``, ``unknown`` (what was not compared, and why) and ``leftovers`` of other releases."""
    found: dict[str, Any] = {"differences": [], "unknown": [], "leftovers": {}}
    try:
        present, tree = read_present(reader), read_tree(reader)
        found.update(as_result(present, next_boot(tree, present), tree))
    except (LayerError, OSError) as error:
        found["unknown"] = [f"interfaces: {error}"]
    try:
        found["leftovers"] = leftovers(reader.root, written(reader.root), read(reader.root))
    except (LayerError, OSError) as error:
        found["unknown"].append(f"leftovers: {error}")
    return found


def next_boot(tree: Tree, present: Present) -> NextBoot:
    """All that sets up interfaces, in the order in which the boot runs it. Pure."""
    boot = NextBoot()
    links = present.interfaces
    boot_networkd.apply_rules(tree, links, boot, late=False)
    boot_networkd.apply_links(tree, links, boot, present.command_line)
    boot_networkd.apply_rules(tree, links, boot, late=True)
    ifupdown = tree.is_enabled("networking.service")
    manager = tree.is_enabled("NetworkManager.service")
    networkd = boot_networkd.is_starting(tree)
    if ifupdown:
        boot_commands.apply(tree, boot)
    if manager:
        boot_profiles.apply(tree, links, boot, _left_to_ifupdown(tree))
    if networkd:
        boot_networkd.apply(tree, links, boot, present.command_line)
    boot_commands.apply_units(tree, boot)
    boot_commands.apply_drivers(tree, links, boot)
    boot.managed = ifupdown or manager or networkd
    return boot


def _left_to_ifupdown(tree: Tree) -> frozenset[str]:
    """What NetworkManager's plugin of Debian leaves alone: all that ifupdown's files name."""
    parts = sections(tree.files.get("/etc/NetworkManager/NetworkManager.conf", ""))
    if "ifupdown" not in last(parts, "main", "plugins") or last(parts, "ifupdown", "managed") == "true":
        return frozenset()
    try:
        return frozenset(one.interface for one in boot_commands.parse(tree).stanzas)
    except boot_commands.Refused:
        return frozenset()


# ---- the files of the next boot -------------------------------------------------------------------------------------


def _take(tree: Tree, path: str, root: str) -> None:
    place = os.path.join(root, path.lstrip("/"))
    if os.path.islink(place) and os.path.realpath(place) == "/dev/null":
        tree.masked.add(path)
        return
    try:
        known = os.stat(place)
        if not stat.S_ISREG(known.st_mode) or known.st_size > _LARGEST:
            return
        with open(place, encoding="utf-8", errors="replace") as stream:
            tree.files[path] = stream.read()
    except OSError:
        return
    if known.st_mode & 0o077 or (os.geteuid() == 0 and known.st_uid != 0):
        tree.loose.add(path)
    if known.st_mode & 0o111:
        tree.executable.add(path)


def _take_folder(tree: Tree, path: str, root: str, of_netplan: bool = False) -> None:
    """What netplan's generator has made in /run is made anew at the next boot: that is read from the copy."""
    for name in names_in(os.path.join(root, path.lstrip("/"))):
        if path.startswith("/run/") and not name.endswith(".d") and is_of_netplan(name) != of_netplan:
            continue
        place = os.path.join(root, path.lstrip("/"), name)
        if not os.path.isdir(place):
            _take(tree, f"{path}/{name}", root)
        elif name.endswith(".d") and not of_netplan:
            for each in names_in(place):
                _take(tree, f"{path}/{name}/{each}", root)


def read_tree(reader: InterfaceReader) -> Tree:
    tree = Tree()
    for path in _FOLDERS:
        _take_folder(tree, path, reader.root)
    for path in _SINGLE:
        _take(tree, path, reader.root)
    for base in _WANTS:
        for place in glob.glob(os.path.join(reader.root, base.lstrip("/"), "*", "*")):
            if os.path.dirname(place).endswith((".wants", ".requires")):
                tree.links.add("/" + os.path.relpath(place, reader.root))
    if _has_netplan(reader):
        with netplan_copy(reader) as (copy, said):
            tree.netplan = said.replace(copy, "")
            for path in (NETWORK_FOLDERS[1], KEYFILES[1], CONFIGURATION[1]):
                _take_folder(tree, path, copy, of_netplan=True)
    return tree


def is_of_netplan(name: str) -> bool:
    return name.startswith(("10-netplan-", "netplan-")) or name == "10-globally-managed-devices.conf"


def _has_netplan(reader: InterfaceReader) -> bool:
    """Files, and a generator for them: without one the boot makes nothing of them."""
    there = any(glob.glob(os.path.join(reader.root, folder, "*.yaml")) for folder in NETPLAN)
    return there and (any(os.path.exists(one) for one in reader.generators) or reader.which("netplan") is not None)


# ---- what is there now ----------------------------------------------------------------------------------------------


def read_present(reader: InterfaceReader) -> Present:
    interfaces = {name: _known(reader, link) for name, link in reader.links().items() if name != "lo"}
    routes: dict[str, Any] = {}
    for family in (4, 6):
        text = reader.ip(f"-{family}", "-json", "route", "show")
        for name, rows in parse_routes(text, family, reader.host).items():
            routes[name] = routes.get(name, frozenset()) | rows
    return Present(
        interfaces,
        routes,
        parse_mounts(reader.read("/proc/self/mountinfo")),
        _devices(reader),
        reader.read("/proc/cmdline").strip(),
    )


def _known(reader: InterfaceReader, link: Link) -> Link:
    """With who manages it, and its udev record."""
    networkd = parse_pairs(reader.read(f"/run/systemd/netif/links/{link.index}"))
    lease = parse_pairs(reader.read(f"/run/systemd/netif/leases/{link.index}")).get("ADDRESS", "")
    device = {key: value for _name, rows in sections(reader.read(f"/run/NetworkManager/devices/{link.index}"))
              for key, value in rows}  # fmt: skip
    manager = ""
    if networkd.get("NETWORK_FILE"):
        manager = "networkd"
    elif device.get("managed") == "true" and device.get("connection-uuid") and not _is_taken_over(reader, link.name):
        manager = "NetworkManager"
    elif f"{link.name}={link.name}" in reader.read("/run/network/ifstate").split():
        manager = "ifupdown"
    return dataclasses.replace(
        link,
        manager=manager,
        lasting={one: given or one.split("/")[0] == lease for one, given in link.lasting.items()},
        profile=device.get("connection-uuid", ""),
        udev=parse_pairs(reader.read(f"/run/udev/data/n{link.index}"), "E:"),
        renamed=reader.sysfs.read(os.path.join(reader.sysfs.root, "class/net", link.name), "name_assign_type") == "4",
    )


def _is_taken_over(reader: InterfaceReader, name: str) -> bool:
    """Another program has set it up (Docker its bridge), and NetworkManager has made a profile of what it found."""
    rows = sections(reader.read(f"/run/NetworkManager/system-connections/{name}.nmconnection"))
    return any(row == ("external", "true") for _section, settings in rows for row in settings)


def _devices(reader: InterfaceReader) -> dict[str, str]:
    """What fstab may name -> MAJOR:MINOR, of the devices that fstab does name or that udev has links for."""
    found = {}
    for folder, word in _BY.items():
        for name in names_in(reader.path(f"/dev/disk/{folder}")):
            # udev writes a blank as \x20.
            plain = re.sub(r"\\x([0-9a-f]{2})", lambda code: chr(int(code.group(1), 16)), name)
            found[word + plain] = _number(reader.path(f"/dev/disk/{folder}/{name}"))
    for line in reader.read("/etc/fstab").splitlines():
        source = line.split()[0] if line.split() else ""
        if source.startswith("/dev/"):
            found[source] = _number(reader.path(source))
    return {name: number for name, number in found.items() if number}


def _number(path: str) -> str:
    try:
        known = os.stat(path)
    except OSError:
        return ""
    return f"{os.major(known.st_rdev)}:{os.minor(known.st_rdev)}" if stat.S_ISBLK(known.st_mode) else ""
