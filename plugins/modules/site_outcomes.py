#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: site_outcomes
short_description: Fold what roles published per host into one entry per layer
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Collects one fact from the hosts of each layer and folds it for the role P(rocemesh.multinode.report#role).
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  layers:
    description: Layer name to a list of two texts, the inventory group and the name of the fact.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: What the switch layer found and changed
  rocemesh.multinode.site_outcomes:
    layers:
      switch: [switches, switch_outcome]
  register: outcomes
"""

RETURN = r"""
layers:
  description: Layer name to C(changed), C(verified), C(found) (per host) and C(changes) (one text per change).
  returned: always
  type: dict
"""
