# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmarks in the lab, on the site that the tests before have finished: four real ranks on four nodes (gloo)."""

from __future__ import annotations

import json
import os
import pathlib
import re
from typing import Any

import pytest

from tests import site_run

KINDS = ("bandwidth", "scaling", "scoring", "training")
pytestmark = pytest.mark.usefixtures("twin")


def outputs(identity: str) -> pathlib.Path:
    return site_run.ROOT / "reports" / identity / "benchmarks"


def document(identity: str, kind: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((outputs(identity) / f"{kind}.json").read_text())
    return value


def repeats(identity: str) -> dict[str, tuple[int, int]]:
    return {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in (outputs(identity) / "scaling").glob("*.json")
    }


def trained(identity: str) -> dict[str, int]:
    """Raw log of each repeat -> when it was written: the log of the runs, apart from the repeats' own files."""
    return {
        path.name: path.stat().st_mtime_ns for path in (site_run.ROOT / "reports" / "logs" / identity).glob("*_r*.log")
    }


@pytest.fixture(scope="module")
def everything() -> site_run.Run:
    run = site_run.play("benchmark.yml", "-e", "benchmark_id=test-benchmark")
    assert run.rc == 0, run.tail()
    return run


@pytest.mark.parametrize("kind", KINDS)
def test_every_benchmark_leaves_its_file_from_four_ranks(everything: site_run.Run, kind: str) -> None:
    found = document("test-benchmark", kind)
    assert (found["kind"], found["simulated"], found["backend"]) == (kind, True, "gloo")
    assert found["problems"] == []
    assert found["results"]
    if kind != "scaling":
        assert {result["ranks"] for result in found["results"]} == {4}
    else:
        assert [result["nodes"] for result in found["results"]] == [1, 2, 4]
        assert {len(result["repeats"]) for result in found["results"]} == {2}


def test_every_sum_over_four_ranks_was_right(everything: site_run.Run) -> None:
    results = document("test-benchmark", "bandwidth")["results"]
    assert {(result["network"], result["path"]) for result in results} == {
        (network, path) for network in ("resnet50", "inception-bn") for path in ("cpu", "cpu_staged")
    }
    for result in results:
        assert 0 < result["error"] < 1e-6
        middle = sorted(result["seconds"])[len(result["seconds"]) // 2]
        assert result["gb_s"] == pytest.approx(result["size_bytes"] * 1.5 / middle / 1e9, rel=1e-4)


def test_profile_and_published_keys_are_there(everything: site_run.Run) -> None:
    assert json.loads((outputs("test-benchmark") / "training-trace.json").read_text())
    table = json.loads((outputs("test-benchmark") / "fp32_bz2_result.json").read_text())["rn50"]
    assert list(table) == ["1n1g", "2n1g", "4n1g"]
    assert table["1n1g"]["speedup"] == 1.0


def test_what_needs_devices_says_why_it_was_left_out(everything: site_run.Run) -> None:
    text = " ".join(everything.out.split())
    assert "nccl-tests skipped: gpu01: no GPU in the container" in text
    assert re.search(r"perftest skipped: gpu01: no RDMA device", text)


def test_progress_shows_while_it_runs_and_nothing_is_changed(everything: site_run.Run) -> None:
    assert re.search(r"^\[gpu01\] \S+: .*\d+:\d\d", everything.out, re.M), everything.tail()
    assert everything.changed == {}
    assert "SIMULATED" in everything.out


def test_measuring_again_repeats_nothing_that_is_done(everything: site_run.Run) -> None:
    before = repeats("test-benchmark"), trained("test-benchmark")
    run = site_run.play("benchmark.yml", "-e", "benchmark_id=test-benchmark")
    assert run.rc == 0, run.tail()
    assert (repeats("test-benchmark"), trained("test-benchmark")) == before


def test_sigkill_in_the_middle_of_scaling_resumes_without_repeating_finished_repeats() -> None:
    seen: dict[str, Any] = {}
    # The third repeat is the first one of the third case: two are finished by then.
    first = site_run.play(
        "benchmark.yml", "--tags", "scaling", when=(r"(?s)(TASK \[[^\n]*Run mpirun: \S+_r1\].*){3}", site_run.kill)
    )
    assert first.rc != 0
    identity = (site_run.ROOT / "reports" / "unfinished-benchmark").read_text().strip()
    seen["repeats"], seen["logs"] = repeats(identity), trained(identity)
    assert len(seen["repeats"]) == 2, seen
    assert not (outputs(identity) / "scaling.json").exists()

    second = site_run.play("benchmark.yml", "--tags", "scaling")
    assert second.rc == 0, second.tail()
    after, logs = repeats(identity), trained(identity)
    assert {name: after[name] for name in seen["repeats"]} == seen["repeats"], "a finished repeat was written again"
    assert {name: logs[name] for name in seen["logs"]} == seen["logs"], "a finished repeat ran again"
    assert len(after) == 6
    assert f"{identity}: 2 of 6 repeats done, 4 to do" in " ".join(second.out.split())
    assert {len(result["repeats"]) for result in document(identity, "scaling")["results"]} == {2}
    assert not (site_run.ROOT / "reports" / "unfinished-benchmark").exists()
    for node in ("gpu01", "gpu02", "gpu03", "gpu04"):
        assert "resnet50" not in site_run.on_node(node, "docker", "top", "mpicont"), f"{node}: ranks are left"


def test_json_output_has_no_word_of_progress_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "ANSIBLE_STDOUT_CALLBACK", "ansible.posix.json")
    run = site_run.play("run.yml", *site_run.SHORT)
    assert run.rc == 0, run.tail()
    said = json.loads(run.out[run.out.index("{") :])
    assert "images/sec" in json.dumps(said)
    assert not re.search(r"^\[gpu01\] train:", run.out, re.M)
