"""The report on disk: a folder per run with whole files only, and the link ``latest``, swapped in one step.

All files of a report are written beside its folder first; only when every one of them is safely on the disk do they
take their names. A disk that fills up leaves the earlier report as it was.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence, Union

from ..._judge.sentences import refusal
from ..._layer import ApplyError, Layer, Operation
from ..readers.reading import file_pieces

LATEST = "latest"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


# SHA-256 of each wanted file that exists, by its name; under LATEST where that link points, if there is one.
State = Mapping[str, str]
# Name in the run's folder -> content, or the file that is copied there (a log of any size).
Wanted = Mapping[str, Union[bytes, Path]]


class ReportFolder(Layer[State, Wanted]):
    def __init__(
        self, base: str, run_id: str, wanted: Wanted, facts: Mapping[str, Any], *, link_latest: bool = True
    ) -> None:
        self.host = "report"
        if not _RUN_ID.fullmatch(run_id) or run_id == LATEST:
            raise refusal("run_id", run_id)
        self._base = Path(base)
        self._run_id = run_id
        self._wanted = wanted
        self._link_latest = link_latest
        self._facts = facts
        self.folder = self._base / run_id

    def observe(self) -> State:
        there = [name for name in self._wanted if (self.folder / name).is_file()]
        link = self._base / LATEST
        if link.exists() and not link.is_symlink():
            raise refusal("foreign_link", link=link)
        found = {name: _digest(self.folder / name) for name in there}
        return {**found, LATEST: os.readlink(link)} if link.is_symlink() else found

    def plan(self, state: State, wanted: Wanted) -> list[Operation]:
        after = {name: _digest(content) for name, content in wanted.items()}
        after.update({LATEST: self._run_id} if self._link_latest else {})
        return [self._operation(name, state.get(name), new) for name, new in after.items() if state.get(name) != new]

    def _operation(self, name: str, before: str | None, after: str) -> Operation:
        if name == LATEST:
            place = self._base / LATEST
            command, what, undo = f"ln -sfn {after} {place}", f"point {place} to {after}", f"ln -sfn {before} {place}"
        else:
            place, content = self.folder / name, self._wanted[name]
            size = len(content) if isinstance(content, bytes) else content.stat().st_size
            command, what, undo = f"write {place}", f"write {place} ({size} bytes)", ""
        inverse = undo if before else f"rm {place}"
        return Operation(what, command, {str(place): (before, after)}, inverse, payload={"name": name, "place": place})

    def apply_all(self, operations: Sequence[Operation], applied: list[Operation]) -> None:
        doing = operations[0]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self._base, prefix=f".{self._run_id}.") as beside:
                for doing in operations:
                    self._stage(Path(beside), doing.payload["name"])
                for doing in operations:
                    os.replace(Path(beside) / doing.payload["name"], doing.payload["place"])
                    applied.append(doing)
            _sync(self.folder)
        except OSError as error:
            logs = [str(content) for content in self._wanted.values() if isinstance(content, Path)]
            kept = f"; the log is still at {', '.join(logs)}" if logs else ""
            raise ApplyError(
                f"cannot {doing.command} ({error}); the report that was there is unchanged{kept}",
                host=self.host,
                thing=str(self._base),
                remedy="make room there, then write the report again"
                if error.errno in _FULL
                else "check that this folder exists and that you may write there",
                failed_operation=doing.command,
            ) from error

    def _stage(self, beside: Path, name: str) -> None:
        """Write it down to the disk."""
        if name == LATEST:  # a symlink cannot be overwritten, but one can be renamed over it
            (beside / name).symlink_to(self._run_id)
            return
        with (beside / name).open("wb") as stream:
            for piece in _pieces(self._wanted[name]):
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())
        (beside / name).chmod(0o644)

    def facts(self, state: State) -> dict[str, Any]:
        return {"path": str(self.folder), **self._facts}


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
