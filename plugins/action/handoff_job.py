# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of rocemesh.multinode.handoff_job: a job for other launchers, checked, as data and as NCCL's files."""

from __future__ import annotations

import base64
from typing import Any, Mapping, Sequence

from ..module_utils._handoff.job import files_of, job_of
from ..modules.handoff_job import DOCUMENTATION
from ..plugin_utils.decision import Decision


def topologies(looked: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    found = {}
    for each in looked:
        if each.get("content"):
            host = each["item"]
            name = str(host.get("hostname") or host["name"]).split(".", maxsplit=1)[0]
            found[name] = base64.b64decode(each["content"]).decode("utf-8")
    return found


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        found = topologies(options["looked"])
        job = job_of(options["job"])
        return {"job": job, "files": files_of(job, found), "topologies": found}
