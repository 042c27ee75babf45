"""Filter: why an mpirun failed, on which host, and what to do."""

from __future__ import annotations

DOCUMENTATION = r"""
name: mpirun_failure
short_description: Name the cause, the host and the remedy of a failed mpirun
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads the exit status and the output of mpirun (or of C(timeout) around it) and names the cause instead of the
    generic
    box that Open MPI prints for all of them.
  - Written for Open MPI 4.1 and 5.0 started through ssh and C(docker exec). Texts of CUDA and NCCL are not verified on
    hardware.
positional: _input, hosts
options:
  _input:
    description: >-
      A result with C(rc), C(stdout) and C(stderr). Without C(rc) (mpirun was never started) C(msg) is read. In place
      of the texts, C(stdout_file) and C(stderr_file) may name saved logs on the controller, of any size; they are read
      in constant memory. With C(stalled), as M(rocemesh.multinode.mpi_job) returns it, C(silent) is how long nothing
      was printed, and C(looked) may hold what C(leftovers.py look) said on each host (results of a loop).
    type: dict
    required: true
  hosts:
    description: >-
      The hosts of the run in the order of C(-H), each with C(name), C(address), C(slots), and if known C(container),
      the state of its container (C(running), C(exited), C(missing)), and C(hostname), what it calls itself.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Stop with the cause
  ansible.builtin.fail:
    msg: "{{ (failed_run | rocemesh.multinode.mpirun_failure(hosts)).message }}"
"""

RETURN = r"""
_value:
  description: C(cause), C(summary), C(remedy), C(hosts), C(rank), C(evidence), and all of it as one C(message).
  type: dict
"""

import itertools
from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._layer import LayerError
from ..module_utils._results.launch.failure import diagnose
from ..module_utils._results.launch.mpirun import nodes
from ..module_utils._results.launch.stall import read as read_stall
from ..module_utils._results.readers.reading import Source, file_pieces


def mpirun_failure(result: Mapping[str, Any], hosts: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    if not isinstance(result, Mapping):
        raise AnsibleFilterError(
            f"mpirun_failure: wants a result with rc, stdout and stderr, not {type(result).__name__}"
        )
    stalled = bool(result.get("stalled"))
    stall = read_stall(result.get("silent"), result.get("looked")) if stalled else None
    reason = "" if "rc" in result or stalled else "\n" + str(result.get("msg") or "")
    stdout, stderr = (_stream(result, name, more) for name, more in (("stdout", ""), ("stderr", reason)))
    try:
        found = diagnose(int(result.get("rc", -1)), stdout, stderr, nodes(hosts) if hosts else (), stall)
    except LayerError as error:
        raise AnsibleFilterError(f"mpirun_failure: {error}") from error
    except OSError as error:
        raise AnsibleFilterError(
            f"mpirun_failure: {error.filename} cannot be read ({error.strerror}); give a log on this machine"
        ) from error
    return found.as_result()


def _stream(result: Mapping[str, Any], name: str, more: str) -> Source:
    """The saved file, if there is one, in pieces; else the text."""
    path = result.get(f"{name}_file")
    if path:
        return itertools.chain(file_pieces(str(path)), [more.encode()])
    return str(result.get(name) or "") + more


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"mpirun_failure": mpirun_failure}
