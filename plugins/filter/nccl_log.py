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
  - Written from NCCL's source and from public logs. Not verified on hardware.
positional: _input
options:
  _input:
    description: The text of the log.
    type: str
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
    C(found) (whether there is a line of NCCL at all), C(lines), C(versions), C(hosts), C(ranks) (list of C(rank),
    C(nranks), C(host), C(pid), C(device), C(bus_id), C(comm), C(complete)), C(networks) (process to names), C(hcas)
    (list of C(host), C(index), C(name), C(port), C(layer)), C(relaxed_ordering), C(sockets), C(gdr) (what NCCL says
    about GPUDirect RDMA), C(channels) (list of C(host), C(source), C(target), C(direction), C(kind), C(network),
    C(device), C(gdr), C(count), C(line)), C(environment), C(warnings), C(problems) (list of C(code), C(message)).
  type: dict
"""

from typing import Any, Callable

from ansible.errors import AnsibleFilterError

from ..module_utils._results.nccl_log import parse


def nccl_log(text: Any) -> dict[str, Any]:
    if not isinstance(text, str):
        raise AnsibleFilterError(f"nccl_log: wants the text of a log, not {type(text).__name__}")
    return parse(text).as_result()


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"nccl_log": nccl_log}
