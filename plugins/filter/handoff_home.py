# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the results of a job that another launcher ran, as a report takes them."""

from __future__ import annotations

DOCUMENTATION = r"""
name: handoff_home
short_description: Read the results of a handed-off job
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads the folder that the scripts of a hand-off fill (C(results/JOBID)) - the ranks' output, NCCL's log, RDMA
    counters before and after, begin and end - and says what the launcher says of a job that did not end well.
  - What is missing stays missing, and the verdict of the report says so.
positional: _input
options:
  _input:
    description: The folder, on the controller.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Show what a job of Slurm measured
  ansible.builtin.debug:
    msg: "{{ ('reports/handoff/resnet50/results/42' | rocemesh.multinode.handoff_home).result.total }}"
"""

RETURN = r"""
_value:
  description: >-
    C(id), C(job) (the content of C(job.json)), C(result) (as filter
    P(rocemesh.multinode.tf_cnn_log#filter) returns it), C(evidence), C(log),
    C(expected_ranks), C(problems), C(simulated), for module M(rocemesh.multinode.run_report).
  type: dict
"""

from pathlib import Path
from typing import Any, Callable

from ansible.errors import AnsibleFilterError

from ..module_utils._handoff.home import read
from ..module_utils._layer import LayerError


def handoff_home(folder: Any) -> dict[str, Any]:
    try:
        return read(Path(str(folder)))
    except LayerError as error:
        raise AnsibleFilterError(str(error)) from error
    except OSError as error:
        raise AnsibleFilterError(f"handoff_home: {folder}: cannot be read ({error.strerror})") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"handoff_home": handoff_home}
