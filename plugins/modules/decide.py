#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: decide
short_description: Make a decision of this collection's roles (private)
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Computes an answer from readings, on the controller. It contacts no host, except where O(script) reads one, and
    reports no change.
  - This module is private to the roles and playbooks of this collection. Its functions, their options and their
    answers can change in any release.
attributes:
  check_mode:
    support: full
    description: It changes no host, and decides in check mode as well.
  diff_mode:
    support: none
    description: There is no difference to show.
notes:
  - Runs on the controller. The node is not asked.
options:
  function:
    description: Name of the decision. Each is a file in C(plugins/plugin_utils/decisions), which documents its options.
    type: str
    required: true
    choices:
      - approved_plan
      - benchmark_file
      - benchmark_plan
      - container_engine
      - esxi_batches
      - fabric_check
      - fabric_pair
      - gpu_image_check
      - guest_driver
      - handoff_job
      - handoff_results
      - mesh_logins
      - mpi_hosts
      - mpi_leftovers
      - replacement
      - site_outcomes
      - site_plan
      - site_windows
      - system_support
      - undo
      - unread_names
      - unread_tags
      - upgrade
  options:
    description: Options of the decision.
    type: dict
    default: {}
  script:
    description:
      - Shell script that reads something on the host first. The decision gets what it printed as its option C(probe).
      - It must change nothing; give the task C(check_mode=false).
      - If it ends with an exit status other than 0, the task fails, except in check mode.
    type: str
"""

EXAMPLES = r"""
- name: Check that this system is supported for a container
  rocemesh.multinode.decide:
    function: system_support
    options:
      systems: "{{ {inventory_hostname: ansible_facts} }}"
      parts: [container]
  register: system
"""

RETURN = r"""
answer:
  description: The keys of the decision's answer stand in the result itself, as its file documents them.
  returned: never under this name
  type: dict
"""
