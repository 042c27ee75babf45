"""What the modules for Cumulus Linux report of a reading. Pure: no I/O, no Ansible."""

from __future__ import annotations

from typing import Any

from .._switch import guards, observed
from .._switch.request import Wanted
from . import plan as planning
from . import state as parsing
from .state import State


def common_facts(state: State, wanted: Wanted) -> dict[str, Any]:
    """The part of the result that every kind of switch of this collection has."""
    members = state.members.get(wanted.vlan or 0, ())
    return {
        "version": state.release,
        "roce": roce_fact(state.roce),
        "vlan": guards.vlan_fact(wanted, state.vlans, None, members, planning.unexpected_members(state, wanted)),
        "ports": {name: port_fact(state.ports[name]) for name in wanted.ports},
    }


def roce_fact(roce: parsing.Roce) -> dict[str, Any]:
    both = parsing.is_on(roce.pfc_rx) and parsing.is_on(roce.pfc_tx)
    pfc = {"pfc": "enabled" if both else "disabled", "pfc_priorities": sorted(roce.pfc_priorities)}
    dscps = {str(dscp): priority for dscp, priority in roce.dscp.items()} if roce.dscp else None
    return observed.roce_fact(roce, ecn=roce.congestion, dscp_priorities=dscps, **pfc)


def port_fact(port: parsing.Port) -> dict[str, Any]:
    systems = [each.system for each in port.neighbors]
    pfc = {"pfc_oper": port.pfc, "pfc_watchdog": port.pfc_watchdog}
    return observed.port_fact(port, **pfc, neighbors=systems, counters=dict(port.counters))
