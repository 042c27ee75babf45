"""What is a replacement of one NIC or GPU, what is none, and what still names the old one."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.plugin_utils.decisions.upgrade import _worse

from tests.unit.decisions import decide

OLD_NIC, NEW_NIC = "b83f:d203:00aa:0001", "b83f:d203:00bb:0002"
NIC_ON_HOST = {"kind": "nic", "address": "0000:3b:00.0"}
BEFORE: dict[str, Any] = {
    "devices": [{"kind": "gpu", "address": "0000:3d:00.0"}, NIC_ON_HOST],
    "rdma": {
        "devices": [
            {"name": f"mlx5_{number}", "pci": f"0000:{number + 3}b:00.0", "port": 1, "netdev": f"ens{number}",
             "sys_image_guid": guid, "state": "ACTIVE"}
            for number, guid in enumerate((OLD_NIC, "b83f:d203:00cc:0003"))
        ],
        "simulated": False,
    },
    "gpus": {"gpus": [], "state": [{"uuid": "GPU-1", "bus": "0000:af:00.0"}, {"uuid": "GPU-2", "bus": "0000:bf:00.0"}]},
    "macs": "ens0 b8:3f:d2:00:aa:01\nens1 b8:3f:d2:00:cc:03\nlo 00:00:00:00:00:00",
}  # fmt: skip


def nic(number: int = 0, **changes: Any) -> dict[str, Any]:
    after = copy.deepcopy(BEFORE)
    after["rdma"]["devices"][number].update({"sys_image_guid": NEW_NIC, **changes})
    after["macs"] = after["macs"].replace("b8:3f:d2:00:aa:01", "b8:3f:d2:00:bb:02")
    return after


def gpu(**changes: Any) -> dict[str, Any]:
    after = copy.deepcopy(BEFORE)
    after["gpus"]["state"][0].update({"uuid": "GPU-9", **changes})
    return after


def replaced(after: dict[str, Any], part: str = "nic", **named: Any) -> dict[str, Any]:
    return decide("replacement", host="gpu01", part=part, before=BEFORE, after=after, named=named)


def without(after: dict[str, Any], *place: str) -> dict[str, Any]:
    inner = after
    for key in place:
        inner = inner[key]
    inner.pop()  # type: ignore[attr-defined]
    return after


@pytest.mark.parametrize(
    ("after", "part", "words"),
    [
        (BEFORE, "nic", "same command again"),
        (nic(), "gpu", "other NICs too"),
        (without(nic(), "rdma", "devices"), "nic", "1 NICs, expected 2"),
        (without(gpu(), "gpus", "state"), "nic", "1 GPUs, expected 2"),
        ({**nic(), "gpus": gpu()["gpus"]}, "nic", "other GPUs too"),
        (
            {**BEFORE, "rdma": {"devices": [{**one, "sys_image_guid": f"{number}"} for number, one in
                                            enumerate(BEFORE["rdma"]["devices"])]}},
            "nic", "one at a time",
        ),
    ],
    ids=["nothing", "other part", "nic missing", "gpu missing", "both parts", "two at once"],
)  # fmt: skip
def test_what_is_no_replacement_of_one_part_is_refused(after: dict[str, Any], part: str, words: str) -> None:
    found = replaced(after, part)
    assert words in found["problem"] and found["problem"].startswith("gpu01: ") and found["changed"] == []


def test_replacement_shows_what_is_another_one() -> None:
    found = replaced(nic(pci="0000:5b:00.0"))
    assert found["problem"] == "" and found["stale"] == []
    shown = " ".join(found["changed"])
    for words in (f"{OLD_NIC} -> {NEW_NIC}", "0000:3b:00.0 -> 0000:5b:00.0", "b8:3f:d2:00:aa:01 -> b8:3f:d2:00:bb:02"):
        assert words in shown
    assert "RDMA device" not in shown, "it has the name of the old one"
    # Compared with before at its new place.
    assert [port["pci"] for port in found["readings"]["rdma"]["devices"]] == ["0000:5b:00.0", "0000:4b:00.0"]
    moved = replaced(gpu(bus="0000:cf:00.0"), "gpu")
    assert [each["bus"] for each in moved["readings"]["gpus"]["state"]] == ["0000:cf:00.0", "0000:bf:00.0"]


def test_both_functions_of_a_card_are_moved_and_looked_for() -> None:
    """A guest shows each function of a passed-through card at an address of its own, in any order."""

    def two(guid: str, first: str, second: str, mac: str) -> dict[str, Any]:
        ports = [
            {"name": f"mlx5_{at}", "pci": pci, "port": 1, "netdev": f"ens{at}", "sys_image_guid": guid,
             "node_guid": f"{guid[:-1]}{at}", "state": "ACTIVE"}
            for at, pci in enumerate((first, second))
        ]  # fmt: skip
        return {**BEFORE, "rdma": {"devices": ports}, "macs": f"ens0 {mac}:00\nens1 {mac}:01"}

    before = two(OLD_NIC, "0000:0b:00.0", "0000:13:00.0", "b8:3f:d2:00:aa")
    after = two(NEW_NIC, "0000:23:00.0", "0000:1b:00.0", "b8:3f:d2:00:bb")
    named = {"files": "/etc/netplan/50.yaml b8:3f:d2:00:aa:01"}
    found = decide("replacement", host="gpu01", part="nic", before=before, after=after, named=named)
    assert found["problem"] == "" and len(found["stale"]) == 1
    assert [port["pci"] for port in found["readings"]["rdma"]["devices"]] == ["0000:23:00.0", "0000:1b:00.0"]
    gone = [text for text in _worse("gpu01", found["readings"], after) if "is gone" in text]
    assert gone == [], "a host that nothing could prove"


@pytest.mark.parametrize(
    ("named", "stale"),
    [
        ({"guest_devices": [OLD_NIC]}, 1),
        ({"guest_devices": [OLD_NIC.replace(":", "")]}, 1),
        ({"guest_devices": ["3b:00.0"]}, 1),
        ({"guest_devices": ["0000:3B:00.0"], "fabric_known_xids": ["gpu01/0000:af:00.0/79"]}, 1),
        ({"files": "/etc/netplan/50.yaml B8:3F:D2:00:AA:01\n/etc/netplan/50.yaml b8:3f:d2:00:cc:03"}, 1),
        ({"switch_expected_neighbors": ["b8:3f:d2:00:aa:01"]}, 1),
        ({"guest_devices": ["auto"], "guest_interfaces": ["ens0"], "files": ""}, 0),
        ({"guest_devices": ["0000:4b:00.0", "0000:13b:00.0"]}, 0),
    ],
)
def test_what_names_the_old_card_is_listed(named: dict[str, Any], stale: int) -> None:
    assert len(replaced(nic(pci="0000:5b:00.0"), **named)["stale"]) == stale


def test_address_that_the_new_card_has_too_is_no_name_of_the_old_one() -> None:
    assert replaced(nic(), guest_devices=["0000:3b:00.0"])["stale"] == []


def test_gpu_by_its_address_on_the_host_is_listed() -> None:
    """The guest has its own addresses."""
    after = {**gpu(), "devices": [{"kind": "gpu", "address": "0000:9d:00.0"}, NIC_ON_HOST]}
    for address, count in (("0000:3d:00.0", 1), ("0000:9d:00.0", 0), ("0000:af:00.0", 0)):
        found = replaced(after, "gpu", gpu_vm_gpu_pci_ids={"1": address})
        assert len(found["stale"]) == count and "0000:3d:00.0 -> 0000:9d:00.0" in " ".join(found["changed"])
