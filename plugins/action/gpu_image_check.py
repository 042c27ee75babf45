# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of rocemesh.multinode.gpu_image_check: can the torch of the image use the GPUs of its hosts?"""

from __future__ import annotations

import json
from typing import Any, Mapping

from ..module_utils._nic.gpu_state import image_problems
from ..modules.gpu_image_check import DOCUMENTATION
from ..plugin_utils.decision import Decision


def _stack(answer: Any) -> Mapping[str, Any]:
    if isinstance(answer, (list, tuple)):
        answer = answer[0] if answer else None
    if isinstance(answer, str):
        answer = json.loads(answer)
    return answer if isinstance(answer, Mapping) else {}


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        stacks = {str(host): _stack(answer) for host, answer in options["answers"].items()}
        silent = {"error": "it gave no answer"}
        gpus = options["gpus"]
        versions = {str(stack.get("nccl") or "") for stack in stacks.values()}
        return {
            "problems": [
                text
                for host in options["hosts"]
                for text in image_problems(host, len(gpus.get(host) or ()), stacks.get(host) or silent)
            ],
            "nccl": versions.pop() if len(versions) == 1 else "",
        }
