"""The inventory: groups, variables that no role reads, variables that are not set, files that are not there. Pure."""

from __future__ import annotations

import difflib
import itertools
from typing import Iterable, Iterator, Mapping, Sequence

from .._judge.finding import Finding
from .._results.readers.reading import few  # a variable of a group is one of each of its hosts
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


def groups(given: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """The three groups are the contract of all playbooks."""
    for name, what in GROUPS.items():
        if not given.get(name):
            others = ", ".join(sorted(set(given) - set(GROUPS) - {"all", "ungrouped"})) or "no other group"
            yield found("group_empty", "inventory", name=name, others=others, what=what)
    for one, other in itertools.combinations(GROUPS, 2):
        for name in sorted(set(given.get(one) or ()) & set(given.get(other) or ())):
            yield found("group_twice", "inventory", name=name, one=one, other=other)


def unread(given: Mapping[str, Iterable[str]], known: Iterable[str], prefixes: Iterable[str]) -> Iterator[Finding]:
    """``given``: host -> variables of the inventory; ``known``: what a role, a playbook or another variable reads. A
    name like one of these is a slip of the pen, unless that one is set too; another with a role's prefix, or one of the
    site's without its prefix, may have another owner."""
    readers, starts = set(known), tuple(prefixes)
    ours = {one for names in given.values() for one in names if one.startswith(starts) or SITE_PREFIX + one in readers}
    for name in sorted(ours - readers):
        start = next((len(start) for start in starts if name.startswith(start)), 0)
        bare = [SITE_PREFIX + name] if SITE_PREFIX + name in readers else []
        hosts = [host for host, variables in given.items() if name in variables]
        # The prefix alone makes short names alike: switch_os is no switch_host.
        near = [one for one in readers if one[: start + 1] == name[: start + 1] or sorted(one) == sorted(name)]
        like = bare or difflib.get_close_matches(name, near, n=1, cutoff=_LIKE)
        if not like:
            yield found("variable_unread", few(hosts), name=name)
        else:
            yours = bool(bare) or any(like[0] in given[host] for host in hosts)
            yield found("variable_yours" if yours else "variable_slip", few(hosts), name=name, like=like[0])


def unclear(name: str, hosts: Sequence[str], error: str) -> Finding:
    """What cannot be made out outside of its role may be right there: it may be made of the role's defaults."""
    return found("value_unclear", few(hosts), name=name, error=error)


def unset(name: str, hosts: Sequence[str], error: str, what: str) -> Finding:
    """A variable without which a stage stops. ``error``: why one that is set has no value."""
    text = f"it has no value: {error}" if error else "it is not set"
    return found("value_missing", few(hosts), name=name, text=text, what=what)


def file(variable: str, path: str, remedy: str, *, exists: bool, readable: bool, kind: str = "file") -> list[Finding]:
    """A file or folder of the controller that a variable names."""
    if not exists:
        return [found("file_missing", "controller", name=variable, kind=kind, path=path, remedy=remedy)]
    return [] if readable else [found("file_unreadable", "controller", name=variable, path=path)]
