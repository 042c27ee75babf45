"""Find the jobs that run in this container, say whose they are, and end those that nobody wants any more.

``docker exec ... mpirun`` does not die with its client: mpirun, its daemons and the ranks live on, hold the port and
the GPU, and make the next run fail or crawl. They look like anybody's: a name of a program proves nothing. So a process
is ours only by the mark that job.py put into its environment (ROCEMESH_JOB=FOLDER of the job, with the site in its
name); a launcher without the mark belongs to the job of the ranks below it. A job is over only if the lock in its
folder is free, which its supervisor holds as long as it lives, and which only the container of the head can tell.
Everything else is somebody else's: shown, never touched.

Usage: leftovers.py list SITE                  what runs here, and the job of this site that it belongs to
       leftovers.py jobs SECONDS FOLDER ...    in the head's container: which of these jobs are over; waits at most so
                                               long for one whose owner does not ask for it any more
       leftovers.py end SECONDS FOLDER ...     end the processes of these jobs; SECONDS before SIGKILL
       leftovers.py look SECONDS FOLDER        what the processes of this job do for so long, and what NCCL's RAS (from
                                               2.28.7 on) says of its ranks; touches none of them
Prints one JSON line. Exit status 0, or 1 if something could not be ended.

Only processes in this process's own PID namespace are looked at, never the caller itself or its ancestors.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import pwd
import re
import signal
import socket
import sys
import time
from typing import Any, Callable, Mapping, Sequence

MARK = "ROCEMESH_JOB"
RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "RANK")  # what says the number of a rank, in this order
LAUNCHERS = frozenset(("mpirun", "mpiexec", "orterun", "orted", "prterun", "prted"))
SCRIPTS = frozenset(
    ("resnet50.py", "tf_cnn_benchmarks.py", "allreduce.py", "bandwidth.py", "scaling.py", "scoring.py", "training.py")
)
_GPU = re.compile(r"^/dev/nvidia\d+$")
RAS = "localhost:28028"  # where NCCL listens unless NCCL_RAS_ADDR says otherwise (NCCL documentation, RAS)
RAS_PATIENCE = 5  # seconds in which NCCL asks the other processes
STEP = 0.2  # seconds between two looks


@dataclasses.dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    started: int  # in ticks since the boot: with the number it names one process for ever
    uid: int
    argv: tuple[str, ...]
    mark: str  # folder of the job, '' without one
    gpu: bool  # it has a GPU open


def is_launcher(argv: Sequence[str]) -> bool:
    program = os.path.basename(argv[0]) if argv else ""
    return program in LAUNCHERS or (
        program == "timeout" and any(os.path.basename(word) in LAUNCHERS for word in argv[1:])
    )


def is_job(argv: Sequence[str]) -> bool:
    """Whether it looks like a job, whose ever; words inside one argument (a shell script's text) do not count."""
    if is_launcher(argv):
        return True
    program = os.path.basename(argv[0]) if argv else ""
    return program.startswith("python") and any(os.path.basename(word) in SCRIPTS for word in argv[1:])


# ------------------------------------------------------------------------------------------------------ reading


def _read(*parts: str) -> bytes:
    with open(os.path.join(*parts), "rb") as stream:
        return stream.read()


def _told(proc: str, name: str, variable: str) -> str:
    """A variable of a process's environment; '' if it has none, or if its environment is not ours to read."""
    try:
        words = _read(proc, name, "environ").split(b"\0")
    except OSError:
        return ""
    prefix = (variable + "=").encode()
    return next((word[len(prefix) :].decode("utf-8", "replace") for word in words if word.startswith(prefix)), "")


def _has_gpu(proc: str, name: str) -> bool:
    folder = os.path.join(proc, name, "fd")
    try:
        links = os.listdir(folder)
    except OSError:
        return False
    for link in links:
        with contextlib.suppress(OSError):
            if _GPU.match(os.readlink(os.path.join(folder, link))):
                return True
    return False


def _process(proc: str, name: str) -> Process | None:
    """None: gone meanwhile, a zombie, or not ours to look at."""
    try:
        stat = _read(proc, name, "stat").decode("utf-8", "replace")
        fields = stat[stat.rindex(")") + 2 :].split()  # a name may hold blanks and brackets
        if fields[0] in ("Z", "X"):
            return None
        argv = _read(proc, name, "cmdline").decode("utf-8", "replace").split("\0")[:-1]
        uid = os.stat(os.path.join(proc, name)).st_uid
    except (OSError, ValueError, IndexError):
        return None
    mark = _told(proc, name, MARK)  # without one it is a stranger
    return Process(int(name), int(fields[1]), int(fields[19]), uid, tuple(argv), mark, _has_gpu(proc, name))


def read(proc: str, own_pid: int) -> list[Process]:
    """Live processes of the own PID namespace, without the caller, its ancestors and process 1."""
    own_namespace = os.readlink(os.path.join(proc, str(own_pid), "ns", "pid"))
    found = {}
    for name in (name for name in os.listdir(proc) if name.isdigit()):
        with contextlib.suppress(OSError):
            if os.readlink(os.path.join(proc, name, "ns", "pid")) != own_namespace:
                continue
        process = _process(proc, name)
        if process is not None:
            found[process.pid] = process
    pid, spared = own_pid, {1}
    while pid in found and pid not in spared:
        spared.add(pid)
        pid = found[pid].parent
    return [found[pid] for pid in sorted(found) if pid not in spared]


def with_launchers(processes: Sequence[Process]) -> list[Process]:
    """The same, where a launcher without a mark (orted gets no environment) has that of the one job below it."""
    marks = {process.pid: process.mark for process in processes}
    by_pid = {process.pid: process for process in processes}
    below: dict[int, set[str]] = {}
    for process in processes:
        above = by_pid.get(process.parent)
        while process.mark and above is not None and not above.mark and is_launcher(above.argv):
            below.setdefault(above.pid, set()).add(process.mark)
            above = by_pid.get(above.parent)
    for pid, jobs in below.items():
        if len(jobs) == 1:
            marks[pid] = next(iter(jobs))
    return [dataclasses.replace(process, mark=marks[process.pid]) for process in processes]


def of_site(mark: str, site: str) -> bool:
    """Whether the job with this folder is one of the site: rocemesh-job-SITE-NUMBER."""
    return bool(site) and re.match(rf"^rocemesh-job-{re.escape(site)}-[0-9a-f]+$", os.path.basename(mark)) is not None


# ----------------------------------------------------------------------------------------------------- three verbs


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _since(proc: str, started: int) -> str:
    """When it was started, UTC."""
    try:
        boot = int(next(line for line in _read(proc, "stat").splitlines() if line.startswith(b"btime ")).split()[1])
    except (OSError, StopIteration, ValueError):
        return "unknown"
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(boot + started / os.sysconf("SC_CLK_TCK")))


def listing(proc: str, own_pid: int, site: str) -> list[dict[str, Any]]:
    """What runs here: every process with a mark, and every one that looks like a job or has a GPU open."""
    return [
        {
            "pid": process.pid,
            "user": _user(process.uid),
            "since": _since(proc, process.started),
            "command": " ".join(process.argv)[:300],
            "job": process.mark,
            "ours": of_site(process.mark, site),
        }
        for process in with_launchers(read(proc, own_pid))
        if process.mark or process.gpu or is_job(process.argv)
    ]


def _until(folder: str) -> str:
    try:
        with open(os.path.join(folder, "until"), encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""


def _held(folder: str) -> bool | None:
    """Whether a supervisor holds the job; None if that cannot be told: then nobody may say that it is over."""
    try:
        with open(os.path.join(folder, "lock"), encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


def states(folders: Sequence[str], patience: float, pause: Callable[[float], None] = time.sleep) -> dict[str, str]:
    """over: no supervisor; running: its owner asks for it; unknown: no such job in this container.

    A job whose owner was killed is ended by its supervisor soon. Whose job that is shows in whether anybody still asks:
    each question moves the time in ``until``. So a job that is held is watched until one of both happens.
    """
    found: dict[str, str] = {}
    asked = {folder: _until(folder) for folder in folders}
    waited = 0.0
    while True:
        for folder in folders:
            held = _held(folder)
            if folder in found:
                continue
            if held is not True:
                found[folder] = "unknown" if held is None else "over"
            elif _until(folder) != asked[folder]:
                found[folder] = "running"
        if len(found) == len(set(folders)) or waited >= patience:
            return {folder: found.get(folder, "running") for folder in folders}
        pause(STEP)
        waited += STEP


def end(
    jobs: Sequence[str],
    patience: float,
    look: Callable[[], Sequence[Process]],
    kill: Callable[[int, int], None] = os.kill,
    pause: Callable[[float], None] = time.sleep,
) -> tuple[set[int], set[int]]:
    """SIGTERM, wait at most ``patience`` seconds, SIGKILL the rest; (what was ended, what is still there)."""

    def there() -> set[tuple[int, int]]:
        return {(process.pid, process.started) for process in look() if process.mark and process.mark in jobs}

    all_of_them = there()
    left = set(all_of_them)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid, _started in sorted(left):
            with contextlib.suppress(ProcessLookupError):
                kill(pid, number)
        waited = 0.0
        left &= there()
        while left and waited < patience:
            pause(STEP)
            waited += STEP
            left &= there()
    return {pid for pid, _started in all_of_them - left}, {pid for pid, _started in left}


def _look() -> list[Process]:
    return with_launchers(read("/proc", os.getpid()))


def _rank(proc: str, name: str) -> int | None:
    said = next((word for word in (_told(proc, name, variable) for variable in RANKS) if word), "")
    return int(said) if said.isdigit() else None


def _threads(proc: str, name: str) -> tuple[dict[str, str], int] | None:
    """(thread -> state, ticks of processor time of all); None: gone."""
    try:
        fields = _read(proc, name, "stat").decode("utf-8", "replace").rpartition(")")[2].split()
        states, ticks = {name: fields[0]}, int(fields[11]) + int(fields[12])
    except (OSError, ValueError, IndexError):
        return None
    with contextlib.suppress(OSError):
        for thread in os.listdir(os.path.join(proc, name, "task")):
            with contextlib.suppress(OSError, IndexError):
                text = _read(proc, name, "task", thread, "stat").decode("utf-8", "replace")
                states[thread] = text.rpartition(")")[2].split()[0]
    return states, ticks


def standing(
    proc: str, own_pid: int, folder: str, seconds: float, pause: Callable[[float], None] = time.sleep
) -> list[dict[str, Any]]:
    """What each process of this job does: its rank (None: a launcher), state, where in the kernel it waits, and the
    share of one processor that it used. D counts only if one thread was in it at the beginning and at the end."""
    names = [str(process.pid) for process in with_launchers(read(proc, own_pid)) if process.mark == folder]
    before = {name: _threads(proc, name) for name in names}
    pause(seconds)
    found = []
    for process in with_launchers(read(proc, own_pid)):
        name, now = str(process.pid), _threads(proc, str(process.pid))
        first = before.get(name)
        if first is None or now is None or process.mark != folder:
            continue
        waiting = sorted(thread for thread, state in now[0].items() if state == "D" == first[0].get(thread))
        state = "D" if waiting else now[0][name] if now[0][name] != "D" else "S"
        try:
            where = _read(proc, name, "task", (waiting or [name])[0], "wchan").decode("ascii", "replace").strip()
        except OSError:
            where = ""
        share = (now[1] - first[1]) / os.sysconf("SC_CLK_TCK") / seconds if seconds else 0.0
        found.append(
            {
                "pid": process.pid,
                "rank": _rank(proc, name),
                "state": state,
                "waits_in": "" if where == "0" else where,
                "cpu": round(share, 2),
                "command": " ".join(process.argv)[:300],
            }
        )
    return found


def ras(address: str, pids: Sequence[int], patience: int = RAS_PATIENCE) -> dict[str, Any]:
    """What NCCL says of the largest communicator of the job that these processes belong to.

    {"begun": rank -> collectives that it has begun, "lost": ranks without an answer}; both empty where nothing listens
    or another job does, NCCL is older than 2.28.7, or two communicators are as large. Source: NCCL's src/ras/client.cc
    and client_support.cc.
    """
    host, _colon, port = address.rpartition(":")
    nothing: dict[str, Any] = {"begun": {}, "lost": []}
    try:
        with socket.create_connection((host.strip("[]"), int(port)), 2) as wire:
            wire.settimeout(3 * patience)
            answer = wire.makefile("rb")
            for line in ("CLIENT PROTOCOL 2", f"TIMEOUT {patience}", "SET FORMAT json"):
                wire.sendall(line.encode() + b"\n")
                if b"ERROR" in answer.readline():
                    return nothing
            wire.sendall(b"VERBOSE STATUS\n")
            found = sorted(json.loads(answer.read())["communicators"], key=lambda each: each["size"])
        if not found or (len(found) > 1 and found[-1]["size"] == found[-2]["size"]):
            return nothing
        if not any(each["pid"] in pids for each in found[-1]["ranks"]):
            return nothing
        ranks = {each["rank"]: sum(each["collective_counts"].values()) for each in found[-1]["ranks"]}
        return {"begun": ranks, "lost": sorted(each["rank"] for each in found[-1]["missing_ranks"])}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # nothing there, or not as described
        return nothing


def _ras_of(proc: str, seen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    pids = [each["pid"] for each in seen]
    said = (_told(proc, str(pid), "NCCL_RAS_ADDR") for pid in pids)
    return ras(next(filter(None, said), RAS), pids) if pids else {}


def main(arguments: Sequence[str]) -> int:
    words = list(arguments)
    try:
        if words[0] == "list" and len(words) == 2:
            print(json.dumps({"found": listing("/proc", os.getpid(), words[1])}))
            return 0
        if words[0] == "jobs" and len(words) > 2:
            print(json.dumps({"jobs": states(words[2:], float(words[1]))}))
            return 0
        if words[0] == "end" and len(words) > 2:
            ended, left = end(words[2:], float(words[1]), _look)
            print(json.dumps({"ended": sorted(ended), "left": sorted(left)}))
            return 1 if left else 0
        if words[0] == "look" and len(words) == 3:
            seen = standing("/proc", os.getpid(), words[2], float(words[1]))
            print(json.dumps({"processes": seen, "ras": _ras_of("/proc", seen)}))
            return 0
    except (IndexError, ValueError):
        pass
    sys.stderr.write("usage: leftovers.py list SITE | jobs|end SECONDS FOLDER ... | look SECONDS FOLDER\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
