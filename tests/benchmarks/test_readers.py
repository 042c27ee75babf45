"""How fast a log is read, against ``grep -c`` and against Python's bare line loop, and in how much memory.

Made-up logs of ROCEMESH_BENCH_LOG_MIB mebibytes (default 1024), each written to a temporary folder and removed:

- ``tf_cnn_noise``, a tagged run of four ranks under NCCL_DEBUG=INFO where one line in 512 is a figure;
- ``tf_cnn_dense``, where every line is a figure, all different;
- ``nccl_dense``, where every line is one of NCCL's: channels (which repeat) and calls (NCCL_DEBUG_SUBSYS=COLL; all
  different), half and half;
- ``nccl_steps``, steps of tf_cnn_benchmarks for the reader of NCCL's lines: nothing in it is for it.

reader      what the collection does with the log
line_loop   Python's `for line in stream`, which does nothing with the lines
grep        `grep -c`, one word

And how much memory a stream of that size takes that lies nowhere (``memory_*``): the log is made up while it is read,
through a pipe. ``rise_mib`` is the peak resident set less the resident set when reading begins.

Who goes first takes turns. Writes readers.json: ratios (above 1: the reader is faster; it does far more, so it
never is), every run with its seconds and its peak resident set, those of a child process which does nothing else.
Seconds of processor time: what else the machine has to do is not in them.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import subprocess
import sys
from typing import Iterator

import pytest

from tests.benchmarks.record import Record, Run, medians, ratio, turns

ROOT = pathlib.Path(__file__).resolve().parents[2]
MIB = int(os.environ.get("ROCEMESH_BENCH_LOG_MIB", "1024"))
REPEATS = int(os.environ.get("ROCEMESH_BENCH_REPEATS", "3"))
PACKAGE = "ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers"

# A child prints: seconds, peak resident set (KiB), what it found.
PEAK = """
def peak():
    # Not getrusage: that keeps the peak of the process that forked this one.
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
"""
# The same from standard input; prints: seconds, resident set at the start and its peak since then (KiB), what it found.
RISE = f"""
import json, sys, time
from {PACKAGE}.reading import file_pieces
def status(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))
def told(read, found):
    with open("/proc/self/clear_refs", "w") as stream:
        stream.write("5")  # the peak counts from here on
    start, begun = status("VmRSS"), time.process_time()
    result = read(file_pieces("/dev/stdin"))
    print(json.dumps([time.process_time() - begun, start, status("VmHWM"), found(result)]))
"""
STREAMS = {
    "tf_cnn_dense": f"from {PACKAGE}.tf_cnn import read\ntold(read, lambda result: result.step_lines)",
    "nccl_dense": f"from {PACKAGE}.nccl_log import read\ntold(read, lambda result: result.lines)",
    "line_loop": "told(lambda pieces: sum(piece.count(10) for piece in pieces), lambda count: count)",
}
TF_CNN = f"""
import json, sys, time
from {PACKAGE}.reading import file_pieces
from {PACKAGE}.tf_cnn import read
begun = time.process_time()
result = read(file_pieces(sys.argv[1]))
seconds = time.process_time() - begun
print(json.dumps([seconds, peak(),
                  {{"lines": result.step_lines, "total": result.total, "ok": result.good}}]))
"""
NCCL = f"""
import json, sys, time
from {PACKAGE}.reading import file_pieces
from {PACKAGE}.nccl_log import read
begun = time.process_time()
result = read(file_pieces(sys.argv[1]))
seconds = time.process_time() - begun
print(json.dumps([seconds, peak(), {{"lines": result.lines, "channels": sum(row.count for row in result.channels)}}]))
"""
LOOP = """
import json, sys, time
begun = time.process_time()
count = 0
with open(sys.argv[1], "rb") as stream:
    for line in stream:
        count += 1
print(json.dumps([time.process_time() - begun, peak(), count]))
"""
NOISE = "".join(
    f"[1,{{rank}}]<stdout>:gpu0{{rank}}:25668:27396 [0] NCCL INFO Channel {channel:02}/0 : {{rank}}[0] -> "
    f"{channel % 4}[0] [receive] via NET/IB/{channel % 2}/GDRDMA\n"
    for channel in range(128)
)
HEAD = "".join(
    f"[1,0]<stdout>:{line}\n"
    for line in ("Model:       resnet50", "Batch size:  32 global", "             8 per device", "Num batches: 9000000")
)


def tagged(rank: int, text: str) -> str:
    return f"[1,{rank}]<stdout>:{text}\n"


def step(number: int) -> str:
    return "".join(
        tagged(rank, f"{number}\timages/sec: {500 + rank}.0 +/- 0.3 (jitter = 0.7)\t7.{number % 1000:03}")
        for rank in range(4)
    )


def calls(number: int) -> str:
    return "".join(
        f"[1,{rank}]<stdout>:gpu0{rank}:25668:27396 [0] NCCL INFO AllReduce: opCount {number + index:x} sendbuff "
        f"0x7f{(number + index) * 7919:x} recvbuff 0x7f{(number + index) * 104729:x} count 6553600 datatype 7 op 0 "
        f"root 0 comm 0x55d0{rank} [nranks=4] stream 0x55aa\n"
        for index in range(128)
        for rank in range(4)
    )


def blocks(kind: str) -> Iterator[str]:
    yield HEAD
    number = 0
    noise = "".join(NOISE.format(rank=rank) for rank in range(4))
    while True:
        if kind == "tf_cnn_noise":
            number += 1
            yield step(number) + noise * 4
        elif kind == "nccl_dense":
            yield noise + calls(number)
            number += 128
        else:
            yield "".join(step(number + index) for index in range(1, 513))
            number += 512


def write(path: pathlib.Path, size: int, kind: str) -> None:
    with path.open("wb") as stream:
        for block in blocks(kind):
            stream.write(block.encode())
            if stream.tell() >= size:
                break
        stream.write("".join(tagged(rank, "total images/sec: 2006.00") for rank in range(4)).encode())


def child(code: str, path: pathlib.Path) -> list[object]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "collections")}
    done = subprocess.run(
        [sys.executable, "-c", PEAK + code, str(path)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=3600,
        check=True,
    )
    result: list[object] = json.loads(done.stdout)
    return result


def grep(path: pathlib.Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["grep", "-c", "images/sec", str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def count(path: pathlib.Path, words: str) -> int:
    done = subprocess.run(["grep", "-c", words, str(path)], capture_output=True, text=True, check=False)
    return int(done.stdout)


@pytest.fixture(scope="module")
def record() -> Record:
    return Record("readers", simulated=False, compared=__doc__ or "")


# The ratio to a bare loop over the lines that each has to keep, and mebibytes a second where the ratio is missed.
@pytest.mark.parametrize(
    ("name", "code", "times", "speed"),
    [
        ("tf_cnn_noise", TF_CNN, 3, 40),
        ("tf_cnn_dense", TF_CNN, 15, 40),
        ("nccl_dense", NCCL, 15, 40),
        ("nccl_steps", NCCL, 3, 40),
    ],
)
def test_reading_a_large_log(  # noqa: PLR0917
    tmp_path: pathlib.Path, record: Record, name: str, code: str, times: float, speed: float
) -> None:
    log = tmp_path / "run.log"
    try:
        write(log, MIB * (1 << 20), name)
        size = log.stat().st_size / (1 << 20)
        grep(log)  # into the page cache
        expected = {"lines": count(log, "+/-"), "total": 2006.0, "ok": True}
        if code is NCCL:
            expected = {"lines": count(log, "NCCL INFO"), "channels": count(log, " via ")}
        runs: dict[str, list[Run]] = {}
        found: object = None
        for turn in range(REPEATS):
            for kind in turns(("reader", "line_loop", "grep"), turn):
                if kind == "grep":
                    runs.setdefault(kind, []).append({"seconds": round(grep(log), 3)})
                    continue
                seconds, memory, result = child(code if kind == "reader" else LOOP, log)
                found = result if kind == "reader" else found
                peak = round(int(str(memory)) / 1024, 1)
                runs.setdefault(kind, []).append({"seconds": round(float(str(seconds)), 3), "peak_mib": peak})
    finally:
        log.unlink(missing_ok=True)
    assert found == expected
    ratios = {
        f"reader_{name}_vs_{words}": ratio(runs[other], runs["reader"], "seconds")
        for other, words in (("line_loop", "bare_loop"), ("grep", "grep"))
    }
    record.add(f"{name}_{size:.0f}_mib", runs, ratios)
    median = medians(runs)["reader"]["seconds"]
    assert median / medians(runs)["line_loop"]["seconds"] <= times or 0 < speed <= size / median
    assert max(run["peak_mib"] for run in runs["reader"]) <= 32


def stream(code: str, size: int, kind: str, word: bytes) -> tuple[list[float], int]:
    """What a child says of a log that is made while it reads, and in how many lines of it ``word`` stands."""
    lines, made = 0, 0
    with subprocess.Popen(
        [sys.executable, "-c", RISE + code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for block in blocks(kind):
            data = block.encode()
            process.stdin.write(data)
            lines += data.count(word)
            made += len(data)
            if made >= size:
                break
        process.stdin.close()
        said = process.stdout.read()
    assert process.returncode == 0
    result: list[float] = json.loads(said)
    return result, lines


@pytest.mark.parametrize(("name", "word"), [("tf_cnn_dense", b"+/-"), ("nccl_dense", b"NCCL INFO")])
def test_memory_of_a_stream_that_lies_nowhere(record: Record, name: str, word: bytes) -> None:
    size = MIB * (1 << 20)
    runs: dict[str, list[Run]] = {}
    for turn in range(REPEATS):
        for kind in turns(("reader", "line_loop"), turn):
            code = STREAMS[name if kind == "reader" else kind]
            (seconds, start, peak, found), lines = stream(code, size, name, word if kind == "reader" else b"\n")
            assert found == lines
            rise = max(0.1, round((peak - start) / 1024, 1))
            run = {"seconds": round(seconds, 3), "start_mib": round(start / 1024, 1), "rise_mib": rise}
            runs.setdefault(kind, []).append(run)
    rises = {f"memory_{name}_vs_bare_loop": ratio(runs["line_loop"], runs["reader"], "rise_mib")}
    record.add(f"memory_{name}_{MIB}_mib", runs, rises)
    assert max(run["rise_mib"] for run in runs["reader"]) <= 32
