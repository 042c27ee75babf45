from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.devices import passthrough_devices
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.inventory import locality, same_node
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.state import (
    PciDevice,
    as_bool,
    canonical,
    parse_extra_config,
    parse_numa_nodes,
    parse_pci_devices,
    pci_address,
    pci_id,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0000:3b:00.0", "0000:3b:00.0"),
        ("0000:3B:00.0", "0000:3b:00.0"),
        ("3b:00.0", "0000:3b:00.0"),
        ("1:3b:1f.7", "0001:3b:1f.7"),
    ],
)
def test_addresses_have_one_form(text: str, expected: str) -> None:
    assert pci_address(text) == expected


@pytest.mark.parametrize("text", ["", "3b", "0000:3b:00", "0000:3b:00.8", "gg:00.0", "0000:3b:00."])
def test_other_texts_are_not_addresses(text: str) -> None:
    with pytest.raises(ValueError):
        pci_address(text)


@pytest.mark.parametrize(
    ("value", "expected"), [(-32634, 0x8086), (0x15B3, 0x15B3), ("0x15b3", 0x15B3), ("5555", 0x15B3), (-1, 0xFFFF)]
)
def test_ids_are_signed_on_the_wire_and_unsigned_here(value: Any, expected: int) -> None:
    assert pci_id(value) == expected


def test_number_out_of_range_is_not_an_id() -> None:
    with pytest.raises(ValueError):
        pci_id(70000)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("Bool", True, "TRUE"),
        ("Bool", "yes", "TRUE"),
        ("bool", "0", "FALSE"),
        ("UInt32", "0x10", "16"),
        ("integer", 5, "5"),
        ("String", True, "TRUE"),
        ("String", 5, "5"),
    ],
)
def test_values_are_spelled_as_their_type(kind: str, value: Any, expected: str) -> None:
    assert canonical(kind, value) == expected


@pytest.mark.parametrize(("kind", "value"), [("Bool", "maybe"), ("Bool", "2"), ("UInt32", "many"), ("UInt32", True)])
def test_value_of_another_type_is_refused(kind: str, value: Any) -> None:
    with pytest.raises(ValueError):
        canonical(kind, value)


def test_only_known_spellings_are_booleans() -> None:
    assert (as_bool("ON"), as_bool("off"), as_bool("enabled")) == (True, False, None)


def test_extra_config_keys_compare_without_case_and_typed_values_become_text() -> None:
    options = [SimpleNamespace(key="PCIPassthru.allowP2P", value=True), SimpleNamespace(key="n", value=1)]
    assert parse_extra_config(options) == {"pcipassthru.allowp2p": ("PCIPassthru.allowP2P", "TRUE"), "n": ("n", "1")}


def node(number: int, *addresses: str, **rest: Any) -> Any:
    return SimpleNamespace(typeId=number, cpuID=[0, 1], memoryRangeLength=2**30, pciId=list(addresses), **rest)


def device(address: str, vendor: int, device_id: int, class_id: int) -> Any:
    return SimpleNamespace(
        id=address,
        vendorId=vendor,
        deviceId=device_id,
        classId=class_id,
        subVendorId=vendor,
        subDeviceId=device_id,
        vendorName="vendor",
        deviceName="device",
        parentBridge=None,
    )


def test_numa_join_ignores_case_and_missing_segments() -> None:
    nodes = parse_numa_nodes(SimpleNamespace(numaNode=[node(1, "3B:00.0"), node(0, "0000:AF:00.0")]), "esx01")
    assert [n.id for n in nodes] == [0, 1]
    nic, gpu, lost = parse_pci_devices(
        [
            device("0000:3b:00.0", 0x15B3, 0x101D, 0x0200),
            device("0000:af:00.0", 0x10DE, 0x20F1, 0x0302),
            device("0000:ff:00.0", -32634, -24157, 0x0C05),
        ],
        [],
        nodes,
        "esx01",
    )
    assert (nic.numa_node, nic.kind, gpu.numa_node, gpu.kind) == (1, "nic", 0, "gpu")
    assert (lost.numa_node, lost.vendor_id, lost.passthru_capable) == (None, 0x8086, None)


def test_newer_hosts_report_the_memory_of_a_node_as_its_size() -> None:
    (found,) = parse_numa_nodes(SimpleNamespace(numaNode=[node(0, memorySize=2**31)]), "esx01")
    assert found.memory_mb == 2048


def test_host_without_numa_has_no_nodes() -> None:
    assert parse_numa_nodes(None, "esx01") == ()


def test_strange_address_is_an_error_with_the_text() -> None:
    with pytest.raises(ParseError, match="PCI 0:59"):
        parse_numa_nodes(SimpleNamespace(numaNode=[node(0, "PCI 0:59:0:0")]), "esx01")
    with pytest.raises(ParseError):
        parse_pci_devices([device("weird", 1, 1, 1)], [], (), "esx01")


@pytest.mark.parametrize(
    ("class_id", "vendor", "kind"),
    [
        (0x0200, 0x15B3, "nic"),
        (0x0207, 0x15B3, "nic"),
        (0x0300, 0x10DE, "gpu"),
        (0x0302, 0x10DE, "gpu"),
        (0x0604, 0x8086, "bridge"),
        (0x0108, 0x144D, "other"),
        (0x1200, 0x10DE, "gpu"),
        (0x1200, 0x8086, "other"),
    ],
)
def test_kind_follows_the_pci_class(class_id: int, vendor: int, kind: str) -> None:
    assert PciDevice("0000:00:00.0", vendor, 1, "", "", class_id).kind == kind


class VirtualPCIPassthrough(SimpleNamespace):
    pass


class VirtualSriovEthernetCard(SimpleNamespace):
    pass


class VirtualDisk(SimpleNamespace):
    pass


NIC = PciDevice("0000:3b:00.0", 0x15B3, 0x101D, "M", "CX6", 0x0200, numa_node=0, passthru_capable=True)
GPU = PciDevice("0000:3d:00.0", 0x10DE, 0x20F1, "N", "A100", 0x0302, numa_node=1, passthru_capable=True)


def test_devices_are_numbered_in_the_order_of_the_vm() -> None:
    found = passthrough_devices(
        [
            VirtualDisk(),
            VirtualPCIPassthrough(backing=SimpleNamespace(id="0000:3D:00.0")),
            VirtualPCIPassthrough(backing=SimpleNamespace(id="", vgpu="grid_a100-40c")),
            VirtualSriovEthernetCard(
                sriovBacking=SimpleNamespace(physicalFunctionBacking=SimpleNamespace(id="3b:00.0"))
            ),
            VirtualPCIPassthrough(backing=SimpleNamespace(id="0000:77:00.0")),
        ],
        [NIC, GPU],
    )
    assert [(d.index, d.kind, d.address, d.numa_node) for d in found] == [
        (0, "gpu", "0000:3d:00.0", 1),
        (1, "gpu", "", None),
        (-1, "nic", "0000:3b:00.0", 0),
        (2, "other", "0000:77:00.0", None),
    ]


def test_same_node_is_unknown_unless_every_node_is_known() -> None:
    nic, gpu = passthrough_devices(
        [
            VirtualPCIPassthrough(backing=SimpleNamespace(id=NIC.address)),
            VirtualPCIPassthrough(backing=SimpleNamespace(id=GPU.address)),
        ],
        [NIC, GPU],
    )
    assert same_node((nic, gpu)) is False
    assert same_node((nic, dataclasses.replace(gpu, numa_node=0))) is True
    assert same_node((nic, dataclasses.replace(gpu, numa_node=None))) is None
    assert same_node((nic,)) is None


def test_locality_lists_only_what_can_be_passed_through() -> None:
    fixed = dataclasses.replace(NIC, address="0000:01:00.0", passthru_capable=False)
    lost = dataclasses.replace(GPU, address="0000:99:00.0", numa_node=None)
    assert locality((fixed, NIC, GPU, lost)) == {
        "0": {"nics": ["0000:3b:00.0"], "gpus": []},
        "1": {"nics": [], "gpus": ["0000:3d:00.0"]},
        "unknown": {"nics": [], "gpus": ["0000:99:00.0"]},
    }
