"""Client of the control HTTP that every simulator offers: GET /state, POST /reset, POST and DELETE /fault."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from . import config

PROGRAMS = ("switch", "vsphere", "physics")
ADDRESSES = {"switch": config.SWITCH_IP, **config.VCENTERS, "physics": config.PHYSICS_IP}
# No proxy from the environment: these are loopback addresses.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def url(program: str, path: str) -> str:
    return f"http://{ADDRESSES[program]}:{config.CONTROL_PORT}{path}"


def request(method: str, address: str, body: Any = None, timeout: float = 10) -> Any:
    """The parsed JSON answer (None for an empty one). Raises LabError with the server's own words on refusal,
    ConnectionError when nobody answers."""
    data = None if body is None else json.dumps(body).encode()
    call = urllib.request.Request(address, data=data, method=method, headers={"Content-Type": "application/json"})
    try:
        with _OPENER.open(call, timeout=timeout) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        raise config.LabError(f"{method} {address}: {error.code} {error.read().decode(errors='replace')}") from error
    except (urllib.error.URLError, OSError) as error:
        raise ConnectionError(f"{method} {address}: {error}") from error
    try:
        return json.loads(text) if text.strip() else None
    except ValueError as error:
        raise config.LabError(f"{method} {address}: the answer is not JSON: {text[:200]!r}") from error


def state(program: str) -> Any:
    """``vsphere``: of all vCenters in one, hosts and VMs by their names in the inventory."""
    if program != "vsphere":
        return request("GET", url(program, "/state"))
    found = {name: request("GET", url(name, "/state")) for name in config.VCENTERS}
    merged = {**found["vsphere"], "hosts": {}, "vms": {}}
    for vcenter, content in found.items():
        mine = [node for node in config.NODES if node.vcenter == vcenter]
        hosts, vms = {node.esxi: node.host for node in mine}, {node.vm: node.name for node in mine}
        merged["hosts"] |= {hosts.get(name, name): value for name, value in content["hosts"].items()}
        for name, value in content["vms"].items():
            merged["vms"][vms.get(name, name)] = {**value, "host": hosts.get(value["host"], value["host"])}
    return merged


def reset(program: str) -> None:
    for name in config.VCENTERS if program == "vsphere" else (program,):
        request("POST", url(name, "/reset"), {}, timeout=120)


def answers(program: str) -> bool:
    try:
        return isinstance(state(program), dict)
    except (ConnectionError, config.LabError):
        return False
