#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_file
short_description: Keep the result of a benchmark in its file, or find it there
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads what a benchmark program printed and puts it into the form of its file, which is written whole or not at
    all.
  - Whatever a reader complains about is a problem of the file. A log without a figure is one, too.
  - A measurement is a record, not a change of the cluster, so nothing is reported as changed.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  folder:
    description: Folder of the files on the controller. With O(state=read) not needed.
    type: path
  kind:
    description: The benchmark. V(repeat) is one repeat of V(scaling).
    type: str
    choices: [bandwidth, scaling, scoring, training, nccl_tests, perftest, advice, input, repeat]
    required: true
  state:
    description:
      - V(present) writes C(<kind>.json) (V(repeat) C(<name>.json)), for V(scaling) also the same under the keys of
        DLPerf, a file per precision.
      - V(known) looks for a file that was made with the same O(parameters) and has no problem.
      - V(read) reads O(output) and writes nothing.
    type: str
    choices: [present, known, read]
    default: present
  output:
    description:
      - What the program printed. Of this collection's programs the lines C(ROCEMESH-BENCHMARK {json}), also where lines
        are glued together; of V(nccl_tests), V(perftest) and V(repeat) their own output.
    type: str
  log:
    description: Where the log is kept, for the file of V(nccl_tests) and V(perftest), and for messages.
    type: str
    default: ""
  ranks:
    description: For V(nccl_tests) and V(repeat), how many ranks were started.
    type: int
  hosts:
    description: For V(nccl_tests), how many hosts took part.
    type: int
  ends:
    description: For V(perftest), the names of client and server.
    type: list
    elements: str
    default: []
  results:
    description: Results that were read before.
    type: list
    elements: dict
    default: []
  problems:
    description: What went wrong.
    type: list
    elements: str
    default: []
  settings:
    description: What the program found and used.
    type: dict
    default: {}
  parameters:
    description: What the benchmark was asked to do. Two measurements with the same may be put together.
    type: dict
    default: {}
  plan:
    description: For V(scaling), RV(rocemesh.multinode.benchmark_plan#module:plan).
    type: list
    elements: dict
    default: []
  repeats:
    description: For V(scaling), the repeats that are done.
    type: list
    elements: dict
    default: []
  repeat:
    description: For V(repeat), its entry in the plan.
    type: dict
  seconds:
    description: For V(repeat), how long the whole job took.
    type: float
    default: 0
  simulated:
    description: Whether the devices were simulated.
    type: bool
    default: false
  backend:
    description: nccl, gloo or verbs. Empty - as the settings or the repeats say.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Keep what nccl-tests measured
  rocemesh.multinode.benchmark_file:
    folder: reports/today
    kind: nccl_tests
    output: "{{ job.stdout }}"
    ranks: 4
    hosts: 4
  register: kept
"""

RETURN = r"""
document:
  description:
    - What the file holds - C(kind), C(simulated), C(backend), C(results), C(problems), C(parameters), C(settings). Of
      V(repeat) its record. With O(state=known) empty unless there is such a file.
  returned: with O(state=present) or O(state=known)
  type: dict
said:
  description: C(results), C(settings), C(trace) (null if none was written), C(problems).
  returned: with O(state=read)
  type: dict
"""
