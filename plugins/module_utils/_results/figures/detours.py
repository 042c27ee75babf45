"""GPUDirect and the detour through host memory, measured alike: which figures belong together. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Sequence

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
    found = []
    for row in bandwidth:
        if row.get("path") == DIRECT:
            other = _alike(row, bandwidth, ("network", "ranks", "size_bytes"), {"path": HOST})
            found += _pair(f"all-reduce of {row.get('network')}, {row.get('ranks')} ranks", row, other, True, limits)
    for row in perftest:
        if row.get("memory") == "GPU":
            alike = ("from", "to", "test", "size_bytes", "bidirectional", "queue_pairs", "device")
            other = _alike(row, perftest, alike, {"memory": "host"})
            found += _pair(perftest_label(row), row, other, False, limits)
    return tuple(found)


def bandwidth_label(row: Mapping[str, Any]) -> str:
    return f"{row['network']} over {row['path']}, {row['ranks']} ranks"


def perftest_label(row: Mapping[str, Any]) -> str:
    ends = f"{row.get('from', '?')} to {row.get('to', '?')}"
    return f"perftest {row.get('test', '')} {ends}, {row.get('size_bytes')} bytes"


def _alike(
    row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], same: Sequence[str], other: Mapping[str, str]
) -> Mapping[str, Any] | None:
    return next(
        (
            each
            for each in rows
            if all(each.get(key) == value for key, value in other.items())
            and all(each.get(key) == row.get(key) for key in same)
        ),
        None,
    )


def _pair(
    what: str,
    direct: Mapping[str, Any],
    host: Mapping[str, Any] | None,
    staged: bool,
    limits: Mapping[str, float | None],
) -> list[Detour]:
    figures = [row.get("gb_s") if row else None for row in (direct, host)]
    if not all(isinstance(figure, (int, float)) and figure > 0 for figure in figures):
        return []
    label = bandwidth_label(direct) if staged else perftest_label(direct)
    return [Detour(what, float(figures[0] or 0), float(figures[1] or 0), staged, limits.get(label))]
