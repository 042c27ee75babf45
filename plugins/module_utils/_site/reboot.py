# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ESXi hosts need a maintenance window, what happens in it, and why: a pure function of three findings.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping


@dataclasses.dataclass(frozen=True)
class Window:
    """One host's window. ``reboot``: the host restarts; ``rekey``: VMs that must be off for their keys;
    ``vms``: all GPU VMs that go down in it; ``reasons``: one line per thing that waits."""

    host: str
    reboot: bool
    rekey: list[str]
    vms: list[str]
    reasons: list[str]

    @property
    def needed(self) -> bool:
        return self.reboot or bool(self.rekey)

    def as_result(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "needed": self.needed}


def windows(
    hosts: Mapping[str, Mapping[str, Any]],
    vms: Mapping[str, Mapping[str, Any]],
    nics: Mapping[str, Mapping[str, Any]],
) -> list[Window]:
    """Fold the findings of the three layers into at most one window per host.

    ``hosts``: inventory name -> {``host`` (name in vCenter), ``reboot_required``, ``reboot_reasons``};
    ``vms``: inventory name -> {``esxi_host`` (name in vCenter), ``changes`` (descriptions of keys still to set)};
    ``nics``: inventory name of the VM -> {``reboot_required``, ``reboot_reasons``}.
    A VM on a host that is not listed is an error: its host could not be rebooted by this run.
    """
    by_vcenter_name = {str(finding["host"]): name for name, finding in hosts.items()}
    placed: dict[str, list[str]] = {name: [] for name in hosts}
    for vm, finding in vms.items():
        where = str(finding["esxi_host"])
        if where not in by_vcenter_name:
            known = ", ".join(sorted(by_vcenter_name)) or "none"
            raise ValueError(
                f"{vm}: runs on ESXi host {where!r}, which is not in the inventory (there: {known}). "
                f"What to do: add {where} to the group of ESXi hosts, or take {vm} out of this run."
            )
        placed[by_vcenter_name[where]].append(vm)
    result = []
    for name, finding in hosts.items():
        reasons = [str(reason) for reason in finding["reboot_reasons"]] if finding["reboot_required"] else []
        for vm in placed[name]:
            nic = nics.get(vm, {})
            if nic.get("reboot_required"):
                reasons += [f"{vm}: {reason}" for reason in nic["reboot_reasons"]]
        rekey = [vm for vm in placed[name] if vms[vm]["changes"]]
        reboot = bool(reasons)
        reasons += [f"{vm}: {change} (VM must be off)" for vm in rekey for change in vms[vm]["changes"]]
        result.append(
            Window(host=name, reboot=reboot, rekey=rekey, vms=placed[name] if reboot else rekey, reasons=reasons)
        )
    return result
