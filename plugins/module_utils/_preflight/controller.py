"""The machine that runs Ansible: versions, libraries, collections, files. Pure."""

from __future__ import annotations

import dataclasses
import re
from typing import Iterator, Mapping, Sequence

from .finding import Finding, problem, warning

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
        yield problem(
            PLACE,
            "ansible-core",
            f"{seen.ansible} is older than {LEAST_ANSIBLE}",
            _pip(seen, f"ansible-core>={LEAST_ANSIBLE}")
            + "; Ansible Automation Platform 2.5 brings 2.16: make an execution environment of your own (docs/awx.md)",
        )
    if older(seen.python, LEAST_PYTHON):
        yield problem(
            PLACE,
            "Python",
            f"{seen.executable} is {seen.python}, older than {LEAST_PYTHON}",
            "install ansible-core into an environment of a newer Python",
        )
    present = {name for name, hosts in groups.items() if hosts}
    for library in LIBRARIES:
        if not library.needed_by or present & set(library.needed_by):
            yield from _library(library, seen)
    for name, (least, below, group) in COLLECTIONS.items():
        if group in present:
            yield from _collection(name, least, below, seen)
    for program, package in PROGRAMS.items():
        if program not in seen.programs:
            yield problem(PLACE, program, "this program is not installed", f"install {package}")


def _library(library: Library, seen: Controller) -> Iterator[Finding]:
    version = seen.libraries.get(library.import_name)
    if version is not None and not older(version, library.least) and older(version, library.below):
        return
    text = (
        "it is not installed" if version is None else f"{version} is not in {library.least} up to below {library.below}"
    )
    if library.optional:
        yield warning(PLACE, library.project, f"{text}: {library.optional}", _pip(seen, library.requirement))
    else:
        yield problem(PLACE, library.project, text, _pip(seen, library.requirement))


def _collection(name: str, least: str, below: str, seen: Controller) -> Iterator[Finding]:
    version = seen.collections.get(name)
    if version is None or older(version, least) or not older(version, below):
        text = "it is not installed" if version is None else f"{version} is not in {least} up to below {below}"
        yield problem(
            PLACE, f"collection {name}", text, f"ansible-galaxy collection install '{name}:>={least},<{below}'"
        )


def _pip(seen: Controller, requirement: str) -> str:
    return f"{seen.executable} -m pip install '{requirement}'"


def older(version: str, than: str) -> bool:
    """By the numbers at the start of each part; "2.19.0rc1" counts as 2.19.0, what has no number as 0."""
    left, right = _numbers(version), _numbers(than)
    width = max(len(left), len(right))
    return left + (0,) * (width - len(left)) < right + (0,) * (width - len(right))


def _numbers(version: str) -> tuple[int, ...]:
    found = (re.match(r"\d+", part) for part in version.split(".")[:4])
    return tuple(int(match.group()) if match else 0 for match in found)
