# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: for which kernels a driver is missing."""

from __future__ import annotations

DOCUMENTATION = r"""
name: dkms_gaps
short_description: Name the kernels for which DKMS has not built a driver
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads C(dkms status) for the running kernel and for the newest one in C(/boot), which the next boot takes.
  - Changes nothing.
positional: _input, modules, running, images
options:
  _input:
    description: Output of C(dkms status).
    type: str
    required: true
  modules:
    description: DKMS modules that have to be there.
    type: list
    elements: str
    required: true
  running:
    description: Release of the running kernel.
    type: str
    required: true
  images:
    description: Paths of the kernels in C(/boot).
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Stop if the next boot has no driver
  ansible.builtin.assert:
    that: status.stdout | rocemesh.multinode.dkms_gaps(['mlnx-ofed-kernel'], ansible_facts.kernel, images) | length == 0
"""

RETURN = r"""
_value:
  description: One sentence per module and kernel without a driver.
  type: list
  elements: str
"""

from typing import Any, Callable, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._layer import LayerError
from ..module_utils._nic import install_state


def dkms_gaps(text: str, modules: Sequence[str], running: str, images: Sequence[str]) -> list[str]:
    try:
        return install_state.dkms_gaps(str(text), "this host", list(modules), str(running), list(images))
    except LayerError as error:
        raise AnsibleFilterError(f"dkms_gaps: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"dkms_gaps": dkms_gaps}
