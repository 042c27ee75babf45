# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: published tables of speeds, read."""

from __future__ import annotations

DOCUMENTATION = r"""
name: mxnet_perf_tables
short_description: Read the tables of MXNet's performance guide and of DLPerf
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads tables that begin with C(Batch) (a column per model, scoring or training) or with C(node_num) (DLPerf's
    scaling), also where each line of the page is wrapped in bars. Other tables are passed over.
  - Values are given as printed. They are published, not measured here.
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
  - plugin: rocemesh.multinode.mxnet_speed
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Import the published numbers
  ansible.builtin.set_fact:
    published: "{{ ('/srv/pages/perf.md' | rocemesh.multinode.mxnet_perf_tables).tables }}"
"""

RETURN = r"""
_value:
  description: >-
    C(ok), C(tables) (C(kind) (scoring, training, scaling, unknown), C(heading), C(device), C(columns), C(rows) (column
    to number), C(problems)), C(problems) (list of C(code), C(message)).
  type: dict
"""

from typing import Any, Callable

from ..module_utils._results.readers.perf_tables import read
from ..plugin_utils.log_filter import read_log


def mxnet_perf_tables(log: Any) -> dict[str, Any]:
    return read_log("mxnet_perf_tables", log, read).as_dict()


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"mxnet_perf_tables": mxnet_perf_tables}
