"""playbooks/upgrade.yml up to its first window, against simulators; dpkg and apt of the one VM are two scripts here.

A whole upgrade needs guests that restart: tests/faults/test_upgrade.py.
"""

from __future__ import annotations

import json
import pathlib
import subprocess

import pytest

from tests.integration.day2.conftest import REPOSITORY, Site

UPGRADE = REPOSITORY / "playbooks" / "upgrade.yml"
STAGES = ("--tags", "always,recover,power,window")
INST = "Inst tiny [1.0] (2.0 here [all])"


def upgrade(site: Site, *more: str, simulation: str = INST, status: int = 0) -> subprocess.CompletedProcess[str]:
    tools = site.folder / "tools"
    tools.mkdir()
    for name, text, rc in (("dpkg-query", "package tiny installed 1.0", 0), ("apt-get", simulation, status)):
        (tools / name).write_text(f"#!/bin/sh\necho '{text}'\nexit {rc}\n")
        (tools / name).chmod(0o755)
    environment = site.environment()
    given = json.dumps({"rocemesh_upgrade": {"packages": {"tiny": "2.0"}}})
    return subprocess.run(
        site.command(UPGRADE, *STAGES, "-e", given, *more),
        cwd=site.folder,
        env={**environment, "PATH": f"{tools}:{environment['PATH']}"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def test_check_lists_packages_and_windows_and_changes_nothing(site: Site) -> None:
    before = site.hashes()
    done = upgrade(site, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tiny: 1.0 -> 2.0" in done.stdout and "maintenance window" in done.stdout, done.stdout
    (plan,) = (site.folder / "journal").glob("*-plan.jsonl")
    rows = [json.loads(line) for line in plan.read_text().splitlines()]
    assert {"tiny": "2.0"} in [row.get("after") for row in rows]
    assert site.hashes() == before


@pytest.mark.parametrize(
    ("more", "answers", "words"),
    [
        ((), {}, "gpu01: tiny: 1.0 -> 2.0"),
        (("-e", "rocemesh_allow_reboot=true"), {"simulation": f"{INST}\nRemv docker.io [24]"}, "docker.io"),
        (("-e", '{"rocemesh_upgrade": {"packages": []}}'), {}, "rocemesh_upgrade"),
    ],
    ids=["no_permission", "removal", "no_packages"],
)
def test_what_is_not_allowed_stops_before_the_first_host(
    more: tuple[str, ...], answers: dict[str, object], words: str, site: Site
) -> None:
    before = site.hashes()
    done = upgrade(site, *more, **answers)  # type: ignore[arg-type]
    assert done.returncode != 0 and words in done.stdout, done.stdout + done.stderr
    assert site.hashes() == before and site.runs() == []
    assert not pathlib.Path("/var/lib/rocemesh-upgrade.json").exists()


def test_vm_that_is_left_out_stops_no_other_one(site: Site) -> None:
    given = ("-e", "rocemesh_allow_reboot=true", "-e", "rocemesh_skip_hosts=gpu01")
    done = upgrade(site, *given, simulation=f"{INST}\nRemv docker.io [24]")
    assert done.returncode == 0 and site.runs() == [], done.stdout + done.stderr
