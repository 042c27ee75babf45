"""The options that modules of switches share."""

from __future__ import annotations

from ansible.module_utils.common.parameters import env_fallback

from .judge import PORT_MODES
from .request import DISRUPTION, DISRUPTIONS, PRIORITY
from .saving import POLICIES

# Documented in the fragment ``switch``.
LOGIN: dict[str, dict[str, object]] = {
    "hostname": {"type": "str", "required": True, "fallback": (env_fallback, ["SWITCH_HOST"])},
    "username": {"type": "str", "required": True, "fallback": (env_fallback, ["SWITCH_USER"])},
    "password": {"type": "str", "required": True, "no_log": True, "fallback": (env_fallback, ["SWITCH_PASSWORD"])},
    "timeout": {"type": "int", "default": 30},
}
# Documented in the fragment ``switch.ssh``.
SSH: dict[str, dict[str, object]] = {
    "known_hosts": {"type": "path"},
    "host_key_checking": {"type": "bool", "default": True},
}
# Of every module that configures a switch; documented in the fragment ``switch.changes``.
COMMON: dict[str, dict[str, object]] = {
    "vlan": {"type": "int"},
    "port_mode": {"type": "str", "default": "access", "choices": list(PORT_MODES)},
    "addresses": {"type": "dict", "default": {}},
    "svi": {"type": "bool", "default": False},
    "ports": {"type": "list", "elements": "str", "default": []},
    "mtu": {"type": "int"},
    "priority": {"type": "int", "default": PRIORITY},
    "allow_mode_change": {"type": "raw", "default": False},
    "expected_neighbors": {"type": "list", "elements": "str", "default": []},
    "allow_unexpected_neighbors": {"type": "raw", "default": False},
    "allow_disruption": {"type": "str", "default": DISRUPTION, "choices": list(DISRUPTIONS)},
    "save": {"type": "str", "default": "when_clean", "choices": list(POLICIES)},
    "wait_for_links": {"type": "int", "default": 60},
    "rollback": {"type": "bool", "default": True},
    "restore": {
        "type": "dict",
        "options": {"before": {"type": "dict", "required": True}, "after": {"type": "dict", "required": True}},
    },
}
