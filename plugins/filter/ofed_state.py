# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: which MLNX_OFED is on the disk, and whether it is all there."""

from __future__ import annotations

DOCUMENTATION = r"""
name: ofed_state
short_description: Say which MLNX_OFED is installed, and whether it is whole
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Joins what C(ofed_info) and dpkg say. C(ofed_info) is installed early, so it is not believed while the package of
    the driver is half done. Changes nothing.
positional: _input, package, wanted, unfinished
options:
  _input:
    description: Output of C(ofed_info -s), empty where it does not answer.
    type: str
    required: true
  package:
    description: Status and version of C(mlnx-ofed-kernel-dkms), as C(dpkg-query -W -f='${db:Status-Status}
      ${Version}').
    type: str
    required: true
  wanted:
    description: The wanted release, for example V(5.2-2.2.4.0).
    type: str
    required: true
  unfinished:
    description: Whether an installation has begun and not ended.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Install where it is missing
  ansible.builtin.debug:
    msg: "{{ info.stdout | rocemesh.multinode.ofed_state(package.stdout, '5.2-2.2.4.0') }}"
"""

RETURN = r"""
_value:
  description: C(found), the release on the disk or empty; C(state), one of V(missing), V(unfinished), V(wanted),
    V(other).
  type: dict
"""

from typing import Any, Callable

from ..module_utils._nic import install_state


def ofed_state(info: str, package: str, wanted: str, unfinished: bool = False) -> dict[str, str]:
    return install_state.ofed_state(str(info), str(package), str(wanted), bool(unfinished))


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"ofed_state": ofed_state}
