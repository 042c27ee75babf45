"""A summary with everything in it, of any number of ranks: for the tests and benchmarks of the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import tf_cnn
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import timeline
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import LAYERS, Inputs, build

STEPS = 100
SCHEMA = json.loads(Path(timeline.__file__).with_name("summary.schema.json").read_text())


def faults(document: dict[str, Any]) -> list[str]:
    """What in it has not the published shape."""
    return [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(document)]


def log(ranks: int, speed: float = 2000.0) -> str:
    """Output of ``ranks`` ranks, one per host, under mpirun --tag-output."""
    lines = [
        "Model:       resnet50",
        f"Batch size:  {256 * ranks} global",
        "             256 per device",
        f"Num batches: {STEPS}",
        "Precision:   bf16",
        "Variables:   distributed_data_parallel (nccl)",
    ]
    text = [f"[1,0]<stdout>:{line}" for line in lines]
    for step in (1, *range(10, STEPS + 1, 10)):
        for rank in range(ranks):
            shown = speed - rank % 7 + (step % 30) / 10
            text.append(f"[1,{rank}]<stdout>:{step}\timages/sec: {shown:.1f} +/- 1.0 (jitter = 2.0)\t7.100")
    for rank in range(ranks):
        record = {
            "rank": rank,
            "world": ranks,
            "host": f"gpu{rank + 1:03}",
            "images_per_second": speed - rank % 7,
            "backend": "nccl",
            "device": "cuda",
            "torch": "2.13.0",
            "checksum": "0" * 64,
            "step": {"mean_ms": 128.0, "median_ms": 128.0, "min_ms": 127.0, "p95_ms": 130.0, "max_ms": 140.0},
        }
        total = sum(speed - other % 7 for other in range(ranks))
        text.append(f"[1,{rank}]<stdout>:total images/sec: {total:.2f}")
        text.append(f"[1,{rank}]<stdout>:ROCEMESH {json.dumps(record)}")
    return "\n".join(text) + "\n"


def benchmarks(simulated: bool = True) -> dict[str, Any]:
    def file(kind: str, results: list[dict[str, Any]]) -> dict[str, Any]:
        return {"kind": kind, "simulated": simulated, "backend": "gloo", "results": results, "problems": []}

    cases = [(1, 1, 400.0), (1, 2, 780.0), (1, 4, 1500.0), (2, 4, 2800.0), (4, 4, 5300.0)]
    return {
        "scaling": file(
            "scaling",
            [
                {"nodes": nodes, "gpus_per_node": gpus, "precision": precision, "batch": 128}
                | {"repeats": [factor * speed * share for share in (0.99, 1.0, 1.005, 0.998, 1.01)]}
                for precision, factor in (("fp32", 1.0), ("bf16", 2.1))
                for nodes, gpus, speed in cases
            ],
        ),
        "bandwidth": file(
            "bandwidth",
            [
                {"network": network, "path": path, "ranks": 4, "size_bytes": size, "error": 0.0}
                | {"seconds": [size / speed * share for share in (1.0, 1.01, 0.99, 1.02, 1.0)]}
                for network, size in (("resnet50", 102_228_128), ("alexnet", 244_403_360), ("vgg16", 553_430_176))
                for path, speed in (("gpu_direct", 7e9), ("host_staged", 4e9))
            ],
        ),
        "training": file(
            "training",
            [
                {"model": "resnet50", "batch": batch, "compute_s": 0.01 * batch, "comm_s": 0.03, "img_s": 90.0 * batch}
                for batch in (1, 2, 4, 8, 16, 32)
            ],
        ),
        "scoring": file(
            "scoring",
            [
                {"model": model, "batch": batch, "img_s": 100.0 * batch}
                for model in ("alexnet", "resnet50", "resnet152")
                for batch in (1, 2, 4, 8, 16, 32)
            ],
        ),
    }


LIMITS = {
    "nic_link_gbit_per_s": 100.0,
    "nics_per_node": 1,
    "roce_mtu_bytes": 4096,
    "vlan_tagged": True,
    "pcie_link_status": "LnkSta: Speed 16GT/s (ok), Width x16 (ok)",
    "pcie_max_payload_bytes": 256,
}


def inputs(simulated: bool = True, ranks: int = 4, **more: Any) -> Inputs:
    result = tf_cnn.read(log(ranks), ranks) if ranks else None
    hosts = [f"gpu{rank + 1:03}" for rank in range(ranks)]
    layers = {
        name: {
            "changed": name == "mesh",
            "verified": True,
            "found": {host: {"setting": "as wanted", "value": 1} for host in hosts},
            "changes": [f"{host}: write a file" for host in hosts] if name == "mesh" else [],
        }
        for name in LAYERS
    }
    return Inputs(
        **{
            "run_id": "20260131T120000Z",
            "simulated": simulated,
            "layers": layers,
            "result": result.as_dict() if result else None,
            "stage_marks": [{"name": "switch", "at": 0.0}, {"name": "run", "at": 30.0}, {"name": "report", "at": 99.0}],
            "finished": "1970-01-01T00:01:40Z",
            "benchmarks": benchmarks(),
            "limits": LIMITS,
            "timeline": timeline.from_steps(result.steps, 256) if result else None,
            "expected_ranks": ranks or None,
            **more,
        }
    )


def summary(simulated: bool = True, ranks: int = 4, **more: Any) -> dict[str, Any]:
    return build(inputs(simulated, ranks, **more))
