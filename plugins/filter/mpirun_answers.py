# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what each rank of an mpirun answered."""

from __future__ import annotations

DOCUMENTATION = r"""
name: mpirun_answers
short_description: Take apart tagged mpirun output, rank by rank
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Returns the non-empty lines that each rank printed, from the output of C(mpirun --tag-output), also where lines
    are glued together.
  - Lines without a tag are mpirun's own and are left out.
positional: _input
options:
  _input:
    description: Standard output of mpirun.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Host names by rank
  ansible.builtin.debug:
    msg: "{{ mpirun.stdout | rocemesh.multinode.mpirun_answers }}"
"""

RETURN = r"""
_value:
  description: One entry per rank that said something, in the order of the ranks - C(rank) and C(lines).
  type: list
  elements: dict
"""

from typing import Any, Callable

from ansible.errors import AnsibleFilterError

from ..module_utils._results.readers.tags import by_rank


def mpirun_answers(text: Any) -> list[dict[str, Any]]:
    if not isinstance(text, str):
        raise AnsibleFilterError(f"mpirun_answers: wants mpirun's output as text, not {type(text).__name__}")
    return [{"rank": rank, "lines": lines} for rank, lines in sorted(by_rank(text).items())]


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"mpirun_answers": mpirun_answers}
