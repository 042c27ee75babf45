"""A module that only reads a switch: options, login, result. What knows the systems is given."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Mapping

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from .._layer import RefusedError, failing
from . import ssh
from .commands import Commands, Show
from .judge import PORT_MODES
from .observed import Expected, Observed, chosen, facts
from .request import PRIORITY

MODES = ("lossless", "lossy", "absent")
# Of systems with RoCE modes of their own: refused in words that say what there is instead.
_CHOICES = (
    "lossless",
    "semi-lossless",
    "lossy",
    "lossless-single-ipool",
    "lossy-multi-tc",
    "dci-1",
    "dci-custom",
    "absent",
)
# Documented in the fragment switch_reading.
ARGUMENTS: dict[str, dict[str, object]] = {
    **ssh.OPTIONS,
    "ports": {"type": "list", "elements": "str", "default": []},
    "mode": {"type": "str", "choices": list(_CHOICES)},
    "priority": {"type": "int", "default": PRIORITY},
    "vlan": {"type": "int"},
    "mtu": {"type": "int"},
    "port_mode": {"type": "str", "choices": list(PORT_MODES)},
}


def expected(host: str, params: Mapping[str, Any]) -> Expected:
    mode, priority = params.get("mode"), params["priority"]
    if mode is not None and mode not in MODES:
        raise RefusedError(
            "not a RoCE mode of a switch that has none of its own",
            host=host,
            thing="mode",
            value=mode,
            remedy=f"choose one of {', '.join(MODES)}",
        )
    if not 0 <= priority <= 7:
        raise RefusedError(
            "a priority of 802.1p goes from 0 to 7", host=host, thing="priority", value=priority, remedy="use 3"
        )
    return Expected(mode, priority, params.get("vlan"), params.get("mtu"), params.get("port_mode"))


def run(systems: Mapping[str, Callable[[str, Show, int], Observed]]) -> None:
    """``systems``: what the option ``system`` names -> (name of the switch, its commands, priority of RoCE) -> what it
    is."""
    system: dict[str, object] = {"type": "str", "required": True, "choices": list(systems)}
    module = AnsibleModule(argument_spec={**ARGUMENTS, "system": system}, supports_check_mode=True)
    if ssh.IMPORT_ERROR:
        module.fail_json(msg=missing_required_lib("netmiko[par4]"), exception=ssh.IMPORT_ERROR)
    params = module.params
    host = params["hostname"]
    with failing(module):
        wanted = expected(host, params)
        with contextlib.closing(Commands(ssh.settings_from(params))) as session:
            seen = systems[params["system"]](host, session, wanted.priority)
        module.exit_json(changed=False, switch=facts(seen, chosen(host, params["ports"], seen.ports), wanted))
