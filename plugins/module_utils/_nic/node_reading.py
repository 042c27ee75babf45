# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node has, read without changing anything. Every reading stands alone: one that fails leaves the others.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.

Imports on Python 3.8: it runs on nodes.
"""

from __future__ import annotations

import glob
import json
import os
import platform
import pwd
import shutil
import socket
import subprocess
import time
from typing import Any, Sequence

NVIDIA, MELLANOX = "0x10de", "0x15b3"
# Display, VGA and 3D controllers.
_GPU_CLASSES = ("0x0300", "0x0302")
# Ethernet and InfiniBand controllers.
_NIC_CLASSES = ("0x0200", "0x0207")
_IMAGES = ("/var/lib/docker", "/var/lib/containerd")


def read_node(controller_time: float, registry: str, socket_path: str, timeout: float) -> dict[str, Any]:
    now = time.time()
    sysfs = os.environ.get("ROCEMESH_SYSFS_ROOT") or ""
    root = sysfs or "/sys"
    docker = ["docker", "--host", f"unix://{socket_path}"]
    place = _answer([*docker, "info", "--format", "{{.DockerRootDir}}"], timeout)
    listed = _answer(["nvidia-smi", "-L"], timeout)
    release = _answer(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], timeout)
    return {
        "python": platform.python_version(),
        "uid": os.geteuid(),
        "user": _user(),
        "distribution": _distribution(),
        "clock_skew": round(now - controller_time, 1) if controller_time else None,
        "free_gib": free_space([place] if place else _IMAGES),
        "gpu_devices": len(pci_devices(root, NVIDIA, _GPU_CLASSES)),
        "gpus": sum(line.startswith("GPU ") for line in listed.split("\n")) if listed else None,
        "nvidia_driver": release.split("\n")[0].strip() or _loaded_driver(root),
        "gpu_processes": gpu_processes(timeout),
        "toolkit": _toolkit(docker, timeout),
        "engine": engine(docker, timeout),
        "rdma_devices": sorted(_names(os.path.join(root, "class", "infiniband"))),
        "nics": len(pci_devices(root, MELLANOX, _NIC_CLASSES)),
        "registry": reach(registry, timeout) if registry else {},
        "simulated": bool(sysfs),
    }


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _distribution() -> str:
    for line in _text("/etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip().strip('"')
    return ""


def free_space(paths: Sequence[str]) -> dict[str, float]:
    """Path -> free GiB of its file system; of a directory that is not there yet, its nearest parent's. One file system
    counts once."""
    found: dict[int, str] = {}
    free: dict[str, float] = {}
    for path in paths:
        place = path
        while not os.path.isdir(place):
            place = os.path.dirname(place)
        device = os.stat(place).st_dev
        if device not in found:
            found[device] = path
            free[path] = round(shutil.disk_usage(place).free / 2**30, 1)
    return free


def pci_devices(root: str, vendor: str, classes: Sequence[str]) -> list[str]:
    """PCI addresses."""
    found = []
    for place in sorted(glob.glob(os.path.join(root, "bus", "pci", "devices", "*"))):
        kind = _text(os.path.join(place, "class")).strip()[:6]
        if kind in classes and _text(os.path.join(place, "vendor")).strip() == vendor:
            found.append(os.path.basename(place))
    return found


def _loaded_driver(root: str) -> str:
    return _text(os.path.join(root, "module", "nvidia", "version")).strip()


def gpu_processes(timeout: float) -> list[str]:
    said = _answer(["nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv,noheader"], timeout)
    return [line.strip() for line in said.split("\n") if line.strip()]


def _toolkit(docker: Sequence[str], timeout: float) -> bool:
    programs = ("nvidia-ctk", "nvidia-container-runtime-hook")
    if any(shutil.which(program, path=_path()) for program in programs):
        return True
    return "nvidia" in _answer([*docker, "info", "--format", "{{json .Runtimes}}"], timeout)


def engine(docker: Sequence[str], timeout: float) -> dict[str, str]:
    """Docker's release, or why it does not answer."""
    if not shutil.which("docker", path=_path()):
        return {"version": "", "error": ""}
    done = _run([*docker, "version", "--format", "{{json .Server.Version}}"], timeout)
    if done is None:
        return {"version": "", "error": f"no answer within {timeout:.0f} s"}
    if done.returncode != 0:
        said = [line for line in done.stderr.strip().split("\n") if line]
        return {"version": "", "error": said[-1] if said else f"exit status {done.returncode}"}
    try:
        return {"version": str(json.loads(done.stdout)), "error": ""}
    except ValueError:
        return {"version": "", "error": f"docker version printed {done.stdout[:200]!r}"}


def reach(registry: str, timeout: float) -> dict[str, str]:
    """A TCP connection to ``host`` or ``host:port`` (443), no more."""
    host, _colon, port = registry.partition(":")
    if not port:
        port = "443"
    if not port.isdigit():
        return {"name": registry, "error": f"{port!r} is no port"}
    try:
        with socket.create_connection((host, int(port)), timeout=timeout):
            return {"name": registry, "error": ""}
    except OSError as error:
        return {"name": registry, "error": f"{host} port {port}: {error.strerror or error}"}


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""


def _path() -> str:
    return os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _run(command: Sequence[str], timeout: float) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "PATH": _path(), "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _answer(command: Sequence[str], timeout: float) -> str:
    """What the program printed, "" if it is not there or failed."""
    done = _run(command, timeout)
    return done.stdout.strip() if done is not None and done.returncode == 0 else ""
