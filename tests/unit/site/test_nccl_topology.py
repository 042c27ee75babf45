"""The topology file says what the host says, in the XML that NCCL reads, or nothing at all."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rocemesh.multinode.plugins.filter.nccl_topology import nccl_topology

NIC_ID, GPU_ID = ("0x15b3", "0x101d"), ("0x10de", "0x20f1")
VMXNET3 = "Slot:\t0000:0b:00.0\nClass:\t0200\nVendor:\t15ad\nDevice:\t07b0\n"


def bridge(address: str, parent: str = "", class_id: str = "0x0604") -> dict[str, Any]:
    return {
        "address": address,
        "kind": "bridge",
        "vendor_id": "0x1000",
        "device_id": "0xc010",
        "class_id": class_id,
        "numa_node": 0,
        "parent_bridge": parent,
        "vm": None,
    }


def device(kind: str, address: str, parent: str, node: int | None = 0, vm: str | None = "gpu01") -> dict[str, Any]:
    vendor, model = GPU_ID if kind == "gpu" else NIC_ID
    return {
        "address": address,
        "kind": kind,
        "vendor_id": vendor,
        "device_id": model,
        "class_id": "0x0302" if kind == "gpu" else "0x0200",
        "numa_node": node,
        "parent_bridge": parent,
        "vm": vm,
    }


def lspci(*devices: tuple[str, str] | tuple[str, str, int]) -> str:
    records = [VMXNET3]
    for kind, address, *node in devices:
        vendor, model = GPU_ID if kind == "gpu" else NIC_ID
        klass = "0302" if kind == "gpu" else "0200"
        records.append(
            f"Slot:\t{address}\nClass:\t{klass}\nVendor:\t{vendor[2:]}\nDevice:\t{model[2:]}\nRev:\ta1\n"
            + (f"NUMANode:\t{node[0]}\n" if node else "")
        )
    return "\n".join(records)


# Root port 3a:00.0, a switch (upstream 3b:00.0, downstream 3c:00.0 and 3c:01.0), a NIC and a GPU below it.
SWITCH = [bridge("0000:3a:00.0"), bridge("0000:3b:00.0", "0000:3a:00.0")]
PORTS = [bridge("0000:3c:00.0", "0000:3b:00.0"), bridge("0000:3c:01.0", "0000:3b:00.0")]
ONE = [*SWITCH, *PORTS, device("nic", "0000:3d:00.0", "0000:3c:00.0"), device("gpu", "0000:3e:00.0", "0000:3c:01.0")]
GUEST = lspci(("nic", "0000:13:00.0"), ("gpu", "0000:03:00.0"))
# The same without a switch: each device below its own root port.
APART = [
    bridge("0000:3a:00.0"),
    bridge("0000:3a:02.0"),
    device("nic", "0000:3b:00.0", "0000:3a:00.0"),
    device("gpu", "0000:3d:00.0", "0000:3a:02.0"),
]


def second(nic_parent: str, gpu_parent: str, node: int = 0) -> list[dict[str, Any]]:
    return [device("nic", "0000:5d:00.0", nic_parent, node), device("gpu", "0000:5e:00.0", gpu_parent, node)]


# Two switches, a pair below each.
TWO = [
    *ONE,
    bridge("0000:5a:00.0"),
    bridge("0000:5b:00.0", "0000:5a:00.0"),
    bridge("0000:5c:00.0", "0000:5b:00.0"),
    bridge("0000:5c:01.0", "0000:5b:00.0"),
    *second("0000:5c:00.0", "0000:5c:01.0"),
]
TWO_GUEST = lspci(("nic", "0000:13:00.0"), ("gpu", "0000:03:00.0"), ("nic", "0000:1b:00.0"), ("gpu", "0000:0c:00.0"))
TWO_ADDRESSES = {
    "0000:3d:00.0": "0000:13:00.0",
    "0000:3e:00.0": "0000:03:00.0",
    "0000:5d:00.0": "0000:1b:00.0",
    "0000:5e:00.0": "0000:0c:00.0",
}


def topology(rows: list[dict[str, Any]], guest: str = GUEST, **options: Any) -> dict[str, Any]:
    return nccl_topology({"devices": rows}, guest, "gpu01", **options)


def parents(xml: str) -> dict[str, list[str]]:
    """busid -> the elements above it, from the root: the tree as NCCL would keep it."""
    found: dict[str, list[str]] = {}

    def walk(element: ElementTree.Element, above: list[str]) -> None:
        name = element.get("busid") or f"{element.tag} {element.get('numaid', '')}".strip()
        if element.tag == "pci":
            found[name] = above
        for child in element:
            walk(child, [*above, name])

    walk(ElementTree.fromstring(xml), [])
    return found


def test_devices_below_one_switch_come_below_one_element() -> None:
    found = topology(ONE)
    tree = parents(found["xml"])
    assert tree["0000:13:00.0"] == tree["0000:03:00.0"] == ["system", "cpu 0", "ffff:ff:00.0"]
    assert [pair["relation"] for pair in found["pairs"]] == ["PIX"]
    assert found["pairs"][0]["shared_bridge"] == "0000:3b:00.0"
    assert (found["level"], found["gpudirect"]) == ("PIX", True)


def test_vm_is_known_by_its_id_and_refused_where_two_hosts_have_its_name() -> None:
    """Two vCenters, or two datacenters of one, may each have a VM of that name: the file would be another machine's."""
    here, there = ([{**row, "vm_moid": f"vm-{number}" if row["vm"] else None} for row in ONE] for number in (1, 2))
    hosts = [{"esxi_host": "esx01", "devices": here}, {"esxi_host": "esx02", "devices": there}]
    assert parents(nccl_topology(hosts, GUEST, "vm-2")["xml"]) == parents(topology(ONE)["xml"])
    found = nccl_topology(hosts, GUEST, "gpu01", strict=False)
    assert found["xml"] == "" and "esx01, esx02" in found["refused"]


def test_file_is_in_the_part_of_xml_that_nccl_reads() -> None:
    """No declaration, no blank before "/>", no tab, no entity, double quotes: its parser is written by hand."""
    for rows, guest, options in ((ONE, GUEST, {}), (TWO, TWO_GUEST, {"addresses": TWO_ADDRESSES})):
        xml = topology(rows, guest, link_speed="16 GT/s", link_width=16, **options)["xml"]
        line = re.compile(r' *(?:<(?:system|cpu|pci)(?: [a-z_]+="[A-Za-z0-9 :._/-]*")+/?>|</(?:system|cpu|pci)>)')
        assert all(line.fullmatch(text) for text in xml.splitlines()), xml
        assert xml.startswith('<system version="1"')


def test_attributes_that_nccl_reads_itself_are_left_to_it() -> None:
    xml = topology(ONE)["xml"]
    for name in ("affinity", "vendor", "link_speed", "link_width", "<gpu", "<nic", "host_hash"):
        assert name not in xml


def test_link_is_written_where_it_is_given() -> None:
    xml = topology(ONE, link_speed="16 GT/s", link_width=16)["xml"]
    assert xml.count('link_speed="16 GT/s" link_width="16"') == 3


def test_without_a_shared_switch_the_file_does_not_invent_one() -> None:
    found = topology(APART)
    assert parents(found["xml"]) == {name: ["system", "cpu 0"] for name in ("0000:03:00.0", "0000:13:00.0")}
    assert (found["level"], found["gpudirect"]) == ("PHB", False)
    assert "NCCL_NET_GDR_LEVEL=PHB" in found["notes"][-1]


def test_root_port_of_a_single_way_is_not_written() -> None:
    assert topology(ONE)["xml"].count("ffff:ff:") == 1


def test_switch_below_a_switch_is_pxb() -> None:
    rows = [
        *SWITCH,
        *PORTS,
        bridge("0000:3f:00.0", "0000:3c:01.0"),
        bridge("0000:40:00.0", "0000:3f:00.0"),
        bridge("0000:40:01.0", "0000:3f:00.0"),
        device("nic", "0000:3d:00.0", "0000:3c:00.0"),
        device("gpu", "0000:41:00.0", "0000:40:00.0"),
        device("gpu", "0000:42:00.0", "0000:40:01.0"),
    ]
    found = topology(rows, lspci(("nic", "0000:13:00.0"), ("gpu", "0000:03:00.0"), ("gpu", "0000:0c:00.0")))
    tree = parents(found["xml"])
    assert tree["0000:13:00.0"] == ["system", "cpu 0", "ffff:ff:00.0"]
    assert tree["0000:03:00.0"] == ["system", "cpu 0", "ffff:ff:00.0", "ffff:ff:01.0"]
    assert {pair["relation"] for pair in found["pairs"]} == {"PXB"}


def test_host_bridge_is_not_a_switch() -> None:
    rows = [
        bridge("0000:00:00.0", class_id="0x0600"),
        device("nic", "0000:3d:00.0", "0000:00:00.0"),
        device("gpu", "0000:3e:00.0", "0000:00:00.0"),
    ]
    assert topology(rows)["level"] == "PHB"


def test_alike_devices_in_one_place_need_no_explanation() -> None:
    rows = [*ONE, bridge("0000:3c:02.0", "0000:3b:00.0"), device("gpu", "0000:3f:00.0", "0000:3c:02.0")]
    found = topology(rows, lspci(("nic", "0000:13:00.0"), ("gpu", "0000:03:00.0"), ("gpu", "0000:0c:00.0")))
    assert {pair["relation"] for pair in found["pairs"]} == {"PIX"}


def test_alike_devices_in_different_places_are_refused_with_the_facts() -> None:
    with pytest.raises(AnsibleFilterError) as refusal:
        topology(TWO, TWO_GUEST)
    for word in ("gpu01", "0000:3e:00.0", "0000:5e:00.0", "0000:03:00.0", "0000:0c:00.0", "addresses"):
        assert word in str(refusal.value)


def test_given_addresses_tell_alike_devices_apart() -> None:
    found = topology(TWO, TWO_GUEST, addresses=TWO_ADDRESSES)
    tree = parents(found["xml"])
    assert tree["0000:13:00.0"] == tree["0000:03:00.0"] != tree["0000:1b:00.0"] == tree["0000:0c:00.0"]
    relations = {(pair["gpu"], pair["nic"]): pair["relation"] for pair in found["pairs"]}
    assert relations["0000:03:00.0", "0000:13:00.0"] == relations["0000:0c:00.0", "0000:1b:00.0"] == "PIX"
    assert relations["0000:03:00.0", "0000:1b:00.0"] == "PHB"
    assert found["level"] == "PIX"


def test_two_nodes_of_the_host_need_two_nodes_in_the_guest() -> None:
    rows = [*ONE, bridge("0000:5c:00.0"), bridge("0000:5c:01.0"), *second("0000:5c:00.0", "0000:5c:01.0", node=1)]
    with pytest.raises(AnsibleFilterError, match="host node 1, guest node None"):
        topology(rows, TWO_GUEST, addresses=TWO_ADDRESSES)
    guest = lspci(
        ("nic", "0000:13:00.0", 0), ("gpu", "0000:03:00.0", 0), ("nic", "0000:1b:00.0", 1), ("gpu", "0000:0c:00.0", 1)
    )
    found = topology(rows, guest, addresses=TWO_ADDRESSES)
    assert parents(found["xml"])["0000:0c:00.0"] == ["system", "cpu 1"]
    assert "SYS" in {pair["relation"] for pair in found["pairs"]}
    assert found["level"] == "PHB"


def test_node_of_the_guest_counts_not_that_of_the_host() -> None:
    """A VM kept on node 1 of the host has a node 0 of its own; NCCL looks its CPUs up in the guest."""
    rows = [{**row, "numa_node": 1} for row in ONE]
    found = topology(rows)
    assert parents(found["xml"])["0000:03:00.0"][1] == "cpu 0"
    assert "node 1 of the host" in found["notes"][0]
    said = topology(rows, lspci(("nic", "0000:13:00.0", 0), ("gpu", "0000:03:00.0", 0)))
    assert said["notes"] == [] and said["xml"] == found["xml"]


def test_nic_is_written_wherever_a_version_of_nccl_looks_for_it() -> None:
    tree = parents(topology(ONE, lspci(("nic", "0000:13:12.1"), ("gpu", "0000:03:00.0")))["xml"])
    assert {name for name in tree if name.startswith("0000:13")} == {"0000:13:12.0", "0000:13:10.0", "0000:13:00.0"}
    assert len({tuple(tree[name]) for name in tree if name.startswith("0000:13")}) == 1


def test_two_ports_of_one_nic_are_one_device() -> None:
    rows = [*ONE, device("nic", "0000:3d:00.1", "0000:3c:00.0")]
    guest = lspci(("nic", "0000:13:00.0"), ("nic", "0000:13:00.1"), ("gpu", "0000:03:00.0"))
    assert topology(rows, guest)["xml"].count('busid="0000:13:00.0"') == 1


def test_devices_that_nccl_would_take_for_one_are_refused() -> None:
    guest = lspci(("nic", "0000:13:01.0"), ("gpu", "0000:13:00.0"))
    with pytest.raises(AnsibleFilterError, match=r"0000:13:00\.0 to NCCL"):
        topology(ONE, guest)


NO_PARENT = [row for row in ONE if row["address"] != "0000:3b:00.0"]
CIRCLE = [*ONE[2:], bridge("0000:3b:00.0", "0000:3a:00.0"), bridge("0000:3a:00.0", "0000:3b:00.0")]


@pytest.mark.parametrize(
    ("rows", "guest", "options", "says"),
    [
        pytest.param(NO_PARENT, GUEST, {}, "without any filter", id="bridge_missing_in_the_facts"),
        pytest.param(CIRCLE, GUEST, {}, "circles", id="bridges_in_circles"),
        pytest.param(
            [*ONE[:-1], {**ONE[-1], "parent_bridge": "PCI 0:0:1:1"}], GUEST, {}, "PCI 0:0:1:1", id="unknown_spelling"
        ),
        pytest.param([*ONE[:-1], {**ONE[-1], "numa_node": None}], GUEST, {}, "no NUMA node", id="no_numa_node"),
        pytest.param([*ONE[:-1], {**ONE[-1], "vm": "gpu02"}], GUEST, {}, "no GPU of this host", id="gpu_of_another_vm"),
        pytest.param(ONE, lspci(("nic", "0000:13:00.0")), {}, "guest sees 0", id="gpu_missing_in_the_guest"),
        pytest.param(
            ONE,
            lspci(("nic", "0000:13:00.0"), ("nic", "0000:1b:00.0"), ("gpu", "0000:03:00.0")),
            {},
            "guest sees 2",
            id="one_nic_too_many",
        ),
        pytest.param(
            ONE, GUEST, {"addresses": {"0000:3d:00.0": "0000:03:00.0"}}, "does not fit", id="address_of_another_model"
        ),
        pytest.param(
            ONE, GUEST, {"addresses": {"0000:99:00.0": "0000:03:00.0"}}, "does not fit", id="address_not_of_the_vm"
        ),
        pytest.param(
            TWO,
            TWO_GUEST,
            {"addresses": {**TWO_ADDRESSES, "0000:5e:00.0": "0000:03:00.0"}},
            "one guest device",
            id="two_for_one",
        ),
        pytest.param(ONE, GUEST, {"addresses": {"x": "y"}}, "not a PCI address", id="no_address"),
        pytest.param(ONE, "Slot:\tnonsense\n", {}, "nonsense", id="garbled_lspci"),
        pytest.param(ONE, GUEST, {"link_speed": "16.0 GT/s PCIe"}, "16.0 GT/s PCIe", id="speed_that_old_nccl_misreads"),
        pytest.param(ONE, GUEST, {"link_width": 3}, "lanes", id="width"),
    ],
)
def test_unclear_facts_are_refused_and_shown(
    rows: list[dict[str, Any]], guest: str, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(AnsibleFilterError, match=re.escape(says)):
        topology(rows, guest, **options)
    found = topology(rows, guest, strict=False, **options)
    assert found["xml"] == "" and says in found["refused"]


def test_wrong_input_is_a_filter_error() -> None:
    with pytest.raises(AnsibleFilterError, match="esxi_pci_info"):
        nccl_topology([{"devices": "none"}], GUEST, "gpu01")
