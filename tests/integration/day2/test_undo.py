"""playbooks/undo.yml against simulators of switch, vCenter and NIC: the state after it is the state before the run."""

from __future__ import annotations

import json
import os

import pytest

from tests.integration.day2.conftest import REPOSITORY, Site
from tests.integration.simulated_switch import run_module

STAGES = ("--tags", "guest,esxi,switch")
# Lines of the journal, and seconds after the last of them: before and in each module, and between them.
KILLS = [(lines, seconds) for lines in range(2, 8) for seconds in (0.0, 0.35, 0.7, 1.4)]


def test_undo_restores_switch_kernel_and_nic_once(site: Site) -> None:
    """The stages that need no window: VM keys stay, since they wait for one."""
    before = site.hashes()
    run = site.configure()
    configured = site.hashes()
    assert all(configured[layer] != before[layer] for layer in ("switch", "kernel", "keys", "nic"))

    done = site.undo(run, *STAGES)
    assert done.returncode == 0, done.stdout + done.stderr
    site.rack.host_reboot()
    assert site.hashes() == {**before, "keys": configured["keys"]}

    runs = site.runs()
    assert len(runs) == 2 and site.journal(runs[-1]).begin["playbook"] == "undo.yml"
    again = site.undo(run, *STAGES)
    assert again.returncode == 0 and site.runs() == runs, again.stdout
    assert site.hashes() == {**before, "keys": configured["keys"]}


def test_undo_leaves_a_port_that_was_changed_since_and_names_it(site: Site) -> None:
    before = site.layers()
    run = site.configure()
    run_module(site.switch, ports=["1/2"], mtu=4000, mode="lossless", allow_disruption="any")
    done = site.undo(run, *STAGES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "port 1/2 mtu" in done.stdout and "4000" in done.stdout and "changed since" in done.stdout
    ports = site.layers()["switch"]["ports"]
    assert ports["1/2"]["mtu"] == 4000
    assert {name: port for name, port in ports.items() if name != "1/2"} == {
        name: port for name, port in before["switch"]["ports"].items() if name != "1/2"
    }


def test_undo_ends_where_a_node_is_lost_on_the_way(site: Site) -> None:
    """Switches come last: a smaller MTU there, beside NICs that were not reached, would end the traffic."""
    run = site.configure()
    inventory = json.loads((site.folder / "inventory.json").read_text())
    lost = {"ansible_connection": "{{ 'ssh' if undo is defined else 'local' }}", "ansible_host": "127.0.0.1"}
    inventory["all"]["children"]["gpu_vms"]["hosts"]["gpu01"] |= {**lost, "ansible_port": 9}
    del inventory["all"]["children"]["esxi_hosts"]  # no window, whose stage would ask who is there
    (site.folder / "inventory.json").write_text(json.dumps(inventory))
    configured = site.hashes()
    done = site.undo(run, *STAGES)
    assert done.returncode != 0 and site.hashes() == configured, done.stdout
    assert "stage undo" in done.stdout, done.stdout


def some(kills: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """All with ROCEMESH_KILLS=all, else two."""
    return kills if os.environ.get("ROCEMESH_KILLS") == "all" else kills[2::12]


def outside_of_windows(hashes: dict[str, str]) -> dict[str, str]:
    """VM keys and power wait for a window, which STAGES leaves out."""
    return {layer: value for layer, value in hashes.items() if layer not in ("keys", "power")}


@pytest.mark.parametrize(("lines", "seconds"), some(KILLS))
def test_undo_of_a_run_that_was_killed_restores_all(site: Site, lines: int, seconds: float) -> None:
    before = site.hashes()
    run = site.kill(site.forward, lines, seconds)
    if run:
        done = site.undo(run, *STAGES)
        assert done.returncode == 0, done.stdout + done.stderr
    site.rack.host_reboot()
    assert outside_of_windows(site.hashes()) == outside_of_windows(before)


@pytest.mark.parametrize(("lines", "seconds"), some(KILLS))
def test_undo_that_was_killed_is_finished_by_the_next(site: Site, lines: int, seconds: float) -> None:
    before = site.hashes()
    run = site.configure()
    site.kill(REPOSITORY / "playbooks" / "undo.yml", lines, seconds, "-e", f"run={run}", *STAGES)
    done = site.undo(run, *STAGES)
    assert done.returncode == 0, done.stdout + done.stderr
    site.rack.host_reboot()
    assert outside_of_windows(site.hashes()) == outside_of_windows(before)
