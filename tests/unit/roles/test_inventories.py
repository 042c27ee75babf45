"""The inventories that people copy: every variable in them is one that a role or a playbook reads."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from tests.unit.roles.collection import PLAYBOOKS, ROLES, ROOT, defaults, entry_points, load

FILES = sorted((ROOT / "inventories").glob("*/group_vars/**/*.yml"))
_COMMENTED_RE = re.compile(r"(?m)^# ([a-z_]+):(?: |$)")
_SITE_RE = re.compile(r"\brocemesh_[a-z_]+")
OF_ANSIBLE = {"ansible_user", "ansible_port", "ansible_python_interpreter"} | {
    f"ansible_ssh_{name}" for name in ("private_key_file", "common_args")
}
OF_THE_LAB = {"rocemesh_lab_dir"}


def known() -> set[str]:
    names = OF_ANSIBLE | OF_THE_LAB
    for role in ROLES:
        names |= set(defaults(role))
        for spec in entry_points(role).values():
            names |= set(spec.get("options") or {})
    for path in [*PLAYBOOKS, *(ROOT / "roles").glob("**/*.yml")]:
        names |= set(_SITE_RE.findall(path.read_text()))
    return names


def name(path: pathlib.Path) -> str:
    return str(path.relative_to(ROOT / "inventories"))


@pytest.mark.parametrize("path", FILES, ids=map(name, FILES))
def test_every_variable_is_one_that_somebody_reads(path: pathlib.Path) -> None:
    # What is switched off by a comment is meant to be used as well.
    written = set(load(path)) | set(_COMMENTED_RE.findall(path.read_text()))
    assert written <= known(), sorted(written - known())


def test_the_example_keeps_its_secrets_in_a_vault() -> None:
    files = [path for path in FILES if path.is_relative_to(ROOT / "inventories" / "example")]
    passwords = {key: value for path in files for key, value in load(path).items() if key.endswith("password")}
    assert len(passwords) >= 3
    assert all(re.fullmatch(r"\{\{ vault_[a-z_]+ \}\}", value) for value in passwords.values()), sorted(passwords)


def test_the_example_says_what_the_roles_require() -> None:
    files = [path for path in FILES if path.is_relative_to(ROOT / "inventories" / "example")]
    said = {key for path in files for key in load(path)}
    for role in ROLES:
        options = entry_points(role)["main"].get("options") or {}
        missing = {key for key, option in options.items() if option.get("required")} - said
        # The roles that playbooks call with the values themselves.
        assert role in ("stage", "report", "benchmark", "consistency") or not missing, (role, missing)


def test_files_beside_the_example_are_no_inventories_as_the_readme_names_it(tmp_path: pathlib.Path) -> None:
    commands = re.findall(r"(?m)^    ansible-playbook .*-i (\S+)", (ROOT / "README.md").read_text())
    assert len(commands) >= 4
    assert set(commands) == {"inventories/mine/hosts.yml"}
    mine = tmp_path / "mine"
    shutil.copytree(ROOT / "inventories" / "example", mine)
    (mine / "vcenter-ca.pem").write_text("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    (mine / "known_hosts").write_text("192.0.2.2 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ\n")
    done = subprocess.run(
        [str(pathlib.Path(sys.executable).with_name("ansible-inventory")), "-i", str(mine / "hosts.yml"), "--graph"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1", "ANSIBLE_HOME": str(tmp_path / "home")},
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    assert "gpu04" in done.stdout
