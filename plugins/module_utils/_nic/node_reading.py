"""What a node has, read without changing anything. Every reading is independent: one that fails leaves the others.

Imports on Python 3.8: it runs on nodes.
"""

from __future__ import annotations

import json
import os
import platform
import pwd
import re
import shutil
import socket
import time
from typing import Any, Sequence

from .._layer import ParseError
from .gpus import GpuReader
from .interface_state import parse_links, parse_pairs
from .node import Node, names_in
from .state import MELLANOX

# Ethernet and InfiniBand controllers.
_NIC_CLASSES = ("0200", "0207")
_IMAGES = ("/var/lib/docker", "/var/lib/containerd")
# iproute2, misc/ss.c: "*" is all addresses of both families, "[::]" those of IPv6 alone.
_LISTENER = re.compile(r"^\S+ +\d+ +\d+ +(\S+):(\d+) +\S+:\*(.*)$", re.MULTILINE)
_PROCESS = re.compile(r'\("(.*?)",pid=(\d+)')
# proc(5): the fourth field is what of its file system is mounted.
_MESH = re.compile(r"^\d+ \d+ \S+ \S*/mesh/container(?://deleted)? ", re.MULTILINE)


def read_node(controller_time: float, registry: str, socket_path: str, timeout: float) -> dict[str, Any]:
    now = time.time()
    node = Node(socket.gethostname(), timeout=timeout)
    sysfs = node.sysfs
    docker = ["docker", "--host", f"unix://{socket_path}"]
    place = node.output(*docker, "info", "--format", "{{.DockerRootDir}}").strip()
    return {
        "python": platform.python_version(),
        "uid": os.geteuid(),
        "user": _user(),
        "distribution": parse_pairs(sysfs.read("/etc/os-release")).get("PRETTY_NAME", "").strip().strip('"'),
        "clock_skew": round(now - controller_time, 1) if controller_time else None,
        "free_gib": free_space([place] if place else _IMAGES),
        "gpu": GpuReader(node.host, timeout=timeout, sysfs=sysfs).read(),
        "gpu_processes": gpu_processes(node),
        "toolkit": _toolkit(node, docker),
        "engine": {**engine(node, docker), "apparmor": apparmor(node)},
        "addresses": addresses(node),
        "listeners": listeners(node),
        "rdma_devices": names_in(os.path.join(sysfs.root, "class", "infiniband")),
        "nics": sum(function.vendor == MELLANOX and function.device_class in _NIC_CLASSES for function in sysfs.bus()),
        "registry": reach(registry, timeout) if registry else {},
    }


def addresses(node: Node) -> dict[str, list[str]]:
    """Interface -> its addresses as 192.0.2.1/24; empty where iproute2 is missing or does not print JSON."""
    try:
        links = parse_links(node.output("ip", "-json", "address", "show"), node.host)
    except ParseError:
        return {}
    return {link.name: list(link.addresses) for link in links.values() if link.addresses}


def listeners(node: Node, proc: str = "/proc") -> list[dict[str, Any]]:
    """TCP ports that other machines reach: address as ss prints it, without brackets, port, process. Not those of the
    container of the mesh, whose processes see the directory of the mesh. Empty where ss is missing."""
    found = []
    for place, port, owners in _LISTENER.findall(node.output("ss", "-Hltnp")):
        address, processes = place.partition("%")[0].strip("[]"), _PROCESS.findall(owners)
        if not address.startswith("127.") and address != "::1" and not any(_in_mesh(proc, by[1]) for by in processes):
            named = processes[0][0] if processes else "a process that ss does not name"
            found.append({"address": address, "port": int(port), "process": named})
    return found


def _in_mesh(proc: str, pid: str) -> bool:
    try:
        with open(os.path.join(proc, pid, "mountinfo"), encoding="utf-8", errors="replace") as stream:
            return _MESH.search(stream.read()) is not None
    except OSError:  # it has ended since
        return True


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


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


def gpu_processes(node: Node) -> list[str]:
    said = node.output("nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv,noheader")
    return [line.strip() for line in said.split("\n") if line[:1].isdigit()]  # not what it says of a GPU that is lost


def _toolkit(node: Node, docker: Sequence[str]) -> bool:
    programs = ("nvidia-ctk", "nvidia-container-runtime-hook")
    if any(node.which(program) for program in programs):
        return True
    return "nvidia" in node.output(*docker, "info", "--format", "{{json .Runtimes}}")


def engine(node: Node, docker: Sequence[str]) -> dict[str, str]:
    """Docker's release, or why it does not answer."""
    if not node.which("docker"):
        return {"version": "", "error": ""}
    done = node.tool(*docker, "version", "--format", "{{json .Server.Version}}")
    if done is None:
        return {"version": "", "error": f"no answer within {node.timeout:.0f} s"}
    if done.code != 0:
        said = [line for line in done.err.strip().split("\n") if line]
        return {"version": "", "error": said[-1] if said else f"exit status {done.code}"}
    try:
        return {"version": str(json.loads(done.out)), "error": ""}
    except ValueError:
        return {"version": "", "error": f"docker version printed {done.out[:200]!r}"}


def apparmor(node: Node) -> str:
    """Why Docker starts no container though it answers; empty: it does, as far as AppArmor goes."""
    security = "kernel/security/apparmor"
    if not node.sysfs.read("module/apparmor/parameters/enabled").startswith("Y") or node.which("apparmor_parser"):
        return ""
    # Not mounted: a container, or a system that does not use it. Loaded since the boot: it needs the parser no more.
    known = os.path.exists(os.path.join(node.sysfs.root, security))
    if not known or "docker-default " in node.sysfs.read(security, "profiles"):
        return ""
    return "the kernel has AppArmor on, and there is no apparmor_parser, with which Docker loads its profile"


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
