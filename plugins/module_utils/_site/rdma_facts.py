"""What the nodes' RDMA devices and the switches say, made ready for NCCL's variables. Pure.

A node's reading is what module ``rdma_info`` returned there, or ``error``: why there is none. Nothing is filled in for
a node that did not tell: one job has one set of variables, so one silent node leaves all of them to NCCL.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence

from .._switch.judge import dscp_of, trusts_dscp

ROCE_PRIORITY = 3


def usable(readings: Mapping[str, Any], nodes: Sequence[str]) -> dict[str, Any]:
    """``facts`` for `nccl_variables.choose` (empty unless all nodes reported), ``missing`` (texts), ``simulated``."""
    missing = [f"{node}: {why}" for node in nodes for why in [why_not(readings.get(node))] if why]
    facts = {} if missing or not nodes else {node: _facts(readings[node]) for node in nodes}
    return {
        "facts": facts,
        "missing": missing,
        "simulated": any(bool((readings.get(node) or {}).get("simulated")) for node in nodes),
    }


def _facts(reading: Mapping[str, Any]) -> dict[str, Any]:
    """``interfaces`` is left out if the node reported none, which differs from an empty list."""
    interfaces = reading.get("interfaces")
    return {
        "devices": list(reading["devices"]),
        **({"interfaces": list(interfaces)} if isinstance(interfaces, list) else {}),
    }


def why_not(reading: Any) -> str:
    """Why a node's reading has no RDMA device; empty if it has one."""
    if not isinstance(reading, Mapping) or not reading:
        return "its RDMA devices were not read"
    if reading.get("error"):
        return f"its RDMA devices could not be read ({' '.join(str(reading['error']).split())[:200]})"
    if not reading.get("devices"):
        said = next((entry for entry in reading.get("unreadable") or () if entry.get("what") == "RDMA devices"), None)
        return f"no RDMA device ({said.get('why')}; {said.get('remedy')})" if said else "no RDMA device"
    return ""


def lossless_dscp(
    switches: Mapping[str, Any], devices: Mapping[str, Any] | None = None, priority: int = ROCE_PRIORITY
) -> dict[str, Any]:
    """``dscp`` that every switch puts into its lossless class, None if that is not known; ``reason``.

    ``switches``: name -> what its layer found (``roce``: mode, trust, pfc_priorities, and dscp_priorities
    where the switch tells its map; a system without it has the default one); ``devices``: readings of the
    nodes, whose own maps must not contradict; ``priority``: of RoCE on this site.
    """
    if not 0 <= priority <= 7:
        return {"dscp": None, "reason": f"priority {priority} is none (0 to 7); no traffic class is set"}
    if not switches:
        return {"dscp": None, "reason": "no switch was read, so no traffic class is known"}
    dscp = dscp_of(priority)
    against = next(_against(switches, devices or {}, priority, dscp), "")
    if against:
        return {"dscp": None, "reason": f"{against}; no traffic class is set"}
    profile, mark = ("profile", f", and {dscp} is its mark of RoCE")
    if priority != ROCE_PRIORITY:
        profile, mark = ("default", f", {dscp} among them")
    return {
        "dscp": dscp,
        "reason": f"{', '.join(switches)}: RoCE on, DSCP trusted, flow control on priority {priority}: the "
        f"{profile}'s map puts DSCP {8 * priority} to {8 * priority + 7} there{mark}",
    }


def _against(switches: Mapping[str, Any], devices: Mapping[str, Any], priority: int, dscp: int) -> Iterator[str]:
    for name, found in switches.items():
        why = _not_lossless(found, priority)
        if why:
            yield f"{name}: {why}"
        elif found["roce"].get("dscp_priorities") is not None:
            there = found["roce"]["dscp_priorities"].get(str(dscp))
            place = "not among those that it tells of" if there is None else f"in priority {there}"
            if there != priority:
                yield f"{name}: DSCP {dscp} is {place}, not in {priority}"
    for node, reading in devices.items():
        for port in (reading or {}).get("devices") or ():
            mapped = ((port.get("qos") or {}).get("dscp_prio") or {}).get(str(dscp))
            if mapped is not None and int(mapped) != priority:
                yield (
                    f"{node} {port.get('name')}: the NIC puts DSCP {dscp} into priority {mapped}, the switch has its "
                    f"lossless class on {priority}"
                )


def _not_lossless(found: Any, priority: int) -> str:
    roce = found.get("roce") if isinstance(found, Mapping) else None
    if not isinstance(roce, Mapping):
        return "its RoCE state was not read"
    if not roce.get("mode"):
        return "whether RoCE is on was not read"
    if roce["mode"] == "absent":
        return "RoCE is off"
    if not trusts_dscp(roce.get("trust")):
        return f"it does not say that it trusts DSCP (trust {roce.get('trust') or 'unknown'})"
    priorities = list(roce.get("pfc_priorities") or ())
    if priority not in priorities:
        return f"flow control is not on priority {priority} (on {priorities or 'none'})"
    return ""
