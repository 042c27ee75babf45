# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: which hosts of a play one module call can serve."""

from __future__ import annotations

DOCUMENTATION = r"""
name: esxi_batches
short_description: Which ESXi hosts of a play one module call can serve
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Puts the hosts of a play together that have the same account on the same vCenter and want the same kernel settings,
    by the variables of the role P(rocemesh.multinode.esxi_host#role) that the inventory gives them.
positional: _input, hostvars
options:
  _input:
    description: Inventory names, for example C(ansible_play_hosts).
    type: list
    elements: str
    required: true
  hostvars:
    description: The variable C(hostvars).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: How many calls that takes
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts | rocemesh.multinode.esxi_batches(hostvars) | length }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - Batches, each with C(hosts) (inventory names, in the order of the play) and C(names) (the same hosts as vCenter
      calls them, C(esxi_host_name)). It holds no account and no password.
  type: list
  elements: dict
  sample: [{"hosts": ["esx01", "esx02"], "names": ["esx01.example.org", "esx02.example.org"]}]
"""

import json
from typing import Any, Callable, Mapping, Sequence

# What a module call has in common for all its hosts; the password belongs to the account.
_LOGIN = ("hostname", "port", "username", "validate_certs", "ca_path")
COMMON = (
    "esxi_host_kernel_settings",
    "esxi_host_require_runtime",
    *(f"esxi_host_vcenter_{name}" for name in _LOGIN),
    *(f"rocemesh_vcenter_{name}" for name in _LOGIN),
)


def esxi_batches(hosts: Sequence[str], hostvars: Mapping[str, Mapping[str, Any]]) -> list[dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for host in hosts:
        variables = hostvars[host]
        key = json.dumps({name: variables[name] for name in COMMON if name in variables}, sort_keys=True, default=str)
        batch = found.setdefault(key, {"hosts": [], "names": []})
        batch["hosts"].append(str(host))
        batch["names"].append(str(variables.get("esxi_host_name", host)))
    return list(found.values())


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"esxi_batches": esxi_batches}
