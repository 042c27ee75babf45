# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of rocemesh.multinode.system_support: why the systems of some hosts are not supported."""

from __future__ import annotations

from typing import Any

from ..module_utils._site.systems import problems
from ..modules.system_support import DOCUMENTATION
from ..plugin_utils.decision import Decision


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        found = []
        for host, facts in options["systems"].items():
            if facts.get("distribution"):
                reasons = problems(facts, options["parts"], selinux=options["selinux"], unlisted=options["unlisted"])
                found += [f"{host}: {reason}" for reason in reasons]
        return {"problems": found, **({"msg": "; ".join(found) + "."} if found else {})}
