#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: site_window
short_description: Plan the maintenance windows of a site, and say whether now is the time
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Folds what waits on ESXi hosts, VMs and NICs into at most one window per ESXi host.
  - Says how many hosts may be down at once, and whether a change window is open by the clock of the controller.
  - Each part is decided where its options are given.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  hosts:
    description: Inventory name of each ESXi host, with C(host), C(host_moid), C(vcenter_uuid), C(reboot_required) and
      C(reboot_reasons).
    type: dict
    default: {}
  vms:
    description: Inventory name of each VM, with C(esxi_host), C(esxi_host_moid), C(vcenter_uuid) and C(changes).
    type: dict
    default: {}
  nics:
    description: Inventory name of each VM, with C(reboot_required) and C(reboot_reasons) of its NICs.
    type: dict
    default: {}
  vcenter_uuid:
    description:
      - UUID of the vCenter on which the windows will be opened. If O(hosts) or O(vms) were read on another one, the
        module refuses.
    type: str
    default: ""
  max_unavailable:
    description:
      - Number of O(hosts) that may be down at once, or a percentage of them such as V(25%), rounded down, never less
        than one host.
    type: raw
    default: 1
  change_windows:
    description:
      - One window or a list of windows. An empty list is always open.
      - Once, C(from) and C(to) in ISO 8601, UTC where no offset is given.
      - Weekly, C(start) and C(end) as V(22:00), with C(days) (V(mon) to V(sun), default all) and C(timezone) (default
        V(UTC)). A window that passes midnight belongs to the day on which it begins.
    type: raw
    default: []
  least_minutes:
    description: A change window with fewer minutes left counts as closed.
    type: int
    default: 0
"""

EXAMPLES = r"""
- name: May links be interrupted now?
  rocemesh.multinode.site_window:
    change_windows:
      - start: "22:00"
        end: "04:00"
        timezone: Europe/Berlin
    least_minutes: 30
  register: change

- name: Wait for the night
  ansible.builtin.assert:
    that: change.open
    fail_msg: "{{ change.reason }}"
"""

RETURN = r"""
windows:
  description:
    - One entry per host - C(host), C(needed), C(reboot), C(nics), C(rekey), C(vms), C(reasons), and C(changes) (name of
      a VM to what is set in its file, each with C(key), C(before), C(after), C(text)).
  returned: always
  type: list
  elements: dict
waiting:
  description: Those of RV(windows) that are needed.
  returned: always
  type: list
  elements: dict
summary:
  description: What waits and what it stops, in lines for a person.
  returned: always
  type: list
  elements: str
batch:
  description: How many hosts may be down at once.
  returned: always
  type: int
open:
  description: Whether a change window is open, or none is set.
  returned: always
  type: bool
minutes_left:
  description: Until its end. Null where there is no end.
  returned: always
  type: int
reason:
  description: Why it is open or not, a sentence.
  returned: always
  type: str
"""
