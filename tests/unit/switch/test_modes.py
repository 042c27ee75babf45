"""RoCE modes by release, what satisfies a request, and the priority of a site.

Which release has which mode: NVIDIA's published schemas of NVUE (PyPI ``nvueschema``); a RoCE priority other than 3:
"Change RoCE Configuration" on NVIDIA's RoCE page for Cumulus Linux.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import info
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import plan as nvue
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue.state import State, parse_roce, parse_state
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import plan as onyx
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import satisfied

GOOD: dict[str, Any] = {
    "congestion-control": {"congestion-mode": "ECN", "enabled-tc": "0,3"},
    "pfc": {"pfc-priority": 3, "rx-enabled": "enabled", "tx-enabled": "enabled"},
    "trust": {"trust-mode": "pcp,dscp"},
}


def switch(configured: dict[str, Any] | None, operational: Any, minor: int = 18, other: Any = None) -> State:
    link = {"mtu": 9216, "oper-status": "up", "admin-status": "up"}
    qos = {**({} if configured is None else {"roce": configured}), **(other or {})}
    return parse_state(
        "sw02",
        "br_default",
        system={"product-release": f"5.{minor}.0"},
        applied={"qos": qos} if qos else {},
        filled_roce=None,
        roce=operational,
        interfaces={"swp1": {"link": link}},
    )


def planned(state: State, **request: Any) -> list[str]:
    wanted = nvue.request("sw02", {"allow_disruption": "any", **request})
    return [operation.command for operation in nvue.plan(state, wanted)]


@pytest.mark.parametrize(
    ("now", "wanted", "enough"),
    [
        ("lossless", "lossless", True),
        ("lossless-single-ipool", "lossless", True),
        ("lossless-single-ipool", "lossless-single-ipool", True),
        ("lossless", "lossless-single-ipool", False),
        ("lossy-multi-tc", "lossy", True),
        ("lossy-multi-tc", "lossless", False),
        ("semi-lossless", "lossless", False),
        ("dci-1", "lossless", False),
        (None, "lossless", False),
        ("lossless-single-ipool", None, False),
        (None, None, True),
    ],
)
def test_a_variant_of_a_mode_satisfies_the_mode_unless_one_was_named(
    now: str | None, wanted: str | None, enough: bool
) -> None:
    assert satisfied(now, wanted) is enough


def test_a_switch_in_a_variant_is_left_there_and_judged_as_what_it_is() -> None:
    state = switch({"mode": "lossless-single-ipool"}, {"mode": "lossless-single-ipool", **GOOD})
    assert planned(state) == []
    wanted = nvue.request("sw02", {"ports": ["swp1"]})
    assert nvue.unhealthy(state, wanted) == []
    broken = {"mode": "lossless-single-ipool", **GOOD, "pfc": {**GOOD["pfc"], "tx-enabled": "disabled"}}
    assert nvue.unhealthy(switch({"mode": "lossless-single-ipool"}, broken), wanted) == ["PFC transmit is disabled"]
    assert info.problems(state, ["swp1"], "lossless") == []


@pytest.mark.parametrize("mode", list(nvue.SINCE))
@pytest.mark.parametrize("minor", range(19))
def test_a_mode_is_set_only_on_releases_that_know_it(mode: str, minor: int) -> None:
    if (5, minor) >= nvue.SINCE[mode]:
        assert planned(switch(None, None, minor), mode=mode) == [f"nv set qos roce mode {mode}"]
    else:
        with pytest.raises(RefusedError, match=f"5.{nvue.SINCE[mode][1]} introduced it"):
            planned(switch(None, None, minor), mode=mode)


def test_a_mode_that_nothing_here_knows_is_a_sites_choice() -> None:
    with pytest.raises(RefusedError, match="has chosen it"):
        planned(switch({"mode": "quantum"}, {"mode": "quantum"}))
    assert planned(switch({"mode": "quantum"}, {"mode": "quantum"}), mode="quantum") == []


def test_the_mode_of_another_system_is_refused_in_words() -> None:
    with pytest.raises(RefusedError, match="no semi-lossless mode, only lossless, lossy"):
        nvue.request("sw02", {"mode": "semi-lossless"})


@pytest.mark.parametrize(("priority", "healthy"), [(2, True), (3, False)])
def test_the_priority_of_the_site_is_the_one_that_is_judged(priority: int, healthy: bool) -> None:
    moved = {
        "mode": "lossless",
        **GOOD,
        "pfc": {**GOOD["pfc"], "pfc-priority": 2},
        "congestion-control": {"congestion-mode": "ECN", "enabled-tc": "0,2"},
    }
    wanted = nvue.request("sw02", {"ports": ["swp1"], "priority": priority})
    assert (nvue.unhealthy(switch({"mode": "lossless"}, moved), wanted) == []) is healthy


@pytest.mark.parametrize("request_it", [nvue.request, onyx.request], ids=["nvue", "onyx"])
@pytest.mark.parametrize("priority", [-1, 8, 33])
def test_a_priority_is_a_number_of_802_1p(request_it: Any, priority: int) -> None:
    with pytest.raises(RefusedError, match="from 0 to 7"):
        request_it("sw02", {"priority": priority})


@pytest.mark.parametrize("name", ["a b", "x\nno roce", "x\r", '"x"', "x;y", "-x", "x" * 65, "../x", "x no-switch"])
def test_the_name_of_a_snapshot_is_one_word_and_brings_no_line_of_its_own(name: str) -> None:
    with pytest.raises(RefusedError, match="a configuration file"):
        onyx.request("sw01", {"snapshot": name})


@pytest.mark.parametrize("name", ["before-rdma", "a", "2026.11.22_x", "x" * 64])
def test_an_ordinary_name_of_a_snapshot_is_taken(name: str) -> None:
    assert onyx.request("sw01", {"snapshot": name}).snapshot == name


@pytest.mark.parametrize("off", [{"enable": "off"}, {"state": "disabled"}])
def test_what_is_switched_off_is_not_running_whatever_mode_is_printed(off: dict[str, str]) -> None:
    operational = {"mode": "lossless", **GOOD, **off}
    assert parse_roce("sw02", {}, None, operational).running is None
    absent = dataclasses.replace(nvue.request("sw02", {"mode": "absent"}))
    assert nvue.unhealthy(switch(None, operational), absent) == []
    wanted = nvue.request("sw02", {"ports": ["swp1"]})
    assert "the switch reports mode none" in nvue.unhealthy(switch({"mode": "lossless"}, operational), wanted)


def test_the_defaults_of_a_request_protect_other_links() -> None:
    for request_it in (nvue.request, onyx.request):
        assert request_it("sw01", {}).disruption == "requested_ports" and request_it("sw01", {}).priority == 3
