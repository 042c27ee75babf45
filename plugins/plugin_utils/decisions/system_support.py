"""Check that this collection supports the operating systems of the hosts.

Compares distribution and release of each host with the collection's table of supported systems. A host whose facts
hold no distribution is looked up in what role guest read of it; without that it is left out.
``systems``: Host to its facts, with `distribution` and `distribution_version`.
``parts``: What is wanted there - `ats`, `mstflint`, `guide`, `current`, `engine`, `container`, `mesh`.
``unlisted``: Whether to take a system that is not in the table, with everything installed already.
``named``: Variables with which the inventory says that of one host; the first that it has counts, for this host alone.
"""

from __future__ import annotations

from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._site.systems import problems
from ..decision import Context

SPEC: dict[str, Any] = {
    "systems": {"type": "dict", "required": True},
    "parts": {"type": "list", "elements": "str", "required": True},
    "unlisted": {"type": "bool", "default": False},
    "named": {"type": "list", "elements": "str", "default": []},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    found = []
    hostvars = context.variables.get("hostvars") or {}
    asks = hostvars.get(context.variables.get("inventory_hostname")) or {}
    unlisted = options["unlisted"] and not any(name in asks for name in options["named"])
    for host, gathered in options["systems"].items():
        read = hostvars[host].get("guest_reading") or {} if host in hostvars else {}
        facts = gathered if gathered.get("distribution") else read.get("system") or {}
        if facts.get("distribution"):
            own = (hostvars[host][name] for name in options["named"] if host in hostvars and name in hostvars[host])
            reasons = problems(facts, options["parts"], unlisted=boolean(next(own, unlisted)))
            found += [f"{host}: {reason}" for reason in reasons]
    return {"problems": found, **({"msg": "; ".join(found) + "."} if found else {})}
