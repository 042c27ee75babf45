"""A test that was skipped proves nothing: in tests/run.sh it fails, unless the short list names it."""

from __future__ import annotations

import ast
import pathlib
import subprocess
import sys

import pytest

from tests import junit

ROOT = pathlib.Path(__file__).resolve().parents[3]
SUITE = """
import pytest
def test_passes(): pass
def test_fails(): assert False
@pytest.mark.parametrize("which", ["a", "b"])
def test_may(which): pytest.skip("not here")
def test_must(): pytest.skip("no such program")
@pytest.fixture
def broken(): raise RuntimeError
def test_without_its_fixture(broken): pass
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("suite")
    (place / "test_it.py").write_text(SUITE)
    (place / "test_whole.py").write_text("import pytest\npytest.importorskip('a_module_that_is_nowhere')")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--junitxml=counts.xml", "."]
    subprocess.run(command, cwd=place, capture_output=True, check=False)
    return str(place / "counts.xml")


def test_a_skip_counts_as_failed_unless_the_list_names_it(written: str) -> None:
    passed, failed, skipped, refused = junit.count(written, {"test_it.py::test_may": "on purpose"})
    assert (passed, failed, skipped) == (1, 4, 2)
    assert [line.partition(":")[0] for line in refused] == ["test_whole.py", "test_it.py"]
    assert refused[1] == "test_it.py::test_must: no such program", refused


def test_what_failed_can_be_run_again_by_its_id(written: str) -> None:
    may_skip = {"test_it.py::test_may": "", "test_it.py::test_must": "", "test_whole.py": ""}
    assert junit.failed_tests(written, may_skip) == ["test_it.py::test_fails", "test_it.py::test_without_its_fixture"]


def test_each_failure_is_said_again_with_its_first_line(written: str, tmp_path: pathlib.Path) -> None:
    lines = junit.reasons(written, {"test_it.py::test_may": "on purpose"})
    assert [line.partition(": ")[0] for line in lines] == [
        *("test_it.py::test_fails", "test_it.py::test_without_its_fixture"),
        *("test_whole.py", "test_it.py::test_must"),
    ]
    assert "assert False" in lines[0] and "RuntimeError" in lines[1]
    assert len(junit.reasons(str(tmp_path / "none.xml"), {})) == 1


def test_nothing_is_run_again_where_a_skip_counts_as_failed(written: str) -> None:
    assert junit.failed_tests(written, {}) == []


def test_a_run_that_left_no_file_counts_nothing(tmp_path: pathlib.Path) -> None:
    assert junit.count(str(tmp_path / "none.xml"), {}) == (0, 0, 0, ())


@pytest.mark.parametrize("name", junit.allowed())
def test_what_may_be_skipped_exists_and_has_a_reason(name: str) -> None:
    path, _colons, function = name.partition("::")
    tree = ast.parse((ROOT / path).read_text())
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert len(junit.allowed()[name]) > 20
