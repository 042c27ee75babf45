"""Logs that are none: empty, binary, of another program, endless. Every reader says what it found and never 'ok'."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import tracemalloc
from typing import Callable, Iterable, Iterator

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import reading, tags, tf_cnn
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.census import Census
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.reading import (
    Kept,
    Problem,
    Problems,
)

from .logs import LOGS, OWN, READERS, codes

MEBI = 1 << 20
NOISE = random.Random(7).randbytes(4096)

BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the log is empty"),
    "blank": (b" \n\t\n\n", "only white space"),
    "program": (b"\x7fELF\x02\x01\x01" + NOISE, "ELF program"),
    "gzip": (gzip.compress(b"total images/sec: 1.00\n", mtime=0), "unpack it first"),
    "zstd": (b"\x28\xb5\x2f\xfd" + NOISE, "unpack it first"),
    "noise": (b"\x01" + NOISE, "binary data"),
    "zeros": (bytes(5000), "binary data"),
    "web_page": (b"<!doctype html>\n<HTML><body>images</body></html>", "doctype html"),
    "json": (b'{"version": 3, "what": [1, 2]}\n', "beginning with"),
    "iperf": (
        b"[ ID] Interval           Transfer     Bitrate\n[  5]   0.00-1.00   sec  1 GBytes\n",
        "looks like iperf",
    ),
    "playbook": (b"PLAY RECAP *****\nhost : ok=1\n", "ansible-playbook"),
    "nccl_only": (b"gpu01:1:1 [0] NCCL INFO Using network IB\n" * 50, "NCCL's own debug lines"),
    "traceback": (b"Traceback (most recent call last):\n  File x\n", "Python program that failed"),
    "prose": ("Die Messung lief über Nacht.\n".encode(), "Die Messung lief über Nacht."),
    "not_utf8": (b"Messung \xfcber Nacht\n", "Messung \ufffdber Nacht"),
}


# NCCL's own lines are a log of nothing for everybody but their own reader.
@pytest.mark.parametrize(
    ("name", "bad"), [pair for pair in itertools.product(READERS, BAD) if pair != ("nccl_log", "nccl_only")]
)
def test_a_log_of_nothing_is_named_and_never_ok(name: str, bad: str) -> None:
    data, words = BAD[bad]
    result = READERS[name]([data])
    assert codes(result) == ["no_result"]
    assert words in result.as_dict()["problems"][0]["message"]
    assert result.good is False
    assert result.as_dict()["ok"] is False
    json.dumps(result.as_dict(), allow_nan=False)


# The published tables and the extractor's output stand in one page; both are text of their own kind.
@pytest.mark.parametrize(("name", "other"), list(itertools.permutations(READERS, 2)))
def test_the_log_of_another_program_is_named(name: str, other: str) -> None:
    result = READERS[name]((LOGS / OWN[other]).read_text())
    assert codes(result) == ["no_result"]
    assert result.good is False


def test_the_message_names_the_program_and_the_filter_that_reads_it() -> None:
    for name, words in {
        "nccl_tests": "nccl-tests (nccl_tests)",
        "perftest": "perftest (perftest)",
        "mxnet_bandwidth": "measure.py (mxnet_bandwidth)",
        "mxnet_speed": "(mxnet_speed)",
        "horovod": "(horovod)",
        "timm": "(timm)",
        "tf_cnn": "(tf_cnn)",
    }.items():
        reader = READERS["torch_ranks"] if name != "torch_ranks" else READERS["perftest"]
        (problem,) = reader((LOGS / OWN[name]).read_text()).as_dict()["problems"]
        assert words in problem["message"]


@pytest.mark.parametrize(
    ("name", "text", "row"),
    [
        (
            "nccl_tests",
            "size  time  algbw  busbw\n  32_768   43.83    0.75    1.31\n",
            "32_768   43.83    0.75    1.31",
        ),
        ("mxnet_speed", "Round 3: 812.5 samples/sec\n", "Round 3: 812.5 samples/sec"),
        ("horovod", "a step: 90.1 img/sec per GPU\n", "90.1 img/sec"),
        ("nccl_tests", "size  time  algbw  busbw\n 3 NCCL ranks\n", ""),
        ("mxnet_speed", "speed in samples/sec, every 20 batches\n", ""),
    ],
)
def test_rows_of_a_shape_that_is_not_known_are_shown_and_nothing_is_said_to_hang(
    name: str, text: str, row: str
) -> None:
    (problem,) = READERS[name](text).as_dict()["problems"]
    assert (problem["code"], row in problem["message"]) == ("no_result", True)
    assert ("hung" in problem["message"]) is not bool(row)


# --------------------------------------------------------------------------------------------------- runs that failed

TRACE = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    step()\n'
ENDS = {
    "process rank 1 with PID 0 on node gpu02 exited on signal 9 (Killed)": "exited on signal 9",
    "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD": "MPI_ABORT",
    "Primary job  terminated normally, but 1 process returned": "Primary job",
    "Process 2 exit with status code 1.": "status code 1",
    "clush: gpu02: exited with exit code 3": "exit code 3",
    "##[error]Process completed with exit code 1.": "exit code 1",
    "=>> PBS: job killed: walltime 610 exceeded limit 600": "walltime 610",
    '{"error":"exit status 3","level":"fatal"}': "exit status 3",
    "[gpu02:71:0:71] Caught signal 11 (Segmentation fault: address not mapped)": "Caught signal 11",
    f"{TRACE}RuntimeError: out of memory\nLast error:\n": "RuntimeError: out of memory",
    f"{TRACE}Exception": "Exception",
    f"[rank1]: {TRACE}[rank1]: torch.DistError: closed": "torch.DistError: closed",
    f"{TRACE.splitlines()[0]}": "Traceback",
}
LIVES = (
    f"Exception ignored in: <function Pool.__del__ at 0x7f>\n{TRACE}TypeError: 'NoneType' object is not callable",
    "clush: gpu02: exited with exit code 0",
    "the job was killed by hand last week, this one was not",
)
# NCCL's reader has its own words for it; the tables of a page are of no run.
OTHERS = [name for name in READERS if name not in ("nccl_log", "perf_tables")]


@pytest.mark.parametrize(("name", "end"), list(itertools.product(OTHERS, ENDS)))
def test_a_run_that_says_at_its_end_that_it_failed_is_not_ok(name: str, end: str) -> None:
    found = READERS[name](f"{(LOGS / OWN[name]).read_text()}\n{end}\n").as_dict()
    failed = [problem["message"] for problem in found["problems"] if problem["code"] == "failed"]
    assert not found["ok"]
    assert any(ENDS[end] in message for message in failed)


@pytest.mark.parametrize(("name", "line"), list(itertools.product(OTHERS, LIVES)))
def test_what_others_say_at_the_end_of_a_run_is_no_failure(name: str, line: str) -> None:
    assert "failed" not in codes(READERS[name](f"{(LOGS / OWN[name]).read_text()}\n{line}\n"))


def test_a_failure_in_a_page_is_none_of_its_tables() -> None:
    assert READERS["perf_tables"](f"{(LOGS / OWN['perf_tables']).read_text()}\n{TRACE}\n").good


def test_an_exception_that_the_run_got_over_is_none() -> None:
    text = f"{TRACE}ImportError: no module named tensorrt\n{(LOGS / OWN['horovod']).read_text()}"
    assert READERS["horovod"](text).good


# ----------------------------------------------------------------------------------------------- endless lines and logs


def endless(size: int, unit: bytes) -> Iterator[bytes]:
    """One line of ``size`` bytes without its end, in pieces, between two short ones."""
    yield b"hello\n"
    piece = unit * (MEBI // len(unit))
    for _n in range(size // len(piece)):
        yield piece
    yield b"\nbye\n"


def peak(read: Callable[[Iterable[bytes]], object], log: Iterable[bytes]) -> int:
    tracemalloc.start()
    try:
        read(log)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("unit", [b"x", b"1 ", b"\0"], ids=["letters", "numbers", "zeros"])
def test_a_line_without_end_is_named_and_takes_no_memory(name: str, unit: bytes) -> None:
    read = READERS[name]
    small, large = (peak(read, endless(size * MEBI, unit)) for size in (4, 16))
    assert large < small + MEBI // 4
    assert large < 8 * MEBI
    result = read(endless(3 * MEBI, unit))
    assert set(codes(result)) - {"no_result"} == {"overlong_line"}
    assert f"{3 * MEBI - tags.LINE_LIMIT} more" in result.as_dict()["problems"][0]["message"]
    assert result.good is False


def test_a_line_without_end_hides_nothing_around_it() -> None:
    own = (LOGS / OWN["horovod"]).read_bytes()
    result = READERS["horovod"]([own, *endless(MEBI * 2, b"Iter #1: 2 img/sec per GPU "), own])
    assert codes(result) == ["overlong_line"]
    assert [run["total"] for run in result.as_dict()["runs"]] == [3756.0, 3756.0]


def test_a_line_of_carriage_returns_is_many_lines() -> None:
    text = b"1\timages/sec: 5.0 +/- 0.0 (jitter = 0.0)\t7.5\r" * 5_000 + b"\ntotal images/sec: 5.00\n"
    result = tf_cnn.read([text])
    assert (result.step_lines, result.total) == (5_000, 5.0)
    assert "overlong_line" not in codes(result)


def test_a_tag_at_the_cut_of_a_long_line_is_still_a_tag() -> None:
    for shift in range(70):
        front = b"x" * (tags._SPAN - shift)
        lines = tags.Demultiplexer()
        found = [*lines.lines(front), *lines.lines(b"[1,3]<stdout>:hello\n"), *lines.rest()]
        assert [(line.rank, line.text[-5:]) for line in found] == [(None, "xxxxx"), (3, "hello")]


def steps(count: int) -> Iterator[bytes]:
    for number in range(count):
        yield b"[1,%d]<stdout>:%d\timages/sec: 5.0 +/- 0.1 (jitter = 0.1)\t7.500\n" % (number % 4, number // 4 + 1)


def test_a_log_without_end_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf_cnn, "_STEP_LIMIT", 200)
    small, large = (peak(tf_cnn.read, steps(count)) for count in (4_000, 10_000))
    assert large < small + 128 * 1024
    result = tf_cnn.read(steps(6_000))
    assert (result.step_lines, result.last_step, len(result.ranks)) == (6_000, 1500, 4)
    assert 100 <= len(result.steps) <= 200
    assert [step.images_per_second for step in result.steps] == [5.0] * len(result.steps)


def test_any_number_of_open_ranks_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tags, "OPEN_LIMIT", MEBI // 4)

    def glued(count: int) -> Iterator[bytes]:
        for rank in range(count):
            yield b"[1,%d]<stdout>:%s" % (rank, b"y" * 1000)

    small, large = (peak(READERS["tf_cnn"], glued(count)) for count in (600, 2_000))
    assert large < small + MEBI
    assert "overlong_line" in codes(READERS["tf_cnn"](glued(600)))


def test_what_follows_of_a_line_that_was_given_up_is_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tags, "OPEN_LIMIT", 100)
    lines = tags.Demultiplexer()
    glued = b"[1,0]<stdout>:10\timages/sec: [1,1]<stdout>:" + b"y" * 200 + b"\n[1,0]<stdout>:9.0\n[1,0]<stdout>:whole\n"
    found = [(line.rank, line.text, bool(line.dropped)) for line in [*lines.lines(glued), *lines.rest()]]
    assert (0, "9.0", True) in found
    assert (0, "whole", False) in found


def test_a_million_equal_problems_are_a_handful() -> None:
    result = READERS["torch_ranks"](b"ROCEMESH {broken\n" for _n in range(5_000))
    problems = result.as_dict()["problems"]
    assert len(problems) == 6
    assert "4995 more" in problems[-1]["message"]


# ---------------------------------------------------------------------------------------------------------- plumbing


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("äx\n", "äx\n".encode()),
        (b"ab", b"ab"),
        (["a", b"b", "ü"], "abü".encode()),
        ("\udcff", b"\xed\xb3\xbf"),
        ("", b""),
    ],
)
def test_pieces_of_any_source(source: reading.Source, expected: bytes) -> None:
    assert b"".join(reading.pieces(source)) == expected


def test_lines_are_collected_into_pieces() -> None:
    lengths = [len(piece) for piece in reading.pieces(b"x" * 99 + b"\n" for _line in range(5_000))]
    assert sum(lengths) == 500_000
    assert len(lengths) == 4


def test_large_text_comes_in_small_pieces() -> None:
    assert [len(piece) for piece in reading.pieces("x" * (2 * reading.PIECE + 5))] == [reading.PIECE, reading.PIECE, 5]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("/srv/a log", True),
        ("/bin/sh: 1: mpirun: not found", False),
        ("/srv/log\n", False),
        ("srv/log", False),
        ("", False),
        ("/" + "x" * 5000, False),
    ],
)
def test_what_is_a_path(value: str, path: bool) -> None:
    assert reading.is_path(value) is path


def test_kept_entries_span_the_whole_evenly() -> None:
    kept = Kept(8)
    for number in range(1000):
        kept.add(number)
    assert kept.seen == 1000
    assert 4 <= len(kept.entries) <= 8
    gaps = {after - before for before, after in zip(kept.entries, kept.entries[1:])}
    assert gaps == {128}
    assert kept.entries[0] == 0


def test_census_counts_over_pieces() -> None:
    census = Census()
    for piece in (b"a\n", b"b", b"\nc"):
        census.add(piece)
    assert (census.bytes, census.lines, census.nul) == (5, 2, False)
    assert "5 bytes, 2 lines, beginning with 'a'" in census.describe()


def test_problems_are_counted_by_their_code() -> None:
    problems = Problems("tf_cnn")
    for number in range(7):
        problems.put(Problem("a", str(number)))
    problems.put(Problem("b", "x"))
    assert [(entry.code, entry.message) for entry in problems.all()][-2:] == [
        ("b", "x"),
        ("a", "2 more of the kind 'a'"),
    ]
    assert len(problems) == 6


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1.0), ("-1.5", -1.5), ("2e+06", 2e6), ("inf", float("inf")), ("N/A", None), ("1_0", None), ("", None)],
)  # fmt: skip
def test_numbers_as_programs_print_them(text: str, value: float | None) -> None:
    assert reading.number(text) == value
