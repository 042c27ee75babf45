"""Read one log of MXNet's Speedometer, in the dialects of MXNet, gluon-cv and MLPerf. Pure, streaming.

``Epoch[0] Batch [20]<TAB>Speed: F samples/sec`` and ``Batch [0-20]`` (MXNet), ``Epoch[0] Batch[7]`` and, in its
detectors, ``[Epoch 0][Batch 7], Speed: F samples/sec`` (gluon-cv), with or without ``date time Node[n]`` in front;
``:::MLLOG {json}`` (MLPerf), before it ``:::MLL time key: {json}`` and
``:::MLPv0.5.0 benchmark time (file) key: value``; its ``tracked_stats`` throughput is of the whole cluster. Single
windows may be slow by half in a sound run, so median and mean are both given.

DLPerf's figure of a run (Oneflow-Inc/DLPerf, MxNet/Classification/RN50v1b): of the lines of epoch 0 in gluon-cv's
shape there must be exactly 120; the first 20 are dropped; the mean of the other 100, rounded to 2 decimals.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import re
from typing import Any

from .machine import real
from .reading import Kept, LogReader, Several, finite, names, number, positive, shown, spread
from .tables import Patterns
from .tags import Line

WINDOWS, DROPPED = 120, 20
_SOURCES = 1024
_KEPT = 1 << 14
_CLOCK_SLACK = 1.0  # seconds: loggers of one process may overtake each other a little
_SLOW = 0.9

_LINES = Patterns("mxnet_speed.yml")


@dataclasses.dataclass
class Windows:
    """What one source said: a tagged rank, a node, or the only one. Speeds in samples/s. ``twin``: above 0 of a further
    worker or run without a name, which says another speed of the same batch, or goes back to an earlier one."""

    rank: int | None
    node: int | None
    twin: int = 0
    speeds: Kept = dataclasses.field(default_factory=lambda: Kept(_KEPT))
    # gluon-cv's of epoch 0, at most one more than DLPerf wants
    first_epoch: list[float] = dataclasses.field(default_factory=list)
    windows_of_first_epoch: int = 0
    sick: int = 0
    clock: float | None = None
    last: tuple[int, int, str] | None = None  # epoch, batch and speed of the window before

    def as_dict(self) -> dict[str, Any]:
        speeds = finite(self.speeds.entries)
        statistics = spread(speeds)
        median = statistics["median"]
        slow = sum(speed < _SLOW * median for speed in speeds) if median else 0
        said = {"windows": self.speeds.seen, "samples_per_second": statistics, "slow_windows": slow}
        return shown(self, "rank", "node", **said)


class SpeedLog(Several[Windows]):
    """``figure``: DLPerf's figure of this run (samples/s), None if its rule does not apply."""

    @property
    def good(self) -> bool:
        return bool(self.parts or "throughput" in self.more["mlperf"]) and not self.problems


class Reader(LogReader[SpeedLog]):
    """``windows``, ``dropped``: of DLPerf's rule."""

    name = "mxnet_speed"
    wants = "speed line of MXNet (samples/sec)"
    needles = (b" samples/sec", b":::ML", b"Epoch[0] Batch[", b"ime cost", b"] Training cost: ", b"] Train-")

    def __init__(self, windows: int = WINDOWS, dropped: int = DROPPED) -> None:
        super().__init__()
        self._windows = windows
        self._dropped = dropped
        self._sources: dict[tuple[int | None, int | None, int], Windows] = {}
        self._silent = 0
        self._round = 1  # the epoch of the R package
        self._epochs: dict[int, dict[str, float | None]] = {}
        self._mlperf: dict[str, Any] = {}
        self._mlperf_clock: dict[int | None, float] = {}
        self._throughput = Kept(_KEPT)

    def line(self, line: Line) -> None:
        text = line.text
        if entry := _LINES["mllog"].search(text):
            self._mllog(line.rank, text[entry.end() :])
            text = text[: entry.start()]
        if older := _LINES["mll"].search(text):
            self._mll(line.rank, older)
            text = text[: older.start()]
        # R-package/R of MXNet counts epochs from 1, and names an epoch behind its windows.
        if ended := _LINES["round"].match(text):
            self._round = int(ended["epoch"]) + 1
        elif "Epoch[" not in text:
            text = _LINES["window_of_round"].sub(f"Epoch[{self._round}] ", text)
        if windows := [*_LINES["window"].finditer(text)]:
            node = _LINES["node"].search(text)
            source = self._source(line.rank, None if node is None else int(node["node"]))
            for match in windows:
                self._window(source, match)
            self._clock(source, text)
        elif (summary := _LINES["summary"].search(text)) and (summary["speed"] or summary["seconds"]):
            if len(self._epochs) < _KEPT:
                speed, seconds = (number(summary[name] or "") for name in ("speed", "seconds"))
                self._epochs.setdefault(int(summary["epoch"]), {"samples_per_second": speed, "seconds": seconds})
        elif _LINES["silent"].search(text):
            self._silent += 1

    def found(self) -> SpeedLog:
        problems = self.problems
        sources = tuple(self._sources.values())
        for source in sources:
            problems.add_if(source.sick, "not_finite", count=source.sick, source=_name(source))
        problems.add_if(len(sources) > 1, "several_sources", sources=names(map(_name, sources)))
        problems.add_if(self._silent and not sources, "lines_without_speed", count=self._silent)
        if self._throughput.seen:
            self._mlperf["throughput"] = spread(self._throughput.entries)
        status = self._mlperf.get("status")
        problems.add_if(status not in (None, "success"), "aborted", status=status)
        last = max((source.last[0] for source in sources if source.last), default=0)
        closed = max(self._epochs, default=self._round - 1 or last)
        problems.add_if(closed < last, "unfinished", epoch=last, closed=closed)
        self.ended(sources or self._throughput.seen)
        first = [source for source in sources if source.first_epoch]
        more = {
            "figure": self._figure(first[0]) if len(first) == 1 else None,
            "windows_of_first_epoch": sum(source.windows_of_first_epoch for source in sources),
            "lines_without_speed": self._silent,
            "epochs": [{"epoch": epoch, **figures} for epoch, figures in self._epochs.items()],
            "mlperf": self._mlperf,
        }
        return SpeedLog("sources", sources, problems.all(), more)

    def _figure(self, source: Windows) -> float | None:
        speeds = source.first_epoch
        if len(speeds) != self._windows or not all(math.isfinite(speed) for speed in speeds):
            return None
        kept = speeds[self._dropped :]
        return (round(math.fsum(kept) / len(kept), 2) if kept else 0) or None

    def _window(self, source: Windows, match: re.Match[str]) -> None:
        # With several metrics MXNet prints one window once for each of them, in lines that follow each other.
        window = (int(match["epoch"]), int(match["batch"]), match["speed"])
        while source.last and source.last[:2] >= window[:2] and source.last != window:
            source = self._source(source.rank, source.node, source.twin + 1)
        again, source.last = source.last == window, window
        if again:
            return
        speed = positive(match["speed"]) or math.nan
        source.sick += math.isnan(speed)
        source.speeds.add(speed)
        source.windows_of_first_epoch += window[0] == 0
        if window[0] == 0 and match["dialect"] == " Batch[" and len(source.first_epoch) <= self._windows:
            source.first_epoch.append(round(speed, 2) if math.isfinite(speed) else speed)

    def _clock(self, source: Windows, text: str) -> None:
        if not (date := _LINES["date"].search(text)):
            return
        try:
            now = datetime.datetime.fromisoformat(f"{date['date']}.{date['milliseconds']}+00:00").timestamp()
        except ValueError:
            self.problems.add("clock_backwards/no_time", source=_name(source), date=date["date"])
            return
        if source.clock is not None and now < source.clock - _CLOCK_SLACK:
            back = source.clock - now
            self.problems.add("clock_backwards", source=_name(source), seconds=back, date=date["date"])
        source.clock = now

    def _mll(self, rank: int | None, match: re.Match[str]) -> None:
        """A line of v0.5 or v0.6: of the value alone, or of value and metadata."""
        try:
            entry = json.loads(match["value"] or "null")
        except (ValueError, RecursionError):
            entry = match["value"]
        entry = entry if isinstance(entry, dict) and {"value", "metadata"} & entry.keys() else {"value": entry}
        self._entry(rank, match["key"], entry.get("value"), entry.get("metadata"), float(match["time"]))

    def _mllog(self, rank: int | None, text: str) -> None:
        try:
            entry, _end = json.JSONDecoder().raw_decode(text)
            key, value, metadata = str(entry["key"]), entry["value"], entry.get("metadata")
            time = float(entry["time_ms"]) / 1000
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            self.problems.add("unreadable_mllog", error=error, line=text[:160])
            return
        self._entry(rank, key, value, metadata, time)

    def _entry(self, rank: int | None, key: str, value: Any, metadata: Any, time: float) -> None:
        before = self._mlperf_clock.get(rank)
        if before is not None and time < before - _CLOCK_SLACK:
            self.problems.add("clock_backwards/mlperf", seconds=before - time, key=key)
        if rank in self._mlperf_clock or len(self._mlperf_clock) < _SOURCES:
            self._mlperf_clock[rank] = time
        if key in ("tracked_stats", "throughput"):
            throughput = real(value.get("throughput") if isinstance(value, dict) else value)
            if throughput is not None and throughput > 0:
                self._throughput.add(throughput)
        elif key == "run_stop" and isinstance(metadata, dict):
            self._mlperf["status"] = str(metadata.get("status"))[:80]
        elif key == "eval_accuracy":
            self._mlperf["eval_accuracy"] = real(value)
        elif key in ("submission_platform", "global_batch_size", "submission_benchmark", "submission_org"):
            self._mlperf.setdefault(key, value if isinstance(value, (int, float)) else str(value)[:200])

    def _source(self, rank: int | None, node: int | None, twin: int = 0) -> Windows:
        key = rank, node, twin
        if key not in self._sources and len(self._sources) >= _SOURCES:
            self.problems.add("too_many_sources", most=_SOURCES)
            return Windows(*key)
        return self._sources.setdefault(key, Windows(*key))


def _name(source: Windows) -> str:
    name = "the log" if source.node is None else f"node {source.node}"
    name = name if source.rank is None else f"rank {source.rank}"
    return f"{name} (worker or run {source.twin + 1})" if source.twin else name


read = Reader.read
