"""What the next boot of a guest makes of its interface, from its files alone: sound ones have no difference."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Sequence

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.boot_plan import next_boot
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.boot_state import Present, Tree, compare
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_state import parse_links

WANTS = "/etc/systemd/system/multi-user.target.wants"
NETWORKD = "/etc/systemd/network/20-roce.network"
NETWORK = "[Network]\nAddress=198.51.100.11/24\n"
ADDRESS = {"local": "198.51.100.11", "prefixlen": 24, "scope": "global"}
ROW = {"ifname": "ens224", "ifindex": 3, "mtu": 1500, "altnames": ["enp19s0"], "addr_info": [ADDRESS]}


def found(path: str, text: str, **row: Any) -> tuple[Sequence[str], Sequence[str]]:
    """Codes of the differences, and what is not followed."""
    unit = {"network": "systemd-networkd"}.get(path.rpartition(".")[2], "NetworkManager")
    unit = "networking" if path == "/etc/network/interfaces" else unit
    (link,) = parse_links(json.dumps([{**ROW, **row}]), "gpu01").values()
    present = Present({link.name: dataclasses.replace(link, driver="mlx5_core", manager=unit)}, {})
    boot = next_boot(Tree(files={path: text}, links={f"{WANTS}/{unit}.service"}), present)
    return [one.code for one in compare(present, boot)], sorted(boot.unknown)


SOUND = {
    "networkd-kind-of-a-device": (NETWORKD, f"[Match]\nType=ether\nKind=!*\n\n{NETWORK}"),
    "networkd-alternative-name": (NETWORKD, f"[Match]\nName=enp19s0\n\n{NETWORK}"),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_file_has_no_difference(name: str) -> None:
    assert found(*SOUND[name]) == ([], [])


@pytest.mark.parametrize("match", ["Kind=bond", "Kind=!bond vlan\nName=ens192", "Name=!enp* ens*"])
def test_networkd_file_for_others_loses_the_address(match: str) -> None:
    assert found(NETWORKD, f"[Match]\n{match}\n\n{NETWORK}") == (["address"], [])
