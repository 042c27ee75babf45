"""DLPerf's scaling table from its tree of logs, or from what its extractor printed. The rule is Oneflow-Inc/DLPerf's.

A tree is ``<case>/<model>_b<batch>_<precision>_<run>.log``, a case ``<nodes>n<GPUs per node>g`` (4n8g: 32 GPUs).
A run's figure: see `mxnet_speed`. Of a case: mean and median of its runs; the speed-up is the median divided by the
median of 1n1g; all rounded to 2 decimals. Besides that here: efficiency against one GPU AND against one full node (a
loss inside the node must not be charged to the network), more than nine nodes, and runs that are missing or broken are
left out and named, where the original stops.

Pure but for `tree_files`, which reads a folder.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
import statistics
from typing import Any, Iterable, Iterator, Mapping, Tuple

from .mxnet_speed import DROPPED, WINDOWS, SpeedLog
from .mxnet_speed import read as read_log
from .reading import LogReader, Several, Source, file_pieces, integer, names, number, shown
from .tables import Patterns
from .tags import Line

_FILES = 1 << 14
_ONE_GPU = "1n1g"
_KEY = Tuple[str, int, str]

_LINES = Patterns("mxnet_scaling.yml")


@dataclasses.dataclass
class Case:
    """``runs``: number of the run -> its figure (samples/s)."""

    name: str
    nodes: int
    gpus_per_node: int
    runs: dict[int, float] = dataclasses.field(default_factory=dict)

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node

    @property
    def average(self) -> float:
        return round(math.fsum(self.runs.values()) / len(self.runs), 2)

    @property
    def median(self) -> float:
        return round(statistics.median(self.runs.values()), 2)


@dataclasses.dataclass
class Group:
    """The cases of one model, batch size per GPU and precision."""

    model: str
    batch_size: int
    precision: str
    cases: dict[str, Case] = dataclasses.field(default_factory=dict)

    @property
    def measured(self) -> dict[str, Case]:
        """The cases that have a run, by their names, the smallest first."""
        found = sorted((case for case in self.cases.values() if case.runs), key=lambda case: (case.gpus, case.nodes))
        return {case.name: case for case in found}

    def speedup(self, case: Case) -> float | None:
        one = self.measured.get(_ONE_GPU)
        return None if one is None else round(case.median / one.median, 2)

    def result(self) -> dict[str, Any]:
        """The seed's JSON: model -> case -> its keys."""
        return {self.model: {name: self._speeds(case) for name, case in self.measured.items()}}

    def _speeds(self, case: Case) -> dict[str, Any]:
        return {
            "average_speed": case.average,
            "batch_size_per_device": self.batch_size,
            "median_speed": case.median,
            "speedup": self.speedup(case),
        }

    def as_dict(self) -> dict[str, Any]:
        cases = [self._case(case) for case in self.measured.values()]
        said = {"batch_size_per_device": self.batch_size, "result": self.result(), "cases": cases}
        return shown(self, "model", "precision", **said)

    def _case(self, case: Case) -> dict[str, Any]:
        one, node = map(self.measured.get, (_ONE_GPU, f"1n{case.gpus_per_node}g"))
        figures = case.runs.values()
        return shown(
            case,
            *("nodes", "gpus_per_node", "gpus"),
            case=case.name,
            runs=[{"run": run, "samples_per_second": figure} for run, figure in sorted(case.runs.items())],
            **self._speeds(case),
            relative_spread=(max(figures) - min(figures)) / case.median,
            efficiency={
                "one_gpu": None if one is None else case.median / (case.gpus * one.median),
                "one_node": None if node is None else case.median / (case.nodes * node.median),
            },
        )


class Reader(LogReader[Several[Group]]):
    """What DLPerf's extractor printed: one line per log with the runs so far, then the table.

    ``repeats``: runs per case; None: as many as the fullest has.
    """

    name = "mxnet_scaling"
    wants = "line of DLPerf's extractor"
    needles = (b".log {", b"'average_speed': ", b"'median_speed': ", b"'speedup': ")

    def __init__(self, repeats: int | None = None) -> None:
        super().__init__()
        self._repeats = repeats
        self.groups: dict[_KEY, Group] = {}
        self._lines = 0
        self._case: str | None = None
        self._printed: dict[tuple[str, str], float | None] = {}

    def line(self, line: Line) -> None:
        text = line.text.strip()
        if (match := _LINES["printed"].match(text)) and (name := _LINES["name"].search(match["path"])):
            self._lines += 1
            if self._lines <= _FILES:
                self._runs(self.case(name), match["path"], match["runs"])
            return
        if case := _LINES["case"].search(text):
            self._case = case["case"]
        for value in _LINES["value"].finditer(text):
            if self._case is not None and len(self._printed) < _FILES:
                self._printed[self._case, value["key"]] = number(value["value"])

    def found(self) -> Several[Group]:
        self.ended(self._lines)
        if len(self.groups) == 1:
            self._compare(next(iter(self.groups.values())))
        return self.scaling()

    def case(self, name: re.Match[str]) -> Case:
        """The case that the path of a log names."""
        key = (name["model"], int(name["batch"]), name["precision"])
        cases = self.groups.setdefault(key, Group(*key)).cases
        return cases.setdefault(name["case"], Case(name["case"], int(name["nodes"]), int(name["gpus"])))

    def scaling(self, ignored: Iterable[str] = ()) -> Several[Group]:
        """``result``: the seed's JSON of the only group; None with none or several."""
        for group in self.groups.values():
            wanted = self._repeats or max(len(case.runs) for case in group.cases.values())
            label = f"{group.model} batch {group.batch_size} {group.precision}"
            for case in group.cases.values():
                said = {"case": case.name, "runs": len(case.runs), "wanted": wanted}
                self.problems.add_if(len(case.runs) < wanted, "missing_runs", cases=label, **said)
            self.problems.add_if(group.measured and _ONE_GPU not in group.measured, "no_baseline", cases=label)
        groups = tuple(group for _key, group in sorted(self.groups.items()) if group.measured)
        result = groups[0].result() if len(groups) == 1 else None
        return Several("groups", groups, self.problems.all(), {"result": result, "ignored": tuple(ignored)})

    def _runs(self, case: Case, path: str, text: str) -> None:
        for entry in _LINES["run"].finditer(text):
            run, figure = integer(entry["run"]), number(entry["figure"])
            if run is None or figure is None or not math.isfinite(figure) or figure < 0.01:
                self.problems.add("unusable_run/printed", path=path, **entry.groupdict())
            elif case.runs.setdefault(run, figure) != figure:
                said = {"run": run, "case": case.name, "figure": figure, "before": case.runs[run]}
                self.problems.add("run_twice/printed", path=path, **said)

    def _compare(self, group: Group) -> None:
        """The table that is printed must be the one that its runs give."""
        computed: Mapping[str, Any] = group.result()[group.model]
        for (case, key), value in self._printed.items():
            mine = computed.get(case, {}).get(key)
            if mine is not None and (value is None or not abs(value - mine) < 0.0101):
                self.problems.add("table_disagrees", case=case, key=key, printed=value, computed=mine)


def read_tree(
    files: Iterable[tuple[str, Source]],
    repeats: int | None = None,
    windows: int = WINDOWS,
    dropped: int = DROPPED,
) -> Several[Group]:
    """``files``: (path inside the tree, its log); ``repeats``: as in `Reader`.

    OSError while a file is read is a problem of that file.
    """
    table = Reader(repeats)
    named = [(path, _LINES["name"].search(path), log) for path, log in sorted(files, key=lambda entry: entry[0])]
    ignored = [path for path, name, _log in named if not name][:100]
    logs = [(path, name, log) for path, name, log in named if name]
    table.problems.add_if(len(logs) > _FILES, "too_many_logs", most=_FILES)
    for path, name, source in logs[:_FILES]:
        case = table.case(name)
        try:
            log = read_log(source, windows, dropped)
        except OSError as error:
            table.problems.add("unreadable_log", path=path, error=error.strerror)
            continue
        run = int(name["run"])
        if log.more["figure"] is None:
            table.problems.add("unusable_run", path=path, why=_why(log, windows))
        elif run in case.runs:
            table.problems.add("run_twice", path=path, run=run, case=case.name)
        else:
            case.runs[run] = log.more["figure"]
    if not logs:
        found = f"; found {names(ignored, 5)}" if ignored else "; the folder is empty"
        table.problems.add("no_result/tree", found=found)
    return table.scaling(ignored)


def _why(log: SpeedLog, windows: int) -> str:
    first = log.more["windows_of_first_epoch"]
    if first == windows:
        return "there are windows without a finite speed or not in the form 'Batch[n]', or several ranks print"
    if first:
        return f"{first} windows of epoch 0 instead of {windows}"
    return "; ".join(problem.message for problem in log.problems) or "no window 'Epoch[0] Batch[n]' with a speed"


def tree_files(folder: str) -> Iterator[tuple[str, Source]]:
    """The files of a folder, for `read_tree`, which opens them. Raises OSError if it cannot be listed."""

    def fail(error: OSError) -> None:
        raise error

    for base, _folders, found in os.walk(folder, onerror=fail):
        for file in found:
            path = os.path.join(base, file)
            yield os.path.relpath(path, folder), file_pieces(path)


read_printed = Reader.read
