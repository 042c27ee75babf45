"""The quick way through a dense log finds just what the slow way finds, whatever is mixed into it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import nccl_log, reading, tf_cnn
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.reading import Kept

RANKS = 4


class SlowNccl(nccl_log.Reader):
    def quick(self, lines: bytes) -> None:
        self.slow(lines)


class SlowTfCnn(tf_cnn.Reader):
    def quick(self, lines: bytes) -> None:
        self.slow(lines)


def nccl_lines(draw: random.Random, count: int) -> list[str]:
    """Mostly channels and calls, which repeat; between them what changes the meaning of all that follows."""
    lines = []
    for _index in range(count):
        rank = draw.randrange(RANKS)
        tag = draw.choice([f"[1,{rank}]<stdout>:"] * 6 + ["", f"[1,{rank}]<stderr>:"])
        head = f"{tag}gpu0{rank}:{100 + rank}:{200 + rank} [0] NCCL INFO "
        peer = draw.randrange(RANKS)
        channel = (
            f"Channel {draw.randrange(12):02}/0 : {rank}[0] -> {peer}[0] [{draw.choice(['send', 'receive'])}] via "
        )
        call = f"opCount {draw.randrange(999):x} sendbuff 0x7f{draw.randrange(1 << 30):x} recvbuff 0x7f count 6553600 "
        text = draw.choices(
            [
                head + channel + draw.choice(["NET/IB/0/GDRDMA", "NET/IB/1/GDRDMA", "P2P/IPC", "NET/Socket/0"]),
                f"{head}AllReduce: {call}datatype 7 op 0 root 0 comm 0x5{rank} [nranks={RANKS}] stream 0x55",
                head + "Connected all rings",
                f"{head}Ring 0{draw.randrange(4)} : {(rank - 1) % RANKS} -> {rank} -> {(rank + 1) % RANKS}",
                f"{head}comm 0x5{rank} rank {rank} nranks {RANKS} cudaDev 0 busId b1000 commId 0x{draw.randrange(3):x} "
                f"- Init {draw.choice(['START', 'COMPLETE'])}",
                head.replace("INFO", "WARN")
                + f"Got completion from peer 10.0.0.{peer}<1> with status=12 vendor err 129",
                head + channel + "NET/IB/0/GD",
                head + channel + "COLLNET/SHARP/0/GDRDMA",
                f"{tag}{draw.randrange(99)}\timages/sec: 5.0",
                head + "NCCL_IB_HCA set by environment to mlx5_0.",
                head + channel + "NET/IB/0/GDRDMA" + f"[1,{peer}]<stdout>:glued",
                head + channel + "NET/IB/0\r",
            ],
            weights=[60, 30, 8, 6, 2, 1, 1, 1, 3, 1, 1, 1],
        )[0]
        lines.append(text + draw.choices(["\n", ""], weights=[200, 1])[0])
    return lines


def tf_cnn_lines(draw: random.Random, count: int) -> list[str]:
    lines = [
        f"[1,0]<stdout>:{line}\n" for line in ("Model:       resnet50", "Batch size:  32 global", "  8 per device")
    ]
    step = [0] * RANKS
    for _index in range(count):
        rank = draw.randrange(RANKS)
        step[rank] += draw.choice([0, 1, 1, 10])
        line = (
            f"[1,{rank}]<stdout>:{step[rank]}\timages/sec: {draw.randrange(900)}.{rank} +/- 0.3 (jitter = 0.7)\t7.125"
        )
        odd = draw.random()
        if odd < 0.001:
            line = draw.choice(
                [
                    line.replace("7.125", "nan"),
                    line.replace("7.125", "7.125\t0.125\t0.250"),
                    f"[1,{rank}]<stdout>:{max(0, step[rank] - 50)}\timages/sec: 7.0 +/- 0.3 (jitter = 0.7)\t7.125",
                    f"[1,{rank}]<stdout>:gpu0{rank}:1:2 [0] NCCL INFO Connected all rings",
                    line + "[1,3]<stdout>:",
                    line.replace("[1,", "[2,"),
                    f"[1,{rank}]<stdout>:total images/sec: 2006.00",
                ]
            )
        lines.append(line + ("" if odd > 0.9995 else "\n"))
    return lines


def read(reader: Any, text: str, draw: random.Random) -> Any:
    data = text.encode()
    cuts = sorted(draw.randrange(len(data)) for _piece in range(draw.choice([0, 0, 3, 9])))
    for start, end in zip([0, *cuts], [*cuts, len(data)]):
        reader.feed(data[start:end])
    return reader.result()


@pytest.mark.parametrize("seed", range(6))
def test_a_dense_nccl_log_is_read_quickly_to_the_same_end(seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(nccl_lines(draw, 3000))
    quick, slow = read(nccl_log.Reader(), text, draw), read(SlowNccl(), text, draw)
    assert quick == slow
    assert sum(channel.count for channel in quick.channels) > 1000


def test_dense_nccl_lines_do_take_the_quick_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the test above: most lines must not reach the slow way."""
    reader, slow = nccl_log.Reader(), 0

    def counted(part: bytes, original: Any = reader.slow) -> None:
        nonlocal slow
        slow += part.count(b"\n")
        original(part)

    monkeypatch.setattr(reader, "slow", counted)
    text = "".join(line for line in nccl_lines(random.Random(1), 20000) if "nranks 4" not in line and "\n" in line)
    for piece in reading.pieces(text):
        reader.feed(piece)
    assert reader.result().lines > 15000
    assert slow < 0.3 * text.count("\n")


@pytest.mark.parametrize("seed", range(6))
def test_a_dense_log_of_steps_is_read_quickly_to_the_same_end(seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(tf_cnn_lines(draw, 6000))
    quick, slow = read(tf_cnn.Reader(), text, draw), read(SlowTfCnn(), text, draw)
    assert repr(quick) == repr(slow)  # nan is not equal to itself
    assert quick.step_lines > 5000


@pytest.mark.parametrize("limit", [1, 7, 64])
@pytest.mark.parametrize("sizes", [(1,), (5, 9, 1), (100, 3, 400), (1000,)])
def test_many_entries_at_once_are_thinned_out_as_one_by_one(limit: int, sizes: tuple[int, ...]) -> None:
    together, single = Kept(limit), Kept(limit)
    number = 0
    for size in sizes:
        together.add_all(range(number, number + size))
        for _index in range(size):
            single.add(number)
            number += 1
    assert (together.seen, together.entries) == (single.seen, single.entries)
