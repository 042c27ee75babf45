"""The run's identity: a name, a controller, and the process that can be looked for when the run is silent."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import re
import socket

_PROC = pathlib.Path("/proc")
_PROGRAMS = ("ansible-playbook", "ansible")


@dataclasses.dataclass(frozen=True)
class Run:
    """``process``: machine boot, pid namespace, pid and start of the process; "" where the system does not tell."""

    name: str
    controller: str
    process: str = ""


@dataclasses.dataclass(frozen=True)
class _Process:
    pid: int
    parent: int
    start: str
    state: str


def _process(pid: int) -> _Process | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold anything
    return _Process(pid, int(fields[1]), fields[19], fields[0])


def _is_ansible(pid: int) -> bool:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return False
    if words[0].rpartition("/")[2].startswith("python"):
        words = words[1:]
        while words and words[0].startswith("-"):  # as packaged: python3 -sP PROGRAM; python -m ansible
            words = words[2 if words[0] in ("-W", "-X") else 1 :]
    return bool(words) and words[0].rpartition("/")[2] in _PROGRAMS


def _machine() -> str:
    """This boot of this kernel, and the pid namespace: pids mean the same only within one."""
    boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    namespace = re.sub(r"\D", "", os.readlink(_PROC / "self/ns/pid"))
    return f"{boot[:8]}.{namespace}"


def _long_lived() -> _Process | None:
    """The topmost ansible-playbook above this process, so that all tasks of a play are one run; else the process."""
    current = _process(os.getpid())
    chosen = current
    while current is not None and current.parent > 0:
        current = _process(current.parent)
        if current is not None and _is_ansible(current.pid):
            chosen = current
    return chosen


def _word(text: str, limit: int) -> str:
    return re.sub(r"[^A-Za-z0-9_.@-]", "_", text)[:limit]


def current_run(given: str = "") -> Run:
    """``given``: the caller's own name for it; without one, each ansible-playbook is a run."""
    controller = _word(socket.gethostname(), 48) or "unknown"
    process = ""
    try:
        found = _long_lived()
        if found is not None:
            process = f"{_machine()}.{found.pid}.{found.start}"
    except (OSError, ValueError, IndexError):
        process = ""
    name = (
        _word(given, 40) or hashlib.sha256(f"{controller} {process or os.urandom(16).hex()}".encode()).hexdigest()[:12]
    )
    return Run(name, controller, process)


def is_gone(process: str) -> bool:
    """True only where it is certain: the same machine, boot and pid namespace, and no such process in it."""
    try:
        machine, _dot, rest = process.rpartition(".")[0].rpartition(".")
        pid, start = int(rest), process.rpartition(".")[2]
        if machine != _machine():
            return False
    except (OSError, ValueError):
        return False
    found = _process(pid)
    return found is None or found.start != start or found.state in ("Z", "X")
