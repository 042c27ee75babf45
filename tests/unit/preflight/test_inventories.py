"""Wrong values of an inventory are named before anything is changed; right inventories are quiet."""

from __future__ import annotations

import pathlib
import random
import time
from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.action import preflight
from ansible_collections.rocemesh.multinode.plugins.module_utils._preflight import values
from ansible_collections.rocemesh.multinode.plugins.plugin_utils import stage_options

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
from tests.unit.roles.collection import ROOT

SEEDS = range(40)
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


RIGHT = _right()


def test_inventories_of_this_table_are_enough() -> None:
    assert len(MISTAKES) >= 100 and len(RIGHT) >= 50
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)


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
    assert [row.line() for row in wrong if "no file" not in row.text] == []


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_mistake_alone_is_named_with_remedy(mistake: Mistake, tmp_path: pathlib.Path) -> None:
    told = found(with_mistakes(mistake), tmp_path)
    assert not told["ready"]
    assert is_named(mistake, told), told["table"]


@pytest.mark.parametrize("seed", SEEDS)
def test_ten_mistakes_are_named_together(seed: int, tmp_path: pathlib.Path) -> None:
    """Ten that do not write the same variable, of one inventory; two VMs stay right, so that nothing hides another."""
    chosen: list[Mistake] = []
    rows = list(MISTAKES)
    random.Random(seed).shuffle(rows)
    for mistake in rows:
        if len(chosen) < 10 and not any(_meet(mistake, other) for other in chosen):
            chosen.append(mistake)
    told = found(with_mistakes(*chosen), tmp_path)
    missed = [mistake.name for mistake in chosen if not is_named(mistake, told)]
    assert not missed, ([mistake.name for mistake in chosen], told["table"])


def _meet(one: Mistake, other: Mistake) -> bool:
    """Whether one hides the other: both write one variable, or one is judged by the value that the other spoils."""
    written = {one.variable, other.variable}
    networks = {"run_network", "mesh_cidr", "rocemesh_address"}
    mtu = {"switch_mtu", "guest_mtu"}
    esxi = {"esx002.example.com", "esxi_host_name"}
    hosts = isinstance(one, Hosts) or isinstance(other, Hosts)
    named = written | {one.where, other.where, one.thing, other.thing}
    return (
        one.variable == other.variable
        or one.thing == other.thing
        or written <= networks
        or written <= mtu
        or (hosts and len(named & esxi) > 1)
        or (hosts and "gpu_vm_name" in named)
        or ({one.variable, other.variable} == {"switch_port", "ansible_host"})
    )


def test_sixteen_hosts_are_judged_within_seconds(tmp_path: pathlib.Path) -> None:
    begin = time.process_time()
    found(right(16, 8), tmp_path)
    assert time.process_time() - begin < 5


def test_no_secret_is_shown(tmp_path: pathlib.Path) -> None:
    told = found(with_mistakes(*(row for row in MISTAKES if "password" in row.variable)), tmp_path)
    assert len({row["thing"] for row in told["problems"]}) == 3
    assert not [line for line in told["table"] for secret in ("CHANGEME", "<password>", "xxxxxx") if secret in line]


def option(name: str) -> Mapping[str, Any]:
    """An option, or the key of one: ``switch_options.timeout``."""
    name, _dot, key = name.partition(".")
    found = stage_options.options()[name]
    return found["options"][key] if key else found


def test_ranges_are_of_options_and_include_their_defaults() -> None:
    for name, ranges in values.RANGES.items():
        default = option(name).get("default")
        assert option(name)["type"] in {"int", "float"}
        assert not isinstance(default, int) or any(least <= default <= most for least, most in ranges), name


@pytest.mark.parametrize("name", [name for name in values.FORMS if name != "ansible_host"])
def test_forms_take_the_defaults_of_options(name: str) -> None:
    default = option(name).get("default")
    if not (isinstance(default, str) and "{{" in default):
        assert not default or not values.FORMS[name](default)


def test_every_default_of_every_option_is_right() -> None:
    given = {name: option["default"] for name, option in stage_options.options().items() if "default" in option}
    for name, each in stage_options.options().items():
        keys = (each.get("options") or {}) if each["type"] == "dict" else {}
        given.update({name: {key: one["default"] for key, one in keys.items() if "default" in one}} if keys else {})
    plain = {name: value for name, value in given.items() if "{{" not in str(value)}
    assert len(plain) > 150 and plain["fabric_options"]["drop"] == 0.12
    assert [finding.line() for finding in stage_options.judge({"gpu01": plain})] == []
