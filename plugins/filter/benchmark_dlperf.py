# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: scaling results under DLPerf's keys."""

from __future__ import annotations

DOCUMENTATION = r"""
name: benchmark_dlperf
short_description: Scaling results under the keys of DLPerf
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Returns the results of one precision and batch size as DLPerf's C(extract_mxnet_logs.py) writes them, so that
    published and own results can be laid side by side.
positional: _input, precision, batch
options:
  _input:
    description: C(results) of P(rocemesh.multinode.benchmark_document#filter) for C(scaling).
    type: list
    elements: dict
    required: true
  precision:
    description: Which precision.
    type: str
    required: true
  batch:
    description: Which batch size per rank.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: Show the table
  ansible.builtin.debug:
    msg: "{{ scaling.results | rocemesh.multinode.benchmark_dlperf('fp32', 128) }}"
"""

RETURN = r"""
_value:
  description: >-
    C(rn50), by case C(average_speed), C(median_speed) (images/s, two decimals), C(batch_size_per_device) and C(speedup)
    against C(1n1g) (null if that was not measured).
  type: dict
"""

from typing import Any, Callable, Mapping, Sequence

from ..module_utils._results.figures.benchmarks import dlperf


def benchmark_dlperf(results: Sequence[Mapping[str, Any]], precision: str, batch: int) -> dict[str, Any]:
    return dlperf(results, str(precision), int(batch))


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"benchmark_dlperf": benchmark_dlperf}
