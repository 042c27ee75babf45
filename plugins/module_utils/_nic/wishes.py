"""What the modules of a node's layers take, as their options, and the layer that each makes of them: for a module that
converges one of them, and for node_info, which only looks at all of them in one start.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import ipaddress
import os
from typing import Any, Callable, Mapping

from .._layer import LayerError, RefusedError, converge
from .gpu_state import problems, waiting
from .gpus import GpuReader
from .interface_choice import Wanted
from .interface_layer import InterfaceLayer
from .interface_reading import InterfaceReader
from .layer import AtsLayer
from .manifest import ROLES, ManifestLayer, Wish
from .plan import AtsWanted, parse_time
from .transport import NicTools

_SESSION = b"SSH_CONNECTION="
_STRINGS = {"type": "list", "elements": "str"}
Options = Mapping[str, Any]

ATS: dict[str, dict[str, Any]] = {
    "device": {**_STRINGS, "default": ["auto"]},
    "state": {"type": "str", "choices": ["enabled", "disabled", "queried"], "default": "enabled"},
    "tool": {"type": "str", "choices": ["auto", "mlxconfig", "mstconfig"], "default": "auto"},
    "query_timeout": {"type": "int", "default": 60},
    "missing_parameter": {"type": "str", "choices": ["fail", "warn"], "default": "fail"},
    "verify_pci": {"type": "bool", "default": True},
    "bare_metal": {"type": "str", "choices": ["refuse", "allow"], "default": "refuse"},
    "require_active": {"type": "bool", "default": False},
    "host_boot_time": {"type": "str"},
    "settled_since": {"type": "str"},
}
INTERFACE: dict[str, dict[str, Any]] = {
    "interface": {**_STRINGS, "default": ["auto"]},
    "network": {**_STRINGS, "default": []},
    "mtu": {"type": "int", "default": 0},
    "management": {"type": "str", "choices": ["refuse", "allow"], "default": "refuse"},
    "connection_address": {"type": "str", "default": ""},
    "restore": {
        "type": "dict",
        "options": {"before": {"type": "dict", "required": True}, "after": {"type": "dict", "required": True}},
    },
    "driver": {**_STRINGS, "default": ["mlx5_core"]},
    "tool_timeout": {"type": "int", "default": 20},
}
MANIFEST: dict[str, dict[str, Any]] = {
    "roles": {**_STRINGS, "choices": list(ROLES), "default": list(ROLES)},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}
GPUS: dict[str, dict[str, Any]] = {
    "ranks": {"type": "int", "default": 0},
    "allow_idle_gpus": {"type": "bool", "default": False},
    "image": {"type": "str", "choices": ["", "cpu", "cuda"], "default": ""},
    "allow_cpu": {"type": "bool", "default": False},
    "image_cuda": {"type": "str", "default": ""},
    "waits_for": {**_STRINGS, "default": []},
    "settle_timeout": {"type": "int", "default": 0},
    "gather_state": {"type": "bool", "default": False},
    "tool_timeout": {"type": "int", "default": 60},
}


def ats(options: Options, host: str) -> tuple[AtsLayer, AtsWanted]:
    if not options["device"]:  # of no function everything would be proved
        raise RefusedError("device is empty; write auto, or name functions", host=host)
    wanted = AtsWanted(
        enabled={"enabled": True, "disabled": False}.get(options["state"]),
        missing_is_failure=options["missing_parameter"] == "fail",
        require_active=options["require_active"],
        bare_metal_allowed=options["bare_metal"] == "allow",
        host_boot_time=parse_time(options["host_boot_time"], host, "host_boot_time"),
        settled_since=parse_time(options["settled_since"], host, "settled_since"),
    )
    tools = NicTools(host, tool=options["tool"], timeout=options["query_timeout"])
    return AtsLayer(tools, options["device"], options["verify_pci"]), wanted


def _wrong(options: Options) -> str:
    if options["mtu"] and not 1500 <= options["mtu"] <= 9900:
        return f"mtu is {options['mtu']}; give 0 (leave alone) or 1500 to 9900"
    if options["tool_timeout"] < 1:
        return f"tool_timeout is {options['tool_timeout']}; give a second or more"
    try:
        for text in options["network"]:
            ipaddress.ip_network(text, strict=False)
        if options["connection_address"]:
            ipaddress.ip_address(options["connection_address"])
    except ValueError as error:
        return f"network or connection_address: {error}; give a CIDR such as 198.51.100.0/24, and an address"
    return "" if options["interface"] else "interface is empty; write auto, or names"


def interface_reader(options: Options, host: str) -> InterfaceReader:
    wrong = _wrong(options)
    if wrong:
        raise RefusedError(wrong, host=host)
    return InterfaceReader(host, timeout=options["tool_timeout"])


def interface(options: Options, host: str) -> tuple[InterfaceLayer, Wanted]:
    reader = interface_reader(options, host)
    wanted = Wanted(
        interfaces=tuple(options["interface"]),
        networks=tuple(options["network"]),
        session=options["connection_address"] or session_address(),
        management=options["management"] == "allow",
        mtu=options["mtu"],
        simulated=reader.sysfs.simulated,
        drivers=tuple(options["driver"]),
    )
    return InterfaceLayer(reader, wanted), wanted


def manifest(options: Options, host: str) -> tuple[ManifestLayer, Wish]:
    return ManifestLayer(host), Wish(tuple(options["roles"]), options["state"] == "absent")


def gpus(options: Options, host: str) -> dict[str, Any]:
    if options["tool_timeout"] < 1 or options["ranks"] < 0:
        raise RefusedError(
            f"tool_timeout is {options['tool_timeout']} and ranks is {options['ranks']}; give a second or more, and no "
            "negative number",
            host=host,
        )
    found = GpuReader(host, timeout=options["tool_timeout"]).read(health=options["gather_state"])
    return {"problems": problems(host, found, options), "waiting": waiting(host, found, options["waits_for"]), **found}


LAYERS: dict[str, tuple[dict[str, dict[str, Any]], Callable[[Options, str], Any]]] = {
    "ats": (ATS, ats),
    "interface": (INTERFACE, interface),
    "manifest": (MANIFEST, manifest),
    "gpus": (GPUS, gpus),
}


def look(name: str, options: Options, host: str) -> dict[str, Any]:
    """What the module of this layer would return in check mode; its failure is a result, too."""
    try:
        made = LAYERS[name][1](options, host)
        if isinstance(made, dict):
            return made
        layer, wanted = made
        return converge(layer, wanted, check_mode=True)
    except LayerError as error:
        return {"failed": True, **error.as_result()}


def session_address(proc: str = "/proc") -> str:
    """The node's own address that this connection came in on, '' if it is no ssh. Becoming another user takes
    SSH_CONNECTION out of the environment; that of a process above still has it."""
    pid = str(os.getpid())
    while pid not in ("", "0", "1"):
        rows = [row[15:].split() for row in _bytes(f"{proc}/{pid}/environ").split(b"\0") if row.startswith(_SESSION)]
        if rows and len(rows[0]) == 4:
            return rows[0][2].decode().partition("%")[0]  # of a link-local one without its interface
        # Behind the name in parentheses: state, parent.
        pid = b"".join(_bytes(f"{proc}/{pid}/stat").rpartition(b")")[2].split()[1:2]).decode()
    return ""


def _bytes(path: str) -> bytes:
    """Empty for a process that is gone, or that does not show its environment."""
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return b""
