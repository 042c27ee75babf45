"""Plays the entry point handoff, and playbooks/report.yml, on this machine; there is no container engine."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.plays import ansible

HOSTS = ("gpu01", "gpu02")
IMAGE = "registry.example:5000/multinode@sha256:" + "0123456789abcdef" * 4


@dataclasses.dataclass(frozen=True)
class Outcome:
    rc: int
    output: str
    folder: Path

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()


def without_engine(folder: Path) -> dict[str, str]:
    return {"ANSIBLE_PYTHON_INTERPRETER": sys.executable, "DOCKER_HOST": f"unix://{folder}/no-engine.sock"}


def facts(device: str, netdev: str, address: str) -> dict[str, Any]:
    gid = "0000:0000:0000:0000:0000:ffff:" + "{:02x}{:02x}:{:02x}{:02x}".format(*map(int, address.split(".")))
    return {
        "devices": [
            {
                "name": device,
                "port": 1,
                "netdev": netdev,
                "link_layer": "Ethernet",
                "active_mtu": 4096,
                "gids": [{"index": 3, "gid": gid, "type": "RoCE v2", "netdev": netdev}],
            }
        ]
    }


# The interfaces have other names, so NCCL's variables differ between the nodes.
RDMA = {"gpu01": facts("mlx5_0", "ens192", "192.0.2.11"), "gpu02": facts("mlx5_1", "ens224", "192.0.2.12")}


def hand_off(
    folder: Path,
    *words: str,
    also: tuple[dict[str, Any], ...] = (),
    within: tuple[str, ...] = (),
    **variables: Any,
) -> Outcome:
    """Into ``folder``/out. ``words``: more arguments of ansible-playbook; ``variables`` go before the usual ones.
    ``also``: further variables, each set for one more time in the same playbook; what fails says REFUSED and why."""
    hosts = [{"name": name, "address": f"192.0.2.{at}", "slots": 2} for at, name in enumerate(HOSTS, start=11)]
    usual = {
        "run_hosts": hosts,
        "run_network": "192.0.2.0/24",
        "run_rdma_facts": RDMA,
        "run_rdma_dscp": 26,
        "run_env": {},
        "run_handoff_dir": str(folder / "out"),
        "run_handoff_options": {"image": IMAGE, **variables.pop("run_handoff_options", {})},
    }
    include = {"ansible.builtin.include_role": {"name": "rocemesh.multinode.run", "tasks_from": "handoff"}}
    said = {"ansible.builtin.debug": {"msg": "REFUSED {{ ansible_failed_result.msg }}"}}
    more = [{"block": [{**include, "vars": changes}], "rescue": [said]} for changes in also]
    play = {
        "hosts": HOSTS[0],
        "gather_facts": False,
        "vars": {"ansible_become": False, **usual, **variables},
        "tasks": [include, *more],
    }
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    inventory = {"all": {"hosts": {name: {"ansible_connection": "local"} for name in HOSTS}}}
    (folder / "hosts.yml").write_text(yaml.safe_dump(inventory))
    done = ansible(folder, "-i", "hosts.yml", *words, "play.yml", within=within, **without_engine(folder))
    return Outcome(done.returncode, done.stdout + done.stderr, folder / "out")
