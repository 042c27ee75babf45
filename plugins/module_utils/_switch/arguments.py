"""The options that every module which configures a switch has; documented in the fragment ``roce_switch``."""

from __future__ import annotations

from .request import DISRUPTION, DISRUPTIONS, PRIORITY
from .saving import POLICIES

COMMON: dict[str, dict[str, object]] = {
    "vlan": {"type": "int"},
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
}
