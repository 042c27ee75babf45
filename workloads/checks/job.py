"""Run one long program so that its output can be read while it runs, and so that it does not outlive who wants it.

A supervisor process starts the program, sends its output to files in a folder of its own and writes down how it ended.
The caller asks again and again ("wait"): each answer brings what is new since the last one. If nobody has asked for
ORPHAN seconds (the controller was interrupted, killed or cut off), the supervisor ends the program: SIGTERM, and
SIGKILL to its process group after GRACE seconds.

Usage:
  job.py start FOLDER ORPHAN SECONDS program [argument ...]   start it, then wait as below
  job.py wait  FOLDER ORPHAN SECONDS OUT ERR    wait at most SECONDS for its end; OUT, ERR: bytes read so far
  job.py end   FOLDER                           end it, and return when it has ended
FOLDER must not exist at the start. It stays behind for whoever wants to read it, until a later start of a job with the
same prefix (the name up to the last dash) finds that no supervisor holds it and that nobody has asked for it within the
time that the last question gave.

The program and its children carry the mark ROCEMESH_JOB=FOLDER in their environment: leftovers.py knows by it whose a
process is, and by the lock in FOLDER whether anybody still wants it.

Prints one JSON line: "state" (running; ended; lost: the supervisor died without a word), "rc" (of the program, as a
shell gives it: 128 + signal), "orphaned", "seconds" (since the start), "out"/"err" (new output, base64), "out_at"/
"err_at" (what to give the next time), "more" (there is more to read right now). Exit status 0; 2 for wrong usage.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import Any, Iterator, Sequence

MARK = "ROCEMESH_JOB"
CHUNK = 256 * 1024  # bytes of each stream in one answer
GRACE = 20.0  # seconds between SIGTERM and SIGKILL; the timeout(1) around mpirun needs 10 of them


class Alarm(Exception):
    """The waiting time is over."""


def _write(folder: str, name: str, text: str) -> None:
    temporary = os.path.join(folder, f".{name}.{os.getpid()}")
    with open(temporary, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(temporary, os.path.join(folder, name))


def _read(folder: str, name: str) -> str | None:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


# --------------------------------------------------------------------------------------------------- supervisor


def _end_program(program: subprocess.Popen, grace: float) -> None:
    """SIGTERM to the program, which passes it on as it likes; SIGKILL to its process group if that does not help."""
    with contextlib.suppress(ProcessLookupError):
        program.send_signal(signal.SIGTERM)
    try:
        program.wait(grace)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()


def supervise(folder: str, argv: Sequence[str], ready: int) -> None:
    """Runs in a process of its own and holds ``folder``/lock as long as it lives. ``ready``: closed once it does."""
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        asked_to_end = []
        signal.signal(signal.SIGTERM, lambda *_unused: asked_to_end.append(True))
        _write(folder, "pid", str(os.getpid()))
        out = open(os.path.join(folder, "out"), "wb")  # noqa: SIM115 - the program's for its whole life
        err = open(os.path.join(folder, "err"), "wb")  # noqa: SIM115
        try:
            program = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                env={**os.environ, MARK: folder},
            )
        except OSError as error:
            err.write(f"{argv[0]}: {error.strerror}\n".encode())
            err.flush()
            _write(folder, "rc", "127" if error.errno == errno.ENOENT else "126")
            os.close(ready)
            return
        os.close(ready)
        while program.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(1.0)
            orphaned = time.monotonic() > float(_read(folder, "until") or "inf")
            if program.poll() is None and (orphaned or asked_to_end):
                if orphaned:
                    _write(folder, "orphaned", "")
                _end_program(program, GRACE)
        code = program.returncode
        _write(folder, "rc", str(code if code >= 0 else 128 - code))


def _still_wanted(path: str) -> bool:
    """Whether the time is not over in which its owner may still come for what is in it: ended is not yet read."""
    try:
        return time.monotonic() <= float(_read(path, "until") or "inf")
    except ValueError:
        return True


def _sweep(folder: str) -> None:
    """Remove what earlier jobs of this kind have left, nobody holds and nobody reads any more."""
    parent, name = os.path.split(folder)
    prefix = name.rpartition("-")[0] + "-"
    for other in os.listdir(parent):
        path = os.path.join(parent, other)
        if not other.startswith(prefix) or other == name or os.path.islink(path) or not os.path.isdir(path):
            continue
        if os.stat(path).st_uid != os.getuid() or _still_wanted(path):
            continue
        try:
            with open(os.path.join(path, "lock"), encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # held, or just being made
        shutil.rmtree(path, ignore_errors=True)


def start(folder: str, orphan: float, seconds: float, argv: Sequence[str]) -> dict[str, Any]:
    _sweep(folder)
    os.mkdir(folder, 0o700)
    _write(folder, "started", repr(time.monotonic()))
    _write(folder, "until", repr(time.monotonic() + seconds + orphan))
    heard, ready = os.pipe()
    if os.fork() == 0:
        status = 1
        try:
            os.setsid()
            os.close(heard)
            quiet = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(quiet, standard)
            supervise(folder, argv, ready)
            status = 0
        except BaseException as error:
            _write(folder, "supervisor", f"{type(error).__name__}: {error}")
        finally:
            os._exit(status)
    os.close(ready)
    with os.fdopen(heard, "rb") as stream:
        stream.read()  # ends when the supervisor holds the lock, or is dead
    return wait(folder, orphan, seconds, 0, 0)


# ------------------------------------------------------------------------------------------------------- caller


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    armed = [True]

    def ring(_number: int, _frame: Any) -> None:
        if armed:
            armed.clear()
            raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    # Again and again: one that rings just before the call that it has to end does not end it.
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001), 0.2)
    try:
        yield
    finally:
        armed.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ended(folder: str, seconds: float) -> bool:
    """Whether the supervisor has ended within that time. Its lock is what we wait for: no polling, no stale PID."""
    with open(os.path.join(folder, "lock"), encoding="utf-8") as lock:
        try:
            if seconds <= 0:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return True
            with _at_most(seconds):
                fcntl.flock(lock, fcntl.LOCK_SH)
        except (Alarm, BlockingIOError):
            return False
    return True


def _new(folder: str, name: str, offset: int) -> bytes:
    with open(os.path.join(folder, name), "rb") as stream:
        stream.seek(offset)
        return stream.read(CHUNK)


def wait(folder: str, orphan: float, seconds: float, out_at: int, err_at: int) -> dict[str, Any]:
    _write(folder, "until", repr(time.monotonic() + seconds + orphan))
    unread = any(_new(folder, name, at)[CHUNK - 1 :] for name, at in (("out", out_at), ("err", err_at)))
    ended = _ended(folder, 0 if unread else seconds)
    _write(folder, "until", repr(time.monotonic() + orphan))
    # Read after the question whether it has ended: then "ended" and nothing more to read means that this was all.
    out, err = _new(folder, "out", out_at), _new(folder, "err", err_at)
    code = _read(folder, "rc")
    return {
        "state": "running" if not ended else "ended" if code is not None else "lost",
        "rc": int(code) if ended and code is not None else None,
        "orphaned": _read(folder, "orphaned") is not None,
        "why": _read(folder, "supervisor"),
        "seconds": time.monotonic() - float(_read(folder, "started") or "nan"),
        "out": base64.b64encode(out).decode(),
        "err": base64.b64encode(err).decode(),
        "out_at": out_at + len(out),
        "err_at": err_at + len(err),
        "more": len(out) == CHUNK or len(err) == CHUNK,
    }


def end(folder: str) -> dict[str, Any]:
    if not os.path.exists(os.path.join(folder, "lock")):
        return {"state": "ended", "rc": None}  # it never started
    if not _ended(folder, 0):
        pid = int(_read(folder, "pid") or "0")
        with contextlib.suppress(ProcessLookupError):
            # 0 would be the group of whoever asks. A supervisor that has not written its number yet notices by itself
            # that nobody asks any more.
            if pid > 0:
                os.kill(pid, signal.SIGTERM)
        _ended(folder, GRACE + 10)
    code = _read(folder, "rc")
    return {"state": "ended" if _ended(folder, 0) else "running", "rc": int(code) if code else None}


def main(arguments: Sequence[str]) -> int:
    try:
        if arguments[0] == "start" and len(arguments) > 4:
            answer = start(arguments[1], float(arguments[2]), float(arguments[3]), arguments[4:])
        elif arguments[0] == "wait" and len(arguments) == 6:
            answer = wait(arguments[1], float(arguments[2]), float(arguments[3]), int(arguments[4]), int(arguments[5]))
        elif arguments[0] == "end" and len(arguments) == 2:
            answer = end(arguments[1])
        else:
            raise IndexError
    except IndexError:
        sys.stderr.write("usage: job.py start|wait|end FOLDER ... (see the head of the file)\n")
        return 2
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
