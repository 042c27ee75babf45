"""Observes who sets an interface up: asked from those who do it, and checked on a copy of their files.

Changes nothing. Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import re
import shutil
import tempfile
from typing import Any, Iterator, Mapping, Sequence

from .._layer import LayerError, UnreachableError
from .interface_plan import LIST_DIRECTORY, wants_link
from .interface_state import (
    DROPIN,
    IFUPDOWN,
    NETWORK_FOLDERS,
    NETWORK_MANAGER,
    NETWORKD,
    UNKNOWN,
    Keeper,
    Link,
    last,
    matches_one_only,
    netplan_id,
    parse_links,
    parse_pairs,
    parse_routes,
    parse_terse,
    parse_unit_file,
    sections,
    split_terse,
    uses_dhcp_mtu,
    without_mtu,
)
from .node import Node
from .transport import Finished

# From netplan 1.2 on, configure writes the files, and generate, which is for systemd alone, aborts.
_GENERATORS = ("/usr/libexec/netplan/configure", "/usr/libexec/netplan/generate", "/usr/lib/netplan/generate",
               "/lib/netplan/generate")  # fmt: skip
NETPLAN = ("etc/netplan", "run/netplan", "lib/netplan", "usr/lib/netplan")


class InterfaceReader(Node):
    """The interfaces of one node. ``root``: where its files lie."""

    def __init__(self, host: str, *, root: str = "/", generators: Sequence[str] = _GENERATORS, **outside: Any) -> None:
        super().__init__(host, **outside)
        self.root = root
        self.generators = generators

    def path(self, name: str) -> str:
        return os.path.join(self.root, name.lstrip("/"))

    def read(self, name: str) -> str:
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as stream:
                return stream.read()
        except OSError:
            return ""

    def tool(self, *argv: str) -> Finished | None:
        """None if it is not installed; raises if it does not answer."""
        program = self.which(argv[0])
        if program is None:
            return None
        try:
            return self.run([program, *argv[1:]], self.timeout)
        except TimeoutError:
            raise UnreachableError(
                f"no answer within {self.timeout:g} s",
                host=self.host,
                thing=" ".join(argv[:3]),
                remedy="run it by hand; raise tool_timeout if it is only slow",
            ) from None

    def ip(self, *words: str) -> str:
        done = self.tool("ip", *words)
        if done is None or done.code != 0:
            said = "not installed" if done is None else done.err.strip() or f"status {done.code}"
            raise LayerError(said, host=self.host, thing="ip " + " ".join(words), remedy="install iproute2")
        return done.out

    # ---- links ------------------------------------------------------------------------------------------------------

    def links(self) -> dict[str, Link]:
        found = parse_links(self.ip("-details", "-json", "address", "show"), self.host)
        devices = self._devices()
        return {
            name: dataclasses.replace(
                link,
                driver=self.driver(name),
                devices=tuple(device for device, _layer in devices.get(name, [])),
                link_layer=devices[name][0][1] if name in devices else "",
            )
            for name, link in found.items()
        }

    def default_routes(self) -> frozenset[str]:
        """The interfaces that carry one, each path of a multipath route too."""
        both = ((family, self.ip(f"-{family}", "-json", "route", "show", "default")) for family in (4, 6))
        return frozenset(name for family, text in both for name in parse_routes(text, family, self.host))

    def driver(self, name: str) -> str:
        path = os.path.join(self.sysfs.root, "class/net", name, "device/driver")
        return os.path.basename(os.path.realpath(path)) if os.path.exists(path) else ""

    def _devices(self) -> dict[str, list[tuple[str, str]]]:
        """Interface -> (RDMA device, link layer) of its function."""
        found: dict[str, list[tuple[str, str]]] = {}
        for path in sorted(glob.glob(os.path.join(self.sysfs.root, "class/infiniband", "*"))):
            layers = {self.sysfs.read(port, "link_layer") for port in glob.glob(os.path.join(path, "ports/*"))}
            layer = "Ethernet" if layers == {"Ethernet"} else ", ".join(sorted(layers))
            if "RNIC" in self.sysfs.read(path, "node_type"):
                layer = "iWARP"  # over Ethernet as well, and no RoCE
            for name in self._interfaces_of(path):
                found.setdefault(name, []).append((os.path.basename(path), layer))
        return found

    def _interfaces_of(self, device: str) -> list[str]:
        """Of the device's function; without one the interface that it was tied to, else those that its GIDs name."""
        names = [os.path.basename(path) for path in glob.glob(os.path.join(device, "device/net/*"))]
        parent = self.sysfs.read(device, "parent")
        if names or parent:
            return sorted(names) or [parent]
        owners = glob.glob(os.path.join(device, "ports/*/gid_attrs/ndevs/*"))
        return sorted({self.sysfs.read(owner) for owner in owners} - {""})

    # ---- who sets it up ---------------------------------------------------------------------------------------------

    def keeper(self, link: Link, links: Mapping[str, Link]) -> Keeper:
        networkd, manager = self._networkd(link, links), self._network_manager(link)
        if networkd and manager:
            keeper = dataclasses.replace(
                networkd, refused=f"both {networkd.words} and {manager.words} say that they set it up"
            )
        else:
            keeper = networkd or manager or self._ifupdown(link) or Keeper(UNKNOWN)
        return dataclasses.replace(keeper, unit_mtu=self._unit(link.name))

    def _unit(self, name: str) -> str:
        """What our own unit sets, if it is there and will be started."""
        words = self.read(f"{LIST_DIRECTORY}/{name}").split()
        return (
            words[-1] if len(words) > 1 and words[-2] == name and os.path.lexists(self.path(wants_link(name))) else ""
        )

    # ---- systemd-networkd -------------------------------------------------------------------------------------------

    def _state(self, link: Link) -> dict[str, str]:
        """What networkd says of a link; ``NETWORK_FILE`` is the file that it took."""
        return parse_pairs(self.read(f"/run/systemd/netif/links/{link.index}"))

    def dropins(self, path: str) -> Iterator[tuple[str, str]]:
        """The drop-ins of a file, in the order in which they are read: (path, text)."""
        found: dict[str, str] = {}
        for folder in reversed(NETWORK_FOLDERS):
            for one in glob.glob(self.path(f"{folder}/{os.path.basename(path)}.d/*.conf")):
                found[os.path.basename(one)] = "/" + os.path.relpath(one, self.root)
        for _name, place in sorted(found.items()):
            yield place, self.read(place)

    def _networkd(self, link: Link, links: Mapping[str, Link]) -> Keeper | None:
        state = self._state(link)
        path = state.get("NETWORK_FILE", "")
        if not path or state.get("ADMIN_STATE") == "unmanaged":
            return None
        text = self.read(path)
        parts = sections(text)
        mtu, own, later = last(parts, "Link", "MTUBytes"), False, ""
        for name, words in self.dropins(path):
            value = last(sections(words), "Link", "MTUBytes")
            if value:
                mtu, own = value, os.path.basename(name) == DROPIN
                later = name if os.path.basename(name) > DROPIN else later
            parts += sections(words)
        others = [
            other.name
            for other in links.values()
            if other.index != link.index and self._state(other).get("NETWORK_FILE") == path
        ]
        lease = parse_pairs(self.read(f"/run/systemd/netif/leases/{link.index}"))
        keeper = Keeper(
            kind=NETWORKD,
            name=os.path.basename(path),
            path=path,
            mtu=mtu,
            own=own,
            others=tuple(sorted(others)),
            exact=matches_one_only(parse_unit_file(text)),
            dhcp_mtu=lease.get("MTU", "") if uses_dhcp_mtu(parts) else "",
            later=later,
        )
        if not text:
            return dataclasses.replace(keeper, refused=f"systemd-networkd took {path}, which is not there any more")
        return self._checked(keeper, text) if netplan_id(path) else keeper

    def _checked(self, keeper: Keeper, text: str) -> Keeper:
        """The next boot makes netplan's files anew: they must be those in force, or we build on what will be gone."""
        with netplan_copy(self) as (folder, said):
            if said:
                return dataclasses.replace(keeper, refused=f"netplan generate fails on a copy of its files: {said}")
            try:
                with open(os.path.join(folder, keeper.path.lstrip("/")), encoding="utf-8") as stream:
                    new = stream.read()
            except OSError:
                new = ""
        made, present = parse_unit_file(new), parse_unit_file(text)
        if made == present:
            return keeper
        if new and without_mtu(made) == without_mtu(present):
            # Only its MTU was edited (a file of an older release is gone): what counts is the one of the next boot.
            mtu = keeper.mtu if keeper.own or keeper.later else last(sections(new), "Link", "MTUBytes")
            return dataclasses.replace(keeper, mtu=mtu)
        what = "would be made otherwise" if new else "would not be made any more"
        why = f"{keeper.path} {what} from netplan's files as they are now (changed, and not applied)"
        return dataclasses.replace(keeper, refused=why)

    # ---- NetworkManager ---------------------------------------------------------------------------------------------

    def profile(self, uuid: str) -> dict[str, str]:
        done = self.tool("nmcli", "--terse", "connection", "show", uuid)
        return parse_terse(done.out) if done is not None and done.code == 0 else {}

    def _network_manager(self, link: Link) -> Keeper | None:
        fields = "GENERAL.STATE,GENERAL.CON-UUID"
        done = self.tool("nmcli", "--terse", "--fields", fields, "device", "show", link.name)
        shown = parse_terse(done.out) if done is not None and done.code == 0 else {}
        uuid = shown.get("GENERAL.CON-UUID", "")
        if not uuid:
            return None
        listed = self.tool("nmcli", "--terse", "--fields", "UUID,FILENAME,DEVICE", "connection", "show")
        rows = [split_terse(line) for line in (listed.out if listed is not None else "").splitlines()]
        path = next((row[1] for row in rows if len(row) > 2 and row[0] == uuid), "")
        others = {row[2] for row in rows if len(row) > 2 and row[0] == uuid} - {link.name, "", "--"}
        values = self.profile(uuid)
        mtu = values.get("802-3-ethernet.mtu", "")
        bound = values.get("connection.interface-name", "") == link.name
        bound = bound or bool(values.get("802-3-ethernet.mac-address", ""))
        return Keeper(
            kind=NETWORK_MANAGER,
            name=uuid,
            path=path,
            mtu=mtu if mtu.isdigit() and mtu != "0" else "",
            others=tuple(sorted(others)),
            exact=bound and self._changes_only_the_mtu(path),
            refused="" if values else f"NetworkManager does not show its profile {uuid}",
        )

    def _changes_only_the_mtu(self, path: str) -> bool:
        """Whether nmcli, on a copy of the profile's file, changes the MTU alone. False too before 1.38, which cannot.

        Only files that are NetworkManager's own: what another program (netplan) makes is not ours to change.
        """
        if not path.startswith("/etc/NetworkManager/system-connections/"):
            return False
        program = self.which("nmcli")
        text = self.read(path)
        if program is None or not text:
            return False
        outs = []
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "profile")
            with open(os.open(copy, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as stream:
                stream.write(text)
            for mtu in ("1501", "1502"):
                words = f'exec "$0" --offline connection modify 802-3-ethernet.mtu {mtu} < "$1"'
                done = self.tool("/bin/sh", "-c", words, program, copy)
                if done is None or done.code != 0:
                    return False
                outs.append([one for one in parse_unit_file(done.out) if one != ("ethernet", "mtu", mtu)])
        before = [
            one for one in parse_unit_file(text) if one[:2] not in (("ethernet", "mtu"), ("802-3-ethernet", "mtu"))
        ]
        # An empty section is no setting, and NetworkManager writes one or leaves it out.
        return outs[0] == outs[1] and sorted(outs[0]) == sorted(before)

    # ---- ifupdown ---------------------------------------------------------------------------------------------------

    def _ifupdown(self, link: Link) -> Keeper | None:
        done = self.tool("ifquery", link.name) if self.read("/etc/network/interfaces") else None
        if done is None or done.code != 0:
            return None
        values = re.findall(r"^\s*mtu:? +(\S+)", done.out, re.MULTILINE)  # ifupdown2 prints the lines of its file
        return Keeper(kind=IFUPDOWN, name=link.name, path="/etc/network/interfaces", mtu=values[-1] if values else "")


@contextlib.contextmanager
def netplan_copy(reader: InterfaceReader) -> Iterator[tuple[str, str]]:
    """netplan's own generator over a copy of its files: (folder, what it said if it failed)."""
    with tempfile.TemporaryDirectory() as folder:
        for name in NETPLAN:
            if os.path.isdir(reader.path(name)):
                shutil.copytree(reader.path(name), os.path.join(folder, name))
        program = next((path for path in reader.generators if os.path.exists(path)), None)
        command = [program] if program else ["netplan", "generate"]
        done = reader.tool(*command, "--root-dir", folder)
        if done is None:
            yield folder, "it is not installed any more"
        else:
            yield folder, (done.err.strip()[-600:] or f"status {done.code}") if done.code != 0 else ""
