#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: run_compare
short_description: Put runs, imported logs and published figures into one table
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads C(summary.json) of runs and logs of other runs, and writes C(compare.html), C(compare.md) and C(compare.json)
    into a folder.
  - Figures that others published stand beside them, each marked as published, not measured here, with its source.
  - Rows that simulated devices produced are marked SIMULATED.
  - With O(baseline), says of each case of the benchmark scaling whether it became slower, and how sure that is.
extends_documentation_fragment: [rocemesh.multinode.attributes.changes, rocemesh.multinode.attributes.no_restart]
attributes:
  diff_mode:
    support: full
    description: Shows the SHA-256 of each file before and after.
  async:
    support: none
    description: It runs on the controller.
options:
  path:
    description: Folder in which a folder O(name) is written. It is created if it is missing.
    type: path
    required: true
  name:
    description: Name of the comparison, and of its folder. Letters, digits, dot, dash and underscore.
    type: str
    default: compare
  runs:
    description: Runs to compare, each the folder of a run or its C(summary.json). A run is called by its C(run_id).
    type: list
    elements: path
    default: []
  logs:
    description: Logs of tf_cnn_benchmarks or of this collection's ResNet-50 to compare with.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: The log.
        type: path
        required: true
      name:
        description: Name of the row. Left out, the name of the file.
        type: str
      ranks:
        description: How many ranks were started. Left out, the log is believed.
        type: int
  figures:
    description: Figures from logs of other formats, for example from another filter of this collection.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the row.
        type: str
        required: true
      images_per_second:
        description: Rate of all ranks together, in images/s.
        type: float
        required: true
      nodes:
        description: Number of nodes.
        type: int
      ranks:
        description: Number of ranks.
        type: int
      precision:
        description: Number format.
        type: str
      batch:
        description: Batch size per rank, in images.
        type: int
      note:
        description: Where the figure comes from.
        type: str
        default: ''
      simulated:
        description: Whether simulated devices produced it.
        type: bool
        default: false
  published:
    description: Whether to show figures that others published.
    type: bool
    default: true
  baseline:
    description: >-
      Name (C(run_id)) of the run that the others are held against, case by case of the benchmark scaling. Left out,
      nothing is judged.
    type: str
    default: ''
  margin_percent:
    description: >-
      A run counts as slower if its median is lower by more than this, in percent. Published repeats differ by 2 %
      among themselves, so a narrower margin than 3 % would flap.
    type: float
    default: 3.0
  confidence_percent:
    description: How sure the answers V(slower) and V(not_slower) have to be, in percent, 50 to below 100.
    type: float
    default: 95.0
"""

EXAMPLES = r"""
- name: Two runs and a log beside what others published
  rocemesh.multinode.run_compare:
    path: "{{ playbook_dir }}/reports"
    runs: [reports/20260131T120000Z, reports/20260201T120000Z]
    logs:
      - {path: old.log, name: before the upgrade, ranks: 4}
    baseline: 20260131T120000Z
  delegate_to: localhost
"""

RETURN = r"""
path:
  description: The folder of the comparison.
  type: str
  returned: success
comparison:
  description:
    - The content of C(compare.json), with C(parts) (tables, each with C(title), C(header) and C(rows)), C(problems) of
      the runs and logs as texts, and C(simulated), the number of rows that simulated devices produced.
  type: dict
  returned: success
gates:
  description:
    - One entry per case that the baseline has, too, with C(run) (name of the run), C(case), C(verdict) (V(slower),
      V(not_slower), V(uncertain) or V(not_enough_repeats)), C(probability) (chance that the run is slower by more than
      the margin, null if the repeats do not carry it) and C(message), the answer in words.
  type: list
  elements: dict
  returned: success
slower:
  description: Whether any case became slower.
  type: bool
  returned: success
"""
