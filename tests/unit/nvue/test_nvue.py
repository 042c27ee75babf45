"""One plan, one revision: the NVUE layer against the simulated switch, without a network."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, UnreachableError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue.state import parse_config
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.nvue.harness import WANTED, Run, Twin, run

REQUESTS = 48  # of a whole run that changes four ports


def wanted(**changes: Any) -> Wanted:
    return dataclasses.replace(WANTED, **changes)


def is_as_wanted(twin: Twin) -> bool:
    config = twin.applied
    ports = [config["interface"][name] for name in WANTED.ports]
    return (
        config["qos"]["roce"]["mode"] == "lossless"
        and all(port["bridge"]["domain"]["br_default"] == {"access": 111} for port in ports)
        and all(port["link"]["mtu"] == 9216 for port in ports)
        and twin.switch.startup == config
    )


def test_check_mode_sends_nothing_but_get() -> None:
    twin = Twin()
    first = Run(twin, check_mode=True)
    plan = first()
    assert plan["changed"] and first.session.written == []
    assert plan["operations"] == run(twin)["operations"]


def test_all_changes_are_one_revision_and_a_second_run_writes_nothing() -> None:
    twin = Twin()
    first = Run(twin)
    first()
    methods = [request.split("?")[0] for request in first.session.written]
    assert methods == [
        "POST /nvue_v1/revision",
        "PATCH /nvue_v1/",
        "PATCH /nvue_v1/revision/2",
        "PATCH /nvue_v1/revision/2",
    ]
    assert is_as_wanted(twin) and len(first.session.asked) == REQUESTS
    second = Run(twin)
    assert not second()["changed"] and second.session.written == []


@pytest.mark.parametrize("executed", [False, True], ids=["lost-request", "lost-answer"])
@pytest.mark.parametrize("number", range(1, REQUESTS + 1))
def test_a_connection_cut_at_every_request_ends_without_a_wrong_claim(number: int, executed: bool) -> None:
    twin = Twin()
    before = copy.deepcopy(twin.applied)
    twin.fault(name="cut_after", requests=number, executed=executed)
    try:
        result = run(twin)
    except UnreachableError as error:
        assert "the connection broke" in str(error)
        if error.details.get("applied"):  # it was in force, and the error came after the verification
            assert twin.applied != before and error.details["undo"]
        else:
            assert twin.applied == before
    else:
        assert result["saved"] and is_as_wanted(twin)
    twin.switch.faults.clear()
    run(twin)
    assert is_as_wanted(twin) and not run(twin)["changed"]


@pytest.mark.parametrize("partial", [False, True], ids=["nothing-in-force", "partly-in-force"])
@pytest.mark.parametrize(
    "state", ["invalid", "verify_error", "ready_error", "apply_fail", "apply_error", "ignore_fail"]
)
@pytest.mark.parametrize("release", ["5.4.0", "5.11.0"])
def test_every_failed_end_of_an_apply_is_told_and_taken_back(state: str, partial: bool, release: str) -> None:
    """5.4 does not say which revision was in force, so that the old values are set again; 5.11 does."""
    twin = Twin(release=release)
    before = copy.deepcopy(twin.applied)
    twin.fault(name="end_in", state=state, partial=partial, message="switchd says no")
    with pytest.raises(LayerError, match="switchd says no") as caught:
        run(twin, rollback=True)
    assert caught.value.code == "apply_failed" and caught.value.details["applied"] == []
    assert caught.value.details.get("rolled_back", True) is True
    assert parse_config("sw02", twin.applied) == parse_config("sw02", before)
    run(twin)
    assert is_as_wanted(twin)


def test_without_roll_back_a_partial_failure_says_how_to_take_it_back() -> None:
    twin = Twin()
    twin.fault(name="end_in", state="apply_fail", partial=True)
    with pytest.raises(LayerError, match="is in force") as caught:
        run(twin)
    assert "nv unset qos roce" in caught.value.details["undo"]


FAULTS = [
    ("paper-only", {"name": "not_in_force", "pattern": "mtu"}, {}, "not_in_force", "MTU 1500 -> 9216"),
    ("exceptions", {"name": "exception", "text": "pool x"}, {}, "not_in_force", "exception list"),
    ("links", {"name": "stuck_links"}, {}, "not_in_force", "did not come back within 60 s: swp1, swp2"),
    ("concurrent", {"name": "foreign_apply"}, {}, "conflict", "changed by somebody else"),
    ("conflict", {"name": "status", "status": 409, "pattern": "PATCH"}, {}, "conflict", "HTTP 409"),
    ("bad-request", {"name": "status", "status": 400, "pattern": "PATCH"}, {}, "apply_failed", "HTTP 400"),
    ("forbidden", {"name": "status", "status": 403, "pattern": "POST"}, {}, "credentials", "nvapply"),
    ("nvued-down", {"name": "status", "status": 502}, {}, "unreachable", "NVUE behind it does not"),
    ("no-api", {"name": "status", "status": 404, "pattern": "system"}, {}, "unreachable", "no NVUE API"),
    ("moved", {"name": "status", "status": 302}, {}, "unreachable", "redirects"),
    ("warning", {"name": "warn", "message": "will be overwritten"}, {}, "refused", "will be overwritten"),
    ("slow", {"name": "slow_apply", "seconds": 60}, {"apply_timeout": 10}, "apply_failed", "after 10 s"),
]


@pytest.mark.parametrize(
    ("fault", "options", "code", "words"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS]
)
def test_a_fault_is_told_and_changes_nothing(
    fault: dict[str, Any], options: dict[str, Any], code: str, words: str
) -> None:
    twin = Twin()
    twin.fault(**fault)
    with pytest.raises(LayerError) as caught:
        run(twin, **options)
    assert caught.value.code == code and words in str(caught.value) and "What to do:" in str(caught.value)
    assert caught.value.details.get("applied", []) == []
    assert "111" not in twin.applied["bridge"]["domain"]["br_default"]["vlan"]
    assert [state for state in twin.states().values() if state == "pending"] == []


def test_a_change_that_nobody_confirms_goes_back_and_the_run_says_so() -> None:
    """The confirmation is refused: the switch takes the change back when its time is over."""
    twin = Twin()
    before = copy.deepcopy(twin.applied)
    first = Run(twin, confirm_timeout=61)
    original = first.session.send

    def lost(method: str, path: str, body: Any = None, **query: Any) -> Any:
        if isinstance(body, dict) and body.get("state") == "confirm_yes":
            raise UnreachableError("the connection broke", host="sw02")
        return original(method, path, body, **query)

    first.session.send = lost  # type: ignore[method-assign]
    with pytest.raises(LayerError, match="came too late") as caught:
        first()
    assert caught.value.details["applied"] == [] and twin.applied == before


def test_a_release_without_confirmations_is_used_with_a_note() -> None:
    twin = Twin()
    twin.fault(name="no_confirm")
    result = run(twin)
    assert result["saved"] and any("without waiting" in text for text in result["warnings"])


def test_what_is_staged_by_somebody_else_is_left_alone_and_a_twin_of_ours_is_removed() -> None:
    twin = Twin()
    twin.switch.somebody_stages()
    twin.fault(name="no_delete")
    twin.fault(name="status", status=409, pattern=r"PATCH /nvue_v1/revision/3", times=1)
    with pytest.raises(LayerError, match="Revision 3 is left staged"):
        run(twin)
    twin.switch.faults.clear()
    result = run(twin)
    assert twin.states()["2"] == "pending" and "3" not in twin.states()
    assert list(result["pending_revisions"]) == ["2"]


def test_somebody_elses_unconfirmed_change_is_waited_for() -> None:
    twin = Twin()
    twin.switch.somebody_waits(100)
    assert run(twin)["saved"]
    other = Twin()
    other.switch.somebody_waits(1000)
    with pytest.raises(LayerError, match="not end within 300 s"):
        run(other)
    assert run(other, check_mode=True)["changed"]  # looking is allowed meanwhile


def test_save_policies_without_auto_save() -> None:
    twin = Twin(release="5.4.0")
    assert not run(twin, save="never")["saved"]
    late = run(twin)
    assert late["saved"] and [each["command"] for each in late["operations"]] == ["nv config save"]
    foreign = Twin(release="5.4.0")
    foreign.switch.somebody_applies(save=False)
    kept = run(foreign)
    assert not kept["saved"] and any("changed by somebody else" in line for line in kept["foreign_changes"])
    assert not run(foreign)["changed"]
    assert run(foreign, save="always")["saved"]


def test_save_never_cannot_hold_where_the_switch_saves_by_itself() -> None:
    result = run(Twin(), save="never")
    assert result["saved"] and any("saves by itself" in text for text in result["warnings"])


NEIGHBORS = [
    ("expected", {"neighbors": ("gpu*",)}, None),
    ("case-and-domain", {"neighbors": ("GPU0[1-4]",)}, None),
    ("others", {"neighbors": ("esx*",)}, "behind swp1 is gpu01; behind swp2 is gpu02"),
    ("allowed", {"neighbors": ("esx*",), "strangers": None}, None),
    ("allowed-ports", {"neighbors": ("esx*",), "strangers": frozenset({"swp1", "swp2", "swp3"})}, "behind swp4"),
    ("no-link", {"neighbors": ("esx*",), "ports": ("swp12",)}, None),
]


@pytest.mark.parametrize(("changes", "words"), [row[1:] for row in NEIGHBORS], ids=[row[0] for row in NEIGHBORS])
def test_only_ports_with_expected_hosts_behind_them_are_changed(changes: dict[str, Any], words: str | None) -> None:
    if words is None:
        assert run(Twin(), wanted(**changes))["changed"]
        return
    with pytest.raises(LayerError, match=words):
        run(Twin(), wanted(**changes))


def test_reach_of_changes() -> None:
    with pytest.raises(LayerError, match="swp5-8"):
        run(Twin(), wanted(disruption="requested_ports"))
    with pytest.raises(LayerError, match="RoCE mode off -> lossless"):
        run(Twin(), wanted(disruption="none"))
    assert run(Twin(), Wanted(mode=None, vlan=111, disruption="none"))["changed"]


def test_trunk_of_every_vlan_that_becomes_an_access_port_disturbs_it() -> None:
    """Nothing of it is unset: on the twin as on a switch it is a port of the bridge without a list of VLANs."""
    request = Wanted(mode=None, vlan=111, ports=("swp27",), convertible=None)
    planned = run(Twin(), request, check_mode=True)["operations"]
    assert [each["disrupts"] for each in planned if each["disrupts"]] == [
        "ports swp27 leave every VLAN of br_default, untagged as the bridge says"
    ]
    with pytest.raises(LayerError, match="every VLAN"):
        run(Twin(), dataclasses.replace(request, disruption="none"))


PORTS = ["swp1", "swp5", "swp20", "swp27", "swp28", "swp31", "swp32s0", "swp32s3"]


@settings(max_examples=15, deadline=None)
@given(
    ports=st.sets(st.sampled_from(PORTS), min_size=1),
    mode=st.sampled_from(["lossless", "lossy", None]),
    vlan=st.one_of(st.none(), st.integers(2, 4094)),
    mtu=st.one_of(st.none(), st.integers(1500, 9216)),
    svi=st.booleans(),
)
def test_any_request_converges_at_once_and_its_inverse_leads_back(
    ports: set[str], mode: str | None, vlan: int | None, mtu: int | None, svi: bool
) -> None:
    request = Wanted(
        mode=mode,
        vlan=vlan,
        ports=tuple(sorted(ports)),
        mtu=mtu,
        svi=svi and vlan is not None,
        convertible=None,
        disruption="any",
    )
    twin = Twin()
    before = copy.deepcopy(twin.applied)
    done = run(twin, request)
    assert not run(twin, request)["changed"] and done["saved"]
    # Applied once more with the roll back that a failure would use.
    again = Twin()
    again.fault(name="end_in", state="apply_fail", partial=True)
    if not done["changed"]:
        return
    with pytest.raises(LayerError) as caught:
        run(again, request, rollback=True)
    assert caught.value.details["rolled_back"] is True
    assert parse_config("sw02", again.applied) == parse_config("sw02", before)


@pytest.mark.parametrize("release", ["5.6.0", "5.11.0", "5.18.0"])
def test_watchdog_is_set_read_back_and_left_alone(release: str) -> None:
    twin = Twin(release=release)
    first = run(twin, wanted(watchdog=True))
    assert {first["ports"][name]["pfc_watchdog"] for name in WANTED.ports} == {"enabled"}
    assert [each["disrupts"] for each in first["operations"]][-1] == ""
    assert run(twin, wanted(watchdog=True))["operations"] == []
    assert run(twin)["operations"] == [], "false leaves it as it is"
    assert {twin.applied["interface"][name]["qos"]["pfc-watchdog"]["state"] for name in WANTED.ports} == {"enable"}


@pytest.mark.parametrize(("release", "mode"), [("5.4.0", "lossless"), ("5.11.0", "lossy")])
def test_watchdog_that_cannot_work_is_refused(release: str, mode: str) -> None:
    twin = Twin(release=release)
    run_ = Run(twin, wanted(watchdog=True, mode=mode))
    with pytest.raises(LayerError, match="pfc_watchdog"):
        run_()
    assert run_.session.written == []


@pytest.mark.parametrize(("dscp", "priority"), [("26", 2), ("24-31", 4), ("48", 3)])
def test_map_that_moves_a_mark_is_not_healthy(dscp: str, priority: int) -> None:
    twin = Twin()
    run(twin)
    mapped = {"default-global": {"dscp": {dscp: {"switch-priority": priority}}}}
    twin.switch.applied.setdefault("qos", {})["mapping"] = mapped
    with pytest.raises(LayerError, match=f"is priority {priority}, expected"):
        run(twin)
