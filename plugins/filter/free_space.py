# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: whether there is room for an installation."""

from __future__ import annotations

DOCUMENTATION = r"""
name: free_space
short_description: Compare what an installation needs with what is free
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads C(df) and adds up what goes to the same file system. Changes nothing.
positional: _input, needs
options:
  _input:
    description:
      - One line per path - the path, a tab, and the last line of C(df --block-size=1
        --output=avail,size,iavail,target) for it.
    type: str
    required: true
  needs:
    description: What is needed, each with C(path), C(bytes) and C(what). Each path has to be one of the lines.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Stop before the disk is full
  ansible.builtin.assert:
    that: (df.stdout | rocemesh.multinode.free_space([need])).shortages | length == 0
  vars:
    need: {path: /var/cache, bytes: 300000000, what: the archive}
"""

RETURN = r"""
_value:
  description:
    - C(shortages), one sentence per file system without room for all that goes there, and C(places), what is free,
      once per file system, the fullest first.
  type: dict
"""

from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._layer import LayerError
from ..module_utils._nic import space


def free_space(text: str, needs: Sequence[Mapping[str, Any]] = ()) -> dict[str, list[str]]:
    try:
        places = space.parse_places(str(text), "this host")
        return {"shortages": space.shortages(places, list(needs)), "places": space.fullest_first(places)}
    except LayerError as error:
        raise AnsibleFilterError(f"free_space: {error}") from error
    except KeyError as error:
        raise AnsibleFilterError(
            f"free_space: a need without {error}, or a path that df was not asked about"
        ) from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"free_space": free_space}
