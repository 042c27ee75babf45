#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: List all blocking problems of a run
version_added: 0.1.0
description:
  - Looks at the controller (ansible-core, Python, libraries, collections, programs) and at the inventory (groups,
    variables that no role reads, variables that are not set or that give no value, values of the wrong type, range or
    form, values that do not fit together, files that are not there), and judges what switches, vCenter and GPU VMs
    answered.
  - Names everything at once, each with what to do, and never fails for what it finds; see RV(ready).
  - Changes nothing but O(dest).
author: rocemesh.multinode contributors (@rocemesh)
extends_documentation_fragment:
  - rocemesh.multinode.attributes.looks
attributes:
  check_mode:
    support: full
    description: Looks as always, and writes O(dest) as always; nothing else is ever changed.
options:
  switches:
    description:
      - Name of each switch to what M(rocemesh.multinode.switch_roce_info) read there, or C(failed) with C(msg).
    type: dict
    default: {}
  vcenter:
    description:
      - What M(rocemesh.multinode.vcenter_site_info) returned of each vCenter, or C(failed) with C(msg), each with its
        C(batch), the item of M(rocemesh.multinode.decide) that it was asked for. Empty if none was asked.
    type: list
    elements: dict
    default: []
  nodes:
    description: Name of each GPU VM to what M(rocemesh.multinode.node_info) returned, C(unreachable) included.
    type: dict
    default: {}
  windows:
    description: Whether hosts may restart in this run. If not, privileges that only windows need are no problem yet.
    type: bool
    default: false
  dest:
    description: File on the controller that gets the same as JSON. Empty writes none. A file that cannot be
      written is a warning.
    type: path
    default: ""
seealso:
  - module: rocemesh.multinode.vcenter_site_info
  - module: rocemesh.multinode.node_info
"""

EXAMPLES = r"""
- name: Judge controller and inventory alone
  rocemesh.multinode.preflight:
  register: preflight

- name: Show everything at once
  ansible.builtin.debug:
    msg: "{{ preflight.table }}"
"""

RETURN = r"""
ready:
  description: Whether nothing was found that stops a run. Warnings do not.
  returned: success
  type: bool
looked_at:
  description: Everything that was looked at, or asked and did not answer.
  returned: success
  type: list
  elements: str
problems:
  description: What stops a run - C(place), C(thing), C(text) and C(remedy).
  returned: success
  type: list
  elements: dict
cautions:
  description: What a person should look at - in the same form.
  returned: success
  type: list
  elements: dict
notes:
  description: What a person may want to know - in the same form.
  returned: success
  type: list
  elements: dict
table:
  description: All of these as lines for a person; C(!) is a problem, C(?) a warning.
  returned: success
  type: list
  elements: str
"""
