"""Figures that others printed, to stand beside measured ones. None was measured here; none is a threshold.

They are as printed (published.json), with the doubts that a reader of the source would have. Is my number normal? Each
measured figure in words: its share of what this cluster can do, and what others published of like hardware, with its
source. That judges nothing; if no figure of like hardware is published, the text says so. Rates in images/s, bandwidths
in GB/s. Only the controller has that file: Ansible sends no JSON to nodes.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

from ..readers.reading import by_key
from .limits import Comparison

MARK = "published, not measured here"
_DATA: Mapping[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
SOURCES: Mapping[str, str] = _DATA["sources"]
# (name, nodes, ranks, precision, batch per rank, images/s as text, images/s per rank or None, note, source)
TRAINING: Sequence[tuple[str, int, int, str, int, str, float | None, str, str]] = _DATA["training"]
# precision, batch -> [(nodes, GPUs per node, median images/s)]
DLPERF: Mapping[tuple[str, int], Sequence[tuple[int, int, float]]] = {
    (precision, batch): cases for precision, batch, cases in _DATA["dlperf"]
}
# With the keys of a benchmark's row, and a note; ``gb_s``: median per GPU.
BANDWIDTH: Sequence[Mapping[str, Any]] = _DATA["bandwidth"]
# What the sentences quote, its sources in short, and by the name of a limit what a figure is a share of.
_NORMAL: Mapping[str, Any] = _DATA["normal"]
SHORT: Mapping[str, str] = _NORMAL["sources"]
HALF = ("fp16", "bf16", "half")
_SHOWN = 4


@dataclasses.dataclass(frozen=True)
class Peer:
    """ResNet-50 training as published. ``gpu``: the word by which its GPU calls itself."""

    gpu: str
    system: str
    nodes: int
    per_node: int
    precision: str
    rate: float
    source: str

    @property
    def ranks(self) -> int:
        return self.nodes * self.per_node


PEERS: tuple[Peer, ...] = (
    *(Peer(*row) for row in _NORMAL["peers"]),
    *(
        Peer("V100", "V100-SXM2-16GB, MXNet", nodes, gpus, "half" if precision in HALF else precision, rate, "dlperf")
        for (precision, _batch), cases in DLPERF.items()
        for nodes, gpus, rate in cases
    ),
)
# (Gbit/s of each NIC, NICs per node or None: of one NIC, GB/s as text, system, source): all-reduce bus bandwidth
ALL_REDUCE: Sequence[tuple[float, int | None, str, str, str]] = _NORMAL["all_reduce"]
# (Gbit/s of the NIC or None: any, what is asked of one connection, source)
ONE_NIC: Sequence[tuple[float | None, str, str]] = _NORMAL["one_nic"]


def per_device(kind: str) -> Iterator[tuple[str, str, int, float]]:
    """(device, model, batch, images/s) of one device. ``kind``: scoring, which is forward only, or training_per_device,
    of whole steps: what the source calls alexnet(*8) there has eight times each batch."""
    for device, models in _DATA[kind].items():
        for model, rates in models.items():
            factor = 8 if (kind, model) == ("training_per_device", "alexnet") else 1
            yield from ((device, model, factor * batch, rate) for batch, rate in zip(_DATA["batches"], rates))


def scaling_results() -> list[dict[str, Any]]:
    """In the shape of a benchmark's result file: the published medians as one repeat each."""
    return [
        {"nodes": nodes, "gpus_per_node": gpus, "precision": precision, "batch": batch, "repeats": [median]}
        for (precision, batch), cases in DLPERF.items()
        for nodes, gpus, median in cases
    ]


def words(
    comparisons: Sequence[Comparison],
    per_rank: Sequence[Mapping[str, Any]],
    workload: Mapping[str, Any],
    limits: Mapping[str, Any],
    *,
    hosts: int,
    simulated: bool,
) -> list[dict[str, str]]:
    """One sentence per measured figure: {what, text}. ``limits``: what is known of the cluster; ``hosts``: of the job,
    0: not known."""
    measured = by_key((entry.what, entry) for entry in comparisons if entry.achieved is not None)
    texts = []
    for what, entries in measured.items():
        last, shares = entries[-1], dict.fromkeys(map(_share, entries))
        if simulated:
            others = "The devices are simulated: no published figure compares."
        elif last.limit.unit == "images/s":
            others = _training(per_rank, workload, hosts or limits.get("nodes"))
        else:
            others = _one_nic(limits) if last.limit.name == "wire payload per NIC" else _all_reduce(limits)
        texts.append(
            {"what": what, "text": f"{_number(last.achieved)} {last.limit.unit}: {'; '.join(shares)}. {others}"}
        )
    return texts


def _share(entry: Comparison) -> str:
    of = _NORMAL["shares"].get(entry.limit.name, f"of {entry.limit.name}")
    if entry.ratio is None:
        return f"its share {of} is not known ({entry.limit.because})"
    return f"{100 * entry.ratio:.0f} % {of}" + (", which cannot be" if entry.exceeded and entry.physical else "")


def _training(per_rank: Sequence[Mapping[str, Any]], workload: Mapping[str, Any], nodes: int | None) -> str:
    model, said = (str(workload.get(key) or "") for key in ("model", "precision"))
    if model != "resnet50":
        return f"Nothing is published here for {model or 'a model that is not known'}, only for resnet50."
    devices = {str(rank.get("machine", {}).get("device") or "") for rank in per_rank}
    names = [] if "" in devices else sorted(devices)
    if len(names) != 1:
        why = f"differs ({', '.join(names)})" if names else "is not known"
        return f"The GPU of the ranks {why}, so no published figure compares."
    ranks, nodes = len(per_rank), nodes or len({rank.get("host") for rank in per_rank} - {None}) or 1
    precision = "half" if said in HALF else said
    alike = [
        peer
        for peer in PEERS
        if re.search(rf"\b{peer.gpu}\b", names[0].replace("-", " ")) and peer.precision == precision
    ]
    if not alike:
        return f"No figure is published of {names[0]} in {said or 'a precision that is not known'}."
    apart = {peer: (abs(math.log2(peer.ranks / ranks)), abs(math.log2(peer.nodes / nodes))) for peer in alike}
    nearest = sorted(alike, key=lambda peer: apart[peer])[:_SHOWN]
    where = "half precision" if precision == "half" else precision
    shown = "; ".join(
        f"{_number(peer.rate)} images/s on {peer.nodes} x {peer.per_node}"
        + (f", {_number(peer.rate / peer.ranks)} each" if peer.ranks > 1 else "")
        + f" ({peer.system}; {SHORT[peer.source]})"
        for peer in sorted(nearest, key=lambda peer: peer.ranks)
    )
    return f"Others with {nearest[0].gpu} in {where}: {shown}."


def _all_reduce(limits: Mapping[str, Any]) -> str:
    link, nics = limits.get("nic_link_gbit_per_s"), limits.get("nics_per_node")
    if not link:
        return "The link of the NICs is not known, so no published figure compares."
    rows = [row for row in ALL_REDUCE if row[0] == link and row[1] in (None, nics)]
    if not rows:
        return f"No figure is published of {nics or 'so many'} NIC(s) of {link:g} Gb/s per node."
    shown = (f"{text} ({', '.join(filter(None, (system, SHORT[source])))})" for *_of, text, system, source in rows)
    return f"Others, {link:g} Gb/s: {'; '.join(shown)}."


def _one_nic(limits: Mapping[str, Any]) -> str:
    rows = [row for row in ONE_NIC if row[0] in (None, limits.get("nic_link_gbit_per_s"))]
    return "Others: " + "; ".join(f"{text} ({SHORT[source]})" for _link, text, source in rows) + "."


def _number(value: Any) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
