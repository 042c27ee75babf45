"""The machine that runs Ansible: versions, libraries, collections, files. Pure."""

from __future__ import annotations

import dataclasses
import re
from typing import Iterator, Mapping, Sequence

from .._judge.finding import WARNING, Finding
from .findings import found

PLACE = "controller"


@dataclasses.dataclass(frozen=True)
class Library:
    """``import_name``: as Python imports it; ``least``, ``below``: releases; ``needed_by``: groups that make it needed,
    none: everywhere; ``optional``: what is missing without it, in words."""

    project: str
    import_name: str
    least: str
    below: str
    needed_by: tuple[str, ...] = ()
    optional: str = ""

    @property
    def requirement(self) -> str:
        return f"{self.project}>={self.least},<{self.below}"


# As requirements.txt; a test holds the two together.
LIBRARIES = (
    Library("netmiko[par4]", "netmiko", "4.8", "5", ("switches",)),
    Library("pyvmomi", "pyVmomi", "9.1", "10", ("esxi_hosts", "gpu_vms")),
    Library("detect-secrets", "detect_secrets", "1.5", "2", optional="collect.yml writes no archive"),
    Library("matplotlib", "matplotlib", "3.8", "4", optional="the report has no plots"),
)
# collection -> (least, below, group that needs it), as galaxy.yml.
COLLECTIONS: Mapping[str, tuple[str, str, str]] = {"community.docker": ("4.0.0", "6.0.0", "gpu_vms")}
LEAST_ANSIBLE = "2.17"
LEAST_PYTHON = "3.10"
PROGRAMS: Mapping[str, str] = {"ssh": "openssh-client (Debian, Ubuntu) or openssh-clients (RHEL)"}


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
    for library in LIBRARIES:
        if not library.needed_by or present & set(library.needed_by):
            yield from _library(library, seen)
    for name, (least, below, group) in COLLECTIONS.items():
        if group in present:
            yield from _collection(name, least, below, seen)
    for program, package in PROGRAMS.items():
        if program not in seen.programs:
            yield found("program", PLACE, program=program, package=package)


def _unfit(version: str | None, least: str, below: str) -> str:
    """What is wrong with a release; empty: nothing."""
    if version is None:
        return "it is not installed"
    fits = not older(version, least) and older(version, below)
    return "" if fits else f"{version} is not in {least} up to below {below}"


def _library(library: Library, seen: Controller) -> Iterator[Finding]:
    text = _unfit(seen.libraries.get(library.import_name), library.least, library.below)
    remedy = _pip(seen, library.requirement)
    if text and library.optional:
        yield Finding(PLACE, library.project, f"{text}: {library.optional}", remedy, WARNING)
    elif text:
        yield Finding(PLACE, library.project, text, remedy)


def _collection(name: str, least: str, below: str, seen: Controller) -> Iterator[Finding]:
    text = _unfit(seen.collections.get(name), least, below)
    if text:
        yield found("collection", PLACE, name=name, text=text, least=least, below=below)


def _pip(seen: Controller, requirement: str) -> str:
    return f"{seen.executable} -m pip install '{requirement}'"


def older(version: str, than: str) -> bool:
    """By the numbers at the start of each part; "2.19.0rc1" counts as 2.19.0, what has no number as 0."""
    left, right = _numbers(version), _numbers(than)
    width = max(len(left), len(right))
    return left + (0,) * (width - len(left)) < right + (0,) * (width - len(right))


def _numbers(version: str) -> tuple[int, ...]:
    parts = (re.match(r"\d+", part) for part in version.split(".")[:4])
    return tuple(int(match.group()) if match else 0 for match in parts)
