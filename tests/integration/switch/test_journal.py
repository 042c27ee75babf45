"""The callback journal, and the answer of the playbook drift, by ansible-playbook against a simulated switch."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from typing import Any

import jsonschema
import pytest

from tests.integration import simulated_switch
from tests.integration.simulated_switch import ADDRESS, PASSWORD, REPOSITORY
from tests.integration.switch.harness import Simulator

SCHEMA = json.loads((REPOSITORY / "docs" / "schemas" / "journal.schema.json").read_text())


class Site:
    """A playbook that runs the role on the simulated switch, with a journal of its own."""

    def __init__(self, simulator: Simulator, folder: pathlib.Path) -> None:
        self.folder, self.simulator = folder, simulator

    def command(self, *flags: str, name: str = "site.yml", **changes: Any) -> list[str]:
        variables = {**self.simulator.role, "rocemesh_simulated": True, **changes}
        include = {"ansible.builtin.include_role": {"name": "rocemesh.multinode.switch"}}
        (self.folder / name).write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [include]}]))
        (self.folder / "variables.json").write_text(json.dumps(variables))
        program = str(pathlib.Path(sys.executable).with_name("ansible-playbook"))
        return [
            program,
            "-i",
            f"{ADDRESS},",
            str(self.folder / name),
            "-e",
            f"@{self.folder / 'variables.json'}",
            *flags,
        ]

    def environment(self) -> dict[str, str]:
        return simulated_switch.environment(
            ANSIBLE_STDOUT_CALLBACK="default",
            ANSIBLE_CALLBACKS_ENABLED="rocemesh.multinode.journal",
            ROCEMESH_JOURNAL=str(self.folder / "journal"),
            ROCEMESH_DRIFT=str(self.folder / "drift.json"),
            ROCEMESH_DRIFT_TEXTFILE=str(self.folder / "drift.prom"),
        )

    def play(self, *flags: str, name: str = "site.yml", **changes: Any) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.command(*flags, name=name, **changes),
            cwd=REPOSITORY,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert PASSWORD not in done.stdout + done.stderr
        return done

    def journals(self) -> list[pathlib.Path]:
        return sorted((self.folder / "journal").glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)

    def newest(self) -> list[dict[str, Any]]:
        text = self.journals()[-1].read_text()
        assert PASSWORD not in text
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            jsonschema.validate(line, SCHEMA)
        return lines


@pytest.fixture
def site(simulator: Simulator, tmp_path: pathlib.Path) -> Site:
    return Site(simulator, tmp_path)


def test_a_run_that_changes_something_is_written_and_one_that_does_not_is_not(site: Site) -> None:
    before = site.simulator.state()["running"]
    assert site.play().returncode == 0
    begin, *changes, end = site.newest()
    assert (
        begin["kind"] == "begin"
        and begin["simulated"]
        and not begin["check_mode"]
        and len(begin["inventory_sha256"]) == 64
    )
    assert end["kind"] == "end" and end["status"] == "ok" and ADDRESS in end["hosts"]
    planned, change = [each for each in changes if each["module"] == "rocemesh.multinode.onyx_roce"]
    assert planned["kind"] == "planned" and planned["before"] == change["before"]
    assert (change["kind"], change["layer"], change["host"]) == ("change", "switch", ADDRESS)
    assert len(change["operations"]) == 4 and change["before"] != change["after"]
    # What is written leads back to the state before.
    configured = site.simulator.state()["running"]
    assert configured != before and change["undo"]
    page = site.journals()[0].with_suffix(".html").read_text()
    assert "SIMULATED" in page and change["undo"][-1] in page
    assert site.play().returncode == 0
    assert len(site.journals()) == 1


def test_output_for_programs_stays_whole(site: Site) -> None:
    environment = {**site.environment(), "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json"}
    done = subprocess.run(
        site.command(), cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert json.loads(done.stdout)["stats"] and len(site.journals()) == 1 and str(site.journals()[0]) in done.stderr


def test_check_mode_writes_the_same_record_as_a_plan(site: Site) -> None:
    assert site.play("--check").returncode == 0
    planned = site.newest()
    assert site.journals()[0].name.endswith("-plan.jsonl") and planned[0]["check_mode"]
    assert site.play().returncode == 0
    done = site.newest()
    keys = ("before", "after", "operations", "undo")
    assert [[each[key] for key in keys] for each in planned if each["kind"] == "change"] == [
        [each[key] for key in keys] for each in done if each["kind"] == "change"
    ]


def test_a_failed_run_says_what_it_has_done_and_how_to_take_it_back(site: Site) -> None:
    site.simulator.fault(name="refuse_line", pattern="mtu")
    assert site.play(switch_options={"rollback": False}).returncode != 0
    failed = [each for each in site.newest() if each["kind"] == "failed" and each["module"].endswith("onyx_roce")]
    assert failed and failed[0]["code"] == "apply_failed" and failed[0]["applied"] and failed[0]["undo"]
    assert site.newest()[-1]["status"] == "failed"


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_a_run_that_is_cut_short_leaves_what_it_did_and_no_end(kind: signal.Signals, site: Site) -> None:
    process = subprocess.Popen(
        site.command(),
        cwd=REPOSITORY,
        env=site.environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    rest, sent = "", 0.0
    for line in process.stdout:
        rest += line if sent else ""
        # Python drops an interrupt where it can raise none (a finalizer), and the play goes on: a person presses again.
        goes_on = sent and re.match(r"TASK |PLAY |ok: |changed: |skipping: ", line) and time.monotonic() > sent + 0.3
        if goes_on or (not sent and re.search(r"^TASK .*Publish", line)):
            os.killpg(process.pid, kind)
            sent = time.monotonic()
    process.wait(timeout=60)
    # Ctrl-C leaves the run a last word: where to read on.
    assert (str(site.journals()[0]) in rest) is (kind is signal.SIGINT), rest
    lines = site.newest()
    assert [line["kind"] for line in lines if line["kind"] in ("begin", "end")] == ["begin"]
    assert any(line["kind"] == "change" and line["undo"] for line in lines)


def test_a_folder_that_cannot_be_written_does_not_stop_the_run(site: Site) -> None:
    (site.folder / "journal").write_text("a file")
    done = site.play()
    assert done.returncode == 0 and "ROCEMESH_JOURNAL" in done.stdout + done.stderr


def drift(site: Site, **changes: Any) -> tuple[int, dict[str, Any]]:
    done = site.play("--check", name="drift.yml", **changes)
    return done.returncode, json.loads((site.folder / "drift.json").read_text())


def test_drift_is_right_differs_or_is_not_readable(site: Site) -> None:
    status, found = drift(site)
    assert (status, found["verdict"]) == (2, "differs") and {row["state"] for row in found["drift"]} == {"differs"}
    assert site.play().returncode == 0
    status, found = drift(site)
    assert (status, found["verdict"], found["drift"]) == (0, "right", []) and found["read"] == {"switch": [ADDRESS]}
    assert (
        f'rocemesh_drift_differences{{host="{ADDRESS}",layer="switch"}} 0' in (site.folder / "drift.prom").read_text()
    )
    status, found = drift(site, switch_password="another-one")
    assert (status, found["verdict"]) == (3, "not readable")
    assert f'rocemesh_drift_unreadable{{host="{ADDRESS}",layer="switch"}} 1' in (site.folder / "drift.prom").read_text()


def test_drift_pfc_off_by_hand_differs(site: Site) -> None:
    """Nothing is left to send, as the RoCE mode is the wanted one by name: the reading itself finds it."""
    assert site.play().returncode == 0
    site.simulator.fault(name="pfc_off")
    status, found = drift(site)
    assert (status, found["verdict"]) == (2, "differs")
    assert any("PFC" in text for row in found["drift"] for text in row["what"])
