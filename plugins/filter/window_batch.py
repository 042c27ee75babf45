# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: how many hosts may be down at once."""

from __future__ import annotations

DOCUMENTATION = r"""
name: window_batch
short_description: How many hosts may be down at once
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Turns a number or a percentage into a batch size for C(serial), never less than one host.
positional: _input, hosts
options:
  _input:
    description: Number of hosts, or a percentage of all hosts such as V(25%), rounded down.
    type: raw
    required: true
  hosts:
    description: How many hosts there are in all.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: A quarter of the hosts at once
  ansible.builtin.debug:
    msg: "{{ '25%' | rocemesh.multinode.window_batch(groups['esxi_hosts'] | length) }}"
"""

RETURN = r"""
_value:
  description: Number of hosts, at least 1 and at most all.
  type: int
"""

from typing import Any, Callable

from ansible.errors import AnsibleFilterError

from ..module_utils._site.schedule import batch_size


def window_batch(max_unavailable: Any, hosts: int) -> int:
    try:
        return batch_size(max_unavailable, hosts)
    except ValueError as error:
        raise AnsibleFilterError(f"window_batch: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"window_batch": window_batch}
