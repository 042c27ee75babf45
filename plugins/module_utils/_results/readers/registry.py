"""All kinds of logs that can be read: what each reader takes, and what it gives back.

A new kind is a reader in a file of its own and an entry in `KINDS`. The filter ``read_log``, docs/readers.md and the
tests of all readers take it from here.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import Any, Callable, Mapping, Protocol

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
from .reading import is_path, pieces, source_of


class _Result(Protocol):
    def as_dict(self) -> dict[str, Any]: ...


@dataclasses.dataclass(frozen=True)
class Option:
    """A whole number that a reader may be given."""

    name: str
    description: str
    default: int | None = None
    least: int = 1

    def value(self, given: Any) -> int | None:
        """Also of a number that Jinja made a text. Raises ValueError."""
        if given is None:
            return self.default
        text = str(given).strip()
        if isinstance(given, bool) or not text.isdigit() or int(text) < self.least:
            raise ValueError(f"{self.name} {given!r} is not a whole number of at least {self.least}")
        return int(text)


@dataclasses.dataclass(frozen=True)
class Kind:
    """``read``: (the log, options by name) -> plain data. ``schema``: key of the result -> (type, meaning); a type
    that ends in ``?`` may be null. `COMMON` is part of every result."""

    name: str
    program: str
    notes: tuple[str, ...]
    read: Callable[[Any, Mapping[str, Any]], dict[str, Any]]
    schema: Mapping[str, tuple[str, str]]
    options: tuple[Option, ...] = ()

    def result(self, log: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ValueError (not a log, or an option that this kind does not take) and OSError (no such file)."""
        known = {option.name: option for option in self.options}
        foreign = sorted(name for name, value in given.items() if value is not None and name not in known)
        if foreign:
            raise ValueError(
                f"{self.name} does not take {', '.join(foreign)}; it takes {', '.join(known) or 'no option'}"
            )
        return self.read(log, {name: option.value(given.get(name)) for name, option in known.items()})


COMMON: Mapping[str, tuple[str, str]] = {
    "ok": ("bool", "whether the log is whole and nothing in it is wrong; nothing found is never ok"),
    "problems": ("list", "what is wrong, each with `code` (docs/problems.md) and `message`"),
}
_RANKS = Option("ranks", "How many ranks were started. Left out, the log is believed.")
_HOSTS = Option("hosts", "How many hosts were to take part. Left out, the log is believed.")
_SPREAD = "count, mean, median, min, max, relative_spread"


def _whole(read: Callable[..., _Result]) -> Callable[[Any, Mapping[str, Any]], dict[str, Any]]:
    """A reader that takes the pieces of a log and its options in their order."""

    def result(log: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        return read(source_of(log), *options.values()).as_dict()

    return result


def _speed(log: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """One log, a tree of logs (a folder, or path to text), or the table that DLPerf printed."""
    repeats, total, dropped = options["repeats"], options["windows"], options["dropped"]
    if dropped >= total:
        raise ValueError(f"dropped {dropped} must be less than windows ({total})")
    if isinstance(log, Mapping):
        if not all(isinstance(text, (str, bytes)) for text in log.values()):
            raise ValueError("a tree is a dictionary of path to text")
        files = [(str(path), functools.partial(pieces, text)) for path, text in log.items()]
        return {"kind": "tree", **mxnet_scaling.read_tree(files, repeats, total, dropped).as_dict()}
    if isinstance(log, str) and is_path(log) and os.path.isdir(log):
        return {
            "kind": "tree",
            **mxnet_scaling.read_tree(mxnet_scaling.tree_files(log), repeats, total, dropped).as_dict(),
        }
    found = mxnet_speed.read(source_of(log), total, dropped)
    if not found.sources and not found.mlperf:
        printed = mxnet_scaling.read_printed(source_of(log), repeats)
        if printed.groups:
            return {"kind": "printed", **printed.as_dict()}
    return {"kind": "log", **found.as_dict()}


KINDS: tuple[Kind, ...] = (
    Kind(
        "tf_cnn",
        "tf_cnn_benchmarks, or this collection's ResNet-50, under mpirun",
        (
            "Takes apart the interleaved output of several ranks, tagged or not, also where lines are glued together, "
            "and a numbered listing copied from a web page.",
            "Each rank prints its own running speed and the total of all ranks, so totals are never added and step "
            "lines never averaged. The sum of the ranks must meet the printed total within 1 %.",
        ),
        _whole(tf_cnn.read),
        {
            "ranks": ("int", "how many ranks there are"),
            "total": ("float?", "images/s of all ranks"),
            "sum_of_ranks": ("float?", "sum over the ranks, for comparison"),
            "agreement": ("dict", "`ok`, `relative_difference`"),
            "per_rank": ("list", "`rank`, `host`, `images_per_second`, `source`, `loss`, `machine`"),
            "printed_totals": ("list", "the totals as they were printed"),
            "last_step": ("int?", "the last step that was printed"),
            "step_lines": ("int", "how many lines of steps there are"),
            "parameters": ("dict", "what the program said of itself"),
            "numbered_listing": ("bool", "whether each line has a number of a page in front of it"),
        },
        (_RANKS,),
    ),
    Kind(
        "torch_ranks",
        "the machine lines of this collection's training (`ROCEMESH {json}`, one per rank)",
        (
            "Also reads the file that the training's option `--json` writes.",
            "What the records say twice must be the same: images and seconds give the speed, the sum of the ranks "
            "meets the total within 1 %, all ranks have the same weights.",
            "Several runs in one log are kept apart. Processes that each trained alone are the problem `not_one_job`.",
        ),
        _whole(torch_ranks.read),
        {
            "world": ("int?", "ranks, as they say themselves"),
            "ranks": ("int?", "ranks that have a record"),
            "hosts": ("list?", "their hosts"),
            "total": ("float?", "images/s of all ranks"),
            "sum_of_ranks": ("float?", "sum over the ranks, for comparison"),
            "agreement": ("dict?", "`ok`, `relative_difference`"),
            "images_per_second": ("dict?", f"{_SPREAD} over the ranks"),
            "per_rank": ("list", "the records as the ranks wrote them"),
            "runs": ("list", "the same for each run, with its own `problems` and `slowest_rank`"),
        },
        (_RANKS,),
    ),
    Kind(
        "answers",
        "any program under mpirun with tagged output",
        (
            "Gives the non-empty lines of each rank, also where lines are glued together. mpirun's own lines "
            "are left out.",
        ),
        _whole(answers.read),
        {"answers": ("list", "`rank`, `lines`; in the order of the ranks")},
        (_RANKS,),
    ),
    Kind(
        "nccl_log",
        "NCCL 2.2 to 2.31 with NCCL_DEBUG=INFO",
        (
            "Finds NCCL's lines in any text: the debug files of all ranks behind each other, or mpirun's output.",
            "Says what the lines say; the filter `nccl_path` judges. Written from NCCL's source and from public logs, "
            "not verified on hardware.",
        ),
        _whole(nccl_log.read),
        {
            "found": ("bool", "whether there is a line of NCCL at all"),
            "lines": ("int", "how many"),
            "versions": ("list", "versions of NCCL"),
            "hosts": ("list", "hosts that wrote"),
            "ranks": ("list", "`rank`, `nranks`, `host`, `pid`, `device`, `bus_id`, `comm`, `complete`"),
            "networks": ("dict", "process to names of networks"),
            "hcas": ("list", "`host`, `index`, `name`, `port`, `layer`"),
            "relaxed_ordering": ("bool?", "PCIe relaxed ordering"),
            "sockets": ("dict", "interfaces for the bootstrap"),
            "gdr": ("list", "what NCCL says about GPUDirect RDMA"),
            "channels": (
                "list",
                "`host`, `source`, `target`, `direction`, `kind`, `network`, `device`, `gdr`, `count`, `line`",
            ),
            "environment": ("dict", "variables that NCCL says it took"),
            "notes": ("list", "what NCCL says besides"),
            "warnings": ("list", "NCCL's warnings"),
        },
    ),
    Kind(
        "nccl_tests",
        "nccl-tests (all_reduce_perf and its sisters)",
        (
            "Any number of tables, of all ages of nccl-tests, with lines of NCCL in between.",
            "Tells a real job from processes that each tested themselves, because nccl-tests was built without "
            "`MPI=1`.",
            "`average_busbw` is given as printed and judges nothing, for it averages all sizes.",
        ),
        _whole(nccl_tests.read),
        {
            "one_job": ("bool?", "false if processes tested themselves; null if the log does not tell"),
            "tables": (
                "list",
                "`collective`, `ranks`, `hosts`, `devices`, `bytes`, `rows`, `largest`, `smallest`, `peak_busbw`, "
                "`average_busbw`, `bus_factor`, `checked`, `out_of_bounds`, `nccl_version`, `finished`, `problems`; "
                "GB/s are 1e9",
            ),
        },
        (_RANKS, _HOSTS),
    ),
    Kind(
        "perftest",
        "perftest (ib_write_bw, ib_send_lat and their sisters)",
        (
            "Bandwidth and latency, one size or all, one or both directions, from one end or from both in one log.",
            "MB/sec and MiB/sec of perftest are 2^20 bytes, Gb/sec is 1e9 bits. Each row is checked against its "
            "message rate. A table with columns that are not known is refused and shown.",
        ),
        _whole(perftest.read),
        {
            "tests": (
                "list",
                "`title`, `verb`, `bidirectional`, `unit`, `device`, `link_type`, `mtu`, `gid_index`, `queue_pairs`, "
                "`settings`, `gids`, `gpu_memory`, `bandwidth`, `largest`, `peak_gigabytes_per_second`, `latency`, "
                "`problems`",
            )
        },
    ),
    Kind(
        "horovod",
        "Horovod's synthetic benchmarks (PyTorch, TensorFlow 2, Keras)",
        ("Their total is the speed of rank 0 times the ranks: extrapolated, and `total_is_extrapolated` says so.",),
        _whole(horovod.read),
        {
            "runs": (
                "list",
                "`ranks`, `device`, `per_device`, `plus_minus`, `total`, `total_is_extrapolated`, `iterations`, "
                f"`images_per_second` ({_SPREAD}), `parameters`, `problems`",
            )
        },
        (_RANKS,),
    ),
    Kind(
        "timm",
        "timm's own benchmark program (benchmark.py of pytorch-image-models)",
        (
            "The JSON that it prints after `--result`, or its CSV. One process on one device: several ranks are "
            "several measurements, never added. A batch that it made smaller because memory ran out is a problem.",
            "Written from its source, not recorded from a run.",
        ),
        _whole(timm.read),
        {
            "results": (
                "list",
                "`rank`, `model`, `kind` (train, infer), `images_per_second`, `step_ms`, `batch`, `image_size`, "
                "`precision`, `layout`",
            ),
            "figures": ("list", "of training, as `compare_figures` takes them"),
        },
    ),
    Kind(
        "mxnet_speed",
        "MXNet's Speedometer: one log (MXNet, gluon-cv, MLPerf), DLPerf's tree of logs, or the table that "
        "DLPerf printed",
        (
            "A folder, or a dictionary of path to text, with `<nodes>n<gpus>g/<model>_b<batch>_<precision>_<run>.log` "
            "is a tree; its table follows DLPerf's rule. Runs that are missing or unusable are named and left out.",
            "Windows that are not a number are counted and left out; several ranks that each print a speed are neither "
            "added nor averaged.",
        ),
        _speed,
        {
            "kind": ("str", "`log`, `tree` or `printed`"),
            "figure": ("float?", "of a log: DLPerf's figure of the run, null if its rule does not apply"),
            "windows_of_first_epoch": ("int", "of a log"),
            "lines_without_speed": ("int", "of a log"),
            "sources": (
                "list",
                f"of a log, per rank or node: `windows`, `samples_per_second` ({_SPREAD}), `slow_windows`",
            ),
            "epochs": ("list", "of a log"),
            "mlperf": ("dict", "of a log: MLPerf's own figures"),
            "result": ("dict?", "of a tree or a table: DLPerf's JSON of the only group"),
            "groups": ("list", "of a tree or a table: per model, batch size and precision `result` and `cases`"),
            "ignored": ("list", "of a tree or a table: files that are no run"),
        },
        (
            Option("repeats", "How many runs each case was to have. Left out, as many as the fullest case has."),
            Option("windows", "Windows of epoch 0 that a run must have.", mxnet_speed.WINDOWS),
            Option("dropped", "How many of them are the warm-up.", mxnet_speed.DROPPED, 0),
        ),
    ),
    Kind(
        "mxnet_bandwidth",
        "MXNet's tools/bandwidth/measure.py",
        (
            "Computes the bandwidth of each iteration again from size, GPUs and seconds; a line that does not fit is a "
            "problem.",
            "In the distributed kinds of key-value store the tool counts local GPUs only: `distributed` says so, and "
            "the figure is then not what crossed the wire.",
        ),
        _whole(mxnet_bandwidth.read),
        {
            "runs": (
                "list",
                "`command`, `options`, `network`, `kv_store`, `gpus`, `distributed`, `arrays`, `size_mb` of 1e6 bytes, "
                f"`iterations`, `gigabytes_per_second` and `seconds` ({_SPREAD}), `checked`, `problems`",
            )
        },
    ),
    Kind(
        "perf_tables",
        "the tables of MXNet's performance guide and of DLPerf",
        (
            "Tables that begin with `Batch` (a column per model) or with `node_num` (DLPerf's scaling). Other tables "
            "are passed over. Values are as printed: published, not measured here.",
        ),
        _whole(perf_tables.read),
        {"tables": ("list", "`kind`, `heading`, `device`, `columns`, `rows`, `problems`")},
    ),
)
BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}
OPTIONS: tuple[str, ...] = tuple(dict.fromkeys(option.name for kind in KINDS for option in kind.options))
