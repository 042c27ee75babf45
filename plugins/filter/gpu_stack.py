# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: whether torch of the image can use the GPUs of the hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_stack
short_description: Whether torch of the image can use the GPUs that are there
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - A torch that was built for CPUs trains beside idle GPUs without a word. Says of each host with GPUs what is wrong.
  - A host that did not answer is named too.
positional: _input, gpus, hosts
options:
  _input:
    description: >-
      Host to what its torch says of itself - C(torch) (version), C(cuda) (version it was built for, empty for none),
      C(available), C(gpus) (number), C(why) and C(error).
    type: dict
    required: true
  gpus:
    description: Host to the list of its GPUs.
    type: dict
    required: true
  hosts:
    description: The hosts of the run, a list of dictionaries with C(name).
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Show what is wrong
  ansible.builtin.debug:
    msg: "{{ stacks | rocemesh.multinode.gpu_stack({'gpu01': ['GPU 0']}, [{'name': 'gpu01'}]) }}"
"""

RETURN = r"""
_value:
  description: One sentence per problem, with host, versions and what to do. Empty if there is none.
  type: list
  elements: str
"""

from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._nic.gpu_state import image_problems


def gpu_stack(stacks: Any, gpus: Mapping[str, Sequence[Any]], hosts: Sequence[Mapping[str, Any]]) -> list[str]:
    if not isinstance(stacks, Mapping):
        raise AnsibleFilterError(f"gpu_stack: wants an answer per host, not {type(stacks).__name__}")
    names = [str(host["name"]) for host in hosts]
    silent = {"error": "it gave no answer"}
    return [text for name in names for text in image_problems(name, len(gpus.get(name, ())), stacks.get(name, silent))]


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"gpu_stack": gpu_stack}
