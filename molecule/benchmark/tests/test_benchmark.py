"""What a measurement leaves: its figures on the controller, from all ranks, and nothing in the containers."""

import json
import os
import pathlib

import pytest

PREPARED = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"]) / "prepared"
PARTS = os.environ.get("MOLECULE_PARTS", "bandwidth scaling scoring training").split()
REPORTS = pathlib.Path(os.environ["MOLECULE_SCENARIO_DIRECTORY"]) / "reports"


@pytest.mark.parametrize("kind", PARTS)
def test_the_figures_are_new_and_those_of_four_ranks(kind):
    files = list(REPORTS.glob(f"*/benchmarks/{kind}.json"))
    new = [path for path in files if path.stat().st_mtime > PREPARED.stat().st_mtime]
    assert len(new) == 1, "one measurement since the scenario was prepared"
    found = json.loads(new[0].read_text())
    assert found["problems"] == []
    assert found["results"]
    if kind != "scaling":
        # "point_to_point" and "both_ways" are figures of one pair of ranks each; all others are of the whole job.
        of_pairs = [result for result in found["results"] if result.get("path") in ("point_to_point", "both_ways")]
        assert {result["ranks"] for result in of_pairs} <= {2}
        assert {result["ranks"] for result in found["results"] if result not in of_pairs} == {4}


def test_no_ranks_are_left(host):
    with host.sudo():
        processes = host.check_output("docker top mpicont -eo pid,args")
    assert "orted" not in processes
    assert "/workspace/" not in processes
