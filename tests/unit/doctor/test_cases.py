"""Cases of our own, graded: a certain answer that is wrong is worse than none."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.catalogue import layers
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

from tests.unit.doctor.cases import CASES, NO, YES, Case
from tests.unit.doctor.cases_fresh import FRESH
from tests.unit.doctor.cases_jobs_a import JOBS_A
from tests.unit.doctor.cases_jobs_b import JOBS_B
from tests.unit.doctor.cases_jobs_fresh_a import JOBS_FRESH
from tests.unit.doctor.cases_jobs_fresh_b import JOBS_LAST
from tests.unit.doctor.cases_jobs_third import JOBS_THIRD
from tests.unit.doctor.cases_jobs_third_b import JOBS_THIRD_B
from tests.unit.doctor.cases_jobs_third_last import JOBS_THIRD_LAST
from tests.unit.doctor.cases_systems_a import SYSTEMS_A
from tests.unit.doctor.cases_systems_b import SYSTEMS_B
from tests.unit.doctor.cases_systems_c import SYSTEMS_C
from tests.unit.doctor.cases_systems_d import SYSTEMS_D
from tests.unit.doctor.cases_systems_e import SYSTEMS_THIRD
from tests.unit.doctor.cases_systems_f import SYSTEMS_LAST
from tests.unit.doctor.cases_threads import THREADS
from tests.unit.doctor.cases_threads_more import THREADS_MORE

RIGHT, WEAK, WRONG = "right", "weak", "wrong"


def grade(case: Case, found: dict[str, Any]) -> str:
    layers = [finding["layer"] for finding in found["findings"]]
    certain = [finding["layer"] for finding in found["findings"] if finding["certainty"] != "candidate"]
    accept, verdict = case.accept.split(), found["verdict"]
    if accept == ["healthy"]:
        sound = verdict in ("healthy", "no_fault_seen")  # an excerpt of a sound job is no whole one
        return RIGHT if sound and not found["findings"] else WRONG if certain or verdict == "faulty" else WEAK
    if verdict == "healthy" or set(certain) - set(accept):
        return WRONG
    if case.tells == NO:
        return RIGHT if verdict == "cannot_tell" and found["next"] and not certain else WEAK
    wanted = layers[:1] if case.tells == YES else layers[:3]
    return RIGHT if set(wanted) & set(accept) else WEAK


# Name -> cases, and how many there are at least.
SETS: dict[str, tuple[tuple[Case, ...], int]] = {
    "of our own": (CASES, 40),
    "threads": ((*THREADS, *THREADS_MORE), 65),
    "fresh threads": (FRESH, 22),
    "jobs": ((*JOBS_A, *JOBS_B), 66),
    "fresh jobs": ((*JOBS_FRESH, *JOBS_LAST), 45),
    "jobs again": ((*JOBS_THIRD, *JOBS_THIRD_B, *JOBS_THIRD_LAST), 78),
    "systems": ((*SYSTEMS_A, *SYSTEMS_B), 80),
    "systems again": ((*SYSTEMS_C, *SYSTEMS_D), 57),
    "systems, one cause each": ((*SYSTEMS_THIRD, *SYSTEMS_LAST), 62),
}


@pytest.mark.parametrize(("cases", "least"), SETS.values(), ids=SETS)
def test_of_all_cases_at_least_95_percent_are_right_and_none_is_wrong(cases: tuple[Case, ...], least: int) -> None:
    grades = {case.name: grade(case, diagnose(None, case.pieces)) for case in cases}
    assert len(grades) == len(cases) >= least
    assert [name for name, state in grades.items() if state == WRONG] == []
    weak = [name for name, state in grades.items() if state == WEAK]
    assert len(weak) * 20 <= len(cases), weak


def test_every_case_has_a_source_and_layers_of_the_vocabulary() -> None:
    for case in (case for cases, _least in SETS.values() for case in cases):
        assert case.source
        assert set(case.accept.split()) <= {*layers(), "healthy"}
        assert bool(case.accept) is (case.tells != NO)
