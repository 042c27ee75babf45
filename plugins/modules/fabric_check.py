#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_check
short_description: Plan the next part of a fabric check, or judge it
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Takes what is known so far and returns the next part to run, or the answer. Starts nothing.
  - The parts are V(reach) (probes), V(measure) (rounds of perftest), V(confirm) (repeats, at most twice) and V(done).
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  site:
    description:
      - C(hosts) (C(name), C(address)), C(readings) (host to what M(rocemesh.multinode.rdma_info) returned), C(switches)
        (switch to what it said, with C(ports)), and C(options), the variables of the role.
    type: dict
    required: true
  outputs:
    description: Standard output of each part that ran, in order.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Say what a check would do
  rocemesh.multinode.fabric_check:
    site: "{{ site }}"
  register: fabric
"""

RETURN = r"""
part:
  description: What comes next.
  returned: success
  type: str
plan:
  description: Argument of C(workloads/fabric/agent.py).
  returned: if there is a part to run
  type: str
limit:
  description: Seconds that the part may take.
  returned: if there is a part to run
  type: int
sentence:
  description: What the part costs, in words.
  returned: if there is a part to run
  type: str
gpu_table:
  description: The GPUs of the hosts and how they are, as lines of a table. Empty without GPUs.
  returned: if there is a part to run
  type: list
  elements: str
report:
  description: C(ok), C(complete), C(faults), C(measured), C(gpus), C(gpu_table), C(notes), C(table).
  returned: when done
  type: dict
heat_map:
  description: SVG text.
  returned: when done
  type: str
"""
