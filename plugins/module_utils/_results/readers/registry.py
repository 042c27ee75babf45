"""All kinds of logs that can be read. What each of them takes and gives: docs/readers.yml.

A new kind is a reader in a file of its own and an entry in `KINDS`. The filter ``read_log``, docs/readers.md and the
tests of all readers take it from here.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Callable, Iterable, Mapping

from . import (
    answers,
    horovod,
    mxnet_bandwidth,
    mxnet_scaling,
    mxnet_speed,
    nccl_log,
    nccl_tests,
    perf_tables,
    perftest,
    tf_cnn,
    timm,
    torch_ranks,
)
from .reading import Source, integer, is_path, source_of


@dataclasses.dataclass(frozen=True)
class Option:
    """A whole number that a reader may be given."""

    name: str
    default: int | None = None
    least: int = 1

    def value(self, given: Any) -> int | None:
        """Also of a number that Jinja made a text. Raises ValueError."""
        if given is None:
            return self.default
        found = integer(str(given).strip())  # of a bool it finds none
        if found is None or found < self.least:
            raise ValueError(f"{self.name} {given!r} is not a whole number of at least {self.least}")
        return found


@dataclasses.dataclass(frozen=True)
class Kind:
    """``read``: (the log, the options in their order) -> plain data."""

    name: str
    read: Callable[..., dict[str, Any]]
    options: tuple[Option, ...] = ()

    def result(self, log: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ValueError (not a log, or an option that this kind does not take) and OSError (no such file)."""
        known = [option.name for option in self.options]
        foreign = sorted(name for name, value in given.items() if value is not None and name not in known)
        if foreign:
            raise ValueError(
                f"{self.name} does not take {', '.join(foreign)}; it takes {', '.join(known) or 'no option'}"
            )
        return self.read(log, *(option.value(given.get(option.name)) for option in self.options))


_RANKS = Option("ranks")  # how many were started


def _whole(read: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    return lambda log, *options: read(source_of(log), *options).as_dict()


def _speed(log: Any, repeats: int | None, windows: int, dropped: int) -> dict[str, Any]:
    """One log, a tree of logs (a folder, or path to text), or the table that DLPerf printed."""
    if dropped >= windows:
        raise ValueError(f"dropped {dropped} must be less than windows ({windows})")
    files: Iterable[tuple[str, Source]] | None = None
    if isinstance(log, Mapping):
        if not all(isinstance(text, (str, bytes)) for text in log.values()):
            raise ValueError("a tree is a dictionary of path to text")
        files = [(str(path), text) for path, text in log.items()]
    elif isinstance(log, str) and is_path(log) and os.path.isdir(log):
        files = mxnet_scaling.tree_files(log)
    if files is not None:
        return {"kind": "tree", **mxnet_scaling.read_tree(files, repeats, windows, dropped).as_dict()}
    found = mxnet_speed.read(source_of(log), windows, dropped)
    if not found.parts and not found.more["mlperf"]:
        printed = mxnet_scaling.read_printed(source_of(log), repeats)
        if printed.parts:
            return {"kind": "printed", **printed.as_dict()}
    return {"kind": "log", **found.as_dict()}


KINDS: tuple[Kind, ...] = (
    Kind("tf_cnn", _whole(tf_cnn.read), (_RANKS,)),
    Kind("torch_ranks", _whole(torch_ranks.read), (_RANKS,)),
    Kind("answers", _whole(answers.read), (_RANKS,)),
    Kind("nccl_log", _whole(nccl_log.read)),
    Kind("nccl_tests", _whole(nccl_tests.read), (_RANKS, Option("hosts"))),
    Kind("perftest", _whole(perftest.read)),
    Kind("horovod", _whole(horovod.read), (_RANKS,)),
    Kind("timm", _whole(timm.read)),
    Kind(
        "mxnet_speed",
        _speed,
        (Option("repeats"), Option("windows", mxnet_speed.WINDOWS), Option("dropped", mxnet_speed.DROPPED, 0)),
    ),
    Kind("mxnet_bandwidth", _whole(mxnet_bandwidth.read)),
    Kind("perf_tables", _whole(perf_tables.read)),
)

BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}
