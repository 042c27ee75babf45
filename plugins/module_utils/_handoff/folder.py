"""The folder of a hand-off. Whose a file is, its digest tells: SHA256SUMS lists what this collection wrote.

A file that is not listed there, or that a user edited since, is theirs and is never written over or removed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from pathlib import Path
from typing import Any, Mapping

from .._layer import ApplyError, Layer, Operation, RefusedError, write_whole

SUMS = "SHA256SUMS"
_LINE = re.compile(r"(?P<digest>[0-9a-f]{64})  (?P<name>\S.*)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")


@dataclasses.dataclass(frozen=True)
class State:
    """``texts``: name -> content of each file that is wanted or listed and exists; ``listed``: name -> digest."""

    texts: Mapping[str, str]
    listed: Mapping[str, str]
    executable: frozenset[str]


@dataclasses.dataclass(frozen=True)
class Wanted:
    files: Mapping[str, str]

    @property
    def whole(self) -> dict[str, str]:
        """With the list itself, which comes last."""
        lines = [f"{digest(text)}  {name}\n" for name, text in sorted(self.files.items())]
        return {**self.files, SUMS: "".join(lines)}


def digest(text: str) -> str:
    """Also of what was read from a file, which need not be UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _is_program(text: str) -> bool:
    return text.startswith("#!")


class Folder(Layer[State, Wanted]):
    """``path`` on this machine."""

    host = "handoff"

    def __init__(self, path: str, wanted: Wanted) -> None:
        self._path = Path(path)
        self._wanted = wanted
        for name in wanted.files:
            if not _NAME.fullmatch(name) or name == SUMS:
                raise self._refused("not the name of a file of a hand-off", thing="files", value=name)

    def _refused(self, what: str, remedy: str = "", thing: str = "", value: Any = None) -> RefusedError:
        return RefusedError(what, host=self.host, thing=thing, value=value, remedy=remedy)

    def observe(self) -> State:
        try:
            listed = self._listed()
            texts, executable = {}, set()
            for name in {*self._wanted.whole, *listed}:
                path = self._path / name
                if path.is_symlink() or (path.exists() and not path.is_file()):
                    raise self._refused("is not a file of this collection", "move it away", str(path))
                if path.is_file():
                    texts[name] = path.read_bytes().decode("utf-8", "surrogateescape")
                    if os.access(path, os.X_OK):
                        executable.add(name)
            return State(texts, listed, frozenset(executable))
        except OSError as error:
            raise self._refused(f"cannot be read ({error.strerror})", "check the folder", str(self._path)) from error

    def _listed(self) -> dict[str, str]:
        sums = self._path / SUMS
        if not sums.is_file():
            return {}
        found = {}
        for line in sums.read_text(encoding="utf-8", errors="replace").splitlines():
            match = _LINE.fullmatch(line)
            if match is None or not _NAME.fullmatch(match["name"]):
                what = f"a line of it is no checksum: {line!r:.80}"
                raise self._refused(what, "move the folder away, or choose another one (run_handoff_dir)", str(sums))
            found[match["name"]] = match["digest"]
        return found

    def plan(self, state: State, wanted: Wanted) -> list[Operation]:
        operations = []
        theirs = [
            name
            for name, text in state.texts.items()
            if name != SUMS and state.listed.get(name) != digest(text) and wanted.files.get(name) != text
        ]
        if theirs:
            what = "another user's, or edited since it was written; nothing was changed"
            remedy = "keep the edited file under another name, or choose another folder (run_handoff_dir)"
            raise self._refused(what, remedy, str(self._path), ", ".join(sorted(theirs)))
        for name, text in wanted.whole.items():
            before = state.texts.get(name)
            if before == text and (name in state.executable) == _is_program(text):
                continue
            path = self._path / name
            operations.append(
                Operation(
                    description=f"write {path}",
                    command=f"write {path}",
                    changes={str(path): (before, text)},
                    inverse="" if before is not None else f"rm {path}",
                    payload={"name": name},
                )
            )
        for name in sorted(set(state.listed) & set(state.texts) - set(wanted.whole)):
            path = self._path / name
            # Before the list, so that a run that breaks off here finds it again.
            operations.insert(
                0,
                Operation(
                    description=f"remove {path}, which this job has no more",
                    command=f"rm {path}",
                    changes={str(path): (state.texts[name], None)},
                    payload={"name": name, "remove": True},
                ),
            )
        return operations

    def apply(self, operation: Operation) -> None:
        name = operation.payload["name"]
        path = self._path / name
        try:
            if operation.payload.get("remove"):
                path.unlink()
                return
            text = self._wanted.whole[name]
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(str(path), text, 0o755 if _is_program(text) else 0o644)
        except OSError as error:
            raise ApplyError(
                f"cannot {operation.command} ({error.strerror})",
                host=self.host,
                thing=str(self._path),
                remedy="check that this folder may be written and the disk has room, then run again",
            ) from error

    def facts(self, state: State) -> dict[str, Any]:
        return {"path": str(self._path), "files": sorted(self._wanted.whole)}
