# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the output of MXNet's measure.py, read and judged."""

from __future__ import annotations

DOCUMENTATION = r"""
name: mxnet_bandwidth
short_description: Read the output of MXNet's tools/bandwidth/measure.py
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads any number of runs, old and new form of the lines.
  - Computes the bandwidth of each iteration again from size, GPUs and seconds; a line that does not fit is a problem.
  - In the distributed kinds of key-value store the tool counts local GPUs only; C(distributed) says so, and the figure
    is then not what crossed the wire.
  - A log may be of any size; it is read in constant memory. An empty log, a binary file or the log of another program
    is no error but a result with C(ok) false and the problem C(no_result), which names what was found.
positional: _input
options:
  _input:
    description: >-
      The text of the log, or the absolute path of a log on the controller (one line that begins with a slash is a
      path).
    type: raw
    required: true
notes:
  - Runs on the controller. Reads nothing but the log.
seealso:
  - plugin: rocemesh.multinode.nccl_tests
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Import published measurements
  ansible.builtin.debug:
    msg: "{{ (measured.stdout | rocemesh.multinode.mxnet_bandwidth).runs | map(attribute='gigabytes_per_second') }}"
"""

RETURN = r"""
_value:
  description: >-
    C(ok), C(runs) (per start of the tool C(command), C(options), C(network), C(kv_store), C(gpus), C(distributed),
    C(arrays), C(size_mb) of 1e6 bytes, C(iterations) (C(iteration), C(seconds), C(gigabytes_per_second), C(error)),
    C(gigabytes_per_second) and C(seconds) (count, mean, median, min, max, relative_spread), C(checked), C(problems)),
    C(problems) (list of C(code), C(message)).
  type: dict
"""

from typing import Any, Callable

from ..module_utils._results.readers.mxnet_bandwidth import read
from ..plugin_utils.log_filter import read_log


def mxnet_bandwidth(log: Any) -> dict[str, Any]:
    return read_log("mxnet_bandwidth", log, read).as_dict()


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"mxnet_bandwidth": mxnet_bandwidth}
