"""Modules that decide: documented, pure, and found by their action; what roles of this collection ask of them."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.rocemesh.multinode.plugins.action.decide import ActionModule
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, ParseError

from tests.older_core import trust_as_template
from tests.unit.decisions import PRIVATE, decide
from tests.unit.roles.collection import ROOT, load
from tests.unit.roles.conditions import variables_of

NAMES = sorted(path.stem for path in (ROOT / "plugins" / "action").glob("*.py") if "(Decision)" in path.read_text())
HOSTS = [{"name": "gpu01", "address": "192.0.2.11", "slots": 2}, {"name": "gpu02", "address": "192.0.2.12"}]
FILTERS = sorted(path.stem for path in (ROOT / "plugins" / "filter").glob("*.py"))


def test_few_filters_are_public_and_each_is_named_in_the_documents() -> None:
    """What only roles need is a module with options, not a word of the templates."""
    assert len(FILTERS) <= 9
    told = (ROOT / "docs" / "filters.md").read_text()
    assert sorted(re.findall(r"^\| `(\w+)`", told, re.MULTILINE)) == FILTERS


@pytest.mark.parametrize("name", NAMES)
def test_a_decision_is_documented_by_the_module_of_its_name_and_uses_no_node(name: str) -> None:
    module = (ROOT / "plugins" / "modules" / f"{name}.py").read_text()
    text = (ROOT / "plugins" / "action" / f"{name}.py").read_text()
    assert f"module: {name}\n" in module and f"from ..modules.{name} import DOCUMENTATION" in text
    # The script of a task of `decide` is the one thing that a host is asked.
    assert text.count("_execute_module") == (name == "decide") and "_connection" not in text
    used = [path for folder in ("roles", "playbooks") for path in (ROOT / folder).rglob("*.yml")]
    assert any(f"rocemesh.multinode.{name}:" in path.read_text() for path in used)


@pytest.mark.parametrize(
    ("done", "check", "expected"),
    [
        ({"rc": 0, "stdout": "rdma\ngpu"}, False, (True, True)),
        ({"rc": 3, "stdout": "", "stderr": "no such place"}, False, "gpu01: reading the host ended with exit status 3"),
        ({"rc": 3, "stdout": "rdma"}, True, (True, False)),
        ({"msg": "skipped"}, True, (False, False)),
    ],
    ids=["answer", "failure", "check mode", "skipped"],
)
def test_script_output_becomes_an_option(done: dict[str, Any], check: bool, expected: Any) -> None:
    action = ActionModule.__new__(ActionModule)
    action._task = SimpleNamespace(check_mode=False)
    asked = []
    action._execute_module = lambda **named: asked.append(named["module_args"]["_raw_params"]) or done
    options = {"function": "container_engine", "options": {}, "script": "look"}
    variables = {"inventory_hostname": "gpu01", "ansible_check_mode": check}
    try:
        found = action.decide(options, variables)
    except LayerError as error:
        assert expected in str(error)
    else:
        assert (found["rdma"], found["gpu"]) == expected
    assert asked == ["look"]


def test_containers_are_seen_as_they_are() -> None:
    looked = [
        {"item": HOSTS[0], "exists": True, "container": {"State": {"Status": "running"}}},
        {"item": HOSTS[1], "exists": False, "container": None},
        {"item": {"name": "gpu03"}, "unreachable": True},
        {"item": {"name": "gpu04"}, "msg": "no engine", "failed": True},
    ]
    hosts = [*HOSTS, {"name": "gpu03", "address": "192.0.2.13"}, {"name": "gpu04", "address": "192.0.2.14"}]
    found = decide("mpi_hosts", hosts=hosts, containers=looked)
    assert [host["container"] for host in found["hosts"]] == [
        "running",
        "missing",
        "unreachable",
        "unknown (no engine)",
    ]
    assert found["stopped"] == ["gpu02 missing", "gpu03 unreachable", "gpu04 unknown (no engine)"]


def test_each_rank_has_the_name_of_its_host_and_the_network_is_that_of_the_head() -> None:
    facts = {
        "ansible_lo": {"ipv4": {"address": "127.0.0.1", "network": "127.0.0.0", "prefix": "8"}},
        "ansible_ens192": {"ipv4": {"address": "192.0.2.11", "network": "192.0.2.0", "prefix": "24"}},
        "ansible_all_ipv4_addresses": ["192.0.2.11"],
    }
    hosts = [HOSTS[0], {**HOSTS[1], "hostname": "node-b"}]
    found = decide("mpi_hosts", hosts=hosts, interfaces=facts)
    assert (found["names"], found["network"]) == (["gpu01", "gpu01", "node-b"], "192.0.2.0/24")
    assert decide("mpi_hosts", hosts=hosts)["network"] == ""
    assert "container" not in found["hosts"][0]
    with pytest.raises(ValueError, match=r"^gpu01 \(ubuntu\), gpu02 \(ubuntu\): "):
        decide("mpi_hosts", hosts=[{**host, "hostname": "ubuntu"} for host in HOSTS])


@pytest.mark.parametrize(
    ("address", "network"),
    [("198.51.100.11", "198.51.100.0/24"), ("2001:db8::11", "2001:db8::/64"), ("192.0.2.99", "")],
)
def test_network_of_a_second_address_or_of_ipv6_is_found(address: str, network: str) -> None:
    interface = {
        "ipv4": {"address": "192.0.2.11", "network": "192.0.2.0", "prefix": "24"},
        "ipv4_secondaries": [{"address": "198.51.100.11", "network": "198.51.100.0", "prefix": "24"}],
        "ipv6": [{"address": "2001:db8::11", "prefix": "64", "scope": "global"}],
    }
    found = decide("mpi_hosts", hosts=[{**HOSTS[0], "address": address}], interfaces={"ansible_ens192": interface})
    assert found["network"] == network


def test_image_without_cuda_is_one_problem_of_all_its_hosts() -> None:
    hosts = [f"gpu{number:03d}" for number in range(256)]
    said = {host: ['{"torch": "2.4.1+cpu", "cuda": ""}'] for host in hosts}
    found = decide("gpu_image_check", answers=said, gpus={host: ["GPU 0"] for host in hosts}, hosts=hosts)
    (problem,) = found["problems"]
    assert problem.startswith("gpu000, gpu001, ") and "gpu019 and 236 more: 1 GPU(s)" in problem


def test_host_that_is_lost_while_jobs_are_listed_is_named() -> None:
    """Without ignore_unreachable a loop over hosts takes the head out of the run, without its rescue."""
    listings = load(ROOT / "roles/run/tasks/everywhere.yml")
    assert [listing["ignore_unreachable"] for listing in listings] == [True, True]
    results = [{"item": HOSTS[0], "stdout": '{"found": []}'}, {"item": HOSTS[1], "unreachable": True, "msg": "no"}]
    said = {"__run_mesh_said": {"stdout": ""}, "__run_by_inventory": {"results": results}}
    variables = {**variables_of("run"), **said}
    templar = Templar(DataLoader(), variables)
    found = templar.template(trust_as_template("{{ __run_found }}"))
    assert found == {"gpu01": [], "gpu02": None} and templar.template(trust_as_template("{{ __run_own_jobs }}")) == []
    with pytest.raises(ValueError, match=r"^gpu02: "):
        decide("mpi_leftovers", found=found)


def test_answers_belong_to_the_host_of_their_rank() -> None:
    said = "[1,1]<stdout>:GPU 0: B\n[1,0]<stdout>:GPU 0: A\n[1,0]<stdout>:RDMA mlx5_0\n[1,0]<stderr>:GPU 9: no\n"
    find = {"gpus": "^GPU [0-9]+:", "rdma": "^RDMA (.*)"}
    found = decide("mpi_hosts", hosts=HOSTS, slots=1, output=said, find=find)["found"]
    assert found == {"gpu01": {"gpus": ["GPU 0: A"], "rdma": ["mlx5_0"]}, "gpu02": {"gpus": ["GPU 0: B"], "rdma": []}}
    by_slots = decide("mpi_hosts", hosts=HOSTS, output=said, find=find)["found"]
    assert {host: each["gpus"] for host, each in by_slots.items()} == {"gpu01": ["GPU 0: A", "GPU 0: B"]}
    with pytest.raises(ValueError, match="rank 7 answered"):
        decide("mpi_hosts", hosts=HOSTS, output="[1,7]<stdout>:x\n")
    with pytest.raises(ValueError, match="hosts is empty"):
        decide("mpi_hosts", hosts=[])


WINDOWS: dict[str, Any] = {
    "esx01": {
        "esxi_host_pending": {
            "host": "esx01", "host_moid": "host-1", "vcenter_uuid": "a",
            "reboot_required": True, "reboot_reasons": ["atsSupport"],
        },
    },
    "esx02": {
        "esxi_host_pending": {
            "host": "esx02", "host_moid": "host-2", "vcenter_uuid": "a",
            "reboot_required": False, "reboot_reasons": [],
        },
    },
    "gpu01": {
        "gpu_vm_pending": {"esxi_host": "esx01", "esxi_host_moid": "host-1", "vcenter_uuid": "a", "changes": []},
        "guest_pending": {"reboot_required": False, "reboot_reasons": []},
    },
}  # fmt: skip
RUN = {"hosts": ["esx01", "esx02"], "vms": ["gpu01"]}


def windows_of(changes: dict[str, dict[str, Any]] | None = None, **options: Any) -> dict[str, Any]:
    """``changes``: host -> facts beside those above; None in place of a fact takes it away."""
    hostvars = {host: {**facts, **(changes or {}).get(host, {})} for host, facts in WINDOWS.items()}
    plain = {host: {name: fact for name, fact in facts.items() if fact is not None} for host, facts in hostvars.items()}
    return decide("site_windows", {"hostvars": plain}, **{**RUN, **options})


def test_the_plan_of_a_site_has_what_waits_how_many_at_once_and_whether_now() -> None:
    found = windows_of(max_unavailable="50%")
    assert [window["host"] for window in found["windows"]] == ["esx01", "esx02"]
    assert [window["host"] for window in found["waiting"]] == ["esx01"]
    assert found["summary"] == ["esx01: host reboot; stops gpu01", "  - atsSupport"]
    assert (found["batch"], found["open"], found["silent"], found["left_out"]) == (1, True, [], {})
    shut = decide("site_windows", change_windows={"from": "2001-01-01", "to": "2001-01-02"})
    assert shut["open"] is False and "the change window" in shut["reason"]


@pytest.mark.parametrize(
    "missing", [("esx01", "esxi_host_pending"), ("gpu01", "gpu_vm_pending"), ("gpu01", "guest_pending")]
)
def test_a_plan_with_a_hole_is_none(missing: tuple[str, str]) -> None:
    host, fact = missing
    found = windows_of({host: {fact: None}})
    assert found["silent"] == [host] and found["windows"] == []


ROWS = {host: {"esxi_host": host, "esxi_host_moid": moid, "vcenter_uuid": "a", "connection_state": "connected"}
        for host, moid in (("esx01", "host-1"), ("esx02", "host-2"))}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "options", "unasked"),
    [
        ({"gpu01": {"window_guest": {"unreachable": True}, "guest_pending": None}}, {}, True),
        ({"gpu01": {"guest_pending": None}}, {"left_out": ["gpu01"]}, False),
        ({"esx01": {"esxi_host_pending": None, "window_rows": ROWS}}, {"left_out": ["esx01"]}, False),
        (
            {
                "esx01": {
                    "esxi_host_pending": None,
                    "window_rows": {**ROWS, "esx01": {**ROWS["esx01"], "connection_state": "notResponding"}},
                },
                "gpu01": {
                    "gpu_vm_pending": None,
                    "guest_pending": None,
                    "gpu_vm_unread": {"vm_connection_state": "disconnected"},
                },
            },
            {},
            True,
        ),
    ],
    ids=["dead-guest", "named-vm", "named-host", "dead-host"],
)
def test_hosts_that_are_named_or_do_not_answer_are_left_out(
    changes: dict[str, Any], options: dict[str, Any], unasked: bool
) -> None:
    found = windows_of(changes, **options)
    assert found["silent"] == [] and found["waiting"] == []
    assert (list(found["left_out"]), list(found["unasked"])) == (["esx01"], ["esx01"] if unasked else [])


@pytest.mark.parametrize("option", ["left_out", "accepted_boots"])
def test_site_windows_unknown_name_is_refused(option: str) -> None:
    """Its host would be restarted, which a person has tried to leave out."""
    with pytest.raises(ValueError, match="esx1"):
        windows_of(**{option: ["esx01", "esx1"]})


@pytest.mark.parametrize("wrong", [{"max_unavailable": 0}, {"change_windows": [5]}, {"change_windows": {"start": "x"}}])
def test_windows_that_nobody_can_read_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"max_unavailable|change.window"):
        decide("site_windows", **wrong)


CHANGE = {"text": "ens224: address is 198.51.100.11/24, after the next boot none (/etc/netplan/50.yaml)"}


def test_site_windows_changed_boot_leaves_the_host_out() -> None:
    boot = {"gpu01": {"guest_next_boot": {"differences": [CHANGE] * 6, "unknown": []}}}
    found = windows_of(boot)
    assert found["waiting"] == [] and list(found["unasked"]) == ["esx01"]
    assert "gpu01" in found["left_out"]["esx01"] and "/etc/netplan/50.yaml" in found["left_out"]["esx01"]
    assert found["left_out"]["esx01"].endswith("and 2 more")
    assert [window["host"] for window in windows_of(boot, accepted_boots=["gpu01"])["waiting"]] == ["esx01"]


def test_site_windows_changed_boot_without_a_window_is_no_failure() -> None:
    """Where nothing waits, nothing restarts."""
    quiet = {"esxi_host_pending": {**WINDOWS["esx01"]["esxi_host_pending"], "reboot_required": False}}
    found = windows_of({"esx01": quiet, "gpu01": {"guest_next_boot": {"differences": [CHANGE]}}})
    assert (found["waiting"], found["left_out"], found["unasked"]) == ([], {}, {})


def test_layers_are_folded_from_what_their_hosts_published() -> None:
    outcome = {"changed": True, "verified": True, "found": {"mode": "on"}, "changes": ["a"]}
    variables = {"groups": {"switches": ["leaf01", "leaf02"]}, "hostvars": {"leaf01": {"said": outcome}, "leaf02": {}}}
    layers = {"switch": ["switches", "said"], "vm": ["gpu_vms", "said"]}
    found = decide("site_outcomes", variables, layers=layers)["layers"]
    assert found["switch"]["changes"] == ["leaf01: a"] and found["vm"]["verified"] is None
    assert found["switch"]["verified"] is None and list(found["switch"]["found"]) == ["leaf01"]


def test_logins_that_should_work_and_those_that_should_not() -> None:
    lines = ["192.0.2.11 0 12 ", "192.0.2.12 255 9 gpu@192.0.2.12: Permission denied (publickey)."]
    open_mesh = decide("mesh_logins", probe="\n".join(lines), nodes=["gpu01", "gpu02"])
    assert open_mesh["summary"] == ["gpu01 12 ms", "gpu02 refused"]
    assert len(open_mesh["wrong"]) == 1 and open_mesh["wrong"][0].startswith("gpu02 (192.0.2.12, exit status 255: gpu@")
    shut = decide("mesh_logins", probe="\n".join(lines), nodes=["gpu01", "gpu02"], refused=True)
    assert shut["wrong"] == ["gpu01 (192.0.2.11, exit status 0: no message)"]
    with pytest.raises(ParseError, match=r"2 node.* were asked and 1 answered"):
        decide("mesh_logins", probe=lines[0], nodes=["gpu01", "gpu02"])


def test_suboptions_are_checked() -> None:
    with pytest.raises(ValueError, match="address"):
        decide("mpi_hosts", hosts=[{"name": "gpu01"}])


def test_each_private_decision_is_documented_as_a_choice_and_the_other_way() -> None:
    files = {path.stem for path in (ROOT / "plugins/plugin_utils/decisions").glob("[a-z]*.py")}
    assert set(PRIVATE) == files
