#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: handoff_job
short_description: Check a job for Slurm, torchrun or Kubernetes, and say it as data
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Refuses what a scheduler would refuse only later, or not at all - an image without digest, a device that a node does
    not have, a namespace that cannot exist, hosts with different numbers of ranks, variables that belong to the
    launcher, names that look like secrets.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  job:
    description: >-
      The job as role P(rocemesh.multinode.run#role) puts it together - C(name), C(launchers), C(image), C(hosts),
      C(command), C(env), C(nccl), C(facts) and further keys.
    type: dict
    required: true
  looked:
    description:
      - What M(ansible.builtin.slurp) found in a loop over the hosts, NCCL's topology file of each. A host without one
        is left out.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Check the job
  rocemesh.multinode.handoff_job:
    job: "{{ asked }}"
  register: handoff
"""

RETURN = r"""
job:
  description: The content of C(job.json).
  returned: success
  type: dict
files:
  description: Name to content of C(job.json), C(nccl.env), C(nccl.d/HOST.env) and the topology.
  returned: success
  type: dict
topologies:
  description: Host, as it calls itself, to NCCL's topology file there.
  returned: success
  type: dict
"""
