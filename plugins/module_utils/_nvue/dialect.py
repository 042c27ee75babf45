"""What the larger changes set and unset, as trees in NVUE's language. Pure: no I/O, no Ansible."""

from __future__ import annotations

from typing import Any, Sequence

from .._switch.request import Wanted
from . import tree as trees
from .state import Port, State, release_number
from .uses import LAYER3

RESPELLED = (5, 15)  # "ip address" became "ipv4 address" and "ipv6 address"


def svi(wanted: Wanted) -> trees.Tree:
    """The layer 3 interface of the VLAN."""
    settings: dict[str, Any] = {"type": "svi", "vlan": wanted.vlan}
    if wanted.domain != "br_default":
        settings["base-interface"] = wanted.domain
    return {"interface": {f"vlan{wanted.vlan}": settings}}


def roce(state: State, wanted: Wanted) -> trees.Tree:
    """The RoCE mode, its main switch spelled as this release spells it."""
    settings: dict[str, Any] = {"mode": wanted.mode}
    if state.roce.switch is not None:
        key, word = state.roce.switch
        settings = {key: word, **settings}
    return {"qos": {"roce": settings}}


def release(state: State, wanted: Wanted, port: Port) -> trees.Tree:
    """What to unset of a port, so that it can become one of the wanted mode.

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
    return away


def addresses(state: State, texts: Sequence[str]) -> trees.Tree:
    """Of a routed port, as this release spells them."""
    settings: trees.Tree = {}
    for text in texts:
        family = "ip" if release_number(state.release)[:2] < RESPELLED else "ipv6" if ":" in text else "ipv4"
        settings = trees.merge(settings, {family: {"address": {text: {}}}})
    return settings
