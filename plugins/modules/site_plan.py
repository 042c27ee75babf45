#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: site_plan
short_description: What a run would do, in one table
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Collects what the roles published of each device and makes one table of it - device, change, whom it interrupts,
    what restarts, minutes.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  layers:
    description:
      - Layer name to a list of two or three texts - the inventory group, the name of the fact, and words that stand for
        all changes of an outcome.
      - The fact is a list of operations (C(description), C(disrupts), C(reboot)), or an outcome with texts under
        C(changes).
    type: dict
    required: true
  waiting:
    description:
      - C(hosts), C(vms) and C(nics), each a list of two texts, the inventory group and the name of the fact with what
        waits there, as the roles publish it. Empty tells of no window.
    type: dict
    default: {}
  batch:
    description: How many hosts have their window at the same time.
    type: int
    default: 1
  minutes_host_reboot:
    description:
      - What one host takes, from the first VM that goes down to the last that is up.
      - An assumption, not measured on hardware.
    type: int
    default: 15
  minutes_power_cycle:
    description: The same where the VMs of a host are powered off and on and the host keeps running.
    type: int
    default: 5
  show:
    description: Whether the table is shown on the terminal as it is, apart from what the callback shows of the result.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Read what the switches would get
  rocemesh.multinode.site_plan:
    layers:
      switch: [switches, switch_plan]
  register: plan
"""

RETURN = r"""
rows:
  description:
    - One entry per line - C(devices), C(change), C(interrupts), C(restart), C(minutes) (null is less than one).
  returned: always
  type: list
  elements: dict
unknown:
  description: Devices that published nothing, with their layer.
  returned: always
  type: list
  elements: str
table:
  description: The same as lines for a person, and what it comes to.
  returned: always
  type: list
  elements: str
"""
