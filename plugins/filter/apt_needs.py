# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: how much room apt asks for."""

from __future__ import annotations

DOCUMENTATION = r"""
name: apt_needs
short_description: Say how many bytes apt would download and put on the disk
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads what C(apt-get install --print-uris --assume-yes) says. apt rounds to three digits; the last one is counted
    up. Changes nothing.
options:
  _input:
    description: Its standard output, in the locale C.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show what the driver needs
  ansible.builtin.debug:
    msg: "{{ asked.stdout | rocemesh.multinode.apt_needs }}"
"""

RETURN = r"""
_value:
  description: C(download) and C(disk) in bytes, 0 where apt does not say.
  type: dict
"""

from typing import Any, Callable

from ..module_utils._nic import space


def apt_needs(text: str) -> dict[str, int]:
    return space.apt_needs(str(text))


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"apt_needs": apt_needs}
