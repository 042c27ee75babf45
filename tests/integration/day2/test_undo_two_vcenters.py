"""playbooks/undo.yml where two SIMULATED vCenters give equal names and ids."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration import simulated_switch
from tests.integration.day2.conftest import REPOSITORY, TOPOLOGY
from tests.integration.vsphere.conftest import Pki, Vcenter, started

# A VM that is off takes its keys without a window.
OFF = {**TOPOLOGY, "hosts": [{"name": "esx01", "vms": [{"name": "gpu01", "power": "off"}]}]}
STAGES = ("--tags", "esxi,power", "--skip-tags", "recover")
HERE = {"delegate_to": "localhost", "vars": {"ansible_python_interpreter": sys.executable}}
LOGIN = {key: f"{{{{ rocemesh_vcenter_{key} }}}}" for key in ("hostname", "port", "username", "password", "ca_path")}
FORWARD = [
    {
        "hosts": group,
        "gather_facts": False,
        "tasks": [{"name": "Configure it", f"rocemesh.multinode.{module}": {**LOGIN, **given}, **HERE}],
    }
    for group, module, given in (
        ("esxi_hosts", "esxi_kernel_setting", {"esxi_hostname": "esx01", "settings": {"atsSupport": True}}),
        ("gpu_vms", "vmx_passthru", {"vm": "gpu01", "allow_p2p": False, "numa_node_affinity": ["auto"]}),
    )
]


class Both:
    def __init__(self, vcenters: list[Vcenter], folder: pathlib.Path) -> None:
        self.vcenters, self.folder = vcenters, folder
        groups: dict[str, Any] = {"esxi_hosts": {"hosts": {}}, "gpu_vms": {"hosts": {}}}
        for name, vcenter in zip("ab", vcenters):
            login = {f"rocemesh_vcenter_{key}": vcenter.login[key] for key in LOGIN}
            groups["esxi_hosts"]["hosts"][f"{name}-esx"] = {**login, "esxi_host_name": "esx01"}
            groups["gpu_vms"]["hosts"][f"{name}-gpu"] = {**login, "gpu_vm_name": "gpu01"}
        (folder / "inventory.json").write_text(json.dumps({"all": {"children": groups}}))
        (folder / "forward.yml").write_text(json.dumps(FORWARD))

    def play(self, playbook: pathlib.Path, *more: str) -> subprocess.CompletedProcess[str]:
        program = str(pathlib.Path(sys.executable).with_name("ansible-playbook"))
        return subprocess.run(
            [program, "-i", str(self.folder / "inventory.json"), str(playbook), *more],
            cwd=self.folder,
            env={
                **simulated_switch.environment(ANSIBLE_STDOUT_CALLBACK="default"),
                "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / "collections"),
                "ANSIBLE_CALLBACKS_ENABLED": "rocemesh.multinode.journal",
                "ROCEMESH_JOURNAL": str(self.folder / "journal"),
            },
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )

    def forward(self, *more: str) -> str:
        """A run that configures both or those of ``--limit``; its id."""
        done = self.play(self.folder / "forward.yml", *more)
        assert done.returncode == 0, done.stdout + done.stderr
        return max((self.folder / "journal").glob("*.jsonl")).stem

    def undo(self, run: str, *more: str) -> str:
        done = self.play(REPOSITORY / "playbooks" / "undo.yml", "-e", f"run={run}", *STAGES, *more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def configured(self) -> list[Any]:
        states = [vcenter.state() for vcenter in self.vcenters]
        return [
            (state["hosts"]["esx01"]["kernel"]["atsSupport"]["configured"], state["vms"]["gpu01"]["extra_config"])
            for state in states
        ]


@pytest.fixture(scope="module")
def alike(binary: pathlib.Path, pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Vcenter]]:
    with contextlib.ExitStack() as stack:
        folders = [tmp_path_factory.mktemp(name) for name in ("one", "copy")]
        yield [stack.enter_context(started(binary, pki, folder, OFF, "of-both")) for folder in folders]


@pytest.fixture
def both(alike: list[Vcenter], tmp_path: pathlib.Path) -> Both:
    for vcenter in alike:
        vcenter.ask("POST", "/reset")
    return Both(alike, tmp_path)


def test_undo_takes_back_on_both_what_the_run_did_on_both(both: Both) -> None:
    before = both.configured()
    run = both.forward()
    assert both.configured()[0] == both.configured()[1] != before[0]
    assert " stays: " not in both.undo(run)
    assert both.configured() == before
    for vcenter in both.vcenters:
        vcenter.ask("DELETE", "/calls")
    assert "is 'FALSE' already" in both.undo(run)
    assert [vcenter.calls() for vcenter in both.vcenters] == [[], []]


@pytest.mark.parametrize("mine", [0, 1])
def test_undo_of_a_run_on_one_leaves_the_other_as_another_run_made_it(both: Both, mine: int) -> None:
    """The same settings on the same names and ids: by them, each of the two would do."""
    before = both.configured()
    run = both.forward("--limit", f"{'ab'[mine]}-*,localhost")
    both.forward("--limit", f"{'ba'[mine]}-*,localhost")
    made = both.configured()
    for vcenter in both.vcenters:
        vcenter.ask("DELETE", "/calls")
    both.undo(run)
    assert both.configured()[mine] == before[mine]
    assert both.configured()[1 - mine] == made[1 - mine] and both.vcenters[1 - mine].calls() == []


def test_undo_with_a_vcenter_that_does_not_answer_changes_nothing(both: Both) -> None:
    """What the run did there is asked of it, and the message says why it cannot be."""
    run = both.forward("--limit", "b-*,localhost")
    made = both.configured()
    inventory = json.loads((both.folder / "inventory.json").read_text())
    for group in inventory["all"]["children"].values():
        for host, said in group["hosts"].items():
            said.update({"rocemesh_vcenter_port": 1} if host.startswith("b-") else {})
    (both.folder / "inventory.json").write_text(json.dumps(inventory))
    done = both.play(REPOSITORY / "playbooks" / "undo.yml", "-e", f"run={run}", *STAGES)
    assert done.returncode != 0 and "b-esx: its vCenter" in done.stdout, done.stdout
    assert both.configured() == made
