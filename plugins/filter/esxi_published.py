# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what the role esxi_host publishes for each host of a call that served many."""

from __future__ import annotations

DOCUMENTATION = r"""
name: esxi_published
short_description: What the role esxi_host publishes for each host
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Takes the results of M(rocemesh.multinode.esxi_kernel_setting) over the batches of
    P(rocemesh.multinode.esxi_batches#filter) apart, host by host.
positional: _input
options:
  _input:
    description: C(results) of the registered loop, each with its C(batch).
    type: list
    elements: dict
    required: true
  check:
    description: Whether that was check mode, so that nothing was written.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Which hosts wait for a reboot
  ansible.builtin.debug:
    msg: "{{ calls.results | rocemesh.multinode.esxi_published | selectattr('pending.reboot_required') }}"
"""

RETURN = r"""
_value:
  description:
    - For each host its inventory name (C(host)), C(pending) (as the entry point C(pending) publishes it) and C(outcome)
      (as C(main) does). C(verified) is true where the module has read the wanted values back, configured and in force.
  type: list
  elements: dict
"""

from typing import Any, Callable, Mapping, Sequence


def esxi_published(results: Sequence[Mapping[str, Any]], check: bool = False) -> list[dict[str, Any]]:
    found = []
    for result in results:
        for host, row in zip(result["batch"]["hosts"], result["hosts"]):
            pending = {
                "host": row["esxi_host"],
                "host_moid": row["esxi_host_moid"],
                "settings": [setting["name"] for setting in row["settings"]],
                "reboot_required": row["reboot_required"],
                "reboot_reasons": row["reboot_reasons"],
            }
            outcome = {
                "changed": bool(row["changes"]),
                "verified": not row["reboot_required"] and not (check and row["changes"]),
                "found": row["settings"],
                "changes": row["changes"],
            }
            found.append({"host": host, "pending": pending, "outcome": outcome})
    return found


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"esxi_published": esxi_published}
