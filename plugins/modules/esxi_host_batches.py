#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: esxi_host_batches
short_description: Which ESXi hosts of a play one module call can serve, and what it said of each
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Puts the hosts of a play together that have the same account on the same vCenter and want the same kernel settings,
    by the variables of the role P(rocemesh.multinode.esxi_host#role) that the inventory gives them.
  - Takes the results of M(rocemesh.multinode.esxi_kernel_setting) over these batches apart, host by host.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  hosts:
    description: Inventory names, for example C(ansible_play_hosts).
    type: list
    elements: str
    default: []
  results:
    description: C(results) of the registered loop over the batches, each with its C(batch).
    type: list
    elements: dict
    default: []
  check:
    description: Whether that was check mode, so that nothing was written.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: How many calls that takes
  rocemesh.multinode.esxi_host_batches:
    hosts: "{{ ansible_play_hosts }}"
  run_once: true
  register: together
"""

RETURN = r"""
batches:
  description:
    - Batches, each with C(hosts) (inventory names, in the order of the play) and C(names) (the same hosts as vCenter
      calls them, C(esxi_host_name)). It holds no account and no password.
  returned: success
  type: list
  elements: dict
  sample: [{"hosts": ["esx01", "esx02"], "names": ["esx01.example.org", "esx02.example.org"]}]
published:
  description:
    - For each host of O(results) its inventory name (C(host)), C(pending) (as the entry point C(pending) publishes it)
      and C(outcome) (as C(main) does). C(verified) is true where the module has read the wanted values back, configured
      and in force.
  returned: success
  type: list
  elements: dict
"""
