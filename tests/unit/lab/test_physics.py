from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from lab import ats, config, engine, files, hardware, nodes, physics

P2P = dict.fromkeys(ats.P2P_KEYS, "TRUE")


class FakeEngine:
    """Containers as a set of running names; `systemctl poweroff` ends one like a real guest does."""

    def __init__(self) -> None:
        self.up: set[str] = set()
        self.calls: list[tuple[str, ...]] = []

    def running(self, node: config.Node) -> bool:
        return node.container in self.up

    def docker(self, *arguments: str, **_: Any) -> None:
        self.calls.append(arguments)
        if arguments[0] == "start":
            self.up.add(arguments[1])
        elif arguments[0] == "kill" or (arguments[0] == "exec" and arguments[2:] == ("systemctl", "poweroff")):
            self.up.discard(arguments[1])

    def names(self, verb: str) -> list[str]:
        return [call[1] for call in self.calls if call[0] == verb]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    result = FakeEngine()
    monkeypatch.setattr(engine, "docker", result.docker)
    monkeypatch.setattr(nodes, "running", result.running)
    monkeypatch.setattr(nodes, "recreate_all", lambda paths: result.up.clear())
    return result


@pytest.fixture
def paths(tmp_path: Path) -> config.Paths:
    result = config.Paths(tmp_path)
    for node in config.NODES:
        hardware.make_factory(result, node.name, replace=True)
    return result


@pytest.fixture
def daemon(fake: FakeEngine, paths: config.Paths) -> physics.Physics:
    return physics.Physics(paths)


def power_on(daemon: physics.Physics, vm: str = "gpu01", *, ats_runtime: bool = True, keys: Any = None) -> None:
    extra = P2P if keys is None else keys
    daemon.event({"event": "vm_power_on", "vm": vm, "host": "esx01", "ats_runtime": ats_runtime, "extra_config": extra})


def set_next(paths: config.Paths, value: int, vm: str = "gpu01") -> None:
    """What mlxconfig in the guest does."""
    nic = hardware.read_nic(paths, vm)
    nic["cards"][0]["params"]["ATS_ENABLED"]["next"] = value
    files.write_json(paths.nic(vm), nic)


def reboot_host(daemon: physics.Physics) -> None:
    daemon.event({"event": "host_rebooted", "host": "esx01", "vms": ["gpu01", "gpu02"]})


def nic_function(paths: config.Paths, vm: str = "gpu01") -> dict[str, Any]:
    function: dict[str, Any] = hardware.read_pci(paths, vm)["functions"][config.NIC_PCI]
    return function


def test_the_guides_order_ends_with_ats_enabled(daemon: physics.Physics, paths: config.Paths) -> None:
    set_next(paths, 1)
    reboot_host(daemon)
    power_on(daemon)
    assert nic_function(paths) == {"ats_capability": True, "ats_enabled": True, "stu": 0}


def test_power_cycle_without_host_reboot_does_not_make_next_current(
    daemon: physics.Physics, paths: config.Paths
) -> None:
    set_next(paths, 1)
    power_on(daemon)
    daemon.event({"event": "vm_power_off", "vm": "gpu01"})
    power_on(daemon)
    assert nic_function(paths)["ats_capability"] is False


def test_host_reboot_touches_only_its_own_cards(daemon: physics.Physics, paths: config.Paths) -> None:
    set_next(paths, 1, "gpu01")
    set_next(paths, 1, "gpu03")
    reboot_host(daemon)
    current = {vm: ats.current_ats(hardware.read_nic(paths, vm)["cards"][0]) for vm in ("gpu01", "gpu03")}
    assert current == {"gpu01": True, "gpu03": False}


def test_guest_reboot_does_not_read_the_vm_keys_again(
    daemon: physics.Physics, fake: FakeEngine, paths: config.Paths
) -> None:
    set_next(paths, 1)
    reboot_host(daemon)
    power_on(daemon, keys={})
    before = paths.pci("gpu01").read_bytes()
    fake.up.clear()
    daemon.guest_ended("gpu01", physics.GUEST_REBOOT)
    assert fake.names("start") == ["rocemesh-gpu01"] * 2
    assert paths.pci("gpu01").read_bytes() == before
    assert nic_function(paths) == {"ats_capability": True, "ats_enabled": False, "stu": 0}


def test_guest_that_powers_itself_off_is_reported_and_stays_off(daemon: physics.Physics, fake: FakeEngine) -> None:
    power_on(daemon)
    fake.up.clear()
    daemon.guest_ended("gpu01", 130)
    assert daemon.vms["gpu01"]["power"] == "off"
    assert daemon._messages[-1] == {"vm": "gpu01", "power": "off"}
    assert fake.names("start") == ["rocemesh-gpu01"]


def test_death_that_the_daemon_caused_is_no_news(daemon: physics.Physics) -> None:
    power_on(daemon)
    daemon.event({"event": "vm_power_off", "vm": "gpu01"})
    daemon.guest_ended("gpu01", 137)
    assert [message for message in daemon._messages if "power" in message] == []


def test_power_on_of_a_running_vm_is_a_fresh_start(daemon: physics.Physics, fake: FakeEngine) -> None:
    power_on(daemon)
    power_on(daemon)
    assert [call[0] for call in fake.calls] == ["start", "kill", "start"]
    daemon.guest_ended("gpu01", 137)
    assert daemon.vms["gpu01"]["power"] == "on"


def test_orderly_shutdown_answers_when_the_guest_has_ended(daemon: physics.Physics, fake: FakeEngine) -> None:
    power_on(daemon)
    daemon.event({"event": "vm_shutdown_guest", "vm": "gpu01"})
    assert not fake.up
    daemon.guest_ended("gpu01", 130)
    assert daemon.vms["gpu01"]["power"] == "off"
    assert {"vm": "gpu01", "power": "off"} not in daemon._messages


def test_state_survives_a_restart_of_the_daemon(daemon: physics.Physics, paths: config.Paths) -> None:
    power_on(daemon, ats_runtime=False)
    again = physics.Physics(paths)
    assert again.vms["gpu01"]["power"] == "on"
    assert again.vms["gpu01"]["power_on"] == {"ats_runtime": False, "extra_config": P2P}


def test_reading_the_state_changes_nothing(daemon: physics.Physics) -> None:
    power_on(daemon)
    assert daemon.as_json() == daemon.as_json()


def test_reset_is_the_factory_state(daemon: physics.Physics, paths: config.Paths) -> None:
    before = daemon.as_json()
    daemon.inject({"name": "nic_without_ats", "vm": "gpu02"})
    set_next(paths, 1)
    power_on(daemon)
    daemon.reset()
    assert daemon.as_json() == before


@pytest.mark.parametrize(
    "message",
    [
        {"event": "vm_teleport", "vm": "gpu01"},
        {"event": "vm_power_off", "vm": "gpu99"},
        {"event": "vm_power_off"},
    ],
)
def test_unknown_event_or_vm_is_refused(daemon: physics.Physics, message: dict[str, Any]) -> None:
    with pytest.raises(physics.BadRequest, match="known"):
        daemon.event(message)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"name": "gravity"}, "known"),
        ({"name": "nic_is_vf"}, "takes vm"),
        ({"name": "nic_is_vf", "vm": "gpu01", "host": "x"}, "takes vm"),
        ({"name": "nic_is_vf", "vm": "gpu99"}, "unknown vm"),
        ({"name": "nic_tool", "vm": "gpu01", "faults": "hang"}, "object"),
    ],
)
def test_fault_that_is_not_understood_is_refused(daemon: physics.Physics, fault: dict[str, Any], words: str) -> None:
    with pytest.raises(physics.BadRequest, match=words):
        daemon.inject(fault)
    assert daemon.faults == []


def test_stuck_value_stays_next_until_the_fault_is_cleared(daemon: physics.Physics, paths: config.Paths) -> None:
    set_next(paths, 1)
    daemon.inject({"name": "nic_value_stuck", "vm": "gpu01"})
    reboot_host(daemon)
    assert not ats.current_ats(hardware.read_nic(paths, "gpu01")["cards"][0])
    daemon.clear_faults()
    reboot_host(daemon)
    assert ats.current_ats(hardware.read_nic(paths, "gpu01")["cards"][0])


@pytest.mark.parametrize("name", ["nic_without_ats", "nic_is_vf"])
def test_another_card_is_taken_out_again(daemon: physics.Physics, paths: config.Paths, name: str) -> None:
    before = hardware.read_nic(paths, "gpu01")
    daemon.inject({"name": name, "vm": "gpu01"})
    assert "ATS_ENABLED" not in hardware.read_nic(paths, "gpu01")["cards"][0]["params"]
    daemon.clear_faults()
    assert hardware.read_nic(paths, "gpu01") == before
    assert daemon.faults == []


def test_tool_faults_reach_the_tools_and_go_again(daemon: physics.Physics, paths: config.Paths) -> None:
    daemon.inject({"name": "nic_tool", "vm": "gpu01", "faults": {"lockdown": True}})
    assert hardware.read_nic(paths, "gpu01")["faults"] == {"lockdown": True}
    daemon.clear_faults()
    assert hardware.read_nic(paths, "gpu01")["faults"] == {}


def test_whether_the_switch_carries_the_traffic_is_kept_over_a_restart(fake: FakeEngine, paths: config.Paths) -> None:
    first = physics.Physics(paths)
    assert first.as_json()["carrier"]["on"] is True, "a new lab is coupled to its switch"
    first.carry({"on": False})
    assert not physics.Physics(paths).carrier.on
    first.carry({"on": True})
    assert physics.Physics(paths).carrier.on
    with pytest.raises(physics.BadRequest):
        first.carry({"on": "yes"})


def test_a_card_that_wants_its_power_cut_stays_next_over_every_reboot(
    daemon: physics.Physics, paths: config.Paths
) -> None:
    set_next(paths, 1)
    daemon.inject({"name": "nic_needs_power_cycle", "vm": "gpu01"})
    reboot_host(daemon)
    reboot_host(daemon)
    assert not ats.current_ats(hardware.read_nic(paths, "gpu01")["cards"][0])
    daemon.event({"event": "host_rebooted", "host": "esx01", "vms": ["gpu01", "gpu02"], "cold": True})
    assert ats.current_ats(hardware.read_nic(paths, "gpu01")["cards"][0])


def test_a_guest_asks_for_a_sudo_password_while_the_fault_lasts(daemon: physics.Physics, fake: FakeEngine) -> None:
    power_on(daemon)
    daemon.inject({"name": "sudo_password", "vm": "gpu01", "password": "s3cret words"})
    verb, container, *rest = fake.calls[-1]
    assert (verb, container, rest[:2], rest[3:]) == ("exec", "rocemesh-gpu01", ["bash", "-c"], ["s3cret words"])
    assert "ALL=(ALL) ALL" in rest[2] and "NOPASSWD" not in rest[2]
    daemon.clear_faults()
    assert "NOPASSWD:ALL" in fake.calls[-1][4] and "passwd --quiet --lock" in fake.calls[-1][4]


def test_a_host_may_refuse_memlock_instead_of_lowering_it(daemon: physics.Physics, fake: FakeEngine) -> None:
    power_on(daemon)
    daemon.inject({"name": "memlock_refused", "vm": "gpu01"})
    assert fake.calls[-1][4] == "touch /run/lab-memlock-refused"
    daemon.clear_faults()
    assert fake.calls[-1][4] == "rm -f /run/lab-memlock-refused"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("Error response from daemon: Container 1f is not running", 125),
        ("Error response from daemon: Container 1f is paused, unpause the container before exec", 125),
        ("iptables: No chain/target/match by that name.", 1),
    ],
)
def test_a_vm_that_is_off_is_told_from_a_script_that_failed(
    monkeypatch: pytest.MonkeyPatch, words: str, status: int
) -> None:
    done = subprocess.CompletedProcess([], 1, stdout="", stderr=words)
    monkeypatch.setattr(engine, "docker", lambda *_arguments, **_options: done)
    assert physics._in_node("gpu01", "true")[0] == status
