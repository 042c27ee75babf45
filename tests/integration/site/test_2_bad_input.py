# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad input and broken devices: a message that names host, value and cause; nothing changed, nothing lost."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from typing import Any

import pytest

from tests import site_run


@dataclasses.dataclass(frozen=True)
class Case:
    """``says``: every pattern must be in the output; ``fault`` is injected into ``program`` first."""

    playbook: str
    says: tuple[str, ...]
    override: dict[str, Any] = dataclasses.field(default_factory=dict)
    program: str = "physics"
    fault: dict[str, Any] = dataclasses.field(default_factory=dict)


CASES = {
    "unknown_kernel_setting": Case(
        "esxi.yml",
        ("esx01", "atsSuport", "atsSupport"),
        {"esxi_host_kernel_settings": {"atsSuport": True}},
    ),
    "vm_that_does_not_exist": Case("power.yml", ("gpu99", "no such VM"), {"gpu_vm_name": "gpu99"}),
    "two_vms_of_one_name": Case(
        "power.yml",
        ("gpu01", "2 VMs|two VMs|ambiguous"),
        program="vsphere",
        fault={"name": "duplicate_vm", "vm": "gpu01"},
    ),
    "vlan_0": Case("switch.yml", (r"127\.78\.0\.2|sw01", r"\b0\b", "4094"), {"switch_vlan": 0}),
    "vlan_4095": Case("switch.yml", (r"127\.78\.0\.2|sw01", "4095", "4094"), {"switch_vlan": 4095}),
    "port_range_that_does_not_exist": Case("switch.yml", ("1/40", "sw01|127"), {"switch_ports": ["1/30-1/40"]}),
    "trunk_port_as_access_port": Case("switch.yml", ("trunk", "100"), {"switch_ports": ["1/31"]}),
    "mtu_99999": Case("switch.yml", ("99999", "9216"), {"switch_mtu": 99999}),
    "wrong_password_of_the_switch": Case(
        "switch.yml", (r"127\.78\.0\.2", "admin", "password|login|authentication"), {"switch_password": "wrong-one"}
    ),
    "wrong_password_of_vcenter": Case(
        "esxi.yml", (r"127\.78\.0\.3", "administrator@vsphere.local"), {"rocemesh_vcenter_password": "wrong-one"}
    ),
    "wrong_login_of_a_node": Case(
        "power.yml", ("gpu01", "nobody-here", "Permission denied", "What to do"), {"ansible_user": "nobody-here"}
    ),
    "switch_that_does_not_answer": Case("switch.yml", (r"127\.78\.0\.2", "2299"), {"switch_port": 2299}),
    "vcenter_certificate_that_does_not_verify": Case(
        "esxi.yml",
        (r"127\.78\.0\.3", "certificate", "ca_path"),
        {"rocemesh_vcenter_ca_path": "/etc/ssl/certs/ca-certificates.crt"},
    ),
    "nic_that_is_a_vf": Case(
        "guest.yml",
        ("gpu02", "0000:3b:00", "VF|virtual function"),
        fault={"name": "nic_is_vf", "vm": "gpu02"},
    ),
    "nic_without_ats_in_its_firmware": Case(
        "guest.yml", ("gpu03", "firmware", "ATS_ENABLED"), fault={"name": "nic_without_ats", "vm": "gpu03"}
    ),
    "gpu_and_nic_on_different_numa_nodes": Case(
        "reboot.yml", ("gpu04", "NUMA"), program="vsphere", fault={"name": "numa_mismatch", "vm": "gpu04"}
    ),
    "registry_that_is_down": Case("image.yml", ("registry:5000", "gpu0"), fault={"name": "registry_down"}),
}


@pytest.mark.usefixtures("twin")
@pytest.mark.parametrize("name", CASES)
def test_bad_input(name: str) -> None:
    case = CASES[name]
    with site_run.fault(case.program, **case.fault) if case.fault else contextlib.nullcontext():
        before = site_run.durable()
        run = site_run.play(case.playbook, "-e", json.dumps(case.override), timeout=300)
        assert run.rc != 0, run.tail()
        missing = [pattern for pattern in case.says if not re.search(pattern, run.out)]
        assert not missing, f"the output does not say {missing}\n{run.tail()}"
        assert "Traceback" not in run.out, run.tail()
        assert site_run.durable() == before, "something was changed"


@pytest.mark.usefixtures("twin")
def test_worker_whose_sshd_is_stopped_during_mpirun() -> None:
    def stop_sshd(_pid: int) -> None:
        site_run.on_node("gpu04", "systemctl", "stop", "ssh.service")

    try:
        run = site_run.play("run.yml", *site_run.SHORT, when=(r"TASK \[.*Run mpirun: hostname", stop_sshd), timeout=600)
    finally:
        site_run.on_node("gpu04", "systemctl", "start", "ssh.service")
    assert run.rc != 0, run.tail()
    for pattern in ("gpu04|10\\.78\\.0\\.14", "refused", "What to do"):
        assert re.search(pattern, run.out), f"the output does not say {pattern}\n{run.tail()}"
