"""QEMU machines of the lab: what a power-on makes of cards, host and keys, and what the bridge before one lets pass."""

from __future__ import annotations

import json
import re
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from lab import ats, carrier, config, files, hardware, images, nodes, physics, shapes
from lab.vm import accelerator, bridge, chassis, machine, qmp

VM = shapes.read("vm")
P2P = dict.fromkeys(ats.P2P_KEYS, "TRUE")
FIRST, NODE = config.nodes_of(shapes.read("vm"))


@pytest.fixture
def vms(monkeypatch: pytest.MonkeyPatch) -> shapes.Shape:
    """The lab's programs as they are in this shape."""
    monkeypatch.setattr(config, "SHAPE", VM)
    monkeypatch.setattr(config, "RAILS", VM.rails)
    monkeypatch.setattr(config, "NODES", (FIRST, NODE))
    return VM


def made(current: int, runtime: bool, keys: dict[str, str], how: str = "tcg") -> str:
    cards = ats.factory_cards()
    for card in cards:
        card["params"]["ATS_ENABLED"].update(current=current, next=1 - current)
    one = machine.at_power_on(NODE, cards, ats_runtime=runtime, extra_config=keys, accelerator=how)
    return " ".join(machine.argv(one))


@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("runtime", [False, True])
@pytest.mark.parametrize("keys", [{}, {ats.P2P_KEYS[0]: "TRUE"}, P2P])
def test_capability_comes_from_the_card_and_enable_from_host_and_keys(
    vms: shapes.Shape, current: int, runtime: bool, keys: dict[str, str]
) -> None:
    """As `ats.pci_functions` says it of the simulated bus; what is only next in the card changes nothing."""
    cards = ats.factory_cards()
    cards[0]["params"]["ATS_ENABLED"]["current"] = current
    said = ats.pci_functions(cards, ats_runtime=runtime, extra_config=keys)[VM.rails[0].nic]
    words = made(current, runtime, keys)
    assert (",ats=on" in words) is said["ats_capability"]
    assert ("-device intel-iommu," in words and ",ats=on" in words) is said["ats_enabled"]
    assert ("intel-iommu" in words) is ("iommu_platform=on" in words) is (runtime and keys == P2P)


def test_nic_and_gpu_are_where_the_shape_has_them_behind_a_port_on_the_second_numa_node(vms: shapes.Shape) -> None:
    words = made(1, True, P2P)
    for pci, device in ((VM.rails[0].nic, "virtio-net-pci"), (VM.gpus[0], "edu")):
        above = int(pci.split(":")[1], 16) - 1
        found = re.search(rf"pxb-pcie,id=(\w+),bus_nr={above},numa_node=1,bus=pcie.0", words)
        assert found, "the function is on the bus after that of its port"
        port = re.search(rf"pcie-root-port,id=(\w+),bus={found[1]},", words)
        assert port and re.search(rf"-device {device},[^ ]*bus={port[1]}\b", words)
    assert "mac=52:54:00:bb:00:02" in words
    assert "-accel tcg" in words and "-accel kvm" in made(1, True, P2P, "kvm")


def test_a_power_on_writes_the_machine_and_a_shutdown_presses_the_button(
    vms: shapes.Shape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = config.Paths(tmp_path)
    hardware.make_factory(paths, NODE.name, replace=True)
    machine.folder(paths, NODE).mkdir(parents=True)
    files.write(tmp_path / "accelerator", "tcg, software emulation: because\n")
    up: set[str] = set()
    monkeypatch.setattr(nodes, "running", lambda node: node.container in up)

    def docker(*words: str, **_more: Any) -> None:
        (up.add if words[0] == "start" else up.discard)(words[1])

    monkeypatch.setattr(physics.engine, "docker", docker)
    monkeypatch.setattr(qmp, "ask", lambda path, command: up.discard(path.parent.name.replace("gpu", "rocemesh-gpu")))
    monkeypatch.setattr(config, "BY_NAME", {node.name: node for node in config.NODES})
    daemon = physics.Physics(paths)
    daemon.event({"event": "vm_power_on", "vm": "gpu02", "ats_runtime": True, "extra_config": P2P})
    argv = (machine.folder(paths, NODE) / "argv").read_text().split("\0")
    assert argv[0] == "qemu-system-x86_64" and argv[-1] == "" and any("intel-iommu" in word for word in argv)
    assert up == {"rocemesh-gpu02"}
    daemon.event({"event": "vm_shutdown_guest", "vm": "gpu02"})
    assert not up and daemon.vms["gpu02"]["power"] == "off"


def test_the_guest_finds_its_name_network_and_the_registry(vms: shapes.Shape, tmp_path: Path) -> None:
    paths = config.Paths(tmp_path)
    chassis.write_seed(NODE, paths, controller_key="ssh-ed25519 AAAA", resolvers=["192.0.2.53"])
    seed = machine.folder(paths, NODE) / "seed"
    told = (seed / "settings").read_text()
    assert "LAB_NAME=gpu02\n" in told and "LAB_ROCE='ens1'" in told
    assert 'addresses: ["10.78.0.12/24"]' in (seed / "netplan.yaml").read_text()
    hosts = (seed / "hosts").read_text().splitlines()
    assert "10.78.0.5 registry" in hosts and "10.78.0.11 gpu01" in hosts and "127.0.1.1 gpu02" in hosts
    words = chassis.create_arguments(NODE, paths, privileges=["--privileged"], at=["--ip", "10.78.0.12"])
    assert words[-1] == config.VM_IMAGE and f"{config.VM_LABEL}=gpu02" in words
    assert f"{paths.hw / 'gpu02'}:/var/lib/lab-hw" in words and "127.78.0.12:2222:22" in words


def test_a_machine_that_was_started_anew_is_asked_over_another_connection(vms: shapes.Shape, tmp_path: Path) -> None:
    paths = config.Paths(tmp_path)
    socket_of = machine.folder(paths, NODE) / "qmp"
    socket_of.parent.mkdir(parents=True)
    assert chassis.connection(NODE, paths) == [], "it is off"
    socket_of.touch()
    first = chassis.connection(NODE, paths)
    assert first == chassis.connection(NODE, paths) and "ControlMaster=auto" in first
    socket_of.rename(socket_of.with_name("before"))
    socket_of.touch()
    assert chassis.connection(NODE, paths) != first


def test_kvm_needs_the_processor_and_a_boot_and_else_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert accelerator.has_virtualisation("processor : 0\nflags\t\t: fpu vmx sse\n")
    assert accelerator.has_virtualisation("flags\t: svm\n")
    assert not accelerator.has_virtualisation("flags\t\t: fpu sse hypervisor\nmodel name : vmx svm\n")
    monkeypatch.setattr(accelerator.Path, "exists", lambda _self: True)
    monkeypatch.setattr(accelerator.Path, "read_text", lambda _self: "flags : fpu vmx\n")
    monkeypatch.setattr(accelerator, "boots", lambda: False)
    assert accelerator._choose().startswith("tcg, ")
    monkeypatch.setattr(accelerator, "boots", lambda: True)
    assert accelerator._choose().startswith("kvm ")
    monkeypatch.setattr(accelerator.Path, "read_text", lambda _self: "flags : fpu hypervisor\n")
    assert "vmx" in accelerator._choose()


def test_the_bridge_drops_what_is_too_long_or_not_carried_and_counts_it() -> None:
    cards = {"gpu01": machine.mac(0, 1), "gpu03": machine.mac(0, 3)}
    arriving = (carrier.Path("gpu01", 1500), carrier.Path("gpu03", 0))
    text = bridge.rules(arriving, cards)
    sender = 'iifname "eth0" ether saddr'
    long = f"{sender} 52:54:00:bb:00:01 meta length > 1500 counter name gpu01_long drop"
    assert text.index(long) < text.index(f"{sender} 52:54:00:bb:00:01 counter name gpu01_carried accept")
    assert f"{sender} 52:54:00:bb:00:03 counter name gpu03_lost drop" in text
    assert "long" not in bridge.rules((carrier.Path("gpu01", config.LINK_MTU),), cards), "the wire itself takes no more"
    counters = [("gpu01_carried", 7, 700), ("gpu01_long", 2, 18000), ("gpu03_lost", 5, 500), ("other_carried", 1, 1)]
    listed = [{"counter": {"name": name, "packets": packets, "bytes": size}} for name, packets, size in counters]
    said = json.dumps({"nftables": [{"metainfo": {"version": "1.0.6"}}, *listed]})
    none = {"packets": 0, "bytes": 0, "too_long": 0}
    assert bridge.counted(said, cards) == {"gpu01": {"packets": 7, "bytes": 700, "too_long": 2}, "gpu03": none}
    assert bridge.counted("Error: no table\n", cards) == {}


def test_the_carriers_of_machines_look_at_cards_before_them(vms: shapes.Shape) -> None:
    scripts: list[str] = []
    carriers = carrier.Carriers(lambda _node, script: (scripts.append(script), (0, ""))[1], VM.rails)
    (one,) = carriers.each
    one._ask = lambda: {port: {"up": True, "mtu": 1500, "untagged": 1} for port in ("1/1", "1/2")}
    carriers.on = True
    one.round(count=False)
    assert any("52:54:00:bb:00:02 meta length > 1500" in script for script in scripts)
    assert not any("iptables" in script for script in scripts)


def test_qemu_answers_one_command_between_its_events(tmp_path: Path) -> None:
    asked: list[Any] = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "qmp"))
        server.listen()

        def serve() -> None:
            for answer in ({"return": {"running": True}}, {"error": {"class": "GenericError", "desc": "not so"}}):
                connection, _address = server.accept()
                with connection, connection.makefile("rw") as stream:
                    for line in ({"QMP": {}}, {"return": {}}, {"event": "RESET"}, answer):
                        stream.write(json.dumps(line) + "\n")
                        stream.flush()
                        if "QMP" in line or line == {"return": {}}:
                            asked.append(json.loads(stream.readline())["execute"])

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        assert qmp.ask(tmp_path / "qmp", "query-status") == {"running": True}
        with pytest.raises(config.LabError, match="QEMU refuses stop: not so"):
            qmp.ask(tmp_path / "qmp", "stop")
        thread.join(5)
    assert asked == ["qmp_capabilities", "query-status", "qmp_capabilities", "stop"]
    with pytest.raises(config.LabError, match="quit"):
        qmp.ask(tmp_path / "none", "quit")


def test_the_image_of_a_machine_is_made_of_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    there = {config.NODE_IMAGE: {"Id": "node"}, config.BASE_IMAGE: {"Id": "base"}}
    monkeypatch.setattr(images.engine, "inspect", lambda _kind, name: there.get(name))
    monkeypatch.setattr(images.engine, "docker", lambda *words, **_more: asked.append(words))
    assert images.ensure(config.VM_IMAGE) == "built"
    assert f"NODE_IMAGE={config.NODE_IMAGE}" in asked[0] and f"BASE_IMAGE={config.BASE_IMAGE}" in asked[0]
    context = config.REPO / "lab" / "vm"
    assert images.digest(context, "node") != images.digest(context, "another node"), "a new node, a new machine"
