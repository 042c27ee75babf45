"""The lab's own long-running programs: started detached, found again by pid *and* start time, stopped by pid."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from . import config, files


def wait_for(what: str, condition: Callable[[], bool], timeout: float, interval: float = 0.05) -> None:
    """Returns as soon as ``condition`` holds; after ``timeout`` seconds raises LabError that names ``what``."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise config.LabError(f"{what}: not within {timeout:.0f} s")
        time.sleep(interval)


def start_time(pid: int) -> str | None:
    """The kernel's start time of a process (clock ticks since boot); None when it is gone or a zombie."""
    try:
        # The command name, in parentheses, may contain spaces.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def pid_of(run: Path, name: str) -> int | None:
    """The pid if the program that we started still runs; a pid that now belongs to another program does not count."""
    try:
        pid, started = (run / f"{name}.pid").read_text().split()
    except (OSError, ValueError):
        return None
    return int(pid) if start_time(int(pid)) == started else None


def start(
    run: Path,
    name: str,
    command: Sequence[str],
    *,
    ready: Callable[[], bool],
    timeout: float = 30,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Starts the program in a session of its own, output to ``<run>/<name>.log``; returns when ``ready`` holds."""
    run.mkdir(parents=True, exist_ok=True)
    log = run / f"{name}.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=config.REPO,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
    files.write(run / f"{name}.pid", f"{process.pid} {start_time(process.pid)}\n")

    def ready_or_dead() -> bool:
        if process.poll() is not None:
            raise config.LabError(f"{name} ended with status {process.returncode}:\n{tail(log)}")
        return ready()

    try:
        wait_for(f"{name} answers (log: {log})", ready_or_dead, timeout)
    except BaseException:
        stop(run, name)
        raise


def stop(run: Path, name: str, timeout: float = 20) -> bool:
    """Stops the program if it runs; True if there was something to stop."""
    pid = pid_of(run, name)
    if pid is not None:
        os.kill(pid, signal.SIGTERM)
        try:
            wait_for(f"{name} ends", lambda: _gone(run, name), timeout)
        except config.LabError:
            os.kill(pid, signal.SIGKILL)
            wait_for(f"{name} ends after SIGKILL", lambda: _gone(run, name), timeout)
    (run / f"{name}.pid").unlink(missing_ok=True)
    return pid is not None


def _gone(run: Path, name: str) -> bool:
    pid = pid_of(run, name)
    if pid is None:
        return True
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # in case it is a child of ours
    return pid_of(run, name) is None


def tail(log: Path, lines: int = 15) -> str:
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return "(no log)"
