# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters: the file of one benchmark."""

from __future__ import annotations

DOCUMENTATION = r"""
name: benchmark_document
short_description: Put the results of a benchmark into the form of its file
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Returns C(kind), C(simulated), C(backend), C(results), C(problems), C(parameters) and C(settings).
  - With O(plan), the input is a list of saved repeats, and the results are one entry per case, precision and batch size
    with all repeats, mean and median. Repeats that are missing are a problem.
positional: _input, kind
options:
  _input:
    description: The results, or the saved repeats of O(plan).
    type: list
    elements: dict
    required: true
  kind:
    description: The benchmark.
    type: str
    choices: [bandwidth, scaling, scoring, training, nccl_tests, perftest]
    required: true
  plan:
    description: What P(rocemesh.multinode.benchmark_plan#filter) returned. For scaling only.
    type: list
    elements: dict
  simulated:
    description: Whether the devices were simulated.
    type: bool
    default: false
  backend:
    description: nccl or gloo. Empty - as the settings or the repeats say.
    type: str
    default: ""
  problems:
    description: What went wrong.
    type: list
    elements: str
    default: []
  parameters:
    description: What the benchmark was asked to do.
    type: dict
    default: {}
  settings:
    description: What the program found and used.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: The file of a scaling measurement
  ansible.builtin.debug:
    msg: "{{ repeats | rocemesh.multinode.benchmark_document('scaling', plan=plan) | to_nice_json }}"
"""

RETURN = r"""
_value:
  description: The document.
  type: dict
"""

from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._layer import LayerError
from ..module_utils._results.figures.benchmarks import document, scaling_results


def benchmark_document(
    results: Sequence[Mapping[str, Any]],
    kind: str,
    *,
    plan: Sequence[Mapping[str, Any]] | None = None,
    simulated: bool = False,
    backend: str = "",
    problems: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    told = [str(problem) for problem in problems]
    found = backend or (settings or {}).get("backend")
    entries: Sequence[Mapping[str, Any]] = results
    if plan is not None:
        found = found or next((record.get("backend") for record in results), None)
        entries, missing = scaling_results(plan, results)
        told += missing
    try:
        return document(
            kind,
            entries,
            simulated=simulated,
            backend=found,
            problems=told,
            parameters=parameters,
            settings=settings,
        )
    except LayerError as error:
        raise AnsibleFilterError(f"benchmark_document: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"benchmark_document": benchmark_document}
