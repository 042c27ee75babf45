"""What this collection's roles write on a node, in one manifest there.

The manifest names each path and the role that wrote it. A role that is taken away, and a release that does not write a
path any more, take away what the manifest names. Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import dataclasses
import glob
import json
import os
import shutil
from typing import Any, Mapping

from .._layer import Layer, Operation, RefusedError, write_whole

PATH = "/etc/rocemesh/manifest.json"
SCHEMA = 1
ROLES = ("container", "guest", "mesh")
_WANTS = "/etc/systemd/system/*.wants"

# Patterns of what the roles of this release write, by role. A directory means all in it.
WRITTEN: Mapping[str, tuple[str, ...]] = {
    "guest": (
        "/etc/systemd/network/*.network.d/90-rocemesh-mtu.conf",
        "/etc/rocemesh/mtu",
        "/etc/systemd/system/rocemesh-mtu@.service",
        f"{_WANTS}/rocemesh-mtu@*.service",
        "/etc/systemd/system/rocemesh-qos@.service",
        f"{_WANTS}/rocemesh-qos@*.service",
        "/usr/local/lib/rocemesh/roce-qos",
        "/etc/systemd/system/rocemesh-peermem.service",
        f"{_WANTS}/rocemesh-peermem.service",
        "/etc/apt/preferences.d/rocemesh-no-firmware",
        "/etc/apt/keyrings/rocemesh-doca.asc",
        "/etc/apt/sources.list.d/rocemesh-doca.sources",
        "/var/cache/rocemesh",
    ),
    "container": (
        "/etc/apt/keyrings/rocemesh-container-toolkit.asc",
        "/etc/apt/sources.list.d/rocemesh-container-toolkit.sources",
        "/etc/rocemesh/nccl",
        "/var/cache/rocemesh-build",
    ),
    "mesh": ("/etc/rocemesh/mesh",),
}


def written(root: str = "/") -> dict[str, str]:
    """What is there of this release: path -> role."""
    return {
        "/" + os.path.relpath(place, root): role
        for role in ROLES
        for pattern in WRITTEN[role]
        for place in sorted(glob.glob(os.path.join(root, pattern.lstrip("/"))))
    }


def leftovers(root: str, ours: Mapping[str, str], recorded: Mapping[str, str]) -> dict[str, str]:
    """What the manifest (``recorded``) names, is there, and is not ``ours``, of this release: path -> role."""
    return {
        path: role
        for path, role in sorted(recorded.items())
        if path not in ours and os.path.lexists(os.path.join(root, path.lstrip("/")))
    }


def read(root: str = "/") -> dict[str, str]:
    """The manifest: path -> role. Raises RefusedError for one that this release cannot read."""
    try:
        with open(os.path.join(root, PATH.lstrip("/")), encoding="utf-8") as stream:
            manifest = json.load(stream)
        if manifest["schema"] != SCHEMA:
            raise ValueError(f"schema {manifest['schema']}, expected {SCHEMA}")
        rows = {str(path): str(role) for path, role in manifest["files"].items()}
        # Paths are removed by it, so it names only what a role of this collection can have written.
        wrong = [path for path, role in rows.items() if role not in ROLES or not _is_safe(path)]
        if wrong:
            raise ValueError(f"names {wrong[0]!r}")
        return rows
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RefusedError(
            f"cannot be used ({error})", host="node", thing=PATH, remedy=f"remove {PATH}; the next run writes it again"
        ) from None


def _is_safe(path: str) -> bool:
    return path == os.path.normpath(path) and path.startswith("/") and "rocemesh" in path


@dataclasses.dataclass(frozen=True)
class State:
    """``written``, ``leftovers``: as above; ``recorded``: the manifest; ``used``: directories that a process has
    mounted."""

    written: Mapping[str, str]
    leftovers: Mapping[str, str]
    recorded: Mapping[str, str]
    used: frozenset[str] = frozenset()
    texts: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Wish:
    """``roles``: those whose files are meant; ``absent``: all of them go, those of this release too."""

    roles: tuple[str, ...]
    absent: bool = False


class ManifestLayer(Layer[State, Wish]):
    """Keeps the manifest of a node true. ``root``: where its files lie."""

    def __init__(self, host: str, root: str = "/", proc: str = "/proc") -> None:
        self.host = host
        self.root = root
        self.proc = proc

    def place(self, path: str) -> str:
        return os.path.join(self.root, path.lstrip("/"))

    def observe(self) -> State:
        ours, recorded = written(self.root), read(self.root)
        found = leftovers(self.root, ours, recorded)
        texts = {}
        for path in [*ours, *found]:
            place = self.place(path)
            if os.path.isfile(place) and not os.path.islink(place) and os.path.getsize(place) < 4096:
                with open(place, encoding="utf-8", errors="replace") as stream:
                    texts[path] = stream.read()
        directories = frozenset(path for path in found if os.path.isdir(self.place(path)))
        return State(ours, found, recorded, self._mounted(directories) if directories else frozenset(), texts)

    def _mounted(self, paths: frozenset[str]) -> frozenset[str]:
        """Directories that some process, so some container, sees as a mount."""
        found = set()
        for place in glob.glob(os.path.join(self.proc, "[0-9]*", "mountinfo")):
            try:
                with open(place, encoding="utf-8", errors="replace") as stream:
                    roots = {line.split()[3] for line in stream if len(line.split()) > 4}
            except OSError:
                continue
            found |= {path for path in paths if any(one == path or one.endswith(path) for one in roots)}
        return frozenset(found)

    def plan(self, state: State, wanted: Wish) -> list[Operation]:
        gone = [path for path, role in state.leftovers.items() if role in wanted.roles and path not in state.used]
        if wanted.absent:
            gone += [path for path, role in state.written.items() if role in wanted.roles and path not in gone]
        operations = [
            Operation(
                f"remove {path}",
                f"rm -r {path}",
                {path: ("present", None)},
                f"write {path} again: {state.texts[path]!r}" if path in state.texts else "",
                payload={"path": path},
            )
            for path in gone
        ]
        # What other roles write is theirs to record.
        after = {
            path: role
            for path, role in {**state.written, **state.leftovers}.items()
            if path not in gone and (role in wanted.roles or state.recorded.get(path) == role)
        }
        if after != dict(state.recorded):
            operations.append(
                Operation(
                    f"record {len(after)} paths in {PATH}" if after else f"remove {PATH}",
                    f"write {PATH}" if after else f"rm {PATH}",
                    {PATH: (sorted(state.recorded), sorted(after))},
                    payload={"files": after},
                )
            )
        return operations

    def warnings(self, state: State, wanted: Wish) -> list[str]:
        return [
            f"{self.host}: {path} of another release is in use by a container. Run this again after role container has"
            " made the container anew."
            for path in sorted(state.used)
        ]

    def apply(self, operation: Operation) -> None:
        if "path" in operation.payload:
            place = self.place(operation.payload["path"])
            if os.path.isdir(place) and not os.path.islink(place):
                shutil.rmtree(place)
            else:
                os.unlink(place)
            return
        place = self.place(PATH)
        files = operation.payload["files"]
        if not files:
            os.unlink(place)
            if not os.listdir(os.path.dirname(place)):
                os.rmdir(os.path.dirname(place))
            return
        os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
        write_whole(place, json.dumps({"schema": SCHEMA, "files": dict(sorted(files.items()))}, indent=2) + "\n")

    def facts(self, state: State) -> dict[str, Any]:
        return {"files": dict(state.written), "leftovers": dict(state.leftovers)}
