"""What the tests of the log readers share: the recorded logs, all readers, and mpirun's way of mixing ranks."""

from __future__ import annotations

import pathlib
from typing import Any, Callable, Mapping, Sequence

from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import (
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
from hypothesis import strategies as st

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
LOGS = FIXTURES / "logs"

READERS: dict[str, Callable[[Any], Any]] = {
    "tf_cnn": tf_cnn.read,
    "torch_ranks": torch_ranks.read,
    "nccl_tests": nccl_tests.read,
    "perftest": perftest.read,
    "mxnet_bandwidth": mxnet_bandwidth.read,
    "mxnet_speed": mxnet_speed.read,
    "mxnet_scaling": mxnet_scaling.read_printed,
    "perf_tables": perf_tables.read,
    "horovod": horovod.read,
    "nccl_log": nccl_log.read,
    "timm": timm.read,
}
# reader -> a log that it reads
OWN = {
    "tf_cnn": "../guide_sample.txt",
    "torch_ranks": "torch_text_form.txt",
    "nccl_tests": "nccl_tests_16_ranks_roce.txt",
    "perftest": "perftest_both_ends.txt",
    "mxnet_bandwidth": "measure_py.txt",
    "mxnet_speed": "mlperf_resnet.txt",
    "mxnet_scaling": "dlperf_extractor.txt",
    "perf_tables": "mxnet_perf_tables.txt",
    "horovod": "horovod_16_gpus.txt",
    "nccl_log": "nccl_two_hosts.txt",
    "timm": "timm_benchmark.txt",
}


def log(name: str) -> str:
    return (LOGS / name).read_text()


def codes(result: Any) -> list[str]:
    """The problems of a result, those of its parts included."""
    return [problem["code"] for problem in result.as_dict()["problems"]]


def tag(rank: int, text: str, stream: str = "stdout") -> str:
    """A piece of one rank's output as Open MPI 4.1 writes it: a tag at its start and after each newline in it."""
    mark = f"[1,{rank}]<{stream}>:"
    body = text[:-1].replace("\n", "\n" + mark) + "\n" if text.endswith("\n") else text.replace("\n", "\n" + mark)
    return mark + body


def cuts(draw: st.DrawFn, text: str, most: int = 6) -> list[str]:
    """``text`` in pieces, cut anywhere."""
    edges = [0, *sorted(draw(st.lists(st.integers(0, len(text)), max_size=most))), len(text)]
    return [text[start:end] for start, end in zip(edges, edges[1:]) if start < end]


@st.composite
def mixed(draw: st.DrawFn, streams: Mapping[int, str]) -> list[tuple[int, str]]:
    """What mpirun reads, in its order: (rank, piece); each rank's pieces in order, cut anywhere, ranks as they come."""
    parts = {rank: cuts(draw, text) for rank, text in streams.items()}
    order = draw(st.permutations([rank for rank, pieces in parts.items() for _piece in pieces]))
    return [(rank, parts[rank].pop(0)) for rank in order]


def written(pieces: Sequence[tuple[int, str]], dated: bool = False) -> str:
    """The output that mpirun makes of it."""
    text = "".join(tag(rank, piece) for rank, piece in pieces)
    return text if not dated else text.replace("[1,", "Sat Nov 21 07:42:28 2026[1,")


def chunked(draw: st.DrawFn, text: str) -> list[bytes]:
    return [piece.encode() for piece in cuts(draw, text, 8)]
