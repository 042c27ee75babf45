"""The machine that runs Ansible: versions, libraries, collections, files. Pure."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Iterator, Mapping, Sequence

from .._judge.finding import PROBLEM, WARNING, Finding
from .._judge.sentences import Sentences
from .findings import found

PLACE = "controller"
LEAST_ANSIBLE = "2.17"
LEAST_PYTHON = "3.10"
needs = Sentences(__file__, "controller.yml").__getitem__  # of libraries, collections or programs


@dataclasses.dataclass(frozen=True)
class Controller:
    """``libraries``: import name -> release, None: not importable; ``collections``: name -> release, None: not found;
    ``programs``: those that are there."""

    ansible: str
    python: str
    executable: str
    libraries: Mapping[str, str | None]
    collections: Mapping[str, str | None]
    programs: frozenset[str]


def judge(seen: Controller, groups: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """``groups``: of the inventory, name -> hosts."""
    if older(seen.ansible, LEAST_ANSIBLE):
        pip = _pip(seen, f"ansible-core>={LEAST_ANSIBLE}")
        yield found("ansible_old", PLACE, version=seen.ansible, least=LEAST_ANSIBLE, pip=pip)
    if older(seen.python, LEAST_PYTHON):
        yield found("controller_python_old", PLACE, executable=seen.executable, version=seen.python, least=LEAST_PYTHON)
    present = {name for name, hosts in groups.items() if hosts}
    for name, row in needs("libraries").items():
        text, optional = _unfit(seen.libraries.get(name), row, present), row.get("optional")
        if text:
            remedy = _pip(seen, f"{row['project']}>={row['least']},<{row['below']}")
            said = f"{text}: {optional}" if optional else text
            yield Finding(PLACE, row["project"], said, remedy, WARNING if optional else PROBLEM)
    for name, row in needs("collections").items():
        text = _unfit(seen.collections.get(name), row, present)
        if text:
            yield found("collection", PLACE, name=name, text=text, least=row["least"], below=row["below"])
    for program, package in needs("programs").items():
        if program not in seen.programs:
            yield found("program", PLACE, program=program, package=package)


def _unfit(version: str | None, row: Mapping[str, Any], present: set[str]) -> str:
    """What is wrong with a release; empty: nothing, or none of the groups that need it is there."""
    if "needed_by" in row and not present.intersection(row["needed_by"]):
        return ""
    if version is None:
        return "it is not installed"
    fits = not older(version, row["least"]) and older(version, row["below"])
    return "" if fits else f"{version} is not in {row['least']} up to below {row['below']}"


def _pip(seen: Controller, requirement: str) -> str:
    return f"{seen.executable} -m pip install '{requirement}'"


def older(version: str, than: str) -> bool:
    """By the numbers at the start of each part; "2.19.0rc1" counts as 2.19.0, what has no number as 0."""
    return _numbers(version) < _numbers(than)


def _numbers(version: str) -> tuple[int, ...]:
    parts = (re.match(r"\d+", part) for part in [*version.split("."), "", "", ""][:4])
    return tuple(int(match.group()) if match else 0 for match in parts)
