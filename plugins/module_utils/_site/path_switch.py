# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a switch says, compared with what the path shall be. Pure."""

from __future__ import annotations

import collections
import re
from typing import Any, Iterator, Mapping

from .path_intent import SWITCH, Intent, Row, row
from .rdma_facts import trusts_dscp


def switch_rows(name: str, switch: Mapping[str, Any], largest: int, intent: Intent) -> Iterator[Row]:
    roce = switch.get("roce") or {}
    ports: Mapping[str, Mapping[str, Any]] = switch.get("ports") or {}
    if not ports:
        for item in ("MTU", "GID"):
            yield row(item, SWITCH, f"{name} ports", "the ports of the hosts", None, None, "name the ports to read")
    for port, facts in ports.items():
        mtu = facts.get("mtu")
        yield row(
            "MTU",
            SWITCH,
            f"{name} {port}",
            f">= {largest}" if largest else "that of the NICs",
            mtu,
            None if mtu is None or not largest else mtu >= largest,
            f"set mtu {max(9216, largest)} on the port",
        )
        oper = facts.get("oper")
        if oper:
            # Nobody knows here whether a host is behind it: the NIC's own state is what counts.
            up = True if str(oper).lower() == "up" else None
            yield row("link", SWITCH, f"{name} {port}", "up", oper, up, "look at the cable, if a host is behind it")
    trust = str(roce.get("trust") or "")
    yield row(
        "DSCP",
        SWITCH,
        f"{name} trust",
        "L3 (dscp)",
        trust or None,
        trusts_dscp(trust) if trust else None,
        "put the switch into its lossless RoCE mode",
    )
    for port, facts in ports.items():
        if facts.get("trust"):
            right = trusts_dscp(facts["trust"])
            yield row("DSCP", SWITCH, f"{name} {port} trust", "L3 (dscp)", facts["trust"], right, "set trust L3")
    if roce.get("dscp_priorities") is not None:
        found = roce["dscp_priorities"].get(str(intent.dscp))
        yield row(
            "DSCP",
            SWITCH,
            f"{name} DSCP {intent.dscp}",
            f"priority {intent.priority}",
            None if found is None else f"priority {found}",
            None if found is None else found == intent.priority,
            f"map DSCP {intent.dscp} to priority {intent.priority}",
        )
    if intent.traffic_class & 3:
        ecn = str(roce.get("ecn") or "")
        marks = re.search(r"\becn\b|enabled", ecn, re.IGNORECASE) is not None and "disabled" not in ecn.lower()
        yield row(
            "traffic class",
            SWITCH,
            f"{name} ECN",
            "marks ECT packets",
            ecn or None,
            marks if ecn else None,
            "turn congestion marking on, or send without ECT bits",
        )
    yield from _switch_priority(name, roce, ports, intent)
    yield from _switch_vlan(name, switch, ports, max(1, len(intent.networks)))


def _switch_priority(
    name: str, roce: Mapping[str, Any], ports: Mapping[str, Mapping[str, Any]], intent: Intent
) -> Iterator[Row]:
    lossless = roce.get("pfc_priorities")
    enabled = str(roce.get("pfc") or "").lower()
    found = None if lossless is None else f"PFC {enabled or 'on'} {list(lossless)}"
    yield row(
        "priority",
        SWITCH,
        f"{name} PFC",
        f"PFC enabled [{intent.priority}]",
        found,
        None if lossless is None else list(lossless) == [intent.priority] and enabled in ("", "enabled", "on"),
        f"enable PFC on priority {intent.priority} alone (RoCE mode lossless)",
    )
    for port, facts in ports.items():
        lossless = facts.get("pfc_priorities")
        if lossless is not None:
            right, remedy = list(lossless) == [intent.priority], f"enable PFC on priority {intent.priority} alone"
            yield row(
                "priority", SWITCH, f"{name} {port}", f"PFC [{intent.priority}]", f"PFC {list(lossless)}", right, remedy
            )
        oper = facts.get("pfc_oper")
        if oper:
            right = str(oper).lower() in ("enabled", "on")
            yield row("priority", SWITCH, f"{name} {port} PFC", "enabled", oper, right, "look at show dcb pfc")


def _switch_vlan(
    name: str, switch: Mapping[str, Any], ports: Mapping[str, Mapping[str, Any]], rails: int
) -> Iterator[Row]:
    """The addresses of a rail are one network, so its ports have to be in one VLAN: at most one VLAN per rail.

    A VLAN with a single port is nobody's rail, where another VLAN has more.
    """
    access = {port: facts.get("access_vlan") for port, facts in ports.items()}
    known = [vlan for vlan in access.values() if vlan is not None]
    named = (switch.get("vlan") or {}).get("id")
    counted = collections.Counter(known).most_common()
    usual = [vlan for vlan, count in counted if vlan != named and (count > 1 or (named is None and counted[0][1] == 1))]
    wanted = ([named] if named is not None else []) + usual
    wanted = wanted[:rails]
    told = "VLAN " + " or ".join(map(str, wanted)) if wanted else "one VLAN"
    for port, vlan in access.items():
        right = None if vlan is None else vlan in wanted
        found = None if vlan is None else f"VLAN {vlan}"
        yield row("GID", SWITCH, f"{name} {port}", told, found, right, "make it an access port of that VLAN")
