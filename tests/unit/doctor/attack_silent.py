"""100 jobs that went wrong and print no word of it, or hardly one: SILENT, name -> text. None may be called healthy."""

from __future__ import annotations

import re

from tests.unit.doctor import attack_programs as say

SILENT: dict[str, str] = {}


def silent(name: str, lines: list[str], ends: bool = True) -> None:
    """``ends``: whether the last line is whole."""
    assert name not in SILENT, name
    SILENT[name] = "\n".join(lines) + ("\n" if ends else "")


def upto(lines: list[str], mark: str, behind: int = 1) -> list[str]:
    """The lines before the last one that holds ``mark``, and ``behind`` of those that follow."""
    at = max(n for n, line in enumerate(lines) if mark in line)
    return lines[: at + behind]


def cut(lines: list[str], at: float) -> list[str]:
    """Cut in the middle of the line at this share of the lines."""
    last = int(len(lines) * at)
    return [*lines[:last], lines[last][: len(lines[last]) // 2 + 3]]


def without(lines: list[str], mark: str) -> list[str]:
    return [line for line in lines if mark not in line]


def swapped(lines: list[str], pattern: str, to: str, behind: float = 0.0) -> list[str]:
    """``pattern`` replaced in all lines that lie behind this share."""
    first = int(len(lines) * behind)
    return [re.sub(pattern, to, line) if n >= first else line for n, line in enumerate(lines)]


INFO = say.nccl_info(2, 2, "2.21.5+cuda12.4", 100_000)
BIG = say.nccl_info(2, 8, "2.28.9+cuda12.9", 400_000, 8, layer="IB")
TESTS = say.nccl_tests(2, 2, "NVIDIA L40S", 11.6, info=INFO)
LARGE = say.nccl_tests(2, 8, "NVIDIA H100 80GB HBM3", 371.0, info=BIG, release="2.17")
ONE = say.nccl_tests(1, 8, "NVIDIA A100-SXM4-80GB", 234.0)
OLD = say.nccl_tests(2, 1, "NVIDIA A10", 11.8, release="2.0", info=say.nccl_info(2, 1, "2.8.4+cuda11.1", 100_000))
TIMM, LOOP, HVD, TFC = say.timm(8, 3), say.own_loop(8, 300), say.horovod(16), say.tf_cnn(4)
MX, DS, MEG, BW = say.mxnet(3), say.deepspeed(8, 200), say.megatron(16, 200), say.perftest("write", 197.0)
SLOW = {str(1 << power): say.nccl_row(1 << power, 0.31, 1.5) for power in (28, 29, 30)}
EACH = [[f"epoch {e}/5 loss {4.0 - e / 2 + r / 100:.3f}" for e in range(1, 6)] + ["done"] for r in range(4)]
RANKS = say.ranks_of(EACH, "{}: ")
FOUR = [say.tf_cnn(4, each=330 + r) for r in range(4)]
ALL4 = say.ranks_of(FOUR)


def _hangs() -> None:
    for name, lines in (("two hosts", TESTS), ("two big hosts", LARGE), ("one host", ONE), ("old", OLD)):
        silent(f"nccl-tests, {name}: hangs after the header", upto(lines, "(elements)"))
        silent(f"nccl-tests, {name}: cut in the middle of a row", cut(lines, 0.93), ends=False)
    silent("nccl-tests: hangs at 4 MiB", upto(TESTS, "     4194304 "))
    silent("nccl-tests: the last row is there, the summary is not", upto(TESTS, "  1073741824  "))
    silent("nccl-tests: silence after the rings", upto(TESTS, "Connected all rings", 2)[:-1])
    silent("nccl-tests: silence after Bootstrap", upto(TESTS, "Bootstrap :"))
    silent("nccl-tests: silence after Using network", upto(LARGE, "Using network"))
    silent("nccl-tests: begins and says which devices", upto(ONE, "device  7"))
    silent("own loop: silence after the rings", [*say.nccl_info(2, 4, "2.20.5+cuda12.4", 200_000), *LOOP[:8]])
    silent("own loop: all ranks are there, nothing follows", LOOP[:8])
    silent("own loop: stops at step 170", upto(LOOP, "step 170/"))
    silent("own loop: cut in the last step", cut(upto(LOOP, "step 300/"), 0.98), ends=False)
    silent("timm: stops in epoch 1", upto(TIMM, "Train: 1 [ 200"))
    silent("timm: hangs at the first validation", upto(TIMM[:28], "Test: [  24"))
    silent("timm: one epoch of three is missing", without(upto(TIMM, "checkpoint-1"), "Best metric"))
    silent("timm: cut in the middle of a line", cut(TIMM, 0.6), ends=False)
    silent("timm: nothing after the model", upto(TIMM, "Scheduled epochs"))
    silent("Horovod: hangs in the warm-up", upto(HVD, "Running warmup"))
    silent("Horovod: hangs after Iter #6", upto(HVD, "Iter #6"))
    silent("Horovod: all iterations, no total", upto(HVD, "Iter #9"))
    silent("Horovod: cut in the total", cut(HVD, 0.98), ends=False)
    silent("tf_cnn: hangs in the warm-up", upto(TFC, "Running warm up"))
    silent("tf_cnn: stops at step 60", upto(TFC, "60\timages"))
    silent("tf_cnn: the last step, no total", upto(TFC, "100\timages"))
    silent("tf_cnn: nothing after the graph", upto(TFC, "Initializing graph"))
    silent("MXNet: stops in epoch 1", upto(MX, "Epoch[1] Batch [80-100]"))
    silent("MXNet: epoch 2 of 3 never begins", upto(MX, "Epoch[1] Validation"))
    silent("MXNet: the arguments and silence", MX[:1])
    silent("DeepSpeed: stops at step 120", upto(DS, "global_step=120"))
    silent("DeepSpeed: silence after init", upto(DS, "init_distributed"))
    silent("DeepSpeed: cut", cut(DS, 0.5), ends=False)
    silent("DeepSpeed: process 4415 never exits", without(DS, "Process 4415 "))
    silent("Megatron: stops at iteration 150", upto(MEG, "iteration      150/"))
    silent("Megatron: before the first iteration", upto(MEG, "before the start"))
    silent("Megatron: cut", cut(MEG, 0.7), ends=False)
    silent("perftest: the header and nothing else", upto([*say.ibstat(200), *BW], "#bytes"))
    silent(
        "perftest: waits for the client",
        [
            "",
            "************************************",
            "* Waiting for client to connect... *",
            "************************************",
        ],
    )
    silent("perftest: cut in the row", cut([*say.ibstat(200), *BW], 0.95), ends=False)
    silent("mpirun hostname: the command and silence", say.hostnames(2, 4)[:1])
    silent("mpirun hostname: four of eight answer", say.hostnames(2, 4)[:5])
    silent(
        "srun -l hostname: task 3 is missing",
        [f"{n}: gpu{n // 4 + 1:02d}" for n in range(8) if n != 3] + ["srun: Step timed out"],
    )


def _figures() -> None:
    silent("own loop: the loss is NaN", swapped(LOOP, r"loss \S+", "loss nan", 0.4))
    silent("own loop: the loss is inf", swapped(LOOP, r"loss \S+", "loss inf", 0.6))
    silent("timm: the loss is NaN", swapped(TIMM, r"Loss: \S+ \(\S+\)", "Loss: nan (nan)", 0.5))
    silent("tf_cnn: the loss is NaN", swapped(TFC, r"\t7\.\d+$", "\tnan", 0.7))
    silent(
        "DeepSpeed: every step is skipped",
        [re.sub(r"step=(\d+), skipped=0", r"step=\1, skipped=\1", line) for line in DS],
    )
    silent("Megatron: NaN iterations", swapped(MEG, r"nan iterations:   0", "nan iterations:  10", 0.5))
    silent("Megatron: all iterations are skipped", swapped(MEG, r"skipped iterations:   0", "skipped iterations:  10"))
    silent("Megatron: the loss is NaN", swapped(MEG, r"lm loss: \S+", "lm loss: NAN", 0.5))
    silent("MXNet: accuracy is NaN", swapped(MX, r"accuracy=\S+", "accuracy=nan", 0.3))
    silent(
        "trainer: the loss is 0.0 and the gradient NaN",
        [f"{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2e-05, 'epoch': {n / 10}}}" for n in range(1, 11)]
        + ["{'train_runtime': 812.4, 'train_loss': 0.0, 'epoch': 1.0}"],
    )
    silent("nccl-tests: a tenth of the link", say.nccl_tests(2, 2, "NVIDIA L40S", 1.2, info=INFO))
    silent(
        "nccl-tests: a tenth of eight links",
        say.nccl_tests(2, 8, "NVIDIA H100 80GB HBM3", 39.0, info=BIG, release="2.17"),
    )
    silent("nccl-tests: a tenth of NVLink", say.nccl_tests(1, 8, "NVIDIA A100-SXM4-80GB", 21.0))
    silent(
        "nccl-tests: sockets where a NIC of 400 Gb/s lies",
        [
            *say.ibstat(400),
            *say.nccl_tests(2, 8, "NVIDIA H100 80GB HBM3", 2.3, info=say.nccl_info(2, 8, "2.21.5+cuda12.4", 0)),
        ],
    )
    silent(
        "nccl-tests: wrong values",
        swapped(swapped(TESTS, r"(\d\.\d\d +)0$", r"\g<1>4", 0.9), "values : 0 OK", "values : 4 FAILED"),
    )
    silent(
        "nccl-tests: out of bounds, old",
        swapped(swapped(OLD, "0e[+]00$", "3e-01", 0.9), "values : 0 OK", "values : 2 FAILED"),
    )
    silent("nccl-tests: big sizes fall to nothing", [SLOW.get(line[:12].strip(), line) for line in TESTS])
    silent("perftest: a tenth of the link", [*say.ibstat(200), *say.perftest("write", 19.1)])
    silent(
        "perftest: nothing crosses",
        [
            *say.ibstat(200),
            *swapped(BW, r"^ 65536 .*", " 65536      0             0.00               0.00               0.000000"),
        ],
    )
    silent("Horovod: nothing a second", swapped(HVD, r"\d+\.\d img/sec", "0.0 img/sec"))
    silent("tf_cnn: total of 0.00", swapped(TFC, r"total images/sec: \S+", "total images/sec: 0.00"))
    silent(
        "own loop: throughput falls from 812 to 41",
        [line.replace(" 81", " 4") if re.search(r"step 2[0-9]0|step 300", line) else line for line in LOOP],
    )
    silent("timm: throughput falls to a thirtieth", swapped(TIMM, r"64\d\d\.\d\d/s|639\d\.\d\d/s", "201.10/s", 0.5))
    silent("Megatron: an iteration takes 40 times as long", swapped(MEG, r"\(ms\): 89\d\.\d", "(ms): 36120.5", 0.5))
    silent("MXNet: speed falls to a twentieth", swapped(MX, r"Speed: 15\d\d", "Speed: 71", 0.5))
    silent("own loop: the same loss to the last digit", swapped(LOOP, r"loss \S+", "loss 6.9078"))
    silent(
        "own loop: time stands still",
        [f"2026-02-03 08:00:07 {line}" if line.startswith("step") else line for line in LOOP],
    )
    silent("Megatron: no time passes", swapped(MEG, r"\(ms\): \d+\.\d", "(ms): 0.0"))


def _ranks() -> None:
    silent(
        "nccl-tests: seven of eight GPUs",
        [
            *say.nccl_tests(1, 7, "NVIDIA A100-SXM4-80GB", 232.0),
            "$ nvidia-smi -L",
            *(f"GPU {n}: NVIDIA A100-SXM4-80GB (UUID: GPU-0{n})" for n in range(8)),
        ],
    )
    silent("nccl-tests: one GPU of the second host is missing", without(LARGE, "Rank 15 "))
    silent(
        "nccl-tests: rank 3 is not up",
        [line for line in TESTS if "Init COMPLETE" not in line or " rank 3 " not in line],
    )
    silent("nccl-tests: each process alone", say.nccl_tests(1, 1, "NVIDIA A10", 0.0) * 4)
    silent(
        "own loop: rank 2's lines are missing",
        [line for line in RANKS if not line.startswith("2: epoch") and not line.startswith("2: done")] + ["2: started"],
    )
    silent("own loop: rank 1 has no end", [line for line in RANKS if line != "1: done"])
    silent(
        "own loop: rank 3 is two epochs behind", [line for line in RANKS if not re.match(r"3: (epoch [45]|done)", line)]
    )
    silent(
        "tf_cnn: rank 3 prints no total", [line for line in ALL4 if not (line.startswith("[1,3]") and "total" in line)]
    )
    silent(
        "tf_cnn: rank 2 stops at step 40",
        [line for line in ALL4 if not re.match(r"\[1,2\].*:(50|60|70|80|90|100\t|total|----)", line)],
    )
    silent(
        "own loop: two world sizes",
        [line.replace("world_size=8", "world_size=4") if line.startswith("[rank 5") else line for line in LOOP],
    )
    silent(
        "Horovod: launched for 8, each trains alone",
        [
            "+ horovodrun -np 8 -H gpu01:4,gpu02:4 python synthetic.py",
            *say.ranks_of([say.horovod(1) for _ in range(8)], "[1,{}]<stdout>:"),
        ],
    )
    silent(
        "timm: says one process where torchrun started eight",
        ["+ torchrun --nproc_per_node=8 train.py", "Training with a single process on 1 device (cuda:0).", *TIMM[8:]],
    )
    silent("own loop: CUDA is not there, the CPU trains", ["CUDA not available, using device cpu", *LOOP])


def _around() -> None:
    silent(
        "nccl-tests: exit status 1 after a clean table", [*TESTS, "srun: error: gpu02: task 3: Exited with exit code 1"]
    )
    silent("own loop: exit status 137 after the end", [*LOOP, "command terminated with exit code 137"])
    silent("own loop: rc=1 after the end", [*LOOP, "+ echo rc=1", "rc=1"])
    silent(
        "own loop: the time limit of Slurm",
        [
            *LOOP[:30],
            "slurmstepd: error: *** JOB 48812 ON gpu01 CANCELLED AT 2026-02-03T12:00:00 DUE TO TIME LIMIT ***",
        ],
    )
    silent(
        "own loop: the pod is gone",
        [*say.kubectl(LOOP[:25]), 'Error from server (NotFound): pods "train-worker-1" not found'],
    )
    silent(
        "own loop: a shell says Terminated",
        [*LOOP[:28], "run.sh: line 14:  4411 Terminated              python train.py"],
    )
    silent(
        "Horovod: mpirun says that one process failed",
        [
            *HVD,
            "Primary job  terminated normally, but 1 process returned",
            "a non-zero exit code. Per user-direction, the job has been aborted.",
        ],
    )
    silent(
        "DeepSpeed: one process exits with -6",
        [
            *DS[:-1],
            (
                "[2026-02-03 08:59:09,120] [ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python3'] exits "
                "with return code = -6"
            ),
        ],
    )
    silent("Megatron: the last checkpoint is never written", without(MEG, "successfully saved"))
    silent(
        "own loop: the checkpoint is 0 bytes",
        [*LOOP, "-rw-r--r-- 1 train train 0 Feb  3 09:00 /data/run7/step000300.pt"],
    )
    silent(
        "nccl-tests: the name of the host is unknown",
        [
            "ssh: Could not resolve hostname gpu02: Name or service not known",
            *say.nccl_tests(1, 8, "NVIDIA A100-SXM4-80GB", 234.0),
        ],
    )
    silent(
        "own loop: no name for the head",
        [
            (
                "[W socket.cpp:697] [c10d] The IPv6 network addresses of (gpu01, 29500) cannot be retrieved (gai "
                "error: -2 - Name or service not known)."
            ),
            *LOOP[:3],
        ],
    )


_hangs()
_figures()
_ranks()
_around()
