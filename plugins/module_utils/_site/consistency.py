# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether switch, NIC and container mean the same packets: MTU, DSCP, traffic class, priority, GID. Pure.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.

RoCE is lossless only if every hop puts the packets of the job into the same priority. Each layer has its own word for
it, and a job with one of them wrong runs, slowly: nothing else ever says so.

    container  NCCL_IB_TC 106 = DSCP 26 and ECT(0), the byte that goes into the IP header
    NIC        trust dscp, DSCP 26 -> priority 3, PFC on priority 3
    switch     trust L3, PFC on priority 3, ECN

Shapes: a switch is what ``onyx_roce_info`` and ``cumulus_roce_info`` return, a NIC what ``rdma_info`` returns. What a
layer does not tell is a row with the verdict ``unknown``; it is neither right nor wrong.
"""

from __future__ import annotations

import collections
import dataclasses
import ipaddress
import re
from typing import Any, Iterator, Mapping, Sequence

from .._layer import RefusedError

OK, MISMATCH, UNKNOWN = "ok", "mismatch", "unknown"
SWITCH, NIC, CONTAINER = "switch", "nic", "container"

# Headers that RoCE v2 puts before the payload, as the kernel reserves them (iboe_get_mtu).
ROCE_HEADERS = 96
RDMA_MTUS = (256, 512, 1024, 2048, 4096)
# First NCCL that finds the RoCE v2 GID by itself.
NCCL_AUTO_GID = (2, 21)
_TRUST_DSCP = frozenset({"l3", "dscp", "both"})


@dataclasses.dataclass(frozen=True)
class Intent:
    """``traffic_class``: the whole byte (DSCP * 4 + ECN bits); ``mtu`` 0: the same everywhere, whatever it is;
    ``network``: CIDR of the RoCE addresses, '' for any."""

    dscp: int = 26
    traffic_class: int = 106
    priority: int = 3
    mtu: int = 0
    network: str = ""

    def __post_init__(self) -> None:
        for name, largest in (("dscp", 63), ("traffic_class", 255), ("priority", 7), ("mtu", 65535)):
            value = getattr(self, name)
            if not 0 <= value <= largest:
                raise _refused(f"is not within 0 to {largest}", name, value, "")
        if self.traffic_class >> 2 != self.dscp:
            raise _refused(
                f"its DSCP is {self.traffic_class >> 2} and dscp is {self.dscp}",
                "traffic_class",
                self.traffic_class,
                f"give {self.dscp * 4 + 2} (with ECN) or {self.dscp * 4} (without)",
            )
        try:
            ipaddress.ip_network(self.network or "0.0.0.0/0")
        except ValueError as error:
            raise _refused(str(error), "network", self.network, "write 192.0.2.0/24") from None

    def holds(self, address: str) -> bool:
        return not self.network or ipaddress.ip_address(address) in ipaddress.ip_network(self.network)


def _refused(what: str, thing: str, value: Any, remedy: str) -> RefusedError:
    return RefusedError(what, host="consistency", thing=thing, value=value, remedy=remedy)


@dataclasses.dataclass(frozen=True)
class Row:
    """One comparison. ``where``: host and thing; ``remedy`` empty when the verdict is ok."""

    item: str
    layer: str
    where: str
    expected: str
    found: str
    verdict: str
    remedy: str = ""


def _row(  # noqa: PLR0917 (the columns of the table, in their order)
    item: str, layer: str, where: str, expected: Any, found: Any, right: bool | None, remedy: str
) -> Row:
    verdict = UNKNOWN if right is None else OK if right else MISMATCH
    shown = "not known" if found is None else str(found)
    return Row(item, layer, where, str(expected), shown, verdict, "" if right else remedy)


def rdma_mtu(interface_mtu: int) -> int:
    """The largest RDMA MTU that an interface MTU has room for; 256 at least."""
    return max((size for size in RDMA_MTUS if size <= interface_mtu - ROCE_HEADERS), default=RDMA_MTUS[0])


# ---- input ----------------------------------------------------------------------------------------------------------


def roce_ports(nic: Mapping[str, Any], intent: Intent) -> list[Mapping[str, Any]]:
    """The ports that the job uses: those with an address in the RoCE network, else every Ethernet port."""
    ethernet = [port for port in nic.get("devices") or () if port.get("link_layer") == "Ethernet"]
    if not intent.network:
        return ethernet
    inside = [
        port for port in ethernet if any(gid.get("ipv4") and intent.holds(gid["ipv4"]) for gid in port.get("gids", ()))
    ]
    return inside or ethernet


def _number(env: Mapping[str, Any], name: str, host: str) -> int | None:
    """An environment variable as NCCL reads it (decimal or 0x); None when it is not set."""
    text = str(env.get(name, "")).strip()
    if not text:
        return None
    try:
        return int(text, 0)
    except ValueError:
        raise _refused(f"{host}: is no number", name, text, "set it to a number, or not at all") from None


def selects(selector: str, device: str, port: int) -> bool:
    """Whether NCCL_IB_HCA takes a port: ``mlx5`` (beginning), ``=mlx5_0:1`` (exact), ``^`` in front turns it round."""
    excluded = selector.startswith("^")
    rest = selector[1:] if excluded else selector
    exact = rest.startswith("=")
    hit = False
    for entry in (rest[1:] if exact else rest).split(","):
        name, _colon, number = entry.strip().partition(":")
        named = device == name if exact else device.startswith(name)
        hit = hit or (named and (not number or number == str(port)))
    return hit is not excluded


def _told(value: Any) -> Any:
    """None for what was not told: older Ansible turns a template's none into an empty text."""
    return None if value in (None, "", "None") else value


# ---- the three layers -----------------------------------------------------------------------------------------------


def _switch_rows(name: str, switch: Mapping[str, Any], largest: int, intent: Intent) -> Iterator[Row]:
    roce = switch.get("roce") or {}
    ports: Mapping[str, Mapping[str, Any]] = switch.get("ports") or {}
    if not ports:
        for item in ("MTU", "GID"):
            yield _row(item, SWITCH, f"{name} ports", "the ports of the hosts", None, None, "name the ports to read")
    for port, facts in ports.items():
        mtu = facts.get("mtu")
        yield _row(
            "MTU",
            SWITCH,
            f"{name} {port}",
            f">= {largest}" if largest else "that of the NICs",
            mtu,
            None if mtu is None or not largest else mtu >= largest,
            f"set mtu {max(9216, largest)} on the port",
        )
    trust = str(roce.get("trust") or "")
    yield _row(
        "DSCP",
        SWITCH,
        f"{name} trust",
        "L3 (dscp)",
        trust or None,
        trust.lower() in _TRUST_DSCP if trust else None,
        "put the switch into its lossless RoCE mode",
    )
    for port, facts in ports.items():
        if facts.get("trust"):
            right = str(facts["trust"]).lower() in _TRUST_DSCP
            yield _row("DSCP", SWITCH, f"{name} {port} trust", "L3 (dscp)", facts["trust"], right, "set trust L3")
    if intent.traffic_class & 3:
        ecn = str(roce.get("ecn") or "")
        marks = re.search(r"\becn\b|enabled", ecn, re.IGNORECASE) is not None and "disabled" not in ecn.lower()
        yield _row(
            "traffic class",
            SWITCH,
            f"{name} ECN",
            "marks ECT packets",
            ecn or None,
            marks if ecn else None,
            "turn congestion marking on, or send without ECT bits",
        )
    yield from _switch_priority(name, roce, ports, intent)
    yield from _switch_vlan(name, switch, ports)


def _switch_priority(
    name: str, roce: Mapping[str, Any], ports: Mapping[str, Mapping[str, Any]], intent: Intent
) -> Iterator[Row]:
    lossless = roce.get("pfc_priorities")
    enabled = str(roce.get("pfc") or "").lower()
    found = None if lossless is None else f"PFC {enabled or 'on'} {list(lossless)}"
    yield _row(
        "priority",
        SWITCH,
        f"{name} PFC",
        f"PFC enabled [{intent.priority}]",
        found,
        None if lossless is None else list(lossless) == [intent.priority] and enabled in ("", "enabled", "on"),
        f"enable PFC on priority {intent.priority} alone (RoCE mode lossless)",
    )
    for port, facts in ports.items():
        oper = facts.get("pfc_oper")
        if oper:
            right = str(oper).lower() in ("enabled", "on")
            yield _row("priority", SWITCH, f"{name} {port} PFC", "enabled", oper, right, "look at show dcb pfc")


def _switch_vlan(name: str, switch: Mapping[str, Any], ports: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """The addresses behind the GIDs are one network, so their ports have to be in one VLAN."""
    access = {port: facts.get("access_vlan") for port, facts in ports.items()}
    known = [vlan for vlan in access.values() if vlan is not None]
    wanted = (switch.get("vlan") or {}).get("id")
    if wanted is None and known:
        wanted = collections.Counter(known).most_common(1)[0][0]
    for port, vlan in access.items():
        right = None if vlan is None or wanted is None else vlan == wanted
        expected = "one VLAN" if wanted is None else f"VLAN {wanted}"
        found = None if vlan is None else f"VLAN {vlan}"
        yield _row("GID", SWITCH, f"{name} {port}", expected, found, right, "make it an access port of that VLAN")


def _nic_rows(host: str, port: Mapping[str, Any], mtu: int, intent: Intent) -> Iterator[Row]:
    where = f"{host} {port['name']}:{port['port']} ({port.get('netdev') or 'no interface'})"
    own = port.get("netdev_mtu")
    yield _row("MTU", NIC, where, mtu or "the same everywhere", own, None if own is None else own == mtu,
               "set the interface's MTU (guest_mtu)")  # fmt: skip
    active = port.get("active_mtu")
    room = rdma_mtu(mtu)
    yield _row("MTU", NIC, f"{where} RDMA", room, active, None if active is None else active == room,
               "raise the interface's MTU to 4200 or more and restart the job")  # fmt: skip
    qos = port.get("qos") or {}
    trust = qos.get("trust")
    yield _row("DSCP", NIC, f"{where} trust", "dscp", trust, None if trust is None else trust == "dscp",
               "mlnx_qos --trust dscp; the setting is lost at a restart (guest_qos_enabled keeps it)")  # fmt: skip
    forced = port.get("traffic_class")
    if forced is not None:
        yield _row("traffic class", NIC, f"{where} forced", intent.traffic_class, forced,
                   forced == intent.traffic_class, "write the value into tc/1/traffic_class")  # fmt: skip
    tos = port.get("roce_tos")
    yield _row("traffic class", NIC, f"{where} rdma_cm", intent.traffic_class, tos,
               None if tos is None else tos == intent.traffic_class,
               f"cma_roce_tos -d {port['name']} -t {intent.traffic_class}")  # fmt: skip
    lossless = qos.get("pfc_priorities")
    yield _row("priority", NIC, f"{where} PFC", [intent.priority], lossless,
               None if lossless is None else list(lossless) == [intent.priority],
               "mlnx_qos --pfc with that priority alone")  # fmt: skip
    if trust == "dscp":
        table = qos.get("dscp_prio") or {}
        mapped = table.get(str(intent.dscp))
        yield _row("priority", NIC, f"{where} DSCP {intent.dscp}", intent.priority, mapped,
                   None if not table else mapped == intent.priority,
                   f"mlnx_qos --dscp2prio set,{intent.dscp},{intent.priority}")  # fmt: skip
    index, address = port.get("roce_gid_index"), port.get("roce_gid_ipv4")
    found = None if index is None else f"{index} ({address})"
    expected = f"RoCE v2 over IPv4{' in ' + intent.network if intent.network else ''}"
    yield _row("GID", NIC, where, expected, found or "none", index is not None and intent.holds(str(address)),
               "give the interface its address in the RoCE network")  # fmt: skip


def _container_rows(
    host: str, container: Mapping[str, Any], ports: Sequence[Mapping[str, Any]], mtu: int, intent: Intent
) -> Iterator[Row]:
    env: Mapping[str, Any] = container.get("env") or {}
    name = f"{host} {container.get('name') or 'container'}"
    network = container.get("network_mode")
    yield _row("MTU", CONTAINER, f"{name} network", "host", network, None if network is None else network == "host",
               "start the container with --net=host: another network hides the RoCE interface")  # fmt: skip
    seen = _told(container.get("mtu"))
    if seen is not None:
        yield _row("MTU", CONTAINER, f"{name} interface", mtu, seen, seen == mtu, "start the container again")
    byte = _number(env, "NCCL_IB_TC", name)
    shown = "not set" if byte is None else byte
    # NCCL sends with traffic class 0 where the variable is missing: that is a value, and the wrong one.
    sent = byte or 0
    yield _row("DSCP", CONTAINER, f"{name} NCCL_IB_TC", f"DSCP {intent.dscp}", f"{shown} = DSCP {sent >> 2}",
               sent >> 2 == intent.dscp, f"export NCCL_IB_TC={intent.traffic_class}")  # fmt: skip
    yield _row("traffic class", CONTAINER, f"{name} NCCL_IB_TC", intent.traffic_class, shown,
               sent == intent.traffic_class, f"export NCCL_IB_TC={intent.traffic_class}")  # fmt: skip
    for variable in ("NCCL_IB_FIFO_TC", "UCX_IB_TRAFFIC_CLASS"):
        other = _number(env, variable, name)
        if other is not None:
            yield _row("traffic class", CONTAINER, f"{name} {variable}", intent.traffic_class, other,
                       other == intent.traffic_class, f"export {variable}={intent.traffic_class}")  # fmt: skip
    level = _number(env, "NCCL_IB_SL", name)
    if level is not None:
        yield _row("priority", CONTAINER, f"{name} NCCL_IB_SL", intent.priority, level, level == intent.priority,
                   f"export NCCL_IB_SL={intent.priority}, or leave it out: DSCP decides")  # fmt: skip
    for port in ports:
        table = (port.get("qos") or {}).get("dscp_prio") or {}
        priority = table.get(str(sent >> 2))
        yield _row("priority", CONTAINER, f"{name} over {port['name']}", intent.priority, priority,
                   priority == intent.priority if table else None,
                   "let traffic class and the NIC's DSCP table agree")  # fmt: skip
    yield from _container_gid(name, container, ports, env)


def _container_gid(
    name: str, container: Mapping[str, Any], ports: Sequence[Mapping[str, Any]], env: Mapping[str, Any]
) -> Iterator[Row]:
    visible = container.get("infiniband")
    yield _row("GID", CONTAINER, f"{name} /dev/infiniband", "passed in",
               None if visible is None else "passed in" if visible else "not passed in",
               None if visible is None else bool(visible),
               "start the container with --device=/dev/infiniband")  # fmt: skip
    selector = str(env.get("NCCL_IB_HCA", "")).strip()
    chosen = [port for port in ports if not selector or selects(selector, port["name"], int(port["port"]))]
    if selector:
        wanted = ", ".join(f"{port['name']}:{port['port']}" for port in ports)
        yield _row("GID", CONTAINER, f"{name} NCCL_IB_HCA", wanted, selector, bool(chosen) if ports else None,
                   "name a device that has the RoCE address, for example =mlx5_0:1")  # fmt: skip
    index = _number(env, "NCCL_IB_GID_INDEX", name)
    if index is not None and index >= 0:
        for port in chosen:
            own = port.get("roce_gid_index")
            yield _row("GID", CONTAINER, f"{name} NCCL_IB_GID_INDEX on {port['name']}", own, index,
                       None if own is None else own == index,
                       f"export NCCL_IB_GID_INDEX={own} on this host; the index can differ between hosts")  # fmt: skip
        return
    version = re.match(r"^(\d+)\.(\d+)", str(_told(container.get("nccl_version")) or ""))
    numbers = (int(version.group(1)), int(version.group(2))) if version else None
    yield _row("GID", CONTAINER, f"{name} NCCL_IB_GID_INDEX", "set, or NCCL 2.21",
               f"not set, NCCL {container['nccl_version']}" if numbers else None,
               None if numbers is None else numbers >= NCCL_AUTO_GID,
               "export NCCL_IB_GID_INDEX: NCCL before 2.21 takes GID 0, which is RoCE v1")  # fmt: skip


# ---- the table ------------------------------------------------------------------------------------------------------

ITEMS = ("MTU", "DSCP", "traffic class", "priority", "GID")


def rows(
    switches: Mapping[str, Mapping[str, Any]], nodes: Mapping[str, Mapping[str, Any]], intent: Intent
) -> list[Row]:
    """Every comparison. ``nodes``: host -> ``nic`` (result of rdma_info) and ``container``.

    A container has ``name``, ``env``, ``network_mode``, ``infiniband``, ``mtu`` and ``nccl_version``, as far as known.
    """
    ports = {host: roce_ports(node.get("nic") or {}, intent) for host, node in nodes.items()}
    mtus = [port["netdev_mtu"] for each in ports.values() for port in each if port.get("netdev_mtu")]
    common = intent.mtu or (collections.Counter(mtus).most_common(1)[0][0] if mtus else 0)
    table: list[Row] = []
    if not switches:
        table += [_row(item, SWITCH, "no switch was read", "a value", None, None, "read the switch") for item in ITEMS]
    for name, switch in switches.items():
        table += _switch_rows(name, switch, max([common, *mtus]), intent)
    for host, node in nodes.items():
        if not _told(node.get("nic")):
            table += [_row(item, NIC, host, "a value", None, None, "reach the host and read it") for item in ITEMS]
        elif not ports[host]:
            table.append(_row("GID", NIC, host, "an Ethernet RDMA port", "none", False,
                              "load the driver of the card and check its link layer"))  # fmt: skip
        for port in ports[host]:
            table += _nic_rows(host, port, common, intent)
        container = _told(node.get("container"))
        if container is None:
            table += [_row(item, CONTAINER, host, "a value", None, None, "start the container") for item in ITEMS]
        else:
            table += _container_rows(host, container, ports[host], common, intent)
    table += _same_address(ports)
    return sorted(table, key=lambda row: ITEMS.index(row.item))


def _same_address(ports: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Row]:
    """Two hosts with one RoCE address: each is right on its own, and together they cannot talk."""
    owners: dict[str, list[str]] = {}
    for host, each in ports.items():
        for port in each:
            if port.get("roce_gid_ipv4"):
                owners.setdefault(port["roce_gid_ipv4"], []).append(f"{host} {port['name']}")
    return [
        _row("GID", NIC, ", ".join(names), "an address of its own", address, False, "give each host its own address")
        for address, names in owners.items()
        if len(names) > 1
    ]


def report(
    switches: Mapping[str, Mapping[str, Any]], nodes: Mapping[str, Mapping[str, Any]], intent: Intent
) -> dict[str, Any]:
    """The table as data and as text. ``consistent``: no mismatch; ``complete``: nothing is unknown either."""
    table = rows(switches, nodes, intent)
    mismatches = [row for row in table if row.verdict == MISMATCH]
    unknown = [row for row in table if row.verdict == UNKNOWN]
    return {
        "consistent": not mismatches,
        "complete": not unknown,
        "mismatches": [sentence(row) for row in mismatches],
        "unknown": [sentence(row) for row in unknown],
        "rows": [dataclasses.asdict(row) for row in table],
        "table": text_table(table),
    }


def sentence(row: Row) -> str:
    return f"{row.item}: {row.where}: {row.found}, expected {row.expected}. What to do: {row.remedy}."


def text_table(table: Sequence[Row]) -> list[str]:
    """Lines with aligned columns; whatever is not ok is marked at the beginning of its line."""
    cells = [("", "item", "layer", "where", "expected", "found")]
    marks = {OK: "", MISMATCH: "!", UNKNOWN: "?"}
    cells += [(marks[row.verdict], row.item, row.layer, row.where, row.expected, row.found) for row in table]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells]
