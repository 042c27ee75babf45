"""Filter: the argument vector of an mpirun over the containers of several hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: mpirun_command
short_description: Build the mpirun command line for a list of hosts
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Builds the argument vector for Open MPI 4 or 5 - hosts with slots, number of ranks, no binding, tagged output, and
    both kinds of
    TCP connections pinned to the cluster network (otherwise Open MPI takes docker0 and the first collective hangs).
  - Beyond 64 hosts the head starts all daemons itself, so that its key is the only one.
  - Refuses hosts that are listed twice, addresses outside the network, and more ranks than slots.
positional: _input, program, network
options:
  _input:
    description: The hosts, each with C(name), C(address) and C(slots) (default 1), the head first.
    type: list
    elements: dict
    required: true
  program:
    description: What each rank runs, as an argument vector.
    type: list
    elements: str
    required: true
  network:
    description: The cluster network in CIDR notation.
    type: str
    required: true
  ranks:
    description: Number of ranks. Left out, one per slot.
    type: int
  slots:
    description: Overrides the slots of every host, for example 1 for one rank per host.
    type: int
  env:
    description: Environment variables for the ranks (C(-x)).
    type: dict
    default: {}
  mca:
    description:
      - More Open MPI parameters, by the name that either version gives them. C(plm_rsh_args) becomes C(plm_ssh_args)
        for Open MPI 5, and so on.
    type: dict
    default: {}
  timeout:
    description: Seconds after which C(timeout), inside the container, ends mpirun. 0 sets no limit.
    type: int
    default: 0
  version:
    description:
      - The version of Open MPI in the container, as C(mpirun --version) prints it or as a number. Open MPI 5 has other
        parameters and other options. Versions other than 4 and 5 are refused.
    type: str
    default: "4.1"
"""

EXAMPLES = r"""
- name: Ask for the version of Open MPI
  community.docker.docker_container_exec:
    container: mpicont
    argv: [mpirun, --version]
  register: asked

- name: Ask every host for its name
  community.docker.docker_container_exec:
    container: mpicont
    argv: "{{ hosts | rocemesh.multinode.mpirun_command(['hostname'], '192.0.2.0/24', version=asked.stdout) }}"
"""

RETURN = r"""
_value:
  description: The argument vector.
  type: list
  elements: str
"""

from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._layer import LayerError
from ..module_utils._results.launch.mpirun import DEFAULT, command, nodes


def mpirun_command(
    hosts: Sequence[Mapping[str, Any]],
    program: Sequence[str],
    network: str,
    *,
    timeout: int = 0,
    version: str = DEFAULT,
    ranks: int | None = None,
    slots: int | None = None,
    **more: Any,
) -> list[str]:
    try:
        return command(
            nodes(hosts),
            [str(word) for word in program],
            str(network),
            ranks=None if ranks is None else int(ranks),
            slots=None if slots is None else int(slots),
            timeout=int(timeout),
            version=str(version),
            **more,
        )
    except LayerError as error:
        raise AnsibleFilterError(f"mpirun_command: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"mpirun_command": mpirun_command}
