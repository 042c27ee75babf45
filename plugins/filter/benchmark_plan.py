# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the repeats of a scaling measurement."""

from __future__ import annotations

DOCUMENTATION = r"""
name: benchmark_plan
short_description: List the repeats of a scaling measurement
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Returns every repeat of every case, precision and batch size, in the order to run - all first repeats before all
    second ones.
  - The name of a repeat holds a digest of all of its parameters. What lies on disk under that name is done; what was
    made with other parameters has another name.
positional: _input, parameters
options:
  _input:
    description: The hosts, each with C(name), C(address) and C(slots) (default 1), the head first.
    type: list
    elements: dict
    required: true
  parameters:
    description: Everything else that decides the figure.
    type: dict
    required: true
  cases:
    description:
      - The cases, each C(<nodes>n<ranks per node>g). Empty - 1, 2, 4, ... ranks on the head, then 1, 2, 4, ... hosts.
    type: list
    elements: str
    default: []
  batches:
    description: Images per rank and step, by precision.
    type: dict
    default: {fp32: 128}
  repeats:
    description: Number of repeats of each.
    type: int
    default: 5
"""

EXAMPLES = r"""
- name: Which repeats there are
  ansible.builtin.debug:
    msg: "{{ hosts | rocemesh.multinode.benchmark_plan({'image_size': 224}, cases=['2n8g'], batches={'fp32': 128}) }}"
"""

RETURN = r"""
_value:
  description: >-
    One entry per repeat - C(name), C(case), C(nodes), C(gpus_per_node), C(precision), C(batch), C(repeat), C(hosts)
    (those of the case, with its slots) and C(parameters).
  type: list
  elements: dict
"""

from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._layer import LayerError
from ..module_utils._results.figures.benchmarks import scaling_plan


def benchmark_plan(
    hosts: Sequence[Mapping[str, Any]],
    parameters: Mapping[str, Any],
    *,
    cases: Sequence[str] = (),
    batches: Mapping[str, Any] | None = None,
    repeats: int = 5,
) -> list[dict[str, Any]]:
    try:
        sizes = {str(name): int(size) for name, size in (batches or {"fp32": 128}).items()}
        return scaling_plan(hosts, [str(case) for case in cases], sizes, int(repeats), parameters)
    except (LayerError, ValueError) as error:
        raise AnsibleFilterError(f"benchmark_plan: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"benchmark_plan": benchmark_plan}
