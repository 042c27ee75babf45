"""How long the doctor reads a bundle of ROCEMESH_BENCH_LOG_MIB mebibytes (default 1024), and in how much memory;
how long 256 hosts' outputs take. Limits: 60 CPU seconds and 256 MiB, and 10 CPU seconds.

The bundle is one file: NCCL's lines of 64 ranks, figures of steps, a
kernel log, and lines that are all different, in equal parts. Writes reports/bench/doctor.json.
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
