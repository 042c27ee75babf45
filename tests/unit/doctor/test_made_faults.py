"""Jobs that were broken on purpose (`made_faults.yml`): no job is called the opposite of what it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

HERE = Path(__file__).parent
JOBS = yaml.safe_load((HERE / "made_faults.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def said() -> dict[str, dict[str, Any]]:
    return {job["id"]: diagnose(HERE / "made_faults" / f"{job['id']}.txt") for job in JOBS}


def test_no_fault_is_missed_and_none_is_seen_where_there_is_none(said: dict[str, dict[str, Any]]) -> None:
    good = ("healthy", "no_fault_seen")
    assert [job["id"] for job in JOBS if job["faulty"] and said[job["id"]]["verdict"] in good] == []
    assert [job["id"] for job in JOBS if not job["faulty"] and said[job["id"]]["verdict"] == "faulty"] == []
    sound = [said[job["id"]]["verdict"] in good for job in JOBS if not job["faulty"]]
    assert sum(sound) >= 20 and len(sound) == 28


def test_what_was_decided_right_stays_decided(said: dict[str, dict[str, Any]]) -> None:
    decided = [job["id"] for job in JOBS if job["faulty"] and job["first_sight"] == "right"]
    assert len(decided) == 27
    assert [name for name in decided if said[name]["verdict"] != "faulty"] == []


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("loader_shm", "container_shm"),
        ("ckpt_read_only", "file_system_read_only"),
        ("mpi_timeout", "job_cancelled"),
        ("keyboard", "job_cancelled"),
        ("cf_mpi_other", "pmi_not_found"),
        ("cf_mpi_nofinalize", "application_failed"),
        ("cf_heap", "application_failed"),
        ("jax_tracer", "application_failed"),
        ("stall_blocking", "rank_missing"),
        ("rank_frozen", "rank_missing"),
        ("hf_no_network", "hub_not_reached"),
        ("perf_no_lib", "application_failed"),
    ],
)
def test_classes_of_misses_are_mended(said: dict[str, dict[str, Any]], name: str, cause: str) -> None:
    assert said[name]["findings"][0]["cause"] == cause
