# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of rocemesh.multinode.site_window: which hosts need a window, how many at once, and whether now."""

from __future__ import annotations

import datetime
from typing import Any

from ..module_utils._site.reboot import windows
from ..module_utils._site.schedule import batch_size, change_window
from ..modules.site_window import DOCUMENTATION
from ..plugin_utils.decision import Decision


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        found = windows(options["hosts"], options["vms"], options["nics"], options["vcenter_uuid"])
        waiting = [window for window in found if window.needed]
        try:
            change = change_window(
                options["change_windows"], datetime.datetime.now(datetime.timezone.utc), options["least_minutes"]
            )
        except TypeError as error:
            raise ValueError(f"change_windows: {error}") from error
        summary = []
        for window in waiting:
            what = "host reboot" if window.reboot else "power cycle of VMs"
            summary.append(f"{window.host}: {what}; stops {', '.join(window.vms)}")
            summary += [f"  - {reason}" for reason in window.reasons]
        return {
            "windows": [window.as_result() for window in found],
            "waiting": [window.as_result() for window in waiting],
            "summary": summary,
            "batch": batch_size(options["max_unavailable"], len(options["hosts"])),
            **change,
        }
