# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ESXi hosts need a maintenance window, what happens in it, and why: a pure function of three findings."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping


@dataclasses.dataclass(frozen=True)
class Window:
    """One host's window. ``reboot``: the host restarts; ``nics``: cards of its VMs are a reason, and only a boot clears
    them; ``rekey``: VMs that must be off for their keys; ``vms``: all GPU VMs that go down in it; ``reasons``: one line
    per thing that waits; ``changes``: what the window sets in the file of each VM, as data."""

    host: str
    reboot: bool
    nics: bool
    rekey: list[str]
    vms: list[str]
    reasons: list[str]
    changes: dict[str, list[dict[str, Any]]] = dataclasses.field(default_factory=dict)

    @property
    def needed(self) -> bool:
        return self.reboot or bool(self.rekey)

    def as_result(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "needed": self.needed}


def windows(
    hosts: Mapping[str, Mapping[str, Any]],
    vms: Mapping[str, Mapping[str, Any]],
    nics: Mapping[str, Mapping[str, Any]],
    vcenter: str = "",
) -> list[Window]:
    """Fold the findings of the three layers into at most one window per host.

    ``hosts``: inventory name -> {``host`` (name in vCenter), ``host_moid``, ``vcenter_uuid``, ``reboot_required``,
    ``reboot_reasons``};
    ``vms``: inventory name -> {``esxi_host`` (name in vCenter), ``esxi_host_moid``, ``vcenter_uuid``, ``changes`` (keys
    still to set, each with ``text``)};
    ``nics``: inventory name of the VM -> {``reboot_required``, ``reboot_reasons``}.
    Hosts are told apart by managed object id: a name may be written in several ways. A VM on a host that is not listed
    is an error: its host could not be rebooted by this run. So are two inventory names of one host, and ids of more
    than one vCenter: ``vcenter`` is the UUID of the one that the windows are opened on.
    """
    _one_vcenter({**hosts, **vms}, vcenter)
    by_id: dict[str, str] = {}
    for name, finding in hosts.items():
        moid = str(finding["host_moid"])
        if moid in by_id:
            raise ValueError(
                f"{name} and {by_id[moid]} are one ESXi host, {finding['host']} ({moid}). "
                "What to do: leave one of them in the inventory."
            )
        by_id[moid] = name
    placed: dict[str, list[str]] = {name: [] for name in hosts}
    for vm, finding in vms.items():
        where, moid = str(finding["esxi_host"]), str(finding["esxi_host_moid"])
        if moid not in by_id:
            known = ", ".join(sorted(str(other["host"]) for other in hosts.values())) or "none"
            raise ValueError(
                f"{vm}: runs on ESXi host {where!r}, which is not in the inventory (there: {known}). "
                f"What to do: add {where} to the group of ESXi hosts, or take {vm} out of this run."
            )
        placed[by_id[moid]].append(vm)
    result = []
    for name, finding in hosts.items():
        reasons = [str(reason) for reason in finding["reboot_reasons"]] if finding["reboot_required"] else []
        waiting = [vm for vm in placed[name] if nics.get(vm, {}).get("reboot_required")]
        reasons += [f"{vm}: {reason}" for vm in waiting for reason in nics[vm]["reboot_reasons"]]
        rekey = [vm for vm in placed[name] if vms[vm]["changes"]]
        reboot = bool(reasons)
        reasons += [f"{vm}: {change['text']} (VM must be off)" for vm in rekey for change in vms[vm]["changes"]]
        result.append(
            Window(
                host=name,
                reboot=reboot,
                nics=bool(waiting),
                rekey=rekey,
                vms=placed[name] if reboot else rekey,
                reasons=reasons,
                changes={vm: [dict(change) for change in vms[vm]["changes"]] for vm in rekey},
            )
        )
    return result


def _one_vcenter(findings: Mapping[str, Mapping[str, Any]], vcenter: str) -> None:
    read: dict[str, list[str]] = {vcenter: ["the maintenance windows"]} if vcenter else {}
    for name, finding in findings.items():
        if finding.get("vcenter_uuid"):
            read.setdefault(str(finding["vcenter_uuid"]), []).append(name)
    if len(read) > 1:
        places = "; ".join(f"{uuid}: {', '.join(names[:4])}" for uuid, names in read.items())
        raise ValueError(
            f"more than one vCenter was read ({places}), and ids of one mean nothing on another; nothing was "
            "restarted. What to do: let rocemesh_vcenter_*, esxi_host_vcenter_*, gpu_vm_vcenter_* and VMWARE_HOST name "
            "the same one; a site with several vCenters needs one inventory for each of them."
        )
