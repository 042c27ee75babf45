"""GPUDirect and the detour through host memory, measured alike: which figures belong together. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator, Mapping, Sequence

from .limits import is_positive
from .statistics import groups

DIRECT, HOST = "gpu_direct", "gpu_host"
_Rows = Sequence[Mapping[str, Any]]


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


def pairs(bandwidth: _Rows, perftest: _Rows, limits: Mapping[str, float | None]) -> Iterator[Detour]:
    """Rows of bandwidth.json (``path``, ``gb_s``) and perftest.json (``memory``, ``gb_s``). ``limits``: what
    `bandwidth_label` and `perftest_label` return -> the wire's limit in GB/s."""
    for direct, host in _alike(bandwidth, "path", DIRECT, HOST, ("network", "ranks", "size_bytes")):
        what = f"all-reduce of {direct.get('network')}, {direct.get('ranks')} ranks"
        yield Detour(what, direct["gb_s"], host["gb_s"], True, limits.get(bandwidth_label(direct)))
    same = ("from", "to", "test", "size_bytes", "bidirectional", "queue_pairs", "device")
    for direct, host in _alike(perftest, "memory", "GPU", "host", same):
        what = perftest_label(direct)
        yield Detour(what, direct["gb_s"], host["gb_s"], False, limits.get(what))


def bandwidth_label(row: Mapping[str, Any]) -> str:
    return f"{row['network']} over {row['path']}, {row['ranks']} ranks"


def perftest_label(row: Mapping[str, Any]) -> str:
    ends = f"{row.get('from', '?')} to {row.get('to', '?')}"
    return f"perftest {row.get('test', '')} {ends}, {row.get('size_bytes')} bytes"


def _alike(
    rows: _Rows, key: str, direct: str, host: str, same: Sequence[str]
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Each row whose ``key`` is ``direct`` with the first one that is ``host`` and has the same values of ``same``."""
    for alike in groups(rows, same).values():
        known = [row for row in alike if is_positive(row.get("gb_s"))]
        others = [row for row in known if row.get(key) == host]
        yield from ((row, others[0]) for row in known if others and row.get(key) == direct)
