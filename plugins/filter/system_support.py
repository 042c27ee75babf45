# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: why the operating system of a node is refused."""

from __future__ import annotations

DOCUMENTATION = r"""
name: system_support
short_description: Why the operating system of a node is refused for what is wanted there
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Looks the system up in the table of supported ones, of which C(docs/supported-systems.md) is made.
positional: _input, parts
options:
  _input:
    description: Facts of the node, with C(distribution) and C(distribution_version).
    type: dict
    required: true
  parts:
    description: What is wanted there - V(ats), V(mstflint), V(guide), V(current), V(engine), V(container), V(mesh).
    type: list
    elements: str
    required: true
  selinux:
    description: Whether SELinux is enforcing there.
    type: bool
    default: false
  unlisted:
    description: Whether to take a system that is not in the table, with everything installed already.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show why this system is refused for a container
  ansible.builtin.debug:
    msg: "{{ ansible_facts | rocemesh.multinode.system_support(['container']) }}"
"""

RETURN = r"""
_value:
  description: One sentence per reason, without the name of the host. Empty if the system is supported.
  type: list
  elements: str
"""

from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._site.systems import problems


def system_support(facts: Any, parts: Sequence[str], *, selinux: bool = False, unlisted: bool = False) -> list[str]:
    if not isinstance(facts, Mapping):
        raise AnsibleFilterError(f"system_support: wants facts, not {type(facts).__name__}")
    try:
        return problems(facts, [str(part) for part in parts], selinux=bool(selinux), unlisted=bool(unlisted))
    except ValueError as error:
        raise AnsibleFilterError(f"system_support: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"system_support": system_support}
