"""Whatever mpirun does to a sound log of several ranks - mix, glue, tag, cut - no figure changes hands or is lost."""

from __future__ import annotations

import json
from typing import Any, Callable, Iterable

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import (
    horovod,
    mxnet_bandwidth,
    mxnet_speed,
    nccl_tests,
    perftest,
    tf_cnn,
    torch_ranks,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .logs import LOGS, OWN, READERS, chunked, log, mixed, written

QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
CHUNKS = st.composite(chunked)
NOISE = "".join(
    f"gpu{{0}}:25668:2739{n} [{{0}}] NCCL INFO Channel 0{n}/0 : {{0}}[0] -> 1[0] via NET/IB/0\n" for n in range(3)
)


def tf_cnn_streams() -> dict[int, str]:
    return {
        rank: "Model:       resnet50\nBatch size:  12 global\n             4 per device\nDone warm up\n"
        + "Step\tImg/sec\ttotal_loss\n"
        + NOISE.format(rank)
        + "".join(f"{step}\timages/sec: {100 + rank}.0 +/- 0.5 (jitter = 1.2)\t7.50{rank}\n" for step in (1, 10, 20))
        + f"{'-' * 64}\ntotal images/sec: 303.0{rank}\n{'-' * 64}\n"
        for rank in range(3)
    }


def machine_streams() -> dict[int, str]:
    return {
        rank: NOISE.format(rank)
        + "ROCEMESH "
        + json.dumps(
            {
                "rank": rank,
                "world": 3,
                "host": f"gpu{rank}",
                "images_per_second": 10.0 + rank,
                "total_images_per_second": 33.0,
                "step": {"min_ms": 1.0, "mean_ms": 2.0, "max_ms": 3.0},
            }
        )
        + "\nbye\n"
        for rank in range(3)
    }


def one_writer(name: str) -> dict[int, str]:
    """A tool of which only rank 0 prints the table; the others print NCCL's lines."""
    lines = log(name).splitlines(keepends=True)
    table = "".join(lines if len(lines) < 30 else lines[:14] + lines[-8:])
    return {0: table, 1: NOISE.format(1), 2: NOISE.format(2)}


def perftest_table() -> str:
    text = log("perftest_both_ends.txt")
    return "                    RDMA_Write BW Test\n" + text[text.rindex("#bytes") :]


def speed_streams() -> dict[int, str]:
    return {
        rank: "".join(
            f"INFO:root:Epoch[0] Batch[{n}]\tSpeed: {100 * rank + n}.50 samples/sec\tloss=7.1\n" for n in range(5)
        )
        for rank in range(3)
    }


# name -> (reader, streams, the figures of a result with their rank)
def tf_cnn_facts(result: Any) -> set[Any]:
    return {(step.rank, step.step, step.images_per_second) for step in result.steps} | {
        ("total", total) for total in result.totals
    }


def torch_facts(result: Any) -> set[Any]:
    return {json.dumps(dict(record), sort_keys=True) for run in result.parts for record in run.ranks}


def nccl_facts(result: Any) -> set[Any]:
    return {
        (table.source, row.size, row.out_of_place and row.out_of_place.busbw, row.in_place and row.in_place.busbw)
        for table in result.parts
        for row in table.rows
    }


def perftest_facts(result: Any) -> set[Any]:
    return {(row.bytes, row.gigabytes_per_second) for test in result.parts for row in test.bandwidth.values()}


def bandwidth_facts(result: Any) -> set[Any]:
    return {
        (run.command, entry.iteration, entry.seconds, entry.gigabytes_per_second)
        for run in result.parts
        for entry in run.iterations
    }


def speed_facts(result: Any) -> set[Any]:
    return {(source.rank, speed) for source in result.parts for speed in source.speeds.entries}


def horovod_facts(result: Any) -> set[Any]:
    totals = {run.total for run in result.parts if run.total}
    return {entry for run in result.parts for entry in run.iterations} | totals


CASES: dict[str, tuple[Callable[[Iterable[bytes]], Any], dict[int, str], Callable[[Any], set[Any]]]] = {
    "tf_cnn": (tf_cnn.read, tf_cnn_streams(), tf_cnn_facts),
    "torch_ranks": (torch_ranks.read, machine_streams(), torch_facts),
    "nccl_tests": (nccl_tests.read, one_writer("nccl_tests_8_gpus_unchecked.txt"), nccl_facts),
    "nccl_tests_root_column": (nccl_tests.read, one_writer("nccl_tests_h100.txt"), nccl_facts),
    "perftest": (perftest.read, {0: perftest_table(), 1: NOISE.format(1)}, perftest_facts),
    "mxnet_bandwidth": (mxnet_bandwidth.read, one_writer("measure_py.txt"), bandwidth_facts),
    "mxnet_speed": (mxnet_speed.read, speed_streams(), speed_facts),
    "horovod": (horovod.read, one_writer("horovod_16_gpus.txt"), horovod_facts),
}


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@QUICK
def test_any_mixing_tagging_and_chunking_gives_the_same_result(name: str, data: st.DataObject) -> None:
    read, streams, facts = CASES[name]
    pieces = data.draw(mixed(streams))
    text = written(pieces, data.draw(st.booleans()))
    expected = read([written(list(streams.items())).encode()])
    got = read(data.draw(CHUNKS(text)))
    assert facts(got) == facts(expected) != set()
    assert by_rank(got.as_dict()) == by_rank(expected.as_dict())


def by_rank(result: dict[str, Any]) -> str:
    """What must be equal; ranks may be found in another order."""
    for key in ("sources", "printed_totals"):
        if key in result:
            result[key] = sorted(result[key], key=str)
    return json.dumps({**result, "problems": sorted(entry["code"] for entry in result["problems"])}, sort_keys=True)


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@QUICK
def test_a_log_that_ends_anywhere_keeps_every_whole_line_and_invents_nothing(name: str, data: st.DataObject) -> None:
    read, streams, facts = CASES[name]
    pieces = data.draw(mixed(streams))
    text = written(pieces)
    end = data.draw(st.integers(0, len(text)))
    got = read([text[:end].encode()])
    got.as_dict()
    # What has arrived of each rank, up to its last newline.
    arrived = dict.fromkeys(streams, "")
    room = end
    for rank, piece in pieces:
        whole = len(written([(rank, piece)]))
        if whole <= room:
            arrived[rank] += piece
        else:
            break
        room -= whole
    lines = {rank: said[: said.rfind("\n") + 1] for rank, said in arrived.items()}
    least = facts(read([written([entry for entry in lines.items() if entry[1]]).encode()]))
    most = facts(read([written(list(streams.items())).encode()]))
    assert least <= facts(got) <= most


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
@settings(QUICK, max_examples=25)
def test_the_size_of_the_chunks_does_not_matter(name: str, data: st.DataObject) -> None:
    text = (LOGS / OWN[name]).read_text()
    assert READERS[name](data.draw(CHUNKS(text))).as_dict() == READERS[name](text).as_dict()


@pytest.mark.parametrize("name", READERS)
@given(data=st.binary(max_size=400), mark=st.sampled_from([b"", b"[1,0]<stdout>:", b"[1,", b"\r", b"\0"]))
@settings(QUICK, max_examples=60)
def test_no_bytes_make_a_reader_raise(name: str, data: bytes, mark: bytes) -> None:
    whole = (LOGS / OWN[name]).read_bytes()[:3000]
    middle = len(data) * 7 % len(whole)
    result = READERS[name]([whole[:middle], mark, data, mark, whole[middle:]]).as_dict()
    json.dumps(result, allow_nan=False)
