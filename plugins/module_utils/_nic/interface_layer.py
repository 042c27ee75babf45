"""The four verbs for the interfaces of the RoCE network in one GPU VM.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any, Callable

from .._layer import ApplyError, Layer, LayerError, Operation, write_whole
from . import interface_plan as planning
from .interface_choice import Wanted, choose
from .interface_reading import InterfaceReader
from .interface_state import NETWORK_FOLDERS, Interfaces, Keeper, parse_unit_file, profile_settings, without_mtu

_WHAT_NEXT = "nothing else was changed; look at the text above and put that right"


class InterfaceLayer(Layer[Interfaces, Wanted]):
    """Chooses the interfaces, stores and sets their MTU."""

    def __init__(self, reader: InterfaceReader, wanted: Wanted) -> None:
        self.host = reader.host
        self.reader = reader
        self.wanted = wanted

    def observe(self) -> Interfaces:
        links, defaults = self.reader.links(), self.reader.default_routes()
        state = Interfaces(links, defaults, choose(links, defaults, self.wanted, self.host))
        if not self.wanted.mtu:
            return state
        names = planning.with_parents(state, self.wanted, self.host)
        members = [link.name for link in links.values() if link.master in names]
        keepers = {name: self.reader.keeper(links[name], links) for name in [*names, *members]}
        return Interfaces(links, defaults, state.chosen, keepers)

    def plan(self, state: Interfaces, wanted: Wanted) -> list[Operation]:
        return planning.plan(state, wanted, self.host)

    def apply(self, operation: Operation) -> None:
        how = operation.payload["how"]
        ways: dict[str, Callable[[Operation], None]] = {
            planning.BY_DROPIN: self._dropin,
            planning.BY_PROFILE: self._profile,
            planning.BY_UNIT: self._unit,
            "live": self._live,
        }
        ways[how](operation)

    def warnings(self, state: Interfaces, wanted: Wanted) -> list[str]:
        return planning.warnings(state, wanted)

    def facts(self, state: Interfaces) -> dict[str, Any]:
        return {
            "interfaces": [state.as_result(name) for name in state.chosen],
            "simulated": self.reader.sysfs.simulated,
        }

    def _error(self, kind: type[LayerError], what: str, remedy: str, thing: str, value: str) -> LayerError:
        return kind(what, host=self.host, thing=thing, value=value, remedy=remedy)

    # ---- four ways to change something ------------------------------------------------------------------------------

    def _folder(self, path: str) -> None:
        """For all to read, whatever the umask: networkd is not root, and the mesh's account enters /etc/rocemesh."""
        if not os.path.isdir(path):
            self._folder(os.path.dirname(path))
            os.mkdir(path)
            os.chmod(path, 0o755)

    def write(self, name: str, text: str) -> None:
        path = self.reader.path(name)
        self._folder(os.path.dirname(path))
        write_whole(path, text)

    def _command(self, *argv: str) -> str:
        done = self.reader.tool(*argv)
        if done is None or done.code != 0:
            said = "not installed" if done is None else done.err.strip() or done.out.strip() or f"status {done.code}"
            raise ApplyError(said, host=self.host, thing=" ".join(argv), remedy=_WHAT_NEXT)
        return done.out

    def _live(self, operation: Operation) -> None:
        self._command("ip", "link", "set", "dev", operation.payload["name"], "mtu", str(operation.payload["mtu"]))

    def _dropin(self, operation: Operation) -> None:
        """First on a copy, as systemd reads it: the file and its drop-ins may differ by the MTU alone."""
        keeper: Keeper = operation.payload["keeper"]
        name, text = operation.payload["path"], operation.payload["text"]
        with tempfile.TemporaryDirectory() as copy:
            for folder in NETWORK_FOLDERS:
                source = self.reader.path(folder)
                if os.path.isdir(source):
                    shutil.copytree(source, os.path.join(copy, folder.lstrip("/")), symlinks=True)
            before = self._as_systemd_reads_it(keeper.path, copy)
            os.makedirs(os.path.dirname(os.path.join(copy, name.lstrip("/"))), exist_ok=True)
            with open(os.path.join(copy, name.lstrip("/")), "w", encoding="utf-8") as stream:
                stream.write(text)
            after = self._as_systemd_reads_it(keeper.path, copy)
        wanted = ("Link", "MTUBytes", str(operation.payload["mtu"]))
        mtus = [setting for setting in after if setting[:2] == wanted[:2]]
        if without_mtu(before) != without_mtu(after) or not mtus or mtus[-1] != wanted:
            what = f"on a copy, {name} changes more or less than the MTU: {before!r} became {after!r}"
            remedy = "report this; nothing was changed"
            raise self._error(ApplyError, what, remedy, "MTU of", operation.payload["name"])
        self.write(name, text)

    def _as_systemd_reads_it(self, path: str, root: str) -> list[tuple[str, str, str]]:
        words = ("systemd-analyze", "--no-pager", f"--root={root}", "cat-config")
        return parse_unit_file(self._command(*words, f"systemd/network/{os.path.basename(path)}"))

    def _profile(self, operation: Operation) -> None:
        keeper: Keeper = operation.payload["keeper"]
        before = self.reader.profile(keeper.name)
        words = ("nmcli", "connection", "modify", keeper.name, "802-3-ethernet.mtu")
        self._command(*words, str(operation.payload["mtu"]))
        after = self.reader.profile(keeper.name)
        if profile_settings(before) != profile_settings(after):
            self._command(*words, keeper.mtu or "0")
            what = f"NetworkManager changed more than the MTU, and got the old one back: {_differences(before, after)}"
            remedy = f"look at nmcli connection show {keeper.name}"
            raise self._error(ApplyError, what, remedy, "profile", keeper.name)

    def _unit(self, operation: Operation) -> None:
        name = operation.payload["name"]
        if not os.path.isdir(self.reader.path("/run/systemd/system")):
            remedy = "set guest_mtu to 0 and configure the MTU yourself"
            raise self._error(LayerError, "there is no systemd to set it at every boot", remedy, "MTU of", name)
        self.write(f"{planning.LIST_DIRECTORY}/{name}", operation.payload["text"])
        unit = f"{planning.UNIT_DIRECTORY}/{planning.UNIT}"
        if self.reader.read(unit) != planning.UNIT_TEXT:
            self.write(unit, planning.UNIT_TEXT)
        # What `systemctl enable` does, without the reload of systemd that it does afterwards.
        link = self.reader.path(planning.wants_link(name))
        if not os.path.lexists(link):
            self._folder(os.path.dirname(link))
            os.symlink(unit, link)


def _differences(before: dict[str, str], after: dict[str, str]) -> str:
    return "; ".join(
        f"{key}: {before.get(key)!r} -> {after.get(key)!r}"
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key) and key != "802-3-ethernet.mtu"
    )
