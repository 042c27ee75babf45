"""Filter: environment of a probe run and of a timed run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: nccl_run_env
short_description: Environment that makes NCCL write its data path
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Adds to an environment what a V(probe) or a V(timed) run needs. NCCL writes ranks, rings and channels to files
    while it sets up connections, and nothing per collective. In a V(probe) it also writes its topology.
  - Without O(prefix), a V(timed) run writes warnings alone.
  - Both demand the same network.
positional: _input, kind
options:
  _input:
    description: The environment to start from.
    type: dict
    required: true
  kind:
    description: V(probe) or V(timed).
    type: str
    choices: [probe, timed]
    required: true
  prefix:
    description: >-
      Beginning of the names of the files in the container, needed for V(probe). Each process writes
      C(PREFIX.HOST.PID.log), rank 0 of a V(probe) also C(PREFIX.topology.xml).
    type: str
    default: ''
  network:
    description: The only network that NCCL may use (C(NCCL_NET)). Empty leaves the choice to NCCL.
    type: str
    default: IB
"""

EXAMPLES = r"""
- name: Show the environment of the probe
  ansible.builtin.debug:
    msg: "{{ {'NCCL_IB_TC': 106} | rocemesh.multinode.nccl_run_env('probe', prefix='/tmp/nccl-probe') }}"
"""

RETURN = r"""
_value:
  description: The environment.
  type: dict
"""

from typing import Any, Callable, Mapping

from ansible.errors import AnsibleFilterError

from ..module_utils._layer import LayerError
from ..module_utils._results.launch.nccl_runs import environment


def nccl_run_env(base: Any, kind: str, prefix: str = "", network: str = "IB") -> dict[str, Any]:
    if not isinstance(base, Mapping):
        raise AnsibleFilterError(f"nccl_run_env: wants an environment, not {type(base).__name__}")
    if kind not in ("probe", "timed"):
        raise AnsibleFilterError(f"nccl_run_env: kind is {kind!r}; give probe or timed")
    try:
        return environment(base, kind, prefix, network)
    except LayerError as error:
        raise AnsibleFilterError(f"nccl_run_env: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"nccl_run_env": nccl_run_env}
