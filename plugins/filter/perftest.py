# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the tables of perftest, read and judged."""

from __future__ import annotations

DOCUMENTATION = r"""
name: perftest
short_description: Read the output of perftest (ib_write_bw, ib_send_lat and their sisters)
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads tables of bandwidth and of latency, one size or all, one or both directions, from one end or from both ends
    in one log.
  - MB/sec and MiB/sec of perftest are 2^20 bytes, Gb/sec is 1e9 bits. The result is in GB/s of 1e9 and in Gb/s. Each
    row is checked against its message rate, so a wrong unit is found out.
  - A table with columns that are not known is refused and shown.
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
- name: Bandwidth of the wire, in Gb/s
  ansible.builtin.debug:
    msg: "{{ (write_bw.stdout | rocemesh.multinode.perftest).tests[0].largest.gigabits_per_second }}"
"""

RETURN = r"""
_value:
  description: >-
    C(ok), C(tests) (per test C(title), C(verb), C(bidirectional), C(unit) as printed, C(device), C(link_type), C(mtu),
    C(gid_index), C(queue_pairs), C(settings), C(gids), C(gpu_memory), C(bandwidth) (C(bytes), C(iterations),
    C(gigabytes_per_second), C(peak_gigabytes_per_second), C(gigabits_per_second), C(message_rate_mpps)), C(largest),
    C(peak_gigabytes_per_second), C(latency) (C(bytes), C(iterations), C(average_us), C(minimum_us), C(maximum_us),
    C(typical_us), C(deviation_us), C(p99_us), C(p999_us)), C(problems)), C(problems) (list of C(code), C(message)).
  type: dict
"""

from typing import Any, Callable

from ..module_utils._results.readers.perftest import read
from ..plugin_utils.log_filter import read_log


def perftest(log: Any) -> dict[str, Any]:
    return read_log("perftest", log, read).as_dict()


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"perftest": perftest}
