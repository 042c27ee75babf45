# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what a benchmark program said."""

from __future__ import annotations

DOCUMENTATION = r"""
name: benchmark_records
short_description: Read the results out of the output of a benchmark program
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads the lines C(ROCEMESH-BENCHMARK {json}) from the output of mpirun, also where lines are glued together.
positional: _input
options:
  _input:
    description: Standard output of mpirun.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Results of a bandwidth run
  ansible.builtin.debug:
    msg: "{{ (mpirun.stdout | rocemesh.multinode.benchmark_records).results }}"
"""

RETURN = r"""
_value:
  description: C(results) (list), C(settings) (dict), C(trace) (dict, or null), C(problems) (list of text).
  type: dict
"""

from typing import Any, Callable

from ansible.errors import AnsibleFilterError

from ..module_utils._results.figures.benchmarks import records


def benchmark_records(text: Any) -> dict[str, Any]:
    if not isinstance(text, str):
        raise AnsibleFilterError(f"benchmark_records: wants mpirun's output as text, not {type(text).__name__}")
    return records(text)


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"benchmark_records": benchmark_records}
