"""Port names and configuration trees."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import tree as trees
from hypothesis import given
from hypothesis import strategies as st

from lab.nvue.model import difference, merged


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("swp1", ["swp1"]),
        ("swp1-3,7", ["swp1", "swp2", "swp3", "swp7"]),
        ("swp3s0-1", ["swp3s0", "swp3s1"]),
        ("swp1-2s0-1", ["swp1s0", "swp1s1", "swp2s0", "swp2s1"]),
        ("10-12", ["10", "11", "12"]),
        ("peerlink.4094", ["peerlink.4094"]),
        ("bond01", ["bond01"]),
        ("lo", ["lo"]),
    ],
)
def test_selectors_are_written_out(selector: str, names: list[str]) -> None:
    assert trees.expand(selector) == names


@pytest.mark.parametrize("selector", ["swp4-1", "swp1-999999"])
def test_a_range_that_is_none_is_refused(selector: str) -> None:
    with pytest.raises(ValueError, match=selector):
        trees.expand(selector)


ports = st.one_of(
    st.integers(1, 64).map("swp{0}".format),
    st.tuples(st.integers(1, 64), st.integers(0, 7)).map("swp{0[0]}s{0[1]}".format),
)


@given(st.sets(ports))
def test_compressing_and_expanding_names_is_the_identity(names: set[str]) -> None:
    assert set(trees.expand(trees.compressed(names))) == names if names else trees.compressed(names) == ""


def test_runs_do_not_cross_a_hole_or_a_split_port() -> None:
    assert trees.compressed(["swp10", "swp2", "swp1", "swp3s1", "swp3s0", "swp4"]) == "swp1-2,swp3s0-1,swp4,swp10"


def test_lines_name_ports_that_share_a_setting_once() -> None:
    tree = {"interface": {f"swp{n}": {"link": {"mtu": 9216}} for n in (1, 2, 3)}, "qos": {"roce": {"mode": "lossy"}}}
    assert trees.nv_lines("set", tree) == ["nv set interface swp1-3 link mtu 9216", "nv set qos roce mode lossy"]
    assert trees.nv_lines("unset", {"qos": {"roce": None}}) == ["nv unset qos roce"]


keys = st.sampled_from(["a", "b", "c", "d"])
configs = st.recursive(
    st.one_of(st.integers(0, 3), st.just({})),
    lambda inner: st.dictionaries(keys, inner, min_size=1, max_size=3),
    max_leaves=8,
).filter(lambda value: isinstance(value, dict))


@given(configs, configs)
def test_an_inverse_brings_the_configuration_back(before: dict[str, Any], change: dict[str, Any]) -> None:
    """Whatever was there and whatever was set: unset, then set, and every leaf is as before."""
    before = {"interface": {"swp1": before, "swp2": {"type": "swp"}}}
    change = {"interface": {"swp1": {"bridge": change}, "swp2": {"link": {"mtu": 9216}}}}
    after = merged(before, change)
    to_set, to_unset = trees.inverse(change, {}, before)
    back = merged(merged(after, to_unset), to_set)
    assert difference(back, before) == {} and difference(before, back) == {}


def test_an_inverse_of_a_removal_puts_the_whole_branch_back() -> None:
    before = {"interface": {"swp28": {"ip": {"address": {"192.0.2.1/31": {}}}}}}
    to_set, to_unset = trees.inverse({}, {"interface": {"swp28": {"ip": None}}}, before)
    assert to_set == before and to_unset == {}


def test_an_inverse_never_removes_a_whole_port_or_branch() -> None:
    change = {"interface": {"swp1": {"link": {"mtu": 9216}}}, "qos": {"roce": {"mode": "lossless"}}}
    _to_set, to_unset = trees.inverse(change, {}, {})
    assert trees.nv_lines("unset", to_unset) == ["nv unset interface swp1 link", "nv unset qos roce"]


def test_settings_of_a_range_and_of_one_of_its_ports_are_merged() -> None:
    written = trees.expanded_interfaces(
        {"interface": {"swp1": {"link": {"mtu": 9000}}, "swp1-2": {"link": {"mtu": 1500}, "type": "swp"}}}
    )
    assert written == {"swp1": {"link": {"mtu": 9000}, "type": "swp"}, "swp2": {"link": {"mtu": 1500}, "type": "swp"}}


@pytest.mark.parametrize("value", [None, 9216])
def test_another_value_copies_only_what_is_on_its_way(value: int | None) -> None:
    """Of a large switch each port is asked in its turn, and copies of the whole would take seconds."""
    before: dict[str, Any] = {"interface": {"swp1": {"link": {"mtu": 1500}}, "swp2": {}}, "bridge": {"domain": {}}}
    after = trees.replaced(before, ("interface", "swp1", "link", "mtu"), value)
    assert trees.get(after, "interface", "swp1", "link", "mtu") == value
    assert trees.get(before, "interface", "swp1", "link", "mtu") == 1500
    assert after["bridge"] is before["bridge"] and after["interface"]["swp2"] is before["interface"]["swp2"]
