"""Configurations of the SIMULATED switch: its factory state, and the ways in which sites use a port."""

from __future__ import annotations

from collections.abc import Sequence

from .tree import Tree

Version = tuple[int, ...]
# "ip address" -> "ipv4 address" and "ipv6 address", "ip vrf" -> "vrf", "enable on" -> "state enabled".
RESPELLED = (5, 15)


def address(version: Version, text: str) -> Tree:
    """Settings of an interface with this address."""
    if version >= RESPELLED:
        return {"ipv6" if ":" in text else "ipv4": {"address": {text: {}}}}
    return {"ip": {"address": {text: {}}}}


def vrf(version: Version, name: str) -> Tree:
    return {"vrf": name} if version >= RESPELLED else {"ip": {"vrf": name}}


def switched_on(version: Version) -> Tree:
    return {"state": "enabled"} if version >= RESPELLED else {"enable": "on"}


def breakout(version: Version, word: str) -> Tree:
    """4x, or the older releases' word with the speed in it."""
    if version < (5, 2):
        return {"link": {"breakout": {"4x": "4x25G", "2x": "2x50G"}[word]}}
    return {"link": {"breakout": word if version < (5, 4) else {word: {}}}}


def lanes(setting: object) -> int:
    """How many lanes a breakout has made of a port, 0: none."""
    word = next(iter(setting), "") if isinstance(setting, dict) else str(setting or "")
    return int(word.split("x")[0]) if word[:1].isdigit() and not word.startswith("1x") else 0


def new(version: Version, names: Sequence[str]) -> Tree:
    """A switch as it comes, with these ports: swp1, or swp1s0 of a port that is split in four."""
    interfaces: Tree = {}
    for name in names:
        port = name.rpartition("s")[0] if name.count("s") > 1 else name
        interfaces[port] = {**(breakout(version, "4x") if port != name else {"link": {"mtu": 1500}}), "type": "swp"}
    return {"bridge": {"domain": {"br_default": {"type": "vlan-aware"}}}, "interface": interfaces}


def factory(version: Version, ports: int) -> Tree:
    """The configuration that a reset brings back: a few ports with something to lose."""
    management = {**address(version, "192.0.2.20/24"), **vrf(version, "mgmt"), "type": "eth"}
    if version < RESPELLED:
        management = {"ip": {"address": {"192.0.2.20/24": {}}, "vrf": "mgmt"}, "type": "eth"}
    last = ports
    interfaces: Tree = {"eth0": management, f"swp{last}": {**breakout(version, "4x"), "type": "swp"}}
    interfaces[f"swp{last - 1}"] = {
        "bridge": {"domain": {"br_default": {"untagged": 1, "vlan": {"100": {}, "200": {}}}}},
        "type": "swp",
    }
    interfaces["bond1"] = {
        "bond": {"member": {f"swp{last - 3}": {}, f"swp{last - 2}": {}}},
        "bridge": {"domain": {"br_default": {"access": 100}}},
        "type": "bond",
    }
    interfaces[f"swp{last - 4}"] = {**address(version, "192.0.2.1/31"), "type": "swp"}
    interfaces[f"swp{last - 5}"] = {"bridge": {"domain": {"br_default": {}}}, "type": "swp"}
    interfaces[f"swp{last - 6}.300"] = {"base-interface": f"swp{last - 6}", "type": "sub", "vlan": 300}
    interfaces["swp1-4"] = {"link": {"mtu": 1500}, "type": "swp"}  # written as a range, as people do
    return {
        "bridge": {"domain": {"br_default": {"type": "vlan-aware", "vlan": {"100": {}, "200": {}}}}},
        "interface": interfaces,
        "system": {"hostname": "sw02"},
    }


def uses(version: Version, port: str) -> dict[str, Tree]:
    """Ways in which sites have ``port`` in use, as patches in the spelling of the release: name -> tree.

    From NVIDIA's manual: BGP unnumbered names the port at the VRF's router only; MLAG hides its peer link in a bond.
    """
    on = switched_on(version)

    def interface(settings: Tree, name: str = port) -> Tree:
        return {"interface": {name: {"type": "swp", **settings}}}

    def router(protocol: str, settings: Tree) -> Tree:
        return {"vrf": {"default": {"router": {protocol: settings}}}}

    unnumbered = {"type": "unnumbered", "remote-as": "external"}
    return {
        "routed": interface(address(version, "10.1.1.0/31")),
        "routed-ipv6": interface(address(version, "2001:db8::1/64")),
        "vrf": interface(vrf(version, "STORAGE")),
        "bgp-unnumbered": router("bgp", {**on, "autonomous-system": 65101, "neighbor": {port: unnumbered}}),
        "ospf": interface({**address(version, "10.1.2.0/31"), "router": {"ospf": {**on, "area": 0}}}),
        "pim": interface({**address(version, "10.1.3.0/31"), "router": {"pim": on}}),
        "trunk": interface({"bridge": {"domain": {"br_default": {"untagged": 1, "vlan": {"100": {}}}}}}),
        "subinterface": {"interface": {f"{port}.300": {"type": "sub", "base-interface": port, "vlan": 300}}},
        "bond": {"interface": {"bond7": {"type": "bond", "bond": {"member": {port: {}}}}}},
        "mlag-bond": {
            "interface": {"bond8": {"type": "bond", "bond": {"member": {port: {}}, "mlag": {"id": 8, **on}}}},
            "mlag": {"mac-address": "44:38:39:ff:00:aa", "peer-ip": "linklocal", "backup": {"192.0.2.21": {}}},
        },
        "mlag-peerlink": {
            "interface": {
                "peerlink": {"type": "peerlink", "bond": {"member": {port: {}}}},
                "peerlink.4094": {"type": "sub", "base-interface": "peerlink", "vlan": 4094},
            }
        },
        "evpn-multihoming-uplink": {**interface({"evpn": {"multihoming": {"uplink": "on"}}}), "evpn": on}
        if version < RESPELLED
        else {**interface({"evpn": {"multihoming": {"uplink": "enabled"}}}), "evpn": on},
        "breakout": interface(breakout(version, "2x")),
        "down": interface({"link": {"state": {"down": {}}}}),
    }
