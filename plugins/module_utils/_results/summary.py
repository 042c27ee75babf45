# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of a site run (summary.json) and its rendering for people (report.md). Pure: data in, data or text out.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from typing import Any, Mapping, Sequence

from .._layer import RefusedError

FORMAT = 1
LAYERS = ("switch", "esxi", "vm", "nic", "container", "mesh", "run")
# What the lab cannot have for real; container, mesh and run are real there.
SIMULATED_LAYERS = ("switch", "esxi", "vm", "nic")
_TITLES = {
    "switch": "Switch (RoCE, VLAN, MTU)",
    "esxi": "ESXi hosts (atsSupport)",
    "vm": "VMs (P2P keys, NUMA)",
    "nic": "NICs in the guests (ATS)",
    "container": "Containers and image",
    "mesh": "ssh mesh",
    "run": "Run",
}
_CELL = 300  # characters of a finding in a table; the whole of it is in summary.json


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Everything that a summary is made of.

    ``layers``: name -> {changed, verified, found, changes}; ``result``: what the filter ``tf_cnn_log`` returns, None if
    there was no run; ``stage_marks``: [{name, at}] with ``at`` in seconds UTC, each the START of a stage;
    ``started``, ``finished``: ISO 8601, empty: from the marks; ``problems``: texts or {code, message}.
    """

    run_id: str
    simulated: bool = False
    simulated_layers: Sequence[str] = SIMULATED_LAYERS
    layers: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    stage_marks: Sequence[Mapping[str, Any]] = ()
    started: str = ""
    finished: str = ""
    hosts_rebooted: Sequence[str] = ()
    workload: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    versions: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    problems: Sequence[Any] = ()


def build(inputs: Inputs) -> dict[str, Any]:
    """The summary, plain types only. Raises RefusedError for a layer, a mark or a time that makes no sense."""
    unknown = sorted(set(inputs.layers) - set(LAYERS)) + sorted(set(inputs.simulated_layers) - set(LAYERS))
    if unknown:
        raise RefusedError(
            "not a layer", host="report", thing="layers", value=unknown[0], remedy="the layers are " + ", ".join(LAYERS)
        )
    finished = _seconds(inputs.finished, "finished")
    stages = stage_seconds(inputs.stage_marks, finished)
    marks = [float(mark["at"]) for mark in inputs.stage_marks]
    result = inputs.result or {}
    per_rank = list(result.get("per_rank", ()))
    problems = [_problem(entry) for entry in [*result.get("problems", ()), *inputs.problems]]
    return {
        "format": FORMAT,
        "run_id": inputs.run_id,
        "simulated": inputs.simulated,
        "ranks": len(per_rank),
        "images_per_second": {
            "total": result.get("total"),
            "per_rank": [rank["images_per_second"] for rank in per_rank],
            "sum_of_ranks": result.get("sum_of_ranks"),
        },
        "agreement": dict(result.get("agreement", {"ok": None, "relative_difference": None})),
        "rank_details": [
            {
                "rank": rank.get("rank"),
                "host": rank.get("host"),
                "images_per_second": rank["images_per_second"],
                "source": rank.get("source"),
                "device": rank.get("machine", {}).get("device"),
                "step": rank.get("machine", {}).get("step"),
                "checksum": rank.get("machine", {}).get("checksum"),
            }
            for rank in per_rank
        ],
        "hosts_rebooted": sorted(inputs.hosts_rebooted),
        "layers": {name: _layer(inputs, name) for name in LAYERS},
        "started": inputs.started or (_iso(min(marks)) if marks else None),
        "finished": inputs.finished or (_iso(max(marks)) if marks else None),
        "stages": stages,
        "problems": problems,
        "workload": {**result.get("parameters", {}), **inputs.workload},
        "versions": {**_versions(per_rank), **inputs.versions},
    }


def stage_seconds(marks: Sequence[Mapping[str, Any]], finished: float | None) -> dict[str, float]:
    """Seconds per stage: from its mark to the next one, the last one to ``finished``. A repeated stage adds up."""
    found: list[tuple[str, float]] = []
    for mark in marks:
        try:
            found.append((str(mark["name"]), float(mark["at"])))
        except (KeyError, TypeError, ValueError) as error:
            raise RefusedError(
                "not a stage mark", host="report", thing="stage_marks", value=dict(mark), remedy="give name and at"
            ) from error
    seconds: dict[str, float] = {}
    for index, (name, at) in enumerate(found):
        end = found[index + 1][1] if index + 1 < len(found) else (at if finished is None else finished)
        seconds[name] = round(seconds.get(name, 0.0) + max(0.0, end - at), 3)
    return seconds


def headline(summary: Mapping[str, Any]) -> str:
    """One line: what came out."""
    mark = " SIMULATED devices: no statement about hardware." if summary["simulated"] else ""
    total = summary["images_per_second"]["total"]
    if total is None:
        return "No training result." + mark
    if summary["agreement"]["ok"] is not True:
        return f"NOT A RESULT: the log contradicts itself (see problems); it prints {total:.2f} images/s.{mark}"
    ranks = ", ".join(f"{speed:.2f}" for speed in summary["images_per_second"]["per_rank"])
    problems = f" {len(summary['problems'])} problem(s)." if summary["problems"] else ""
    return f"{summary['ranks']} ranks, {total:.2f} images/s in total ({ranks} per rank).{problems}{mark}"


def render(summary: Mapping[str, Any]) -> str:
    """report.md."""
    simulated = summary["simulated"]
    title = "Multi-node training run " + summary["run_id"]
    lines = ["# " + ("SIMULATED - " + title if simulated else title), "", f"**{headline(summary)}**", ""]
    if simulated:
        lines += [
            "> The devices marked SIMULATED below do not exist. Their state is what simulators answered behind real",
            "> protocols; the speed is that of CPU processes and says nothing about any GPU, NIC or switch.",
            "",
        ]
    lines += _speed_section(summary)
    lines += _layer_section(summary)
    lines += ["## Time", "", f"{summary['started'] or 'unknown'} to {summary['finished'] or 'unknown'} (UTC).", ""]
    if summary["stages"]:
        lines += ["| stage | seconds |", "|---|---:|"]
        lines += [f"| {_cell(name)} | {seconds:.1f} |" for name, seconds in summary["stages"].items()]
        lines.append("")
    rebooted = ", ".join(summary["hosts_rebooted"]) or "none"
    lines += [f"ESXi hosts rebooted by this run{' (SIMULATED)' if simulated else ''}: {rebooted}.", ""]
    lines += ["## Problems", ""]
    lines += [f"- {entry['message']} (`{entry['code']}`)" for entry in summary["problems"]] or ["None."]
    for name, heading in (("workload", "Workload"), ("versions", "Versions")):
        if summary[name]:
            lines += ["", f"## {heading}", "", "| | |", "|---|---|"]
            lines += [f"| {_cell(key)} | {_cell(value)} |" for key, value in summary[name].items()]
    return "\n".join(lines) + "\n"


def _speed_section(summary: Mapping[str, Any]) -> list[str]:
    speed, agreement = summary["images_per_second"], summary["agreement"]
    lines = ["## Speed", ""]
    if not summary["ranks"]:
        return [*lines, "No rank has a result.", ""]
    lines += ["| rank | host | images/s | median step | device |", "|---:|---|---:|---:|---|"]
    for index, rank in enumerate(summary["rank_details"]):
        step = rank["step"]["median_ms"] if rank.get("step") else None
        who = rank["rank"] if rank["rank"] is not None else f"unknown ({index + 1})"
        lines.append(
            f"| {who} | {_cell(rank['host'] or 'not told')} | {rank['images_per_second']:.2f} "
            f"| {'not told' if step is None else f'{step:.1f} ms'} | {_cell(rank['device'] or 'not told')} |"
        )
    lines.append(f"| sum | | {speed['sum_of_ranks']:.2f} | | |")
    if speed["total"] is None:
        return [*lines, "", "No total was printed: the run did not end normally.", ""]
    lines.append(f"| **printed total** | | **{speed['total']:.2f}** | | |")
    difference = agreement["relative_difference"]
    verdict = "agrees with" if agreement["ok"] else "CONTRADICTS"
    lines += [
        "",
        f"The sum of the ranks {verdict} the printed total ({100 * difference:+.2f} %, allowed 1 %). "
        "Each rank prints the total of all ranks: totals are not added. The warm-up is left out.",
        "",
    ]
    return lines


def _layer_section(summary: Mapping[str, Any]) -> list[str]:
    lines = ["## Layers", "", "| layer | verified | changed by this run | found |", "|---|---|---|---|"]
    for name, layer in summary["layers"].items():
        mark = "**SIMULATED** " if layer["simulated"] else ""
        verified = {True: "yes", False: "**NO**", None: "not looked at"}[layer["verified"]]
        found = "" if layer["found"] in (None, {}, []) else _cell(layer["found"])
        lines.append(f"| {mark}{_TITLES[name]} | {verified} | {'yes' if layer['changed'] else 'no'} | {found} |")
    lines.append("")
    for name, layer in summary["layers"].items():
        if layer["changes"]:
            mark = " (SIMULATED)" if layer["simulated"] else ""
            lines += [f"### Changed: {_TITLES[name]}{mark}", "", *(f"- {_flat(text)}" for text in layer["changes"]), ""]
    return lines


def _layer(inputs: Inputs, name: str) -> dict[str, Any]:
    given = inputs.layers.get(name, {})
    verified = given.get("verified")
    return {
        "changed": bool(given.get("changed", False)),
        "verified": None if verified is None else bool(verified),
        "found": given.get("found"),
        "changes": [str(text) for text in given.get("changes") or ()],
        "simulated": inputs.simulated and name in inputs.simulated_layers,
    }


def _problem(entry: Any) -> dict[str, str]:
    if isinstance(entry, Mapping):
        return {"code": str(entry.get("code", "other")), "message": str(entry.get("message", entry))}
    return {"code": "other", "message": str(entry)}


def _versions(per_rank: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What the ranks say they run; several values side by side are a finding of their own."""
    found = {}
    for key in ("torch", "cuda", "python", "backend"):
        values = sorted(
            {str(rank.get("machine", {}).get(key)) for rank in per_rank if rank.get("machine", {}).get(key)}
        )
        if values:
            found[key] = ", ".join(values)
    return found


def _seconds(text: str, thing: str) -> float | None:
    if not text:
        return None
    try:
        # Python before 3.11 does not take the Z.
        moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError as error:
        raise RefusedError(
            "not a time", host="report", thing=thing, value=text, remedy="give it as 2026-01-31T12:00:00Z"
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)).timestamp()


def _iso(seconds: float) -> str:
    moment = datetime.datetime.fromtimestamp(seconds, tz=datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _flat(value: Any) -> str:
    if isinstance(value, str):
        text = value
    elif isinstance(value, Mapping):
        text = "; ".join(
            f"{key}: {'{' + _flat(entry) + '}' if isinstance(entry, Mapping) else _flat(entry)}"
            for key, entry in value.items()
        )
    elif isinstance(value, (list, tuple)):
        text = ", ".join(_flat(entry) for entry in value)
    else:
        text = json.dumps(value)
    return " ".join(text.split())


def _cell(value: Any) -> str:
    text = _flat(value)
    if len(text) > _CELL:
        text = text[:_CELL] + " [more in summary.json]"
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
