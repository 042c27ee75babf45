"""100 jobs that went wrong and print no word of it, or hardly one: SILENT, name -> text. None may be called healthy."""

from __future__ import annotations

import re

from tests.unit.doctor import attack_programs as programs

SILENT: dict[str, str] = {}


def add(name: str, lines: list[str], ends: bool = True) -> None:
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


INFO = programs.nccl_info(2, 2, "2.21.5+cuda12.4", 100_000)
BIG = programs.nccl_info(2, 8, "2.28.9+cuda12.9", 400_000, 8, layer="IB")
TESTS = programs.nccl_tests(2, 2, "NVIDIA L40S", 11.6, info=INFO)
LARGE = programs.nccl_tests(2, 8, "NVIDIA H100 80GB HBM3", 371.0, info=BIG, release="2.17")
ONE = programs.nccl_tests(1, 8, "NVIDIA A100-SXM4-80GB", 234.0)
OLD = programs.nccl_tests(
    2, 1, "NVIDIA A10", 11.8, release="2.0", info=programs.nccl_info(2, 1, "2.8.4+cuda11.1", 100_000)
)
TIMM, LOOP, HVD, TFC = programs.timm(8, 3), programs.own_loop(8, 300), programs.horovod(16), programs.tf_cnn(4)
MX, DS, MEG, BW = (
    programs.mxnet(3),
    programs.deepspeed(8, 200),
    programs.megatron(16, 200),
    programs.perftest("write", 197.0),
)
SLOW = {str(1 << power): programs.nccl_row(1 << power, 0.31, 1.5) for power in (28, 29, 30)}
EACH = [[f"epoch {e}/5 loss {4.0 - e / 2 + r / 100:.3f}" for e in range(1, 6)] + ["done"] for r in range(4)]
RANKS = programs.ranks_of(EACH, "{}: ")
FOUR = [programs.tf_cnn(4, each=330 + r) for r in range(4)]
ALL4 = programs.ranks_of(FOUR)


def _add_hangs() -> None:
    for name, lines in (("two hosts", TESTS), ("two big hosts", LARGE), ("one host", ONE), ("old", OLD)):
        add(f"nccl-tests, {name}: hangs after the header", upto(lines, "(elements)"))
        add(f"nccl-tests, {name}: cut in the middle of a row", cut(lines, 0.93), ends=False)
    add("nccl-tests: hangs at 4 MiB", upto(TESTS, "     4194304 "))
    add("nccl-tests: the last row is there, the summary is not", upto(TESTS, "  1073741824  "))
    add("nccl-tests: silence after the rings", upto(TESTS, "Connected all rings", 2)[:-1])
    add("nccl-tests: silence after Bootstrap", upto(TESTS, "Bootstrap :"))
    add("nccl-tests: silence after Using network", upto(LARGE, "Using network"))
    add("nccl-tests: begins and says which devices", upto(ONE, "device  7"))
    add("own loop: silence after the rings", [*programs.nccl_info(2, 4, "2.20.5+cuda12.4", 200_000), *LOOP[:8]])
    add("own loop: all ranks are there, nothing follows", LOOP[:8])
    add("own loop: stops at step 170", upto(LOOP, "step 170/"))
    add("own loop: cut in the last step", cut(upto(LOOP, "step 300/"), 0.98), ends=False)
    add("timm: stops in epoch 1", upto(TIMM, "Train: 1 [ 200"))
    add("timm: hangs at the first validation", upto(TIMM[:28], "Test: [  24"))
    add("timm: one epoch of three is missing", without(upto(TIMM, "checkpoint-1"), "Best metric"))
    add("timm: cut in the middle of a line", cut(TIMM, 0.6), ends=False)
    add("timm: nothing after the model", upto(TIMM, "Scheduled epochs"))
    add("Horovod: hangs in the warm-up", upto(HVD, "Running warmup"))
    add("Horovod: hangs after Iter #6", upto(HVD, "Iter #6"))
    add("Horovod: all iterations, no total", upto(HVD, "Iter #9"))
    add("Horovod: cut in the total", cut(HVD, 0.98), ends=False)
    add("tf_cnn: hangs in the warm-up", upto(TFC, "Running warm up"))
    add("tf_cnn: stops at step 60", upto(TFC, "60\timages"))
    add("tf_cnn: the last step, no total", upto(TFC, "100\timages"))
    add("tf_cnn: nothing after the graph", upto(TFC, "Initializing graph"))
    add("MXNet: stops in epoch 1", upto(MX, "Epoch[1] Batch [80-100]"))
    add("MXNet: epoch 2 of 3 never begins", upto(MX, "Epoch[1] Validation"))
    add("MXNet: the arguments and silence", MX[:1])
    add("DeepSpeed: stops at step 120", upto(DS, "global_step=120"))
    add("DeepSpeed: silence after init", upto(DS, "init_distributed"))
    add("DeepSpeed: cut", cut(DS, 0.5), ends=False)
    add("DeepSpeed: process 4415 never exits", without(DS, "Process 4415 "))
    add("Megatron: stops at iteration 150", upto(MEG, "iteration      150/"))
    add("Megatron: before the first iteration", upto(MEG, "before the start"))
    add("Megatron: cut", cut(MEG, 0.7), ends=False)
    add("perftest: the header and nothing else", upto([*programs.ibstat(200), *BW], "#bytes"))
    add(
        "perftest: waits for the client",
        [
            "",
            "************************************",
            "* Waiting for client to connect... *",
            "************************************",
        ],
    )
    add("perftest: cut in the row", cut([*programs.ibstat(200), *BW], 0.95), ends=False)
    add("mpirun hostname: the command and silence", programs.hostnames(2, 4)[:1])
    add("mpirun hostname: four of eight answer", programs.hostnames(2, 4)[:5])
    add(
        "srun -l hostname: task 3 is missing",
        [f"{n}: gpu{n // 4 + 1:02d}" for n in range(8) if n != 3] + ["srun: Step timed out"],
    )


def _add_figures() -> None:
    add("own loop: the loss is NaN", swapped(LOOP, r"loss \S+", "loss nan", 0.4))
    add("own loop: the loss is inf", swapped(LOOP, r"loss \S+", "loss inf", 0.6))
    add("timm: the loss is NaN", swapped(TIMM, r"Loss: \S+ \(\S+\)", "Loss: nan (nan)", 0.5))
    add("tf_cnn: the loss is NaN", swapped(TFC, r"\t7\.\d+$", "\tnan", 0.7))
    add(
        "DeepSpeed: every step is skipped",
        [re.sub(r"step=(\d+), skipped=0", r"step=\1, skipped=\1", line) for line in DS],
    )
    add("Megatron: NaN iterations", swapped(MEG, r"nan iterations:   0", "nan iterations:  10", 0.5))
    add("Megatron: all iterations are skipped", swapped(MEG, r"skipped iterations:   0", "skipped iterations:  10"))
    add("Megatron: the loss is NaN", swapped(MEG, r"lm loss: \S+", "lm loss: NAN", 0.5))
    add("MXNet: accuracy is NaN", swapped(MX, r"accuracy=\S+", "accuracy=nan", 0.3))
    add(
        "trainer: the loss is 0.0 and the gradient NaN",
        [f"{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2e-05, 'epoch': {n / 10}}}" for n in range(1, 11)]
        + ["{'train_runtime': 812.4, 'train_loss': 0.0, 'epoch': 1.0}"],
    )
    add("nccl-tests: a tenth of the link", programs.nccl_tests(2, 2, "NVIDIA L40S", 1.2, info=INFO))
    add(
        "nccl-tests: a tenth of eight links",
        programs.nccl_tests(2, 8, "NVIDIA H100 80GB HBM3", 39.0, info=BIG, release="2.17"),
    )
    add("nccl-tests: a tenth of NVLink", programs.nccl_tests(1, 8, "NVIDIA A100-SXM4-80GB", 21.0))
    add(
        "nccl-tests: sockets where a NIC of 400 Gb/s lies",
        [
            *programs.ibstat(400),
            *programs.nccl_tests(
                2, 8, "NVIDIA H100 80GB HBM3", 2.3, info=programs.nccl_info(2, 8, "2.21.5+cuda12.4", 0)
            ),
        ],
    )
    add(
        "nccl-tests: wrong values",
        swapped(swapped(TESTS, r"(\d\.\d\d +)0$", r"\g<1>4", 0.9), "values : 0 OK", "values : 4 FAILED"),
    )
    add(
        "nccl-tests: out of bounds, old",
        swapped(swapped(OLD, "0e[+]00$", "3e-01", 0.9), "values : 0 OK", "values : 2 FAILED"),
    )
    add("nccl-tests: big sizes fall to nothing", [SLOW.get(line[:12].strip(), line) for line in TESTS])
    add("perftest: a tenth of the link", [*programs.ibstat(200), *programs.perftest("write", 19.1)])
    add(
        "perftest: nothing crosses",
        [
            *programs.ibstat(200),
            *swapped(BW, r"^ 65536 .*", " 65536      0             0.00               0.00               0.000000"),
        ],
    )
    add("Horovod: nothing a second", swapped(HVD, r"\d+\.\d img/sec", "0.0 img/sec"))
    add("tf_cnn: total of 0.00", swapped(TFC, r"total images/sec: \S+", "total images/sec: 0.00"))
    add(
        "own loop: throughput falls from 812 to 41",
        [line.replace(" 81", " 4") if re.search(r"step 2[0-9]0|step 300", line) else line for line in LOOP],
    )
    add("timm: throughput falls to a thirtieth", swapped(TIMM, r"64\d\d\.\d\d/s|639\d\.\d\d/s", "201.10/s", 0.5))
    add("Megatron: an iteration takes 40 times as long", swapped(MEG, r"\(ms\): 89\d\.\d", "(ms): 36120.5", 0.5))
    add("MXNet: speed falls to a twentieth", swapped(MX, r"Speed: 15\d\d", "Speed: 71", 0.5))
    add("own loop: the same loss to the last digit", swapped(LOOP, r"loss \S+", "loss 6.9078"))
    add(
        "own loop: time stands still",
        [f"2026-02-03 08:00:07 {line}" if line.startswith("step") else line for line in LOOP],
    )
    add("Megatron: no time passes", swapped(MEG, r"\(ms\): \d+\.\d", "(ms): 0.0"))


def _add_ranks() -> None:
    add(
        "nccl-tests: seven of eight GPUs",
        [
            *programs.nccl_tests(1, 7, "NVIDIA A100-SXM4-80GB", 232.0),
            "$ nvidia-smi -L",
            *(f"GPU {n}: NVIDIA A100-SXM4-80GB (UUID: GPU-0{n})" for n in range(8)),
        ],
    )
    add("nccl-tests: one GPU of the second host is missing", without(LARGE, "Rank 15 "))
    add(
        "nccl-tests: rank 3 is not up",
        [line for line in TESTS if "Init COMPLETE" not in line or " rank 3 " not in line],
    )
    add("nccl-tests: each process alone", programs.nccl_tests(1, 1, "NVIDIA A10", 0.0) * 4)
    add(
        "own loop: rank 2's lines are missing",
        [line for line in RANKS if not line.startswith("2: epoch") and not line.startswith("2: done")] + ["2: started"],
    )
    add("own loop: rank 1 has no end", [line for line in RANKS if line != "1: done"])
    add(
        "own loop: rank 3 is two epochs behind", [line for line in RANKS if not re.match(r"3: (epoch [45]|done)", line)]
    )
    add("tf_cnn: rank 3 prints no total", [line for line in ALL4 if not (line.startswith("[1,3]") and "total" in line)])
    add(
        "tf_cnn: rank 2 stops at step 40",
        [line for line in ALL4 if not re.match(r"\[1,2\].*:(50|60|70|80|90|100\t|total|----)", line)],
    )
    add(
        "own loop: two world sizes",
        [line.replace("world_size=8", "world_size=4") if line.startswith("[rank 5") else line for line in LOOP],
    )
    add(
        "Horovod: launched for 8, each trains alone",
        [
            "+ horovodrun -np 8 -H gpu01:4,gpu02:4 python synthetic.py",
            *programs.ranks_of([programs.horovod(1) for _each in range(8)], "[1,{}]<stdout>:"),
        ],
    )
    add(
        "timm: says one process where torchrun started eight",
        ["+ torchrun --nproc_per_node=8 train.py", "Training with a single process on 1 device (cuda:0).", *TIMM[8:]],
    )
    add("own loop: CUDA is not there, the CPU trains", ["CUDA not available, using device cpu", *LOOP])


def _add_around() -> None:
    add(
        "nccl-tests: exit status 1 after a clean table", [*TESTS, "srun: error: gpu02: task 3: Exited with exit code 1"]
    )
    add("own loop: exit status 137 after the end", [*LOOP, "command terminated with exit code 137"])
    add("own loop: rc=1 after the end", [*LOOP, "+ echo rc=1", "rc=1"])
    add(
        "own loop: the time limit of Slurm",
        [
            *LOOP[:30],
            "slurmstepd: error: *** JOB 48812 ON gpu01 CANCELLED AT 2026-02-03T12:00:00 DUE TO TIME LIMIT ***",
        ],
    )
    add(
        "own loop: the pod is gone",
        [*programs.kubectl(LOOP[:25]), 'Error from server (NotFound): pods "train-worker-1" not found'],
    )
    add(
        "own loop: a shell says Terminated",
        [*LOOP[:28], "run.sh: line 14:  4411 Terminated              python train.py"],
    )
    add(
        "Horovod: mpirun says that one process failed",
        [
            *HVD,
            "Primary job  terminated normally, but 1 process returned",
            "a non-zero exit code. Per user-direction, the job has been aborted.",
        ],
    )
    add(
        "DeepSpeed: one process exits with -6",
        [
            *DS[:-1],
            (
                "[2026-02-03 08:59:09,120] [ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python3'] exits "
                "with return code = -6"
            ),
        ],
    )
    add("Megatron: the last checkpoint is never written", without(MEG, "successfully saved"))
    add(
        "own loop: the checkpoint is 0 bytes",
        [*LOOP, "-rw-r--r-- 1 train train 0 Feb  3 09:00 /data/run7/step000300.pt"],
    )
    add(
        "nccl-tests: the name of the host is unknown",
        [
            "ssh: Could not resolve hostname gpu02: Name or service not known",
            *programs.nccl_tests(1, 8, "NVIDIA A100-SXM4-80GB", 234.0),
        ],
    )
    add(
        "own loop: no name for the head",
        [
            (
                "[W socket.cpp:697] [c10d] The IPv6 network addresses of (gpu01, 29500) cannot be retrieved (gai "
                "error: -2 - Name or service not known)."
            ),
            *LOOP[:3],
        ],
    )


_add_hangs()
_add_figures()
_add_ranks()
_add_around()
