# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The four verbs for one node of the mesh."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

from .._layer import Layer, Operation, RefusedError
from . import earlier
from . import plan as planning
from .state import (
    ADOPTED_SUFFIX,
    Account,
    FileState,
    KeyState,
    MeshState,
    Wanted,
    identity,
    mesh_addresses,
    parse_local_networks,
    parse_public_key,
    parse_ssh_host_keys,
)
from .transport import NodeTransport


class MeshNode(Layer[MeshState, Wanted]):
    """One node. ``wanted`` is needed for observing as well: it decides which file names are looked at."""

    def __init__(
        self,
        host: str,
        transport: NodeTransport,
        container_account: Account,
        wanted: Wanted,
        effective_uid: int,
        *,
        system: NodeTransport | None = None,
    ) -> None:
        """``system``: the same node from the root of its file system, for what lies in no home."""
        self.host = host
        self._transport = transport
        self._system = system or NodeTransport(host, Account("root", 0, 0, "/"))
        self._container_account = container_account
        self._wanted = wanted
        self._effective_uid = effective_uid

    def observe(self) -> MeshState:
        transport, wanted = self._transport, self._wanted
        files: dict[str, FileState] = {}
        keys: dict[str, KeyState] = {}
        for layout in wanted.layouts:
            for relative in (layout.ssh, *layout.above, layout.container):
                files[relative] = self._inspect(relative)
            for relative in (*layout.blocks, *layout.owned):
                files[relative] = self._inspect(relative, read=True)
            for relative in layout.owned:
                files[relative + ADOPTED_SUFFIX] = self._inspect(relative + ADOPTED_SUFFIX)
            for relative in layout.keys:
                pair = self._key_pair(relative)
                keys[relative] = pair
                files[relative], files[relative + ".pub"] = pair.private, pair.public_file
        introduced = wanted.introduces
        guide = introduced and wanted.guide
        return MeshState(
            account=transport.account,
            container_account=self._container_account,
            files=files,
            keys=keys,
            ssh_host_keys=parse_ssh_host_keys(transport.ssh_host_key_files(), host=self.host) if guide else (),
            local_networks=(parse_local_networks(transport.address_report(), host=self.host) if introduced else ()),
            entries={
                path: self._system.entries(path.lstrip("/")) for path in (*wanted.layout.above, wanted.layout.container)
            }
            if wanted.state == "absent"
            else {},
            effective_uid=self._effective_uid,
            earlier=earlier.find(self._system, wanted.layout) if wanted.state != "identity" else None,
        )

    def _at(self, path: str) -> tuple[NodeTransport, str]:
        """Who reaches a path, and by which name: absolute ones lie in no home."""
        return (self._system, path.lstrip("/")) if path.startswith("/") else (self._transport, path)

    def _inspect(self, path: str, read: bool = False) -> FileState:
        transport, relative = self._at(path)
        return dataclasses.replace(transport.inspect(relative, read), path=path)

    def _key_pair(self, relative: str) -> KeyState:
        private = self._inspect(relative)
        public_file = self._inspect(relative + ".pub", read=True)
        public = derived = None
        if self._wanted.state != "absent":
            self._refuse_empty(private, f"delete it and {self._shown(public_file.path)}; a new pair is then generated")
            self._refuse_empty(public_file, "delete it; it is then computed again from the private key beside it")
        if public_file.content:
            text = public_file.content.decode("utf-8", "replace")
            public = parse_public_key(text, host=self.host, thing=public_file.path)
        if private.kind == "file" and private.size and not private.mode & 0o077:
            transport, name = self._at(relative)
            text = transport.derive_public_key(name)
            derived = parse_public_key(text, host=self.host, thing="public half of " + relative)
        return KeyState(private=private, public_file=public_file, public=public, derived=derived)

    def _refuse_empty(self, found: FileState, remedy: str) -> None:
        if found.kind == "file" and found.size == 0:
            thing = self._shown(found.path)
            raise RefusedError("is empty: its writing was cut off", host=self.host, thing=thing, remedy=remedy)

    def plan(self, state: MeshState, wanted: Wanted) -> list[Operation]:
        return planning.plan(state, wanted, self.host)

    def apply(self, operation: Operation) -> None:
        arguments: dict[str, Any] = dict(operation.payload)
        action = arguments.pop("action")
        relative = arguments.pop("path")
        transport, relative = self._at(relative)
        if "to" in arguments:
            arguments["to"] = arguments["to"].lstrip("/")
        actions: dict[str, Callable[..., None]] = {
            "mkdir": transport.make_directory,
            "ssh-keygen": transport.generate_key,
            "write": transport.write,
            "chmod": transport.permissions,
            "rename": transport.rename,
            "replace": transport.replace,
            "unlink": transport.unlink,
            "rmdir": transport.remove_directory,
            "no-account": transport.remove_account,
        }
        actions[action](relative, **arguments)

    def warnings(self, state: MeshState, wanted: Wanted) -> list[str]:
        return planning.warnings(state, wanted, self.host)

    def facts(self, state: MeshState) -> dict[str, Any]:
        wanted = self._wanted
        found: dict[str, Any] = {}
        if wanted.introduces:
            found["identity"] = identity(state, wanted, mesh_addresses(state, wanted, host=self.host))
        if wanted.state == "present":
            found["paths"] = _paths(wanted, state.account.home)
        return found

    def _shown(self, path: str) -> str:
        return path if path.startswith("/") else f"{self._transport.account.home}/{path}"


def _paths(wanted: Wanted, home: str) -> dict[str, str]:
    layout = wanted.layout
    config, keys, start = layout.server_files
    names = {"container_directory": layout.container, "container_key": layout.container_key}
    if wanted.guide:
        names.update(
            authorized_keys=layout.authorized_keys, config=layout.config, config_mesh=layout.config_mesh,
            known_hosts=layout.known_hosts, script=layout.script, host_key=layout.host_key,
        )  # fmt: skip
    else:
        names.update(server_config=config, server_keys=keys, server_start=start, server_key=layout.server_key)
    return {name: path if path.startswith("/") else f"{home}/{path}" for name, path in names.items()}
