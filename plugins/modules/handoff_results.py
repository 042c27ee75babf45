#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: handoff_results
short_description: Read the results of a job that another launcher ran
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads the folder that the scripts of a hand-off fill (C(results/JOBID)) - the ranks' output, NCCL's log, RDMA
    counters before and after, begin and end - and says what the launcher says of a job that did not end well.
  - What is missing stays missing, and the verdict of the report says so.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  path:
    description: The folder, on the controller.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: What a job of Slurm measured
  rocemesh.multinode.handoff_results:
    path: reports/handoff/resnet50/results/42
  register: job
"""

RETURN = r"""
home:
  description: >-
    C(id), C(job) (the content of C(job.json)), C(result) (as P(rocemesh.multinode.read_log#filter) returns it),
    C(evidence), C(log), C(expected_ranks), C(problems), C(simulated), for module M(rocemesh.multinode.run_report).
  returned: success
  type: dict
"""
