"""What would make the lab fail later, found out before anything is changed."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import config, engine, processes

# Images, four engines with the workload image each, and the registry: 7.2 GB were measured.
_DISK_GB = 9


def machine() -> None:
    """Before anything is started."""
    if sys.platform != "linux":
        raise config.LabError("the lab needs Linux (systemd containers, loopback addresses 127.78.0.0/24)")
    for tool in ("ip", "ssh-keygen"):
        if shutil.which(tool) is None:
            raise config.LabError(f"{tool} is not installed; run lab/bootstrap.sh")
    running_for = engine.owner()
    here = str(config.paths().root)
    if running_for not in (None, here):
        raise config.LabError(
            f"another lab, of {running_for}, is up on this machine and uses the same addresses; end it first: "
            f"`python -m lab down` there"
        )


def ports(paths: config.Paths) -> None:
    """Addresses that somebody else uses. Those of our own running programs and containers are no conflict."""
    wanted = [
        ("switch", config.SWITCH_IP, config.SSH_PORT),
        ("switch", config.SWITCH_IP, config.CONTROL_PORT),
        *(
            (name, ip, port)
            for name, ip in config.VCENTERS.items()
            for port in (config.VCENTER_PORT, config.CONTROL_PORT)
        ),
        ("physics", config.PHYSICS_IP, config.CONTROL_PORT),
    ]
    for program, ip, port in wanted:
        if processes.pid_of(paths.run, program) is None:
            _free(ip, port)


def _free(ip: str, port: int) -> None:
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ip, port))
        except OSError as error:
            listed = subprocess.run(
                ["ss", "-Hltnp", f"sport = :{port}"], capture_output=True, text=True, check=False
            ).stdout
            users = [
                line.split()[-1]
                for line in listed.splitlines()
                if line.split()[3] in (f"{ip}:{port}", f"*:{port}", f"0.0.0.0:{port}")
            ]
            raise config.LabError(
                f"{ip}:{port} is in use by {', '.join(users) or 'another program'} ({error.strerror}); "
                "the lab needs this address: end that program, or the lab of another clone (`python -m lab down` there)"
            ) from error


def in_engine(paths: config.Paths) -> None:
    """Names in the engine that belong to another clone's lab, and the node addresses."""
    here = str(paths.root)
    for kind, names in {
        "network": [rail.network for rail in config.RAILS],
        "container": [config.REGISTRY_CONTAINER, *(node.container for node in config.NODES)],
    }.items():
        for name in names:
            found = engine.inspect(kind, name)
            if found is None:
                continue
            labels = (found["Config"]["Labels"] if kind == "container" else found["Labels"]) or {}
            if labels.get(config.OWNER_LABEL) != here:
                of = labels.get(config.OWNER_LABEL, "somebody who is not a lab")
                raise config.LabError(
                    f"{kind} {name} is there already and belongs to {of}; end that lab first "
                    "(`python -m lab down` in its clone), or remove it"
                )
    for node in config.NODES:
        if not config.SHAPE.ipv6_alone and engine.inspect("container", node.container) is None:
            _free(node.ssh_ip, config.SSH_PORT)
    for rail in config.RAILS:
        if engine.inspect("network", rail.network) is not None:
            continue
        listed = subprocess.run(["ip", "-json", "route"], capture_output=True, text=True, check=True).stdout
        clash = overlapping_route(json.loads(listed), rail.subnet)
        if clash:
            raise config.LabError(
                f"this machine already has a route to {clash} and a network of the lab is {rail.subnet}; "
                "leave that network (a VPN?) while the lab is up"
            )


def overlapping_route(routes: Iterable[dict[str, Any]], subnet: str) -> str | None:
    """ "destination (device)" of the first route, other than a default route, that shares addresses with ``subnet``."""
    ours = ipaddress.ip_network(subnet)
    for route in routes:
        try:
            network = ipaddress.ip_network(route["dst"], strict=False)
        except ValueError:
            continue  # "default", or a type such as "unreachable"
        if network.version == ours.version and network.prefixlen and network.overlaps(ours):
            return f"{network} ({route.get('dev', 'no device')})"
    return None


def disk() -> None:
    root = engine.docker("info", "--format", "{{.DockerRootDir}}").stdout.strip()
    place = Path(root) if Path(root).exists() else Path("/")
    free = shutil.disk_usage(place).free / 1e9
    if free < _DISK_GB:
        raise config.LabError(f"{free:.1f} GB are free at {place}, a run of the lab needs {_DISK_GB} GB; make room")
