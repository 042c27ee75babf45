"""The machine that runs Ansible: versions, libraries, collections, files. Pure."""

from __future__ import annotations

import re
from typing import Any, Container, Iterator, Mapping, Sequence

from .._judge.finding import PROBLEM, WARNING, Finding
from .._judge.sentences import Sentences
from .findings import found

PLACE = "controller"
LEAST_ANSIBLE = "2.17"
LEAST_PYTHON = "3.10"
needs = Sentences(__file__, "controller.yml").__getitem__  # of libraries, collections or programs


def judge(
    groups: Mapping[str, Sequence[str]],
    *,
    ansible: str,
    python: str,
    executable: str,
    libraries: Mapping[str, str | None],
    collections: Mapping[str, str | None],
    programs: Container[str],
) -> Iterator[Finding]:
    """``groups``: of the inventory, name -> hosts; ``libraries``: import name -> release, None: not importable;
    ``collections``: name -> release, None: not found; ``programs``: those that are there."""
    pip = f"{executable} -m pip install"
    if older(ansible, LEAST_ANSIBLE):
        wanted = f"{pip} 'ansible-core>={LEAST_ANSIBLE}'"
        yield found("ansible_old", PLACE, version=ansible, least=LEAST_ANSIBLE, pip=wanted)
    if older(python, LEAST_PYTHON):
        yield found("controller_python_old", PLACE, executable=executable, version=python, least=LEAST_PYTHON)
    present = {name for name, hosts in groups.items() if hosts}
    for name, row in needs("libraries").items():
        text, optional = _unfit(libraries.get(name), row, present), row.get("optional")
        if text:
            remedy = f"{pip} '{row['project']}>={row['least']},<{row['below']}'"
            said = f"{text}: {optional}" if optional else text
            yield Finding(PLACE, row["project"], said, remedy, WARNING if optional else PROBLEM)
    for name, row in needs("collections").items():
        text = _unfit(collections.get(name), row, present)
        if text:
            yield found("collection", PLACE, name=name, text=text, least=row["least"], below=row["below"])
    for program, package in needs("programs").items():
        if program not in programs:
            yield found("program", PLACE, program=program, package=package)


def _unfit(version: str | None, row: Mapping[str, Any], present: set[str]) -> str:
    """What is wrong with a release; empty: nothing, or none of the groups that need it is there."""
    if "needed_by" in row and not present.intersection(row["needed_by"]):
        return ""
    if version is None:
        return "it is not installed"
    fits = not older(version, row["least"]) and older(version, row["below"])
    return "" if fits else f"{version} is not in {row['least']} up to below {row['below']}"


def older(version: str, than: str) -> bool:
    """By the numbers at the start of each part; "2.19.0rc1" counts as 2.19.0, what has no number as 0."""
    return _numbers(version) < _numbers(than)


def _numbers(version: str) -> tuple[int, ...]:
    parts = (re.match(r"\d+", part) for part in [*version.split("."), "", "", ""][:4])
    return tuple(int(match.group()) if match else 0 for match in parts)
