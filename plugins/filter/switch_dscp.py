# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the DSCP of the switches' lossless class."""

from __future__ import annotations

DOCUMENTATION = r"""
name: switch_dscp
short_description: Which DSCP the switches put into their lossless class
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Says V(26) only if every switch was read, has RoCE on, trusts DSCP and has flow control on O(priority) (V(3)), and
    no NIC puts that DSCP elsewhere. Otherwise it says why not. For another priority p it is 8 p + 2.
positional: _input, readings
options:
  _input:
    description: Switch to what was found there, with C(roce) (C(mode), C(trust), C(pfc_priorities)).
    type: dict
    required: true
  readings:
    description: Node to what M(rocemesh.multinode.rdma_info) returned there.
    type: dict
    default: {}
  priority:
    description: Priority of RoCE on this site, 0 to 7.
    type: int
    default: 3
"""

EXAMPLES = r"""
- name: Show the DSCP
  ansible.builtin.debug:
    msg: "{{ {'leaf01': {'roce': switch.roce}} | rocemesh.multinode.switch_dscp }}"
"""

RETURN = r"""
_value:
  description: C(dscp) (null if it is not known) and C(reason).
  type: dict
"""

from typing import Any, Callable, Mapping

from ansible.errors import AnsibleFilterError

from ..module_utils._site.rdma_facts import lossless_dscp


def switch_dscp(switches: Any, readings: Mapping[str, Any] | None = None, priority: int = 3) -> dict[str, Any]:
    if not isinstance(switches, Mapping):
        raise AnsibleFilterError(f"switch_dscp: wants what was found per switch, not {type(switches).__name__}")
    return lossless_dscp(switches, readings, int(priority))


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"switch_dscp": switch_dscp}
