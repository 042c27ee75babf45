"""A client that others wrote, against the same SIMULATED switch: mellanox.onyx 1.0.0 over network_cli.

What it reads agrees with what our modules read, what ours configured needs nothing from it, and the other way round.
Its modules compare releases as text, so they misread every 3.10 (the last test); the others use 3.6 and 3.9, one for
each shape of the JSON.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests import older_collection
from tests.integration.simulated_switch import ADDRESS, PASSWORD, playbook, run_module
from tests.integration.switch.harness import Simulator, running

PORTS = ["1/1", "1/2", "1/3", "1/4"]
READY: dict[str, Any] = {"vlan": 111, "vlan_name": "rdma", "ports": ["1/1-1/4"], "mtu": 9216}
FACTS = {"name": "facts", "mellanox.onyx.onyx_facts": {"gather_subset": ["version", "interfaces"]}}


@pytest.fixture(scope="module")
def place() -> Path:
    try:
        return older_collection.fetch()
    except older_collection.NotAvailable as reason:
        pytest.skip(f"the independent client is not there: {reason}")


def other_client(simulator: Simulator, place: Path, tasks: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    env = older_collection.environment(place, simulator.directory)
    play = older_collection.play(simulator.port, PASSWORD, [{**task, "ignore_errors": True} for task in tasks])
    try:
        done = playbook(simulator.directory, [play], **env)
        return older_collection.results(done.stdout, ADDRESS)
    finally:
        shutil.rmtree(env["ANSIBLE_PERSISTENT_CONTROL_PATH_DIR"], ignore_errors=True)


@pytest.mark.parametrize("version", ["3.6.5000", "3.9.2400"], ids=["JSON before 3.6.6000", "JSON since 3.6.6000"])
def test_both_clients_read_the_same_and_leave_each_other_nothing_to_do(
    tmp_path: Path, place: Path, version: str
) -> None:
    mode = "absent" if version.startswith("3.6") else "lossless"
    tasks = older_collection.tasks(111, "rdma", PORTS, 9216)
    declarative = tasks[:3]
    with running(tmp_path / "switch", "--version", version) as simulator:
        assert run_module(simulator, mode=mode, **READY)["saved"]
        configured = simulator.state()
        theirs = other_client(simulator, place, [FACTS, *declarative])
        # Ours is configured as they understand it.
        assert [theirs[task["name"]].get("changed") for task in declarative] == [False, False, False], theirs
        assert simulator.state() == configured
        # And the facts agree, port by port.
        ours = run_module(simulator, module="switch_roce_info", system="onyx")["switch"]
        facts = theirs["facts"]["ansible_facts"]
        assert facts["ansible_net_version"]["Product release"] == ours["version"] == version
        read = {
            name[len("Eth") :]: (
                int(entry["MTU"].split()[0]),
                {"enabled": "up", "disabled": "down"}[entry["Admin State"].lower()],
                entry["Operational State"].lower(),
            )
            for name, entry in facts["ansible_net_interfaces"].items()
        }
        assert read == {name: (port["mtu"], port["admin"], port["oper"]) for name, port in ours["ports"].items()}
        # Theirs is configured as we understand it.
        simulator.reset()
        done = other_client(simulator, place, tasks if mode == "lossless" else declarative)
        assert all(result.get("changed") for name, result in done.items() if "meta" not in name), done
        again = run_module(simulator, check=True, mode=mode, save="never", **READY)
        assert not again["changed"] and again["operations"] == [], again


def test_it_cannot_tell_that_3_10_is_newer_than_3_6_and_ours_can(tmp_path: Path, place: Path) -> None:
    """Why a rack on the current release train needs another client. The list shape of 3.10 is not verified."""
    with running(tmp_path / "switch", "--version", "3.10.4006") as simulator:
        assert run_module(simulator, **READY)["saved"]
        theirs = other_client(simulator, place, older_collection.tasks(111, "rdma", PORTS, 9216)[:3])
        assert all(theirs[name].get("failed") for name in ("vlan", "access", "mtu")), theirs
        assert not run_module(simulator, **READY)["changed"]


def test_what_it_does_to_a_trunk_without_a_word_is_refused_by_ours(tmp_path: Path, place: Path) -> None:
    with running(tmp_path / "switch", "--version", "3.9.2400") as simulator:
        trunk = {"vlan": 100, "ports": ["1/31"]}
        refused = run_module(simulator, **trunk)
        assert refused["error_code"] == "refused" and "100,200" in refused["msg"]
        task = {
            "name": "access",
            "mellanox.onyx.onyx_l2_interface": {"name": "Eth1/31", "mode": "access", "access_vlan": 100},
        }
        done = other_client(simulator, place, [task])
        assert done["access"]["changed"]
        assert simulator.state()["running"]["ports"]["1/31"]["allowed_vlans"] == []
