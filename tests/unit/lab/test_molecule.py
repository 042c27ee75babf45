"""No molecule scenario passes with a role that does nothing: its tests have to refuse what converge starts from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lab import config
from tests.integration.molecule.scenario import WITHOUT

MOLECULE = config.REPO / "molecule"
ROLES = sorted(path.name for path in (config.REPO / "roles").iterdir() if path.is_dir() and path.name not in WITHOUT)
# It only reads, so no state can be unwanted: its prepare plays the playbook with the role's tasks taken out.
READS_ONLY = {"consistency"}


@pytest.mark.parametrize("role", ROLES)
def test_the_tests_of_each_role_are_tried_before_the_role(role: str) -> None:
    plays = yaml.safe_load((MOLECULE / role / "prepare.yml").read_text())
    if role in READS_ONLY:
        assert "roles/consistency/tasks/*.yml" in str(plays) and "judged.rc != 1" in str(plays)
        return
    assert plays[-1].get("ansible.builtin.import_playbook") == "../unwanted.yml", "the last play of prepare"
    # Both look at the same machine.
    options = (
        (yaml.safe_load((MOLECULE / role / "molecule.yml").read_text()) or {}).get("verifier", {}).get("options", {})
    )
    judged = plays[-1].get("vars", {}).get("unwanted_hosts", "local://")
    assert judged in options.get("hosts", "local://").split(",")


@pytest.mark.parametrize(
    ("tests", "judged"),
    [
        ("def test_it():\n    assert False, 'the role has not been here'\n", 1),
        ("def test_it():\n    assert True\n", 0),
        ("", 5),
    ],
    ids=["refused", "passes-without-the-role", "no-test"],
)
def test_prepare_ends_only_if_a_test_refuses_the_state(tmp_path: Path, tests: str, judged: int) -> None:
    scenario = tmp_path / "molecule" / "one"
    (scenario / "tests").mkdir(parents=True)
    (scenario / "tests" / "test_one.py").write_text(tests)
    done = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("ansible-playbook")), "-v"),
            *("-e", f"ansible_python_interpreter={sys.executable}"),
            str(MOLECULE / "unwanted.yml"),
        ],
        env={
            **os.environ,
            "MOLECULE_PROJECT_DIRECTORY": str(tmp_path),
            "MOLECULE_SCENARIO_DIRECTORY": str(scenario),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert f'"rc": {judged},' in done.stdout, done.stdout + done.stderr
    assert (done.returncode == 0) is (judged == 1), done.stdout + done.stderr
