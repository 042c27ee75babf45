"""Filter: any log that this collection can read."""

from __future__ import annotations

DOCUMENTATION = r"""
name: read_log
short_description: Read the log of a training, of NCCL, or of a benchmark, and judge whether its figures hold
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads one kind of log and returns plain data. What each kind returns is listed in C(docs/readers.md) of the
    repository, with a recipe for a new one.
  - What contradicts itself in a log is a problem of the result, never a figure. Nothing found is never good.
  - A log may be of any size; it is read in constant memory. An empty log, a binary file or the log of another program
    is no error but a result with C(ok) false and the problem C(no_result), which names what was found.
positional: _input, kind
options:
  _input:
    description:
      - The text of the log, or the absolute path of a log on the controller (one line that begins with a slash is a
        path).
      - For V(mxnet_speed) also the absolute path of a folder, or a dictionary of path to text.
    type: raw
    required: true
  kind:
    description:
      - V(tf_cnn) - tf_cnn_benchmarks, or this collection's ResNet-50, under mpirun.
      - V(torch_ranks) - the machine lines of this collection's training.
      - V(answers) - any program under mpirun with tagged output, rank by rank.
      - V(nccl_log) - what NCCL prints with C(NCCL_DEBUG=INFO).
      - V(nccl_tests) - nccl-tests. V(perftest) - perftest.
      - V(horovod) - Horovod's synthetic benchmarks. V(timm) - timm's own benchmark program.
      - V(mxnet_speed) - MXNet's Speedometer, or DLPerf's tree of logs. V(mxnet_bandwidth) - MXNet's measure.py.
      - V(perf_tables) - the tables of MXNet's performance guide and of DLPerf.
    type: str
    required: true
    choices:
      - tf_cnn
      - torch_ranks
      - answers
      - nccl_log
      - nccl_tests
      - perftest
      - horovod
      - timm
      - mxnet_speed
      - mxnet_bandwidth
      - perf_tables
  ranks:
    description: How many ranks were started. Left out, the log is believed.
    type: int
  hosts:
    description: For V(nccl_tests), how many hosts were to take part. Left out, the log is believed.
    type: int
  repeats:
    description: For V(mxnet_speed), how many runs each case was to have. Left out, as many as the fullest case has.
    type: int
  windows:
    description: For V(mxnet_speed), windows of epoch 0 that a run must have. Left out, 120 as DLPerf has them.
    type: int
  dropped:
    description: For V(mxnet_speed), how many of them are the warm-up. Left out, 20.
    type: int
notes:
  - Runs on the controller. Reads nothing but the log.
  - What NCCL, CUDA and RDMA programs print is taken from their source and from public logs. Not verified on hardware.
seealso:
  - plugin: rocemesh.multinode.nccl_path
    plugin_type: filter
  - plugin: rocemesh.multinode.mpirun_failure
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Judge a saved training log
  ansible.builtin.debug:
    msg: "{{ '/srv/logs/mpirun.log' | rocemesh.multinode.read_log('tf_cnn', ranks=4) }}"

- name: Bus bandwidth at the largest size, in GB/s
  ansible.builtin.debug:
    msg: "{{ (nccl.stdout | rocemesh.multinode.read_log('nccl_tests', ranks=4, hosts=4)).tables[0].largest.busbw }}"

- name: Host names by rank
  ansible.builtin.debug:
    msg: "{{ (mpirun.stdout | rocemesh.multinode.read_log('answers')).answers }}"
"""

RETURN = r"""
_value:
  description: >-
    C(ok) (whole, and nothing in it is wrong), C(problems) (list of C(code), C(message)), and what the kind finds.
  type: dict
"""

from typing import Any, Callable

from ansible.errors import AnsibleFilterError

from ..module_utils._results.readers.registry import BY_NAME


def read_log(
    log: Any,
    kind: str,
    *,
    ranks: int | None = None,
    hosts: int | None = None,
    repeats: int | None = None,
    windows: int | None = None,
    dropped: int | None = None,
) -> dict[str, Any]:
    if kind not in BY_NAME:
        raise AnsibleFilterError(f"read_log: {kind!r} is no kind of log; give one of {', '.join(BY_NAME)}")
    options = {"ranks": ranks, "hosts": hosts, "repeats": repeats, "windows": windows, "dropped": dropped}
    try:
        return BY_NAME[kind].result(log, options)
    except ValueError as error:
        raise AnsibleFilterError(f"read_log: {error}") from error
    except OSError as error:
        raise AnsibleFilterError(
            f"read_log: {log}: cannot be read ({error.strerror}); give a log on this machine"
        ) from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"read_log": read_log}
