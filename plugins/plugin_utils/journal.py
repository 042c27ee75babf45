"""Entries of the journal from task results, and what a drift run makes of them. Pure.

An entry is a JSON object; docs/schemas/journal.schema.json describes all kinds.
"""

from __future__ import annotations

import collections
import dataclasses
import html
import re
from typing import Any, Iterable, Iterator, Mapping, Sequence

SCHEMA = 1
COLLECTION = "rocemesh.multinode."
RIGHT, DIFFERS, NOT_READABLE = 0, 2, 3
VERDICTS = {RIGHT: "right", DIFFERS: "differs", NOT_READABLE: "not readable"}
# Failures of a module that read the device and found it wrong; all others say that it could not be read.
_JUDGED = ("not_in_force", "refused")
_JUDGES = ("assert", "fail", "ansible.builtin.assert", "ansible.builtin.fail")
SWITCH, ESXI, VM, NIC, INTERFACE, MESH = "switch", "esxi_host", "gpu_vm", "guest", "interface", "mesh"
# Modules whose changes `undo` takes back, and their layers.
RESTORED = {
    "onyx_roce": SWITCH,
    "switch_roce": SWITCH,
    "esxi_kernel_setting": ESXI,
    "vmx_passthru": VM,
    "mlxconfig_ats": NIC,
    "roce_interface": INTERFACE,
    "ssh_container_mesh": MESH,
}


@dataclasses.dataclass(frozen=True)
class Task:
    """What a result belongs to. ``layer``: the role's short name; ``action``: the module's full name."""

    name: str
    action: str
    layer: str
    host: str

    @property
    def ours(self) -> bool:
        return bool(self.layer) or self.action.startswith(COLLECTION)


def task_of(task: Any, role: str, host: str) -> Task:
    """``task``: of Ansible; ``role``: its full name."""
    action = getattr(task, "resolved_action", None) or task.action
    return Task(task.get_name().rpartition(" : ")[2], action, role.removeprefix(COLLECTION), host)


def entries(
    task: Task, result: Mapping[str, Any], failed: bool = False, plan: bool = False, drift: bool = False
) -> Iterator[dict[str, Any]]:
    """The entries of one result, of each item of a loop. No entry: nothing was changed, and nothing waits.

    ``plan``: of a run in check mode, where a role may say of a reading that it changes nothing, although its module
    lists what has to change. ``drift``: each ESXi host for itself, and VMs that could not be read beside the others.
    Arguments and outputs of tasks are left out: only what modules of this collection say for ``--diff`` is kept, which
    never has a secret.
    """
    for item in result.get("results") or [result]:
        if not isinstance(item, Mapping) or item.get("skipped"):
            continue
        if failed and (item.get("failed") or item is result):
            for owner in _owners(task, item) if drift else [task]:
                yield {**_about("failed", owner), **_failure(owner, item)}
            continue
        for owner, each in _apart(task, item, drift):
            if each.get("failed"):
                if drift:
                    yield {**_about("failed", owner), **_failure(owner, each)}
            elif each.get("changed") or (plan and each.get("operations")):
                yield {**_about("change", owner), **_change(owner, each)}
                if drift and each.get("problems"):
                    wrong = {"msg": "; ".join(each["problems"]), "error_code": "not_in_force"}
                    yield {**_about("failed", owner), **_failure(owner, wrong)}
                others = [row for row in _rows(each, "hosts") if not row.get("changes")]
                yield from _waiting(owner, {"hosts": others})
            else:
                yield from _waiting(owner, each)


def _rows(item: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = item.get(key)
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


def _owners(task: Task, item: Mapping[str, Any]) -> list[Task]:
    """In the names of the hosts of the inventory that a module was asked for: a loop over vCenters says them."""
    batch = item.get("batch")
    batch = batch if isinstance(batch, Mapping) else {}
    names = batch.get("nodes") or batch.get("hosts") or ()
    return [dataclasses.replace(task, host=str(name)) for name in names] or [task]


def asked(task: Task, result: Mapping[str, Any]) -> set[str]:
    """The hosts of which a task has read something."""
    items = [each for each in result.get("results") or [result] if isinstance(each, Mapping)]
    return {owner.host for item in items for owner in _owners(task, item)}


def _apart(task: Task, item: Mapping[str, Any], hosts: bool) -> Iterator[tuple[Task, Mapping[str, Any]]]:
    """What a module said of several VMs as one result for each, in the name of its host in the inventory. ``hosts``: of
    several ESXi hosts as well; their changes are otherwise one entry, which `undo` takes back as a whole."""
    vms = [row for row in _rows(item, "vms") if "asked" in row]
    several = [row for row in _rows(item, "hosts") if {"esxi_host", "changes"} <= set(row)] if hosts else []
    owners = _owners(task, item)
    owners = owners if len(owners) == len(vms or several) else [task] * len(vms or several)
    for owner, row in zip(owners, vms or several):
        if vms:
            yield owner, {"vcenter_uuid": item.get("vcenter_uuid"), **row}
        else:
            yield owner, {**row, **_share(item, str(row["esxi_host"]) if len(several) > 1 else "")}
    if not vms and not several:
        yield task, item


def _share(item: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What of a result concerns one of several ESXi hosts, whose name comes before every key and command."""
    diff = item.get("diff") or {}
    lead = f"{name} " if name else ""
    own = {
        side: {key: value for key, value in (diff.get(side) or {}).items() if key.startswith(lead)}
        for side in ("before", "after")
    }
    command = f"{name}: " if name else ""
    return {
        "diff": own,
        "operations": [each for each in _rows(item, "operations") if str(each.get("command")).startswith(command)],
    }


def _waiting(task: Task, item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One entry for each device that waits; the modules for ESXi hosts answer for several."""
    for each in item.get("hosts") or [item]:
        if isinstance(each, Mapping) and each.get("reboot_required"):
            reasons = list(each.get("reboot_reasons") or ())
            yield {**_about("waiting", task), "device": _device(each), "reasons": reasons}


def unreachable(task: Task, result: Mapping[str, Any]) -> dict[str, Any]:
    lost = next((item for item in result.get("results") or () if item.get("unreachable")), result)
    return {**_about("failed", task), **_failure(task, {**lost, "error_code": "unreachable"})}


def says_nothing_new(entry: Mapping[str, Any], before: Mapping[str, Any], plan: bool) -> bool:
    """An earlier entry said the same of the same device, whichever task asked."""
    if entry["kind"] == "waiting" and before["kind"] == "change":
        own = all(entry[key] == before[key] for key in ("host", "module"))
        same = not before["device"] or entry["device"] in ("", *before["device"].split(", "))
        return own and same and set(entry["reasons"]) <= set(before["reasons"])
    return (plan or entry["kind"] == "waiting") and {**entry, "task": ""} == {**before, "task": ""}


def _about(kind: str, task: Task) -> dict[str, Any]:
    return {"kind": kind, "host": task.host, "layer": task.layer, "task": task.name, "module": task.action}


def _device(item: Mapping[str, Any]) -> str:
    """The name by which the layer knows the device, where it is not the inventory's host."""
    several = [
        str(each["esxi_host"]) for each in item.get("hosts") or () if isinstance(each, Mapping) and each.get("changes")
    ]
    named = (item.get(key) for key in ("vm", "esxi_host", "device", "interface"))
    return ", ".join(several) or next((name for name in named if isinstance(name, str) and name), "")


def _identity(item: Mapping[str, Any]) -> dict[str, Any]:
    """What tells the device from another one of the same name: UUIDs and ids of vCenter, the switch's serial number."""
    found: dict[str, Any] = {
        key: str(item[key])
        for key in ("vcenter_uuid", "vm_moid", "vm_uuid", "esxi_host_moid", "serial")
        if isinstance(item.get(key), str) and item[key]
    }
    hosts = {
        str(each["esxi_host"]): {key: str(each.get(f"esxi_host_{key}") or "") for key in ("moid", "uuid")}
        for each in item.get("hosts") or ()
        if isinstance(each, Mapping) and each.get("changes")
    }
    return {**found, **({"esxi_hosts": hosts} if hosts else {})}


def _change(task: Task, item: Mapping[str, Any]) -> dict[str, Any]:
    # That of docker_container has the environment, which may hold a token.
    diff = item.get("diff") if task.action.startswith(COLLECTION) else None
    sides = diff if isinstance(diff, Mapping) and isinstance(diff.get("before"), Mapping) else {}
    operations = [each for each in item.get("operations") or () if isinstance(each, Mapping)]
    return {
        "device": _device(item),
        "identity": _identity(item),
        "before": dict(sides.get("before") or {}),
        "after": dict(sides.get("after") or {}),
        "operations": [
            {key: str(each.get(key) or "") for key in ("description", "command", "disrupts", "reboot")}
            for each in operations
        ],
        "undo": list(item["undo"]) if "undo" in item else None,
        "reasons": list(item.get("reboot_reasons") or ()),
    }


def _failure(task: Task, item: Mapping[str, Any]) -> dict[str, Any]:
    code = str(item.get("error_code") or "")
    judged = code in _JUDGED or (not code and task.action in _JUDGES)
    return {
        "device": _device(item),
        "message": str(item.get("msg") or ""),
        "code": code,
        "readable": judged,
        "applied": list(item.get("applied") or ()),
        "undo": list(item["undo"]) if "undo" in item else None,
    }


def status(said: Iterable[Mapping[str, Any]]) -> int:
    """Exit status of a drift run: what could not be read goes before what differs."""
    found = RIGHT
    for entry in said:
        if entry["kind"] == "failed" and not entry["readable"]:
            return NOT_READABLE
        if entry["kind"] in ("failed", "change", "waiting"):
            found = DIFFERS
    return found


def drift(
    said: Sequence[Mapping[str, Any]], hosts: Mapping[str, Sequence[str]], begin: Mapping[str, Any]
) -> dict[str, Any]:
    """drift.json. ``hosts``: layer -> the hosts of which it was asked."""
    rows = [
        {
            "host": entry["host"],
            "layer": entry["layer"],
            "device": entry["device"],
            "state": _state(entry),
            "what": _what(entry),
            "before": entry.get("before", {}),
            "wanted": entry.get("after", {}),
        }
        for entry in said
        if entry["kind"] in ("change", "waiting", "failed")
    ]
    return {
        "schema": SCHEMA,
        "run": begin["run"],
        "time": begin["time"],
        "simulated": begin["simulated"],
        "verdict": VERDICTS[status(said)],
        "drift": rows,
        "read": {layer: sorted(names) for layer, names in sorted(hosts.items())},
    }


def _state(entry: Mapping[str, Any]) -> str:
    if entry["kind"] == "failed":
        return "differs" if entry["readable"] else "not readable"
    return "waits for a restart" if entry["kind"] == "waiting" else "differs"


def _what(entry: Mapping[str, Any]) -> list[str]:
    if entry["kind"] == "failed":
        return [entry["message"]]
    if entry["kind"] == "waiting":
        return list(entry["reasons"])
    return [each["description"] for each in entry["operations"]] or [entry["task"]]


def metrics(found: Mapping[str, Any], seconds: float) -> str:
    """The same as a textfile for node_exporter: one series per host and layer.

    Format: https://prometheus.io/docs/instrumenting/exposition_formats/
    """
    count = collections.Counter((row["host"], row["layer"], row["state"]) for row in found["drift"])
    places = {(host, layer) for layer, hosts in found["read"].items() for host in hosts}
    places |= {(row["host"], row["layer"]) for row in found["drift"]}
    simulated = str(bool(found["simulated"])).lower()
    lines = [
        "# HELP rocemesh_drift_info About the newest drift run; simulated is true for devices of a lab.",
        "# TYPE rocemesh_drift_info gauge",
        f'rocemesh_drift_info{{verdict="{_label(found["verdict"])}",simulated="{simulated}"}} 1',
        "# HELP rocemesh_drift_last_run_timestamp_seconds When the newest drift run ended.",
        "# TYPE rocemesh_drift_last_run_timestamp_seconds gauge",
        f"rocemesh_drift_last_run_timestamp_seconds {seconds:.0f}",
    ]
    for name, state, text in (
        ("rocemesh_drift_differences", "differs", "Settings that differ from the inventory."),
        ("rocemesh_drift_restarts_pending", "waits for a restart", "Settings that wait for a restart."),
        ("rocemesh_drift_unreadable", "not readable", "Readings that failed."),
    ):
        lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge"]
        lines += [
            f'{name}{{host="{_label(host)}",layer="{_label(layer)}"}} {count[host, layer, state]}'
            for host, layer in sorted(places)
        ]
    return "\n".join(lines) + "\n"


def _label(value: str) -> str:
    return re.sub(r'(["\\])', r"\\\1", value).replace("\n", r"\n")


_STYLE = (
    "body{font:15px/1.45 sans-serif;margin:2em auto;max-width:75em;padding:0 1em}"
    "table{border-collapse:collapse;width:100%}td,th{border:1px solid #bbb;padding:.3em .5em;text-align:left;"
    "vertical-align:top;overflow-wrap:anywhere}pre{margin:0;white-space:pre-wrap}"
)


def page(lines: Sequence[Mapping[str, Any]]) -> str:
    """The same for a person, one HTML page without anything from elsewhere."""
    begin = lines[0]
    title = ("Plan of " if begin["check_mode"] else "Changes of ") + str(begin["run"])
    marks = [
        word for word, here in (("SIMULATED", begin["simulated"]), ("nothing was changed", begin["check_mode"])) if here
    ]
    about = (
        f"{begin['account']} on {begin['controller']}, {begin['time']}, {begin['playbook']}, version {begin['version']}"
    )
    rows = "".join(map(_row, (line for line in lines if line["kind"] not in ("begin", "planned", "end"))))
    ended = next((line["status"] for line in lines if line["kind"] == "end"), "killed")
    heads = "".join(
        f"<th>{head}</th>" for head in ("time", "host", "layer", "what", "interrupts, restarts", "way back")
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style>"
        f"<h1>{html.escape(title)}</h1><p>{html.escape('; '.join([*marks, about, f'ended: {ended}']))}</p>"
        f"<table><tr>{heads}</tr>{rows}</table></html>\n"
    )


def _row(line: Mapping[str, Any]) -> str:
    operations = line.get("operations") or ()
    what = _what(line) + [
        f"{key}: {line['before'].get(key)} -> {new}" for key, new in (line.get("after") or {}).items()
    ]
    hurts = [each["disrupts"] for each in operations] + [
        each["reboot"] for each in operations if each["reboot"] != "none"
    ]
    known = "not known: the module returns none" if line["kind"] == "change" and line["undo"] is None else ""
    cells = (
        line["time"],
        " ".join(part for part in (line["host"], line["device"]) if part),
        line["layer"],
        "\n".join([*([] if line["kind"] == "change" else [_state(line)]), *what]),
        "\n".join(dict.fromkeys(each for each in [*hurts, *(line.get("reasons") or ())] if each)),
        "\n".join(line.get("undo") or ([known] if known else ())),
    )
    return "<tr>" + "".join(f"<td><pre>{html.escape(str(cell))}</pre></td>" for cell in cells) + "</tr>"
