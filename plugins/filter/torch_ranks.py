# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the machine lines of this collection's training, read and judged."""

from __future__ import annotations

DOCUMENTATION = r"""
name: torch_ranks
short_description: Read the machine lines that this collection's training prints
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Each rank of this collection's training ends with one line C(ROCEMESH {...}) of JSON. This filter collects them,
    also from interleaved ranks with or without C(--tag-output), and from the file that the training's option
    C(--json) writes.
  - Everything that the records say twice must be the same. Images and seconds give the speed, the sum of the ranks
    meets the total within 1 %, all ranks have the same weights. If not, the result says so and no figure is chosen.
  - Several runs in one log are kept apart. Processes that each trained alone are the problem C(not_one_job).
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
  - plugin: rocemesh.multinode.mpirun_failure
    plugin_type: filter
"""

EXAMPLES = r"""
- name: The figures of a run with all its steps
  ansible.builtin.set_fact:
    figures: "{{ run.stdout | rocemesh.multinode.torch_ranks(ranks=4) }}"

- name: Stop unless the ranks support each other
  ansible.builtin.assert:
    that: figures.ok
    fail_msg: "{{ figures.problems | map(attribute='message') | join('; ') }}"
"""

RETURN = r"""
_value:
  description: >-
    C(ok) (one complete run without problems whose figures agree), of that run C(world), C(ranks), C(hosts), C(total)
    and C(sum_of_ranks) (images/s), C(agreement) (C(ok), C(relative_difference)), C(images_per_second) (count, mean,
    median, min, max, relative_spread over the ranks), C(per_rank) (the records as the ranks wrote them); C(runs) (the
    same for each run, with its own C(problems) and C(slowest_rank)), C(problems) (list of C(code), C(message)).
  type: dict
"""

from typing import Any, Callable

from ..module_utils._results.readers.torch_ranks import read
from ..plugin_utils.log_filter import count, read_log


def torch_ranks(log: Any, ranks: int | None = None) -> dict[str, Any]:
    return read_log("torch_ranks", log, lambda source: read(source, count("torch_ranks", "ranks", ranks))).as_dict()


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"torch_ranks": torch_ranks}
