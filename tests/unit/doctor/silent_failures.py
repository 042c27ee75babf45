"""Sound jobs of our own making, and 100 failures that print no word of trouble, made of them: SOUND_JOBS, SILENT."""

from __future__ import annotations

import re
from typing import Callable, Iterator

RINGS = "{host}:4321:4321 [{gpu}] NCCL INFO Connected all rings"
COLUMNS = "    time   algbw   busbw #wrong"
HEAD = f"#       size         count      type   redop    root {COLUMNS} {COLUMNS}"


def row(size: int, bus: float) -> str:
    half = f"{size / bus / 1000:10.1f} {bus / 1.5:7.2f} {bus:7.2f}      0"
    return f"{size:12d} {size // 4:12d}     float     sum      -1 {half} {half}"


def nccl_tests(hosts: int, gpus: int, card: str, top: float, link: int) -> list[str]:
    """All-reduce from 8 bytes to 1 GiB; ``link``: Mb/s that NCCL says of its NIC, 0: it says nothing."""
    places = [(rank, f"gpu{rank // gpus + 1:02d}", rank % gpus) for rank in range(hosts * gpus)]
    lines = [
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 validation: 1",
        "#",
        "# Using devices",
        *(f"#  Rank {n:2d} Group  0 Pid   4321 on  {host} device  {gpu} [0x1b] {card}" for n, host, gpu in places),
    ]
    for n, host, gpu in places:
        said = f"{host}:4321:4321 [{gpu}] NCCL INFO "
        lines.append(f"{said}Bootstrap : Using ens192:192.0.2.{11 + n // gpus}<0>")
        if link:
            lines.append(f"{said}NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB ens192:192.0.2.{11 + n // gpus}<0>")
            lines.append(f"{said}NET/IB: [0] mlx5_0:uverbs0:1/RoCE provider=Mlx5 speed={link} context=0x55 ar=0")
            lines.append(f"{said}Channel 00/0 : {n}[{gpu}] -> {(n + 1) % len(places)}[0] [send] via NET/IB/0/GDRDMA")
        comm = f"comm 0x5{n} rank {n} nranks {len(places)} cudaDev {gpu} busId 3000 commId 0x1"
        lines.append(f"{said}{comm} - Init COMPLETE")
    lines += [RINGS.format(host=host, gpu=gpu) for _n, host, gpu in places]
    lines += [HEAD, *(row(8 << power, top * min(1.0, (8 << power) / (32 << 20))) for power in range(28))]
    return [*lines, "# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {top / 2:.4f}", "#"]


def tagged(ranks: int) -> list[str]:
    """tf_cnn_benchmarks below mpirun --tag-output."""
    each = [f"{step}\timages/sec: 2100.{step} +/- 0.1 (jitter = 1.2)\t7.{step:03d}" for step in (1, 10, 20, 30, 40, 50)]
    return [
        f"[1,{rank}]<stdout>:{line}"
        for line in ("Running warm up", "Done warm up", *each, "-" * 64, "total images/sec: 8400.66")
        for rank in range(ranks)
    ]


def stepped(form: str, total: int, end: str) -> list[str]:
    return [
        "gpu01:1:1 [0] NCCL INFO Connected all rings",
        *(form.format(n=n, of=total, loss=7 - 5 * n / total) for n in range(total // 10, total + 1, total // 10)),
        *([end] if end else []),
    ]


SOUND_JOBS: dict[str, list[str]] = {
    "two hosts": nccl_tests(2, 8, "NVIDIA H100 PCIe", 22.4, 200_000),
    "four hosts": nccl_tests(4, 2, "NVIDIA L40S", 11.6, 100_000),
    "one host": nccl_tests(1, 8, "NVIDIA A100-SXM4-80GB", 235.0, 0),
    "tagged": tagged(4),
    "counted steps": stepped("step {n}/{of} loss: {loss:.3f} 812 samples/s", 500, ""),
    "steps": stepped("step {n} loss: {loss:.3f} 812 samples/s", 1000, "Training complete"),
    "trainer": stepped("{{'loss': {loss:.4f}, 'learning_rate': 2e-05, 'step': {n}}}", 200, "{'train_runtime': 512.1}"),
    "megatron": stepped(
        " iteration {n:8d}/ {of:8d} | elapsed time per iteration (ms): 900.1 | lm loss: {loss:.6E} |",
        100,
        "[after training is done] datetime: 2026-02-01 10:00:00",
    ),
}
_STEPPED = ("counted steps", "steps", "trainer", "megatron")
_TESTS = ("two hosts", "four hosts", "one host")
_UNRESOLVED = (
    "[W socket.cpp:601] [c10d] The IPv6 network addresses of (gpu01, 29500) cannot be retrieved (gai error: -3 - "
    "Temporary failure in name resolution)."
)


def _rows(job: list[str]) -> list[int]:
    return [at for at, line in enumerate(job) if re.match(r"\s+\d+\s+\d+\s+float", line)]


def _steps(job: list[str]) -> list[int]:
    return [at for at, line in enumerate(job) if re.search("loss|images/sec: 2100", line)]


def _hung_after_header() -> Iterator[tuple[str, list[str]]]:
    for name in _TESTS:
        job = SOUND_JOBS[name]
        yield f"{name}: the header alone", job[: _rows(job)[0]]
        yield f"{name}: the first lines", job[:4]


def _cut() -> Iterator[tuple[str, list[str]]]:
    for name in _TESTS:
        job = SOUND_JOBS[name]
        for at in (1, 6, 12, 18, 20, 24, 27, 28):
            yield f"{name}: row {at} is the last", job[: _rows(job)[at - 1] + 1]
    for name in _STEPPED:
        job = SOUND_JOBS[name]
        for at in (1, 4, 7, 9):
            yield f"{name}: line {at} is the last", job[: _steps(job)[at - 1] + 1]
    job = SOUND_JOBS["tagged"]
    for at in (1, 9, 17, 24):
        yield f"tagged: line {at} is the last", job[: _steps(job)[at - 1] + 1]


def _not_finite() -> Iterator[tuple[str, list[str]]]:
    for name in _STEPPED:
        job = SOUND_JOBS[name]
        for at, value in ((3, "nan"), (9, "nan"), (9, "inf")):
            from_here = _steps(job)[at]
            bad = [re.sub(r"(loss'?: )[\d.E+-]+", rf"\g<1>{value}", line) for line in job[from_here:]]
            yield f"{name}: {value} from line {at}", [*job[:from_here], *bad]
    yield "tagged: nan", [re.sub(r"\t7\.\d+$", "\tnan", line) for line in SOUND_JOBS["tagged"]]
    for name in _TESTS:
        yield f"{name}: nan", [re.sub(r" [\d.]+      0$", "     nan      0", line) for line in SOUND_JOBS[name]]


def _slow() -> Iterator[tuple[str, list[str]]]:
    for name, args in {
        "two hosts": (2, 8, "NVIDIA H100 PCIe", 22.4, 200_000),
        "four hosts": (4, 2, "NVIDIA L40S", 11.6, 100_000),
        "one host": (1, 8, "NVIDIA A100-SXM4-80GB", 235.0, 0),
    }.items():
        for part in (0.01, 0.05, 0.1, 0.3):
            hosts, gpus, card, top, link = args
            yield f"{name}: {part} of the link", nccl_tests(hosts, gpus, card, top * part, link)
    yield "two hosts: a tenth, and no word of the link", nccl_tests(2, 8, "NVIDIA H100 PCIe", 2.24, 0)
    yield "two hosts: each host alone", nccl_tests(2, 8, "NVIDIA H100 PCIe", 224.0, 200_000)


def _seven_of_eight() -> Iterator[tuple[str, list[str]]]:
    for hosts, card, top, link in ((1, "NVIDIA A100-SXM4-80GB", 235.0, 0), (2, "NVIDIA H100 PCIe", 22.4, 200_000)):
        yield f"{hosts} hosts: seven GPUs", nccl_tests(hosts, 7, card, top, link)
    two = SOUND_JOBS["two hosts"]
    for rank in (0, 7, 15):
        mine = re.compile(rf"# +Rank +{rank} |rank {rank} nranks")
        yield f"two hosts: without rank {rank}", [line for line in two if not mine.search(line)]
    one = SOUND_JOBS["one host"]
    yield "one host: rank 3 is not up", [line for line in one if "rank 3 nranks" not in line]
    tags = SOUND_JOBS["tagged"]
    for rank in (1, 3):
        total = f"[1,{rank}]<stdout>:total"
        yield f"tagged: rank {rank} has no end", [line for line in tags if not line.startswith(total)]


def _unresolved() -> Iterator[tuple[str, list[str]]]:
    yield "no name: alone", [_UNRESOLVED]
    yield "no name: again and again", [_UNRESOLVED] * 50
    for name in ("two hosts", "one host", *_STEPPED):
        job = SOUND_JOBS[name]
        at = (_rows(job) or _steps(job))[2]
        yield f"{name}: no name, and silence", [_UNRESOLVED, *job[:at]]
    yield "no name: setting of NCCL", [_UNRESOLVED, "gpu01:1:1 [0] NCCL INFO NCCL_IB_TC set by environment to 106."]


def _silent_behind_rings() -> Iterator[tuple[str, list[str]]]:
    for name in _TESTS:
        job = SOUND_JOBS[name]
        yield f"{name}: silence behind the rings", [line for line in job[: _rows(job)[0]] if "NCCL INFO" in line]
    yield "steps: silence behind the rings", SOUND_JOBS["steps"][:1]
    yield "the kernel alone", ["Linux version 6.8.0-45-generic", "ens224: link/ether 00:50:56:00:00:01"]
    yield "a warning alone", ["/usr/lib/python3/loader.py:55: UserWarning: This DataLoader will create 16 workers"]
    yield "devices alone", SOUND_JOBS["two hosts"][2:10]


_KINDS: tuple[Callable[[], Iterator[tuple[str, list[str]]]], ...] = (
    _hung_after_header,
    _cut,
    _not_finite,
    _slow,
    _seven_of_eight,
    _unresolved,
    _silent_behind_rings,
)
SILENT: dict[str, str] = {name: "\n".join(job) + "\n" for kind in _KINDS for name, job in kind()}
