"""The textfile of drift keeps the rules of Prometheus: `promtool check metrics` of Debian's package says nothing."""

from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.plugin_utils import journal

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
PROMTOOL = CACHE / "rocemesh/promtool/promtool"
BEGIN = {"run": "20261123T101500Z-4f2a", "time": "2026-11-23T10:15:00+00:00", "simulated": True}
HOSTS = {"guest": ["gpu01", 'a"b\\c\nd', "größer {x}"], "switch": ["leaf01"], "": ["x"]}

pytestmark = pytest.mark.skipif(not PROMTOOL.exists(), reason=f"no {PROMTOOL}: tests/promtool.sh brings it")


def checked(text: str) -> tuple[int, str]:
    done = subprocess.run(
        [str(PROMTOOL), "check", "metrics"], input=text, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout + done.stderr


def text(*said: dict[str, Any]) -> str:
    return journal.metrics(journal.drift(list(said), HOSTS, BEGIN), 1795680942.5)


@pytest.mark.parametrize(
    "said",
    [
        (),
        ({"kind": "waiting", "reasons": ["r"]}, {"kind": "change", "operations": [], "task": "t"}),
        ({"kind": "failed", "readable": False, "message": 'no "answer"\n'},),
    ],
    ids=["right", "differs", "not readable"],
)
def test_textfile_passes_promtool(said: tuple[dict[str, Any], ...]) -> None:
    about = {"host": 'a"b\\c\nd', "layer": "guest", "device": ""}
    assert checked(text(*({**about, **entry} for entry in said))) == (0, "")


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("# HELP rocemesh_drift_unreadable Readings that failed.\n", "", "no help text"),
        ("rocemesh_drift_unreadable", "rocemesh_drift_unreadable_total", '"_total" suffix'),
        ("_timestamp_seconds", "_timestamp_ms", "abbreviated units"),
        ('layer="switch"} 0', "layer=switch} 0", "parsing error"),
        ("# HELP rocemesh_drift_unreadable", "rocemesh_drift_info 1\n# HELP rocemesh_drift_info", "second HELP line"),
    ],
)
def test_promtool_notices_a_textfile_that_is_wrong(before: str, after: str, reason: str) -> None:
    right = text()
    assert before in right
    status, said = checked(right.replace(before, after))
    assert status and reason in said, said
