"""Wrong values of an inventory are named before anything is changed; right inventories are quiet."""

from __future__ import annotations

import ast
import pathlib
import random
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.action import preflight
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import check
from ansible_collections.rocemesh.multinode.plugins.module_utils._handoff import job
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import plan as nvue
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import plan as onyx
from ansible_collections.rocemesh.multinode.plugins.module_utils._preflight import relations, values
from ansible_collections.rocemesh.multinode.plugins.module_utils._preflight.findings import line
from ansible_collections.rocemesh.multinode.plugins.plugin_utils import stage_options

from tests.unit.preflight.faults import site
from tests.unit.preflight.inventories import (
    MISTAKES,
    SPELLINGS,
    Hosts,
    Inventory,
    Mistake,
    found,
    is_named,
    loaded,
    right,
    with_mistakes,
)
from tests.unit.preflight.inventories_more import CUMULUS, IPV6, LATER, MORE, OWN, RAILS, UNUSUAL
from tests.unit.roles.collection import ROOT, load

SEEDS = range(40)
ALL = (*MISTAKES, *MORE, *LATER)
SIZES = (2, 3, 4, 8, 16, 64)


def _right() -> list[tuple[str, Inventory]]:
    """Fifty of them: 2 to 64 hosts, 1 to 8 rails, both families, both drivers, several VMs per host."""
    rows = [
        (f"{hosts}x{rails}", right(hosts, rails)) for hosts in SIZES for rails in range(1, 9) if hosts * rails < 300
    ]
    rows += [(f"ipv6-{rails}", right(4, rails, version=6)) for rails in (1, 2, 8)]
    rows += [("cumulus", right(8, 2, driver="cumulus")), ("two-vms-per-host", right(8, 1, per_host=2))]
    nat = right(4)
    for number, row in enumerate(nat["groups"]["gpu_vms"]["hosts"].values()):
        row.update(ansible_host="172.16.0.1", ansible_port=2201 + number)
    return [*rows, ("behind-one-address", nat)]


def test_hosts_of_one_name_on_two_vcenters_are_two_hosts(tmp_path: pathlib.Path) -> None:
    vcenters = right(2)
    for number, host in enumerate(vcenters["groups"]["esxi_hosts"]["hosts"]):
        row = {"esxi_host_name": "esx001.example.com", "rocemesh_vcenter_hostname": f"vcenter{number}.example.com"}
        vcenters["groups"]["esxi_hosts"]["hosts"][host] = row
    vcenters["vcenter"]["placed"] = dict.fromkeys(vcenters["vcenter"]["placed"], "esx001.example.com")
    assert found(vcenters, tmp_path)["table"] == []


RIGHT = [*_right(), *UNUSUAL.items()]


def test_inventories_of_this_table_are_enough() -> None:
    assert len(ALL) >= 250 and len(RIGHT) >= 70
    assert len({mistake.name for mistake in ALL}) == len(ALL)


@pytest.mark.parametrize("inventory", [row for _name, row in RIGHT], ids=[name for name, _row in RIGHT])
def test_right_inventory_is_quiet(inventory: Inventory, tmp_path: pathlib.Path) -> None:
    assert found(inventory, tmp_path)["table"] == []


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, row in SPELLINGS.items() for value in row], ids=str
)
def test_right_spelling_is_quiet(name: str, value: object, tmp_path: pathlib.Path) -> None:
    inventory = right(2)
    for where in (inventory["all"], *(group["vars"] for group in inventory["groups"].values())):
        if where is inventory["all"] or name in where:
            where[name] = value
    assert found(inventory, tmp_path)["table"] == []


@pytest.mark.parametrize("name", ["example", "example-rails", "lab"])
def test_inventory_of_repository_has_no_wrong_value(name: str) -> None:
    """Secrets and files are those of a site, and not here; nor are lookups, outside of a play."""
    hostvars, groups = loaded(ROOT / "inventories" / name / "hosts.yml")
    findings, _unset, site = preflight.of_inventory(hostvars, groups)
    assert len(site) >= 6
    absent = {"switch_password", "rocemesh_vcenter_password", "container_registry_password"}
    wrong = [row for row in findings if row.level == "problem" and row.thing not in absent]
    assert [line(row) for row in wrong if "no file" not in row.text] == []


def test_variable_of_site_itself_is_said_and_stops_nothing(tmp_path: pathlib.Path) -> None:
    told = found(OWN, tmp_path)
    assert told["ready"] and {row["thing"] for row in told["cautions"]} == {
        "switch_rack", "run_owner", "guest_ntp_servers", "container_team", "fabric_ticket", "mesh_contact",
    }  # fmt: skip


@pytest.mark.parametrize("mistake", ALL, ids=lambda mistake: mistake.name)
def test_mistake_alone_is_named_with_remedy(mistake: Mistake, tmp_path: pathlib.Path) -> None:
    told = found(with_mistakes(mistake, **mistake.size), tmp_path)
    assert not told["ready"]
    assert is_named(mistake, told), told["table"]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("rocemesh_slots", "all"),
        ("rocemesh_slots", [8]),
        ("container_toolkit_source", "https://mirror.example.com/nvidia"),
        ("gpu_vm_wanted", False),
    ],
)
def test_value_of_another_type_is_named_and_ends_nothing(variable: str, value: object, tmp_path: pathlib.Path) -> None:
    """The readings of a node are judged beside it: the whole list comes."""
    inventory = with_mistakes(Mistake("type", "gpu_vms", variable, value))
    assert variable in {row["thing"] for row in found(inventory, tmp_path)["problems"]}
    hostvars, groups = loaded(tmp_path / "hosts.yml")
    options = {"switches": {}, "vcenter": [], "nodes": {"gpu001": site()["gpu01"]}, "windows": True, "dry": False}
    assert "not looked at" in {row.thing for row in preflight._devices(options, hostvars, groups, set())}


def test_path_may_name_a_variable_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("OF_SITE", str(tmp_path))
    (tmp_path / "ca.pem").write_text("")
    inventory = right(2)
    inventory["all"]["rocemesh_vcenter_ca_path"] = "$OF_SITE/ca.pem"
    assert found(inventory, tmp_path)["table"] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_ten_mistakes_are_named_together(seed: int, tmp_path: pathlib.Path) -> None:
    """Ten that do not write the same variable, of one inventory; two VMs stay right, so that nothing hides another."""
    size = ({}, RAILS, CUMULUS, IPV6)[seed % 4]
    chosen: list[Mistake] = []
    rows = [mistake for mistake in ALL if not mistake.alone and _is_of(mistake, size)]
    random.Random(seed).shuffle(rows)
    for mistake in sorted(rows, key=lambda mistake: not mistake.size):
        if len(chosen) < 10 and not any(_meet(mistake, other) for other in chosen):
            chosen.append(mistake)
    assert len(chosen) == 10
    told = found(with_mistakes(*chosen, **size), tmp_path)
    missed = [mistake.name for mistake in chosen if not is_named(mistake, told)]
    assert not missed, ([mistake.name for mistake in chosen], told["table"])


_ADDRESSES = {"run_network", "mesh_cidr", "rocemesh_address", "mesh_address"}
# Variables that are judged together: what is wrong of one may hide what is wrong of another.
TOGETHER: tuple[set[str], ...] = (
    _ADDRESSES,
    {"guest_networks", "guest_interfaces", "guest_mtu", "guest_qos_enabled", "rocemesh_roce_networks"},
    {"switch_mtu", "guest_mtu"},
    {"ansible_host", "ansible_port", "switch_port", "rocemesh_vcenter_hostname", "rocemesh_vcenter_port"},
    {"ansible_host", "rocemesh_address", "mesh_address"},
    {"fabric_options", "consistency_mtu", "guest_mtu"},
    {"rocemesh_change_window", "rocemesh_change_window_least_minutes"},
    {"container_capabilities", "mesh_transport"},
    {"benchmark_image_size", "benchmark_parts"},
    {"esx002.example.com", "esxi_host_name", "gpu_vm_name", "rocemesh_vcenter_hostname"},
    {"gpu001", "gpu_vm_name"},
    {"rocemesh_switch_driver", "switch_ports", "switch_port_mode", "switch_addresses", "switch_vlan",
     "switch_roce_mode", "switch_allow_mode_change", "switch_options"},
    {"guest_qos_enabled", "guest_qos_pfc", "guest_qos_dscp_priority", "guest_qos_tos", "guest_qos_trust", "run_env",
     "fabric_options", "run_rdma_dscp", "switch_roce_priority", "rocemesh_roce_priority", "switch_roce_mode",
     "consistency_priority"},
    {"mesh_transport", "mesh_host_login", "mesh_ssh_port", "run_master_port"},
    {"run_tuning", "run_precision", "run_num_warmup_batches"},
    {"run_env", "run_require_path"},
    {"container_registry_username", "container_registry_password"},
    {"guest_ofed_profile", "guest_ofed_url", "guest_ofed_checksum"},
    {"esxi_host_kernel_settings", "guest_ats_state"},
    {"container_build", "container_build_context", "container_build_dockerfile"},
)  # fmt: skip


def _written(mistake: Mistake) -> set[str]:
    return {mistake.variable, mistake.thing, *mistake.beside}


def _meet(one: Mistake, other: Mistake) -> bool:
    """Whether one hides the other: both write one variable, or one is judged by the value that the other spoils."""
    if isinstance(one, Hosts) and isinstance(other, Hosts):
        return True
    return bool(_written(one) & _written(other)) or any(
        together & _written(one) and together & _written(other) for together in TOGETHER
    )


def _is_of(mistake: Mistake, size: dict[str, Any]) -> bool:
    """A site of its own kind has its own mistakes, and of the others those that switches and addresses leave alone."""
    if mistake.size or size in ({}, RAILS):
        return mistake.size in ({}, size)
    return mistake.where == "all" and not _written(mistake) & (_ADDRESSES | {"rocemesh_roce_networks"})


def test_sixteen_hosts_are_judged_within_seconds(tmp_path: pathlib.Path) -> None:
    begin = time.process_time()
    found(right(16, 8), tmp_path)
    assert time.process_time() - begin < 5


def test_words_of_lists_are_those_that_their_readers_know() -> None:
    words = values.table("words")
    assert set(words["fabric_programs"]) == {*check._BANDWIDTH, *check._LATENCY}
    assert words["run_handoff_launchers"] == list(job.LAUNCHERS)
    scoring = (ROOT / "workloads" / "benchmarks" / "scoring.py").read_text()
    models = ast.literal_eval(re.findall(r"(?m)^MODELS = (\(.*\))$", scoring)[0])
    for name in ("benchmark_advice.models", "benchmark_scoring.models", "benchmark_training.models"):
        assert words[name] == list(models)
    assert words["benchmark_bandwidth.networks"] == [*models, "resnet200"]
    paths = load(ROOT / "roles" / "benchmark" / "vars" / "main.yml")["__benchmark_paths"]
    assert words["benchmark_bandwidth.paths"] == list(paths)
    for name in ("benchmark_advice.advice", "benchmark_parts"):
        described = re.findall(r"[a-z_]+", str(option(name)["description"]))
        assert set(words[name]) <= set(described)


def test_what_is_known_of_drivers_and_limits_is_that_of_roles() -> None:
    of_role = load(ROOT / "roles" / "switch" / "vars" / "main.yml")
    assert of_role["__switch_modes"] == {driver: list(modes) for driver, modes in relations.MODES.items()}
    assert load(ROOT / "roles" / "run" / "vars" / "main.yml")["__run_orphan_after"] == relations.ORPHAN_AFTER
    assert set(values.table("drivers")) == {*of_role["__switch_modes"], *of_role["__switch_read_only"]}


@pytest.mark.parametrize(
    ("expand", "driver", "ports"),
    [
        (onyx.expand, "onyx", ["1/1", "1/1-1/4", "1/1/1-1/1/4", "Eth1/1", "ethernet 1/1-1/4", "1/1-4", "swp1", "1-4"]),
        (nvue.expand_ports, "cumulus", ["swp1", "swp1-4", "swp1-swp4", "swp3s0-3", "1/1", "swp", "swp1..4", "eth0"]),
    ],
    ids=["onyx", "cumulus"],
)
def test_ports_are_those_that_driver_takes(expand: Callable[[str, str], Any], driver: str, ports: list[str]) -> None:
    def taken(text: str) -> bool:
        try:
            return bool(expand("leaf01", text))
        except RefusedError:
            return False

    said = {text: not relations.port(text, driver) for text in ports}
    assert said == {text: taken(text) for text in ports}
    assert {True, False} == set(said.values())


def test_no_secret_is_shown(tmp_path: pathlib.Path) -> None:
    told = found(with_mistakes(*(row for row in MISTAKES if "password" in row.variable)), tmp_path)
    assert len({row["thing"] for row in told["problems"]}) == 3
    assert not [line for line in told["table"] for secret in ("CHANGEME", "<password>", "xxxxxx") if secret in line]


def option(name: str) -> Mapping[str, Any]:
    """An option, or the key of one: ``switch_options.timeout``."""
    name, _dot, key = name.partition(".")
    found = stage_options.options()[name]
    return found["options"][key] if key else found


def test_no_variable_has_two_rows() -> None:
    for part in ("site", "login", "ranges"):
        named = [name for row in values._TABLES.table[part] for name in row["of"]]
        assert sorted(named) == sorted(values.table(part)), part


def test_ranges_are_of_options_and_include_their_defaults() -> None:
    for name, row in values.table("ranges").items():
        default = option(name).get("default")
        assert option(name)["type"] in {"int", "float"}
        inside = not isinstance(default, int) or row["least"] <= default <= row.get("most", default)
        assert inside or default == row.get("also"), name


@pytest.mark.parametrize("name", [name for name in values.forms() if name != "ansible_host"])
def test_forms_take_the_defaults_of_options(name: str) -> None:
    default = option(name).get("default")
    if not (isinstance(default, str) and "{{" in default):
        assert not default or not values.forms()[name](default)


def test_every_default_of_every_option_is_right() -> None:
    given = {name: option["default"] for name, option in stage_options.options().items() if "default" in option}
    for name, each in stage_options.options().items():
        keys = (each.get("options") or {}) if each["type"] == "dict" else {}
        given.update({name: {key: one["default"] for key, one in keys.items() if "default" in one}} if keys else {})
    plain = {name: value for name, value in given.items() if "{{" not in str(value)}
    assert len(plain) > 150 and plain["fabric_options"]["drop"] == 0.12
    assert [line(finding) for finding in stage_options.judge({"gpu01": plain})] == []
