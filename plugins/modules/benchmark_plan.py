#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_plan
short_description: List the repeats of a scaling measurement, and which of them are done
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Returns every repeat of every case, precision and batch size, in the order to run - all first repeats before all
    second ones.
  - The name of a repeat holds a digest of all of its parameters. What lies in O(folder) under that name and was
    made with the same parameters is done; what was made with other parameters has another name.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  hosts:
    description: The hosts, the head first.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name in the inventory.
        type: str
        required: true
      address:
        description: Address in the cluster network.
        type: str
        required: true
      slots:
        description: Number of ranks.
        type: int
        default: 1
      hostname:
        description: What the host calls itself, if that is not its name.
        type: str
  parameters:
    description: Everything else that decides the figure.
    type: dict
    required: true
  cases:
    description:
      - The cases, each C(<nodes>n<ranks per node>g). Empty - 1, 2, 4, ... ranks on the head, then 1, 2, 4, ... hosts.
    type: list
    elements: str
    default: []
  batches:
    description: Images per rank and step, by precision.
    type: dict
    default: {fp32: 128, bf16: 256}
  repeats:
    description: Number of repeats of each.
    type: int
    default: 5
  folder:
    description: Folder on the controller with the repeats that are done. Left out, none is.
    type: path
"""

EXAMPLES = r"""
- name: Which repeats there are
  rocemesh.multinode.benchmark_plan:
    hosts: "{{ hosts }}"
    parameters: {image_size: 224}
    cases: [2n8g]
  register: measurement
"""

RETURN = r"""
plan:
  description: >-
    One entry per repeat - C(name), C(case), C(nodes), C(gpus_per_node), C(precision), C(batch), C(repeat), C(hosts)
    (those of the case, with its slots) and C(parameters).
  returned: always
  type: list
  elements: dict
done:
  description: What was kept of those that are done.
  returned: always
  type: list
  elements: dict
todo:
  description: Entries of RV(plan) that are not done.
  returned: always
  type: list
  elements: dict
"""
