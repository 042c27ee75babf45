"""The simulated site of an inventory: every host, address, rail and port that the inventory names is there."""

from __future__ import annotations

import ipaddress
import itertools
from pathlib import Path

import pytest

from lab.nvue.model import Switch as Cumulus
from lab.rehearsal import playing, site
from lab.switch.state import Switch as Onyx
from tests.integration.rehearsal.inventories import INVENTORIES, write
from tests.unit.preflight.inventories import Inventory

Found = tuple[Inventory, site.Site]


@pytest.fixture(scope="module", params=INVENTORIES)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Found:
    inventory = INVENTORIES[request.param]()
    folder = tmp_path_factory.mktemp("site")
    return inventory, site.site(playing.read([str(write(inventory, folder / "inventory"))], folder, []))


def test_every_host_of_the_inventory_is_there_once(found: Found) -> None:
    inventory, built = found
    groups = inventory["groups"]
    assert [machine.name for machine in built.machines] == list(groups["gpu_vms"]["hosts"])
    assert [leaf.name for leaf in built.leaves] == list(groups["switches"]["hosts"])
    hosts = [host for vcenter in built.vcenters for host in vcenter.topology["hosts"]]
    assert len(hosts) == len(groups["esxi_hosts"]["hosts"])
    assert sum(len(host["vms"]) for host in hosts) == len(built.machines)
    for vcenter in built.vcenters:
        for host in vcenter.topology["hosts"]:
            places = [device["address"] for vm in host["vms"] for device in vm["devices"]]
            assert len(places) == len(set(places))


def test_every_vm_has_a_nic_in_each_network_at_an_address_of_its_own(found: Found) -> None:
    inventory, built = found
    networks = inventory["groups"]["gpu_vms"]["vars"]["guest_networks"]
    seen: list[str] = []
    for machine in built.machines:
        nics = machine.of("nic")
        assert len(nics) == len(networks)
        for nic, network in zip(nics, networks, strict=True):
            (address,) = nic.addresses
            assert ipaddress.ip_interface(address).ip in ipaddress.ip_network(network)
            seen.append(address)
        own = inventory["groups"]["gpu_vms"]["hosts"][machine.name]["rocemesh_address"]
        every = [*machine.management, *itertools.chain.from_iterable(nic.addresses for nic in nics)]
        assert ipaddress.ip_address(own) in [ipaddress.ip_interface(address).ip for address in every]
    assert len(seen) == len(set(seen))


def test_every_switch_has_the_ports_of_the_inventory(found: Found) -> None:
    inventory, built = found
    common = inventory["groups"]["switches"]["vars"]["switch_ports"]
    for leaf in built.leaves:
        (wanted,) = inventory["groups"]["switches"]["hosts"][leaf.name].get("switch_ports", common)
        if leaf.driver == "onyx":
            assert Onyx(leaf.name, "3.10.4006", 32, new=leaf.ports).expand(wanted)
        else:
            last = f"swp{wanted.rpartition('-')[2]}"
            assert last in Cumulus(leaf.name, "5.11.0", len(leaf.ports), new=leaf.ports).port_names()


def test_inventory_names_are_kept_beside_the_simulated_address(tmp_path: Path) -> None:
    """What is a name listens at an address of its own; what is an address listens there."""
    inventory = INVENTORIES["equal-names"]()
    built = site.site(playing.read([str(write(inventory, tmp_path / "inventory"))], tmp_path, []))
    places = playing.places(built)
    assert places["198.51.100.77"] == "198.51.100.77"
    assert places["vcenter.example.com"].startswith("127.79.") and places["registry.example.com"].startswith("127.79.")
    assert len(set(places.values())) == len(places)


@pytest.mark.parametrize(
    ("registry", "place"),
    [
        ("registry:5000", ("registry", 5000)),
        ("harbor.example.com/project", ("harbor.example.com", 443)),
        ("[2001:db8::9]:5000/a", ("2001:db8::9", 5000)),
        ("[2001:db8::9]", ("2001:db8::9", 443)),
        ("192.0.2.9:5000", ("192.0.2.9", 5000)),
    ],
)
def test_registry_listens_where_its_name_says(registry: str, place: tuple[str, int]) -> None:
    assert site.endpoint(registry) == place


def test_whole_inventory_is_read_whatever_is_played(tmp_path: Path) -> None:
    path = str(write(INVENTORIES["mixed-leafs"](), tmp_path / "inventory"))
    words = ["--tags", "preflight", "--limit", "gpu001", "-e", "rocemesh_slots=3", "--limit=gpu002"]
    built = site.site(playing.read([path], tmp_path, words))
    assert [len(machine.of("gpu")) for machine in built.machines] == [3, 3]
