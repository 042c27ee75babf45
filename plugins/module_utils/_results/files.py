# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on disk: a folder per run with whole files only, and the link ``latest``, swapped in one step.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Mapping

from .._layer import ApplyError, Layer, Operation, RefusedError

LATEST = "latest"
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclasses.dataclass(frozen=True)
class State:
    """SHA-256 of each wanted file that exists, and where ``latest`` points (None: there is no such link)."""

    digests: Mapping[str, str]
    latest: str | None


@dataclasses.dataclass(frozen=True)
class Wanted:
    """``files``: name in the run's folder -> content."""

    files: Mapping[str, bytes]
    link_latest: bool = True


class ReportFolder(Layer[State, Wanted]):
    """``base``/``run_id`` on this machine."""

    def __init__(self, base: str, run_id: str, wanted: Wanted, facts: Mapping[str, Any]) -> None:
        self.host = "report"
        if not _RUN_ID.fullmatch(run_id) or run_id == LATEST:
            raise RefusedError(
                "not the name of a run",
                host=self.host,
                thing="run_id",
                value=run_id,
                remedy="use letters, digits, dot, dash and underscore; not 'latest'",
            )
        self._base = Path(base)
        self._run_id = run_id
        self._wanted = wanted
        self._facts = facts
        self.folder = self._base / run_id

    def observe(self) -> State:
        digests = {}
        for name in self._wanted.files:
            path = self.folder / name
            if path.is_file():
                digests[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        link = self._base / LATEST
        if link.exists() and not link.is_symlink():
            raise RefusedError(
                "is not a link that this collection made",
                host=self.host,
                thing=str(link),
                remedy="move it away, or choose another folder for the reports",
            )
        return State(digests, os.readlink(link) if link.is_symlink() else None)

    def plan(self, state: State, wanted: Wanted) -> list[Operation]:
        operations = []
        for name, content in wanted.files.items():
            digest = hashlib.sha256(content).hexdigest()
            if state.digests.get(name) != digest:
                path = self.folder / name
                operations.append(
                    Operation(
                        description=f"write {path} ({len(content)} bytes)",
                        command=f"write {path}",
                        changes={str(path): (state.digests.get(name), digest)},
                        inverse="" if name in state.digests else f"rm {path}",
                        payload={"name": name, "content": content},
                    )
                )
        if wanted.link_latest and state.latest != self._run_id:
            link = self._base / LATEST
            operations.append(
                Operation(
                    description=f"point {link} to {self._run_id}",
                    command=f"ln -sfn {self._run_id} {link}",
                    changes={str(link): (state.latest, self._run_id)},
                    inverse=f"ln -sfn {state.latest} {link}" if state.latest else f"rm {link}",
                )
            )
        return operations

    def apply(self, operation: Operation) -> None:
        try:
            if operation.payload:
                self._write(self.folder / operation.payload["name"], operation.payload["content"])
            else:
                self._link()
        except OSError as error:
            raise ApplyError(
                f"cannot {operation.command} ({error})",
                host=self.host,
                thing=str(self._base),
                remedy="check that this folder exists and that you may write there",
            ) from error

    def facts(self, state: State) -> dict[str, Any]:
        return {"path": str(self.folder), **self._facts}

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        """Whole or not at all, also if the machine stops in between."""
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    def _link(self) -> None:
        """A symlink cannot be overwritten, but one can be renamed over it: no moment without ``latest``."""
        temporary = self._base / f".{LATEST}.{os.getpid()}"
        os.symlink(self._run_id, temporary)
        try:
            os.replace(temporary, self._base / LATEST)
        except OSError:
            os.unlink(temporary)
            raise
