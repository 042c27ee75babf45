# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of rocemesh.multinode.esxi_host_batches: one module call for many hosts, and its answer host by host."""

from __future__ import annotations

import json
from typing import Any, Mapping, Sequence

from ..modules.esxi_host_batches import DOCUMENTATION
from ..plugin_utils.decision import Decision

# What a module call has in common for all its hosts; the password belongs to the account.
_LOGIN = ("hostname", "port", "username", "validate_certs", "ca_path")
COMMON = (
    "esxi_host_kernel_settings",
    "esxi_host_require_runtime",
    *(f"esxi_host_vcenter_{name}" for name in _LOGIN),
    *(f"rocemesh_vcenter_{name}" for name in _LOGIN),
)


def esxi_batches(hosts: Sequence[str], hostvars: Mapping[str, Mapping[str, Any]]) -> list[dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for host in hosts:
        variables = hostvars[host]
        key = json.dumps({name: variables[name] for name in COMMON if name in variables}, sort_keys=True, default=str)
        batch = found.setdefault(key, {"hosts": [], "names": []})
        batch["hosts"].append(str(host))
        batch["names"].append(str(variables.get("esxi_host_name", host)))
    return list(found.values())


def esxi_published(results: Sequence[Mapping[str, Any]], check: bool = False) -> list[dict[str, Any]]:
    found = []
    for result in results:
        for host, row in zip(result["batch"]["hosts"], result["hosts"]):
            pending = {
                "host": row["esxi_host"],
                "host_moid": row["esxi_host_moid"],
                "vcenter_uuid": result["vcenter_uuid"],
                "settings": [setting["name"] for setting in row["settings"]],
                "found": row["settings"],
                "changes": row["changes"],
                "reboot_required": row["reboot_required"],
                "reboot_reasons": row["reboot_reasons"],
            }
            outcome = {
                "changed": bool(row["changes"]),
                "verified": not row["reboot_required"] and not (check and row["changes"]),
                "found": row["settings"],
                "changes": row["changes"],
            }
            found.append({"host": host, "pending": pending, "outcome": outcome})
    return found


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        return {
            "batches": esxi_batches(options["hosts"], variables["hostvars"]),
            "published": esxi_published(options["results"], options["check"]),
        }
