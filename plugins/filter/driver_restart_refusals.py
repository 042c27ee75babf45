# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: why the driver of a card must not be restarted now."""

from __future__ import annotations

DOCUMENTATION = r"""
name: driver_restart_refusals
short_description: Name what forbids a restart of the card's driver
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - A restart drops every RoCE interface, fails while another module holds C(ib_core), and cuts the session that asked
    for it if that session comes in over the card. Changes nothing.
positional: _input, connection
options:
  _input:
    description: Result of M(rocemesh.multinode.rdma_info).
    type: dict
    required: true
  connection:
    description: The interface that carries the session. Empty for none.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Stop if the driver is in use
  ansible.builtin.assert:
    that: rdma | rocemesh.multinode.driver_restart_refusals('ens160') | length == 0
"""

RETURN = r"""
_value:
  description: One reason each; empty if a restart harms nobody.
  type: list
  elements: str
"""

from typing import Any, Callable, Mapping

from ..module_utils._nic.install_state import restart_refusals


def driver_restart_refusals(rdma: Mapping[str, Any], connection: str) -> list[str]:
    return restart_refusals(rdma, str(connection or ""))


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"driver_restart_refusals": driver_restart_refusals}
