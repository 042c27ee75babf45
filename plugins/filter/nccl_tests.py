# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the tables of nccl-tests, read and judged."""

from __future__ import annotations

DOCUMENTATION = r"""
name: nccl_tests
short_description: Read the output of nccl-tests
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads any number of tables of all_reduce_perf and its sisters, of all ages of nccl-tests, with lines of NCCL in
    between.
  - Tells a real job from processes that each tested themselves because nccl-tests was built without C(MPI=1); their
    tables look sound and say nothing about the network.
  - C(average_busbw) is given as printed and judges nothing, for it averages all sizes. Use C(largest) and C(smallest).
  - A log may be of any size; it is read in constant memory. An empty log, a binary file or the log of another program
    is no error but a result with C(ok) false and the problem C(no_result), which names what was found.
positional: _input, ranks, hosts
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
  hosts:
    description: How many hosts were to take part. Left out, the log is believed.
    type: int
notes:
  - Runs on the controller. Reads nothing but the log.
seealso:
  - plugin: rocemesh.multinode.perftest
    plugin_type: filter
  - plugin: rocemesh.multinode.mxnet_bandwidth
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Bus bandwidth at the largest size, in GB/s
  ansible.builtin.debug:
    msg: "{{ (nccl.stdout | rocemesh.multinode.nccl_tests(ranks=4, hosts=4)).tables[0].largest.busbw }}"
"""

RETURN = r"""
_value:
  description: >-
    C(ok), C(one_job) (false if processes tested themselves, null if the log does not tell), C(tables) (per job
    C(collective), C(ranks), C(hosts), C(devices), C(bytes), C(rows) (C(size) and C(count), C(type), C(redop), C(root),
    C(out_of_place) and C(in_place), each C(time_us), C(algbw), C(busbw) in GB/s of 1e9, C(wrong), null if not checked),
    C(largest), C(smallest), C(peak_busbw), C(average_busbw), C(bus_factor) (busbw / algbw), C(checked) (whether results
    were compared), C(out_of_bounds), C(nccl_version), C(finished), C(problems)), C(problems) (list of C(code),
    C(message)).
  type: dict
"""

from typing import Any, Callable

from ..module_utils._results.readers.nccl_tests import read
from ..plugin_utils.log_filter import count, read_log


def nccl_tests(log: Any, ranks: int | None = None, hosts: int | None = None) -> dict[str, Any]:
    expected = count("nccl_tests", "ranks", ranks), count("nccl_tests", "hosts", hosts)
    return read_log("nccl_tests", log, lambda source: read(source, *expected)).as_dict()


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"nccl_tests": nccl_tests}
