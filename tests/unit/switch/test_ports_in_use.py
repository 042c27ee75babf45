"""A port in use is refused, whatever it is used for and however the release spells it.

Spellings of NVUE: NVIDIA's published schemas 5.0 to 5.18 (PyPI ``nvueschema``) and the command changes of the release
notes of 5.15 (``ip address`` -> ``ipv4 address``, ``ip vrf`` -> ``vrf``); unnumbered BGP: NVIDIA's BGP pages. Lines of
Onyx: its manual, and the fixtures of ``mellanox.onyx``.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import plan as nvue
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue.state import State, parse_state
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import plan as onyx
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import uses as onyx_uses
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx.state import (
    Port,
    Roce,
    SwitchState,
    Version,
    Vlan,
)

PORT = "swp8"
WANTED = nvue.request("sw02", {"vlan": 111, "ports": [PORT], "mode": "absent"})
ALL = (0, 18)
OLD, NEW = (0, 14), (15, 18)


def port(**settings: Any) -> dict[str, Any]:
    return {"interface": {PORT: {"type": "swp", **settings}}}


def bridge(**settings: Any) -> dict[str, Any]:
    return port(bridge={"domain": {"br_default": settings}})


def router(vrf: str, **protocols: Any) -> dict[str, Any]:
    return {"vrf": {vrf: {"router": protocols}}}


# Name -> releases 5.x that know it, what they show, and whether another place of the configuration tells it.
IN_USE: dict[str, tuple[tuple[int, int], dict[str, Any], bool]] = {
    "routed IPv4 to 5.14": (OLD, port(ip={"address": {"10.1.1.0/31": {}}}), False),
    "routed IPv4 since 5.15": (NEW, port(ipv4={"address": {"10.1.1.0/31": {}}}), False),
    "routed IPv6 since 5.15": (NEW, port(ipv6={"address": {"fd00::/127": {}}}), False),
    "VRF to 5.14": (OLD, port(ip={"vrf": "STORAGE"}), False),
    "VRF since 5.15": (NEW, port(vrf="STORAGE"), False),
    "IPv6 router advertisements": (
        OLD,
        port(ip={"neighbor-discovery": {"router-advertisement": {"enable": "on"}}}),
        False,
    ),
    "OSPF at the port": (ALL, port(router={"ospf": {"area": "0.0.0.0", "network-type": "point-to-point"}}), False),
    "OSPFv3 at the port": ((4, 18), port(router={"ospf6": {"area": "0.0.0.0"}}), False),
    "PIM at the port": (ALL, port(router={"pim": {"enable": "on"}}), False),
    "unnumbered BGP": (ALL, router("default", bgp={"neighbor": {PORT: {"remote-as": "external"}}}), True),
    "unnumbered BGP, a range": (ALL, router("default", bgp={"neighbor": {"swp7-10": {"peer-group": "fabric"}}}), True),
    "unnumbered BGP in a VRF": (ALL, router("RED", bgp={"neighbor": {PORT: {"type": "unnumbered"}}}), True),
    "BGP on a subinterface": (ALL, router("RED", bgp={"neighbor": {f"{PORT}.10": {"type": "unnumbered"}}}), True),
    "static route over the port": (
        ALL,
        router("default", static={"10.0.0.0/8": {"via": {PORT: {"type": "interface"}}}}),
        True,
    ),
    "PIM of a VRF names it": (ALL, router("default", pim={"interface": PORT}), True),
    "bond member": (ALL, {"interface": {"bond1": {"type": "bond", "bond": {"member": {PORT: {}}}}}}, True),
    "MLAG bond member": (
        ALL,
        {"interface": {"bond1": {"bond": {"member": {"swp7-8": {}}, "mlag": {"id": 1}}}}, "mlag": {"init-delay": 10}},
        True,
    ),
    "peerlink member": (ALL, {"interface": {"peerlink": {"type": "peerlink", "bond": {"member": {PORT: {}}}}}}, True),
    "EVPN multihoming segment on its bond": (
        ALL,
        {
            "interface": {
                "bond3": {"bond": {"member": {PORT: {}}}, "evpn": {"multihoming": {"segment": {"local-id": 3}}}}
            }
        },
        True,
    ),
    "EVPN multihoming uplink": (ALL, port(evpn={"multihoming": {"uplink": "on"}}), False),
    "subinterface": (ALL, {"interface": {f"{PORT}.100": {"type": "sub", "vlan": 100}}}, True),
    "breakout parent": (ALL, port(link={"breakout": {"4x": {}}}), False),
    "trunk of every VLAN": (ALL, bridge(), False),
    "trunk of some VLANs": (ALL, bridge(vlan={"100-200": {}}), False),
    "hybrid: tagged and untagged": (ALL, bridge(vlan={"100": {}}, untagged=5), False),
    "access port of another bridge": (ALL, port(bridge={"domain": {"br_storage": {"access": 20}}}), False),
    "access port of a VXLAN": (
        ALL,
        {**bridge(access=20), "bridge": {"domain": {"br_default": {"vlan": {"20": {"vni": {"10020": {}}}}}}}},
        False,
    ),
    "SPAN source": (
        ALL,
        {"system": {"port-mirror": {"session": {"1": {"span": {"source-port": {PORT: {}}}}}}}},
        True,
    ),
    "SPAN destination": (
        ALL,
        {"system": {"port-mirror": {"session": {"1": {"span": {"destination": {PORT: {}}}}}}}},
        True,
    ),
    "PTP clock": (ALL, port(ptp={"enable": "on"}), False),
    "SyncE source": ((4, 18), port(synce={"enable": "on"}), False),
    "access list": (ALL, port(acl={"STORAGE": {"inbound": {}}}), False),
    "802.1X to 5.3": ((0, 3), port(link={"dot1x": {"mab": "on"}}), False),
    "802.1X since 5.7": ((7, 18), port(dot1x={"eap": "on"}), False),
    "port security": ((7, 18), port(**{"port-security": {"enable": "on"}}), False),
    "DHCP relay": (
        ALL,
        {"service": {"dhcp-relay": {"default": {"interface": {PORT: {}}}}}},
        True,
    ),
    "GRE tunnel over it": (ALL, {"interface": {"tun1": {"tunnel": {"interface": PORT}}}}, True),
    "a key that no release has yet": (ALL, port(**{"entangled-with": "swp9"}), False),
    "a branch that no release has yet": (ALL, {"fabric": {"uplinks": [PORT]}}, True),
}
CASES = [
    pytest.param(minor, tree, elsewhere, id=f"{name}, 5.{minor}")
    for name, ((first, last), tree, elsewhere) in IN_USE.items()
    for minor in range(first, last + 1)
]


def reading(tree: dict[str, Any], minor: int = 18, ports: tuple[str, ...] = (PORT, "swp9")) -> State:
    link = {"mtu": 9216, **({"state": {"up": {}}} if minor < 11 else {"oper-status": "up", "admin-status": "up"})}
    return parse_state(
        "sw02",
        "br_default",
        system={"product-release": f"5.{minor}.0"},
        applied=tree,
        filled_roce=None,
        roce=None,
        interfaces={name: {"type": "swp", "link": link} for name in ports},
    )


@pytest.mark.parametrize(("minor", "tree", "elsewhere"), CASES)
def test_a_port_in_use_is_refused_whatever_may_be_disrupted(minor: int, tree: dict[str, Any], elsewhere: bool) -> None:
    state = reading(tree, minor)
    for disruption in ("none", "requested_ports", "any"):
        wanted = dataclasses.replace(WANTED, disruption=disruption)
        with pytest.raises(RefusedError, match=PORT) as caught:
            nvue.plan(state, wanted)
        assert caught.value.thing == "ports"
    given_up = dataclasses.replace(WANTED, convertible=None, disruption="any")
    if elsewhere:  # no permission for the port reaches what stands elsewhere
        with pytest.raises(RefusedError):
            nvue.plan(state, given_up)
    else:
        assert nvue.plan(state, given_up)


def test_the_table_of_ports_in_use_is_long_enough_for_every_release() -> None:
    for minor in range(19):
        assert sum(first <= minor <= last for (first, last), _tree, _elsewhere in IN_USE.values()) >= 25


@pytest.mark.parametrize("minor", [0, 14, 15, 18])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"description": "to gpu01, was swp9"},
        {"link": {"mtu": 1500, "speed": "100G", "fec": "rs", "auto-negotiate": "off", "breakout": {"1x": {}}}},
        {"lldp": {"dcbx-pfc-tlv": "on"}, "qos": {"remark": {"profile": "x"}}},
        {"ip": {"vrf": "default"}},
        {"vrf": "default"},
        {"router": {"pim": {"enable": "off"}}},
        {"acl": {}},
        {"bridge": {"domain": {"br_default": {"access": 20, "stp": {"admin-edge": "on"}}}}},
    ],
    ids=lambda settings: "-".join(settings) or "nothing",
)
def test_harmless_settings_keep_a_port_free(minor: int, settings: dict[str, Any]) -> None:
    others = {"swp9": {"description": "swp8"}, "bond1": {"bond": {"member": {"swp9": {}}}}}
    tree = {"interface": {**others, PORT: settings}, "qos": {"egress-scheduler": {"x": {"description": PORT}}}}
    (only,) = [each for each in nvue.plan(reading(tree, minor), WANTED) if each.changes][-1].changes.items()
    bridge = f"interface {PORT} bridge"
    assert only == (
        (f"{bridge} domain br_default access", (20, 111))
        if "bridge" in settings
        else (bridge, (None, {"domain": {"br_default": {"access": 111}}}))
    )


def test_a_port_that_is_as_wanted_may_be_used_for_more() -> None:
    tree = {
        "bridge": {"domain": {"br_default": {"vlan": {"111": {}}}}},
        **port(bridge={"domain": {"br_default": {"access": 111}}}, acl={"RDMA": {"inbound": {}}}),
        **router("default", bgp={"neighbor": {PORT: {}}}),
    }
    assert nvue.plan(reading(tree), WANTED) == []


def test_what_is_given_up_is_unset_in_the_spelling_of_the_release() -> None:
    given_up = dataclasses.replace(WANTED, convertible=frozenset({PORT}))
    settings = {"ipv4": {"address": {"10.1.1.0/31": {}}}, "vrf": "STORAGE", "acl": {"A": {"inbound": {}}}}
    lines = [each.command for each in nvue.plan(reading(port(**settings)), given_up)]
    assert "nv unset interface swp8 ipv4\nnv unset interface swp8 vrf" in lines
    assert not any("acl" in line for line in lines)


@pytest.mark.parametrize("name", ["lo", "eth0", "peerlink", "bond1", "vlan111", "br_default", "swp8.100", "loopback 0"])
def test_what_is_no_switch_port_is_refused_before_the_login(name: str) -> None:
    with pytest.raises(RefusedError, match="not a port"):
        nvue.request("sw02", {"vlan": 111, "ports": [name]})


def test_an_unnumbered_neighbor_on_a_loopback_name_is_no_port() -> None:
    tree = router("default", bgp={"neighbor": {"lo": {}, "eth0": {}, "peerlink.4094": {}}})
    assert nvue.plan(reading(tree), WANTED)


# --- Onyx: name -> mode in the layer 2 table, lines of the running configuration, whether a permission reaches it

AT = "interface ethernet 1/8 "
ONYX_IN_USE: dict[str, tuple[str, tuple[str, ...], bool]] = {
    "routed IPv4": ("routed", (AT + "no switchport force", AT + "ip address 10.1.1.0/31 primary"), True),
    "routed IPv6": ("routed", (AT + "no switchport force", AT + "ipv6 address fd00::/127"), True),
    "routed in a VRF": ("routed", (AT + "no switchport force", AT + "vrf forwarding STORAGE"), True),
    "routed with nothing else": ("routed", (AT + "no switchport force",), True),
    "OSPF": ("routed", (AT + "no switchport force", AT + "ip ospf area 0.0.0.0"), True),
    "PIM": ("routed", (AT + "no switchport force", AT + "ip pim sparse-mode"), True),
    "unnumbered BGP": (
        "routed",
        (AT + "no switchport force", "router bgp 65000 vrf default neighbor interface ethernet 1/8 remote-as external"),
        False,
    ),
    "static route over the port": ("access", ("ip route vrf default 10.0.0.0 /8 ethernet 1/8",), False),
    "member of a port-channel": ("access", (AT + "channel-group 5 mode active",), False),
    "member of an MLAG": ("unknown", (AT + "mlag-channel-group 33 mode active",), False),
    "outside every table": ("unknown", (), False),
    "trunk": ("trunk", (AT + "switchport mode trunk", AT + "switchport trunk allowed-vlan add 100"), True),
    "hybrid": ("hybrid", (AT + "switchport mode hybrid",), True),
    "dot1q tunnel": ("dot1q-tunnel", (AT + "switchport mode dot1q-tunnel",), True),
    "SPAN destination": ("access", ("monitor session 1 destination interface ethernet 1/8",), False),
    "SPAN source": ("access", ("monitor session 1 add source interface ethernet 1/8 direction both",), False),
    "source of a range": ("access", ("monitor session 1 add source interface ethernet 1/7-1/9 direction rx",), False),
    "PTP": ("access", (AT + "ptp enable",), True),
    "access list": ("access", (AT + "ipv4 port access-group STORAGE",), True),
    "802.1X": ("access", (AT + "dot1x port-control auto",), True),
    "OpenFlow": ("access", (AT + "openflow mode hybrid",), True),
    "MLAG inter-peer link": ("access", (AT + "ipl 1",), True),
    "tracked by MAGP": ("access", ("protocol magp track interface ethernet 1/8",), False),
    "named by Eth": ("access", ("telemetry threshold Eth1/8 tc 3",), False),
    "DHCP relay": ("access", (AT + "ip dhcp relay instance 1 downstream",), True),
    "a command that no release has yet": ("access", (AT + "entangle with everything",), True),
}


def onyx_state(mode: str, lines: tuple[str, ...]) -> SwitchState:
    lag = onyx_uses.group(lines, "1/8")
    mentioned = onyx_uses.references(lines)
    ports = {
        name: Port(
            name=name,
            mode="lag" if lag and name == "1/8" else mode,
            mtu=9216,
            admin=True,
            oper="Up",
            access_vlan=1 if mode == "access" else None,
            lag=lag if name == "1/8" else None,
            config=onyx_uses.port_lines(lines, name),
            uses=(*onyx_uses.port_uses(lines, name), *mentioned.get(name, ())),
        )
        for name in ("1/8", "1/18")
    }
    vlans = {1: Vlan("default", ())}
    return SwitchState("sw01", Version("3.10.4006", (3, 10, 4006)), Roce(), vlans, ports, False)


@pytest.mark.parametrize(
    ("mode", "lines", "permission"), [pytest.param(*row, id=name) for name, row in ONYX_IN_USE.items()]
)
def test_an_onyx_port_in_use_is_refused(mode: str, lines: tuple[str, ...], permission: bool) -> None:
    request = {"vlan": 111, "ports": ["1/8"], "mode": "absent", "allow_mode_change": False}
    state = onyx_state(mode, lines)
    for disruption in ("none", "requested_ports", "any"):
        with pytest.raises(RefusedError, match="1/8") as caught:
            onyx.plan(state, onyx.request("sw01", {**request, "allow_disruption": disruption}))
        assert caught.value.thing == "ports" and "a access" not in str(caught.value)
    given_up = onyx.request("sw01", {**request, "allow_mode_change": True})
    if permission:
        assert onyx.plan(state, given_up)
    else:
        with pytest.raises(RefusedError):
            onyx.plan(state, given_up)


def test_what_a_port_would_lose_is_told_without_its_secrets() -> None:
    lines = (AT + "no switchport force", AT + "ip ospf message-digest-key 1 md5 s3cret", AT + "ip ospf area 0.0.0.0")
    state, request = onyx_state("routed", lines), {"vlan": 111, "ports": ["1/8"], "mode": "absent"}
    with pytest.raises(RefusedError) as caught:
        onyx.plan(state, onyx.request("sw01", request))
    given_up = onyx.plan(state, onyx.request("sw01", {**request, "allow_mode_change": True}))
    for told in (str(caught.value.as_result()), " ".join(each.disrupts for each in given_up)):
        assert "message-digest-key" in told and "area 0.0.0.0" in told and "s3cret" not in told


@pytest.mark.parametrize(
    "line",
    [
        'description "uplink was ethernet 1/18"',
        "mtu 9216 force",
        "speed 100G",
        "shutdown",
        "no shutdown",
        "dcb priority-flow-control mode on force",
        "spanning-tree port type edge",
        "switchport access vlan 20",
        "no lldp transmit",
        "pfc-wd",
        "boot-delay 60",
    ],
)
def test_harmless_lines_keep_an_onyx_port_free(line: str) -> None:
    lines = (
        AT + line,
        "interface ethernet 1/18 description 1/8",
        "monitor session 1 destination interface ethernet 1/18",
    )
    request = onyx.request("sw01", {"vlan": 111, "ports": ["1/8"], "mode": "absent"})
    assert onyx.plan(onyx_state("access", lines), request)


@pytest.mark.parametrize("mode", ["unknown", "lag"])
def test_the_mtu_of_a_port_whose_owner_is_not_known_is_left_alone(mode: str) -> None:
    """A member of an MLAG is in no table; its MTU alone would bounce a link of the group."""
    lines = (AT + "mlag-channel-group 33 mode active",) if mode == "lag" else ()
    request = onyx.request("sw01", {"ports": ["1/8"], "mtu": 9000, "mode": "absent"})
    with pytest.raises(RefusedError, match="1/8"):
        onyx.plan(onyx_state("unknown", lines), request)
