# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what the roles published per host, folded into one entry per layer."""

from __future__ import annotations

DOCUMENTATION = r"""
name: site_layers
short_description: Fold the outcomes that roles published per host into one entry per layer
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Collects one fact from the hosts of each layer and folds it for the role P(rocemesh.multinode.report#role).
    Reads nothing from devices.
positional: _input, groups, hostvars
options:
  _input:
    description: Layer name to a list of two texts, the inventory group and the name of the fact.
    type: dict
    required: true
  groups:
    description: The variable C(groups).
    type: dict
    required: true
  hostvars:
    description: The variable C(hostvars).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: What the switch layer found and changed
  ansible.builtin.debug:
    msg: "{{ {'switch': ['switches', 'switch_outcome']} | rocemesh.multinode.site_layers(groups, hostvars) }}"
"""

RETURN = r"""
_value:
  description: Layer name to C(changed), C(verified), C(found) (per host) and C(changes) (one text per change).
  type: dict
"""

from typing import Any, Callable, Mapping, Sequence

from ..module_utils._site.layers import fold


def site_layers(
    sources: Mapping[str, Sequence[str]], groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        layer: fold({host: hostvars[host][fact] for host in groups.get(group, ()) if hostvars[host].get(fact)})
        for layer, (group, fact) in sources.items()
    }


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"site_layers": site_layers}
