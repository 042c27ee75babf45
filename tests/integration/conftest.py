"""The files that take longest come first: no worker begins one when the others are nearly done."""

from __future__ import annotations

import pathlib

import pytest

HERE = pathlib.Path(__file__).parent
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
