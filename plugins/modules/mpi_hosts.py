#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: mpi_hosts
short_description: Say what the hosts of an MPI job are, and what each of its ranks answered
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Each reading that is given is joined with O(hosts).
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  hosts:
    description: Hosts of the job, the head first.
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
  slots:
    description: Ranks on each host, in place of its own number.
    type: int
  containers:
    description: Results of M(community.docker.docker_container_info) in a loop over hosts.
    type: list
    elements: dict
    default: []
  interfaces:
    description: Facts of the head, of which the network with its address is taken.
    type: dict
    default: {}
  output:
    description: Output of mpirun with tags.
    type: str
  find:
    description:
      - Name to a regular expression. Of each host the lines that match are returned under this name; of an expression
        with a group, what the group holds.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Which GPUs each host has
  rocemesh.multinode.mpi_hosts:
    hosts: "{{ run_hosts }}"
    slots: 1
    output: "{{ asked.stdout }}"
    find: {gpus: "^GPU [0-9]+:"}
  register: answered
"""

RETURN = r"""
hosts:
  description: The hosts with their slots, and in C(container) the state of the container if O(containers) was given.
  returned: always
  type: list
  elements: dict
names:
  description: What the host of each rank calls itself, in the order of the ranks.
  returned: always
  type: list
  elements: str
network:
  description: The network of the head's address (CIDR). Empty if no interface has it.
  returned: always
  type: str
stopped:
  description: Hosts whose container does not run, each with its state.
  returned: always
  type: list
  elements: str
answers:
  description: One entry per rank that said something - C(rank), C(host), C(lines).
  returned: with O(output)
  type: list
  elements: dict
found:
  description: Name of the host to the names of O(find), each with what was found in the answers of its ranks.
  returned: with O(output)
  type: dict
"""
