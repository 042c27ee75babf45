#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: system_support
short_description: Why this collection does not support the systems of some hosts for what is wanted there
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Compares distribution and release of each host with the collection's table of supported systems.
  - A host whose facts hold no distribution is left out.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  systems:
    description: Host to its facts, with C(distribution) and C(distribution_version).
    type: dict
    required: true
  parts:
    description: What is wanted there - V(ats), V(mstflint), V(guide), V(current), V(engine), V(container), V(mesh).
    type: list
    elements: str
    required: true
  selinux:
    description: Whether SELinux is enforcing there.
    type: bool
    default: false
  unlisted:
    description: Whether to take a system that is not in the table, with everything installed already.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show why this system is refused for a container
  rocemesh.multinode.system_support:
    systems: "{{ {inventory_hostname: ansible_facts} }}"
    parts: [container]
  register: system
"""

RETURN = r"""
problems:
  description: One sentence per host and reason, with the host's name. Empty if all are supported.
  returned: success
  type: list
  elements: str
msg:
  description: The same in one line, for a task that fails where there is one.
  returned: if there is a problem
  type: str
"""
