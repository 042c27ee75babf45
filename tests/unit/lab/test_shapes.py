"""The lab in several shapes: one code, a file per shape, and nobody who mixes two of them up."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import ats, carrier, config, lifecycle, nodes, shapes
from lab.switch.state import Switch

RAILS = shapes.read("rails")


@pytest.fixture
def rails(monkeypatch: pytest.MonkeyPatch) -> shapes.Shape:
    """The lab's programs as they are in the second shape."""
    monkeypatch.setattr(config, "SHAPE", RAILS)
    monkeypatch.setattr(config, "RAILS", RAILS.rails)
    return RAILS


@pytest.mark.parametrize("name", shapes.names())
def test_no_two_rails_of_a_shape_share_network_bridge_interface_card_or_port(name: str) -> None:
    shape = shapes.read(name)
    for field in ("network", "bridge", "prefix", "netdev", "nic"):
        values = [getattr(rail, field) for rail in shape.rails]
        assert len(set(values)) == len(values), field
    ports = [rail.port(number) for rail in shape.rails for number in range(1, shape.vms + 1)]
    assert len(set(ports)) == len(ports)
    addresses = {rail.nic for rail in shape.rails} | set(shape.gpus)
    assert len(addresses) == len(shape.rails) + len(shape.gpus), "two devices at one PCI address"


@pytest.mark.parametrize("name", shapes.names())
def test_the_inventories_of_a_shape_name_its_networks_and_ports(name: str) -> None:
    shape = shapes.read(name)
    told: dict[str, Any] = {}
    for inventory in shape.inventories:
        for path in sorted((config.REPO / inventory / "group_vars").rglob("*.yml")):
            told.update(yaml.safe_load(path.read_text()))
    subnets = [rail.subnet6 if shape.ipv6_alone else rail.subnet for rail in shape.rails]
    assert told.get("rocemesh_roce_networks", [told["run_network"]]) == subnets
    assert told["guest_interfaces"] == [rail.netdev for rail in shape.rails]
    switch = Switch("sw01", "3.10.4006", 32)
    wanted = {port for text in told["switch_ports"] for port in switch.expand(text)}
    assert wanted == {rail.port(number) for rail in shape.rails for number in range(1, shape.vms + 1)}


def test_the_first_shape_is_the_guides_and_both_reach_nodes_and_registry_at_the_same_place() -> None:
    guide = shapes.read(shapes.DEFAULT)
    assert (len(guide.gpus), len(guide.rails)) == (1, 1)
    assert guide.rails[0] == RAILS.rails[0]
    assert (len(RAILS.gpus), len(RAILS.rails)) == (2, 2)
    assert ipaddress.ip_network(RAILS.rails[1].subnet).overlaps(ipaddress.ip_network(guide.rails[0].subnet)) is False


def test_a_vm_has_a_card_per_rail_and_its_gpus(rails: shapes.Shape) -> None:
    cards = ats.factory_cards()
    assert [(card["pci"], card["netdev"]) for card in cards] == [(rail.nic, rail.netdev) for rail in rails.rails]
    assert len({card["mst"] for card in cards}) == len(cards)
    functions = ats.pci_functions(cards, ats_runtime=True, extra_config={})
    assert set(functions) == {*(rail.nic for rail in rails.rails), *rails.gpus}


def test_vsphere_gives_each_vm_as_many_devices_as_its_guest_shows(rails: shapes.Shape) -> None:
    topology: Any = lifecycle.topology()
    for host in topology["hosts"]:
        for vm in host["vms"]:
            kinds = [device["kind"] for device in vm["devices"]]
            assert (kinds.count("nic"), kinds.count("gpu")) == (len(rails.rails), len(rails.gpus))
            places = [(device["kind"], device["node"]) for device in vm["devices"]]
            assert len(set(places)) == len(places), "the simulator has one device of a kind per VM and NUMA node"


def test_more_devices_than_the_simulated_host_has_places_for_are_refused(
    rails: shapes.Shape, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "SHAPE", dataclasses.replace(rails, gpus=("a", "b", "c")))
    with pytest.raises(config.LabError, match="one per NUMA node"):
        lifecycle.topology()


def test_a_node_is_told_of_every_rail_and_of_its_gpus(rails: shapes.Shape, tmp_path: Path) -> None:
    words = nodes.create_arguments(
        config.NODES[1], config.Paths(tmp_path), privileges=[], controller_key="key", resolvers=[]
    )
    assert "LAB_RAILS=eth0=10.78.0.12/24 eth1=10.79.0.12/24" in words
    assert "LAB_GPUS=2" in words and "LAB_GATEWAYS=10.78.0.1" in words and "--ip6" not in words


@pytest.mark.parametrize(
    ("name", "rails", "gateways", "ssh"),
    [
        ("dual", "eth0=10.78.0.12/24,fd10:78::12/64", "10.78.0.1 fd10:78::1", "127.78.0.12"),
        ("ipv6", "eth0=fd10:78::12/64", "fd10:78::1", "fd10:78::12"),
    ],
)
def test_node_has_addresses_of_the_families(
    name: str, rails: str, gateways: str, ssh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine gives both to the container; the node keeps what LAB_RAILS names, and is reached there."""
    shape = shapes.read(name)
    monkeypatch.setattr(config, "SHAPE", shape)
    monkeypatch.setattr(config, "RAILS", shape.rails)
    node = config.NODES[1]
    words = nodes.create_arguments(
        node, config.Paths(Path("/nonexistent")), privileges=[], controller_key="key", resolvers=[]
    )
    assert f"LAB_RAILS={rails}" in words and f"LAB_GATEWAYS={gateways}" in words
    assert words[words.index("--ip") : words.index("--ip") + 4] == ["--ip", "10.78.0.12", "--ip6", "fd10:78::12"]
    assert ("--publish" in words) is (name == "dual")
    assert f"HostName {ssh}\n" in nodes.ssh_config(config.Paths(Path("/nonexistent")))
    addresses = yaml.safe_load((config.REPO / shape.inventories[-1] / "hosts.yml").read_text())["gpu_vms"]["hosts"]
    assert addresses["gpu02"]["ansible_host"] == ssh


def test_a_node_is_connected_to_the_networks_in_the_order_of_the_rails(
    rails: shapes.Shape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(nodes.engine, "inspect", lambda *_what: None)
    monkeypatch.setattr(nodes.engine, "docker", lambda *words, **_more: asked.append(words))
    monkeypatch.setattr(nodes.engine, "machine_privileges", list)
    paths = config.Paths(tmp_path)
    (tmp_path / "ssh").mkdir()
    paths.controller_key.with_suffix(".pub").write_text("key")
    assert nodes.create(config.NODES[2], paths)
    created, connected = asked[-2], asked[-1]
    assert created[created.index("--network") + 1] == "rocemesh-lab"
    assert connected == ("network", "connect", "--ip", "10.79.0.13", "rocemesh-lab-rail1", "rocemesh-gpu03")


def test_each_rail_is_carried_by_its_own_ports_under_rules_of_its_own() -> None:
    scripts: list[tuple[str, str]] = []

    def run(node: str, script: str) -> tuple[int, str]:
        scripts.append((node, script))
        return 0, ""

    switch = Switch("sw01", "3.10.4006", 32, nodes=8)
    switch.faults.inject({"name": "link_down", "port": "1/6"})
    carriers = carrier.Carriers(run, RAILS.rails)
    for one in carriers.each:
        one._ask, one._tell = switch.links, lambda _ports: None
    carriers.on = True
    for one in carriers.each:
        one.round(count=False)
    placed = {
        device: script
        for node, script in scripts
        for device in ("eth0", "eth1")
        if node == "gpu01" and "iptables-restore" in script and f"-i {device} " in script
    }
    assert "-A ROCEMESH-SWITCH -s 10.78.0.12 -j RETURN" in placed["eth0"]
    assert "-A ROCEMESH-SWITCH-eth1 -s 10.79.0.12 -j DROP" in placed["eth1"]
    assert "-A ROCEMESH-SWITCH-eth1 -s 10.79.0.13 -j RETURN" in placed["eth1"]
    assert sorted(carriers.as_json()["ports"]) == [f"1/{number}" for number in range(1, 9)]


def test_the_switch_has_a_cable_for_every_nic_of_the_nodes(
    rails: shapes.Shape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(lifecycle.processes, "pid_of", lambda _run, _name: None)
    monkeypatch.setattr(lifecycle.processes, "start", lambda _run, _name, command, **_more: started.append(command))
    lifecycle._switch(config.Paths(tmp_path))
    assert started[0][started[0].index("--cabled") + 1] == "8"
    assert Switch("sw01", "3.10.4006", 32, nodes=8).link_up("1/8")
    assert not Switch("sw01", "3.10.4006", 32).link_up("1/5")


PRINT = "from lab import config; print(config.SHAPE.name)"


def chosen(folder: Path, help_: bool = False, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lab", "--help"] if help_ else [sys.executable, "-c", PRINT],
        cwd=config.REPO,
        env={"ROCEMESH_LAB_DIR": str(folder), "PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_shape_that_was_built_stays_until_the_lab_is_down(tmp_path: Path) -> None:
    assert chosen(tmp_path).stdout == "guide\n"
    assert chosen(tmp_path, ROCEMESH_LAB_SHAPE="rails").stdout == "rails\n"
    (tmp_path / "shape").write_text("rails\n")
    assert chosen(tmp_path).stdout == "rails\n"
    other = chosen(tmp_path, help_=True, ROCEMESH_LAB_SHAPE="guide")
    assert other.returncode == 1 and other.stderr.startswith(f"lab: the lab of {tmp_path} has shape rails")
    assert "make lab-down" in other.stderr
    none = chosen(tmp_path / "none", help_=True, ROCEMESH_LAB_SHAPE="ring")
    assert none.returncode == 1 and "dual, guide, ipv6, rails" in none.stderr


@pytest.mark.parametrize("change", [{"gpus": []}, {"rails": []}, {"rails": [{"network": "x"}]}, {"switch": 1}])
def test_a_file_that_is_no_shape_is_refused(
    change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.loads((shapes.HERE / "guide.json").read_text())
    (tmp_path / "odd.json").write_text(json.dumps({**content, **change}))
    monkeypatch.setattr(shapes, "HERE", tmp_path)
    with pytest.raises(shapes.ShapeError, match=r"odd\.json"):
        shapes.read("odd")
