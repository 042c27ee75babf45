"""Bad input and broken devices: a message that names host, value and cause; nothing changed, nothing lost.

A wrong setting of a role costs no playbook of its own: the same device stands in one inventory once per wrong setting,
under the name of the case, and one play hears what the roles say to each (bad_input.yml). What the modules refuse is
tested with them; here, that the role hands the value on and its words come out whole. A broken device wants the site's
own playbook.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests import site_run

SWITCH = {"ansible_host": "127.78.0.2"}
WRONG: dict[str, dict[str, tuple[dict[str, Any], tuple[str, ...]]]] = {
    "bad_switches": {
        "vlan_0": ({"switch_vlan": 0}, (r"127\.78\.0\.2", r"\b0\b", "4094")),
        "vlan_4095": ({"switch_vlan": 4095}, (r"127\.78\.0\.2", "4095", "4094")),
        "port_range_that_does_not_exist": ({"switch_ports": ["1/30-1/40"]}, ("1/40", r"127\.78\.0\.2")),
        "trunk_port_as_access_port": ({"switch_ports": ["1/31"]}, ("trunk", "100")),
        "mtu_99999": ({"switch_mtu": 99999}, ("99999", "9216")),
        "wrong_password_of_the_switch": (
            {"switch_password": "wrong-one"},
            (r"127\.78\.0\.2", "admin", "password|login|authentication"),
        ),
        "switch_that_does_not_answer": ({"switch_port": 2299}, (r"127\.78\.0\.2", "2299")),
    },
    "bad_hosts": {
        "unknown_kernel_setting": (
            {"esxi_host_kernel_settings": {"atsSuport": True}},
            ("esx01", "atsSuport", "atsSupport"),
        ),
        "wrong_password_of_vcenter": (
            {"rocemesh_vcenter_password": "wrong-one"},
            (r"127\.78\.0\.3", "administrator@vsphere.local"),
        ),
        "vcenter_certificate_that_does_not_verify": (
            {"rocemesh_vcenter_ca_path": "/etc/ssl/certs/ca-certificates.crt"},
            (r"127\.78\.0\.3", "certificate", "ca_path"),
        ),
    },
    "bad_vms": {
        "vm_that_does_not_exist": ({"gpu_vm_name": "gpu99"}, ("gpu99", "no such VM")),
        "two_vms_of_one_name": ({"gpu_vm_name": "gpu01"}, ("gpu01", "2 VMs|two VMs|ambiguous")),
    },
}
COMMON = {"bad_switches": SWITCH, "bad_hosts": {"esxi_host_name": "esx01"}, "bad_vms": {}}
CASES = [(group, name) for group, cases in WRONG.items() for name in cases]


@pytest.fixture(scope="module")
def inventory(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Beside the lab's own: the groups of the wrong settings; switches take the settings of the lab's switches."""
    # The lab's settings look for its secrets beside the file that names the host.
    lab = {"rocemesh_lab_dir": str(site_run.LAB.resolve())}
    groups = {
        group: {"hosts": {name: {**lab, **COMMON[group], **override} for name, (override, _says) in cases.items()}}
        for group, cases in WRONG.items()
    }
    switches = {"switches": {"children": {"bad_switches": None}}}
    path = tmp_path_factory.mktemp("bad") / "bad.yml"
    path.write_text(json.dumps({**groups, **switches}))
    return path


@pytest.fixture(scope="module")
def heard(twin: None, inventory: pathlib.Path) -> dict[str, str]:
    """Name of the case -> what its host failed with."""
    with pytest.MonkeyPatch.context() as patch, site_run.fault("vsphere", name="duplicate_vm", vm="gpu01"):
        patch.setenv("ANSIBLE_STDOUT_CALLBACK", "ansible.posix.json")
        before = site_run.durable()
        playbook = pathlib.Path(__file__).with_name("bad_input.yml")
        run = site_run.play(str(playbook), "-i", str(inventory), timeout=300)
        assert site_run.durable() == before, "something was changed"
    assert run.rc != 0, run.tail()
    assert "Traceback" not in run.out, run.tail()
    # What callbacks say for a person stands behind it.
    said, _end = json.JSONDecoder().raw_decode(run.out[run.out.index("{") :])
    return {
        host: json.dumps(result)
        for each in said["plays"]
        for task in each["tasks"]
        for host, result in task["hosts"].items()
        if result.get("failed") or result.get("unreachable")
    }


@pytest.mark.parametrize(("group", "name"), CASES, ids=[name for _group, name in CASES])
def test_bad_input(group: str, name: str, heard: dict[str, str]) -> None:
    assert name in heard, f"{name} was not refused"
    missing = [pattern for pattern in WRONG[group][name][1] if not re.search(pattern, heard[name])]
    assert not missing, f"the message does not say {missing}\n{heard[name]}"


@dataclasses.dataclass(frozen=True)
class Case:
    """``says``: every pattern must be in the output; ``faults`` (program, fault) are injected first."""

    playbook: str
    says: tuple[str, ...]
    override: dict[str, Any] = dataclasses.field(default_factory=dict)
    faults: tuple[tuple[str, dict[str, Any]], ...] = ()


BROKEN = {
    "wrong_login_of_a_node": Case(
        "power.yml", ("gpu01", "nobody-here", "Permission denied", "What to do"), {"ansible_user": "nobody-here"}
    ),
    "nic_that_is_a_vf_and_nic_without_ats_in_its_firmware": Case(
        "guest.yml",
        (r"gpu02\W[^\0]*0000:3b:00", "VF|virtual function", r"gpu03\W[^\0]*firmware", "ATS_ENABLED"),
        faults=(
            ("physics", {"name": "nic_is_vf", "vm": "gpu02"}),
            ("physics", {"name": "nic_without_ats", "vm": "gpu03"}),
        ),
    ),
    "gpu_and_nic_on_different_numa_nodes": Case(
        "reboot.yml", ("gpu04", "NUMA"), faults=(("vsphere", {"name": "numa_mismatch", "vm": "gpu04"}),)
    ),
    "registry_that_is_down": Case(
        "image.yml", ("registry:5000", "gpu0"), faults=(("physics", {"name": "registry_down"}),)
    ),
}


@contextlib.contextmanager
def injected(case: Case) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for program, fault in case.faults:
            stack.enter_context(site_run.fault(program, **fault))
        yield


@pytest.mark.usefixtures("twin")
@pytest.mark.parametrize("name", BROKEN)
def test_broken_device(name: str) -> None:
    case = BROKEN[name]
    with injected(case):
        before = site_run.durable()
        run = site_run.play(case.playbook, "-e", json.dumps(case.override), timeout=300)
        assert run.rc != 0, run.tail()
        missing = [pattern for pattern in case.says if not re.search(pattern, run.out)]
        assert not missing, f"the output does not say {missing}\n{run.tail()}"
        assert "Traceback" not in run.out, run.tail()
        assert site_run.durable() == before, "something was changed"


@pytest.mark.usefixtures("twin")
def test_worker_whose_container_stops_before_mpirun() -> None:
    def stop_container(_pid: int) -> None:
        site_run.on_node("gpu04", "docker", "stop", "mpicont")

    try:
        run = site_run.play(
            "run.yml", *site_run.SHORT, when=(r"TASK \[.*Run mpirun: hostname", stop_container), timeout=600
        )
    finally:
        site_run.on_node("gpu04", "docker", "start", "mpicont")
    assert run.rc != 0, run.tail()
    # A connection that is under way while the server stops is reset.
    for pattern in ("gpu04|10\\.78\\.0\\.14", "refused|Connection reset", "What to do"):
        assert re.search(pattern, run.out), f"the output does not say {pattern}\n{run.tail()}"
