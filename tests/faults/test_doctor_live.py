# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/doctor.yml over the living lab: nothing on the right site, and each fault that a device of the lab can show
(`python -m lab fault list`) named first, at its place, within a minute, and nothing changed."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from lab import config, control
from lab.gym import model, site, verbs
from lab.gym.faults import FAULTS
from lab.gym.questions import names_it
from tests import site_run

HOST = "gpu02"
SHOWN = {name: fault for name, fault in FAULTS.items() if fault.call}
SECONDS = 60.0


@pytest.fixture(scope="module", autouse=True)
def standing() -> Iterator[None]:
    """The whole guide has been played, and no fault is set when it ends."""
    run = site_run.play("site.yml", *site_run.ALLOW, *site_run.SHORT)
    assert run.rc == 0, run.tail()
    yield
    for program in verbs.PROGRAMS:
        control.request("DELETE", control.url(program, "/fault"), timeout=120)


def asked(tmp_path: pathlib.Path) -> tuple[site_run.Run, dict[str, Any]]:
    """The doctor's run and its answer."""
    dest = tmp_path / "doctor.json"
    run = site_run.play("doctor.yml", "-e", f"doctor_dest={dest}")
    assert dest.exists(), run.tail()
    answer: dict[str, Any] = json.loads(dest.read_text(encoding="utf-8"))
    for finding in answer["findings"]:
        # The gym's switch has a name of its own.
        finding["hosts"] = [site.SWITCH if host == config.SWITCH_NAME else host for host in finding["hosts"]]
    return run, answer


def briefly(answer: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    return [(found["cause"], found["certainty"], found["hosts"]) for found in answer["findings"]]


def test_on_the_right_site_nothing_is_more_than_a_candidate(tmp_path: pathlib.Path) -> None:
    before = site_run.durable()
    run, answer = asked(tmp_path)
    assert [found for found in briefly(answer) if found[1] != "candidate"] == [], run.tail()
    assert answer["verdict"] != "faulty" and run.rc in (0, 3), run.tail()
    assert site_run.durable() == before, "the doctor changed the twin"


@pytest.mark.parametrize("name", SHOWN)
def test_a_fault_of_a_living_device_is_named_first(name: str, tmp_path: pathlib.Path) -> None:
    fault = SHOWN[name]
    assert fault.call
    program = fault.call.program
    control.request("POST", control.url(program, "/fault"), verbs.body(fault.call, HOST), timeout=60)
    try:
        before = site_run.durable()
        run, answer = asked(tmp_path)
        assert site_run.durable() == before, "the doctor changed the twin"
    finally:
        control.request("DELETE", control.url(program, "/fault"), timeout=120)
    assert run.rc == 2, run.tail()
    assert names_it(answer["findings"][0], fault, HOST), (model.where(fault, HOST), briefly(answer), run.tail())
    assert run.seconds < SECONDS, f"{run.seconds:.0f} s"
