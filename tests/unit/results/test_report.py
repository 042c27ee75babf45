"""The summary and the report: nothing simulated goes unmarked, and contradicting figures never shown as a result."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tracemalloc
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError, converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import tf_cnn
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.files import ReportFolder, Wanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.page import markdown as render
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import (
    LAYERS,
    Inputs,
    build,
    headline,
    stage_seconds,
)

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
ROOT = pathlib.Path(__file__).resolve().parents[3]
GOOD = "".join(
    f"[1,{rank}]<stdout>:total images/sec: 20.00\n[1,{rank}]<stdout>:ROCEMESH "
    + json.dumps(
        {
            "rank": rank,
            "world": 2,
            "host": f"gpu0{rank + 1}",
            "images_per_second": 10.0,
            "torch": "2.13.0",
            "device": "cpu",
            "step": {"median_ms": 400.0},
        }
    )
    + "\n"
    for rank in range(2)
)
LAYER = {"changed": True, "verified": True, "found": {"RoCE": "enabled | lossless"}, "changes": ["enable RoCE"]}
INPUTS = Inputs(
    run_id="20260131T120000Z",
    simulated=True,
    layers=dict.fromkeys(LAYERS, LAYER),
    result=tf_cnn.read(GOOD, 2).as_dict(),
    stage_marks=[{"name": "switch", "at": 1000.0}, {"name": "run", "at": 1010.5}, {"name": "report", "at": 1030.0}],
    finished="1970-01-01T00:17:15Z",
    hosts_rebooted=["esx02", "esx01"],
)


def other(**changes: Any) -> dict[str, Any]:
    return build(dataclasses.replace(INPUTS, **changes))


def test_the_keys_that_programs_read() -> None:
    summary = build(INPUTS)
    assert summary["simulated"] is True
    assert summary["ranks"] == 2
    assert summary["images_per_second"] == {"total": 20.0, "per_rank": [10.0, 10.0], "sum_of_ranks": 20.0}
    assert summary["agreement"] == {"ok": True, "relative_difference": 0.0}
    assert summary["hosts_rebooted"] == ["esx01", "esx02"]
    assert list(summary["layers"]) == ["switch", "esxi", "vm", "nic", "container", "mesh", "run"]
    assert summary["layers"]["switch"] == {**LAYER, "simulated": True}
    assert summary["layers"]["run"]["simulated"] is False
    assert summary["stages"] == {"switch": 10.5, "run": 19.5, "report": 5.0}
    assert (summary["started"], summary["finished"]) == ("1970-01-01T00:16:40Z", "1970-01-01T00:17:15Z")
    assert summary["problems"] == []
    assert summary["versions"] == {"torch": "2.13.0"}
    json.dumps(summary, allow_nan=False)


def test_a_layer_that_nobody_looked_at_is_not_verified() -> None:
    summary = other(layers={})
    assert {name: layer["verified"] for name, layer in summary["layers"].items()} == dict.fromkeys(LAYERS)
    assert render(summary).count("not looked at") == len(LAYERS)


def test_a_null_of_an_older_ansible_core_is_no_verdict() -> None:
    """A layer in check mode: before ansible-core 2.19 a template's none is an empty text."""
    name = LAYERS[0]
    summary = other(layers={name: {**LAYER, "verified": ""}})
    assert summary["layers"][name]["verified"] is None


def test_simulation_is_marked_in_title_headline_and_at_each_layer() -> None:
    text = render(build(INPUTS))
    assert "SIMULATED" in text.splitlines()[0]
    assert "SIMULATED" in text.splitlines()[4]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    for title in ("Switch", "ESXi hosts", "VMs", "NICs"):
        assert any(row.startswith(f"| **SIMULATED** {title}") for row in rows)
    assert "### Changed: Switch (RoCE, VLAN, MTU) (SIMULATED)" in text
    assert "by this run (SIMULATED): esx01, esx02." in text


def test_a_report_of_hardware_says_nothing_of_simulation() -> None:
    assert "SIMULATED" not in render(other(simulated=False))


def test_figures_that_contradict_each_other_are_no_result() -> None:
    guide = tf_cnn.read((FIXTURES / "guide_sample.txt").read_text()).as_dict()
    summary = other(result=guide)
    assert summary["agreement"]["ok"] is False
    assert summary["images_per_second"]["per_rank"] == [2100.2, 1520.1, 1517.6, 1517.9]
    assert headline(summary).startswith("NOT A RESULT")
    text = render(summary)
    assert "CONTRADICTS the printed total (-20.77 %" in text
    assert "`inconsistent_total`" in text


@pytest.mark.parametrize(("ranks", "told"), [(2, "(1.00, 2.00 per rank)"), (2048, "(1.00 to 2048.00 per rank)")])
def test_headline_of_many_ranks_has_their_least_and_most(ranks: int, told: str) -> None:
    speeds = {"total": 9.0, "per_rank": [float(rank) for rank in range(1, ranks + 1)]}
    given = {"simulated": False, "images_per_second": speeds, "agreement": {"ok": True}, "problems": [], "ranks": ranks}
    assert told in headline(given)


def test_no_run_is_reported_as_no_result() -> None:
    summary = other(result=None)
    assert summary["images_per_second"] == {"total": None, "per_rank": [], "sum_of_ranks": None}
    assert headline(summary).startswith("No training result")
    render(summary)


def test_an_aborted_run_without_total_is_rendered() -> None:
    aborted = tf_cnn.read("[1,0]<stdout>:1\timages/sec: 5.0 +/- 0.0 (jitter = 0.0)\t7.500\n", 1).as_dict()
    summary = other(result=aborted)
    assert "No total was" in render(summary)
    assert [problem["code"] for problem in summary["problems"]] == ["missing_total"]


def test_report_shows_rates_per_rank_and_total() -> None:
    text = render(build(INPUTS))
    assert "| 0 | gpu01 | 10.00 | 400.0 | - | cpu |" in text
    assert "| **printed total** | | **20.00** | | | |" in text


def test_text_from_devices_cannot_break_the_table() -> None:
    assert "enabled \\| lossless" in render(build(INPUTS))


def test_a_repeated_stage_adds_up_and_time_never_runs_backwards() -> None:
    marks = [{"name": "a", "at": 0}, {"name": "b", "at": 5}, {"name": "a", "at": 7}]
    assert stage_seconds(marks, 10.0) == {"a": 8.0, "b": 2.0}
    assert stage_seconds(marks, None) == {"a": 5.0, "b": 2.0}
    assert stage_seconds([{"name": "a", "at": 9}], 3.0) == {"a": 0.0}


@pytest.mark.parametrize(
    "changes",
    [
        {"layers": {"firewall": LAYER}},
        {"finished": "yesterday"},
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(RefusedError):
        other(**changes)


# ------------------------------------------------------------------------------------------------------------ on disk


def folder(base: pathlib.Path, run_id: str = "run1", **files: bytes) -> tuple[ReportFolder, Wanted]:
    wanted = files or {"summary.json": b"{}\n", "report.md": b"# x\n"}
    return ReportFolder(str(base), run_id, wanted, {"headline": "x"}), wanted


def tree(base: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(base)): path.read_bytes() for path in sorted(base.rglob("*")) if path.is_file()}


def test_check_mode_writes_nothing(tmp_path: pathlib.Path) -> None:
    result = converge(*folder(tmp_path / "reports"), check_mode=True)
    assert result["changed"] is True
    assert len(result["operations"]) == 3
    assert list(tmp_path.iterdir()) == []


def test_files_and_link_are_there_and_a_second_time_changes_nothing(tmp_path: pathlib.Path) -> None:
    first = converge(*folder(tmp_path))
    assert first["changed"] is True
    assert (tmp_path / "latest").resolve() == tmp_path / "run1"
    assert (tmp_path / "latest" / "report.md").read_bytes() == b"# x\n"
    assert (tmp_path / "run1" / "report.md").stat().st_mode & 0o777 == 0o644
    assert converge(*folder(tmp_path))["changed"] is False


def test_latest_follows_the_newest_run_and_the_older_one_stays(tmp_path: pathlib.Path) -> None:
    converge(*folder(tmp_path, "run1"))
    result = converge(*folder(tmp_path, "run2"))
    assert (tmp_path / "latest").readlink() == pathlib.Path("run2")
    assert (tmp_path / "run1" / "summary.json").exists()
    assert f"ln -sfn run1 {tmp_path}/latest" in result["undo"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "run1", "run2"], "temporary files were left"


def test_a_write_that_breaks_leaves_the_old_file_whole(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    converge(*folder(tmp_path))
    before = tree(tmp_path)

    def broken(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", broken)
    with pytest.raises(Exception, match="No space left"):
        converge(*folder(tmp_path, "run1", **{"summary.json": b"new"}))
    monkeypatch.undo()
    assert tree(tmp_path) == before


def test_a_real_folder_named_latest_is_never_replaced(tmp_path: pathlib.Path) -> None:
    (tmp_path / "latest").mkdir()
    with pytest.raises(RefusedError, match="not a link"):
        converge(*folder(tmp_path))


@pytest.mark.parametrize("run_id", ["", "latest", "../x", "a/b", ".hidden", "a b"])
def test_a_run_id_cannot_leave_the_folder(tmp_path: pathlib.Path, run_id: str) -> None:
    with pytest.raises(RefusedError, match="of a run"):
        folder(tmp_path, run_id)


def limited(base: pathlib.Path, run_id: str, megabytes: int, files: dict[str, bytes | pathlib.Path]) -> str:
    """Write a report in a process that may write no file beyond so many megabytes: EFBIG, as a full disk is ENOSPC."""
    program = (
        "import pathlib, resource, sys, pickle\n"
        "from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, converge\n"
        "from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.files "
        "import ReportFolder\n"
        "base, run_id, limit, files = pickle.load(sys.stdin.buffer)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (limit << 20, limit << 20))\n"
        "try:\n"
        "    converge(ReportFolder(base, run_id, files, {}), files)\n"
        "except LayerError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps((str(base), run_id, megabytes, files)),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_a_disk_that_fills_up_keeps_the_whole_earlier_report_and_names_the_log(tmp_path: pathlib.Path) -> None:
    """The first file fits, the second does not: neither takes its name."""
    base, log = tmp_path / "reports", tmp_path / "train.log"
    log.write_bytes(b"x" * (3 << 20))
    assert limited(base, "run1", 9, {"summary.json": b"old", "report.html": b"old"}) == ""
    before = tree(base)
    message = limited(base, "run1", 2, {"summary.json": b"new", "mpirun.log": log, "report.html": b"new"})
    assert "File too large" in message
    assert "is unchanged" in message
    assert str(log) in message and "make room there" in message
    assert tree(base) == before, "something of the new report, or a temporary file, was left"
    assert limited(base, "run1", 9, {"summary.json": b"new", "mpirun.log": log, "report.html": b"new"}) == ""
    assert {name: len(content) for name, content in tree(base / "run1").items()} == {
        "mpirun.log": 3 << 20,
        "report.html": 3,
        "summary.json": 3,
    }


def test_a_log_of_any_size_is_copied_piece_by_piece(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "train.log"
    with log.open("wb") as stream:
        stream.truncate(300 << 20)
    wanted = {"mpirun.log": log}
    tracemalloc.start()
    try:
        converge(ReportFolder(str(tmp_path / "reports"), "run1", wanted, {}), wanted)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20
    assert (tmp_path / "reports" / "run1" / "mpirun.log").stat().st_size == 300 << 20


def test_a_run_that_nobody_judged_before_is_judged_in_the_first_lines() -> None:
    heading, _blank, why, *_rest = render(other(simulated=False)).splitlines()
    assert heading == "# NOT PROVEN"
    assert why.startswith("One job: the ranks computed on cpu, not GPUs; missing: the log of the run")
    assert "data path in NCCL's own log" in why
    assert render(build(INPUTS)).splitlines()[0] == "# SIMULATED - NOT PROVEN"
    guide = tf_cnn.read((FIXTURES / "guide_sample.txt").read_text()).as_dict()
    heading, _blank, why, *_rest = render(other(simulated=False, result=guide)).splitlines()
    assert heading == "# INVALID RUN" and why.startswith("The log of the run:")
