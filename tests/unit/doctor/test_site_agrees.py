"""site.yml against each fault of the gym: it repairs it, or stops with a message that agrees with the doctor, or its
run is not PROVEN. The product's own code decides (site_stages); the id names the fault."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import diagnosis

from lab.gym import model, site
from lab.gym.faults import FAULTS
from tests.unit.doctor import site_pace, site_readings, site_stages
from tests.unit.doctor.site_stages import AT, NOT_PROVEN, PROVEN, REPAIRED, STOPPED
from tests.unit.doctor.site_table import HOST, ON_THE_HOST_ALONE, PAGE, agreement, page, row


def test_of_a_right_site_no_stage_stops_or_changes_anything_and_its_run_is_proven() -> None:
    right = site.right()
    assert [stage(right) for stage in site_stages.STAGES] == [None] * len(site_stages.STAGES)
    found = site_stages.proved(right)
    assert (found.how, found.cause) == (PROVEN, ("", ""))


@pytest.mark.parametrize("name", FAULTS)
def test_it_is_repaired_or_stopped_or_not_proven(name: str) -> None:
    outcome = row(name).outcome
    assert outcome.how in {REPAIRED, STOPPED, NOT_PROVEN} and outcome.text


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_said_agrees_with_the_doctor(name: str) -> None:
    found = row(name)
    assert found.agreement, (found.doctor["layer"], found.doctor["cause"], found.outcome)
    assert (found.agreement == HOST) == (name in ON_THE_HOST_ALONE), found.outcome


def test_the_list_of_exceptions_is_short_and_names_faults_of_the_gym() -> None:
    assert len(ON_THE_HOST_ALONE) <= 10 and set(ON_THE_HOST_ALONE) <= set(FAULTS)
    assert all(ON_THE_HOST_ALONE.values())


def test_the_run_s_doctor_stands_in_the_message_of_a_failed_run() -> None:
    text = row("gpu_off_bus").outcome.text
    assert text.startswith("gpu02: the process there") and "The doctor: gpu02: gpu_fault (gpu_hardware" in text


def test_the_doctor_says_nothing_where_it_has_nothing_to_add() -> None:
    nothing = {"findings": [], "verdict": "healthy", "message": "", "settled": ""}
    assert diagnosis.brief(nothing) == diagnosis.brief({**nothing, "verdict": None}) == ""
    assert diagnosis.brief({**nothing, "verdict": "cannot_tell", "message": "No."}) == "The doctor: No."


def test_a_site_that_repairs_no_nic_does_not_pass_the_guard_that_follows() -> None:
    """The stage ats proves what the stage before has planned: without it the fault stops the run there."""
    state = site_readings.ats(model.broken([(FAULTS["nic_ats_off"], AT)]), AT)
    assert not isinstance(state, site_stages.Failure)
    with pytest.raises(site_stages.LayerError, match="not in force"):
        site_stages.ats_plan.refuse_inactive(state, site_stages.ats_plan.AtsWanted(True), AT)


def test_an_outcome_without_the_place_agrees_with_nothing() -> None:
    found = row("gpu_ecc")
    assert found.agreement
    assert agreement("gpu_ecc", dataclasses.replace(found.outcome, text="something failed"), found.doctor) == ""


def test_the_page_is_what_the_stages_do() -> None:
    """If this fails: python -m tests.unit.doctor.site_table."""
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize(
    ("changed", "share"),
    [
        pytest.param({}, 0.92, id="a right site"),
        pytest.param({"esxi/esx01/lspci.txt": "DirectTrans-"}, 0.56, id="a port that redirects"),
        pytest.param({"esxi/esx02/lspci.txt": "LnkSta: Speed 16GT/s, Width x4 (downgraded)"}, 0.588, id="four lanes"),
        pytest.param({"esxi/esx02/lspci.txt": "LnkSta: Speed 16GT/s, Width x8 (downgraded)"}, 0.92, id="eight lanes"),
        pytest.param({"hosts/gpu03/ethtool-S.txt": "tx_prio3_pause_duration: 40000000"}, 0.5, id="half the time"),
        pytest.param({"hosts/gpu03/hw_counters.txt": "np_ecn_marked_roce_packets: 900000"}, 0.5, id="marked always"),
        pytest.param({"hosts/gpu03/hw_counters.txt": "np_ecn_marked_roce_packets: 90000"}, 0.92, id="marked at times"),
    ],
)
def test_what_the_devices_say_sets_the_pace(changed: dict[str, str], share: float) -> None:
    right = site.right()
    told = {**right, **{piece: f"{text}\n" for piece, text in changed.items()}}
    assert site_pace.share(told) == pytest.approx(share, rel=0.01)


def test_marks_and_pauses_of_a_run_that_is_fast_are_told_and_judge_nothing() -> None:
    right = site.right()
    counters = {"hosts/gpu02/hw_counters.txt": "np_ecn_marked_roce_packets: 90000\n"}
    statistics = right["hosts/gpu02/ethtool-S.txt"].replace("tx_prio3_pause: 0", "tx_prio3_pause: 91230")
    found = site_stages.proved({**right, **counters, "hosts/gpu02/ethtool-S.txt": statistics})
    assert found.how == PROVEN, found.text
