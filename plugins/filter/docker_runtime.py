# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: daemon.json with NVIDIA's runtime."""

from __future__ import annotations

DOCUMENTATION = r"""
name: docker_runtime
short_description: Add NVIDIA's runtime to the configuration of the Docker engine
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Takes the runtime V(nvidia) from what C(nvidia-ctk runtime configure --dry-run) would write, and nothing else of it.
    Every key of the file stays as it is and where it is. An entry of that name is never replaced.
  - Changes nothing by itself.
positional: _input, proposed
options:
  _input:
    description: The present C(daemon.json), empty where there is none.
    type: str
    required: true
  proposed:
    description: Standard output of C(nvidia-ctk).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show what the file would be
  ansible.builtin.debug:
    msg: "{{ (daemon.content | b64decode | rocemesh.multinode.docker_runtime(offered.stdout)).content }}"
"""

RETURN = r"""
_value:
  description:
    - C(content) of the file, C(changed), C(kept) (an entry V(nvidia) that differs and stays), C(problem) (empty, or
      why the file or the answer cannot be used).
  type: dict
"""

from typing import Any, Callable

from ..module_utils._mesh.engine import merge_runtime


def docker_runtime(current: str, proposed: str) -> dict[str, Any]:
    return merge_runtime(str(current), str(proposed))


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"docker_runtime": docker_runtime}
