#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: mpi_leftovers
short_description: Say whose the jobs are that run in the containers, and which of them may be ended
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Judges what C(workloads/checks/leftovers.py) listed on each node. A process may be ended only if it carries the
    mark of a job of this site and the container of the head says that this job has no supervisor any more.
  - Everything else is somebody's. What is not known is somebody else's.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  found:
    description: Name of the host to what was found there (C(pid), C(user), C(since), C(command), C(job), C(ours)).
    type: dict
    required: true
  states:
    description: Folder of the job to V(over), V(running) or V(unknown), as the head answered.
    type: dict
    default: {}
  end:
    description: Whether jobs of this site that are over may be ended.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Which jobs may be ended
  rocemesh.multinode.mpi_leftovers:
    found: "{{ found }}"
    states: "{{ states }}"
  register: leftovers
"""

RETURN = r"""
over:
  description: Folders of the jobs that may be ended.
  returned: always
  type: list
  elements: str
others:
  description: One entry (C(host), C(pid), C(text)) per process that must not.
  returned: always
  type: list
  elements: dict
"""
