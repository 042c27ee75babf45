# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role tests that need no lab, with every release of ansible-core on the oldest and the newest Python that it runs on.

    python tests/matrix.py                    # every cell whose Python is found
    python tests/matrix.py --core 2.17 --core 2.21 --python 3.12
    python tests/matrix.py --list             # the cells, and the interpreter of each

Cells are those of .github/workflows/test.yml and those between. An environment of each is made in a temporary folder
and removed. Interpreters: python3.N on the PATH, or of pyenv. A cell whose Python is not found is told.
Exit status: 0 if every cell that could be had passed, 1 if one failed, 2 if there was none.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
# What a release of ansible-core runs on as a controller: docs.ansible.com, "ansible-core support matrix".
PYTHONS = {
    "2.17": ("3.10", "3.11", "3.12"),
    "2.18": ("3.11", "3.12", "3.13"),
    "2.19": ("3.11", "3.12", "3.13"),
    "2.20": ("3.12", "3.13", "3.14"),
    "2.21": ("3.12", "3.13", "3.14"),
}
# Roles and playbooks as they are started, against simulators on free ports; and what reads roles as files.
TESTS = (
    "tests/integration/preflight/test_playbook.py",
    "tests/integration/switch/test_role.py::test_the_role_converges_and_stays",
    "tests/integration/switch/test_role.py::test_booleans_of_the_command_line_are_strings_and_mean_the_same",
    "tests/integration/collect",
    "tests/unit/roles/test_extra_vars.py",
    "tests/unit/roles/test_contracts.py",
    "tests/unit/roles/test_inventories.py",
)
# One command each, for ansible-galaxy takes a file or names. ansible.posix: the callback that tests read.
NEEDED = (("-r", "collections/requirements.yml"), ("ansible.posix",))


def interpreter(python: str) -> str:
    """Its path, or an empty string. A name on the PATH may be a shim for a version that is not there: it is asked."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for path in [
        shutil.which(f"python{python}"),
        *map(str, sorted(pyenv.glob(f"{python}.*/bin/python"), reverse=True)),
    ]:
        if path and subprocess.run([path, "-m", "venv", "--help"], check=False, capture_output=True).returncode == 0:
            return path
    return ""


def requirements(core: str) -> list[str]:
    """The tests' own, and what the collection depends on; no formatter or linter."""
    listed = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "unit_requirements.py")], check=True, capture_output=True, text=True
    )
    needed = re.compile(
        r"netmiko|pyvmomi|matplotlib|asyncssh|nvueschema|cryptography|requests|pytest|hypothesis|jsonschema"
    )
    return [f"ansible-core=={core}.*", *(each for each in listed.stdout.splitlines() if needed.match(each))]


def ran(command: list[str], **more: str) -> tuple[bool, str]:
    done = subprocess.run(
        command, cwd=ROOT, check=False, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8", **more}
    )
    return done.returncode == 0, done.stdout + done.stderr


def last_line(said: str) -> str:
    return (said.strip().splitlines() or ["it said nothing"])[-1]


def cell(core: str, python: str, path: str, collections: str, verbose: bool) -> tuple[str, str]:
    """What came of it (passed, FAILED or NOT INSTALLED), and the line that says so."""
    with tempfile.TemporaryDirectory() as folder:
        programs = pathlib.Path(folder, "bin")
        place = pathlib.Path(folder, "home", ".ansible", "collections")
        place.mkdir(parents=True)
        commands = [
            [path, "-m", "venv", folder],
            [
                str(programs / "python"),
                "-m",
                "pip",
                "install",
                "-q",
                "--disable-pip-version-check",
                *requirements(core),
            ],
        ]
        if collections:
            (place / "ansible_collections").symlink_to(pathlib.Path(collections, "ansible_collections").resolve())
        else:
            galaxy = [str(programs / "ansible-galaxy"), "collection", "install", "-p", str(place)]
            commands += [[*galaxy, *each] for each in NEEDED]
        for command in commands:
            good, said = ran(command)
            if not good:
                return "NOT INSTALLED", last_line(said)
        good, said = ran(
            [str(programs / "python"), "-m", "pytest", "-q", "-n", "0", "-W", "ignore", *TESTS],
            PATH=f"{programs}:{os.environ['PATH']}", HOME=f"{folder}/home",
        )  # fmt: skip
    if verbose and not good:
        print(said)
    return "passed" if good else "FAILED", last_line(said).strip("= ")


def main() -> int:
    parser = argparse.ArgumentParser(description="ansible-core x Python")
    parser.add_argument("--core", action="append", choices=sorted(PYTHONS))
    parser.add_argument("--python", action="append")
    parser.add_argument("--collections", default="", help="folder with ansible_collections, instead of Galaxy")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="the output of a cell that fails")
    options = parser.parse_args()
    chosen = [
        (core, python)
        for core, pythons in PYTHONS.items()
        for python in pythons
        if core in (options.core or PYTHONS) and python in (options.python or pythons)
    ]
    found = {python: interpreter(python) for python in {python for _core, python in chosen}}
    outcomes = []
    print("| ansible-core | Python | outcome | seconds | |\n|---|---|---|--:|---|")
    for core, python in chosen:
        begun = time.monotonic()
        if not found[python]:
            outcome, said = "no such Python", "not tried"
        elif options.list:
            outcome, said = "", found[python]
        else:
            outcome, said = cell(core, python, found[python], options.collections, options.verbose)
        outcomes.append(outcome)
        print(f"| {core} | {python} | {outcome} | {time.monotonic() - begun:.0f} | {said} |", flush=True)
    if {"FAILED", "NOT INSTALLED"} & set(outcomes):
        return 1
    return 0 if options.list or "passed" in outcomes else 2


if __name__ == "__main__":
    sys.exit(main())
