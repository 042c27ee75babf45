"""The Docker engine that carries the lab: one that already answers, or one that the lab starts for itself."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import config, files, hostnet, processes

HOME = config.MACHINE_DIR / "engine"
SOCKET = HOME / "docker.sock"
_BEFORE = HOME / "before.json"
_OWNER = HOME / "owner"

# Bit numbers of capabilities(7) as `docker run --cap-add` names them. Three newer ones (38 and up) are unknown to
# engines of Debian 12 and nothing in a node needs them.
_CAPABILITIES = tuple(
    """
    CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE
    NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
    SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE
    MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ
    """.split()  # noqa: SIM905 - a table, not a list to maintain by hand
)


def privileged_arguments(bounding_set: int, cgroup_v2: bool) -> list[str]:
    """`docker run` options for a container that may boot systemd and an engine of its own.

    Plain --privileged wherever the machine has every capability. It fails where one is missing from the bounding set
    ("unable to apply caps"), so there every capability that does exist is named instead.
    """
    options = ["--cgroupns=private"] if cgroup_v2 else []
    missing = [name for bit, name in enumerate(_CAPABILITIES) if not bounding_set >> bit & 1]
    if not missing:
        return [*options, "--privileged"]
    for option in ("seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined"):
        options += ["--security-opt", option]
    for name in _CAPABILITIES:
        if name not in missing:
            options += ["--cap-add", name]
    return [*options, "--device-cgroup-rule", "a *:* rwm"]


def machine_privileges() -> list[str]:
    status = Path("/proc/self/status").read_text()
    bounding = int(next(line for line in status.splitlines() if line.startswith("CapBnd")).split()[1], 16)
    return privileged_arguments(bounding, Path("/sys/fs/cgroup/cgroup.controllers").exists())


# --- the client -----------------------------------------------------------------------------------------------------


def _version(client: str) -> tuple[int, ...]:
    run = subprocess.run([client, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\d+)\.(\d+)", run.stdout)
    return tuple(map(int, found.groups())) if found else ()


def pick_client(candidates: Iterable[str]) -> str:
    """The first client that can build with BuildKit: version 20 to 22 have it inside, later ones need buildx.

    On PATH there may be a bare, newer client without buildx in front of the distribution's complete one.
    """
    usable = [(client, _version(client)) for client in candidates]
    for client, version in usable:
        if not version:
            continue
        if (
            version < (23,)
            or subprocess.run([client, "buildx", "version"], capture_output=True, check=False).returncode == 0
        ):
            return client
    for client, version in usable:
        if version:
            return client
    raise config.LabError("no docker client on this machine; run lab/bootstrap.sh, or install docker.io")


def _candidates() -> list[str]:
    found = [Path(directory, "docker") for directory in os.environ.get("PATH", "").split(":") if directory]
    return [str(path) for path in dict.fromkeys(found) if os.access(path, os.X_OK)]


_chosen: dict[str, str] = {}


def _settings() -> dict[str, str]:
    """{"client": path, "host": DOCKER_HOST} of the running lab; read once per process."""
    if not _chosen:
        stored = files.read_json(config.paths().run / "engine.json")
        if stored is None:
            raise config.LabError("the lab is not up (no .lab/run/engine.json); run `python -m lab up`")
        _chosen.update(stored)
    return _chosen


def environment() -> dict[str, str]:
    """Environment for a docker client of this lab."""
    settings = _settings()
    result = dict(os.environ)
    if settings["host"]:
        result["DOCKER_HOST"] = settings["host"]
        result.pop("DOCKER_CONTEXT", None)
    # The client's version decides which builder it has (see pick_client).
    result["DOCKER_BUILDKIT"] = settings["buildkit"]
    return result


def command(*arguments: str) -> list[str]:
    return [_settings()["client"], *arguments]


def docker(
    *arguments: str, stdin: str | None = None, timeout: float | None = 600, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Runs the docker client; a non-zero status raises LabError with what it said (unless ``check`` is false)."""
    call = command(*arguments)
    try:
        run = subprocess.run(
            call, input=stdin, capture_output=True, text=True, timeout=timeout, env=environment(), check=False
        )
    except subprocess.TimeoutExpired as error:
        raise config.LabError(f"docker {' '.join(arguments[:4])}: no answer in {timeout} s") from error
    if check and run.returncode:
        said = (run.stderr or run.stdout).strip()
        raise config.LabError(f"docker {' '.join(arguments[:4])} ...: status {run.returncode}: {said[-2000:]}")
    return run


def inspect(kind: str, name: str) -> Any:
    """The object that `docker <kind> inspect` prints, or None when there is none of that name."""
    run = docker(kind, "inspect", name, check=False)
    if run.returncode == 0:
        return json.loads(run.stdout)[0]
    if "no such" in run.stderr.lower() or "not found" in run.stderr.lower():
        return None
    raise config.LabError(f"docker {kind} inspect {name}: {run.stderr.strip()}")


# --- which engine ---------------------------------------------------------------------------------------------------


def _answers(client: str, host: str) -> dict[str, Any] | None:
    environment = dict(os.environ)
    if host:
        environment["DOCKER_HOST"] = host
        environment.pop("DOCKER_CONTEXT", None)
    try:
        run = subprocess.run(
            [client, "info", "--format", "{{json .}}"],
            capture_output=True,
            text=True,
            timeout=15,
            env=environment,
            check=False,
        )
        info = json.loads(run.stdout) if run.returncode == 0 else None
    except (subprocess.TimeoutExpired, ValueError):
        return None
    # `docker info` may exit 0 with "ServerErrors" when no daemon answers.
    return info if info and info.get("ID") and not info.get("ServerErrors") else None


def owner() -> str | None:
    """Directory of the lab that the machine's lab engine was started for, while that engine runs."""
    if processes.pid_of(HOME, "dockerd") is None:
        return None
    try:
        return _OWNER.read_text()
    except FileNotFoundError:
        return None


def ensure(paths: config.Paths) -> str:
    """Finds or starts the engine, stores how to reach it, and returns one line that says which it is."""
    client = pick_client(_candidates())
    host = f"unix://{SOCKET}"
    # Two started at once would otherwise both find none.
    info = _answers(client, host) if SOCKET.exists() else None
    if info:
        line = f"the lab's own engine {info.get('ServerVersion')}"
    else:
        info = _answers(client, "")
        if info:
            host = os.environ.get("DOCKER_HOST", "")
            line = f"the engine of this machine, {info.get('ServerVersion')}"
        else:
            _start(paths, client, host)
            info = _answers(client, host) or {}
            line = f"started an engine of the lab, {info.get('ServerVersion')}"
    _refuse_unfit(info, host)
    version = _version(client)
    buildx = subprocess.run([client, "buildx", "version"], capture_output=True, check=False).returncode == 0
    settings = {"client": client, "host": host, "buildkit": "1" if version < (23,) or buildx else "0"}
    if files.read_json(paths.run / "engine.json") != settings:
        files.write_json(paths.run / "engine.json", settings)
    _chosen.clear()
    exported = f"export DOCKER_HOST={host}\n" if host else "# the engine of this machine: docker's own default\n"
    exported += f"export ROCEMESH_LAB_DOCKER={client}\n"
    if not (paths.root / "env").exists() or (paths.root / "env").read_text() != exported:
        files.write(paths.root / "env", exported)
    return line


def _refuse_unfit(info: dict[str, Any], host: str) -> None:
    if host and not host.startswith("unix://"):
        raise config.LabError(
            f"DOCKER_HOST={host} is not on this machine, but the lab publishes loopback addresses; "
            "unset DOCKER_HOST and run again"
        )
    if any("rootless" in option for option in info.get("SecurityOptions") or []):
        raise config.LabError(
            "this Docker engine is rootless and cannot run the lab's nodes (systemd and an engine inside); "
            "point DOCKER_HOST at a rootful engine, or stop this one and run again as root"
        )


def _start(paths: config.Paths, client: str, host: str) -> None:
    if os.geteuid() != 0:
        raise config.LabError("no Docker engine answers and only root can start one; run as root, or start Docker")
    dockerd = shutil.which("dockerd")
    if dockerd is None:
        raise config.LabError("no Docker engine answers and dockerd is not installed; run lab/bootstrap.sh")
    HOME.mkdir(parents=True, exist_ok=True)
    if not _BEFORE.exists():
        # An existing record is of a run that ended without `down`: it, not the present, is the clean state.
        files.write_json(_BEFORE, hostnet.record())
    files.write(_OWNER, str(paths.root))
    (HOME / "docker.pid").unlink(missing_ok=True)
    _end_orphan()
    processes.start(
        HOME,
        "dockerd",
        [
            dockerd,
            *("--data-root", str(HOME / "data")),
            *("--exec-root", str(HOME / "exec")),
            *("--pidfile", str(HOME / "docker.pid")),
            *("--host", host),
        ],
        ready=lambda: _answers(client, host) is not None,
        timeout=60,
    )


def _end_orphan() -> None:
    """What a dockerd that was killed leaves behind: its containerd, or only the number of it, which may by now be a
    zombie or another program. The next dockerd would take any of them for a containerd that is about to answer.

    Containers have guardians of their own; the new dockerd ends those that should not run.
    """
    pid_file = HOME / "exec" / "containerd" / "containerd.pid"
    try:
        pid = int(pid_file.read_text())
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except (OSError, ValueError):
        words = []
    if words and Path(words[0]).name == "containerd" and any(word.startswith(str(HOME)) for word in words):
        os.kill(pid, signal.SIGTERM)
        processes.wait_for("the orphaned containerd ends", lambda: processes.start_time(pid) is None, 20)
    pid_file.unlink(missing_ok=True)


def stop_own(paths: config.Paths, *, keep_cache: bool) -> list[str]:
    """Ends the engine if it is the lab's own, and puts the machine's network back; returns what was done."""
    if not HOME.exists():
        return []
    done = []
    if processes.stop(HOME, "dockerd", timeout=60):
        done.append("stopped the lab's dockerd")
    before = files.read_json(_BEFORE)
    if before is not None:
        if _another_engine():
            # The record stays (with --keep-cache): what was before all engines is still to be put back one day.
            done.append("another dockerd runs on this machine: left docker's chains and docker0 to it")
        else:
            done += hostnet.restore(
                before,
                tuple(rail.bridge for rail in config.RAILS),
                tuple(subnet for rail in config.RAILS for subnet in (rail.subnet, rail.subnet6)),
            )
            _BEFORE.unlink()
    for path in (_OWNER, SOCKET):
        path.unlink(missing_ok=True)
    _unmount_below(HOME)
    shutil.rmtree(HOME / "exec", ignore_errors=True)
    if not keep_cache:
        shutil.rmtree(HOME, ignore_errors=False)
        done.append(f"removed {HOME}")
        if not any(config.MACHINE_DIR.iterdir()):
            config.MACHINE_DIR.rmdir()
    return done


def _unmount_below(directory: Path) -> None:
    """An engine binds its data directory onto itself, and one that was killed never takes that away."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in reversed([point for point in points if point.startswith(f"{directory}/")]):
        subprocess.run(["umount", point], capture_output=True, check=False)


def _another_engine() -> bool:
    """Whether a dockerd with firewall rules of its own runs on this machine outside of containers."""
    here = Path("/proc/self/ns/net").readlink()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if (entry / "comm").read_text().strip() != "dockerd" or (entry / "ns" / "net").readlink() != here:
                continue
            if b"--iptables=false" not in (entry / "cmdline").read_bytes().split(b"\0"):
                return True
    return False
