# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what is kept of one repeat of a scaling measurement."""

from __future__ import annotations

DOCUMENTATION = r"""
name: benchmark_repeat
short_description: Put one repeat of a scaling measurement into the form of its file
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Joins an entry of P(rocemesh.multinode.benchmark_plan#filter) with its result.
positional: _input, result, seconds
options:
  _input:
    description: The entry of the plan.
    type: dict
    required: true
  result:
    description: What P(rocemesh.multinode.read_log#filter) made of its output.
    type: dict
    required: true
  seconds:
    description: How long the whole job took.
    type: float
    required: true
"""

EXAMPLES = r"""
- name: Keep a repeat
  ansible.builtin.copy:
    content: "{{ repeat | rocemesh.multinode.benchmark_repeat(result, job.seconds) | to_nice_json }}"
    dest: "repeats/{{ repeat.name }}.json"
    mode: "0644"
"""

RETURN = r"""
_value:
  description: The record.
  type: dict
"""

from typing import Any, Callable, Mapping

from ..module_utils._results.figures.benchmarks import repeat_record


def benchmark_repeat(entry: Mapping[str, Any], result: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    return repeat_record(entry, result, float(seconds))


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"benchmark_repeat": benchmark_repeat}
