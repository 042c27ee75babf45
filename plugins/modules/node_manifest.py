#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_manifest
short_description: Keep the list of what roles wrote on a node
version_added: 0.1.0
description:
  - Records in C(/etc/rocemesh/manifest.json) each path that roles of this collection have written on a node, with the
    role.
  - Removes what the manifest names and this release does not write.
  - A directory that a container has mounted stays, with a warning. Running settings do not change.
author: rocemesh.multinode contributors (@rocemesh)
requirements:
  - Python 3.8 or newer on the node
extends_documentation_fragment: [rocemesh.multinode.attributes.changes, rocemesh.multinode.attributes.fails]
options:
  roles:
    description: Roles whose files are meant.
    type: list
    elements: str
    choices: [container, guest, mesh]
    default: [container, guest, mesh]
  state:
    description: V(present) removes what other releases left. V(absent) removes all that these roles wrote.
    type: str
    choices: [present, absent]
    default: present
notes:
  - An MTU that is stored in a profile of NetworkManager is that profile's, and stays with V(absent).
seealso:
  - module: rocemesh.multinode.node_info
"""

EXAMPLES = r"""
- name: Remove what other releases left, and record what is there
  rocemesh.multinode.node_manifest:
  become: true

- name: Remove all that role guest wrote
  rocemesh.multinode.node_manifest:
    roles: [guest]
    state: absent
  become: true
"""

RETURN = r"""
files:
  description: Paths of this release that were there, and their roles.
  returned: success
  type: dict
leftovers:
  description: Paths of other releases that were there, and their roles.
  returned: success
  type: dict
"""

import platform

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._layer import exit_with
from ..module_utils._nic import wishes


def main() -> None:
    module = AnsibleModule(argument_spec=wishes.MANIFEST, supports_check_mode=True)
    layer, wanted = wishes.manifest(module.params, platform.node())
    exit_with(module, layer, wanted)


if __name__ == "__main__":
    main()
