"""Which ESXi hosts need a maintenance window, what happens in it, and why: a pure function of three findings."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

from .._layer import Reboot

# Scope of a restart beside those of an operation: packages of a guest are in force after a restart of the guest.
GUEST = "guest"


@dataclasses.dataclass(frozen=True)
class Window:
    """One host's window. ``reboot``: the host restarts; ``nics``: cards of its VMs are a reason, and only a boot clears
    them; ``rekey``: VMs that must be off for their keys; ``restart``: VMs whose guest alone restarts; ``vms``: all GPU
    VMs that go down in it; ``reasons``: one line per thing that waits; ``changes``: what the window sets in the file of
    each VM, as data; ``upgrade``: VMs whose packages are upgraded in it, or proved after that; ``left_out``: why there
    is no window, whatever waits."""

    host: str
    reboot: bool
    nics: bool
    rekey: list[str]
    vms: list[str]
    reasons: list[str]
    changes: dict[str, list[dict[str, Any]]] = dataclasses.field(default_factory=dict)
    left_out: str = ""
    upgrade: list[str] = dataclasses.field(default_factory=list)
    restart: list[str] = dataclasses.field(default_factory=list)

    @property
    def needed(self) -> bool:
        return not self.left_out and (self.reboot or bool(self.rekey or self.upgrade))

    def as_result(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "needed": self.needed}


def windows(
    hosts: Mapping[str, Mapping[str, Any]],
    vms: Mapping[str, Mapping[str, Any]],
    nics: Mapping[str, Mapping[str, Any]],
    places: Mapping[str, Mapping[str, Any]] | None = None,
    left_out: Mapping[str, str] | None = None,
    *,
    upgrades: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Window]:
    """Fold the findings of the three layers into at most one window per host.

    ``hosts``: inventory name -> {``host`` (name in vCenter), ``host_moid``, ``vcenter_uuid``, ``reboot_required``,
    ``reboot_reasons``}, nothing for a host that was not asked;
    ``vms``: inventory name -> {``esxi_host`` (name in vCenter), ``esxi_host_moid``, ``vcenter_uuid``, ``changes`` (keys
    still to set, each with ``text``)};
    ``nics``: inventory name of the VM -> {``reboot_required``, ``reboot_reasons``};
    ``places``: inventory name -> {``esxi_host``, ``esxi_host_moid``, ``vcenter_uuid``} as the windows see the host;
    ``left_out``: inventory name of a host or VM -> why its host gets no window;
    ``upgrades``: inventory name of a VM -> {``texts`` (what is upgraded or proved, empty: nothing), ``restart`` (none,
    guest or esxi_host)}.
    Hosts are identified by vCenter and managed object id: a name may be written in several ways, and a restored copy of
    a vCenter has the same ids. Raises ValueError for a VM on a host that is not listed, for two inventory names of one
    host, and for a host that was read on one vCenter and would be restarted on another.
    """
    left_out, upgrades = left_out or {}, upgrades or {}
    found = {name: {**_QUIET, **_placed(name, finding, (places or {}).get(name))} for name, finding in hosts.items()}
    by_id: dict[tuple[str, str], str] = {}
    for name, finding in found.items():
        key = (str(finding["vcenter_uuid"]), str(finding["host_moid"]))
        if key in by_id:
            raise ValueError(
                f"{name} and {by_id[key]} are one ESXi host, {finding['host']} ({key[1]}). "
                "What to do: leave one of them in the inventory."
            )
        by_id[key] = name
    placed: dict[str, list[str]] = {name: [] for name in found}
    for vm, seen in vms.items():
        where, key = str(seen["esxi_host"]), (str(seen.get("vcenter_uuid", "")), str(seen["esxi_host_moid"]))
        if key not in by_id:
            known = ", ".join(sorted(f"{one['host']} of vCenter {one['vcenter_uuid']}" for one in found.values()))
            raise ValueError(
                f"{vm}: runs on ESXi host {where!r} of vCenter {key[0]}, which is not in this run (there: "
                f"{known or 'none'}). What to do: add {where} to the group of ESXi hosts, or leave {vm} out; "
                "where only the vCenters differ, let rocemesh_vcenter_hostname of both name the same one."
            )
        placed[by_id[key]].append(vm)
    result = []
    for name, finding in found.items():
        reasons = [str(reason) for reason in finding["reboot_reasons"]] if finding["reboot_required"] else []
        waiting = [vm for vm in placed[name] if nics.get(vm, {}).get("reboot_required")]
        reasons += [f"{vm}: {reason}" for vm in waiting for reason in nics[vm]["reboot_reasons"]]
        rekey = [vm for vm in placed[name] if vms[vm]["changes"]]
        upgrade = [vm for vm in placed[name] if upgrades.get(vm, {}).get("texts")]
        burnt = [vm for vm in upgrade if upgrades[vm]["restart"] == Reboot.ESXI_HOST.value]
        reasons += [f"{vm}: {text} (firmware of a NIC)" for vm in burnt for text in upgrades[vm]["texts"]]
        reboot = bool(reasons)
        restart = [vm for vm in upgrade if not reboot and vm not in rekey and upgrades[vm]["restart"] == GUEST]
        reasons += [
            f"{vm}: {text}{' (guest restarts)' if vm in restart else ''}"
            for vm in upgrade
            if vm not in burnt
            for text in upgrades[vm]["texts"]
        ]
        reasons += [f"{vm}: {change['text']} (VM must be off)" for vm in rekey for change in vms[vm]["changes"]]
        without = [f"{vm}: {left_out[vm]}" for vm in placed[name] if vm in left_out]
        result.append(
            Window(
                host=name,
                reboot=reboot,
                nics=bool(waiting or burnt),
                rekey=rekey,
                vms=placed[name] if reboot else [vm for vm in placed[name] if vm in rekey or vm in restart],
                reasons=reasons,
                changes={vm: [dict(change) for change in vms[vm]["changes"]] for vm in rekey},
                left_out=left_out.get(name, "; ".join(without)),
                upgrade=upgrade,
                restart=restart,
            )
        )
    return result


def changed_boot(vm: str, next_boot: Mapping[str, Any]) -> str:
    """One line for a VM whose next boot makes something otherwise: both values, and the file."""
    texts = [str(one["text"]) for one in next_boot["differences"]]
    more = f"; and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return f"{vm}: its restart would change it: {'; '.join(texts[:_SHOWN])}{more}"


def without_changed_boots(window: Window, boots: Mapping[str, str]) -> Window:
    """``boots``: VM -> `changed_boot`. A window that restarts one of them is left out; any other stays."""
    why = [boots[vm] for vm in window.vms if vm in boots]
    return dataclasses.replace(window, left_out="; ".join(why)) if window.needed and why else window


_SHOWN = 4
_QUIET: Mapping[str, Any] = {"vcenter_uuid": "", "reboot_required": False, "reboot_reasons": ()}


def _placed(name: str, finding: Mapping[str, Any], place: Mapping[str, Any] | None) -> dict[str, Any]:
    if place is None:
        return dict(finding)
    seen = {"host": place["esxi_host"], "host_moid": place["esxi_host_moid"], "vcenter_uuid": place["vcenter_uuid"]}
    for key in ("vcenter_uuid", "host_moid"):
        if key in finding and finding[key] != seen[key]:
            raise ValueError(
                f"{name}: its settings were read with {key} {finding[key]}, and its window would be opened with "
                f"{seen[key]}; nothing was restarted. What to do: let rocemesh_vcenter_hostname and VMWARE_HOST name "
                "one vCenter through the whole run."
            )
    return {**seen, **finding}
