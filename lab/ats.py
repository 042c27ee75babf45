"""The physics of ATS on which the guide depends, as pure functions (no I/O).

Three things have to be true at the moment a VM is powered on before the guest's NIC may translate addresses itself:

1. the ESXi host *runs* with ``atsSupport`` (Configured alone does nothing until the host's next boot);
2. the VM was *powered on* with ``pciPassthru.allowP2P`` and ``pciPassthru.RelaxACSforP2P`` (a key written to a running
   VM waits for the next power-on; a guest reboot does not count);
3. the card's *current* ``ATS_ENABLED`` is true (a value set with mlxconfig is "next" until the host restarts; with
   the value false the card does not even show the capability).

Shapes: ``cards`` is the list under "cards" of nic.json, the result of :func:`pci_functions` the object under
"functions" of pci.json. Not verified on hardware: that a missing capability is how a card with ATS off looks.
"""

from __future__ import annotations

import copy
from typing import Any, Mapping, Sequence

from . import config

Card = dict[str, Any]
P2P_KEYS = ("pciPassthru.allowP2P", "pciPassthru.RelaxACSforP2P")
_TRUE = frozenset({"true", "yes", "1", "on"})


def is_true(value: Any) -> bool:
    """A vmx value as VMware reads it: any case, with or without quotes. An unknown word is not true."""
    if isinstance(value, bool):
        return value
    return str(value if value is not None else "").strip().strip('"').lower() in _TRUE


def p2p_in_force(extra_config: Mapping[str, Any]) -> bool:
    """Whether both keys allow peer-to-peer. Key names are compared without case, as VMware does."""
    lower = {key.lower(): value for key, value in extra_config.items()}
    return all(is_true(lower.get(key.lower())) for key in P2P_KEYS)


def current_ats(card: Mapping[str, Any]) -> bool:
    parameter = card.get("params", {}).get("ATS_ENABLED")
    return bool(parameter) and bool(parameter["current"])


def pci_functions(
    cards: Sequence[Mapping[str, Any]], *, ats_runtime: bool, extra_config: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """What `lspci -vvv` of the guest can find, for each NIC and each GPU. ``stu`` is the smallest translation unit."""
    allowed = ats_runtime and p2p_in_force(extra_config)
    functions: dict[str, dict[str, Any]] = {}
    for card in cards:
        capable = current_ats(card)
        functions[card["pci"]] = {"ats_capability": capable, "ats_enabled": capable and allowed, "stu": 0}
    for gpu in config.SHAPE.gpus:
        functions[gpu] = {"ats_capability": False, "ats_enabled": False, "stu": 0}
    return functions


def after_host_reboot(cards: Sequence[Card]) -> list[Card]:
    """Every parameter that waits for the next boot becomes current."""
    result = copy.deepcopy(list(cards))
    for card in result:
        for parameter in card.get("params", {}).values():
            parameter["current"] = parameter["next"]
    return result


def waiting_parameters(cards: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, Any, Any]]:
    """(pci, parameter, current, next) of everything that waits for a host reboot."""
    return [
        (card["pci"], name, value["current"], value["next"])
        for card in cards
        for name, value in sorted(card.get("params", {}).items())
        if value["current"] != value["next"]
    ]


def factory_cards() -> list[Card]:
    """The NICs of one VM, one per rail, as delivered: ConnectX-6 Dx, physical function, firmware with ATS, ATS off.

    Values are inferred from the guide's listing and from public mlxconfig output for this model.
    """
    return [
        {
            "pci": rail.nic,
            "device_id": "101d",
            "kind": "pf",
            "device_type": "ConnectX6DX",
            "name": "MCX623106AN-CDA_Ax",
            "description": (
                "ConnectX-6 Dx EN adapter card; 100GbE; Dual-port QSFP56; PCIe 4.0 x16; No Crypto (SIMULATED)"
            ),
            "psid": "MT_0000000359",
            "firmware": "22.31.1014",
            "mst": f"/dev/mst/mt4125_pciconf{number}",
            "netdev": rail.netdev,
            "params": {"ATS_ENABLED": {"default": 0, "current": 0, "next": 0}},
        }
        for number, rail in enumerate(config.RAILS)
    ]


def without_ats(cards: Sequence[Card]) -> list[Card]:
    """The same cards with a firmware too old to know ATS_ENABLED."""
    result = copy.deepcopy(list(cards))
    for card in result:
        card.get("params", {}).pop("ATS_ENABLED", None)
    return result


def as_virtual_functions(cards: Sequence[Card]) -> list[Card]:
    """The VM got a virtual function: another device ID, and firmware settings belong to the host."""
    result = copy.deepcopy(list(cards))
    for card in result:
        card.update(kind="vf", device_id="101e", params={})
    return result
