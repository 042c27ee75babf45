"""The four verbs for one node of the mesh."""

from __future__ import annotations

import dataclasses
from typing import Any

from .._layer import Layer, Operation, RefusedError
from . import earlier
from . import plan as planning
from .state import (
    FileState,
    MeshState,
    PublicKey,
    Wanted,
    identity,
    mesh_addresses,
    parse_local_networks,
    parse_public_key,
)
from .transport import NodeTransport


class MeshNode(Layer[MeshState, Wanted]):
    """One node. ``wanted`` is needed for observing as well: it decides which file names are looked at."""

    def __init__(self, host: str, user: NodeTransport, system: NodeTransport, wanted: Wanted) -> None:
        """``user``: the node from the user's home; ``system``: from the root of its file system, as root."""
        self.host = host
        self._user, self._system = user, system
        self._wanted = wanted

    def _at(self, path: str) -> NodeTransport:
        return self._system if path.startswith("/") else self._user

    def observe(self) -> MeshState:
        wanted, user = self._wanted, self._user
        files: dict[str, FileState] = {}
        public: dict[str, PublicKey] = {}
        derived: dict[str, PublicKey] = {}

        def look(path: str, read: bool = False) -> FileState:
            files[path] = dataclasses.replace(self._at(path).inspect(path, read), path=path)
            return files[path]

        layout = wanted.layout
        for path in (layout.ssh, *layout.places):
            look(path)
        for path in (*layout.blocks, *layout.owned):
            look(path, read=True)
        for path in wanted.keys:
            private, text = look(path), look(path + ".pub", read=True).content
            if wanted.state != "absent":
                self._refuse_empty(private, "delete it and its .pub file; a new pair is then generated")
                self._refuse_empty(files[path + ".pub"], "delete it; it is computed again from the private key")
            if text:
                public[path] = parse_public_key(text.decode("utf-8", "replace"), host=self.host, thing=path)
            if private.kind == "file" and private.size and not private.mode & 0o077:
                text_of_half = self._at(path).derive_public_key(path)
                derived[path] = parse_public_key(text_of_half, host=self.host, thing="public half of " + path)
        steps, busy = earlier.find(self._system) if wanted.state != "identity" else ([], "")
        return MeshState(
            account=user.account,
            root=self._system.account,
            files=files,
            public=public,
            derived=derived,
            ssh_host_keys=user.ssh_host_keys() if wanted.introduces and wanted.guide else (),
            local_networks=(parse_local_networks(user.address_report(), host=self.host) if wanted.introduces else ()),
            entries={path: self._system.entries(path) for path in layout.places},
            rank=wanted.rank,
            outside=wanted.guide and wanted.state == "present" and not user.may_call_docker(),
            earlier=steps,
            busy=busy,
        )

    def _refuse_empty(self, found: FileState, remedy: str) -> None:
        if found.kind == "file" and found.size == 0:
            raise RefusedError("is empty: its writing was cut off", host=self.host, thing=found.path, remedy=remedy)

    def plan(self, state: MeshState, wanted: Wanted) -> list[Operation]:
        return planning.plan(state, wanted, self.host)

    def apply(self, operation: Operation) -> None:
        arguments: dict[str, Any] = dict(operation.payload)
        action, path = arguments.pop("action"), arguments.pop("path")
        getattr(self._at(path), action)(path, **arguments)

    def warnings(self, state: MeshState, wanted: Wanted) -> list[str]:
        return list(planning.warnings(state, wanted, self.host))

    def facts(self, state: MeshState) -> dict[str, Any]:
        wanted = self._wanted
        if not wanted.introduces:
            return {}
        return {"identity": identity(state, wanted, mesh_addresses(state, wanted, host=self.host))}
