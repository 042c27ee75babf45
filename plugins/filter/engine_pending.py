# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what waits for a restart of the Docker engine."""

from __future__ import annotations

DOCUMENTATION = r"""
name: engine_pending
short_description: Say why the Docker engine has to be restarted, and what that stops
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Compares what the running engine knows with what is on the disk. It needs no memory of an earlier run. Changes
    nothing.
positional: _input, configured
options:
  _input:
    description:
      - One word and its value per line - C(started) (when the engine started, epoch), C(hook) (when the toolkit's
        hook was installed, epoch), C(runtimes) (JSON), C(live_restore), and one C(container) per running container.
    type: str
    required: true
  configured:
    description: Whether the engine's configuration has the runtime V(nvidia).
    type: bool
    required: true
"""

EXAMPLES = r"""
- name: Say what waits
  ansible.builtin.debug:
    msg: "{{ (probe.stdout | rocemesh.multinode.engine_pending(true)).pending }}"
"""

RETURN = r"""
_value:
  description: C(pending), one reason each; C(running), containers that run; C(live_restore), whether they survive a
    restart.
  type: dict
"""

from typing import Any, Callable

from ansible.errors import AnsibleFilterError

from ..module_utils._mesh.engine import engine_state


def engine_pending(text: str, configured: bool) -> dict[str, Any]:
    try:
        return engine_state(str(text), bool(configured))
    except ValueError as error:
        raise AnsibleFilterError(f"engine_pending: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"engine_pending": engine_pending}
