"""Witness beside the verdict: no port above the NIC sends its requests up to the root complex (ACS). Pure."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from ..evidence import Evidence
from ..path_nics import NOTE, UNREAD, WRONG, PathNic, Word, survey
from ..witness import Doubts

_KEY = "pciPassthru.RelaxACSforP2P"


def judge(evidence: Evidence, doubts: Doubts) -> str:
    keys = (evidence.layers.get("vm") or {}).get("found")

    def look(nic: PathNic) -> Iterator[Word]:
        if not nic.in_vm:
            yield from _of_ports(nic.facts.get("ports_above"))
        elif _relaxed(keys, nic.node) is False:
            yield WRONG, f"the VM has not got {_KEY} in force, so the switches of its host redirect"
        else:
            yield UNREAD, "a VM sees no switch of its host; DirectTrans of ACSCtl shows on the host only"

    count = len(survey(evidence, doubts, look))
    return (
        f"no switch port above {count} NICs redirects what goes from device to device; those above GPUs were not read"
    )


def _of_ports(ports: Any) -> Iterator[Word]:
    ports = ports if isinstance(ports, list) else []
    # The last is the root port: what stays below a switch never gets there, and the kernel sets its ACS.
    states = [port.get("acs") for port in ports[:-1] if isinstance(port, Mapping)]
    known = [state for state in states if isinstance(state, Mapping) and isinstance(state.get("redirects"), bool)]
    redirecting = [state for state in known if state["redirects"]]
    if len(ports) == 1:
        yield UNREAD, "the NIC has a root port of its own, so what goes to a GPU passes the root complex"
    elif any(state.get("direct_translated") is not True for state in redirecting):
        yield WRONG, "a port above the NIC redirects requests to the root complex, and DirectTrans is off"
    elif not states or len(known) != len(states):
        yield UNREAD, "the ports above the NIC, or their ACSCtl, are not shown (root is needed)"
    elif redirecting:
        yield NOTE, "by DirectTrans, which serves requests that ATS translated"


def _relaxed(found: Any, node: str) -> bool | None:
    """Whether the role that set the VM's keys found this one in force; None: not known."""
    keys = (found.get(node) or {}) if isinstance(found, Mapping) else {}
    if not isinstance(keys, Mapping) or _KEY not in keys:
        return None
    return str(keys[_KEY]).strip().strip('"').lower() in ("true", "1", "yes", "on")
