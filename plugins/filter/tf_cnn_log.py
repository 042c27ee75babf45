# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the output of a training run, read and judged."""

from __future__ import annotations

DOCUMENTATION = r"""
name: tf_cnn_log
short_description: Read the output of tf_cnn_benchmarks or of this collection's ResNet-50 under mpirun
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Takes apart the interleaved output of several ranks, with C(--tag-output) or without, also where lines are glued
    together,
    and also a numbered listing copied from a web page.
  - Each rank prints its own running speed, and the total of all ranks. So totals are never added and step lines are
    never averaged.
    The sum of the ranks must meet the printed total within 1 %; if not, the log contradicts itself and the filter
    says so.
positional: _input, ranks
options:
  _input:
    description: >-
      What the run printed on standard output, or the absolute path of a log on the controller (one line that begins
      with a slash is a path). Read in constant memory.
    type: raw
    required: true
  ranks:
    description: How many ranks were started. Left out, the log is believed.
    type: int
"""

EXAMPLES = r"""
- name: Judge a saved log
  ansible.builtin.debug:
    msg: "{{ lookup('ansible.builtin.file', 'mpirun.log') | rocemesh.multinode.tf_cnn_log(ranks=4) }}"
"""

RETURN = r"""
_value:
  description: >-
    C(ok) (complete, without problems, figures agree), C(ranks), C(total), C(sum_of_ranks), C(agreement) (C(ok),
    C(relative_difference)),
    C(per_rank) (list of C(rank), C(host), C(images_per_second), C(source), C(loss), C(machine)), C(printed_totals),
    C(last_step), C(step_lines),
    C(parameters), C(numbered_listing), C(problems) (list of C(code), C(message)).
  type: dict
"""

from typing import Any, Callable

from ..module_utils._results.readers.tf_cnn import read
from ..plugin_utils.log_filter import count, read_log


def tf_cnn_log(log: Any, ranks: int | None = None) -> dict[str, Any]:
    return read_log("tf_cnn_log", log, lambda source: read(source, count("tf_cnn_log", "ranks", ranks))).as_dict()


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"tf_cnn_log": tf_cnn_log}
