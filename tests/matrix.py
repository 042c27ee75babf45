"""Role tests that need no lab, with every release of ansible-core on each Python that it runs on.

    python tests/matrix.py                    # every cell whose Python is found
    python tests/matrix.py --core 2.17 --core 2.21 --python 3.12
    python tests/matrix.py --list             # the cells, and the interpreter of each
    python tests/matrix.py --quick            # conditions alone: seconds a cell, and no cell counts as done
    python tests/matrix.py --again            # those that passed with these sources as well

One environment per Python (`.build/matrix`), in which ansible-core is exchanged from cell to cell. A cell that passed
with the same sources is not played again, so an interrupted matrix goes on. What came of it:
`.build/matrix/results.json` and results.txt, and the whole output of each cell beside them. Interpreters: python3.N on
the PATH, or of pyenv. A cell whose Python is not found is told.
Exit status: 0 if every cell that could be had passed, 1 if one failed, 2 if there was none.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence

ROOT = pathlib.Path(__file__).resolve().parents[1]
PLACE = ROOT / ".build" / "matrix"
# What a release of ansible-core runs on as a controller: docs.ansible.com, "ansible-core support matrix".
PYTHONS = {
    "2.17": ("3.10", "3.11", "3.12"),
    "2.18": ("3.11", "3.12", "3.13"),
    "2.19": ("3.11", "3.12", "3.13"),
    "2.20": ("3.12", "3.13", "3.14"),
    "2.21": ("3.12", "3.13", "3.14"),
}
# What a release may do otherwise, and little else: conditions of all roles, with numbers and booleans as the texts that
# the command line makes of them; playbooks and a role as they are started, against simulators on free ports.
TESTS = (
    "tests/unit/roles/test_numbers_as_text.py::test_a_condition_holds_for_texts_as_well",
    "tests/unit/roles/test_gpus_that_wait.py",
    "tests/unit/roles/test_plan_with_a_hole.py",
    "tests/integration/preflight/test_playbook.py",
    "tests/integration/switch/test_role.py::test_the_role_converges_and_stays",
    "tests/integration/switch/test_role.py::test_booleans_of_the_command_line_are_strings_and_mean_the_same",
)
QUICK = TESTS[:2]
# One command each, for ansible-galaxy takes a file or names. ansible.posix: the callback that tests read.
NEEDED = (("-r", "collections/requirements.yml"), ("ansible.posix",))
# What decides about a cell.
SOURCES = ("collections", "inventories", "lab", "meta", "playbooks", "plugins", "pyproject.toml", "roles", "tests")
PASSED, FAILED, NOT_INSTALLED, NO_PYTHON = "passed", "FAILED", "NOT INSTALLED", "no such Python"
_LIMIT = 1800.0  # seconds for one command


@dataclasses.dataclass(frozen=True)
class Cell:
    """``core``, ``python``: as asked for; ``versions``: of both, as installed; ``sources``: digest of what was
    tested."""

    core: str
    python: str
    outcome: str
    versions: str = ""
    seconds: float = 0.0
    said: str = ""
    sources: str = ""

    @property
    def name(self) -> str:
        return f"{self.core}-py{self.python}"


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


def requirements() -> list[str]:
    """The tests' own, and what the collection depends on; no formatter or linter."""
    listed = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "unit_requirements.py")], check=True, capture_output=True, text=True
    )
    needed = re.compile(r"netmiko|pyvmomi|asyncssh|cryptography|pytest|hypothesis|jsonschema|kubernetes-validate")
    return [each for each in listed.stdout.splitlines() if needed.match(each)]


def ran(command: list[str], **more: str) -> tuple[bool, str]:
    environment = {**os.environ, "LC_ALL": "C.UTF-8", **more}
    try:
        done = subprocess.run(
            command, cwd=ROOT, check=False, capture_output=True, text=True, env=environment, timeout=_LIMIT
        )
    except subprocess.TimeoutExpired:
        return False, f"it did not end within {_LIMIT:.0f} s"
    return done.returncode == 0, done.stdout + done.stderr


def last_line(said: str) -> str:
    return (said.strip().splitlines() or ["it said nothing"])[-1].strip("= ")


class Environment:
    """Of one Python: everything but ansible-core is installed once."""

    def __init__(self, folder: pathlib.Path, path: str, collections: str) -> None:
        self.folder, self._path, self._collections = folder, path, collections
        self.programs = folder / "bin"
        self.home = folder / "home"

    def _pip(self, *needs: str) -> tuple[bool, str]:
        return ran([str(self.programs / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *needs])

    def _once(self) -> tuple[bool, str]:
        mark, needs = self.folder / "installed", requirements()
        if mark.exists() and mark.read_text().splitlines() == needs:
            return True, ""
        good, said = ran([self._path, "-m", "venv", "--clear", str(self.folder)])
        if good:
            good, said = self._pip(*needs)
        if good:
            mark.write_text("\n".join(needs))
        return good, said

    def _place_collections(self) -> tuple[bool, str]:
        place = self.home / ".ansible" / "collections"
        if (place / "ansible_collections").exists():
            return True, ""
        place.mkdir(parents=True, exist_ok=True)
        if self._collections:
            found = pathlib.Path(self._collections, "ansible_collections").resolve()
            (place / "ansible_collections").symlink_to(found)
            return True, ""
        for each in NEEDED:
            galaxy = [str(self.programs / "ansible-galaxy"), "collection", "install", "-p", str(place)]
            good, said = ran([*galaxy, *each])
            if not good:
                return False, said
        return True, ""

    def take(self, core: str) -> tuple[bool, str]:
        """Exchanges ansible-core."""
        good, said = self._once()
        if good:
            good, said = self._pip(f"ansible-core=={core}.*")
        return self._place_collections() if good else (good, said)

    def versions(self) -> str:
        script = "import platform, ansible.release as r; print(r.__version__, platform.python_version())"
        return last_line(ran([str(self.programs / "python"), "-c", script])[1])

    def test(self, tests: Sequence[str]) -> tuple[bool, str]:
        options = ["-q", "-n", "0", "-W", "ignore", "-p", "no:cacheprovider"]
        command = [str(self.programs / "python"), "-m", "pytest", *options, *tests]
        return ran(command, PATH=f"{self.programs}:{os.environ['PATH']}", HOME=str(self.home))


def play(core: str, python: str, path: str, collections: str, sources: str, *, quick: bool = False) -> Cell:
    """One cell; its output stays beside the results."""
    begun = time.monotonic()
    environment = Environment(PLACE / f"py{python}", path, collections)
    good, said = environment.take(core)
    if not good:
        cell = Cell(core, python, NOT_INSTALLED, said=last_line(said))
    else:
        good, said = environment.test(QUICK if quick else TESTS)
        told = f"conditions alone: {last_line(said)}" if quick else last_line(said)
        cell = Cell(core, python, PASSED if good else FAILED, environment.versions(), said=told)
    PLACE.mkdir(parents=True, exist_ok=True)
    (PLACE / f"{cell.name}.log").write_text(said)
    return dataclasses.replace(cell, seconds=round(time.monotonic() - begun, 1), sources="" if quick else sources)


# ------------------------------------------------------------------------------------------------------------- results


def digest() -> str:
    """Of the sources that decide; empty outside of a clone, where no cell is believed to be done."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *SOURCES],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if listed.returncode != 0:
        return ""
    found = hashlib.sha256()
    for name in sorted(set(listed.stdout.split("\0")) - {""}):
        path = ROOT / name
        if path.is_file():
            found.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def remembered() -> dict[str, Cell]:
    try:
        rows = json.loads((PLACE / "results.json").read_text())["cells"]
        cells = [Cell(**row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {cell.name: cell for cell in cells}


def done_before(known: Mapping[str, Cell], core: str, python: str, sources: str) -> Cell | None:
    cell = known.get(f"{core}-py{python}")
    return cell if cell and cell.outcome == PASSED and sources and cell.sources == sources else None


def row(cell: Cell) -> str:
    words = (cell.core, cell.python, cell.outcome, f"{cell.seconds / 60:.1f}", f"{cell.versions} {cell.said}".strip())
    return f"| {' | '.join(words)} |"


HEAD = "| ansible-core | Python | outcome | minutes | |\n|---|---|---|--:|---|"


def keep(cells: Iterable[Cell]) -> None:
    """All that is known, in the order of the matrix."""
    known = {cell.name: cell for cell in cells}
    order = [known[f"{core}-py{python}"] for core, pythons in PYTHONS.items() for python in pythons
             if f"{core}-py{python}" in known]  # fmt: skip
    PLACE.mkdir(parents=True, exist_ok=True)
    told = {"tests": TESTS, "cells": [dataclasses.asdict(cell) for cell in order]}
    (PLACE / "results.json").write_text(json.dumps(told, indent=1) + "\n")
    (PLACE / "results.txt").write_text("\n".join([HEAD, *map(row, order)]) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description="ansible-core x Python")
    parser.add_argument("--core", action="append", choices=sorted(PYTHONS))
    parser.add_argument("--python", action="append")
    parser.add_argument("--collections", default="", help="folder with ansible_collections, instead of Galaxy")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--quick", action="store_true", help="conditions alone")
    parser.add_argument("--again", action="store_true", help="also what passed with these sources")
    options = parser.parse_args()
    chosen = [
        (core, python)
        for core, pythons in PYTHONS.items()
        for python in pythons
        if core in (options.core or PYTHONS) and python in (options.python or pythons)
    ]
    found = {python: interpreter(python) for python in {python for _core, python in chosen}}
    known, sources = remembered(), digest()
    cells = []
    print(HEAD)
    for core, python in chosen:
        done = None if options.again else done_before(known, core, python, sources)
        if not found[python]:
            cell = Cell(core, python, NO_PYTHON, said="not tried")
        elif options.list:
            cell = Cell(core, python, "", said=found[python])
        else:
            cell = done or play(core, python, found[python], options.collections, sources, quick=options.quick)
        cells.append(cell)
        if not options.list:
            known[cell.name] = cell
            keep(known.values())
        print(row(cell), flush=True)
    outcomes = {cell.outcome for cell in cells}
    if {FAILED, NOT_INSTALLED} & outcomes:
        return 1
    return 0 if options.list or PASSED in outcomes else 2


if __name__ == "__main__":
    sys.exit(main())
