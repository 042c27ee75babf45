"""A sample of the mutants is caught as it was, and the committed results say what they should."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import yaml

from tests.mutation import figures, trial
from tests.mutation.plugin import Selector

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("code", "roles", "known", "guide")


def test_a_sample_of_the_mutants_is_still_caught() -> None:
    command = [sys.executable, "-m", "tests.mutation", "sample"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_every_survivor_is_explained_or_named_as_undecided() -> None:
    left = [trial.key_of(entry) for part in PARTS for entry in trial.unexplained(trial.kept(ROOT, part))]
    assert sorted(left) == sorted(trial.undecided())


def test_no_explanation_says_that_there_is_none() -> None:
    assert [mutant for mutant, reason in trial.explained().items() if "not decided" in reason] == []


def test_every_explanation_is_of_a_mutant_that_survives() -> None:
    survivors = {trial.key_of(entry) for part in PARTS for entry in trial.kept(ROOT, part) if not entry["by"]}
    assert set(trial.explained()) <= survivors
    assert all(len(reason) > 20 for reason in trial.explained().values())


def test_the_survivors_of_the_review_are_all_caught() -> None:
    names = {row["name"] for row in yaml.safe_load((ROOT / "tests/mutation/known.yml").read_text())}
    caught = {entry["scope"] for entry in trial.kept(ROOT, "known") if entry["by"]}
    assert names == caught


def test_every_file_that_decides_exists_and_results_are_of_no_other() -> None:
    files = {file for room in trial.rooms()["code"].values() for file in room["files"]}
    assert all((ROOT / file).is_file() for file in files)
    tried = {entry["file"] for entry in trial.kept(ROOT, "code")}
    assert tried and tried <= files


def test_a_test_that_is_named_twice_over_runs_once() -> None:
    """By its file, by its function or with its parameters: a second run of an item fails, and all would be caught."""

    class Item:
        def __init__(self, nodeid: str) -> None:
            self.nodeid = nodeid

    items = [Item("a.py::test_x"), Item("a.py::test_y[1]"), Item("a.py::test_y[2]"), Item("b.py::test_z")]
    for wanted, expected in (
        (["a.py::test_x"], ["a.py::test_x"]),
        (["a.py::test_y", "a.py::test_x"], ["a.py::test_y[1]", "a.py::test_y[2]", "a.py::test_x"]),
        (["b.py", "a.py::test_y[2]"], ["b.py::test_z", "a.py::test_y[2]"]),
    ):
        found = list(items)
        Selector(wanted).pytest_collection_modifyitems(found)  # type: ignore[arg-type]
        assert [item.nodeid for item in found] == expected


def test_the_page_names_the_items_of_the_guide_that_were_not_asked() -> None:
    listed = {row["id"] for row in yaml.safe_load((ROOT / "tests/mutation/guide_breaks.yml").read_text())}
    asked = {int(entry["scope"].split()[-1]) for entry in trial.kept(ROOT, "guide")}
    told = re.findall(r"(\d+) are listed, (\d+) of them were not asked \(items ([\d, ]+)\)", figures.page())
    left = ", ".join(map(str, sorted(listed - asked)))
    assert told == ([(str(len(listed)), str(len(listed - asked)), left)] if left else [])
