#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: doctor_ask
short_description: Ask the person at the terminal for the next output until one cause is left
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Shows the read-only command that splits the candidates best for its cost, and reads what it printed, from a file
    that the person names or as pasted text. Then again, until M(rocemesh.multinode.doctor) says that one cause is left.
  - Without a terminal it asks nothing, and the answer has the commands as a list.
  - Runs no command itself, contacts nothing, writes nothing but O(dest).
extends_documentation_fragment:
  - rocemesh.multinode.attributes.looks
attributes:
  check_mode:
    support: full
    description: Asks as without it; O(dest) is not written.
options:
  bundle:
    description: What there is at the beginning, as in M(rocemesh.multinode.doctor).
    type: path
  evidence:
    description: What there is at the beginning, as in M(rocemesh.multinode.doctor).
    type: dict
    default: {}
  packs:
    description:
      - Folders with rule packs of the site, in folders C(causes/LAYER), C(symptoms), C(facts), C(noise) and C(normal)
        as those of the collection. Read together with these; no name may be in both.
    type: list
    elements: path
    default: []
  dest:
    description: File to which the last answer is written as JSON.
    type: path
seealso:
  - module: rocemesh.multinode.doctor
"""

EXAMPLES = r"""
- name: From the log of a job, question by question
  rocemesh.multinode.doctor_ask:
    bundle: /home/me/job-4711.log
  register: asked
"""

RETURN = r"""
asked_for:
  description: Names of the commands that were asked for, in their order.
  type: list
  elements: str
  returned: success
ended:
  description: V(one cause is left), V(nothing left to ask), V(no terminal) or V(stopped by the person).
  type: str
  returned: success
verdict:
  description: And everything else that M(rocemesh.multinode.doctor) returns, of the last answer.
  type: str
  returned: success
"""
