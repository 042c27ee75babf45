# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: a job for other launchers, checked, as data and as NCCL's files."""

from __future__ import annotations

DOCUMENTATION = r"""
name: handoff_job
short_description: Check a job for Slurm, torchrun or Kubernetes, and say it as data
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Refuses what a scheduler would refuse only later, or not at all - an image without digest, a device that a node does
    not have, a namespace that cannot exist, hosts with different numbers of ranks, variables that belong to the
    launcher, names that look like secrets.
positional: _input, topologies
options:
  _input:
    description: >-
      The job as role P(rocemesh.multinode.run#role) puts it together - C(name), C(launchers), C(image), C(hosts),
      C(command), C(env), C(nccl), C(facts) and further keys.
    type: dict
    required: true
  topologies:
    description: Host to NCCL's topology file as it lies on that node. A host without one is left out.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Show the job
  ansible.builtin.debug:
    msg: "{{ (asked | rocemesh.multinode.handoff_job).job }}"
"""

RETURN = r"""
_value:
  description: >-
    C(job) (the content of C(job.json)) and C(files) (name to content of C(job.json), C(nccl.env), C(nccl.d/HOST.env)
    and the topology).
  type: dict
"""

from typing import Any, Callable, Mapping

from ansible.errors import AnsibleFilterError

from ..module_utils._handoff.job import files_of, job_of
from ..module_utils._layer import LayerError


def handoff_job(asked: Any, topologies: Mapping[str, str] | None = None) -> dict[str, Any]:
    if not isinstance(asked, Mapping):
        raise AnsibleFilterError(f"handoff_job: wants a job, not {type(asked).__name__}")
    try:
        job = job_of(asked)
        return {"job": job, "files": files_of(job, topologies or {})}
    except LayerError as error:
        raise AnsibleFilterError(str(error)) from error
    except KeyError as error:
        raise AnsibleFilterError(f"handoff_job: the job lacks {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"handoff_job": handoff_job}
