"""The probe was sound, and the timed run was not: its own log denies the proof.

Each stream is what the processes of the timed run write one after the other, as their files are read: set-up first,
what happens while data moves behind it. Lines as in NCCL's source (src/transport/net_ib, src/transport/net.cc).
"""

from __future__ import annotations

import re
from typing import Callable, NamedTuple

import pytest

from tests.unit.proof.truth import RUNS, STARTED, Run, verdict

ONE = next(run for run in RUNS if run.name == "4x1 ring")
EIGHT = next(run for run in RUNS if run.name == "2x8 8 rails")
GPU02 = "gpu02:1001:2001 [0] NCCL "
RAIL = "gpu02:1011:2011 [3] NCCL "  # a rank on the second host of EIGHT


class Stream(NamedTuple):
    """``change``: of the sound log of the timed run; ``names``: what the reason has to contain."""

    name: str
    names: str
    change: Callable[[str], str]
    run: Run = ONE


def _staged(text: str) -> str:
    """Peer memory is gone on one host: both ends of its channels stage, and NCCL says why at the start."""
    lines = [re.sub(r"/GDRDMA\S*", "", line) if line.startswith("gpu02:") else line for line in text.splitlines()]
    lines.insert(1, GPU02 + "INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'")
    return "\n".join(lines) + "\n"


def _behind(*lines: str) -> Callable[[str], str]:
    return lambda text: text + "".join(f"{line}\n" for line in lines)


def _restarted(text: str) -> str:
    """Rank 1 died and came up as another process, which found no NIC."""
    own = [line for line in text.splitlines() if line.startswith("gpu02:1001:")]
    second = [line.replace("gpu02:1001:2001", "gpu02:7001:8001") for line in own]
    second = [line.replace("network IB", "network Socket") for line in second]
    second = [re.sub(r"NET/IB/\d+/GDRDMA\S*", "NET/Socket/0", line) for line in second]
    return text + "\n".join(second) + "\n"


STREAMS = (
    Stream("peer memory away", "RDMA through host memory", _staged),
    Stream(
        "port error",
        "port error",
        _behind(GPU02 + "WARN NET/IB : mlx5_0:1 Got async event : port error"),
    ),
    Stream(
        "port error of 2.30",
        "mlx5_3:1",
        _behind(RAIL + "WARN NET/IB : mlx5_3:1 Got non-fatal async event: port error(10)"),
        EIGHT,
    ),
    Stream(
        "rail lost",
        "never acknowledged",
        _behind(
            RAIL + "WARN NET/IB: Got completion from peer 10.3.0.1<40000> with status=IBV_WC_RETRY_EXC_ERR(12) "
            "opcode=IBV_WC_RDMA_WRITE(1) vendor_err=129 (Send) hca mlx5_3"
        ),
        EIGHT,
    ),
    Stream(
        "rail lost, gone on over another",
        "Replacing QP",
        _behind(
            RAIL + "INFO NET/IB: ncclIbResiliencyHandleCompletionError: The error is not fatal. Trying to continue...",
            RAIL
            + "INFO NET/IB: ncclIbResiliencyReplaceQps: Replacing QP: qpIndex=1 (qp_num=411, devIndex=1) to qpIndex=0 "
            "(qp_num=410, devIndex=0) on send communicator (comm=0x7f10)",
        ),
        EIGHT,
    ),
    Stream(
        "rail slower",
        "200000 -> 100000 Mbps",
        _behind(RAIL + "INFO NET/IB : mlx5_3:1 speed change detected: 200000 -> 100000 Mbps"),
        EIGHT,
    ),
    Stream("rank again over sockets", "rank 1 of 4 exists 2 times", _restarted),
    Stream("log cut where channels begin", "incomplete", lambda text: text[: text.index(" [send] via")]),
)


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name.replace(" ", "-"))
def test_log_of_the_timed_run_denies_the_proof(stream: Stream) -> None:
    inputs = stream.run.inputs()
    assert verdict(inputs)["state"] == "PROVEN"
    text = stream.run.nccl()
    inputs["evidence"]["nccl_path"] = stream.run.path(stream.change(text))
    found = verdict(inputs)
    (witness,) = [each for each in found["witnesses"] if each["name"] == "path"]
    assert found["state"] in ("NOT PROVEN", "INVALID RUN")
    assert witness["state"] != "agrees" and stream.names in witness["evidence"], witness


def test_sound_log_of_the_probe_stands_for_no_training() -> None:
    inputs = ONE.inputs()
    inputs["evidence"]["nccl_path"]["at"] = STARTED - 60
    found = verdict(inputs)
    assert found["state"] == "NOT PROVEN" and "was not observed" in " ".join(found["reasons"])
