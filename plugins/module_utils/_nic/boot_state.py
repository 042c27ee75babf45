"""What the next boot of a guest makes of its network and mounts, what is there now, and how the two differ.

Pure: no I/O. Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import re
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from .interface_state import DEFAULT_MTU, Link, Route, normal_route

# Their interfaces appear with DEFAULT_MTU, that of ether_setup (Linux 6.1: no probe of these drivers sets another one);
# other drivers (ena, gve, virtio_net, hv_netvsc) take the MTU of their host.
_PLAIN_DRIVERS = frozenset(
    {"mlx5_core", "mlx4_en", "vmxnet3", "e1000", "e1000e", "igb", "ixgbe", "i40e", "ice", "bnxt_en"}
)
# Routes of the kernel, of router advertisements and of routing daemons: in no file that is read here.
_LIVING_ROUTES = frozenset(
    {"kernel", "ra", "redirect", "bird", "zebra", "bgp", "ospf", "isis", "rip", "eigrp", "babel", "gated", "mrt"}
    | {"xorp", "dnrouted", "ntk", "keepalived", "openr"}
)


@dataclasses.dataclass
class Tree:
    """The files that the next boot reads: those on disk, with what netplan makes of its own ones anew.

    ``files``: path -> text; ``masked``: linked to /dev/null; ``links``: other symbolic links; ``loose``: files that
    others than their owner may read or write; ``executable``: files with an execute bit; ``netplan``: why netplan's
    files cannot be used, "" if they can.
    """

    files: dict[str, str] = dataclasses.field(default_factory=dict)
    masked: set[str] = dataclasses.field(default_factory=set)
    links: set[str] = dataclasses.field(default_factory=set)
    loose: set[str] = dataclasses.field(default_factory=set)
    executable: set[str] = dataclasses.field(default_factory=set)
    netplan: str = ""

    def folder(self, path: str) -> list[str]:
        """Files right below ``path``, sorted."""
        return sorted(name for name in {*self.files, *self.masked} if name.rpartition("/")[0] == path)

    def in_force(self, folders: Sequence[str], suffix: str) -> dict[str, str]:
        """Name -> path, by name; of one name that in the first of these folders that has it."""
        found = {path.rpartition("/")[2]: path for folder in reversed(folders) for path in self.folder(folder)}
        return {name: found[name] for name in sorted(found) if name.endswith(suffix)}

    def is_enabled(self, unit: str) -> bool:
        return f"/etc/systemd/system/{unit}" not in self.masked and any(
            link.endswith((f".wants/{unit}", f".requires/{unit}")) for link in self.links
        )


class Mount(NamedTuple):
    """``source``: what the kernel names; ``device``: MAJOR:MINOR; ``root``: part of the file system, "/" for all."""

    target: str
    source: str
    kind: str
    device: str = ""
    root: str = "/"


class Present(NamedTuple):
    """``devices``: what fstab may name (UUID=..., /dev/...) -> MAJOR:MINOR of the device that is there now."""

    interfaces: Mapping[str, Link]
    routes: Mapping[str, frozenset[tuple[Route, str]]]  # interface -> (route, protocol)
    mounts: tuple[Mount, ...] = ()
    devices: Mapping[str, str] = {}
    command_line: str = ""


@dataclasses.dataclass
class Planned:
    """What the next boot makes of one interface; each value with the file that says so."""

    by: list[str] = dataclasses.field(default_factory=list)
    addresses: dict[str, str] = dataclasses.field(default_factory=dict)
    routes: dict[Route, str] = dataclasses.field(default_factory=dict)
    dhcp: set[int] = dataclasses.field(default_factory=set)
    router_advertisements: bool = True
    mtu: int = 0
    mtu_by: str = ""
    dhcp_mtu: bool = False
    mtu_open: bool = False  # a rule of udev may set it
    master: str = ""
    master_by: str = ""
    down_by: str = ""

    @property
    def file(self) -> str:
        return ", ".join(self.by) or "no file"

    def set_mtu(self, value: int, file: str) -> None:
        self.mtu, self.mtu_by = value, file

    def add_route(self, destination: str, gateway: str, file: str, family: int = 0) -> None:
        with contextlib.suppress(ValueError):  # who reads the file ignores what is no route
            self.routes[normal_route(destination, gateway, family)] = file


@dataclasses.dataclass
class NextBoot:
    """``managed``: whether any program that sets interfaces up starts; ``created``: virtual interfaces that it makes;
    ``names``: interface -> (name at the next boot, file); ``invalid``: file -> why its reader refuses it; ``unknown``:
    what is not followed here, and so not compared; ``without``: interface -> why its driver does not load."""

    interfaces: dict[str, Planned] = dataclasses.field(default_factory=dict)
    managed: bool = True
    created: dict[str, str] = dataclasses.field(default_factory=dict)
    names: dict[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    invalid: dict[str, str] = dataclasses.field(default_factory=dict)
    unknown: dict[str, str] = dataclasses.field(default_factory=dict)
    without: dict[str, str] = dataclasses.field(default_factory=dict)


class Difference(NamedTuple):
    """``code``: kind of the difference; ``place``: interface or mount point; ``now`` and ``then``: the two values;
    ``file``: what makes the value of the next boot."""

    code: str
    place: str
    now: str
    then: str
    file: str

    def as_result(self) -> dict[str, str]:
        return {**self._asdict(), "text": self.text}

    @property
    def text(self) -> str:
        thing = self.code.replace("_", " ")
        return f"{self.place}: {thing} is {self.now or 'none'}, after the next boot {self.then or 'none'} ({self.file})"


# ---- comparison -----------------------------------------------------------------------------------------------------


def compare(present: Present, boot: NextBoot) -> list[Difference]:
    """All differences of addresses, routes, MTU, names and masters. Empty: the next boot makes what is there now."""
    found = [Difference("file_invalid", file, "in use", f"refused: {why}", file) for file, why in boot.invalid.items()]
    if found:
        return found  # what else comes of that is no difference of its own
    for name, link in sorted(present.interfaces.items()):
        if is_compared(link, boot) and name not in boot.unknown:
            found += _interface(link, present, boot)
    for name, file in sorted(boot.created.items()):
        planned = boot.interfaces.get(name, Planned())
        if name not in present.interfaces and planned.addresses:
            found.append(Difference("address", name, "", ", ".join(sorted(planned.addresses)), file))
    return found


def is_compared(link: Link, boot: NextBoot) -> bool:
    """Devices, and virtual interfaces that a network manager calls its own, but no bridge of an engine."""
    if link.manager:
        return True
    return bool(boot.managed and link.driver and not link.kind)


def _interface(link: Link, present: Present, boot: NextBoot) -> Iterator[Difference]:
    if link.name in boot.without:
        yield Difference("driver", link.name, link.driver, "", boot.without[link.name])
        return
    then, file = boot.names.get(link.name, (link.name, ""))
    if then != link.name:
        yield Difference("name", link.name, link.name, then, file)
        return
    planned = boot.interfaces.get(link.name, Planned())
    if link.kind in ("bond", "vlan", "bridge", "team") and link.name not in boot.created:
        yield Difference("interface", link.name, link.kind, "", planned.file)
        return
    if planned.master != link.master and (planned.master or present.interfaces.get(link.master, link).manager):
        yield Difference("master", link.name, link.master, planned.master, planned.master_by or planned.file)
    if planned.down_by:
        yield Difference("state", link.name, "up", "down", planned.down_by)
        return
    yield from _addresses(link, planned)
    yield from _routes(link, planned, present.routes.get(link.name, frozenset()))
    then_mtu, mtu_by = _mtu(link, present, boot)
    if then_mtu and then_mtu != link.mtu:
        yield Difference("mtu", link.name, str(link.mtu), str(then_mtu), mtu_by)


def _family(address: str) -> int:
    return ipaddress.ip_interface(address).version


def _addresses(link: Link, planned: Planned) -> Iterator[Difference]:
    kept = [one for one in link.lasting if one in planned.addresses or _comes_again(one, link, planned)]
    lost = [one for one in link.lasting if one not in kept]
    # A single address beside one that stays belongs to a program that moves it (VRRP, a load balancer).
    moving = [
        one
        for one in lost
        if ipaddress.ip_interface(one).network.num_addresses == 1
        and any(_family(one) == _family(other) for other in kept)
    ]
    for one in lost:
        if one not in moving:
            same = (new for new in planned.addresses if new.split("/")[0] == one.split("/")[0])
            then = next(same, "")
            then = then or ("by DHCP" if _family(one) in planned.dhcp else "")
            yield Difference("address", link.name, one, then, planned.addresses.get(then, planned.file))
    known = {one.split("/")[0] for one in link.lasting}
    for one, file in sorted(planned.addresses.items()):
        if link.carrier and one.split("/")[0] not in known:
            yield Difference("address", link.name, "", one, file)


def _comes_again(address: str, link: Link, planned: Planned) -> bool:
    if not link.lasting[address]:
        return False
    family = _family(address)
    return family in planned.dhcp or (family == 6 and planned.router_advertisements)


def _routes(link: Link, planned: Planned, routes: frozenset[tuple[Route, str]]) -> Iterator[Difference]:
    present = {route for route, _protocol in routes}
    for route, protocol in sorted(routes):
        family, destination, _via = route
        if protocol in _LIVING_ROUTES or route in planned.routes or destination.startswith(("fe80:", "ff00:")):
            continue
        if family in planned.dhcp and protocol in ("dhcp", "boot", "static"):
            continue
        if family == 6 and planned.router_advertisements and protocol in ("dhcp", "boot") and destination == "default":
            continue
        other = [words(new) for new in planned.routes if new[:2] == route[:2] and new not in present]
        yield Difference("route", link.name, words(route), ", ".join(other), planned.file)
    lost = {route[:2] for route, _protocol in routes if route not in planned.routes}
    for route, file in sorted(planned.routes.items()):
        if link.carrier and route not in present and route[:2] not in lost:
            yield Difference("route", link.name, "", words(route), file)


def words(route: Route) -> str:
    return f"{route[1]} via {route[2]}" if route[2] else route[1]


def _mtu(link: Link, present: Present, boot: NextBoot) -> tuple[int, str]:
    """0: not known, so not compared."""
    planned = boot.interfaces.get(link.name, Planned())
    if planned.mtu:
        return planned.mtu, planned.mtu_by
    if planned.dhcp_mtu or planned.mtu_open or link.master:
        return 0, ""
    if link.kind == "vlan" and link.parent in present.interfaces:
        mtu, by = _mtu(present.interfaces[link.parent], present, boot)
        return (mtu if mtu and mtu < link.mtu else 0), by
    if link.kind == "bond" or (not link.kind and link.driver in _PLAIN_DRIVERS):
        return DEFAULT_MTU, f"{planned.file}, which sets none"
    return 0, ""


# ---- mounts ---------------------------------------------------------------------------------------------------------

_SHARED = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "lustre", "ceph", "beegfs", "gpfs", "glusterfs", "fuse.glusterfs", "fuse.sshfs"}
)
_DISKS = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "vfat", "f2fs", "jfs"})
_ELSEWHERE = (
    *("/run/", "/media/", "/snap/", "/proc/", "/sys/", "/dev/", "/tmp/", "/var/lib/docker/", "/var/lib/kubelet/"),
    *("/var/lib/containerd/", "/var/lib/containers/", "/var/snap/"),
)
_STOPS = ", which is not there: the boot stops in emergency mode"


class Entry(NamedTuple):
    source: str
    target: str
    kind: str
    options: frozenset[str]


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """``/proc/self/mountinfo``. Of two at one place the later one is on top."""
    found: dict[str, Mount] = {}
    for line in text.splitlines():
        left, _dash, right = line.partition(" - ")
        place, kind = left.split(), right.split()
        if len(place) < 6 or len(kind) < 2:
            continue
        target = _plain(place[4])
        found[target] = Mount(target, _plain(kind[1]), kind[0], place[2], _plain(place[3]))
    return tuple(found.values())


def parse_fstab(text: str) -> tuple[list[Entry], list[str]]:
    """Entries, and lines that are none."""
    entries, wrong = [], []
    for line in text.splitlines():
        words_ = line.split()
        if not words_ or words_[0].startswith("#"):
            continue
        if len(words_) < 3:
            wrong.append(line.strip())
            continue
        options = frozenset((words_[3] if len(words_) > 3 else "defaults").split(","))
        target = words_[1] if words_[1] == "/" else _plain(words_[1]).rstrip("/")
        entries.append(Entry(re.sub("[\"']", "", _plain(words_[0])), target, words_[2], options))
    return entries, wrong


def _plain(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), text)


def compare_mounts(present: Present, tree: Tree) -> list[Difference]:
    fstab = "/etc/fstab"
    entries, wrong = parse_fstab(tree.files.get(fstab, ""))
    found = [Difference("file_invalid", fstab, "in use", f"line {line!r}", fstab) for line in wrong]
    mounted = {mount.target: mount for mount in present.mounts}
    for entry in entries:
        if entry.kind == "swap" or entry.target in ("none", "swap") or entry.kind in ("proc", "sysfs", "devpts"):
            continue
        if entry.options & {"noauto", "x-systemd.automount"}:
            continue
        found += _entry(entry, mounted.get(entry.target), present)
    kept = {entry.target for entry in entries} | _units(tree)
    for mount in present.mounts:
        if _would_be_gone(mount, kept, mounted):
            found.append(Difference("mount", mount.target, mount.source, "", fstab))
    return found


def _units(tree: Tree) -> set[str]:
    """Mount points of units of their own, automounts among them."""
    found = set()
    for path, text in tree.files.items():
        if path.endswith((".mount", ".automount")) and path.startswith("/etc/systemd/system/"):
            unit = path.rpartition("/")[2]
            where = re.search(r"^\s*Where\s*=\s*(\S+)", text, re.MULTILINE)
            if where and tree.is_enabled(unit):
                found.add(where.group(1))
    return found


def _entry(entry: Entry, mount: Mount | None, present: Present) -> Iterator[Difference]:
    is_device = entry.source.startswith(("/dev/", "UUID=", "LABEL=", "PARTUUID=", "PARTLABEL=", "ID="))
    device = present.devices.get(entry.source, "")
    stops = "" if "nofail" in entry.options else f"{entry.source}{_STOPS}"
    then = ""
    if mount is None:
        then = entry.source if device or not is_device else stops
    elif is_device and mount.kind in _DISKS and mount.kind != "btrfs":
        if not device:
            then = stops if entry.target != "/" else ""
        elif mount.device and device != mount.device:
            then = entry.source
    elif mount.kind in _SHARED and not is_device and mount.source.rstrip("/") != entry.source.rstrip("/"):
        then = entry.source
    if then:
        yield Difference("mount", entry.target, mount.source if mount else "", then, "/etc/fstab")


def _would_be_gone(mount: Mount, kept: set[str], mounted: Mapping[str, Mount]) -> bool:
    if mount.target in kept or mount.target == "/" or mount.root != "/":
        return False
    if mount.target.startswith(_ELSEWHERE) or mount.source.startswith(("/dev/loop", "/dev/zd", "/dev/sr")):
        return False
    if mount.target in ("/boot", "/efi", "/boot/efi"):
        return False  # systemd-gpt-auto-generator mounts them without a line
    if mount.kind in _DISKS:
        return mount.source.startswith("/dev/")
    above = [other for other in mounted.values() if mount.target.startswith(other.target.rstrip("/") + "/")]
    return mount.kind in _SHARED and not any(other.kind == "autofs" for other in above)


def as_result(present: Present, boot: NextBoot, tree: Tree) -> dict[str, Any]:
    if tree.netplan:
        differences = [Difference("file_invalid", "/etc/netplan", "in use", f"refused: {tree.netplan}", "/etc/netplan")]
    else:
        differences = compare(present, boot)
    differences += compare_mounts(present, tree)
    return {
        "differences": [one.as_result() for one in differences],
        "unknown": [f"{name}: {why}" for name, why in sorted(boot.unknown.items())],
    }
