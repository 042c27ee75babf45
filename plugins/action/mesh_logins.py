# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of rocemesh.multinode.mesh_logins: what the probe of a mesh printed."""

from __future__ import annotations

from typing import Any

from ..module_utils._layer import ParseError
from ..modules.mesh_logins import DOCUMENTATION
from ..plugin_utils.decision import Decision


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        host = str(variables.get("inventory_hostname", "this host"))
        lines, nodes = options["lines"], options["nodes"]
        if len(lines) != len(nodes):
            raise ParseError(
                f"{len(nodes)} node(s) were asked and {len(lines)} answered",
                host=host,
                thing="probe",
                raw="\n".join(lines),
            )
        logins: list[dict[str, Any]] = []
        for line, node in zip(lines, nodes):
            address, rc, ms, *message = line.split(" ", 3)
            logins.append(
                {
                    "from": host,
                    "to": node,
                    "address": address,
                    "rc": int(rc),
                    "ms": int(ms),
                    "message": "".join(message).strip(),
                }
            )
        wrong = [
            f"{login['to']} ({login['address']}, exit status {login['rc']}: {login['message'] or 'no message'})"
            for login in logins
            if ("Permission denied" not in login["message"] if options["refused"] else login["rc"])
        ]
        summary = [f"{login['to']} {'refused' if login['rc'] else str(login['ms']) + ' ms'}" for login in logins]
        return {"logins": logins, "wrong": wrong, "summary": summary}
