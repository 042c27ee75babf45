#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_image_check
short_description: Whether the torch of an image can use the GPUs of its hosts
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - A torch that was built for CPUs trains as well, and its figures look like a slow cluster; so does one that is too
    new for the driver. Both are named, with what to do.
  - A host that did not answer is named too.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  answers:
    description: >-
      Host to what its torch printed of itself, JSON with C(torch) (version), C(cuda) (version it was built for, empty
      for none), C(nccl), C(available), C(gpus) (number), C(why) and C(error); a list counts with its first element.
    type: dict
    required: true
  gpus:
    description: Host to the list of its GPUs.
    type: dict
    required: true
  hosts:
    description: Names of the hosts of the run.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show what is wrong
  rocemesh.multinode.gpu_image_check:
    answers: {gpu01: '{"torch": "2.6.0", "cuda": "", "available": false, "gpus": 0}'}
    gpus: {gpu01: ["GPU 0"]}
    hosts: [gpu01]
  register: image
"""

RETURN = r"""
problems:
  description: One sentence per problem, with host, versions and what to do. Empty if there is none.
  returned: success
  type: list
  elements: str
nccl:
  description: Version of NCCL that torch brings, empty if it is not the same on all hosts.
  returned: success
  type: str
"""
