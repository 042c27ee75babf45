# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the rows of a benchmark's file from the log of nccl-tests or perftest."""

from __future__ import annotations

DOCUMENTATION = r"""
name: benchmark_rows
short_description: Read the log of nccl-tests or perftest into the rows of its benchmark's file
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads the log as P(rocemesh.multinode.read_log#filter) does, and returns
    what P(rocemesh.multinode.benchmark_document#filter) takes.
  - Whatever the reader complains about is a problem of the file. A log without a figure is one, too.
positional: _input, kind
options:
  _input:
    description: The text of the log, or the absolute path of a log on the controller.
    type: raw
    required: true
  kind:
    description: Which program wrote it.
    type: str
    choices: [nccl_tests, perftest]
    required: true
  log:
    description: Where the log is kept, for the file.
    type: str
    default: ""
  ranks:
    description: For nccl_tests - how many ranks were started.
    type: int
  hosts:
    description: For nccl_tests - how many hosts took part.
    type: int
  ends:
    description: For perftest - the names of client and server.
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: Show what nccl-tests measured
  ansible.builtin.debug:
    msg: "{{ (job.stdout | rocemesh.multinode.benchmark_rows('nccl_tests', ranks=4, hosts=4)).results }}"
"""

RETURN = r"""
_value:
  description: C(results) (one per size), C(settings) and C(problems) (texts).
  type: dict
"""

from typing import Any, Callable, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._results.figures import benchmark_rows as rows
from ..module_utils._results.readers import nccl_tests, perftest
from ..plugin_utils.log_filter import count, read_log


def benchmark_rows(
    log_text: Any,
    kind: str,
    *,
    log: str = "",
    ranks: int | None = None,
    hosts: int | None = None,
    ends: Sequence[str] = (),
) -> dict[str, Any]:
    if kind == "nccl_tests":
        expected = count("benchmark_rows", "ranks", ranks), count("benchmark_rows", "hosts", hosts)
        tables = read_log("benchmark_rows", log_text, lambda source: nccl_tests.read(source, *expected))
        return rows.nccl_tests(tables.as_dict(), str(log))
    if kind == "perftest":
        if len(ends) != 2:
            raise AnsibleFilterError(f"benchmark_rows: ends is {list(ends)}; give the names of client and server")
        tests = read_log("benchmark_rows", log_text, perftest.read)
        return rows.perftest(tests.as_dict(), str(ends[0]), str(ends[1]), str(log))
    raise AnsibleFilterError(f"benchmark_rows: {kind!r} is neither nccl_tests nor perftest")


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"benchmark_rows": benchmark_rows}
