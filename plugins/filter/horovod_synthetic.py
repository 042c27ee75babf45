# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the output of Horovod's synthetic benchmarks, read and judged."""

from __future__ import annotations

DOCUMENTATION = r"""
name: horovod_synthetic
short_description: Read the output of Horovod's synthetic benchmarks
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads the lines of the PyTorch, TensorFlow 2 and Keras benchmarks (C(img/sec per GPU)).
  - Their total is the speed of rank 0 times the ranks, extrapolated and not measured; C(total_is_extrapolated) says so.
  - A log may be of any size; it is read in constant memory. An empty log, a binary file or the log of another program
    is no error but a result with C(ok) false and the problem C(no_result), which names what was found.
positional: _input, ranks
options:
  _input:
    description: >-
      The text of the log, or the absolute path of a log on the controller (one line that begins with a slash is a
      path).
    type: raw
    required: true
  ranks:
    description: How many ranks were started. Left out, the log is believed.
    type: int
notes:
  - Runs on the controller. Reads nothing but the log.
seealso:
  - plugin: rocemesh.multinode.tf_cnn_log
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Judge a saved log
  ansible.builtin.debug:
    msg: "{{ '/srv/logs/horovod.log' | rocemesh.multinode.horovod_synthetic(ranks=16) }}"
"""

RETURN = r"""
_value:
  description: >-
    C(ok), C(runs) (C(ranks), C(device), C(per_device), C(plus_minus), C(total), C(total_is_extrapolated),
    C(iterations), C(images_per_second) (count, mean, median, min, max, relative_spread), C(parameters), C(problems)),
    C(problems) (list of C(code), C(message)).
  type: dict
"""

from typing import Any, Callable

from ..module_utils._results.readers.horovod import read
from ..plugin_utils.log_filter import count, read_log


def horovod_synthetic(log: Any, ranks: int | None = None) -> dict[str, Any]:
    return read_log(
        "horovod_synthetic", log, lambda source: read(source, count("horovod_synthetic", "ranks", ranks))
    ).as_dict()


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"horovod_synthetic": horovod_synthetic}
