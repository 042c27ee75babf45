# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what mlnxofedinstall did."""

from __future__ import annotations

DOCUMENTATION = r"""
name: ofed_installer
short_description: Say what the installer of MLNX_OFED did
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads exit code and output of C(mlnxofedinstall). Its firmware step fails on every card of an OEM and says nothing
    about the driver. Changes nothing.
positional: _input, rc
options:
  _input:
    description: Standard output and standard error of the installer.
    type: str
    required: true
  rc:
    description: Its exit code.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: Stop if the driver is not on the disk
  ansible.builtin.assert:
    that: (run.stdout | rocemesh.multinode.ofed_installer(run.rc)).installed
"""

RETURN = r"""
_value:
  description:
    - C(installed), C(firmware) (V(untouched), V(updated) or V(failed)), C(restart) and C(initramfs) (what it asks for),
      C(problem) and C(remedy) (empty if it is installed).
  type: dict
"""

import dataclasses
from typing import Any, Callable

from ..module_utils._nic.install_state import parse_installer


def ofed_installer(text: str, rc: int) -> dict[str, Any]:
    return dataclasses.asdict(parse_installer(int(rc), str(text)))


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"ofed_installer": ofed_installer}
