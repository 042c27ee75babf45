"""Each injected fault is named, with its place, by real agents in network namespaces. SIMULATED: no RDMA device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import reach, schedule, wire

from tests.integration.fabric import namespaces

HOSTS, RAILS = 4, 2


@pytest.fixture
def site(tmp_path: Path) -> Iterator[namespaces.Namespaces]:
    with namespaces.fabric(HOSTS, RAILS, tmp_path / "tools") as found:
        yield found


def named(site: namespaces.Namespaces, without: tuple[int, ...] = ()) -> list[tuple[str, str, tuple[int, ...]]]:
    lines = site.agents(site.plan(schedule.rounds(site.fabric, "full"), "reach"), without)
    got = wire.answers(site.fabric, lines)
    faults = reach.faults(site.fabric, got, tos=namespaces.TOS, netdevs=site.netdevs, mtu=namespaces.MTU)
    assert all(fault.remedy and fault.text for fault in faults)
    return sorted((fault.thing, fault.place.kind, fault.place.members) for fault in faults)


SWAPPED = (
    "ip link set h1r0 nomaster; ip link set h1r1 nomaster; ip link set h1r0 master leaf1; ip link set h1r1 master leaf0"
)
NO_FLUX = "echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore"
# (where, command) pairs, and what the check has to say: thing, kind of place, members (NIC = host x 2 + rail).
FAULTS: dict[str, tuple[list[tuple[int | None, str]], list[tuple[str, str, tuple[int, ...]]]]] = {
    "interface with a small MTU": ([(2, "ip link set r1 mtu 1400")], [("mtu", "nic", (5,))]),
    "packets of full size get lost at one port": (
        [(2, "iptables -A INPUT -i r1 -m length --length 1401: -j DROP")],
        [("mtu", "nic", (5,))],
    ),
    "leaf with a small MTU": (
        [(None, "for host in 0 1 2 3; do ip link set h${host}r1 mtu 1400; done")],
        [("mtu", "rail", (1,))],
    ),
    "port that clears the DSCP": (
        [(3, "iptables -t mangle -A PREROUTING -i r1 -j TOS --set-tos 0")],
        [("dscp", "nic", (7,))],
    ),
    "host that sends another DSCP": (
        [
            (
                1,
                "iptables -t mangle -A POSTROUTING -o r+ -j TOS --set-tos 0",
            )
        ],
        [("dscp", "host", (1,))],
    ),
    "address that is missing": ([(1, "ip addr del 10.90.0.2/24 dev r0")], [("address", "nic", (2,))]),
    "interface that is down": ([(0, "ip link set r1 down")], [("link", "nic", (1,))]),
    "cable that is pulled": ([(None, "ip link set h3r0 down")], [("link", "nic", (6,))]),
    "port in another VLAN": ([(None, "ip link set h2r0 nomaster")], [("neighbour", "nic", (4,))]),
    "host in no VLAN at all": (
        [(None, "ip link set h2r0 nomaster; ip link set h2r1 nomaster")],
        [("neighbour", "host", (2,))],
    ),
    "wrong static neighbour": (
        [(0, "ip neigh replace 10.90.0.3 lladdr 02:00:00:00:00:01 dev r0 nud permanent")],
        [("neighbour", "pair", (0, 4))],
    ),
    "firewall of a host": ([(3, "iptables -A INPUT -i r+ -p udp -j DROP")], [("silent", "host", (3,))]),
    "firewall against what is sent": (
        [(1, "iptables -A OUTPUT -o r1 -p udp -j DROP")],
        [("firewall", "nic", (3,))],
    ),
    "one pair that an ACL parts": (
        [(0, "iptables -A INPUT -i r0 -s 10.90.0.4 -j DROP"), (3, "iptables -A INPUT -i r0 -s 10.90.0.1 -j DROP")],
        [("silent", "pair", (0, 6))],
    ),
    "rail whose leaf is dead": ([(None, "ip link set leaf1 down")], [("neighbour", "rail", (1,))]),
    "cables of two rails swapped": (
        [(None, SWAPPED), *[(host, NO_FLUX) for host in range(HOSTS)]],
        [("neighbour", "host", (1,))],
    ),
    "cables swapped where ARP hides it": ([(None, SWAPPED)], [("arp", "host", (1,))]),
    "second host with an address": (
        [
            (3, "ip link set r0 address 02:90:00:00:00:04; ip addr add 10.90.0.3/24 dev r0"),
            *[(host, "ip neigh replace 10.90.0.3 lladdr 02:90:00:00:00:04 dev r0 nud permanent") for host in (0, 1)],
        ],
        [("duplicate", "nic", (4,))],
    ),
    "device of nobody with the address of a host": (
        [(2, "ip link set r0 arp off"), (None, "ip addr add 10.90.0.3/24 dev leaf0")],
        [("duplicate", "nic", (4,))],
    ),
    "network that another interface is routed to": (
        [(2, "ip route replace 10.90.0.0/24 dev r1 src 10.90.1.3 metric 0")],
        [("route", "nic", (4,))],
    ),
    "port through which nothing is received": (
        [(1, "iptables -A INPUT -i r0 -p udp -j DROP")],
        [("silent", "nic", (2,))],
    ),
    "interface without ARP": ([(3, "ip link set r1 arp off")], [("neighbour", "nic", (7,))]),
    "prohibited network": ([(1, "ip rule add to 10.90.1.0/24 pref 1 prohibit")], [("route", "nic", (3,))]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_named_with_its_place(site: namespaces.Namespaces, name: str) -> None:
    commands, expected = FAULTS[name]
    for host, command in commands:
        if host is None:
            site.switches(command)
        else:
            site.host(host, command)
    assert named(site) == sorted(expected)


def test_nobody_is_accused_where_nothing_is_wrong(site: namespaces.Namespaces) -> None:
    assert named(site) == []
