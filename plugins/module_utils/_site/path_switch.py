"""Compare the facts of a switch with the intent of the path. Pure."""

from __future__ import annotations

import collections
import dataclasses
import re
from typing import Any, Iterable, Iterator, Mapping, Sequence

from .._judge.finding import PROBLEM, UNKNOWN, Finding
from .._switch import judge
from .._switch.judge import Need
from .path_intent import SWITCH, Intent, in_table, row

Ports = Mapping[str, Mapping[str, Any]]
# Code of a finding -> its item in the table, and what follows the port there.
_ITEMS = {
    "mtu": ("MTU", ""),
    "trust": ("DSCP", " trust"),
    "dscp": ("DSCP", ""),
    "cnp": ("priority", ""),
    "pfc": ("priority", ""),
    "pfc_oper": ("priority", " PFC"),
    "port_mode": ("GID", " mode"),
    "vlan": ("GID", ""),
    "address": ("GID", " address"),
}


def switch_rows(name: str, switch: Mapping[str, Any], largest: int, intent: Intent) -> Iterator[Finding]:
    roce = switch.get("roce") or {}
    ports: Ports = switch.get("ports") or {}
    need = Need(intent.priority, intent.dscp, largest or None, (switch.get("wanted") or {}).get("port_mode"))
    if not ports:
        for item in ("MTU", "GID"):
            yield row(item, SWITCH, f"{name} ports", "the ports of the hosts", None, None, "name the ports to read")
    for port, facts in ports.items():
        yield _row(name, judge.mtu(port, facts.get("mtu"), need.mtu))
        oper = facts.get("oper")
        if oper:
            # Nothing here shows whether a host is behind it: the NIC's own state is what counts.
            up = True if str(oper).lower() == "up" else None
            yield row("link", SWITCH, f"{name} {port}", "up", oper, up, "look at the cable, if a host is behind it")
    yield _row(name, judge.trust("", roce.get("trust")))
    off = str(roce.get("pfc") or "on").lower() not in ("enabled", "on")
    yield _row(name, judge.pfc("PFC", [] if off else roce.get("pfc_priorities"), need))
    for port, facts in ports.items():
        yield from (_row(name, each) for each in judge.lossless(port, facts, need) if each.level != UNKNOWN)
    if roce.get("dscp_priorities") is not None:
        mapped = roce["dscp_priorities"]
        yield _row(name, judge.dscp(f"DSCP {intent.dscp}", mapped.get(str(intent.dscp)), need))
        if str(judge.CNP_DSCP) in mapped:
            place = f"CNP (DSCP {judge.CNP_DSCP})"
            yield _row(name, judge.cnp(place, mapped[str(judge.CNP_DSCP)], roce.get("pfc_priorities"), need))
    if intent.traffic_class & 3:
        ecn = str(roce.get("ecn") or "")
        marks = re.search(r"\becn\b|enabled", ecn, re.IGNORECASE) is not None and "disabled" not in ecn.lower()
        yield row("traffic class", SWITCH, f"{name} ECN", "marks ECT packets", ecn or None, marks if ecn else None,
                  "turn congestion marking on, or send without ECT bits")  # fmt: skip
    yield from _switch_design(name, switch, ports, need, intent)


def _row(name: str, finding: Finding) -> Finding:
    item, behind = _ITEMS[finding.code]
    where = f"{name} {finding.place}{behind}" if finding.place else f"{name}{behind}"
    return in_table(dataclasses.replace(finding, code=item, thing=SWITCH, place=where))


def lossy(switch: Mapping[str, Any], names: Iterable[str], priority: int, byte: int | None) -> Iterator[str]:
    """What takes from the data of a job, in ``priority`` with this traffic class (None: not known), its lossless class
    at these ports. PFC on further priorities takes nothing from it."""
    roce, ports = switch.get("roce") or {}, switch.get("ports") or {}
    need = Need(priority, judge.dscp_of(priority) if byte is None else byte >> 2)
    mapped = (roce.get("dscp_priorities") or {}).get(str(need.dscp)) if byte is not None else None
    for name in names if roce.get("mode") != "semi-lossless" else ():
        own = {key: value for key, value in (ports.get(name) or {}).items() if value is not None}
        port = {"pfc_priorities": roce.get("pfc_priorities"), "roce_priority": mapped, **own}
        if priority in (port["pfc_priorities"] or ()):
            port["pfc_priorities"] = [priority]
        found = (each for each in judge.lossless(name, port, need) if each.level == PROBLEM)
        yield from (f"{each.sentence()}: {each.remedy}" for each in found)


def _switch_design(name: str, switch: Mapping[str, Any], ports: Ports, need: Need, intent: Intent) -> Iterator[Finding]:
    """The addresses of a rail are one network, so its layer 2 ports have to be in one VLAN: at most one VLAN per rail.

    A VLAN with a single port is no rail, where another VLAN has more. A routed port needs an address in the network of
    a rail, be it a /31 for its host alone or a subnet.
    """
    rails = max(1, len(intent.networks))
    known = [facts["access_vlan"] for facts in ports.values() if facts.get("access_vlan") is not None]
    named = (switch.get("vlan") or {}).get("id")
    counted = collections.Counter(known).most_common()
    usual = [vlan for vlan, count in counted if vlan != named and (count > 1 or (named is None and counted[0][1] == 1))]
    wanted = (([named] if named is not None else []) + usual)[:rails]
    for port, facts in ports.items():
        if need.port_mode is not None and facts.get("mode") not in (None, need.port_mode):
            yield from (_row(name, each) for each in judge.design(port, facts, need))
        elif facts.get("mode") == "routed":
            yield _address(name, port, facts.get("addresses"), intent)
        else:
            yield _row(name, judge.vlan(port, facts, wanted))


def _address(name: str, port: str, addresses: Sequence[str] | None, intent: Intent) -> Finding:
    expected = f"an address in {intent.networks_text()}" if intent.networks else "an address of the rail"
    found = None if addresses is None else ", ".join(addresses) or "none"
    inside = [text for text in addresses or () if intent.holds(text.partition("/")[0])]
    right = None if addresses is None else bool(inside)
    where = f"{name} {port} address"
    return row("GID", SWITCH, where, expected, found, right, "give the port an address of its rail's network")
