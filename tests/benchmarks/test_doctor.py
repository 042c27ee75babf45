"""How long the doctor reads a bundle of ROCEMESH_BENCH_LOG_MIB mebibytes (default 1024), and in how much memory;
how long 256 hosts' outputs take. Limits: 60 CPU seconds and 256 MiB, and 10 CPU seconds.

The bundle is one file: NCCL's lines of 64 ranks, figures of steps, a
kernel log, and lines that are all different, in equal parts. Writes reports/bench/doctor.json.

What a mebibyte costs where no line is like another: lines of ordinary words, NCCL's lines with all their figures
different, and the lines that are worst for regular expressions. Writes reports/bench/doctor_lines.json.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MIB = int(os.environ.get("ROCEMESH_BENCH_LOG_MIB", "1024"))
PACKAGE = "ansible_collections.rocemesh.multinode.plugins.module_utils._doctor"
CHILD = f"""
import json, sys, time
from {PACKAGE}.doctor import diagnose
begun = time.process_time()
found = diagnose(sys.argv[1])
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([time.process_time() - begun, peak / 1024, found["verdict"], found["lines"], len(found["findings"])]))
"""


def block(rng: random.Random) -> bytes:
    """About one mebibyte."""
    lines = []
    for step in range(2600):
        rank = rng.randrange(64)
        host = f"gpu{rank // 8:02d}"
        lines += [
            f"[1,{rank}]<stdout>:{step}\timages/sec: {rng.random() * 2100:.1f} +/- 0.1 (jitter = 0.3)\t7.{step}",
            f"{host}:{rng.randrange(99999)}:{rng.randrange(99999)} [{rank % 8}] NCCL INFO Channel {step % 32:02d}/0 : "
            f"{rank}[{rank % 8}] -> {rng.randrange(64)}[0] [send] via NET/IB/{rank % 8}/GDRDMA",
            f"Feb  1 10:{step % 60:02d}:00 {host} kernel: [{step}.{rng.randrange(999999)}] audit: type=1400 pid={step}",
            f"{rng.randbytes(24).hex()} {rng.randbytes(12).hex()}",
        ]
    return ("\n".join(lines) + "\n").encode()


def run(path: pathlib.Path) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
    )
    return list(json.loads(done.stdout))


def test_a_large_bundle_is_read_quickly_and_in_bounded_memory(tmp_path: pathlib.Path) -> None:
    rng = random.Random(1)
    blocks = [block(rng) for _number in range(16)]
    path = tmp_path / "job.log"
    with path.open("wb") as stream:
        while stream.tell() < MIB << 20:
            stream.write(rng.choice(blocks))
        stream.write(b"gpu07 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n")
    seconds, peak, verdict, lines, _findings = run(path)
    hosts = tmp_path / "site"
    for number in range(256):
        folder = hosts / "hosts" / f"gpu{number:03d}"
        folder.mkdir(parents=True)
        for name in ("dmesg", "nvidia-smi", "show_gids", "ethtool"):
            (folder / f"{name}.txt").write_bytes(blocks[0][: 1 << 14])
    site_seconds, *_rest = run(hosts)
    report = ROOT / "reports" / "bench"
    report.mkdir(parents=True, exist_ok=True)
    (report / "doctor.json").write_text(
        json.dumps(
            {"mib": MIB, "cpu_seconds": seconds, "peak_mib": peak, "lines": lines, "hosts_256_cpu": site_seconds}
        )
        + "\n"
    )
    assert verdict == "faulty"
    assert peak < 256
    assert seconds < 60 * MIB / 1024
    assert site_seconds < 10


SAMPLES = ROOT / "plugins" / "module_utils" / "_judge" / "packs"
SYLLABLES = "ba con der fil gen hos in jo ker lin mem net o per qu re sta".split()  # noqa: SIM905


def ordinary(rng: random.Random, size: int) -> str:
    """Lines of a kernel and of services, of 20,000 words; one word in twenty is in some rule's samples."""
    said = [word for pack in sorted(SAMPLES.rglob("*.yml")) for word in pack.read_text().split() if word.isalpha()]
    words = ["".join(rng.choices(SYLLABLES, k=rng.randrange(2, 5))) for _number in range(20_000)]
    lines, length = [], 0
    while length < size:
        text = " ".join(rng.choice(said if rng.random() < 0.05 else words) for _number in range(rng.randrange(5, 18)))
        host, process = f"gpu{rng.randrange(8):02d}", rng.randrange(999)
        lines.append(f"Feb  1 10:{rng.randrange(60):02d}:00 {host} service[{process}]: {text}")
        length += len(lines[-1]) + 1
    return "\n".join(lines)


def nccl(rng: random.Random, size: int) -> str:
    lines, length = [], 0
    forms = (
        "Channel {b}/{c} : {d}[{a}] -> {e}[{a}] [send] via NET/IB/{a}/GDRDMA/Shared",
        "comm 0x{h} rank {d} nranks {e} cudaDev {a} nvmlDev {a} busId {b}000 commId 0x{h} - Init COMPLETE",
        "NCCL_IB_TIMEOUT set by environment to {b}.",
        "Connected all rings, use ring PXN {a} GDR 1",
        "Trees [{a}] {b}/-1/-1->{c}->{d} [{e}] {b}/{c}/-1->{d}->-1",
        "NET/IB : Using [{a}]mlx5_{b}:1/RoCE [RO]; OOB eth{c}:192.0.2.{d}<0>",
        "{b} coll channels, {c} collnet channels, {a} nvls channels, {d} p2p channels, {e} p2p channels per peer",
    )
    while length < size:
        values = {key: rng.randrange(128) for key in "abcde"}
        text = rng.choice(forms).format(h=rng.randbytes(6).hex(), **values)
        host, process, device = f"gpu{rng.randrange(64):02d}", rng.randrange(99999), rng.randrange(8)
        lines.append(f"{host}:{process}:{process + 1} [{device}] NCCL INFO {text}")
        length += len(lines[-1]) + 1
    return "\n".join(lines)


def test_lines_that_are_all_different_cost_little(tmp_path: pathlib.Path) -> None:
    rng = random.Random(2)
    size = 4 << 20
    units = ("errorerror", "error: ", "rx_", "0 ", "gpu ", "[0] ", "a", "|", "drop")
    worst = [unit * (4000 // len(unit)) for unit in units]
    texts = {
        "ordinary": ordinary(rng, size),
        "nccl": nccl(rng, size),
        "worst": "\n".join(rng.choice(worst) + str(number) for number in range(size // 4000)),
    }
    costs = {}
    for name, text in texts.items():
        path = tmp_path / f"{name}.log"
        path.write_text(text)
        costs[name] = run(path)[0] / 4
    report = ROOT / "reports" / "bench"
    report.mkdir(parents=True, exist_ok=True)
    (report / "doctor_lines.json").write_text(json.dumps({"cpu_seconds_per_mib": costs}) + "\n")
    assert costs["ordinary"] < 0.5 and costs["nccl"] < 0.5 and costs["worst"] < 1, costs
