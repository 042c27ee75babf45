"""The summary of a site run (summary.json). Pure: data in, data out. `page.py` makes it readable.

The shape of the summary is published as summary.schema.json.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import time
from typing import Any, Mapping, Sequence

from ..._doctor import host_output, run_facts
from ..._judge.sentences import refusal
from ..._proof import found_limits, snapshots
from ..._proof.evidence import Evidence, Job, gathered, port_name, training_ports
from ..._proof.evidence import networks as cidrs
from ..._proof.verdict import hear, judge
from ..figures import benchmark_files as bench
from ..figures import published
from ..readers.reading import plain
from .analysis import analyse

FORMAT = 1
# What the lab cannot have for real; container, mesh and run are real there.
SIMULATED_LAYERS = ("switch", "esxi", "vm", "nic")
TITLES = {
    "switch": "Switch (RoCE, VLAN, MTU)",
    "esxi": "ESXi hosts (atsSupport)",
    "vm": "VMs (P2P keys, NUMA)",
    "nic": "NICs in the guests (ATS)",
    "container": "Containers and image",
    "mesh": "ssh mesh",
    "run": "Run",
}
LAYERS = tuple(TITLES)
SIMULATED_WORD = "SIMULATED"
# Keys of a rank: what reader `tf_cnn` says of it, and what its machine line says.
OF_RANK = ("rank", "host", "images_per_second", "source")
OF_MACHINE = ("device", "step", "checksum")
_SPEEDS = 16  # ranks whose speeds the headline has room for


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Everything that a summary is made of: the options of module run_report, which says what each is, and

    ``benchmarks``: kind -> content of its result file; ``timeline``: what `timeline.from_steps` returns;
    ``doctor``: what `diagnosis.diagnose` says, for the verdict.
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
    evidence: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    limits: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    benchmarks: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    timeline: Mapping[str, Any] | None = None
    expected_ranks: int | None = None
    doctor: Mapping[str, Any] | None = None


def build(inputs: Inputs) -> dict[str, Any]:
    """The summary, plain types only. Raises RefusedError for a layer or a time that makes no sense.

    Devices that call themselves SIMULATED make the run a simulated one, also where the caller forgot to say so.
    """
    devices = run_facts.simulated({"rdma": inputs.evidence.get("rdma")}, {})
    if devices or SIMULATED_WORD in json.dumps([inputs.layers, inputs.result], default=str):
        inputs = dataclasses.replace(inputs, simulated=True)
    for name in sorted(set(inputs.layers) - set(LAYERS)):
        raise refusal("layer_unknown", name, known=", ".join(LAYERS))
    stages = stage_seconds(inputs.stage_marks, _seconds(inputs.finished))
    marks = [mark["at"] for mark in inputs.stage_marks]
    result = inputs.result or {}
    # A rank without a figure cannot be shown; the witnesses are given all of them.
    per_rank = [
        rank
        for rank in result.get("per_rank") or ()
        if isinstance(rank, Mapping) and isinstance(rank.get("images_per_second"), (int, float))
    ]
    path = inputs.evidence.get("nccl_path") or None
    said = [_problem(entry) for entry in inputs.problems]
    problems = [_problem(each) for read in (result, path or {}) for each in read.get("problems", ())] + said
    workload = {**result.get("parameters", {}), **inputs.workload}
    measured = bench.read(inputs.benchmarks)
    problems += [
        {"code": f"benchmark_{kind}", "message": text} for kind in measured for text in measured[kind]["problems"]
    ]
    unreal = [kind for kind in measured if measured[kind]["simulated"] and not inputs.simulated]
    if unreal:
        what = f"benchmarks without hardware ({', '.join(unreal)}) in a report of hardware"
        problems.append({"code": "benchmark_simulated", "message": f"{what}: shown, and used for nothing"})
    usable = {kind: entry for kind, entry in measured.items() if kind not in unreal}
    job = Job.of(inputs.evidence.get("job"))
    nics, read_limits = _nics(inputs, job, path)
    limits = {**read_limits["limits"], **inputs.limits}
    unknown = [f"{key}: {why}" for key, why in read_limits["unknown"].items() if key not in inputs.limits]
    judged, analysed = analyse(
        limits,
        per_rank,
        result.get("total"),
        workload,
        usable,
        hosts=len(job.hosts) or None,
        busiest_bytes=_busiest(nics["rdma"]),
        grouped=(path or {}).get("grouped") is True,
    )
    layers = {name: _layer(inputs, name) for name in LAYERS}
    fabric = inputs.evidence.get("fabric") or None
    heard = hear(
        Evidence(
            job=job,
            result=inputs.result,
            layers=layers,
            layer_titles=TITLES,
            path=path,
            fabric=fabric,
            expected_ranks=inputs.expected_ranks,
            nodes_given=inputs.limits.get("nodes"),
            workload=inputs.workload,
            doctor=inputs.doctor,
            problems=said,
            booted=_booted(inputs.evidence.get("hosts")),
            **analysed,
            **nics,
        )
    )
    return {
        "format": FORMAT,
        "run_id": inputs.run_id,
        "simulated": inputs.simulated,
        "verdict": judge(heard, inputs.simulated),
        "ranks": len(per_rank),
        "images_per_second": {
            "total": result.get("total"),
            "per_rank": [rank["images_per_second"] for rank in per_rank],
            "sum_of_ranks": result.get("sum_of_ranks"),
        },
        "agreement": dict(result.get("agreement", {"ok": None, "relative_difference": None})),
        "rank_details": [
            {**{key: rank.get(key) for key in OF_RANK}, **{key: rank.get("machine", {}).get(key) for key in OF_MACHINE}}
            for rank in per_rank
        ],
        "hosts_rebooted": sorted(inputs.hosts_rebooted),
        "layers": layers,
        "started": inputs.started or (_iso(min(marks)) if marks else None),
        "finished": inputs.finished or (_iso(max(marks)) if marks else None),
        "stages": stages,
        "problems": problems,
        "workload": workload,
        "versions": {**_versions(per_rank), **inputs.versions},
        "path": dict(path) if path else None,
        "counters": {"rdma": nics["rdma"], "switch": nics["switches"]},
        "fabric": dict(fabric) if fabric else None,
        "limits": {
            "given": limits,
            "sources": {key: "given" if key in inputs.limits else read_limits["sources"][key] for key in limits},
            **judged,
            "notes": [*judged["notes"], *read_limits["notes"], *unknown],
            "in_words": published.words(
                analysed["comparisons"], per_rank, workload, limits, hosts=len(job.hosts), simulated=inputs.simulated
            ),
        },
        "speed": plain(analysed["speed"]),
        "benchmarks": measured,
        "throughput_over_time": dict(inputs.timeline) if inputs.timeline else None,
        "doctor": None,
    }


def _nics(inputs: Inputs, job: Job, path: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """What NICs and switches say: for `Evidence` as `snapshots` makes it (None: no reading at all), with the first
    reading of each node and the devices of the training in it; and the limits, as `found_limits` finds them."""
    readings, switches = (inputs.evidence.get(key) or {} for key in ("rdma", "switches"))
    nodes = [*job.hosts, *(node for node in readings if node not in job.hosts)]
    hcas, rails = gathered(job, path), job.rdma_networks
    networks = rails or cidrs(job.cluster_network)
    start: dict[str, Mapping[str, Any]] = {node: (each or {}).get("start") or {} for node, each in readings.items()}
    nothing: dict[str, Any] = {"limits": {}, "sources": {}, "unknown": {}, "notes": []}
    return {
        "rdma": snapshots.rdma(readings, nodes, networks, hcas, rails) if readings else None,
        "switches": snapshots.switches(switches, len(job.hosts), inputs.simulated) if switches else None,
        "start": start,
        "used": {
            node: [port_name(port) for port in training_ports(start.get(node), networks, hcas.get(node))]
            for node in job.hosts
        },
    }, found_limits.find(start, nodes, networks, hcas) if readings else nothing


def _busiest(counters: Mapping[str, Any] | None) -> float | None:
    """Most bytes that the NICs of one node moved in one direction; None if those of a node were not read."""
    places = ((counters or {}).get("places") or {}).values()
    moved = [place.get(key) for place in places for key in ("sent_bytes", "received_bytes")]
    known = [float(value) for value in moved if isinstance(value, (int, float))]
    return max(known) if known and len(known) == len(moved) else None


def stage_seconds(marks: Sequence[Mapping[str, Any]], finished: float | None) -> dict[str, float]:
    """Seconds per stage: from its mark to the next one, the last one to ``finished``. A repeated stage adds up."""
    seconds: dict[str, float] = {}
    for mark, end in zip(marks, [*(mark["at"] for mark in marks[1:]), finished]):
        spent = 0.0 if end is None else max(0.0, end - mark["at"])
        seconds[mark["name"]] = round(seconds.get(mark["name"], 0.0) + spent, 3)
    return seconds


def headline(summary: Mapping[str, Any]) -> str:
    """One line: what came out."""
    mark = " SIMULATED devices: no statement about hardware." if summary["simulated"] else ""
    total = summary["images_per_second"]["total"]
    if total is None:
        return "No training result." + mark
    if summary["agreement"]["ok"] is not True:
        return f"NOT A RESULT: the log contradicts itself (see problems); it prints {total:.2f} images/s.{mark}"
    speeds = summary["images_per_second"]["per_rank"]
    ranks = ", ".join(f"{speed:.2f}" for speed in speeds[:_SPEEDS])
    if len(speeds) > _SPEEDS:
        ranks = f"{min(speeds):.2f} to {max(speeds):.2f}"
    problems = f" {len(summary['problems'])} problem(s)." if summary["problems"] else ""
    return f"{summary['ranks']} ranks, {total:.2f} images/s in total ({ranks} per rank).{problems}{mark}"


def _layer(inputs: Inputs, name: str) -> dict[str, Any]:
    given = inputs.layers.get(name, {})
    verified = given.get("verified")  # before ansible-core 2.19 a null is an empty text
    return {
        "changed": bool(given.get("changed", False)),
        "verified": None if verified in (None, "") else bool(verified),
        "found": given.get("found"),
        "changes": [str(text) for text in given.get("changes") or ()],
        "simulated": inputs.simulated and name in inputs.simulated_layers,
    }


def _booted(hosts: Mapping[str, Any] | None) -> dict[str, float]:
    """Host -> when it booted, of those that said their uptime after the run."""
    read = (hosts or {}).items()
    found = {str(host): host_output.booted(said) for host, said in read if isinstance(said, Mapping)}
    return {host: at for host, at in found.items() if at is not None}


def _problem(entry: Any) -> dict[str, str]:
    if isinstance(entry, Mapping):
        return {"code": str(entry.get("code", "other")), "message": str(entry.get("message", entry))}
    return {"code": "other", "message": str(entry)}


def _versions(per_rank: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What the ranks say they run; several values side by side are a finding of their own."""
    machines = [rank.get("machine", {}) for rank in per_rank]
    keys = ("torch", "cuda", "python", "backend")
    found = {key: sorted({str(machine[key]) for machine in machines if machine.get(key)}) for key in keys}
    return {key: ", ".join(values) for key, values in found.items() if values}


def _seconds(text: str) -> float | None:
    if not text:
        return None
    try:
        # Python before 3.11 does not take the Z.
        moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError as error:
        raise refusal("no_time", text, thing="finished") from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)).timestamp()


def _iso(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
