"""The inventory: groups, variables that no role reads, variables that are not set, files that are not there. Pure."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
from typing import Any, Iterable, Iterator, Mapping, Sequence

from .._judge.finding import Finding
from .._results.readers.reading import names as listed
from .findings import found

GROUPS: Mapping[str, str] = {
    "switches": "the switches of the RoCE network",
    "esxi_hosts": "the ESXi hosts by their names in vCenter",
    "gpu_vms": "the GPU VMs, the head of the MPI job first",
}
# Variables of the whole site: read by playbooks and by roles' defaults.
SITE_PREFIX = "rocemesh_"
# One letter of ten may be wrong; "switch_vlna" is 0.91 from "switch_vlan".
_LIKE = 0.86


@dataclasses.dataclass(frozen=True)
class Need:
    """A variable without which a stage stops. ``hosts``: where it has no value; ``error``: why one that is set has
    none."""

    name: str
    hosts: tuple[str, ...]
    error: str
    what: str


@dataclasses.dataclass(frozen=True)
class File:
    """A file or folder of the controller that a variable names."""

    variable: str
    path: str
    exists: bool
    readable: bool
    remedy: str
    kind: str = "file"


def groups(given: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """The three groups are the contract of all playbooks."""
    for name, what in GROUPS.items():
        if not given.get(name):
            others = ", ".join(sorted(set(given) - set(GROUPS) - {"all", "ungrouped"})) or "no other group"
            yield found("group_empty", "inventory", name=name, others=others, what=what)
    for one, other in itertools.combinations(GROUPS, 2):
        for name in sorted(set(given.get(one) or ()) & set(given.get(other) or ())):
            yield found("group_twice", "inventory", name=name, one=one, other=other)


def unread(names: Mapping[str, Iterable[str]], known: Iterable[str], prefixes: Iterable[str]) -> Iterator[Finding]:
    """``names``: host -> variables of the inventory; ``known``: what a role, a playbook or another variable reads. A
    name like one of these is a slip of the pen, unless that one is set too; another with a role's prefix may have
    another owner."""
    readers, starts = set(known), tuple(prefixes)
    where: dict[str, list[str]] = {}
    for host, variables in names.items():
        for name in variables:
            if name.startswith(starts) and name not in readers:
                where.setdefault(name, []).append(host)
    for name, hosts in sorted(where.items()):
        like = difflib.get_close_matches(name, readers, n=1, cutoff=_LIKE)
        if not like:
            yield found("variable_unread", few(hosts), name=name)
        else:
            yours = any(like[0] in names[host] for host in hosts)
            yield found("variable_yours" if yours else "variable_slip", few(hosts), name=name, like=like[0])


def unread_here(needs: Iterable[Need]) -> Iterator[Finding]:
    """What cannot be made out outside of its role may be right there: it may be made of the role's defaults."""
    for need in needs:
        yield found("value_unclear", few(need.hosts), name=need.name, error=need.error)


def unset(needs: Iterable[Need]) -> Iterator[Finding]:
    for need in needs:
        if need.hosts:
            text = f"it has no value: {need.error}" if need.error else "it is not set"
            yield found("value_missing", few(need.hosts), name=need.name, text=text, what=need.what)


def files(given: Iterable[File]) -> Iterator[Finding]:
    for file in given:
        if not file.exists:
            words = {"kind": file.kind, "path": file.path, "remedy": file.remedy}
            yield found("file_missing", "controller", name=file.variable, **words)
        elif not file.readable:
            yield found("file_unreadable", "controller", name=file.variable, path=file.path)


def few(hosts: Sequence[Any], most: int = 4) -> str:
    """A variable of a group is a variable of each of its hosts: name some."""
    return listed(hosts, most)
