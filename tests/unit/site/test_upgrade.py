"""What an upgrade has to do on a node, whether the node is worse after it, and which window it needs."""

from __future__ import annotations

import copy
import json
import pathlib
import subprocess
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.rocemesh.multinode.plugins.module_utils._site import plan_table
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.reboot import windows
from ansible_collections.rocemesh.multinode.plugins.plugin_utils.decisions import fabric_pair

from tests.older_core import trust_as_template
from tests.unit.decisions import decide
from tests.unit.roles.collection import ROOT, tasks
from tests.unit.site.test_reboot_windows import KEYED, QUIET_HOST, QUIET_NIC, UNKEYED, WAITING_NIC

WANTED = {"packages": {"doca-ofed": "3.2", "nvidia-fabricmanager-570": "570.1"}}
OLD = "package doca-ofed installed 3.1\npackage nvidia-fabricmanager-570 installed 570.1\n"
NEW = OLD.replace("3.1", "3.2")
APT = "apt Inst doca-ofed [3.1] (3.2 mirror [all])\napt Conf doca-ofed (3.2 mirror [all])\napt_rc 0\n"
MONDAY, A_SECOND_LATER, TUESDAY = (
    "2026-01-05T06:00:00+00:00",
    "2026-01-05T06:00:01+00:00",
    "2026-01-06T06:00:00+00:00",
)
RECORD = {"before": {}, "firmware": False, "host_boot": MONDAY}


def pending(probe: str, **more: Any) -> dict[str, Any]:
    return decide("upgrade", host="gpu01", wanted={**WANTED, **more.pop("wanted", {})}, probe=probe, **more)


def record(**changes: Any) -> str:
    return f"record {json.dumps({**RECORD, **changes})}\n"


@pytest.mark.parametrize(
    ("probe", "due", "restart", "has_texts"),
    [
        pytest.param(NEW + "apt_rc 0\n", {}, "none", False, id="right"),
        pytest.param(OLD + APT, {"doca-ofed": "3.2"}, "guest", True, id="old"),
        pytest.param("apt_rc 0\n", WANTED["packages"], "guest", True, id="nothing_installed"),
        pytest.param(
            OLD.replace("installed 3.1", "half-configured 3.2") + "apt_rc 100\n" + record(),
            {"doca-ofed": "3.2"}, "guest", True, id="killed_in_dpkg",
        ),
        pytest.param(NEW + record() + "restart\n", {}, "guest", True, id="killed_before_restart"),
        pytest.param(NEW + record(), {}, "none", True, id="killed_before_proof"),
        pytest.param(NEW + record(firmware=True), {}, "esxi_host", True, id="firmware_and_host_not_booted"),
        pytest.param(NEW + record(firmware=True, host_boot=A_SECOND_LATER), {}, "esxi_host", True, id="clock_set"),
        pytest.param(NEW + record(firmware=True, host_boot=TUESDAY), {}, "none", True, id="firmware_and_host_booted"),
    ],
)  # fmt: skip
def test_what_waits_follows_from_what_the_node_says(
    probe: str, due: dict[str, str], restart: str, has_texts: bool
) -> None:
    found = pending(probe, host_boot=MONDAY)
    assert (found["due"], found["restart"], bool(found["texts"]), found["problem"]) == (due, restart, has_texts, "")
    assert found["diff"]["after"] == due and all(each["reboot"] == restart for each in found["operations"])


READ = next(task for task in tasks(ROOT / "playbooks/tasks/upgrade_read.yml") if "rocemesh.multinode.decide" in task)


def test_host_that_was_rebooted_for_its_firmware_is_proved_in_the_same_run() -> None:
    """Boot times are read when a run begins: those of before the window would ask for the reboot again. --limit may
    leave the first host out."""
    vm = {"esxi_host_moid": "host-1", "vcenter_uuid": "a"}
    known = {
        "groups": {"esxi_hosts": ["esx00", "esx01"]},
        "hostvars": {"esx00": {}, "esx01": {"window_rows": {"esx01": {**vm, "boot_time": MONDAY}}}},
        "vm": vm,
    }
    told = trust_as_template(READ["rocemesh.multinode.decide"]["options"]["host_boot"])

    def asked(**more: Any) -> str:
        return str(Templar(loader=DataLoader(), variables={**known, **more}).template(told)).strip()

    assert asked() == MONDAY
    for none_done in ({"skipped": True}, {"boot_time_after": None}):
        assert asked(window_reboot=none_done) == MONDAY
    after = asked(window_reboot={"boot_time_after": TUESDAY})
    assert pending(NEW + record(firmware=True), host_boot=after)["restart"] == "none"


def test_node_without_packages_of_its_own_has_nothing_to_do() -> None:
    """One node goes first, and of the others the inventory names the scheduler alone."""
    known = {"upgraded": "gpu02", "hostvars": {"gpu02": {"rocemesh_upgrade": {"scheduler": {"kind": "slurm"}}}}}
    named = {key: trust_as_template(value) for key, value in READ["vars"].items()}
    told = trust_as_template(READ["environment"]["PACKAGES"])
    assert not str(Templar(loader=DataLoader(), variables={**known, **named}).template(told)).strip()
    assert decide("upgrade", wanted={}, probe="apt_rc 0\n")["texts"] == []


@pytest.mark.parametrize(
    ("rdma", "gpus", "begins"),
    [
        ({"devices": []}, {"gpus": None}, True),
        ({"msg": "no answer"}, {"gpus": None}, False),
        ({"devices": []}, {"msg": "Traceback"}, False),
    ],
)
def test_upgrade_does_not_begin_with_a_reading_that_failed(
    rdma: dict[str, Any], gpus: dict[str, Any], begins: bool
) -> None:
    """No card and no GPU is a reading; after that, everything is as good as before."""
    (asked,) = [task for task in tasks(ROOT / "playbooks/tasks/upgrade_state.yml") if "ansible.builtin.assert" in task]
    templar = Templar(loader=DataLoader(), variables={"upgrade_rdma": rdma, "upgrade_gpus": gpus, "upgraded": "gpu01"})
    that = [f"{{{{ {each} }}}}" for each in asked["ansible.builtin.assert"]["that"]]
    assert all(templar.template(trust_as_template(each)) for each in that) is begins
    said = templar.template(trust_as_template(asked["ansible.builtin.assert"]["fail_msg"]))
    assert begins or (rdma.get("msg") or gpus["msg"]) in said


def test_what_was_kept_comes_back_as_it_was(tmp_path: pathlib.Path) -> None:
    """The shell's own echo reads a backslash."""
    kept = {"before": {"gpus": {"unreadable": [{"why": "two\nlines, C:\\x1b"}]}}}
    (tmp_path / "record").write_text(json.dumps(kept) + "\n")
    told = {"RECORD": str(tmp_path / "record"), "CHANGED": str(tmp_path / "none"), "PACKAGES": ""}
    done = subprocess.run(
        ["/bin/sh", "-c", READ["rocemesh.multinode.decide"]["script"]],
        env={**told, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert pending(done.stdout)["record"] == kept


def test_way_back_is_the_versions_that_were_there() -> None:
    found = pending("package doca-ofed installed 3.1\napt_rc 0\n")
    assert found["undo"] == ["apt-get install --allow-downgrades doca-ofed=3.1"]
    assert found["found"] == {"doca-ofed": "3.1", "nvidia-fabricmanager-570": None}


@pytest.mark.parametrize(
    ("apt", "options", "words"),
    [
        ("apt E: Version '3.2' for 'doca-ofed' was not found\napt_rc 100\n", {}, "Version '3.2'"),
        (APT + "apt Remv docker.io [24]\n", {}, "docker.io"),
        (APT + "apt Remv libnvidia-550 [24]\n", {"wanted": {"removes": ["libnvidia-*"]}}, ""),
        (APT + "apt Inst mlnx-fw-updater (25 mirror [all])\n", {}, "guest_allow_firmware_update"),
        (APT + "apt Inst mlnx-fw-updater (25 mirror [all])\n", {"firmware_allowed": True}, ""),
    ],
    ids=["unknown_version", "removal", "named_removal", "firmware", "allowed_firmware"],
)
def test_what_nobody_asked_for_is_refused(apt: str, options: dict[str, Any], words: str) -> None:
    found = pending(OLD + apt, **options)
    assert (words in found["problem"] and found["problem"]) if words else not found["problem"]
    assert (found["restart"] == "esxi_host") is ("mlnx-fw" in apt)
    # What an upgrade that is not proved leaves allows nothing: it may be another upgrade that goes on from there.
    going_on = pending(OLD + apt + record(), **options)["problem"]
    assert going_on == ("" if "apt_rc 100" in apt else found["problem"]), "apt says nothing of what is half done"


GPU = {"index": 0, "bus": "0000:3b:00.0", "name": "H100", "nvlinks_active": 18, "pcie_width": 16}
PORT = {
    "name": "mlx5_0", "pci": "0000:13:00.0", "port": 1, "state": "ACTIVE", "rate": "400 Gb/sec (4X NDR)",
    "active_mtu": 4096, "netdev_mtu": 9000, "pcie": {"current_link_width": 16, "current_link_speed": 32.0},
    "qos": {"trust": "dscp", "pfc_priorities": [3]}, "roce_gid_ipv4": "10.1.0.11",
}  # fmt: skip
STATE: dict[str, Any] = {
    "rdma": {"devices": [PORT]},
    "gpus": {"gpus": [{"index": 0}], "state": [GPU], "problems": [], "fabric_manager": {"state": "active"}},
    "ats": {"active": True},
}


def worse(place: tuple[Any, ...], value: Any) -> list[str]:
    after = copy.deepcopy(STATE)
    inner = after
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    found: list[str] = decide("upgrade", host="gpu01", before=STATE, after=after)["worse"]
    return found


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("rdma", "devices"), [], "gone"),
        (("rdma", "devices", 0, "state"), "DOWN", "DOWN"),
        (("rdma", "devices", 0, "rate"), "200 Gb/sec (4X HDR)", "200 Gb"),
        (("rdma", "devices", 0, "active_mtu"), 1024, "1024"),
        (("rdma", "devices", 0, "netdev_mtu"), 1500, "1500"),
        (("rdma", "devices", 0, "pcie", "current_link_width"), 8, "width"),
        (("rdma", "devices", 0, "pcie", "current_link_speed"), 16.0, "speed"),
        (("rdma", "devices", 0, "qos", "trust"), "pcp", "pcp"),
        (("rdma", "devices", 0, "qos", "pfc_priorities"), [], "pfc"),
        (("rdma", "devices", 0, "roce_gid_ipv4"), None, "GID"),
        (("gpus", "gpus"), None, "0 GPUs"),
        (("gpus", "fabric_manager", "state"), "failed", "Fabric Manager"),
        (("gpus", "state", 0, "nvlinks_active"), 12, "12 NVLinks"),
        (("gpus", "state", 0, "pcie_width"), 8, "8 PCIe"),
        (("gpus", "state", 0, "ecc_uncorrected"), 3, "GPU 0"),
        (("gpus", "problems"), ["nvidia-smi says no"], "nvidia-smi"),
        (("ats", "active"), False, "ATS"),
    ],
)
def test_each_thing_that_is_worse_is_named(place: tuple[Any, ...], value: Any, words: str) -> None:
    found = worse(place, value)
    assert found and all(text.startswith("gpu01: ") for text in found) and words in " ".join(found)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("rdma", "devices", 0, "rate"), "800 Gb/sec (4X XDR)"),
        (("rdma", "devices", 0, "firmware"), "28.44.1000"),
        (("rdma", "devices", 0, "pcie", "current_link_width"), 32),
        (("gpus", "driver"), {"loaded": "570.2", "installed": "570.2"}),
        (("gpus", "state", 0, "nvlinks_active"), 20),
    ],
)
def test_better_or_newer_is_not_worse(place: tuple[Any, ...], value: Any) -> None:
    assert worse(place, value) == []


def test_trouble_that_was_there_before_is_not_of_the_upgrade() -> None:
    before = copy.deepcopy(STATE)
    before["rdma"]["devices"][0]["state"] = "DOWN"
    before["gpus"]["state"][0]["ecc_uncorrected"] = 3
    before["gpus"]["problems"] = ["nvidia-smi says no"]
    assert decide("upgrade", host="gpu01", before=before, after=before)["worse"] == []
    assert decide("upgrade", host="gpu01", before=before, after=STATE)["worse"] == []


@pytest.mark.parametrize(
    ("vm", "nic", "restart", "expected"),
    [
        (KEYED, QUIET_NIC, "guest", (False, False, ["gpu01"], ["gpu01"])),
        (KEYED, QUIET_NIC, "none", (False, False, [], [])),
        (KEYED, QUIET_NIC, "esxi_host", (True, True, [], ["gpu01"])),
        (UNKEYED, QUIET_NIC, "guest", (False, False, [], ["gpu01"])),
        (KEYED, WAITING_NIC, "guest", (True, True, [], ["gpu01"])),
    ],
    ids=["guest alone", "proof alone", "firmware", "with keys", "with the host"],
)
def test_upgrade_has_a_window_and_one_restart_in_it(
    vm: dict[str, Any], nic: dict[str, Any], restart: str, expected: tuple[Any, ...]
) -> None:
    upgrades = {"gpu01": {"texts": ["doca-ofed: 3.1 -> 3.2"], "restart": restart}}
    (window,) = windows({"esx01": QUIET_HOST}, {"gpu01": vm}, {"gpu01": nic}, upgrades=upgrades)
    assert (window.reboot, window.nics, window.restart, window.vms) == expected
    assert window.needed and window.upgrade == ["gpu01"] and any("doca-ofed" in reason for reason in window.reasons)


def site(record_of: str = "") -> dict[str, Any]:
    hosts = {
        f"esx0{number}": {
            "esxi_host_pending": {
                **QUIET_HOST,
                "host": f"esx0{number}",
                "host_moid": f"host-{number}",
                "vcenter_uuid": "a",
            }
        }
        for number in (1, 2)
    }
    vms = {
        f"gpu0{number}": {
            "gpu_vm_pending": {
                **KEYED, "esxi_host": f"esx0{number}", "esxi_host_moid": f"host-{number}", "vcenter_uuid": "a",
            },
            "guest_pending": QUIET_NIC,
            "upgrade_pending": {
                "texts": ["tiny: 1 -> 2"], "restart": "guest", "record": RECORD if f"gpu0{number}" == record_of else {},
            },
        }
        for number in (1, 2)
    }  # fmt: skip
    return {"hostvars": {**hosts, **vms}}


@pytest.mark.parametrize(("unfinished", "first"), [("", "esx01"), ("gpu01", "esx01"), ("gpu02", "esx02")])
def test_unfinished_host_is_the_first_and_hosts_go_one_by_one(unfinished: str, first: str) -> None:
    options = {"hosts": ["esx01", "esx02"], "vms": ["gpu01", "gpu02"], "max_unavailable": 2}
    found = decide("site_windows", site(unfinished), **options)
    assert (found["waiting"][0]["host"], len(found["waiting"]), found["batch"]) == (first, 2, 1)


def test_plan_shows_the_windows_of_an_upgrade() -> None:
    rows = plan_table.rows_of("upgrade", "gpu01", pending(OLD + APT)["operations"])
    (window,) = plan_table.windows(rows, {"esx01": QUIET_HOST}, {"gpu01": KEYED}, {"gpu01": QUIET_NIC}, (15, 5))
    assert (window.devices, window.interrupts, window.restart, window.minutes) == (("esx01",), "gpu01", "guest", 5)


FAULT = {"thing": "slow", "kind": "nic", "place": "gpu02 rail 0", "hosts": ["gpu02"], "found": "half"}


@pytest.mark.parametrize(
    ("changes", "missing", "count"),
    [
        ({}, [], 1),
        ({"hosts": ["gpu01"]}, [], 0),
        ({"thing": "firmware"}, [], 0),
        ({"kind": "gpu"}, [], 0),
        ({"kind": "gpu"}, ["gpu02"], 1),
    ],
)
def test_faults_of_the_pair_that_concern_the_host_count(
    changes: dict[str, Any], missing: list[str], count: int
) -> None:
    document = {"faults": [{**FAULT, **changes}], "missing": missing}
    assert len(fabric_pair.judged("gpu02", ["gpu01", "gpu02"], 0, "", [document])["worse"]) == count


def test_fabric_without_an_answer_is_no_proof() -> None:
    said = '"msg": "The fabric is not checked: the image lacks a program of ib_write_bw"'
    found = fabric_pair.judged("gpu02", ["gpu01", "gpu02"], 0, said, [])
    assert found["worse"] == [] and "ib_write_bw" in found["note"]
    assert fabric_pair.judged("gpu02", ["gpu01", "gpu02"], 2, f"fatal: [gpu01]: FAILED!\n{said}", [])["worse"]
    assert fabric_pair.judged("gpu02", ["gpu01", "gpu02"], 0, "", [])["worse"]


@pytest.mark.parametrize(
    ("playbook", "expected"),
    [
        ("/a/playbooks/upgrade.yml", "/a/playbooks/fabric.yml"),
        ("rocemesh.multinode.upgrade", "rocemesh.multinode.fabric"),
    ],
)
def test_fabric_is_played_with_the_arguments_of_this_run(playbook: str, expected: str) -> None:
    words = ["ansible-playbook", "-i", "hosts.yml", "-l", "gpu02,esx02", playbook, "-e", "a=1"]
    played = ["ansible-playbook", "-i", "hosts.yml", "-l", "gpu02,esx02", expected, "-e", "a=1", "--limit", "all"]
    assert fabric_pair.command(words, [playbook]) == played
