"""From what is known of the cluster and what was measured: limits, comparisons, and where a step's time goes. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Sequence

from ..._proof.counters import Due
from ..figures import detours as ways
from ..figures import limits as lim
from ..figures import speed as pace
from ..figures.benchmark_files import rows_of, single_gpu
from ..readers.reading import positive

# What a run may be faster than so many single GPUs before it is suspicious (clocks boost, caches help).
SUPERLINEAR_MARGIN = 0.05
# Paths whose bytes leave through the NICs that the limits describe; others are shown without a limit.
NIC_PATHS = ("gpu_direct", "gpu_host", "gdrdma", "rdma_via_host")
# Steps of warm-up where the ranks do not say how long theirs took: the default of tf_cnn_benchmarks and of our program.
_STEPS_BEFORE = 12
# Labels of the benchmark bandwidth that are no all-reduce, though their rows have times of the same network.
NO_ALL_REDUCE = ("servers", "servers_async", "point_to_point", "both_ways")


def analyse(
    given: Mapping[str, Any],
    per_rank: Sequence[Mapping[str, Any]],
    total_images_per_s: float | None,
    workload: Mapping[str, Any],
    benchmarks: Mapping[str, Mapping[str, Any]],
    *,
    hosts: int | None = None,
    busiest_bytes: float | None = None,
    grouped: bool = False,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of the summary's part ``limits`` all that is computed here, and what `Evidence` takes of it.

    ``given``: the module's option ``limits``; ``benchmarks``: as `benchmark_files.read` returns; ``hosts``: of the
    job, as its start knows them; ``busiest_bytes``: that the NICs of one node moved in one direction, at most;
    ``grouped``: no communicator held all ranks."""
    notes: list[str] = []
    ranks = len(per_rank) or None
    named = {rank.get("host") for rank in per_rank}
    nodes = hosts or given.get("nodes") or (None if None in named else len(named)) or None
    link, wire, pcie = _links(given, notes)
    size = _gradients(given, per_rank, workload, notes)
    batch = positive(workload.get("batch_size_per_device"))
    images_per_step = positive(workload.get("batch_size_global")) or (batch * ranks if batch and ranks else None)

    single = given.get("single_gpu_images_per_s")
    measured, why = single_gpu(benchmarks, workload.get("precision"), workload.get("batch_size_per_device"))
    if measured and not single:
        single = measured
        notes.append(f"Rate of one GPU: {why}.")
    compute = lim.compute_images_per_s(single, ranks, "" if measured else why)
    network = lim.network_images_per_s(size, link, nodes, images_per_step)
    ring = lim.ring_allreduce_seconds(size, ranks, link)
    bus = lim.allreduce_gbyte_per_s(link, nodes, ranks)

    comparisons = [_bandwidth(row, link, ranks, nodes) for row in rows_of(benchmarks, "bandwidth")]
    if total_images_per_s is not None:
        comparisons[:0] = [
            lim.Comparison("training rate", total_images_per_s, network, physical=True),
            lim.Comparison("training rate", total_images_per_s, compute, physical=False, margin=SUPERLINEAR_MARGIN),
        ]

    batches = positive(workload.get("num_batches"))
    moved, before = pace.moved_bytes(per_rank), _steps_before(per_rank, batches)
    due = (
        Due(size.value * batches, nodes, moved, size.value * (1 + before[1]), size.value * before[0])
        if size.value and batches and nodes and nodes > 1
        else None
    )
    # In one direction: within a node, a ring sends each byte of its bus bandwidth over them.
    carried, how = given.get("nvlink_gbyte_per_s"), "nvidia-smi nvlink -s, all links of the GPU with the least"
    nvlink = lim.Limit("NVLinks of a GPU", carried, "GB/s", how) if carried else None
    crossed = _crossed(busiest_bytes, due, ranks, grouped)
    speed = pace.judge(per_rank, wire, nodes, given.get("least_share"), seen=crossed, nvlink=nvlink)
    comparisons += [lim.Comparison(pace.WHAT, speed.bus_gb_s, bus, physical=True)] if speed.bus_gb_s else []
    comparisons += _all_reduce_tests(benchmarks, link, nodes) + _perftests(benchmarks, wire, given.get("nics_per_node"))

    bounds = {comparison.what: comparison.limit.value for comparison in comparisons}
    step = images_per_step / total_images_per_s if images_per_step and total_images_per_s else None
    alone = batch / single if batch and single else None
    allreduce = given.get("allreduce_s") or _allreduce(benchmarks, workload, ranks)
    limits = [wire, pcie, link, size, ring, bus, network, compute, *([nvlink] if nvlink else [])]
    detours = tuple(ways.pairs(rows_of(benchmarks, "bandwidth"), rows_of(benchmarks, "perftest"), bounds))
    return {
        "limits": [dataclasses.asdict(limit) for limit in limits],
        "comparisons": [comparison.as_result() for comparison in comparisons],
        "communication": lim.communication(step, alone, allreduce),
        "gradient_traffic_bytes": due.of_gradients / due.nodes if due else None,
        "notes": notes,
    }, {"comparisons": tuple(comparisons), "due": due, "detours": detours, "speed": speed}


def _crossed(
    busiest_bytes: float | None, due: Due | None, ranks: int | None, grouped: bool
) -> tuple[float, float] | None:
    """How often the bytes of an all-reduce crossed the link of the busiest node, at least and at most.

    Groups exchange their gradients among themselves and measure over all ranks, so their counters do not tell how: then
    the ring is taken, which NCCL may always choose.
    """
    if grouped and ranks:
        return lim.ring_factor(ranks), lim.ring_factor(ranks)
    if not busiest_bytes or due is None or not due.each:
        return None
    return busiest_bytes / (due.each + due.other_bytes), busiest_bytes / (due.each + due.before_bytes)


def _steps_before(per_rank: Sequence[Mapping[str, Any]], batches: float | None) -> tuple[float, float]:
    """Steps before the clock, at least and at most; what the start exchanges besides is counted with them. Who says
    that they were more than the timed ones is not believed."""
    said = {(rank.get("machine") or {}).get("warmup_batches") for rank in per_rank}
    count = next(iter(said)) if len(said) == 1 else None
    if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= (batches or 0):
        return count, count
    found = [float(_STEPS_BEFORE)]
    for machine in (rank.get("machine") or {} for rank in per_rank):
        wall, batches, before = (positive(machine.get(key)) for key in ("wall_seconds", "batches", "warmup_seconds"))
        if wall and batches and before:
            # They include compiling, so this counts too many rather than too few.
            found.append(before / (wall / batches))
    return 0.0, max(found)


def _links(given: Mapping[str, Any], notes: list[str]) -> tuple[lim.Limit, lim.Limit, lim.Limit]:
    mtu, interface, nics = (given.get(key) for key in ("roce_mtu_bytes", "interface_mtu_bytes", "nics_per_node"))
    if not mtu and interface:
        mtu = lim.roce_mtu_bytes(interface)
        taken = f"RoCE MTU {mtu}: what Linux takes for an interface MTU of {interface}"
        notes += [f"{taken}; the NIC's own active_mtu was not read."] if mtu else []
    rate, tagged, version = (given.get(key) for key in ("nic_link_gbit_per_s", "vlan_tagged", "ip_version"))
    wire = lim.wire_gbyte_per_s(rate, mtu, vlan_tagged=tagged, ip_version=version or 4, nics_per_node=nics)
    generation, width = given.get("pcie_generation"), given.get("pcie_width")
    if given.get("pcie_link_status") and not (generation and width):
        generation, width = lim.pcie_link_status(given["pcie_link_status"]) or (None, None)
        if generation is None:
            notes.append(f"This PCIe link status is not understood: {given['pcie_link_status']!r}.")
    pcie = lim.pcie_gbyte_per_s(generation, width, given.get("pcie_max_payload_bytes"), slots_per_node=nics)
    return lim.tightest(wire, pcie), wire, pcie


def _gradients(
    given: Mapping[str, Any], per_rank: Sequence[Mapping[str, Any]], workload: Mapping[str, Any], notes: list[str]
) -> lim.Limit:
    sizes = {rank.get("machine", {}).get("gradient_bytes") for rank in per_rank} - {None}
    if len(sizes) == 1:
        return lim.Limit("size of the gradients", float(sizes.pop()), "bytes", "as the ranks report it")
    parameters, precision = given.get("parameters"), given.get("gradient_precision")
    formats = {str(rank.get("machine", {}).get("gradients") or "nothing") for rank in per_rank}
    distributed = str(workload.get("variables", "")).startswith("distributed_data_parallel")
    own = distributed and workload.get("model") == "resnet50"
    if own and not parameters:
        parameters = lim.RESNET50_PARAMETERS
    if own and not precision:
        said = ", ".join(sorted(formats))
        note = f"Number format of the gradients: not known, because the ranks do not say the same ({said})."
        if formats <= {"nothing", "fp32"}:
            precision, kept = "fp32", "keeps its parameters so, whatever autocast computes in"
            note = f"Gradients in fp32: this collection's workload {kept}."
        elif len(formats) == 1:
            precision, note = said, f"Gradients are exchanged in {said}, as every rank says; the parameters are fp32."
        notes.append(note)
    return lim.gradient_bytes(parameters, precision)


def _bandwidth(row: Mapping[str, Any], link: lim.Limit, ranks: int | None, nodes: int | None) -> lim.Comparison:
    if row["path"] in NIC_PATHS:
        known_nodes = row.get("nodes") or (nodes if ranks == row["ranks"] else None)
        limit = lim.allreduce_gbyte_per_s(link, known_nodes, row["ranks"])
    else:
        limit = lim.unknown("all-reduce bus bandwidth", "GB/s", f"path {row['path']!r} does not say which wire it took")
    return lim.Comparison(ways.bandwidth_label(row), row["gb_s"], limit, physical=True)


def _all_reduce_tests(
    benchmarks: Mapping[str, Mapping[str, Any]], link: lim.Limit, nodes: int | None
) -> list[lim.Comparison]:
    """The largest size of nccl-tests' all_reduce: small sizes measure latency, not the wire."""
    rows = [
        row
        for row in rows_of(benchmarks, "nccl_tests")
        if positive(row.get("size_bytes")) and "all_reduce" in str(row.get("collective") or "all_reduce").lower()
    ]
    if not rows:
        return []
    row = max(rows, key=lambda each: float(each["size_bytes"]))
    figures = [positive(row.get(f"{half}_busbw_gb_s")) for half in ("out_of_place", "in_place")]
    achieved = max((figure for figure in figures if figure), default=None)
    ranks, hosts = row.get("ranks"), row.get("hosts") or nodes
    limit = lim.allreduce_gbyte_per_s(link, hosts, ranks if isinstance(ranks, int) else None)
    return [lim.Comparison(f"nccl-tests all_reduce, {row['size_bytes']} bytes", achieved, limit, physical=True)]


def _perftests(
    benchmarks: Mapping[str, Mapping[str, Any]], wire: lim.Limit, nics: float | None
) -> list[lim.Comparison]:
    """One connection of perftest uses one NIC, whatever the node has; both directions together are not compared."""
    limit = dataclasses.replace(wire, name="wire payload per NIC", value=wire.value and nics and wire.value / nics)
    return [
        lim.Comparison(ways.perftest_label(row), float(row["gb_s"]), limit, physical=True)
        for row in rows_of(benchmarks, "perftest")
        if positive(row.get("gb_s")) and row.get("bidirectional") != "yes"
    ]


def _allreduce(
    benchmarks: Mapping[str, Mapping[str, Any]], workload: Mapping[str, Any], ranks: int | None
) -> float | None:
    """Median seconds of the all-reduce of this model's gradients with as many ranks, over the fastest path measured.

    Rows by parameter servers (some answer before anybody was waited for), of two ranks alone, or with an optimizer's
    step in their time do not count.
    """
    found = [
        row["median_s"]
        for row in rows_of(benchmarks, "bandwidth")
        if row["network"] == workload.get("model") and row["ranks"] == ranks
        if row["path"] not in NO_ALL_REDUCE and not row.get("servers") and not row.get("optimizer")
    ]
    return min(found, default=None)
