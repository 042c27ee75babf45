"""Which of a run's changes go back: from its journal, the devices as they are, and later journals."""

from __future__ import annotations

import json
import pathlib
import resource
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.plugin_utils import journal, journal_file, restoring

from tests.unit.decisions import decide

RUN = "20261123T101500Z-4f2a"
LATER = "20261124T101500Z-00ff"
VARIABLES: dict[str, Any] = {
    "groups": {
        "all": ["leaf01", "esx01", "esx02", "gpu01"],
        "switches": ["leaf01"],
        "esxi_hosts": ["esx01", "esx02"],
        "gpu_vms": ["gpu01"],
    },
    "hostvars": {"leaf01": {}, "esx01": {"esxi_host_name": "esx01.example.org"}, "esx02": {}, "gpu01": {}},
}


def begin(run: str, **changes: Any) -> dict[str, Any]:
    known = {"kind": "begin", "schema": journal.SCHEMA, "run": run, "time": "t", "check_mode": False}
    return {**known, "account": "ada", "controller": "ctl", "playbook": "site.yml", "version": "0.1.0", **changes}


def change(module: str, host: str, before: dict[str, Any], after: dict[str, Any], **changes: Any) -> dict[str, Any]:
    known = {"kind": "change", "time": "t", "host": host, "layer": "", "task": f"Run {module}", "device": host}
    rest = {"identity": {}, "operations": [], "undo": ["by hand"], "reasons": []}
    return {**known, "module": journal.COLLECTION + module, **rest, "before": before, "after": after, **changes}


def sides(changes: dict[str, tuple[Any, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {key: old for key, (old, _new) in changes.items()}, {key: new for key, (_old, new) in changes.items()}


CHANGES = [
    change("onyx_roce", "leaf01", {"roce": None, "port 1/1 mtu": 1500}, {"roce": "lossless", "port 1/1 mtu": 9216},
           identity={"serial": "S1"}),
    change("esxi_kernel_setting", "esx01", {"esx01.example.org atsSupport": "FALSE", "esx02 atsSupport": "FALSE"},
           {"esx01.example.org atsSupport": "TRUE", "esx02 atsSupport": "TRUE"},
           identity={"vcenter_uuid": "u", "esxi_hosts": {
               "esx01.example.org": {"moid": "host-1", "uuid": "h1"}, "esx02": {"moid": "host-2", "uuid": "h2"}}}),
    change("mlxconfig_ats", "gpu01", {"0000:3b:00.0 ATS_ENABLED next boot": False},
           {"0000:3b:00.0 ATS_ENABLED next boot": True}),
    change("roce_interface", "gpu01", {"eth1 mtu": 1500}, {"eth1 mtu": 9000}),
    change("node_manifest", "gpu01", {"/etc/rocemesh/manifest.json": []}, {"/etc/rocemesh/manifest.json": ["x"]}),
    change("esxi_reboot", "esx01", {"boot": 1, "vm gpu01": "poweredOn"}, {"boot": 2, "vm gpu01": "poweredOff"}),
    change("vmx_passthru", "esx01", {"power": "poweredOff"}, {"power": "poweredOn"}, device="gpu01"),
    change("vmx_passthru", "esx01", {"pciPassthru.allowP2P": None, "numa.nodeAffinity": "1"},
           {"pciPassthru.allowP2P": "TRUE", "numa.nodeAffinity": "0"}, device="gpu01",
           identity={"vcenter_uuid": "u", "vm_moid": "vm-1"}),
    change("onyx_roce", "leaf01", {"port 1/1 mtu": 9216}, {"port 1/1 mtu": 9000}),
]  # fmt: skip
END = {"kind": "end", "time": "t", "status": "ok", "hosts": {}}
NOW: dict[str, Any] = {
    "leaf01": {
        "switch": {
            "serial": "S1",
            "before": {"roce": "lossless", "port 1/1 mtu": 9000},
            "left_alone": [],
            "operations": [{"description": "x"}],
        }
    },
    "esx01": {"esxi_host": {"before": {"atsSupport": "TRUE"}, "reboot_required": True, "name": "esx01.example.org"}},
    "esx02": {"esxi_host": {"before": {"atsSupport": "TRUE"}, "reboot_required": True, "name": "esx02"}},
    "gpu01": {
        "gpu_vm": {"before": {"pciPassthru.allowP2P": "TRUE", "numa.nodeAffinity": "0"}},
        "guest": {"before": {"0000:3b:00.0 ATS_ENABLED next boot": True}},
        "interface": {"before": {"eth1 mtu": 9000}, "left_alone": []},
        "esxi_host": {"name": "esx01.example.org", "moid": "host-1", "vcenter_uuid": "u"},
    },
}


def write(folder: pathlib.Path, run: str, *lines: dict[str, Any], more: str = "") -> None:
    (folder / f"{run}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + more)


def ask(folder: pathlib.Path, now: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    hostvars = {
        host: {**facts, **({"undo_now": now[host]} if now and host in now else {})}
        for host, facts in VARIABLES["hostvars"].items()
    }
    variables = {**VARIABLES, "hostvars": hostvars}
    return decide("undo", variables, folder=str(folder), **{"run": RUN, "judge": now is not None, **options})


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    write(tmp_path, RUN, begin(RUN), *CHANGES, END)
    return tmp_path


def test_undo_asks_each_device_for_the_values_before(folder: pathlib.Path) -> None:
    asked = ask(folder)["ask"]
    assert asked["esxi_host"]["esx01"] == {
        "vcenter_uuid": "u", "esxi_host_moid": "host-1", "settings": {"atsSupport": "FALSE"}
    }  # fmt: skip
    assert asked["switch"]["leaf01"]["before"] == {"roce": None, "port 1/1 mtu": 1500}
    assert asked["switch"]["leaf01"]["after"] == {"roce": "lossless", "port 1/1 mtu": 9000}
    assert asked["guest"]["gpu01"] == [{"state": "disabled", "device": ["0000:3b:00.0"]}]
    wanted = asked["gpu_vm"]["gpu01"]["wanted"]
    assert (wanted["absent"], wanted["numa_node_affinity"], wanted["relax_acs"]) == (["allow_p2p"], ["1"], None)


def test_undo_of_an_unchanged_site_takes_everything_back(folder: pathlib.Path) -> None:
    found = ask(folder, NOW)
    due = {layer: sorted(hosts) for layer, hosts in found["due"].items()}
    assert due.pop("esxi_host") == ["esx01", "esx02"]
    assert due == {
        "container": [],
        "mesh": [],
        "interface": ["gpu01"],
        "guest": ["gpu01"],
        "gpu_vm": ["gpu01"],
        "switch": ["leaf01"],
    }
    assert found["left"] == [] and found["restart"] and found["skipped"] == []
    assert found["hosts"]["esx01"]["esxi_settings"] == {"atsSupport": "FALSE"}


def test_undo_of_what_is_back_already_has_nothing_due(folder: pathlib.Path) -> None:
    nothing = {
        host: {layer: {**said, **({"before": {}} if "before" in said else {})} for layer, said in layers.items()}
        for host, layers in NOW.items()
    }
    found = ask(folder, nothing)
    assert all(hosts == [] for hosts in found["due"].values()) and found["left"] == []
    # What waits for a restart is still looked at.
    assert found["restart"] and found["hosts"]["gpu01"]["vm_wanted"]["absent"] == ["allow_p2p"]


def test_undo_names_who_changed_a_setting_since(folder: pathlib.Path) -> None:
    write(
        folder,
        LATER,
        begin(LATER, account="bob"),
        change("vmx_passthru", "gpu01", {"numa.nodeAffinity": "0"}, {"numa.nodeAffinity": "3"}),
        END,
    )
    now = {**NOW, "gpu01": {**NOW["gpu01"], "gpu_vm": {"before": {"numa.nodeAffinity": "3"}}}}
    found = ask(folder, now)
    (left,) = found["left"]
    assert all(word in left for word in ("gpu01", "numa.nodeAffinity", "'3'", "'0'", LATER, "bob"))
    assert found["hosts"]["gpu01"]["vm_wanted"]["numa_node_affinity"] is None


def test_undo_of_another_switch_is_refused(folder: pathlib.Path) -> None:
    other = {**NOW, "leaf01": {"switch": {**NOW["leaf01"]["switch"], "serial": "S2"}}}
    with pytest.raises(ValueError, match="leaf01: serial number is S2, expected S1"):
        ask(folder, other)


def test_undo_of_a_host_that_was_not_read_is_refused(folder: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=r"gpu01: g.*rocemesh_skip_hosts=gpu01"):
        ask(folder, {**NOW, "gpu01": {}})
    found = ask(folder, {**NOW, "gpu01": {}}, left_out=["gpu01"])
    assert len(found["left"]) == 4 and found["due"]["gpu_vm"] == []


def test_undo_leaves_what_no_module_call_takes_back(tmp_path: pathlib.Path) -> None:
    odd = [
        change("onyx_roce", "leaf07", {"port 1/1 mtu": 1500}, {"port 1/1 mtu": 9216}),
        change("fabric_of_tomorrow", "gpu01", {"eth1 mtu": 1500}, {"eth1 mtu": 9000}),
        change("vmx_passthru", "gpu01", *sides({"power": ("poweredOff", "poweredOn"), "firmware": ("bios", "efi")})),
        change("ssh_container_mesh", "gpu01", *sides({"/a": (None, ["y"]), "/b (marked block)": (["x"], ["z"])})),
    ]
    write(tmp_path, RUN, begin(RUN), *odd, END)
    found = ask(tmp_path, {})
    assert all(hosts == [] for hosts in found["due"].values())
    for word in ("leaf07", "Run fabric_of_tomorrow", "power", "firmware", "/a", "/b (marked block)"):
        assert any(word in left for left in found["left"]), word
    assert not found["restart"]


def test_undo_removes_a_mesh_that_the_run_made(tmp_path: pathlib.Path) -> None:
    write(tmp_path, RUN, begin(RUN), change("ssh_container_mesh", "gpu01", {"/a": None}, {"/a": ["y"]}), END)
    assert ask(tmp_path, {})["due"]["mesh"] == ["gpu01"]


def test_undo_removes_containers_with_the_mesh_that_the_run_made(tmp_path: pathlib.Path) -> None:
    def made(host: str, module: str, task: str) -> dict[str, Any]:
        return {**change("", host, {}, {}), "module": module, "layer": "container", "task": task}

    entries = [
        change("ssh_container_mesh", "gpu01", {"/a": None}, {"/a": ["y"]}),
        change("ssh_container_mesh", "esx01", {"/a": ["x"]}, {"/a": ["y"]}),
        made("gpu01", "ansible.builtin.file", "Build | Create the directory for the build context"),
        made("gpu01", "ansible.builtin.copy", "Install | Copy the CA certificate of the registry"),
        *(made(host, "community.docker.docker_container", "Run | Start the container") for host in ("gpu01", "esx01")),
    ]
    write(tmp_path, RUN, begin(RUN), *entries, END)
    found = ask(tmp_path, {})
    assert found["due"]["container"] == ["gpu01"] and found["hosts"]["gpu01"]["container"] == ["ca", "container"]
    assert any("esx01 container: container: the mesh was there before" in left for left in found["left"])
    write(tmp_path, LATER, begin(LATER, account="bob"), entries[-2], END)
    found = ask(tmp_path, {})
    assert found["hosts"]["gpu01"]["container"] == ["ca"] and any("bob" in left for left in found["left"])
    # An undo that was interrupted is no change of another user.
    undone = [
        made("gpu01", "community.docker.docker_container", "Absent | Remove the container"),
        change("ssh_container_mesh", "gpu01", {"/a": ["y"]}, {"/a": None}),
    ]
    write(tmp_path, LATER, begin(LATER, account="bob"), *undone)
    found = ask(tmp_path, {})
    assert found["hosts"]["gpu01"]["container"] == ["ca", "container"] and found["due"]["mesh"] == ["gpu01"]
    assert not any("bob" in left for left in found["left"])


def test_undo_of_all_runs_of_one_host_goes_back_to_the_first(tmp_path: pathlib.Path) -> None:
    """What remove_host asks for: from before the first run, of this host and its port, and of nothing else."""
    first = [
        *CHANGES,
        change("onyx_roce", "leaf01", {"port 1/2 mtu": 1500}, {"port 1/2 mtu": 9216}),
        change("ssh_container_mesh", "gpu01", {"/a": None}, {"/a": ["y"]}),
        change("ssh_container_mesh", "esx02", {"/a": None}, {"/a": ["y"]}),
    ]
    write(tmp_path, RUN, begin(RUN), *first, END)
    write(tmp_path, LATER, begin(LATER), change("ssh_container_mesh", "gpu01", {"/a": ["y"]}, {"/a": ["z"]}), END)
    part = {"hosts": ["gpu01"], "ports": {"leaf01": ["1/1"]}}
    asked = ask(tmp_path, run="all", only=part)["ask"]
    assert {layer: list(hosts) for layer, hosts in asked.items() if hosts} == {
        "gpu_vm": ["gpu01"],
        "guest": ["gpu01"],
        "interface": ["gpu01"],
        "switch": ["leaf01"],
        "mesh": ["gpu01"],
    }
    assert asked["switch"]["leaf01"]["before"] == {"port 1/1 mtu": 1500}
    found = ask(tmp_path, NOW, run="all", only=part)
    assert found["due"]["mesh"] == ["gpu01"] and found["left"] == []
    assert ask(tmp_path / "nothing", run="all", only=part)["ask"]["mesh"] == {}


def test_undo_of_a_killed_run_takes_back_what_its_plan_says(tmp_path: pathlib.Path) -> None:
    """The device tells how far the task had got: what has the value of the plan goes back, the rest is as before."""
    plan = {**CHANGES[0], "kind": "planned"}
    write(tmp_path, RUN, begin(RUN), CHANGES[2], plan, more='{"kind": "chan')
    found = ask(tmp_path)
    assert len(found["notes"]) == 3 and "leaf01: task 'Run onyx_roce'" in found["notes"][2]
    assert found["ask"]["switch"]["leaf01"]["before"] == {"roce": None, "port 1/1 mtu": 1500}
    half = {"switch": {"serial": "S1", "before": {"roce": "lossless"}, "left_alone": [], "operations": [{}]}}
    found = ask(tmp_path, {**NOW, "leaf01": half})
    assert found["due"]["switch"] == ["leaf01"] and found["left"] == []
    assert found["hosts"]["leaf01"]["switch"]["before"] == {"roce": None}


def test_undo_of_all_runs_keeps_what_a_killed_run_did_and_the_next_found(tmp_path: pathlib.Path) -> None:
    """The killed run had set the MTU; the next one found it right, and its change has the rest alone."""
    plan = {**CHANGES[0], "kind": "planned"}
    write(tmp_path, RUN, begin(RUN), plan)
    write(tmp_path, LATER, begin(LATER), change("onyx_roce", "leaf01", {"roce": None}, {"roce": "lossy"}), END)
    asked = ask(tmp_path, run="all")["ask"]["switch"]["leaf01"]
    assert asked["before"] == {"roce": None, "port 1/1 mtu": 1500}
    assert asked["after"] == {"roce": "lossy", "port 1/1 mtu": 9216}
    then = change("onyx_roce", "leaf01", {"roce": None, "port 1/1 mtu": 9216}, {"roce": "lossy", "port 1/1 mtu": 9000})
    write(tmp_path, LATER, begin(LATER), then, END)
    asked = ask(tmp_path, run="all")["ask"]["switch"]["leaf01"]
    assert (asked["before"]["port 1/1 mtu"], asked["after"]["port 1/1 mtu"]) == (1500, 9000)


def test_undo_knows_the_item_of_a_loop_that_broke_off_beside_one_that_did_not(tmp_path: pathlib.Path) -> None:
    other = change("mlxconfig_ats", "gpu01", {"0000:5e:00.0 ATS_ENABLED next boot": False},
                   {"0000:5e:00.0 ATS_ENABLED next boot": True})  # fmt: skip
    plans = [{**each, "kind": "planned"} for each in (CHANGES[2], other)]
    broken = {**other, "kind": "failed", "applied": [], "undo": None}
    write(tmp_path, RUN, begin(RUN), *plans, CHANGES[2], broken, END)
    assert sorted(ask(tmp_path)["ask"]["guest"]["gpu01"][0]["device"]) == ["0000:3b:00.0", "0000:5e:00.0"]


def test_undo_prefers_the_plan_of_a_task_that_failed(tmp_path: pathlib.Path) -> None:
    failed = {**CHANGES[0], "kind": "failed", "applied": ["roce lossless"], "undo": ["no roce"]}
    write(tmp_path, RUN, begin(RUN), {**CHANGES[0], "kind": "planned"}, failed, END)
    assert ask(tmp_path)["ask"]["switch"]["leaf01"]["before"]["roce"] is None
    write(tmp_path, RUN, begin(RUN), {**CHANGES[0], "kind": "planned"}, CHANGES[0], END)
    assert ask(tmp_path, NOW)["due"]["switch"] == ["leaf01"] and ask(tmp_path)["notes"] == []


@pytest.mark.parametrize(
    ("run", "lines", "words"),
    [
        ("20200101T000000Z-0000", None, RUN),
        ("../etc/passwd", None, "there is no journal"),
        (f"{RUN}-plan", None, "plan"),
        (RUN, ["x"], "line 1"),
        (RUN, [json.dumps(begin(RUN)), "x", json.dumps(END)], "line 2"),
        (RUN, [json.dumps(begin(RUN, schema=7))], "schema is 7"),
        (RUN, [json.dumps(END)], "first line"),
        (RUN, [], "first line"),
    ],
)
def test_journal_that_is_none_is_refused(folder: pathlib.Path, run: str, lines: list[str] | None, words: str) -> None:
    if lines is not None:
        (folder / f"{RUN}.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(journal_file.JournalError, match=words):
        ask(folder, run=run)


@pytest.mark.parametrize(
    ("key", "value", "option"),
    [
        ("pciPassthru.allowP2P", "TRUE", {"allow_p2p": True}),
        ("pciPassthru.allowP2P", "perhaps", None),
        ("pciPassthru.use64bitMMIO", None, {"absent": ["use_64bit_mmio"]}),
        ("pciPassthru.64bitMMIOSizeGB", "64", {"mmio_size_gb": "64"}),
        ("numa.nodeAffinity", None, {"numa_node_affinity": ["absent"]}),
        ("pciPassthru3.cfg.gpu-pci-id", None, {"gpu_pci_ids": {"3": ""}}),
        ("memoryReservationLockedToMax", False, {"reserve_memory": False}),
        ("memoryAllocation.reservation", 4096, None),
        ("firmware", "bios", None),
    ],
)
def test_vmx_option_gives_a_key_its_value_or_is_none(key: str, value: Any, option: dict[str, Any] | None) -> None:
    assert restoring.vmx_option(key, value) == option


# Two vCenters, each with a host esx01 (host-1) and on it a VM gpu01 (vm-1); those of the second have other names here.
TWINS: dict[str, Any] = {
    "groups": {
        "all": ["esx01", "esx02", "gpu01", "gpu02"], "esxi_hosts": ["esx01", "esx02"], "gpu_vms": ["gpu01", "gpu02"]
    },
    "hostvars": {
        "esx01": {"rocemesh_vcenter_hostname": "a"},
        "esx02": {"rocemesh_vcenter_hostname": "b", "esxi_host_name": "esx01"},
        "gpu01": {"rocemesh_vcenter_hostname": "a"},
        "gpu02": {"rocemesh_vcenter_hostname": "b", "gpu_vm_name": "gpu01"},
    },
}  # fmt: skip


def seen(vcenter: str, **changes: dict[str, str]) -> dict[str, Any]:
    """What vcenter_site_info says of both."""
    host = {"problem": "", "name": "esx01", "moid": "host-1", "uuid": f"host of {vcenter}", **changes.get("host", {})}
    vm = {"problem": "", "name": "gpu01", "moid": "vm-1", "uuid": f"vm of {vcenter}", **changes.get("vm", {})}
    return {"vcenter_uuid": vcenter, "hosts": [host], "vms": [vm]}


def twin_changes(vcenter: str, **none: Any) -> list[dict[str, Any]]:
    """Both settings on this vCenter, with the names and ids that the other has as well."""
    ids = {"vcenter_uuid": vcenter, "esxi_hosts": {"esx01": {"moid": "host-1", "uuid": f"host of {vcenter}"}}}
    vm = {"vcenter_uuid": vcenter, "vm_moid": "vm-1", "vm_uuid": f"vm of {vcenter}"}
    return [
        change("esxi_kernel_setting", "esx01", *sides({"atsSupport": ("FALSE", "TRUE")}), device="esx01",
               identity=none.get("identity", ids)),
        change("vmx_passthru", "gpu01", *sides({"numa.nodeAffinity": ("1", "0")}), device="gpu01",
               identity=none.get("identity", vm)),
    ]  # fmt: skip


def ask_twins(folder: pathlib.Path, entries: list[dict[str, Any]], judge: bool = False, **facts: Any) -> dict[str, Any]:
    write(folder, RUN, begin(RUN), *entries, END)
    hostvars = {host: {**said, **facts.get(host, {})} for host, said in TWINS["hostvars"].items()}
    return decide("undo", {**TWINS, "hostvars": hostvars}, folder=str(folder), run=RUN, judge=judge)


READ = {"esx01": {"undo_seen": seen("A")}, "esx02": {"undo_seen": seen("B")}}


def asked(found: dict[str, Any]) -> dict[str, Any]:
    """Host of the inventory -> vCenter and id that are asked."""
    return {
        host: (said.get("vcenter_uuid"), said.get("esxi_host_moid", said.get("vm_moid")))
        for layer in ("esxi_host", "gpu_vm")
        for host, said in found["ask"][layer].items()
    }


def test_undo_reads_each_vcenter_once_and_only_for_what_is_there(tmp_path: pathlib.Path) -> None:
    found = ask_twins(tmp_path, twin_changes("A"))
    assert {first: (each["names"], each["vms"]) for first, each in found["vcenters"].items()} == {
        "esx01": (["esx01"], ["gpu01"]), "esx02": (["esx01"], ["gpu01"])
    }  # fmt: skip
    card = [change("mlxconfig_ats", "gpu01", *sides({"0000:3b:00.0 ATS_ENABLED next boot": (False, True)}))]
    nowhere = {**TWINS, "hostvars": {host: {} for host in TWINS["hostvars"]}}
    for variables, entries, read in ((TWINS, card, 2), (nowhere, card, 0), (nowhere, twin_changes("A"), 1)):
        write(tmp_path, RUN, begin(RUN), *entries, END)
        assert len(decide("undo", variables, folder=str(tmp_path), run=RUN)["vcenters"]) == read
    assert ask_twins(tmp_path, [change("roce_interface", "gpu01", {"eth1 mtu": 1500}, {"eth1 mtu": 9000})])[
        "vcenters"] == {}  # fmt: skip


@pytest.mark.parametrize(
    ("vcenters", "hosts"), [("A", {"esx01", "gpu01"}), ("B", {"esx02", "gpu02"}), ("AB", set(TWINS["hostvars"]))]
)
def test_undo_chooses_by_the_vcenter_where_names_and_ids_are_equal(
    tmp_path: pathlib.Path, vcenters: str, hosts: set[str]
) -> None:
    """With esx01 on both, a change of one was taken back on the other, and undo reported success."""
    entries = [entry for vcenter in vcenters for entry in twin_changes(vcenter)]
    found = ask_twins(tmp_path, entries, **READ)
    ids = {"esx": "host-1", "gpu": "vm-1"}
    assert asked(found) == {host: ({"1": "A", "2": "B"}[host[-1]], ids[host[:3]]) for host in hosts}
    now: dict[str, Any] = {
        host: {
            "undo_now": {
                "esxi_host": {"name": "esx01", "moid": "host-1", "vcenter_uuid": {"1": "A", "2": "B"}[host[-1]]},
                "gpu_vm": {"before": {"numa.nodeAffinity": "0"}, "reboot_required": True},
            }
        }
        for host in ("gpu01", "gpu02")
    }
    for host in ("esx01", "esx02"):
        now[host] = {**READ[host], "undo_now": {"esxi_host": {"before": {"atsSupport": "TRUE"}}}}
    judged = ask_twins(tmp_path, entries, judge=True, **now)
    assert {*judged["due"]["esxi_host"], *judged["due"]["gpu_vm"]} == hosts and judged["left"] == []
    assert judged["skipped"] == sorted({"esx01", "esx02"} - hosts)
    # The VM alone: its host is known by the vCenter, too.
    judged = ask_twins(tmp_path, entries[1:2], judge=True, **now)
    assert judged["skipped"] == [{"A": "esx02", "B": "esx01"}[vcenters[0]]]


def test_undo_knows_a_vm_that_was_renamed_or_registered_anew(tmp_path: pathlib.Path) -> None:
    anew = {"esx02": {"undo_seen": seen("B", vm={"name": "renamed", "moid": "vm-9"}, host={"moid": "host-9"})}}
    found = ask_twins(tmp_path, twin_changes("B"), **{**READ, **anew})
    assert asked(found) == {"esx02": ("B", "host-9"), "gpu02": ("B", "vm-9")}


def test_undo_leaves_what_has_the_name_and_is_another(tmp_path: pathlib.Path) -> None:
    other = {"esx02": {"undo_seen": seen("B", vm={"uuid": "new"}, host={"uuid": "new"})}}
    found = ask_twins(tmp_path, twin_changes("B"), judge=True, **{**READ, **other})
    assert sorted(line.split(":")[0] for line in found["left"]) == ["esx01 esxi_host", "gpu01 gpu_vm"]
    assert not any(found["due"].values())


def test_undo_compares_each_setting_with_a_later_one_of_its_place_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A site of 256 hosts has thousands of settings, and a later run as many."""
    found = [restoring.Setting("guest", f"gpu{number}", "", "key", False, True) for number in range(100)]
    place, calls = restoring.Setting.place.fget, []
    monkeypatch.setattr(restoring.Setting, "place", property(lambda one: calls.append(1) or place(one)))  # type: ignore
    _due, _done, left = restoring.judge(found, {place(one): False for one in found}, [("run x", found)])
    assert len(left) == 100 and all("by run x" in why for _one, why in left)
    assert len(calls) < 1000


def test_undo_takes_an_id_where_several_have_one_uuid_or_the_record_has_none() -> None:
    board = "00000000-0000-0000-0000-000000000000"
    every = [restoring.Device(f"esx{number}", f"h{number}", "A", board, f"host-{number}") for number in (1, 2)]
    names = restoring.Names({"esxi_host": every}, frozenset())
    for uuid in (board, ""):
        assert names.find("esxi_host", restoring.Device("esx1", "", "A", uuid, "host-2")) is every[1]
    assert names.find("esxi_host", restoring.Device("esx1", "", "A")) is every[0], (
        "its name, where nothing else is said"
    )


def test_undo_takes_no_name_that_two_vcenters_have_without_their_uuid(tmp_path: pathlib.Path) -> None:
    entries = twin_changes("A", identity={})
    for facts in (READ, {}):
        found = ask_twins(tmp_path, entries, **facts)
        assert asked(found) == {}
    assert len(ask_twins(tmp_path, entries, judge=True)["left"]) == 2


def test_undo_of_a_vcenter_that_was_not_read(tmp_path: pathlib.Path) -> None:
    """The hosts that are left are asked, and their module says why not; of two, none is taken."""
    facts = {"esx01": READ["esx01"], "esx02": {"undo_seen": {"msg": "b: login: no answer."}}}
    found = ask_twins(tmp_path, twin_changes("B"), **facts)
    assert asked(found) == {"esx02": ("B", "host-1"), "gpu02": ("B", "vm-1")}
    (note,) = found["notes"]
    assert note.startswith("esx02: ") and "b: login: no answer." in note
    assert asked(ask_twins(tmp_path, twin_changes("A"), **facts)) == {"esx01": ("A", "host-1"), "gpu01": ("A", "vm-1")}
    # A vCenter that the inventory does not have: nothing of that name is taken where there are two of it, and the
    # module refuses where there is one.
    assert asked(ask_twins(tmp_path, twin_changes("C"), **READ)) == {}
    one = restoring.Names({"esxi_host": [restoring.Device("esx01", "esx01", "A")]}, frozenset())
    assert one.find("esxi_host", restoring.Device("esx01", "", "C")) is one.devices["esxi_host"][0]


def test_line_for_which_the_disk_has_no_room_leaves_no_part_of_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / f"{RUN}.jsonl"
    journal_file.append(path, begin(RUN))
    size = path.stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, before[1]))
    try:
        with pytest.raises(OSError, match=path.name):
            journal_file.append(path, {"kind": "change"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.stat().st_size == size
    journal_file.append(path, {"kind": "end"})
    assert journal_file.read(path).ended
