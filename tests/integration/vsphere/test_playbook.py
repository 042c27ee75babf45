"""The modules as a play runs them: through ansible-playbook, with the action group and the login from one place."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from .conftest import ROOT, Vcenter, run_module
from .conftest import change_while_on as change_while_off

PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  module_defaults:
    group/rocemesh.multinode.vsphere: "{{ login }}"
  tasks:
    - rocemesh.multinode.esxi_kernel_setting:
        esxi_hostname: esx01
        settings: {atsSupport: true}
    - rocemesh.multinode.vmx_passthru:
        vm: "{{ item }}"
        numa_node_affinity: auto
        power_policy: shutdown
      loop: [gpu01, gpu02]
    - rocemesh.multinode.esxi_reboot:
        esxi_hostname: esx01
        pending_settings: [atsSupport]
        vm_policy: shutdown
        vm_allowlist: [gpu01, gpu02]
    - rocemesh.multinode.esxi_pci_info:
        esxi_hostname: esx01
        kind: gpu
"""


@pytest.fixture
def play(vcenter: Vcenter, tmp_path: pathlib.Path) -> list[str]:
    (tmp_path / "play.yml").write_text(PLAY)
    (tmp_path / "login.json").write_text(json.dumps({"login": vcenter.login}))
    return [
        str(pathlib.Path(sys.executable).with_name("ansible-playbook")),
        *("-i", "localhost,", "-e", f"ansible_python_interpreter={sys.executable}"),
        *("-e", f"@{tmp_path / 'login.json'}", str(tmp_path / "play.yml")),
    ]


def run_play(play: list[str], tmp_path: pathlib.Path, *more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_HOME": str(tmp_path / "home")}
    return subprocess.run(
        [*play, *more], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_play_converges_is_idempotent_and_never_prints_the_password(
    vcenter: Vcenter, play: list[str], tmp_path: pathlib.Path
) -> None:
    before = vcenter.state()
    planned = run_play(play, tmp_path, "--check", "--diff")
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert vcenter.state() == before and vcenter.calls() == []

    first = run_play(play, tmp_path, "--diff", "-vvv")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "changed=3" in first.stdout
    assert vcenter.password not in first.stdout + first.stderr
    state = vcenter.state()
    assert state["hosts"]["esx01"]["kernel"]["atsSupport"]["runtime"] == "TRUE"
    assert [state["vms"][vm]["in_force"]["numa.nodeAffinity"] for vm in ("gpu01", "gpu02")] == ["0", "1"]

    second = run_play(play, tmp_path)
    assert second.returncode == 0 and "changed=0" in second.stdout, second.stdout
    assert vcenter.state() == state


ROLE_VARS = """
- hosts: localhost
  connection: local
  gather_facts: false
  vars:
    rocemesh_vcenter_hostname: "{{ login.hostname }}"
    rocemesh_vcenter_port: "{{ login.port }}"
    rocemesh_vcenter_username: "{{ login.username }}"
    rocemesh_vcenter_password: "{{ login.password }}"
    rocemesh_vcenter_ca_path: "{{ login.ca_path }}"
"""
ROLE = """
  roles:
    - role: rocemesh.multinode.gpu_vm
      gpu_vm_name: bare
      gpu_vm_numa_node_affinity: []
      gpu_vm_wanted: {reserve_memory: true, use_64bit_mmio: true, mmio_size_gb: auto}
"""


def test_role_sets_prerequisites_where_told_and_is_idempotent(
    vcenter: Vcenter, play: list[str], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "play.yml").write_text(ROLE_VARS + ROLE)
    change_while_off(vcenter, "bare", {"pciPassthru.64bitMMIOSizeGB": "32", "pciPassthru.use64bitMMIO": ""})
    first = run_play(play, tmp_path)
    assert first.returncode == 0, first.stdout + first.stderr
    extra = vcenter.vm("bare")["extra_config"]
    assert (extra["pciPassthru.use64bitMMIO"], extra["pciPassthru.64bitMMIOSizeGB"]) == ("TRUE", "128")
    second = run_play(play, tmp_path)
    assert second.returncode == 0 and "changed=0" in second.stdout, second.stdout


EMPTY_MEANS_LEFT_ALONE = """
  roles:
    - role: rocemesh.multinode.gpu_vm
      gpu_vm_name: split
      gpu_vm_numa_node_affinity: []
      gpu_vm_wanted: {reserve_memory: null, use_64bit_mmio: null}
"""


def test_role_leaves_the_numa_key_of_a_vm_that_has_one_when_the_list_is_empty(
    vcenter: Vcenter, play: list[str], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "play.yml").write_text(ROLE_VARS + EMPTY_MEANS_LEFT_ALONE)
    change_while_off(vcenter, "split", {"numa.nodeAffinity": "1"})
    done = run_play(play, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert vcenter.vm("split")["extra_config"]["numa.nodeAffinity"] == "1"


WINDOW = """
  tasks:
    - name: While it runs, named by its id
      ansible.builtin.include_role:
        name: rocemesh.multinode.gpu_vm
        tasks_from: pending
      vars:
        gpu_vm_name: "{{ moid }}"

    - name: Ids and names as vCenter has them, changes as data
      ansible.builtin.assert:
        that:
          - gpu_vm_pending.vm == 'gpu02' and gpu_vm_pending.vm_moid == moid
          - gpu_vm_pending.esxi_host == 'esx01' and gpu_vm_pending.esxi_host_moid is match('host-')
          - gpu_vm_pending.changes | map(attribute='key') | list
            == ['pciPassthru.allowP2P', 'pciPassthru.RelaxACSforP2P', 'numa.nodeAffinity']
          - gpu_vm_pending.changes[2].after == '1' and gpu_vm_pending.wanted.numa_node_affinity == ['1']

    - name: Down
      ansible.builtin.uri:
        url: "{{ control }}/guest"
        method: POST
        body_format: json
        body: {vm: gpu02, power: "off"}

    - name: While it is off
      ansible.builtin.include_role:
        name: rocemesh.multinode.gpu_vm
        tasks_from: apply_pending
      vars:
        gpu_vm_plan: "{{ gpu_vm_pending }}"
"""


@pytest.mark.parametrize("fault", ["", "task_error"])
def test_window_applies_the_plan_that_was_made_while_the_vm_ran(
    vcenter: Vcenter, play: list[str], tmp_path: pathlib.Path, fault: str
) -> None:
    (tmp_path / "play.yml").write_text(ROLE_VARS + WINDOW)
    moid = run_module("vmx_passthru", {**vcenter.login, "vm": "gpu02"}, check=True)["vm_moid"]
    if fault:
        vcenter.fault(fault, method="ReconfigVM_Task", vm="gpu02", fault="InvalidVmConfig", message="no such luck")
    done = run_play(play, tmp_path, "-e", f"moid={moid}", "-e", f"control={vcenter.control}")
    vm = vcenter.vm("gpu02")
    assert vm["power"] == "on", "whatever is refused, it ran before and runs after"
    if fault:
        assert done.returncode != 0 and "no such luck" in done.stdout
        assert "gpu02 is powered" in done.stdout and "missing: pciPassthru.allowP2P" in done.stdout
    else:
        assert done.returncode == 0, done.stdout + done.stderr
        assert vm["in_force"]["numa.nodeAffinity"] == "1"
