# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the lines of NCCL in a log, read and not judged."""

from __future__ import annotations

DOCUMENTATION = r"""
name: nccl_log
short_description: Read what NCCL prints with NCCL_DEBUG=INFO
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Finds the lines of NCCL 2.2 to 2.30 in any text - the debug files of all ranks behind each other, or the output of
    mpirun with C(--tag-output) or without, also where lines are glued to another program's text.
  - Returns what the lines say. The judgement is made by P(rocemesh.multinode.nccl_path#filter).
  - A log may be of any size; it is read in constant memory. An empty log, a binary file or the log of another program
    is no error but a result with C(ok) false and the problem C(no_result), which names what was found.
  - Written from NCCL's source and from public logs. Not verified on hardware.
positional: _input
options:
  _input:
    description: >-
      The text of the log, or the absolute path of a log on the controller (one line that begins with a slash is a
      path).
    type: raw
    required: true
seealso:
  - plugin: rocemesh.multinode.nccl_path
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show which NICs NCCL found on each host
  ansible.builtin.debug:
    msg: "{{ (lookup('ansible.builtin.file', 'nccl.log') | rocemesh.multinode.nccl_log).hcas }}"
"""

RETURN = r"""
_value:
  description: >-
    C(ok) (there are lines of NCCL and none is a complaint), C(found) (whether there is a line of NCCL at all),
    C(lines), C(versions), C(hosts), C(ranks) (list of C(rank), C(nranks), C(host), C(pid), C(device), C(bus_id),
    C(comm), C(complete)), C(networks) (process to names), C(hcas) (list of C(host), C(index), C(name), C(port),
    C(layer)), C(relaxed_ordering), C(sockets), C(gdr) (what NCCL says about GPUDirect RDMA), C(channels) (list of
    C(host), C(source), C(target), C(direction), C(kind), C(network), C(device), C(gdr), C(count), C(line)),
    C(environment), C(warnings), C(problems) (list of C(code), C(message)).
  type: dict
"""

from typing import Any, Callable

from ..module_utils._results.readers.nccl_log import read
from ..plugin_utils.log_filter import read_log


def nccl_log(log: Any) -> dict[str, Any]:
    return read_log("nccl_log", log, read).as_dict()


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"nccl_log": nccl_log}
