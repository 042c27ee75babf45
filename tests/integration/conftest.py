"""The files that take longest come first: no worker begins one when the others are nearly done. Files whose jobs would
be in each other's way are of one worker."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

HERE = pathlib.Path(__file__).parent
# Role run looks at all processes of the machine, and refuses to start beside another job: one worker has these.
TOGETHER = "tests/integration/live/"
LONGEST = [
    HERE / name
    for name in (
        "podman/test_podman.py",
        "rehearsal/test_rehearsal.py",
        "nic/test_ofed_guide.py",
        "nic/test_ofed_profiles.py",
        "live/test_benchmark.py",
        "nic/test_container_toolkit.py",
        "rails/test_check_mode.py",
        "nic/test_module_and_role.py",
        "vsphere/test_window_playbooks.py",
        "switch/test_conformance.py",
        "vsphere/test_window_left_out.py",
        "vsphere/test_two_vcenters.py",
        "vsphere/test_conformance_stock.py",
        "run/test_probe.py",
        "rails/test_day_one.py",
        "rails/test_preflight.py",
        "switch/test_read_only.py",
        "mesh/test_star.py",
        "day2/test_undo.py",
        "day2/test_replace.py",
        "day2/test_upgrade.py",
        "switch/test_journal.py",
    )
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [str(path) for path in LONGEST if not path.exists()]
    if missing:
        raise pytest.UsageError(f"tests/integration/conftest.py names what is not there: {', '.join(missing)}")
    place = {path: number for number, path in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


class ByFolder(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return TOGETHER if nodeid.startswith(TOGETHER) else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFolder | None:
    return ByFolder(config, log) if config.getoption("dist") == "loadfile" else None
