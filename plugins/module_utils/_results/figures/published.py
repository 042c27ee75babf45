"""Figures that others printed, to stand beside measured ones. None was measured here; none is a threshold.

They are as printed (published.json), with the doubts that a reader of the source would have. Rates in images/s,
bandwidths in GB/s. Only the controller has that file: Ansible sends no JSON to nodes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

MARK = "published, not measured here"
_DATA: Mapping[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
SOURCES: Mapping[str, str] = _DATA["sources"]
# What `normal` quotes: sources by name; peers; all-reduce bus bandwidth and one connection of perftest by link.
NORMAL: Mapping[str, Any] = _DATA["normal"]
# (name, nodes, ranks, precision, batch per rank, images/s as text, images/s per rank or None, note, source)
TRAINING: Sequence[tuple[str, int, int, str, int, str, float | None, str, str]] = _DATA["training"]
# precision, batch -> [(nodes, GPUs per node, median images/s)]
DLPERF: Mapping[tuple[str, int], Sequence[tuple[int, int, float]]] = {
    (precision, batch): cases for precision, batch, cases in _DATA["dlperf"]
}
# With the keys of a benchmark's row, and a note; ``gb_s``: median per GPU.
BANDWIDTH: Sequence[Mapping[str, Any]] = _DATA["bandwidth"]


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
