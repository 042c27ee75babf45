# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exit status of playbooks/doctor.yml: Ansible has none for "cannot tell"."""

from __future__ import annotations

DOCUMENTATION = r"""
name: doctor_status
type: aggregate
short_description: Exit status 0, 2, 3 or 6 of the playbook doctor
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - After a playbook whose file is called C(doctor.yml), C(ansible-playbook) ends with 0 (healthy), 2 (faulty), 3
    (cannot tell) or 6 (no fault seen), whatever did not answer. A playbook that fails before there is an answer ends as
    it always does.
  - Does nothing in any other playbook.
requirements:
  - enabled with C(callbacks_enabled = rocemesh.multinode.doctor_status), as the C(ansible.cfg) of this repository does
"""

import os  # noqa: E402
from typing import Any  # noqa: E402

from ansible.plugins.callback import CallbackBase  # noqa: E402

PLAYBOOK = "doctor.yml"
_MODULE = "rocemesh.multinode.doctor"


class CallbackModule(CallbackBase):
    """Raises SystemExit at the end of the playbook doctor, once it has an answer."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "rocemesh.multinode.doctor_status"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ours = False
        self._status: int | None = None

    def v2_playbook_on_start(self, playbook: Any) -> None:
        self._ours = os.path.basename(str(playbook._file_name)) == PLAYBOOK

    def v2_runner_on_ok(self, result: Any) -> None:
        if self._ours and result._task.action == _MODULE:
            status = result._result.get("exit_status")
            self._status = status if isinstance(status, int) else self._status

    def v2_playbook_on_stats(self, stats: Any) -> None:
        if self._ours and self._status is not None:
            raise SystemExit(self._status)
