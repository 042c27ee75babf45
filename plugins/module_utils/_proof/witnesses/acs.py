"""Witness beside the verdict: no port above the NIC sends its requests up to the root complex (ACS). Pure."""

from __future__ import annotations

from typing import Any, Mapping

from ..evidence import Evidence
from ..path_nics import nics, tell
from ..witness import Doubts, Said, Witness

_KEY = "pciPassthru.RelaxACSforP2P"
_VM = "a VM sees no switch of its host; DirectTrans of ACSCtl shows on the host only"
_PORTS = "the ports above the NIC, or their ACSCtl, are not shown (root is needed)"
_ROOT = "the NIC has a root port of its own, so what goes to a GPU passes the root complex"
_REDIRECTS = "a port above the NIC redirects requests to the root complex, and DirectTrans is off"
_KEY_OFF = f"the VM has not got {_KEY} in force, so the switches of its host redirect"


def judge(evidence: Evidence) -> Said:
    doubts, count, translated = Doubts(), 0, 0
    found: dict[str, list[str]] = {_REDIRECTS: [], _KEY_OFF: []}
    missing: dict[str, list[str]] = {_VM: [], _PORTS: [], _ROOT: []}
    for nic in nics(evidence, doubts):
        count += 1
        if nic.in_vm:
            asked = _relaxed((evidence.layers.get("vm") or {}).get("found"), nic.node)
            (found[_KEY_OFF] if asked is False else missing[_VM]).append(nic.label)
            continue
        ports = nic.facts.get("ports_above")
        if isinstance(ports, list) and ports:
            # The last is the root port: what stays below a switch never gets there, and the kernel sets its ACS.
            ports = ports[:-1]
            if not ports:
                missing[_ROOT].append(nic.label)
                continue
        states = [port.get("acs") for port in ports if isinstance(port, Mapping)] if isinstance(ports, list) else []
        known = [state for state in states if isinstance(state, Mapping) and isinstance(state.get("redirects"), bool)]
        redirecting = [state for state in known if state["redirects"]]
        if any(state.get("direct_translated") is not True for state in redirecting):
            found[_REDIRECTS].append(nic.label)
        elif not states or len(known) != len(states):
            missing[_PORTS].append(nic.label)
        elif redirecting:
            translated += 1
    tell(doubts, found, missing)
    if translated:
        doubts.notes.append(f"by DirectTrans above {translated}, which serves requests that ATS translated")
    return doubts.says(
        f"no switch port above {count} NICs redirects what goes from device to device; those above GPUs were not read"
    )


def _relaxed(found: Any, node: str) -> bool | None:
    """Whether the role that set the VM's keys found this one in force; None: not known."""
    keys = (found.get(node) or {}) if isinstance(found, Mapping) else {}
    if not isinstance(keys, Mapping) or _KEY not in keys:
        return None
    return str(keys[_KEY]).strip().strip('"').lower() in ("true", "1", "yes", "on")


WITNESS = Witness(
    "acs",
    "PCIe ports above the NIC (ACS, DirectTrans)",
    judge,
    "ACSCtl of every switch port above each NIC, read as root on bare metal; in a VM it cannot be read, and is never "
    "good",
    decides=False,
)
