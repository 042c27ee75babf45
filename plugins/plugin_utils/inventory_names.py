"""The names of an inventory's variables against those that a role, a playbook or another variable reads."""

from __future__ import annotations

import contextlib
import functools
import re
from typing import Any, Iterator, Mapping, Sequence

from ansible.errors import AnsibleError

from ..module_utils._judge.finding import Finding
from ..module_utils._preflight import variables as inventory
from . import stage_options

# Variables that Ansible puts beside those of the inventory; some hold all others.
_OF_ANSIBLE = frozenset(("hostvars", "groups", "vars", "environment", "play_hosts", "omit", "playbook_dir"))


class Hostvars:
    """Ansible's hostvars, which gathers all variables of a host anew each time that it is asked: here once."""

    def __init__(self, hostvars: Any) -> None:
        self._variable_manager = getattr(hostvars, "_variable_manager", None)
        self.raw_get = functools.cache(hostvars.raw_get)
        self._row = functools.cache(hostvars.__getitem__)

    def __getitem__(self, host: str) -> Any:
        return self._row(host)


def known_variables() -> tuple[set[str], set[str]]:
    """All variables that roles and playbooks of this collection read, and the prefixes of its roles."""
    return set(stage_options.options()), set(stage_options.prefixes()) | {inventory.SITE_PREFIX}


def unread(hostvars: Any, groups: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """A finding for each name that looks like one of this collection's and is none."""
    known, prefixes = known_variables()
    names = {host: given(hostvars, host) for host in own(groups)}
    return inventory.unread(names, known | _mentioned(hostvars, names), prefixes)


def own(groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Hosts of the collection's groups."""
    return list(dict.fromkeys(name for group in inventory.GROUPS for name in groups.get(group) or ()))


def given(hostvars: Any, host: str) -> set[str]:
    """Variables of the inventory and of -e: what plays have published since is no one's slip of the pen."""
    raw = set(hostvars.raw_get(host))
    manager = getattr(hostvars, "_variable_manager", None)
    return raw - set((getattr(manager, "_nonpersistent_fact_cache", None) or {}).get(host) or {})


def _mentioned(hostvars: Any, names: Mapping[str, set[str]]) -> set[str]:
    """Words of the values of the inventory: a variable that another one is made of has a reader."""
    values = set()
    for host in names:
        row = hostvars.raw_get(host)
        for name in names[host] - _OF_ANSIBLE:
            with contextlib.suppress(AnsibleError):  # a value that a vault keeps, and that this run may not need
                values.add(str(row[name]))
    return {word for value in values for word in re.findall(r"[A-Za-z_]\w*", value)}
