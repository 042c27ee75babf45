"""Plan the maintenance windows of a site, and say whether now is the time.

Folds what waits on ESXi hosts, VMs and NICs, as roles have published it, into at most one window per ESXi host.
``hosts``: ESXi hosts of the run, with `esxi_host_pending` and `window_rows` (host to what esxi_window said of it).
``vms``: GPU VMs of the run, with `gpu_vm_pending`, `guest_pending`, `guest_next_boot` (what their next boot changes),
`window_guest` (whether the guest answers), `gpu_vm_unread` (state of a VM that vCenter cannot reach) and
`upgrade_pending` (playbook upgrade: what decision upgrade said). A host with an unfinished upgrade is the first, and
with an upgrade hosts go one by one.
``accepted_boots``: VMs that may come back with another network or other mounts. A host whose window would restart any
other VM of that kind gets none.
``left_out``: Hosts and VMs that a person has named: their hosts get no window. Those that do not answer come to them.
``max_unavailable``: Hosts that may be down at once, a number or a percentage, rounded down, never less than one.
``change_windows``: One window or a list. An empty list is always open. Once, `from` and `to` in ISO 8601, UTC where no
offset is given. Weekly, `start` and `end` as 22:00, with `days` (mon to sun, default all) and `timezone` (default UTC).
A window that passes midnight belongs to the day on which it begins.
``least_minutes``: A change window with fewer minutes left counts as closed.

Returns `windows` (all hosts), `waiting` (those that need one), `summary` (lines for a person), `silent` (what was not
read for another reason; then there is no plan), `left_out` (host to why), `unasked` (those not named),
`batch`, `open`, `minutes_left` and `reason`.
"""

from __future__ import annotations

import datetime
from typing import Any, Mapping

from ...module_utils._site.reboot import changed_boot, windows, without_changed_boots
from ...module_utils._site.schedule import batch_size, change_window
from ..decision import Context

_DISCONNECTED = "disconnected"
_NAMED = "named in rocemesh_skip_hosts"

SPEC: dict[str, Any] = {
    "hosts": {"type": "list", "elements": "str", "default": []},
    "vms": {"type": "list", "elements": "str", "default": []},
    "left_out": {"type": "list", "elements": "str", "default": []},
    "accepted_boots": {"type": "list", "elements": "str", "default": []},
    "max_unavailable": {"type": "raw", "default": 1},
    "change_windows": {"type": "raw", "default": []},
    "least_minutes": {"type": "int", "default": 0},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    try:
        now = datetime.datetime.now(datetime.timezone.utc)
        answer = change_window(options["change_windows"], now, options["least_minutes"])
    except TypeError as error:
        raise ValueError(f"change_windows: {error}") from error
    answer |= {"batch": batch_size(options["max_unavailable"], len(options["hosts"]))}
    answer |= _plan(options, context.variables.get("hostvars") or {})
    return {**answer, "batch": 1} if any(window["upgrade"] for window in answer["waiting"]) else answer


def _plan(options: Mapping[str, Any], hostvars: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    unknown = [name for name in (*options["left_out"], *options["accepted_boots"]) if name not in hostvars]
    if unknown:  # a host that a person means to leave out would be restarted
        raise ValueError(
            f"localhost: rocemesh_skip_hosts or rocemesh_accept_boot is {', '.join(unknown)}, expected hosts of the "
            "inventory. No window was opened. Correct the names."
        )
    hosts = {name: hostvars[name] for name in options["hosts"]}
    vms = {name: hostvars[name] for name in options["vms"]}
    places: Mapping[str, Any] = next((facts["window_rows"] for facts in hosts.values() if "window_rows" in facts), {})
    states = {name: places.get(name, {}).get("connection_state", "connected") for name in hosts}
    unasked = {name: state for name, state in states.items() if state != "connected"}
    for name, facts in vms.items():
        if (facts.get("window_guest") or {}).get("unreachable"):
            unasked[name] = "its guest does not answer"
        if (facts.get("gpu_vm_unread") or {}).get("vm_connection_state") == _DISCONNECTED:
            unasked[name] = _DISCONNECTED
    left_out = {**unasked, **dict.fromkeys(options["left_out"], _NAMED)}
    gone = [name for name in unasked if unasked[name] == _DISCONNECTED]
    silent = [name for name, facts in hosts.items() if name not in left_out and "esxi_host_pending" not in facts]
    for name, facts in vms.items():
        if name not in gone and (
            not facts.get("gpu_vm_pending") or ("guest_pending" not in facts and name not in left_out)
        ):
            silent.append(name)
    if silent:
        return {"silent": silent, "windows": [], "waiting": [], "summary": [], "left_out": {}, "unasked": {}}
    upgrades = {name: facts.get("upgrade_pending") or {} for name, facts in vms.items()}
    found = windows(
        {name: {} if name in left_out else facts["esxi_host_pending"] for name, facts in hosts.items()},
        {name: facts["gpu_vm_pending"] for name, facts in vms.items() if name not in gone},
        {name: facts.get("guest_pending") or {} for name, facts in vms.items()},
        places,
        left_out,
        upgrades=upgrades,
    )
    boots = {
        name: changed_boot(name, facts["guest_next_boot"])
        for name, facts in vms.items()
        if name not in options["accepted_boots"] and (facts.get("guest_next_boot") or {}).get("differences")
    }
    found = [without_changed_boots(window, boots) for window in found]
    closed = {window.host: window.left_out for window in found if window.left_out}
    waiting = [window for window in found if window.needed]
    waiting.sort(key=lambda window: not any(upgrades[vm].get("record") for vm in window.upgrade))
    summary = []
    for window in waiting:
        what = "host reboot" if window.reboot else "power cycle of VMs" if window.rekey else "restart of guests"
        summary.append(f"{window.host}: {what}; stops {', '.join(window.vms) or 'nothing'}")
        summary += [f"  - {reason}" for reason in window.reasons]
    summary += [f"{host}: no window: {why}" for host, why in closed.items()]
    return {
        "silent": [],
        "windows": [window.as_result() for window in found],
        "waiting": [window.as_result() for window in waiting],
        "summary": summary,
        "left_out": closed,
        "unasked": {host: why for host, why in closed.items() if _NAMED not in why},
    }
