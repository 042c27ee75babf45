"""The lab with two vCenters: equal names on both, and nothing of one that reaches a machine of the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import config, control, lifecycle, physics, shapes

SHAPE = shapes.read("vcenters")
NODES = config.nodes_of(SHAPE)
BOTH = {"vsphere": config.VCENTER_IP, "vsphere2": config.SECOND_VCENTER_IP}


@pytest.fixture(autouse=True)
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "SHAPE", SHAPE)
    monkeypatch.setattr(config, "VCENTERS", BOTH)
    monkeypatch.setattr(config, "NODES", NODES)
    monkeypatch.setattr(config, "BY_NAME", {node.name: node for node in NODES})
    monkeypatch.setattr(control, "ADDRESSES", {**control.ADDRESSES, **BOTH})


def test_both_vcenters_have_the_same_names_and_every_vm_is_in_one() -> None:
    named = []
    for vcenter in BOTH:
        topology: Any = lifecycle.topology(vcenter)
        named.append([(host["name"], [vm["name"] for vm in host["vms"]]) for host in topology["hosts"]])
    assert named == [[("esx01", ["gpu01"]), ("esx02", ["gpu02"])]] * 2
    assert [(node.name, node.host) for node in NODES] == [(f"gpu{n:02d}", f"esx{n:02d}") for n in (1, 2, 3, 4)]


def test_the_inventory_says_where_each_machine_is() -> None:
    hosts: Any = {}
    for inventory in SHAPE.inventories:
        for group in yaml.safe_load((config.REPO / inventory / "hosts.yml").read_text()).values():
            for name, given in group["hosts"].items():
                hosts.setdefault(name, {}).update(given or {})
    second = config.REPO / "inventories/lab-vcenters"
    members = yaml.safe_load((second / "hosts.yml").read_text())["second_vcenter"]["hosts"]
    for node in NODES:
        assert hosts[node.name].get("gpu_vm_name", node.name) == node.vm
        assert hosts[node.host].get("esxi_host_name", node.host) == node.esxi
        assert {name in members for name in (node.name, node.host)} == {node.vcenter == "vsphere2"}
    login = yaml.safe_load((second / "group_vars/second_vcenter.yml").read_text())
    assert login == {"rocemesh_vcenter_hostname": BOTH["vsphere2"]}


def test_physics_knows_whose_vm_an_event_is_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = physics.Physics(config.Paths(tmp_path))
    seen: list[Any] = []
    monkeypatch.setattr(daemon, "_power_off", seen.append)
    monkeypatch.setattr(daemon, "_host_rebooted", seen.append)
    for vcenter in BOTH:
        daemon.event({"event": "vm_power_off", "vm": "gpu01"}, vcenter)
        daemon.event({"event": "host_rebooted", "vms": ["gpu02"]}, vcenter)
    assert [message.get("vm") or message["vms"] for message in seen] == ["gpu01", ["gpu02"], "gpu03", ["gpu04"]]


def test_physics_speaks_to_the_vcenter_of_the_vm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = physics.Physics(config.Paths(tmp_path))
    said: list[Any] = []

    def request(_method: str, address: str, body: Any, timeout: float) -> None:
        said.append((address, body))
        if len(said) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(control, "request", request)
    for name in ("gpu02", "gpu04"):
        daemon._tell({"vm": name, "power": "off"})
    with pytest.raises(KeyboardInterrupt):
        daemon.speak()
    assert said == [(f"http://{ip}:8080/guest", {"vm": "gpu02", "power": "off"}) for ip in BOTH.values()]


def test_the_states_are_one_under_the_names_of_the_inventory(monkeypatch: pytest.MonkeyPatch) -> None:
    def request(_method: str, address: str) -> Any:
        boots = 1 if config.SECOND_VCENTER_IP in address else 0
        hosts = {name: {"boots": boots} for name in ("esx01", "esx02")}
        return {"hosts": hosts, "vms": {"gpu01": {"host": "esx01", "power": "on"}, "gpu02": {"host": "esx02"}}}

    monkeypatch.setattr(control, "request", request)
    state = control.state("vsphere")
    assert {name: host["boots"] for name, host in state["hosts"].items()} == {
        "esx01": 0, "esx02": 0, "esx03": 1, "esx04": 1,
    }  # fmt: skip
    assert {name: vm["host"] for name, vm in state["vms"].items()} == {node.name: node.host for node in NODES}
