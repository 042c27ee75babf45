"""The inventory: groups, variables that no role reads, variables that are not set, files that are not there. Pure."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
from typing import Iterable, Iterator, Mapping, Sequence

from .finding import Finding, problem, warning

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


def groups(found: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """The three groups are the contract of all playbooks."""
    for name, what in GROUPS.items():
        if not found.get(name):
            others = ", ".join(sorted(set(found) - set(GROUPS) - {"all", "ungrouped"})) or "no other group"
            yield problem(
                "inventory",
                f"group {name}",
                f"it has no hosts; the inventory has {others}",
                f"give the inventory a group {name} with {what}, or make a group of yours a child of it",
            )
    for one, other in itertools.combinations(GROUPS, 2):
        for name in sorted(set(found.get(one) or ()) & set(found.get(other) or ())):
            text = f"it is in {one} and in {other}, expected one of them"
            yield problem("inventory", name, text, "give each machine a name of its own")


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
        place, text = few(hosts), "no role reads a variable of this name"
        if not like:
            yield warning(place, name, "no role of this collection reads it; with this prefix it looks as if one did")
        elif any(like[0] in names[host] for host in hosts):
            yield warning(place, name, text, f"write {like[0]}, unless it is yours")
        else:
            yield problem(place, name, text, f"write {like[0]}, or give a variable of yours another prefix")


def unread_here(needs: Iterable[Need]) -> Iterator[Finding]:
    """What cannot be made out outside of its role may be right there: it may be made of the role's defaults."""
    for need in needs:
        yield warning(few(need.hosts), need.name, f"it has no value here: {need.error}", "look at what it is made of")


def unset(needs: Iterable[Need]) -> Iterator[Finding]:
    for need in needs:
        if need.hosts:
            text = f"it has no value: {need.error}" if need.error else "it is not set"
            yield problem(few(need.hosts), need.name, text, f"set {need.name}: {need.what}")


def files(found: Iterable[File]) -> Iterator[Finding]:
    for file in found:
        if not file.exists:
            yield problem("controller", file.variable, f"there is no {file.kind} {file.path}", file.remedy)
        elif not file.readable:
            yield problem(
                "controller",
                file.variable,
                f"{file.path} cannot be read",
                "give the user who runs Ansible the right to",
            )


def few(hosts: Sequence[str], most: int = 4) -> str:
    """A variable of a group is a variable of each of its hosts: name some."""
    return ", ".join(hosts[:most]) + (f" and {len(hosts) - most} more" if len(hosts) > most else "")
