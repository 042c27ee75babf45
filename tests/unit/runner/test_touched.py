"""`make check` runs the unit tests of the rooms that a change touches."""

from __future__ import annotations

import pathlib

import pytest

from tests import touched

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("plugins/module_utils/_nic/state.py", ["tests/unit/nic"]),
        ("plugins/module_utils/_layer.py", ["tests/unit/layer"]),
        ("tests/unit/mesh/test_node.py", ["tests/unit/mesh"]),
        ("tests/kept/__init__.py", ["tests/unit/runner"]),
        ("workloads/checks/job.py", ["tests/unit/roles", "tests/unit/shipping", "tests/unit/workloads"]),
        ("roles/guest/tasks/main.yml", ["tests/unit/roles", "tests/unit/shipping"]),
        ("README.md", ["tests/unit/roles", "tests/unit/shipping"]),
    ],
)
def test_a_changed_file_has_the_tests_of_its_room(path: str, wanted: list[str]) -> None:
    assert touched.tests([path]) == wanted


def test_every_room_of_the_modules_has_tests() -> None:
    for room in (ROOT / "plugins" / "module_utils").glob("_[a-z]*"):
        assert touched.tests([f"{room.relative_to(ROOT)}/x.py" if room.is_dir() else str(room.relative_to(ROOT))]), room


def test_a_plugin_has_the_test_files_that_name_it() -> None:
    found = touched.tests(["plugins/modules/vmx_passthru.py"])
    assert {"tests/unit/roles", "tests/unit/vsphere/test_wanted.py"} <= set(found)
