"""The doctor on a whole site with one fault, and with two. ROCEMESH_GYM_PAIRS: how many pairs (all by hand: 300)."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.catalogue import catalogue, layers
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

from lab import cli, config, control, physics
from lab.gym import model, site, verbs
from lab.gym.faults import FAULTS
from lab.gym.questions import names_it
from lab.switch.faults import Faults as SwitchFaults

ROOT = Path(__file__).resolve().parents[3]
PAIRS = int(os.environ.get("ROCEMESH_GYM_PAIRS", "40"))


def test_a_right_site_is_healthy_and_nothing_is_found() -> None:
    found = diagnose(None, site.right())
    assert (found["verdict"], found["findings"], found["unknown"]) == ("healthy", [], [])


@pytest.mark.parametrize(
    "more",
    [
        {"switches/sw01/interfaces.txt": "Admin state : Disabled", "hosts/gpu02/ethtool.txt": "Link detected: no"},
        {"switches/sw01/interfaces.txt": "err-disabled", "hosts/gpu02/neighbours.txt": "192.0.2.9 dev ens9 FAILED"},
        {"switches/sw01/roce.txt": "RoCE mode : disabled", "job/job.log": "all-reduce: ~22.5 GB/s"},
        {"hosts/gpu02/lspci.txt": "VGA: GT 710\n\tKernel driver in use: nouveau"},
        {"esxi/esx01/vmkernel.log": "Device 0000:00:17.0 is not a passthrough device"},
        {"vms/gpu02/vmware.log": "PCIPassthru: Device 0000:3b:00.0 is already in use by another VM"},
    ],
    ids=["unused port", "unused address", "fast enough", "display card", "other function", "old log"],
)
def test_what_is_right_on_some_sites_makes_no_site_faulty(more: dict[str, str]) -> None:
    right = site.right()
    found = diagnose(None, {**right, **{name: f"{right.get(name, '')}\n{text}\n" for name, text in more.items()}})
    assert found["verdict"] == "cannot_tell"
    assert {finding["certainty"] for finding in found["findings"]} == {"candidate"}


def test_a_shut_port_beside_a_job_that_suffers_from_it_is_its_cause() -> None:
    more = {
        "switches/sw01/interfaces.txt": "Admin state : Disabled",
        "hosts/gpu02/ethtool.txt": "Link detected: no",
        "job/job.log": "NCCL WARN NET/IB : Got completion from peer with status=12 IBV_WC_RETRY_EXC_ERR(12)",
    }
    found = diagnose(None, {**site.right(), **more})
    assert (found["verdict"], found["findings"][0]["cause"]) == ("faulty", "switch_port_off")


@pytest.mark.parametrize("name", FAULTS)
def test_one_fault_is_named_first_at_its_place(name: str) -> None:
    fault = FAULTS[name]
    found = diagnose(None, model.broken([(fault, "gpu02")]))
    first = found["findings"][0]
    assert names_it(first, fault, "gpu02"), (first["cause"], first["hosts"])
    assert first["host"] == (model.where(fault, "gpu02") or first["host"])
    assert found["verdict"] != "healthy"


def drawn() -> list[tuple[str, str]]:
    rng, pairs = random.Random(7), []
    while len(pairs) < PAIRS:
        one, other = rng.sample(sorted(FAULTS), 2)
        try:
            model.broken([(FAULTS[one], "gpu02"), (FAULTS[other], "gpu03")])
        except model.Clash:
            continue
        pairs.append((one, other))
    return pairs


@pytest.mark.parametrize(("one", "other"), drawn())
def test_of_two_faults_both_are_among_the_first_three(one: str, other: str) -> None:
    first, second = FAULTS[one], FAULTS[other]
    found = diagnose(None, model.broken([(first, "gpu02"), (second, "gpu03")]))
    shown = found["findings"][:3]
    assert any(names_it(finding, first, "gpu02") for finding in shown), [finding["cause"] for finding in shown]
    assert any(names_it(finding, second, "gpu03") for finding in shown), [finding["cause"] for finding in shown]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("gid_sparse", "peermem_abi", id="what only follows from one stands behind the other"),
        pytest.param("kernel_without_p2pdma", "env_net_socket", id="the same for a kernel"),
        pytest.param("app_gpu_memory", "gpu_ecc", id="a broken GPU explains nothing of another host"),
        pytest.param("gpu_remap_failed", "gpu_gsp", id="nor of another host's GPU"),
        pytest.param("kernel_lockup", "kernel_hung_task", id="one cause on two hosts names both"),
        pytest.param("kernel_lockup", "nic_firmware_timeout", id="what one host says excludes nothing on another"),
        pytest.param("switch_vlan", "link_flaps", id="a port that is off does not flap"),
    ],
)
def test_of_these_two_faults_too(one: str, other: str) -> None:
    test_of_two_faults_both_are_among_the_first_three(one, other)


def test_the_table_is_whole_and_in_the_doctor_s_words() -> None:
    assert len(FAULTS) >= 80
    assert {fault.layer for fault in FAULTS.values()} == set(layers())
    for fault in FAULTS.values():
        assert all(catalogue().causes[cause].layer == fault.layer for cause in fault.causes), fault.name
        assert fault.source and fault.changes, fault.name


def test_the_lab_s_devices_know_every_fault_that_they_are_told() -> None:
    known = re.findall(r'^\t"(\w+)":', (ROOT / "lab/vsphere/faults.go").read_text(encoding="utf-8"), re.MULTILINE)
    told = [(fault.call, verbs.body(fault.call, "gpu02")) for fault in FAULTS.values() if fault.call]
    assert {call.program for call, _body in told} == set(verbs.PROGRAMS)
    for call, body in told:
        assert not re.search(r"[{}]", str([value for value in body.values() if isinstance(value, str)])), body
        if call.program == "switch":
            SwitchFaults().inject(body)
        elif call.program == "physics":
            assert set(body) == {"name", *physics.FAULTS[body["name"]]}
        else:
            assert body["name"] in known


def test_a_fault_is_set_at_its_device_and_cleared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said: list[tuple[str, str, Any]] = []

    def request(method: str, address: str, body: Any = None, timeout: float = 10) -> None:
        said.append((method, address, body))

    monkeypatch.setattr(control, "request", request)
    folder = tmp_path / "gym"
    text = verbs.set_fault("switch_drops", "gpu03", folder, up=True)
    assert "in the lab (switch)" in text
    # What was set before is taken back: the outputs speak of one fault.
    assert [(method, address) for method, address, _body in said[:-1]] == [
        ("DELETE", control.url(program, "/fault")) for program in verbs.PROGRAMS
    ]
    assert said[-1:] == [
        ("POST", control.url("switch", "/fault"), {"name": "counters", "port": "1/3", "tx_discards": 48211})
    ]
    assert diagnose(folder)["findings"][0]["cause"] == "switch_pfc"
    said.clear()
    verbs.clear(folder, up=True)
    assert [method for method, _address, _body in said] == ["DELETE"] * 3
    assert not folder.exists()


def test_without_the_lab_the_outputs_alone_are_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def request(*_arguments: Any, **_options: Any) -> None:
        raise AssertionError("the lab is not up")

    monkeypatch.setattr(control, "request", request)
    assert "is not up" in verbs.set_fault("switch_drops", "gpu02", tmp_path / "a", up=False)
    assert "no device of the lab" in verbs.set_fault("gpu_ecc", "gpu02", tmp_path / "b", up=False)
    assert "SIMULATED" in (tmp_path / "b" / "SIMULATED").read_text(encoding="utf-8")
    assert cli.main(["fault", "list"]) == 0
    assert "gpu_ecc" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "host", "says"), [("no_such", "gpu02", "no fault"), ("gpu_ecc", "gpu99", "no host 'gpu99'")]
)
def test_an_unknown_fault_or_host_is_refused(name: str, host: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(config.LabError, match=says):
        verbs.write(name, host, tmp_path / "gym")
    assert not (tmp_path / "gym").exists()


@pytest.mark.parametrize("marked", [False, True])
def test_a_folder_that_is_not_the_gym_s_is_left_alone(marked: bool, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    if marked:
        (tmp_path / "SIMULATED").write_text("of somebody else", encoding="utf-8")
    with pytest.raises(config.LabError, match="not the gym's"):
        verbs.write("gpu_ecc", "gpu02", tmp_path)
    verbs.clear(tmp_path, up=False)
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine"


def test_a_change_of_a_text_that_the_site_does_not_print_is_refused() -> None:
    fault = model.fault(
        "x", "gpu_hardware: gpu_fault", "host", "none", model.swap("hosts/{host}/df.txt", "no such", "")
    )
    with pytest.raises(ValueError, match="has no 'no such'"):
        model.broken([(fault, "gpu02")])
