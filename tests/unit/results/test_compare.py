"""Runs, logs and published figures in one table; the modules that write reports, as Ansible runs them."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures import published
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import comparison, page, plots
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.comparison import Entry

from tests.unit.decisions import decide
from tests.unit.results import report_samples

ROOT = pathlib.Path(__file__).resolve().parents[3]
FIXTURES = pathlib.Path(__file__).parent / "fixtures"


def part(table: dict[str, Any], title: str) -> dict[str, Any]:
    found: dict[str, Any] = next(entry for entry in table["parts"] if entry["title"].startswith(title))
    return found


def rescaled(factor: float, run_id: str) -> Entry:
    documents = report_samples.benchmarks(simulated=False)
    for row in documents["scaling"]["results"]:
        row["repeats"] = [factor * value for value in row["repeats"]]
    return Entry(run_id, report_samples.summary(simulated=False, run_id=run_id, benchmarks=documents))


# --------------------------------------------------------------------------------------------------------- comparison


def test_every_published_row_is_marked_as_not_measured_and_has_a_source() -> None:
    table = comparison.build([rescaled(1.0, "r1")])
    assert table["simulated"] == 0
    rows = [row for entry in table["parts"] for row in entry["rows"]]
    own = [row for row in rows if not row["mark"]]
    assert {row["cells"][0] for row in own} == {"r1"}
    assert {row["mark"] for row in rows if row["cells"][0] != "r1"} == {published.MARK}
    assert table["sources"] == list(published.SOURCES.values())
    assert page.compare(table).count(published.MARK) == len(rows) - len(own)


def test_published_figures_can_be_left_out() -> None:
    table = comparison.build([rescaled(1.0, "r1")], with_published=False)
    assert all(row["mark"] == "" for entry in table["parts"] for row in entry["rows"])
    assert table["sources"] == []


def test_rows_of_simulated_devices_are_marked_and_counted() -> None:
    table = comparison.build([Entry("r1", report_samples.summary())], with_published=False)
    assert table["simulated"] == sum(len(entry["rows"]) for entry in table["parts"]) > 0
    assert table["title"].startswith("SIMULATED - ")
    assert "SIMULATED DEVICES" in page.compare(table)
    assert page.compare(table, "md").startswith("# SIMULATED - ")


def test_a_figure_that_contradicts_itself_is_shown_and_is_no_result(tmp_path: pathlib.Path) -> None:
    log = {"path": str(FIXTURES / "guide_sample.txt"), "name": "guide"}
    result = decide("run_compare", path=str(tmp_path), logs=[log], published=False)
    (row,) = part(result["comparison"], "Training")["rows"]
    assert row["cells"][1] == "imported log"
    assert row["cells"][6] == "not a result (8,400.46 printed)"
    assert row["cells"][7] == "-"
    assert "add up to 6655.80" in result["comparison"]["problems"][0]


def test_an_imported_figure_keeps_its_note() -> None:
    figure = {"name": "DLPerf 4n8g", "images_per_second": 9579.74, "nodes": 4, "ranks": 32}
    figure |= {"precision": "fp32", "batch": 128, "note": "gluon-cv log tree"}
    (row,) = part(comparison.build([], [figure], with_published=False), "Training")["rows"]
    assert row["cells"] == [
        "DLPerf 4n8g", "imported figure", "4", "32", "fp32", "128", "9,579.74", "299.37", "gluon-cv log tree",
    ]  # fmt: skip


@pytest.mark.parametrize(("factor", "answer", "slower"), [(0.9, "SLOWER", True), (1.0, "not slower", False)])
def test_the_gate_judges_each_case_that_both_runs_have(factor: float, answer: str, slower: bool) -> None:
    table = comparison.build([rescaled(1.0, "old"), rescaled(factor, "new")], baseline="old")
    assert len(table["gates"]) == 10
    assert {row["cells"][2] for row in part(table, "Slower than old?")["rows"]} == {answer}
    assert all((gate["verdict"] == "slower") == slower for gate in table["gates"])


def test_a_case_of_the_baseline_that_a_run_lacks_is_named() -> None:
    lacking = rescaled(1.0, "new")
    rows = lacking.summary["benchmarks"]["scaling"]["rows"]
    gone = rows.pop()
    table = comparison.build([rescaled(1.0, "old"), lacking], baseline="old")
    assert table["problems"] == [
        f"new: not compared with old: {gone['case']}, {gone['precision']}, batch {gone['batch']}"
    ]
    rows.clear()
    table = comparison.build([rescaled(1.0, "old"), lacking], baseline="old")
    assert not table["gates"] and len(table["problems"]) == 1
    (problem,) = comparison.build([rescaled(1.0, "old"), lacking], baseline="new")["problems"]
    assert problem.startswith("old: ") and "scaling" in problem
    assert comparison.build([rescaled(1.0, "old"), lacking])["problems"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"entries": []}, "nothing to compare"),
        ({"entries": [Entry("a", {}), Entry("a", {})]}, "two entries have this name"),
        ({"entries": [Entry("a", {"images_per_second": {}})], "baseline": "b"}, "is not among the runs"),
    ],
)
def test_a_comparison_that_makes_no_sense_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        comparison.build(**arguments)


# ------------------------------------------------------------------------------------------------------------ modules


def test_a_share_in_the_place_of_a_percentage_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RefusedError, match="confidence_percent"):
        decide("run_compare", path=str(tmp_path), published=False, confidence_percent=0.95)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        ("", "no JSON"),
        ("\x00\x01binary", "no JSON"),
        ("[]", "is not a summary.json"),
        ('{"format": 2, "images_per_second": {}}', "format 2"),
        ("[" * 100_000, "no JSON"),
    ],
    ids=["missing", "empty", "binary", "list", "newer format", "deep"],
)
def test_a_run_that_cannot_be_read_is_named_and_nothing_is_written(
    content: str | None, words: str, tmp_path: pathlib.Path
) -> None:
    source = tmp_path / "summary.json"
    if content is not None:
        source.write_text(content)
    with pytest.raises(RefusedError) as refused:
        decide("run_compare", path=str(tmp_path / "out"), runs=[str(source)])
    assert words in str(refused.value) and str(source) in str(refused.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"", b"\x00\xff\x00\xfe" * 5000, b"make: nothing to be done\n" * 100])
def test_a_log_without_any_result_is_named_and_nothing_is_written(content: bytes, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "other.log"
    log.write_bytes(content)
    with pytest.raises(RefusedError, match="no rank has") as refused:
        decide("run_compare", path=str(tmp_path / "out"), logs=[{"path": str(log)}])
    assert str(log) in str(refused.value)
    assert not (tmp_path / "out").exists()


def report(tmp_path: pathlib.Path, **more: Any) -> dict[str, Any]:
    log = tmp_path / "train.log"
    if not log.exists():
        log.write_text(report_samples.log(4))
    result = report_samples.tf_cnn.read(log.read_text(errors="replace"), 4).as_dict()
    arguments = {"result": result, "log": str(log), "simulated": True, "expected_ranks": 4, **more}
    return decide("run_report", path=str(tmp_path / "reports"), run_id="r1", **arguments)


def test_module_writes_every_file_and_finds_the_benchmarks_of_the_run(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "reports" / "r1" / "benchmarks"
    folder.mkdir(parents=True)
    for kind, document in report_samples.benchmarks().items():
        (folder / f"{kind}.json").write_text(json.dumps(document))
    result = report(tmp_path, limits=report_samples.LIMITS)
    drawn = ["bandwidth.png", "communication.png", "limits.png", "scaling.png", "throughput.png"]
    assert result["files"] == sorted([*drawn, "mpirun.log", "report.html", "report.md", "summary.json"])
    assert {path.name for path in (tmp_path / "reports" / "r1").iterdir()} == {*result["files"], "benchmarks"}
    assert result["verdict"].startswith("SIMULATED - NOT PROVEN: ")
    assert result["plots_missing"] == ""
    assert sorted(result["summary"]["benchmarks"]) == ["bandwidth", "scaling", "scoring", "training"]
    assert "warnings" not in result
    assert report(tmp_path, limits=report_samples.LIMITS)["changed"] is False


def test_a_drawing_library_that_fails_costs_the_plots_and_not_the_report(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_summary: Any) -> None:
        raise RuntimeError("no font found")

    monkeypatch.setattr(plots, "draw", broken)
    result = report(tmp_path)
    assert "no font found" in result["plots_missing"]
    assert "no font found" in str(result["warnings"])
    assert "no font found" in (tmp_path / "reports" / "r1" / "report.html").read_text()


def test_module_report_is_complete_without_plots(tmp_path: pathlib.Path) -> None:
    result = report(tmp_path, plots=False)
    assert result["files"] == ["mpirun.log", "report.html", "report.md", "summary.json"]
    assert "not asked for" in (tmp_path / "reports" / "r1" / "report.md").read_text()


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 5000, b"x" * (5 << 20)], ids=["empty", "binary", "one line"])
def test_a_log_that_is_none_is_kept_and_the_run_is_not_proven(content: bytes, tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.log").write_bytes(content)
    result = report(tmp_path)
    assert result["verdict"].startswith("SIMULATED - NOT PROVEN")
    assert (tmp_path / "reports" / "r1" / "mpirun.log").read_bytes() == content
    assert "no_result" in [problem["code"] for problem in result["summary"]["problems"]]


def test_a_clock_that_goes_backwards_gives_no_negative_time(tmp_path: pathlib.Path) -> None:
    marks = [{"name": "a", "at": 100.0}, {"name": "b", "at": 50.0}, {"name": "c", "at": 60.0}]
    result = report(tmp_path, stage_marks=marks, finished="1970-01-01T00:00:10Z")
    assert result["summary"]["stages"] == {"a": 0.0, "b": 10.0, "c": 0.0}


def test_what_json_has_no_word_for_is_written_as_text(tmp_path: pathlib.Path) -> None:
    result = report(tmp_path, workload={"loss": float("nan")}, layers={"nic": {"found": {"x": float("inf")}}})
    written = json.loads((tmp_path / "reports" / "r1" / "summary.json").read_text())
    assert written["workload"]["loss"] == "nan"
    assert written == result["summary"]


def test_playbook_compares_without_lab_and_inventory(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(rescaled(1.0, "old").summary))
    (tmp_path / "b.json").write_text(json.dumps(rescaled(0.9, "new").summary))
    variables = {
        "compare_runs": [str(tmp_path / "a.json"), str(tmp_path / "b.json")],
        "compare_logs": [{"path": str(FIXTURES / "guide_sample.txt"), "name": "guide"}],
        "compare_dir": str(tmp_path),
        "compare_baseline": "old",
        "compare_fail_if_slower": True,
    }
    done = subprocess.run(
        [
            str(pathlib.Path(sys.executable).parent / "ansible-playbook"),
            "playbooks/compare.yml",
            "-i",
            "localhost,",
            "-e",
            json.dumps(variables),
        ],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "than this baseline" in said and "new: 4n4g, bf16" in said, said
    assert {path.name for path in (tmp_path / "compare").iterdir()} == {"compare.html", "compare.json", "compare.md"}
