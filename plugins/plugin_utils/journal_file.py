"""Read journals and plans as the callback journal writes them. Refuse what is none."""

from __future__ import annotations

import dataclasses
import datetime
import errno
import json
import os
import pathlib
import re
from typing import Any, Iterable, Mapping

from .journal import SCHEMA

_RUN = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")
_PLAN = "-plan"


class JournalError(ValueError):
    """A message that names the file or run, and the next step."""


@dataclasses.dataclass(frozen=True)
class Journal:
    """``entries``: all lines between the first and the last. ``ended``: the run was not killed. ``torn``: its last line
    is not whole."""

    path: pathlib.Path
    begin: Mapping[str, Any]
    entries: tuple[Mapping[str, Any], ...]
    ended: bool
    torn: bool

    @property
    def run(self) -> str:
        return str(self.begin["run"])

    @property
    def whose(self) -> str:
        return f"run {self.run} of {self.begin['account']} on {self.begin['controller']}"


def append(path: pathlib.Path, *lines: Mapping[str, Any]) -> None:
    """Whole lines in one write: workers share the file. They are on the disk when this returns."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    text = "".join(json.dumps({"time": now, **line}, ensure_ascii=False, default=str) + "\n" for line in lines)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size, wanted = os.fstat(handle).st_size, text.encode()
        if os.write(handle, wanted) < len(wanted):  # the disk is full: half a line would spoil those that follow
            os.ftruncate(handle, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(handle)
    finally:
        os.close(handle)


Place = tuple[str, str, str, str]


def changes(entries: Iterable[Mapping[str, Any]]) -> dict[Place, str]:
    """(host, module, device, what is changed) -> from which value to which, as text. Also what waits for a restart.

    A VM counts under its own name also where, in a window, its ESXi host asked for it. Two vCenters may each have a VM
    of that name, so the place has the vCenter beside the module.
    """
    found: dict[Place, str] = {}
    for entry in entries:
        if entry["kind"] not in ("change", "planned", "waiting"):
            continue
        where = (str(entry["host"]), str(entry["module"]), str(entry["device"]))
        identity = entry.get("identity") or {}
        if identity.get("vm_uuid"):
            where = (where[2], f"{where[1]} {identity.get('vcenter_uuid')}", where[2])
        said = {
            str(key): f"{_text(before)} -> {_text(entry['after'].get(key))}"
            for key, before in entry.get("before", {}).items()
        }
        if entry["kind"] == "waiting":
            said["restart"] = "; ".join(sorted(entry["reasons"]))
        elif not said:
            said[entry["task"]] = "; ".join(each["description"] for each in entry["operations"])
        for key, sides in said.items():
            place = (*where, key)
            found[place] = sides
    return found


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def differences(approved: Mapping[Place, str], now: Mapping[Place, str]) -> list[str]:
    """Lines for a person: what is planned and not needed any more (-), and what is needed and not planned (+)."""
    lines = []
    for mark, here, there in (("-", approved, now), ("+", now, approved)):
        for place, sides in here.items():
            if there.get(place) != sides:
                host, _module, device, key = place
                lines.append(
                    f"{mark} {host}{f' {device}' if device not in ('', host) else ''}: {key}: {sides}".rstrip(": ")
                )
    return sorted(lines, key=lambda line: line[2:])


def read(path: pathlib.Path) -> Journal:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}. Name a file that exists.") from error
    lines: list[Mapping[str, Any]] = []
    torn = False
    rows = text.split("\n")
    for number, row in enumerate(rows, start=1):
        if not row.strip():
            continue
        try:
            line = json.loads(row)
        except ValueError:
            line = None
        if not isinstance(line, dict) or not isinstance(line.get("kind"), str):
            # A line without its line break is what a kill leaves.
            if number == len(rows) and lines:
                torn = True
                break
            raise JournalError(f"{path}: line {number} is no entry of a journal. Restore the file from a copy.")
        lines.append(line)
    begin = lines[0] if lines else {}
    if begin.get("kind") != "begin" or not all(key in begin for key in ("run", "account", "controller", "check_mode")):
        raise JournalError(f"{path}: the first line does not say which run wrote it. Restore the file from a copy.")
    if begin.get("schema") != SCHEMA:
        raise JournalError(
            f"{path}: schema is {begin.get('schema')!r}, expected {SCHEMA}. Use the version of the collection that "
            f"wrote it ({begin.get('version') or 'unknown'})."
        )
    ended = lines[-1]["kind"] == "end"
    return Journal(path, begin, tuple(lines[1 : -1 if ended else None]), ended, torn)


def read_plan(path: pathlib.Path) -> Journal:
    """A plan, as a run with --check writes it."""
    journal = read(path)
    if not journal.begin["check_mode"]:
        raise JournalError(f"{path}: this is the journal of a run, expected a plan. Name a file of a run with --check.")
    if not journal.ended:
        raise JournalError(f"{path}: the run that wrote this plan was killed. Write it again with --check.")
    failed = [entry["message"] for entry in journal.entries if entry["kind"] == "failed"]
    if failed:
        raise JournalError(
            f"{path}: the run that wrote this plan failed: {failed[0]}. Put that right, and write it again."
        )
    return journal


def find(folder: pathlib.Path, run: str) -> Journal:
    """The journal of a run by its id, the name of its file without .jsonl."""
    run = run.strip()
    if run.endswith(_PLAN):
        raise JournalError(f"run {run}: this is a plan, and nothing was changed. Name the run that changed something.")
    known = sorted(path.stem for path in folder.glob("*.jsonl") if not path.stem.endswith(_PLAN))
    if not _RUN.fullmatch(run) or run not in known:
        newest = ", ".join(known[:-6:-1]) or "none"
        raise JournalError(
            f"run {run or '(not given)'}: there is no journal of this run in {folder.absolute()}; the newest: {newest}."
            " Name a run with -e run=ID, or another folder with ROCEMESH_JOURNAL."
        )
    return read(folder / f"{run}.jsonl")


def find_all(folder: pathlib.Path) -> Journal:
    """All runs in the folder as one, in the order in which they began. Without any, an empty one."""
    runs = [read(path) for path in sorted(folder.glob("*.jsonl")) if not path.stem.endswith(_PLAN)]
    begin = {"run": "all", "account": "all accounts", "controller": "all controllers"}
    return Journal(folder, begin, tuple(entry for run in runs for entry in run.entries), ended=True, torn=False)


def later(folder: pathlib.Path, journal: Journal) -> list[Journal]:
    """The journals of runs that began after this one; a file that cannot be read says nothing."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        if path.stem > journal.path.stem and not path.stem.endswith(_PLAN):
            try:
                found.append(read(path))
            except JournalError:
                continue
    return found
