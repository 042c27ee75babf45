"""The report on disk: a folder per run with whole files only, and the link ``latest``, swapped in one step.

All files of a report are written beside their places first; only when every one of them is safely on the disk do they
take their names. A disk that fills up leaves the earlier report as it was.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Iterable, Mapping

from ..._judge.sentences import refusal
from ..._layer import ApplyError, Layer, Operation
from ..readers.reading import file_pieces

LATEST = "latest"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclasses.dataclass(frozen=True)
class State:
    """SHA-256 of each wanted file that exists, and where ``latest`` points (None: there is no such link)."""

    digests: Mapping[str, str]
    latest: str | None


@dataclasses.dataclass(frozen=True)
class Wanted:
    """``files``: name in the run's folder -> content, or the file that is copied there (a log of any size)."""

    files: Mapping[str, bytes | Path]
    link_latest: bool = True


class ReportFolder(Layer[State, Wanted]):
    def __init__(self, base: str, run_id: str, wanted: Wanted, facts: Mapping[str, Any]) -> None:
        self.host = "report"
        if not _RUN_ID.fullmatch(run_id) or run_id == LATEST:
            raise refusal("run_id", run_id)
        self._base = Path(base)
        self._run_id = run_id
        self._wanted = wanted
        self._facts = facts
        self.folder = self._base / run_id
        self._staged: dict[str, str] = {}

    def observe(self) -> State:
        there = [name for name in self._wanted.files if (self.folder / name).is_file()]
        link = self._base / LATEST
        if link.exists() and not link.is_symlink():
            raise refusal("foreign_link", link=link)
        digests = {name: _digest(self.folder / name) for name in there}
        return State(digests, os.readlink(link) if link.is_symlink() else None)

    def plan(self, state: State, wanted: Wanted) -> list[Operation]:
        operations = []
        for name, content in wanted.files.items():
            digest = _digest(content)
            if state.digests.get(name) != digest:
                path = self.folder / name
                size = len(content) if isinstance(content, bytes) else content.stat().st_size
                operations.append(
                    Operation(
                        description=f"write {path} ({size} bytes)",
                        command=f"write {path}",
                        changes={str(path): (state.digests.get(name), digest)},
                        inverse="" if name in state.digests else f"rm {path}",
                        payload={"name": name},
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
            if not operation.payload:
                self._link()
                return
            name = operation.payload["name"]
            if name not in self._staged:
                self._stage()
            os.replace(self._staged.pop(name), self.folder / name)
            if not self._staged:
                _sync(self.folder)
        except OSError as error:
            self._unstage()
            logs = [str(content) for content in self._wanted.files.values() if isinstance(content, Path)]
            kept = f"; the log is still at {', '.join(logs)}" if logs else ""
            raise ApplyError(
                f"cannot {operation.command} ({error}); the report that was there is unchanged{kept}",
                host=self.host,
                thing=str(self._base),
                remedy="make room there, then write the report again"
                if error.errno in _FULL
                else "check that this folder exists and that you may write there",
            ) from error

    def facts(self, state: State) -> dict[str, Any]:
        return {"path": str(self.folder), **self._facts}

    def _stage(self) -> None:
        """Write every file that differs, under a temporary name beside its place, down to the disk."""
        self.folder.mkdir(parents=True, exist_ok=True)
        on_disk = self.observe().digests
        for name, content in self._wanted.files.items():
            if on_disk.get(name) == _digest(content):
                continue
            handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=f".{name}.")
            self._staged[name] = temporary
            with os.fdopen(handle, "wb") as stream:
                for piece in _pieces(content):
                    stream.write(piece)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o644)

    def _unstage(self) -> None:
        while self._staged:
            _name, temporary = self._staged.popitem()
            with contextlib.suppress(OSError):
                os.unlink(temporary)

    def _link(self) -> None:
        """A symlink cannot be overwritten, but one can be renamed over it: no moment without ``latest``."""
        temporary = self._base / f".{LATEST}.{os.getpid()}"
        os.symlink(self._run_id, temporary)
        try:
            os.replace(temporary, self._base / LATEST)
        except OSError:
            os.unlink(temporary)
            raise


def _pieces(content: bytes | Path) -> Iterable[bytes]:
    return [content] if isinstance(content, bytes) else file_pieces(str(content))


def _digest(content: bytes | Path) -> str:
    digest = hashlib.sha256()
    for piece in _pieces(content):
        digest.update(piece)
    return digest.hexdigest()


def _sync(folder: Path) -> None:
    """So that the new names survive a power cut, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
