#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: mesh_logins
short_description: Join what the probe of a mesh printed with the nodes that it asked
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - One line per node, in their order - address, exit status of ssh, milliseconds, message.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  lines:
    description: Lines of the probe.
    type: list
    elements: str
    required: true
  nodes:
    description: Names of the nodes that were asked, in their order.
    type: list
    elements: str
    required: true
  refused:
    description: Whether every login has to be refused, because the key of this node is for nobody.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Which logins work
  rocemesh.multinode.mesh_logins:
    lines: "{{ probed.stdout_lines }}"
    nodes: [gpu01, gpu02]
  register: mesh
"""

RETURN = r"""
logins:
  description: C(from), C(to), C(address), C(rc), C(ms), C(message).
  returned: always
  type: list
  elements: dict
wrong:
  description: Those that did not end as they should, each as a text.
  returned: always
  type: list
  elements: str
summary:
  description: How each login ended, as a text.
  returned: always
  type: list
  elements: str
"""
