"""Check that switch, NIC and container agree on MTU, DSCP, traffic class, priority, GID. Pure.

RoCE is lossless only if every hop puts the packets of the job into the same priority. Each layer has its own word for
it (roles/consistency/README.md), and a job with one of them wrong runs, slowly: nothing else ever says so.

Shapes: a switch is what ``switch_roce_info`` returns, a NIC what ``rdma_info`` returns. What a
layer does not tell is a row with the verdict ``unknown``; it is neither right nor wrong.
"""

from __future__ import annotations

import collections
from typing import Any, Mapping, Sequence

from .._judge.finding import OK, PROBLEM, UNKNOWN, Finding, text_table
from .path_container import container_rows, or_none
from .path_intent import CONTAINER, NIC, SWITCH, Intent, row
from .path_nic import alike, left_out, nic_rows, rail_of, rail_rows, roce_ports
from .path_switch import switch_rows

COLUMNS = ("item", "layer", "where", "expected", "found", "verdict", "remedy")
VERDICTS = {PROBLEM: "mismatch"}
MARKS = {OK: "", PROBLEM: "!", UNKNOWN: "?"}  # at the beginning of a line of the table
Readings = Mapping[str, Mapping[str, Any]]  # switch or host -> what was read there
ITEMS = ("MTU", "DSCP", "traffic class", "priority", "GID", "link")


def rows(switches: Readings, nodes: Readings, intent: Intent) -> list[Finding]:
    """Every comparison. ``nodes``: host -> ``nic`` (result of rdma_info) and ``container``.

    A container has ``name``, ``env``, ``network_mode``, ``infiniband``, ``mtus`` (or ``mtu``) and ``nccl_version``, as
    far as known.
    """
    ports = {host: roce_ports(node.get("nic") or {}, intent) for host, node in nodes.items()}
    mtus = _mtus(ports, intent)
    most = max([intent.mtu, *(port.get("netdev_mtu") or 0 for each in ports.values() for port in each)])
    table: list[Finding] = []
    if not switches:
        table += [row(item, SWITCH, "no switch was read", "a value", None, None, "read the switch") for item in ITEMS]
    for name, switch in switches.items():
        table += switch_rows(name, switch, most, intent)
    for host, node in nodes.items():
        if not or_none(node.get("nic")):
            table += [row(item, NIC, host, "a value", None, None, "reach the host and read it") for item in ITEMS]
        elif not ports[host]:
            layers = sorted({str(port.get("link_layer")) for port in (node.get("nic") or {}).get("devices") or ()})
            table.append(row("GID", NIC, host, "an Ethernet RDMA port", ", ".join(layers) or "none", False,
                             "load the driver of the card and check its link layer: InfiniBand is not in scope")
                         )  # fmt: skip
        for port in ports[host]:
            table += nic_rows(host, port, mtus[rail_of(port, intent)], intent)
        container = or_none(node.get("container"))
        if container is None:
            table += [row(item, CONTAINER, host, "a value", None, None, "start the container") for item in ITEMS]
        else:
            table += container_rows(host, container, ports[host], mtus, intent)
    table += _same_address(ports)
    table += alike(ports, intent)
    table += rail_rows({host: each for host, each in ports.items() if each}, intent)
    return sorted(table, key=lambda line: ITEMS.index(line.code))


def _mtus(ports: Mapping[str, Sequence[Mapping[str, Any]]], intent: Intent) -> dict[str, int]:
    """Rail to the MTU that its interfaces shall have: the wanted one, else what most of this rail have."""
    seen: dict[str, list[int]] = {}
    for each in ports.values():
        for port in each:
            sizes = seen.setdefault(rail_of(port, intent), [])
            sizes += [port["netdev_mtu"]] if port.get("netdev_mtu") else []
    return {
        rail: intent.mtu or (collections.Counter(sizes).most_common(1)[0][0] if sizes else 0)
        for rail, sizes in seen.items()
    }


def _same_address(ports: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Finding]:
    """Two hosts with one RoCE address: each is right on its own, and together they cannot talk."""
    owners: dict[str, list[str]] = {}
    for host, each in ports.items():
        for port in each:
            if port.get("roce_gid_ipv4"):
                owners.setdefault(port["roce_gid_ipv4"], []).append(f"{host} {port['name']}")
    return [
        row("GID", NIC, ", ".join(names), "an address of its own", address, False, "give each host its own address")
        for address, names in owners.items()
        if len(names) > 1
    ]


def report(switches: Readings, nodes: Readings, intent: Intent) -> dict[str, Any]:
    """The table as data and as text. ``consistent``: no mismatch; ``complete``: nothing is unknown either."""
    given = rows(switches, nodes, intent)
    said = {level: [_sentence(line) for line in given if line.level == level] for level in (PROBLEM, UNKNOWN)}
    return {
        "consistent": not said[PROBLEM],
        "complete": not said[UNKNOWN],
        "mismatches": said[PROBLEM],
        "unknown": said[UNKNOWN],
        "rows": [
            dict(zip(COLUMNS, (*_cells(line), VERDICTS.get(line.level, line.level), line.remedy))) for line in given
        ],
        "table": text_table([("", *COLUMNS[:5]), *((MARKS[line.level], *_cells(line)) for line in given)]),
        "left_out": [
            text
            for host, node in nodes.items()
            if intent.networks and or_none(node.get("nic"))
            for text in left_out(host, node["nic"], intent)
        ],
    }


def _sentence(line: Finding) -> str:
    return f"{line.code}: {line.place}: {line.found}, expected {line.expected}. What to do: {line.remedy}."


def _cells(line: Finding) -> tuple[str, ...]:
    return line.code, line.thing, line.place, line.expected, str(line.found)
