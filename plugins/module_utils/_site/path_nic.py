"""What the NICs say, compared with what the path shall be: each port by itself, and all of a rail together. Pure."""

from __future__ import annotations

import collections
from typing import Any, Iterator, Mapping, Sequence

from .._judge.finding import Finding
from .path_intent import NIC, Intent, rdma_mtu, row, same
from .rails import natural

_ALL, _PART = 0.9, 0.1  # of the data of a port: so much in priorities with PFC is all of it, so much in another a part


def roce_ports(nic: Mapping[str, Any], intent: Intent) -> list[Mapping[str, Any]]:
    """The ports that the job uses: those with an address in the RoCE network, else every Ethernet port."""
    ethernet = [port for port in nic.get("devices") or () if port.get("link_layer") == "Ethernet"]
    if not intent.networks:
        return ethernet
    inside = [
        port for port in ethernet if any(gid.get("ipv4") and intent.holds(gid["ipv4"]) for gid in port.get("gids", ()))
    ]
    return inside or ethernet


def left_out(host: str, nic: Mapping[str, Any], intent: Intent) -> list[str]:
    """The RoCE ports of a host that are in no network that was named: nothing here is said about them."""
    taken = [id(port) for port in roce_ports(nic, intent)]
    return [
        f"{place(host, port)}: not compared, "
        + (
            f"{', '.join(addresses)} is in none of {intent.networks_text()}"
            if (addresses := [str(gid["ipv4"]) for gid in port.get("gids") or () if gid.get("ipv4")])
            else f"it has no IPv4 address in {intent.networks_text()}"
        )
        for port in nic.get("devices") or ()
        if port.get("link_layer") == "Ethernet" and id(port) not in taken
    ]


def place(host: str, port: Mapping[str, Any]) -> str:
    return f"{host} {port['name']}:{port['port']} ({port.get('netdev') or 'no interface'})"


def gid_of(port: Mapping[str, Any], intent: Intent) -> tuple[int | None, str | None]:
    """Index and address of the GID that the job uses: that of the port, or another one of it in a RoCE network."""
    index, address = port.get("roce_gid_index"), port.get("roce_gid_ipv4")
    if index is not None and not intent.holds(str(address)):
        for gid in port.get("gids") or ():
            if gid.get("type") == "RoCE v2" and gid.get("ipv4") and intent.holds(gid["ipv4"]):
                return int(gid["index"]), str(gid["ipv4"])
    return index, address


def nic_rows(host: str, port: Mapping[str, Any], mtu: int, intent: Intent) -> Iterator[Finding]:
    where = place(host, port)
    own = port.get("netdev_mtu")
    yield row("MTU", NIC, where, mtu or "the same everywhere", own, same(own, mtu),
              "set the interface's MTU (guest_mtu)")  # fmt: skip
    active = port.get("active_mtu")
    room = rdma_mtu(mtu)
    yield row("MTU", NIC, f"{where} RDMA", room, active, same(active, room),
              "raise the interface's MTU to 4200 or more and restart the job")  # fmt: skip
    qos = port.get("qos") or {}
    trust = qos.get("trust")
    yield row("DSCP", NIC, f"{where} trust", "dscp", trust, same(trust, "dscp"),
              "mlnx_qos --trust dscp; the setting is lost at a restart (guest_qos_enabled keeps it)")  # fmt: skip
    forced = port.get("traffic_class")
    if forced is not None:
        yield row("traffic class", NIC, f"{where} forced", intent.traffic_class, forced,
                  forced == intent.traffic_class, "write the value into tc/1/traffic_class")  # fmt: skip
    tos = port.get("roce_tos")
    yield row("traffic class", NIC, f"{where} rdma_cm", intent.traffic_class, tos, same(tos, intent.traffic_class),
              f"cma_roce_tos -d {port['name']} -t {intent.traffic_class}")  # fmt: skip
    ecn = port.get("ecn")
    if ecn and intent.traffic_class & 3:
        on = sorted(set(ecn.get("np") or ()) & set(ecn.get("rp") or ()))
        yield row("traffic class", NIC, f"{where} ECN", f"np and rp on {intent.priority}", f"np and rp on {on}",
                  intent.priority in on, f"echo 1 > /sys/class/net/{port.get('netdev')}/ecn/roce_np/enable/"
                  f"{intent.priority}, and roce_rp (guest_qos_enabled keeps it)")  # fmt: skip
    lossless = qos.get("pfc_priorities")
    yield row("priority", NIC, f"{where} PFC", [intent.priority], lossless,
              None if lossless is None else list(lossless) == [intent.priority],
              "mlnx_qos --pfc with that priority alone")  # fmt: skip
    if trust == "dscp":
        table = qos.get("dscp_prio") or {}
        mapped = table.get(str(intent.dscp))
        yield row("priority", NIC, f"{where} DSCP {intent.dscp}", intent.priority, mapped,
                  None if not table else mapped == intent.priority,
                  f"mlnx_qos --dscp2prio set,{intent.dscp},{intent.priority}")  # fmt: skip
    index, address = gid_of(port, intent)
    found = None if index is None else f"{index} ({address})"
    expected = f"RoCE v2 over IPv4{' in ' + intent.networks_text() if intent.networks else ''}"
    yield row("GID", NIC, where, expected, found or "none", index is not None and intent.holds(str(address)),
              "give the interface its address in the RoCE network")  # fmt: skip
    yield from _classes(where, qos, intent)
    yield from _link(where, port)


def data_priority(port: Mapping[str, Any], moved: Mapping[str, int], byte: int | None) -> tuple[int | None, str]:
    """The priority that carried the data of a port, None if it or its PFC is not known, and what says that it is not
    lossless. By what its counters counted (``moved``), else by the job's traffic class (``byte``) and the DSCP table.
    A bond's data is counted of all its members, and the priorities of one."""
    qos = port.get("qos") or {}
    pfc, found = qos.get("pfc_priorities"), []
    alone = any(port.get("netdev") in (gid.get("netdev"), gid.get("vlan_of")) for gid in port.get("gids") or ())
    for counter, way in (("port_xmit_data", "tx"), ("port_rcv_data", "rx")):
        data = 4 * moved.get(counter, 0)  # RDMA alone; the counters of priorities are of everything
        names = {each: f"{way}_prio{each}_bytes" for each in range(8)}
        counted = {each: moved[name] for each, name in names.items() if name in moved}
        if data and alone and pfc is not None and set(pfc) <= set(counted):
            lossy = {each: count for each, count in counted.items() if each not in pfc}
            if sum(counted[each] for each in pfc) >= _ALL * data:
                found.append(max(pfc, key=counted.__getitem__))
            elif max(lossy.values(), default=0) >= _PART * data:
                found.insert(0, max(lossy, key=lossy.__getitem__))
    sent = byte if port.get("traffic_class") is None else port["traffic_class"]
    if not found and isinstance(sent, int) and qos.get("trust") == "dscp":
        found = [(qos.get("dscp_prio") or {}).get(str(sent >> 2))]
    priority = found[0] if found and pfc is not None else None
    expected = " or ".join(map(str, pfc or ())) or "one with PFC"
    wrong = f"priority {priority}, expected {expected}: let PFC, DSCP table and NCCL_IB_TC name one priority"
    return priority, "" if priority in (None, *(pfc or ())) else wrong


def _classes(where: str, qos: Mapping[str, Any], intent: Intent) -> Iterator[Finding]:
    """Lossless and other packets in one traffic class of the NIC wait for each other: PFC then stops both."""
    table = qos.get("prio_tc") or {}
    own = table.get(str(intent.priority))
    if own is not None:
        with_it = sorted(
            int(priority) for priority, tc in table.items() if tc == own and int(priority) != intent.priority
        )
        found = f"TC {own}" + (f" with priority {', '.join(map(str, with_it))}" if with_it else "")
        yield row("priority", NIC, f"{where} TC of {intent.priority}", "a traffic class of its own", found, not with_it,
                  "mlnx_qos --prio_tc, or dcb ets set prio-tc, with a traffic class for it alone")  # fmt: skip


def _link(where: str, port: Mapping[str, Any]) -> Iterator[Finding]:
    state = port.get("state")
    yield row("link", NIC, where, "ACTIVE", state, same(state, "ACTIVE"),
              "look at the cable and the switch port: NCCL takes no port that is not ACTIVE")  # fmt: skip
    pcie = port.get("pcie") or {}
    for name, unit in (("link_width", "lanes"), ("link_speed", "GT/s")):
        now, most = pcie.get(f"current_{name}"), pcie.get(f"max_{name}")
        if now and most:
            yield row("link", NIC, f"{where} PCIe {name.split('_')[1]}", f"{most:g} {unit}", f"{now:g} {unit}",
                      now >= most, "see lspci -vv (LnkSta) on the ESXi host: slot, riser or BIOS setting")  # fmt: skip


def alike(ports: Mapping[str, Sequence[Mapping[str, Any]]], intent: Intent) -> Iterator[Finding]:
    """What has to be the same on a whole rail (rate), and for all cards of one kind (firmware)."""
    yield from _same(
        "rate",
        [(place(host, port), rail_of(port, intent), port.get("rate")) for host, each in ports.items() for port in each],
        "look at cable, transceiver and the speed of the switch port",
    )
    yield from _same(
        "firmware",
        [
            (place(host, port), str(port.get("psid") or port.get("device_id") or ""), port.get("firmware"))
            for host, each in ports.items()
            for port in each
        ],
        "bring all cards of one kind to one firmware, in a window of its own",
    )


def _same(thing: str, members: Sequence[tuple[str, str, Any]], remedy: str) -> Iterator[Finding]:
    """``members``: where, group, value. What most of a group have is right."""
    known = [member for member in members if member[2]]
    for group in dict.fromkeys(group for _where, group, _value in known):
        values = [(where, value) for where, own, value in known if own == group]
        usual = collections.Counter(value for _where, value in values).most_common(1)[0][0]
        for where, value in values:
            yield row("link", NIC, f"{where} {thing}", usual, value, value == usual, remedy)


def rail_of(port: Mapping[str, Any], intent: Intent) -> str:
    """The network of the address that the job uses; '' for none."""
    return intent.rail(str(gid_of(port, intent)[1] or "0.0.0.0"))


def rail_rows(ports: Mapping[str, Sequence[Mapping[str, Any]]], intent: Intent) -> Iterator[Finding]:
    """Each host is on each rail, with one port, and the rails are in the same order everywhere."""
    order: dict[str, list[str]] = {}
    for host, each in ports.items():
        on: dict[str, list[str]] = {}
        for port in sorted(each, key=lambda port: (str(port.get("pci") or ""), natural(port["name"]), port["port"])):
            network = rail_of(port, intent)
            on.setdefault(network, []).append(str(port["name"]))
            order.setdefault(host, []).append(network)
        for network in map(str, intent.networks):
            names = on.get(network, [])
            if len(intent.networks) > 1 or len(names) > 1:
                right = None if len(names) > 1 else bool(names)
                yield row("GID", NIC, f"{host} rail {network}", "one port", ", ".join(names) or "none", right,
                          "one network per NIC; two NICs in one subnet need arp_ignore, arp_announce and a routing "
                          "table each" if names else "give a NIC of this host its address on that rail")  # fmt: skip
    if len(intent.networks) > 1 and len(order) > 1:
        usual = collections.Counter(map(tuple, order.values())).most_common(1)[0][0]
        for host, own in order.items():
            if set(own) == set(usual) and len(own) == len(usual):
                yield row("GID", NIC, f"{host} order of the rails", ", ".join(usual), ", ".join(own),
                          tuple(own) == usual,
                          "give the NICs, or their addresses, in the same order on all hosts: NCCL connects them by "
                          "their place")  # fmt: skip
