"""The plan in NVUE's language: every change is a tree to set and a tree to unset. Pure: no I/O, no Ansible."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Sequence

from .._switch.request import Wanted
from . import tree as trees
from .state import Port, State, release_number
from .uses import LAYER3

RESPELLED = (5, 15)  # "ip address" became "ipv4 address" and "ipv6 address"


@dataclasses.dataclass(frozen=True)
class Words:
    """One change in the switch's own language: what is sent, how it is taken back, and what the transport needs.

    ``changes``: path in the configuration -> (subtree before, subtree after).
    """

    lines: Sequence[str]
    inverse: Sequence[str]
    changes: Mapping[str, tuple[Any, Any]]
    payload: Mapping[str, Any]


def vlan(state: State, wanted: Wanted) -> Words:
    """Create the VLAN."""
    return _words(state, trees.at(("bridge", "domain", wanted.domain, "vlan", str(wanted.vlan)), {}))


def svi(state: State, wanted: Wanted) -> Words:
    """Create its layer 3 interface."""
    settings: dict[str, Any] = {"type": "svi", "vlan": wanted.vlan}
    if wanted.domain != "br_default":
        settings["base-interface"] = wanted.domain
    return _words(state, {"interface": {f"vlan{wanted.vlan}": settings}})


def roce(state: State, wanted: Wanted) -> Words:
    """Change the RoCE mode, or switch RoCE off."""
    if wanted.mode is None:
        return _words(state, {}, {"qos": {"roce": None}})
    settings = {"mode": wanted.mode}
    if state.roce.switch is not None:  # spelled as this release spells it
        key, word = state.roce.switch
        settings = {key: word, "mode": wanted.mode}
    return _words(state, {"qos": {"roce": settings}})


def release(state: State, wanted: Wanted, port: Port) -> Words:
    """Take from a port what it carries, so that it can become one of the wanted mode.

    A port that is routed and stays so loses its addresses alone.
    """
    away: trees.Tree = {}
    for domain, settings in port.domains.items():
        path = ("interface", port.name, "bridge", "domain", domain)
        if domain == wanted.domain and wanted.port_mode != "routed":
            others = {"untagged", "vlan"} if wanted.port_mode == "access" else {"access"}
            for key in sorted(set(settings or {}) & others):
                away = trees.merge(away, trees.at((*path, key), None))
        else:
            away = trees.merge(away, trees.at(path, None))
    stays = port.mode == wanted.port_mode == "routed"
    kept = wanted.addresses.get(port.name, ())
    for key in LAYER3:
        listed = trees.get(state.config, "interface", port.name, key, "address") or ()
        paths: list[trees.Path] = [(key, "address", text) for text in listed if text not in kept] if stays else [(key,)]
        for inside in paths:
            if trees.get(state.config, "interface", port.name, *inside) is not None:
                away = trees.merge(away, trees.at(("interface", port.name, *inside), None))
    return _words(state, {}, away)


def access(state: State, wanted: Wanted, names: Sequence[str]) -> Words:
    """Make ports access ports of the VLAN."""
    return _on_ports(state, names, {"bridge": {"domain": {wanted.domain: {"access": wanted.vlan}}}})


def trunk(state: State, wanted: Wanted, name: str) -> Words:
    """Let a trunk carry the VLAN."""
    return _on_ports(state, [name], {"bridge": {"domain": {wanted.domain: {"vlan": {str(wanted.vlan): {}}}}}})


def addresses(state: State, name: str, texts: Sequence[str]) -> Words:
    """Give a routed port its addresses, as this release spells them."""
    settings: trees.Tree = {}
    for text in texts:
        family = "ip" if release_number(state.release)[:2] < RESPELLED else "ipv6" if ":" in text else "ipv4"
        settings = trees.merge(settings, {family: {"address": {text: {}}}})
    return _on_ports(state, [name], settings)


def mtu(state: State, wanted: Wanted, names: Sequence[str]) -> Words:
    """Set the MTU of ports."""
    return _on_ports(state, names, {"link": {"mtu": wanted.mtu}})


def watchdog(state: State, wanted: Wanted, names: Sequence[str]) -> Words:
    """Turn the PFC watchdog of ports on; the releases that have it spell it alike."""
    return _on_ports(state, names, {"qos": {"pfc-watchdog": {"state": "enable"}}})


def _on_ports(state: State, names: Sequence[str], settings: Mapping[str, Any]) -> Words:
    return _words(state, {"interface": {name: dict(settings) for name in names}})


def _words(state: State, to_set: Mapping[str, Any], to_unset: Mapping[str, Any] | None = None) -> Words:
    to_unset = to_unset or {}
    back, away = trees.inverse(to_set, to_unset, state.config)
    return Words(
        lines=[*trees.nv_lines("unset", to_unset), *trees.nv_lines("set", to_set)],
        inverse=[*trees.nv_lines("unset", away), *trees.nv_lines("set", back)],
        changes=trees.changes(to_set, to_unset, state.config),
        payload={"set": dict(to_set), "unset": dict(to_unset)},
    )
