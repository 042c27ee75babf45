"""What a run would do, as one table for a person: device, change, whom it interrupts, what restarts, how long. Pure.

It is made from what the roles publish as data: operations, outcomes, what waits. No text of theirs is taken apart.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import textwrap
from typing import Any, Iterable, Mapping, Sequence

from .._layer import Reboot
from .._results.readers.reading import few
from . import reboot

NOTHING, NO_RESTART = "nothing", "no"
HEADINGS = ("device", "change", "interrupts", "restart", "minutes")
_WIDTHS = (22, 56, 34, 14, 7)  # of a column at most: 141 with the blanks between them
_RESTARTS = {
    Reboot.NONE.value: NO_RESTART,
    Reboot.VM_POWER_CYCLE.value: "VM off and on",
    Reboot.ESXI_HOST.value: "ESXi host",
    reboot.GUEST: "guest",
}
# Layers whose roles publish their changes as texts: what all of these wait for.
_OF_LAYER = {"esxi": Reboot.ESXI_HOST.value}


@dataclasses.dataclass(frozen=True)
class Row:
    """One line. ``devices``: those that get the same change; ``minutes``: of a window; None: it is done at once."""

    devices: tuple[str, ...]
    change: str
    interrupts: str = NOTHING
    restart: str = NO_RESTART
    minutes: int | None = None

    def as_result(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "devices": list(self.devices)}

    def cells(self) -> tuple[str, ...]:
        minutes = "<1" if self.minutes is None else f"~{self.minutes}"
        return (few(self.devices), self.change, self.interrupts, self.restart, minutes)


def rows_of(layer: str, device: str, fact: Any, summary: str = "") -> list[Row]:
    """What one device of a layer published: a list of operations, or an outcome with texts under ``changes``.

    ``summary``: words that stand for all changes of an outcome. Raises ValueError for any other fact.
    """
    if isinstance(fact, Mapping) and isinstance(fact.get("changes"), (list, tuple)):
        restart = _RESTARTS[_OF_LAYER.get(layer, Reboot.NONE.value)]
        changes = [summary] if summary and fact["changes"] else fact["changes"]
        return [Row((device,), str(change), restart=restart) for change in changes]
    if isinstance(fact, (list, tuple)) and all(isinstance(operation, Mapping) for operation in fact):
        return [_of_operation(device, operation) for operation in fact]
    raise ValueError(f"{layer}: {device}: neither operations nor an outcome: {fact!r}")


def _of_operation(device: str, operation: Mapping[str, Any]) -> Row:
    restart = str(operation.get("reboot") or Reboot.NONE.value)
    if restart not in _RESTARTS:
        raise ValueError(f"{device}: {operation.get('description')}: unknown restart {restart!r}")
    return Row(
        (device,), str(operation["description"]), str(operation.get("disrupts") or "") or NOTHING, _RESTARTS[restart]
    )


def windows(
    rows: Sequence[Row],
    hosts: Mapping[str, Mapping[str, Any]],
    vms: Mapping[str, Mapping[str, Any]],
    nics: Mapping[str, Mapping[str, Any]],
    minutes: tuple[int, int],
    *,
    left_out: Mapping[str, str] | None = None,
) -> list[Row]:
    """The maintenance windows that what waits now, and what ``rows`` would add to it, need together.

    ``hosts``, ``vms``, ``nics``: as `reboot.windows` takes them, read before anything was changed; ``minutes``: of a
    host that restarts, of one whose VMs alone are powered off and on; ``left_out``: host -> why it gets none. A card or
    a kernel setting that this run would change waits for the host as soon as it is changed.
    """
    waiting = {device for row in rows if row.restart == _RESTARTS[Reboot.ESXI_HOST.value] for device in row.devices}

    def after(found: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        return {
            name: {**state, "reboot_required": True, "reboot_reasons": state["reboot_reasons"] or ["this run"]}
            if name in waiting
            else dict(state)
            for name, state in found.items()
        }

    found: list[Row] = []
    guests = {device for row in rows if row.restart == _RESTARTS[reboot.GUEST] for device in row.devices}
    upgrades = {vm: {"texts": ["this run"], "restart": reboot.GUEST} for vm in guests}
    of_host, of_vms = minutes
    for window in reboot.windows(after(hosts), vms, after(nics), left_out=left_out, upgrades=upgrades):
        for vm, changes in window.changes.items() if window.needed else ():
            found += [Row((vm,), str(change["text"]), restart="VM off and on") for change in changes]
        if window.reboot:
            what, restart, lasts = "one restart of the host", "ESXi host", of_host
        else:
            what, restart, lasts = (
                ("VMs off and on", "VMs", of_vms) if window.rekey else ("guests restart", "guest", of_vms)
            )
        if window.needed:
            stopped = ", ".join(window.vms) or NOTHING
            found.append(Row((window.host,), f"maintenance window: {what}", stopped, restart, lasts))
    return found


def together(rows: Iterable[Row]) -> list[Row]:
    """The same change on several devices is one row, at the place of the first. A window stays one row per host."""
    found: dict[tuple[str, str, str], Row] = {}
    alone: list[Row] = []
    for row in rows:
        if row.minutes is not None:
            alone.append(row)
            continue
        key = (row.change, row.interrupts, row.restart)
        same = found.get(key)
        found[key] = dataclasses.replace(same, devices=(*same.devices, *row.devices)) if same else row
    return [*found.values(), *alone]


def _lines(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """One row; a cell that is longer than its column goes on below. Nothing is cut off."""
    wrapped = [textwrap.wrap(cell, width, break_on_hyphens=False) for cell, width in zip(cells, widths)]
    parts = itertools.zip_longest(*wrapped, fillvalue="")
    return ["  ".join(part.ljust(width) for part, width in zip(line, widths)).rstrip() for line in parts]


def table(rows: Sequence[Row], batch: int = 1, *, whole: bool = True) -> list[str]:
    """Lines with aligned columns, and what it comes to. ``batch``: how many hosts have their window at a time;
    ``whole``: every device has reported, so that what is not in ``rows`` is not done either."""
    if not rows:
        known = "Nothing" if whole else "Nothing that is known"
        return [f"{known} would be changed, interrupted or restarted."]
    cells = [HEADINGS, *(row.cells() for row in rows)]
    widths = [min(max(map(len, column)), most) for column, most in zip(zip(*cells), _WIDTHS)]
    lines = [line for each in cells for line in _lines(each, widths)]
    waiting = [row for row in rows if row.minutes is not None]
    changes = sum(len(row.devices) for row in rows) - len(waiting)
    disturbing = sum(len(row.devices) for row in rows if row.minutes is None and row.interrupts != NOTHING)
    summary = f"{changes} change(s); {disturbing} of them interrupt traffic at once"
    if not waiting:
        restarts = any(row.restart != NO_RESTART for row in rows)
        quiet = "Nothing restarts." if whole else "Nothing of this restarts."
        return [*lines, f"{summary}. {'Maintenance windows are not known.' if restarts else quiet}"]
    longest = max(row.minutes or 0 for row in waiting)
    total = math.ceil(len(waiting) / batch) * longest
    at_a_time = f"{len(waiting)} host(s) need a maintenance window, {batch} at a time: about {total} minutes (assumed)"
    return [*lines, f"{summary}. {at_a_time}."]
