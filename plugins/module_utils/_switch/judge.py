"""Judge what a switch reports against what RoCE needs of it. Pure.

The stage switch and the consistency check ask the same functions. Facts of a port have the shape that
roles/switch/README.md asks of a driver. A fact that was not read is neither right nor wrong (UNKNOWN).
"""

from __future__ import annotations

import dataclasses
import ipaddress
from typing import Any, Iterator, Mapping, Sequence

from .._judge.finding import Finding, compared

PORT_MODES = ("access", "trunk", "routed")
# The default maps of switches and cards are DSCP / 8; RoCE is marked with 26 in the class of 24 to 31 (NVIDIA's RoCE
# profiles), so a site with another priority p has 8 p + 2 in the same place.
_IN_CLASS = 2
# The mark of congestion notification packets: ConnectX's default, and that of NVIDIA's RoCE profiles.
CNP_DSCP = 48
_TRUSTS_DSCP = frozenset(("l3", "both", "dscp"))


@dataclasses.dataclass(frozen=True)
class Need:
    """What ought to be.

    ``mtu``: the least MTU of a port, None: any; ``port_mode``: one of `PORT_MODES`, None: any; ``vlan``: of access and
    trunk ports, None: any; ``dscp``: the mark of RoCE packets; ``priority``: the class that they belong into; ``mode``:
    lossless, lossy, absent, None: any.
    """

    priority: int = 3
    dscp: int = 26
    mtu: int | None = None
    port_mode: str | None = None
    vlan: int | None = None
    mode: str | None = None


def as_result(finding: Finding) -> dict[str, str]:
    return {**finding.fields("code", "place", "thing", "expected", "remedy"), "found": finding.found or "unknown"}


def dscp_of(priority: int) -> int:
    return 8 * priority + _IN_CLASS


def trusts_dscp(trust: Any) -> bool:
    """Whether these words of a switch mean DSCP at every port. A blank after the comma divides the words of ports that
    differ ("cos, dscp"); without it, it is one port that looks at both (Cumulus Linux: "pcp,dscp")."""
    return all(_TRUSTS_DSCP & set(port.strip().split(",")) for port in str(trust or "").lower().split(", "))


def mtu(place: str, found: int | None, least: int | None) -> Finding:
    """A port may carry larger frames than the hosts send, and never smaller ones."""
    expected = f">= {least}" if least else "that of the NICs"
    right = None if found is None or not least else found >= least
    remedy = f"set mtu {max(9216, least or 0)} on the port, or what its system takes at most"
    return compared("mtu", place, "MTU", found, expected, right, remedy)


def trust(place: str, found: Any) -> Finding:
    right = trusts_dscp(found) if found else None
    return compared("trust", place, "trust", found or None, "L3 (dscp)", right, "trust DSCP on the port")


def dscp(place: str, mapped: int | None, need: Need) -> Finding:
    """``mapped``: the priority that the switch puts packets with the mark into."""
    found = None if mapped is None else f"priority {mapped}"
    right = None if mapped is None else mapped == need.priority
    remedy = f"map DSCP {need.dscp} to priority {need.priority}"
    return compared("dscp", place, f"DSCP {need.dscp}", found, f"priority {need.priority}", right, remedy)


def cnp(place: str, mapped: int | None, lossless: Sequence[int] | None, need: Need) -> Finding:
    """Congestion notifications must not wait behind the data that they are to slow down, nor be paused with it."""
    paused = {need.priority, *(lossless or ())}
    found = None if mapped is None else f"priority {mapped}"
    right = None if mapped is None else mapped not in paused
    expected = "a priority without PFC, apart from that of the data"
    remedy = f"map DSCP {CNP_DSCP} to another priority, such as 6 with a strict queue"
    return compared("cnp", place, f"CNP (DSCP {CNP_DSCP})", found, expected, right, remedy)


def pfc(place: str, lossless: Sequence[int] | None, need: Need) -> Finding:
    right = None if lossless is None else list(lossless) == [need.priority]
    found = None if lossless is None else f"PFC {list(lossless)}"
    remedy = f"enable PFC on priority {need.priority} alone"
    return compared("pfc", place, "PFC", found, f"PFC [{need.priority}]", right, remedy)


def pfc_oper(place: str, found: Any) -> Finding:
    right = str(found).lower() in ("enabled", "on") if found else None
    remedy = "look at the switch's PFC status of the port, and at DCBX"
    return compared("pfc_oper", place, "PFC in operation", found or None, "enabled", right, remedy)


def lossless(place: str, port: Mapping[str, Any], need: Need) -> Iterator[Finding]:
    """Whether a port keeps the priority of ``need`` lossless."""
    yield trust(place, port.get("trust"))
    yield dscp(place, port.get("roce_priority"), need)
    yield pfc(place, port.get("pfc_priorities"), need)
    yield pfc_oper(place, port.get("pfc_oper"))


def ecn(place: str, marking: Any, need: Need) -> Finding:
    """``marking``: the thresholds of the priority's queue in words; "" for a queue that does not mark."""
    right = None if marking is None else bool(marking)
    found = None if marking is None else marking or "off"
    thing = f"congestion marking of priority {need.priority}"
    return compared("ecn", place, thing, found, "ECN", right, "turn ECN on for that queue")


def watchdog(place: str, found: Any) -> Finding:
    right = str(found).lower() == "enabled" if found else None
    remedy = "enable the PFC watchdog, so that one stuck receiver does not pause the whole fabric"
    return compared("pfc_watchdog", place, "PFC watchdog", found or None, "enabled", right, remedy)


def design(place: str, port: Mapping[str, Any], need: Need) -> Iterator[Finding]:
    """Mode, VLAN and address of a port, as far as they are asked for."""
    mode = port.get("mode")
    if need.port_mode is not None:
        remedy = f"make it a {need.port_mode} port, or correct switch_port_mode"
        right = None if mode is None else mode == need.port_mode
        yield compared("port_mode", place, "port mode", mode, need.port_mode, right, remedy)
        if not right:
            return
    if mode == "routed":
        found = ", ".join(port.get("addresses") or ()) or None
        right = None if port.get("addresses") is None else bool(found)
        remedy = "give the port an address of its rail's network"
        yield compared("address", place, "address", found or "none", "an address of the rail", right, remedy)
    elif need.vlan is not None:
        yield vlan(place, port, [need.vlan])


def vlan(place: str, port: Mapping[str, Any], wanted: Sequence[int]) -> Finding:
    """An access port has to be in one of the VLANs, a trunk has to carry one."""
    expected = "VLAN " + " or ".join(map(str, wanted)) if wanted else "one VLAN"
    if port.get("mode") == "trunk":
        known = port.get("allowed_vlans") is not None or port.get("native_vlan") is not None
        allowed, native = port.get("allowed_vlans") or "", port.get("native_vlan")
        right = any(has_vlan(allowed, number) or native == number for number in wanted) if known and wanted else None
        carried = str(port.get("allowed_vlans") or "none")
        found = f"VLANs {carried}, untagged {port.get('native_vlan') or 'none'}" if known else None
        return compared("vlan", place, "VLAN", found, expected, right, "let the trunk carry that VLAN")
    access = port.get("access_vlan")
    right = None if access is None else access in wanted
    found = None if access is None else f"VLAN {access}"
    return compared("vlan", place, "VLAN", found, expected, right, "make it an access port of that VLAN")


def has_vlan(allowed: str | Sequence[Any], number: int) -> bool:
    """Of a list of VLANs: numbers, or ranges as text (``1-10, 20``, ``all``)."""
    if allowed == "all":
        return True
    words = allowed.split(",") if isinstance(allowed, str) else [str(each) for each in allowed]
    spans = [(first, last or first) for first, _dash, last in (word.strip().partition("-") for word in words)]
    return any(first.isdigit() and last.isdigit() and int(first) <= number <= int(last) for first, last in spans)


def networks(ports: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    """(port, address, its network) of every routed port; a text that is no address is left out."""
    for name, port in ports.items():
        for text in port.get("addresses") or ():
            try:
                interface = ipaddress.ip_interface(text)
            except ValueError:
                continue
            if not interface.is_link_local:
                yield name, text, interface.network
