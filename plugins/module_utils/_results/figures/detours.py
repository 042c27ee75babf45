"""GPUDirect and the detour through host memory, measured alike: which figures belong together. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator, Mapping, Sequence

from .limits import is_positive
from .statistics import groups

DIRECT, HOST = "gpu_direct", "gpu_host"


@dataclasses.dataclass(frozen=True)
class Detour:
    """``direct`` and ``host`` in GB/s of the same test; ``staged``: the detour starts in GPU memory, so it has to be
    slower (perftest's own buffers lie in host memory from the start, so there it may be as fast); ``limit``: of the
    wire in GB/s, None: not known."""

    what: str
    direct: float
    host: float
    staged: bool
    limit: float | None = None


def pairs(
    bandwidth: Sequence[Mapping[str, Any]], perftest: Sequence[Mapping[str, Any]], limits: Mapping[str, float | None]
) -> tuple[Detour, ...]:
    """Rows of bandwidth.json (``path``, ``gb_s``) and perftest.json (``memory``, ``gb_s``). ``limits``: what
    `direct_label` and `perftest_label` say -> the wire's limit in GB/s."""
    alike = ("from", "to", "test", "size_bytes", "bidirectional", "queue_pairs", "device")
    return (
        *_pairs(bandwidth, limits, key="path", kinds=(DIRECT, HOST), same=("network", "ranks", "size_bytes")),
        *_pairs(perftest, limits, key="memory", kinds=("GPU", "host"), same=alike),
    )


def bandwidth_label(row: Mapping[str, Any]) -> str:
    return f"{row['network']} over {row['path']}, {row['ranks']} ranks"


def perftest_label(row: Mapping[str, Any]) -> str:
    ends = f"{row.get('from', '?')} to {row.get('to', '?')}"
    return f"perftest {row.get('test', '')} {ends}, {row.get('size_bytes')} bytes"


def _pairs(
    rows: Sequence[Mapping[str, Any]],
    limits: Mapping[str, float | None],
    *,
    key: str,
    kinds: tuple[str, str],
    same: Sequence[str],
) -> Iterator[Detour]:
    """Each row of the first kind with a row of the second one that has the same values of ``same``."""
    staged = key == "path"
    label = bandwidth_label if staged else perftest_label
    for alike in groups(rows, same).values():
        host = next((row.get("gb_s") for row in alike if row.get(key) == kinds[1]), None)
        for row in alike:
            direct = row.get("gb_s")
            if row.get(key) == kinds[0] and is_positive(direct) and is_positive(host):
                what = f"all-reduce of {row.get('network')}, {row.get('ranks')} ranks" if staged else label(row)
                yield Detour(what, float(direct), float(host), staged, limits.get(label(row)))
