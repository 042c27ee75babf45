"""A plan that --check wrote, carried out with rocemesh_plan; on a site that moved on it is refused."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.plugin_utils import journal_file

from tests.integration import simulated_switch
from tests.integration.day2.conftest import REPOSITORY, Site
from tests.integration.vsphere.conftest import change_while_on, run_module

# What follows from a change and is none: the power of a VM, the saved configuration of a switch, a restart that waits.
FOLLOW = ("power", "saved", "restart")
# Of one of two hosts nothing is changed, and a restart waits: 4.
SEEDS = range(50) if os.environ.get("ROCEMESH_SITES") == "all" else (0, 4)


def some(chance: random.Random) -> dict[str, dict[str, Any]]:
    """Module -> options of a site as somebody might want it."""
    first = chance.randint(1, 4)
    return {
        "onyx_roce": {
            "vlan": chance.randint(2, 3000),
            "vlan_name": chance.choice(["rdma", "gpu", "storage"]),
            "ports": [f"1/{first}-1/{chance.randint(first + 1, 8)}"],
            "mtu": chance.choice([1500, 4200, 9000, 9216]),
        },
        "esxi_kernel_setting": {
            "esxi_hostnames": chance.choice([["esx01"], ["esx02"], ["esx01", "esx02"]]),
            "settings": {"atsSupport": chance.random() < 0.7},
        },
        "mlxconfig_ats": {"state": chance.choice(["enabled", "disabled"])},
        "vmx_passthru": {"numa_node_affinity": chance.choice([["auto"], ["0"], ["0", "1"]])},
    }


def want(site: Site, options: dict[str, dict[str, Any]]) -> None:
    plays = json.loads(site.forward.read_text())
    for play in plays:
        for task in play.get("tasks", []):
            for module, given in options.items():
                task.get(f"rocemesh.multinode.{module}", {}).update(given)
    site.forward.write_text(json.dumps(plays))


def guarded(site: Site) -> None:
    """As site.yml begins."""
    plays = json.loads(site.forward.read_text())
    site.forward.write_text(json.dumps([{"import_playbook": str(REPOSITORY / "playbooks/approved.yml")}, *plays]))


def planned(site: Site) -> Path:
    before = site.hashes()
    checked = site.play(site.forward, "--check")
    assert checked.returncode == 0 and site.hashes() == before, checked.stdout + checked.stderr
    (plan,) = (site.folder / "journal").glob("*-plan.jsonl")
    return plan


def settings(journal: journal_file.Journal) -> dict[journal_file.Place, str]:
    return {place: sides for place, sides in journal_file.changes(journal.entries).items() if place[3] not in FOLLOW}


@pytest.mark.parametrize("seed", SEEDS)
def test_plan_of_any_site_is_carried_out_and_nothing_else(site: Site, seed: int) -> None:
    chance = random.Random(seed)
    want(site, some(chance))
    site.configure()
    want(site, some(chance))
    guarded(site)
    plan = planned(site)
    done = site.play(site.forward, "-e", f"rocemesh_plan={plan}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert settings(site.journal(site.runs()[-1])) == settings(journal_file.read_plan(plan)) != {}
    configured = site.hashes()
    again = site.play(site.forward, "-e", f"rocemesh_plan={plan}")
    assert again.returncode != 0 and "moved on" in again.stdout
    assert site.hashes() == configured


def _port(site: Site, chance: random.Random) -> str:
    port = f"1/{chance.randint(2, 3)}"
    simulated_switch.run_module(site.switch, ports=[port], mtu=chance.choice([4000, 5000]), allow_disruption="any")
    return f"leaf01: port {port} mtu"


def _kernel(site: Site, chance: random.Random) -> str:
    host = chance.choice(["esx01", "esx02"])
    given = {**site.vcenter.login, "esxi_hostname": host, "settings": {"atsSupport": True}}
    assert not run_module("esxi_kernel_setting", given).failed
    return f"{host}: "


def _key(site: Site, chance: random.Random) -> str:
    key = chance.choice(["pciPassthru.allowP2P", "pciPassthru.RelaxACSforP2P"])
    site.vcenter.ask("POST", "/admin", {"do": "off", "vm": "gpu01"})
    change_while_on(site.vcenter, "gpu01", {key: "FALSE"})
    return "gpu01: "


@pytest.mark.parametrize("change", [_port, _kernel, _key])
def test_plan_is_refused_on_a_site_that_moved_on(site: Site, change: Any) -> None:
    guarded(site)
    plan = planned(site)
    named = change(site, random.Random(change.__name__))
    moved = site.hashes()
    done = site.play(site.forward, "-e", f"rocemesh_plan={plan}")
    assert done.returncode != 0 and "moved on" in done.stdout and named in done.stdout, done.stdout
    assert site.hashes() == moved
