"""Reports of NVIDIA's own tools: NCCL's diagnostics, ncclras, Inspector, rdma_topo. Forms: NCCL's user guides from 2.24
to 2.32 and the sources; names and figures of our own."""

from __future__ import annotations

import itertools
import random
import re
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

from tests.unit.doctor.silent_failures import SOUND_JOBS

NET = "node0:24563 NCCL DIAG "
RAS = "node042:12345 NCCL DIAG "
COMM = " in comm 0x7a3f9b2c41d05e88"
PAIR = "server_rank=0 server_host=node0 server_device=mlx5_0 client_rank=4 client_host=node1 client_device=mlx5_0"
HEADER = "# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20\n"
EDGE = "srcRank=0 srcCudaDev=0 srcNvmlDev=0 dstRank=1 dstCudaDev=1 dstNvmlDev=1"


def net(*lines: str) -> str:
    end = "NCCL diagnostics completed in 2453.3 ms across 8 ranks"
    return "".join(f"{NET}{line}\n" for line in ("=== NCCL Diagnostics ===", *lines, end))


def ras(*lines: str) -> str:
    end = "RAS diagnostics completed in 12.3 ms across 8 RAS peers"
    return "".join(f"{RAS}{line}\n" for line in ("=== RAS Diagnostics ===", *lines, end))


SAME = f"[OK] net bw: 376.1/391.5/398.2 Gbit/s min/median/max same-nic bw (across 8 ranks){COMM}"
CROSS = f"[INFO] net bw: 265.1/391.5/398.0 Gbit/s min/median/max cross-nic bw (across 8 ranks){COMM}"
OUTLIER = f"[INFO] net bw: cross-nic rank 3 (node3): 265.1 Gbit/s, >30% off median 391.5 Gbit/s{COMM}"

SOUND = {
    "network": net(SAME, "[OK]   p2p: all 56 directed GPU P2P edges verified"),
    "one host": net("[OK] net bw: skipped (single host or no network transport)"),
    "faster than the others": net(
        f"[INFO] net bw: 196.2/196.2/391.5 Gbit/s min/median/max same-nic bw (across 8 ranks){COMM}",
        f"[INFO] net bw: same-nic rank 2 (node0): 391.5 Gbit/s, >30% off median 196.2 Gbit/s{COMM}",
    ),
    "no ib_write_bw": net(f"[INFO] net bw: required external tool missing{COMM}"),
    "ranks": ras(
        "[OK]   GPU inventory: 8x NVIDIA H100 per node consistent across 8 ranks in comm 0x1234",
        "[OK]   CUDA driver version: 13000 consistent across 8 ranks in comm 0x1234",
        "[OK]   ECC: no uncorrected volatile errors across 8 ranks in comm 0x1234",
        "[OK]   NVLink: found 18 link(s) per device, all active across 8 ranks in comm 0x1234",
        "[OK]   NCCL environment: NCCL_* env vars consistent across 8 ranks in comm 0x1234",
    ),
    "a log level differs": ras(
        "[INFO] NCCL environment: mismatch across 8 ranks in comm 0x1234 for NCCL_DEBUG",
        "[INFO] NCCL environment: NCCL_DEBUG=INFO on rank(s) {0,1,2,3}",
        "[INFO] NCCL environment: 1 NCCL_* env var(s) differ across ranks in comm 0x1234",
    ),
    "ncclras": (
        "Communicators... (0.00s)\n=============\n\n"
        "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
        "    #  in group  per comm  per node  per comm  in group\n"
        "    0         8         4         1         4        32   RUNNING      OK\n"
    ),
    "inspector": '{"coll_perf":{"coll":"AllReduce","coll_msg_size_bytes":17179869184,"coll_busbw_gbs":485.119099}}\n',
    "rdma_topo": "OK\tACS for cx_nic_usp 0000:3a:00.0 has correct values 1011101 = 1x111x1\n",
}

# The cause that is named first, whether it is certain, the host, and the report.
FAULTY: dict[str, tuple[str, bool, str, str]] = {
    "slow link": ("link_faulty", False, "node3", net(SAME, CROSS, OUTLIER)),
    "link without end": (
        "link_faulty",
        False,
        "",
        net(f"[INFO] net bw: mode=same {PAIR} memory=cuda+dmabuf tool run timed out{COMM}"),
    ),
    "link without figure": (
        "no_path_between_nics",
        False,
        "",
        net(f"[INFO] net bw: mode=same {PAIR} memory=host tool run failed{COMM}"),
    ),
    "no device": ("container_devices", False, "", net(f"[INFO] net bw: failed: no usable IB device{COMM}")),
    "pairs of GPUs": (
        "acs_redirects",
        False,
        "",
        net("[INFO] p2p: only 52/56 GPU-to-GPU peer accesses passed verification"),
    ),
    "PCIe": (
        "acs_redirects",
        False,
        "",
        net(f"[INFO] p2p: write mismatch {EDGE} path=PHB handle=cuMemPosixFd expected=0x4000000000000001 got=0x0abc"),
    ),
    "NVLink": (
        "gpu_fault",
        False,
        "",
        net(f"[INFO] p2p: read mismatch {EDGE} path=NVL handle=cuMemPosixFd expected=0x8000000100000000 got=0x0123"),
    ),
    "namespaces": (
        "container_caps",
        False,
        "",
        net(f"[INFO] p2p: peer-memory import failed {EDGE} path=NVL handle=legacyIpc reason=import"),
    ),
    "variable": (
        "vars_wrong",
        False,
        "",
        ras(
            "[INFO] NCCL environment: mismatch across 8 ranks in comm 0x1234 for NCCL_IB_HCA",
            "[INFO] NCCL environment: NCCL_IB_HCA=mlx5_0 on rank(s) {0,1,2,3}",
            "[INFO] NCCL environment: NCCL_IB_HCA=mlx5_1 on rank(s) {4,5,6,7}",
        ),
    ),
    "driver": (
        "driver_differs",
        True,
        "",
        ras(
            "[INFO] CUDA driver version: mismatch across 9 ranks in comm 0x1234, rank(s) {8} differ from rank 0 (12040)"
        ),
    ),
    "memory": (
        "gpu_fault",
        False,
        "",
        ras("[INFO] ECC: uncorrected volatile errors on rank(s) {3} (worst=2) across 8 ranks in comm 0x1234"),
    ),
    "NVLink down": (
        "gpu_fault",
        False,
        "",
        ras("[INFO] NVLink: inactive link(s) on rank(s) {5} across 8 ranks in comm 0x1234"),
    ),
    "rank without answer": (
        "peer_process_gone",
        False,
        "",
        ras("[INFO] ECC: diagnostics incomplete, gathered 7/8 ranks in comm 0x1234/0x5678/0x9abc"),
    ),
    "dead process": (
        "peer_process_gone",
        True,
        "192.0.2.13",
        "Errors\n======\n\nDEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
        "  Process 3487984 on node 192.0.2.13 managing GPU 5\n\n#0-0 (cf264af53edbe986) INCOMPLETE\n"
        "  Missing communicator data from 1 rank\n  The missing rank: 21\n",
    ),
    "missing rank": (
        "peer_process_gone",
        False,
        "",
        '      "missing_ranks_count": 1,\n            "unresponsive": true,\n            "considered_dead": false\n',
    ),
    "dead peer": (
        "peer_process_gone",
        True,
        "192.0.2.45",
        "[2025-12-19 13:07:07] PEER_DEAD: Process 1524345 on node 192.0.2.45 managing GPU 1\n",
    ),
    "counts": (
        "app_collective_mismatch",
        False,
        "",
        "#0-0 (27a079b828ff1a75) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
        "  26 ranks have launched up to operation 6650\n  6 ranks have launched up to operation 6649\n",
    ),
    "ACS": (
        "acs_redirects",
        True,
        "",
        "FAIL\tACS for cx_nic_usp 0000:3a:00.0 has incorrect values 0011101 != 1x111x1, (0x1d != 0x5d)\n",
    ),
}


def ask(text: str) -> dict[str, Any]:
    return diagnose(None, {"job.log": text})


@pytest.mark.parametrize("name", SOUND)
def test_doctor_sound_report_names_no_cause(name: str) -> None:
    found = ask(SOUND[name])
    assert (found["verdict"], found["findings"]) == ("no_fault_seen", [])


@pytest.mark.parametrize("name", FAULTY)
def test_doctor_faulty_report_names_its_cause_first(name: str) -> None:
    cause, certain, host, text = FAULTY[name]
    found = ask(text)
    first = found["findings"][0]
    assert (first["cause"], first["certainty"] != "candidate", first["host"]) == (cause, certain, host)
    assert found["verdict"] == ("faulty" if certain else "cannot_tell")


@pytest.mark.parametrize(
    ("report", "verdict"), [(SOUND["network"], "healthy"), (FAULTY["slow link"][3], "cannot_tell")]
)
def test_doctor_slow_link_in_a_sound_job_is_not_healthy(report: str, verdict: str) -> None:
    assert ask(report + "\n".join(SOUND_JOBS["two hosts"]) + "\n")["verdict"] == verdict


def test_doctor_slow_collective_of_inspector_is_a_symptom() -> None:
    text = SOUND["inspector"].replace("485.119099", "0.370")
    assert ask(text)["verdict"] == "cannot_tell"


MUTATIONS = list(itertools.product(FAULTY, range(12)))


def mutate(text: str, number: int) -> str:
    """Other hosts, processes and communicators; a rank before each line, other line ends, a header of a job above."""
    chance = random.Random(number)
    text = re.sub(r"0x7a3f9b2c41d05e88|0x1234\b", lambda _match: hex(chance.getrandbits(60)), text)
    text = re.sub(r"\bnode(\d+)\b", lambda match: f"gpu-{chance.choice('abc')}{match[1]}", text)
    text = re.sub(r"(?<=:)\d{5}(?= NCCL)", lambda _match: str(chance.randrange(100, 4_000_000)), text)
    if number % 3 == 1 and "NCCL DIAG" in text:
        text = "".join(f"[1,{number}]<stdout>:{line}" for line in text.splitlines(keepends=True))
    if number % 4 == 2:
        text = text.replace("\n", "\r\n")
    return HEADER + text if number % 4 == 0 else text


def test_doctor_mutated_faulty_report_keeps_its_layer() -> None:
    """At least 200 of them; none is without fault, and 95 of 100 name the cause first."""
    assert len(MUTATIONS) >= 200
    right = 0
    for name, number in MUTATIONS:
        found = ask(mutate(FAULTY[name][3], number))
        assert found["verdict"] not in ("healthy", "no_fault_seen"), (name, number)
        right += found["findings"][0]["cause"] == FAULTY[name][0]
    assert right >= 0.95 * len(MUTATIONS)
