# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the findings of three layers folded into maintenance windows."""

from __future__ import annotations

DOCUMENTATION = r"""
name: reboot_windows
short_description: Fold what waits for a reboot into one maintenance window per ESXi host
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Takes the findings of the ESXi, VM and NIC layers and returns, per ESXi host, whether it must reboot,
    which VMs must be off, and one reason per thing that waits. Reads nothing and changes nothing.
positional: _input, vms, nics
options:
  _input:
    description:
      - Inventory name of each ESXi host, with C(host), C(host_moid), C(reboot_required) and C(reboot_reasons).
    type: dict
    required: true
  vms:
    description: Inventory name of each VM, with C(esxi_host), C(esxi_host_moid) and C(changes).
    type: dict
    required: true
  nics:
    description: Inventory name of each VM, with C(reboot_required) and C(reboot_reasons) of its NICs.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Which hosts wait, and for what
  ansible.builtin.debug:
    msg: "{{ hosts | rocemesh.multinode.reboot_windows(vms, nics) }}"
"""

RETURN = r"""
_value:
  description: One entry per host - C(host), C(needed), C(reboot), C(nics), C(rekey), C(vms), C(reasons), and C(changes)
    (name of a VM to what is set in its file, each with C(key), C(before), C(after), C(text)).
  type: list
  elements: dict
"""

from typing import Any, Callable, Mapping

from ansible.errors import AnsibleFilterError

from ..module_utils._site.reboot import windows


def reboot_windows(
    hosts: Mapping[str, Mapping[str, Any]],
    vms: Mapping[str, Mapping[str, Any]],
    nics: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    try:
        return [window.as_result() for window in windows(hosts, vms, nics)]
    except (KeyError, ValueError) as error:
        raise AnsibleFilterError(f"reboot_windows: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"reboot_windows": reboot_windows}
