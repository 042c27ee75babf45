# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: whether a task failed because a disk was full."""

from __future__ import annotations

DOCUMENTATION = r"""
name: out_of_space
short_description: Say whether a task failed because a disk was full
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Looks for the words of the kernel, of apt, tar, dpkg and of MLNX_OFED's installer in everything that a task
    returned. Changes nothing.
options:
  _input:
    description: Result of the task that failed.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Name the reason
  ansible.builtin.fail:
    msg: The disk is full.
  when: (ansible_failed_result | rocemesh.multinode.out_of_space).full
"""

RETURN = r"""
_value:
  description: C(full), and C(paths), the directories that the lines about it name.
  type: dict
"""

from typing import Any, Callable

from ..module_utils._nic.space import out_of_space


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"out_of_space": out_of_space}
