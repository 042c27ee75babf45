"""150 sound outputs and what is right to say of each: SOUND, name -> (verdicts that are right, text).

"healthy" where the output shows a whole job; "no_fault_seen" where it cannot (no word of the link, no end that the
program prints); both where a careful reader may say either.
"""

from __future__ import annotations

from tests.unit.doctor import attack_programs as say

HEALTHY, OPEN = ("healthy",), ("no_fault_seen",)
EITHER = (*HEALTHY, *OPEN)
SOUND: dict[str, tuple[tuple[str, ...], str]] = {}


def sound(name: str, right: tuple[str, ...], lines: list[str]) -> None:
    assert name not in SOUND, name
    SOUND[name] = (right, "\n".join(lines) + "\n")


def _wrapped(number: int, lines: list[str]) -> list[str]:
    """The same through another launcher or collector."""
    return (
        lambda: lines,
        lambda: say.kubectl(lines),
        lambda: say.slurm(lines),
        lambda: say.mpirun_noise(lines),
        lambda: say.pods(lines),
        lambda: say.container_noise(lines),
    )[number % 6]()


def _nccl_tests() -> None:
    cards = (  # One host: NVLink of SXM cards.
        ("NVIDIA A100-SXM4-80GB", 235.0, 8),
        ("NVIDIA A100-SXM4-40GB", 229.0, 4),
        ("NVIDIA H100 80GB HBM3", 476.0, 8),
        ("NVIDIA H200", 481.0, 8),
        ("Tesla V100-SXM2-32GB", 131.0, 8),
        ("NVIDIA B200", 835.0, 8),
        ("NVIDIA H100 80GB HBM3", 362.0, 4),
        ("NVIDIA A100-SXM4-80GB", 219.0, 2),
    )
    for number, (card, top, gpus) in enumerate(cards):
        release = ("2.0", "2.13", "2.17")[number % 3]
        lines = say.nccl_tests(1, gpus, card, top, release=release, test="all_reduce")
        sound(f"nccl-tests: one host, {gpus} {card}, {release}", HEALTHY, _wrapped(number, lines))
    for number, test in enumerate(("all_gather", "reduce_scatter", "alltoall", "sendrecv")):
        lines = say.nccl_tests(1, 8, "NVIDIA A100-SXM4-80GB", 228.0, release="2.17", test=test)
        sound(f"nccl-tests: one host, {test}", HEALTHY, _wrapped(number + 2, lines))
    bridged = (
        ("NVIDIA A10", 11.2, 4),
        ("NVIDIA L40S", 22.1, 8),
        ("Tesla T4", 5.9, 4),
        ("NVIDIA RTX 6000 Ada Generation", 20.7, 4),
    )
    for number, (card, top, gpus) in enumerate(bridged):
        lines = say.nccl_tests(1, gpus, card, top, release="2.13", largest=28)
        sound(f"nccl-tests: one host, {gpus} {card}: nothing says what the link carries", OPEN, _wrapped(number, lines))
    fabrics = (  # hosts, GPUs, card, GB/s, Mb/s of a NIC, NICs, release, NCCL, layer
        (2, 8, "NVIDIA H100 80GB HBM3", 371.0, 400_000, 8, "2.17", "2.28.9+cuda12.9", "IB"),
        (4, 8, "NVIDIA H100 80GB HBM3", 364.0, 400_000, 8, "2.13", "2.21.5+cuda12.4", "RoCE"),
        (2, 8, "NVIDIA A100-SXM4-80GB", 186.0, 200_000, 8, "2.13", "2.18.3+cuda12.2", "IB"),
        (2, 4, "NVIDIA A100-SXM4-40GB", 91.0, 200_000, 4, "2.13", "2.20.5+cuda12.4", "RoCE"),
        (2, 1, "NVIDIA A10", 11.9, 100_000, 1, "2.13", "2.19.3+cuda12.3", "RoCE"),
        (4, 1, "NVIDIA L40S", 22.9, 200_000, 1, "2.17", "2.27.5+cuda12.9", "RoCE"),
        (2, 2, "NVIDIA L40S", 11.4, 100_000, 1, "2.17", "2.26.2+cuda12.8", "RoCE"),
        (8, 1, "NVIDIA A10", 2.8, 25_000, 1, "2.13", "2.22.3+cuda12.5", "RoCE"),
        (16, 8, "NVIDIA H100 80GB HBM3", 352.0, 400_000, 8, "2.17", "2.29.7+cuda13.0", "IB"),
        (2, 8, "NVIDIA H200", 377.0, 400_000, 8, "2.17", "2.30.7+cuda13.1", "RoCE"),
    )
    for number, (hosts, gpus, card, top, link, nics, release, nccl, layer) in enumerate(fabrics):
        info = say.nccl_info(hosts, gpus, nccl, link, nics, layer=layer)
        lines = say.nccl_tests(hosts, gpus, card, top, release=release, info=info)
        sound(f"nccl-tests: {hosts} hosts with {gpus} {card}, NCCL {nccl}, {layer}", HEALTHY, _wrapped(number, lines))
    for number, (test, top) in enumerate(
        (("all_gather", 11.7), ("reduce_scatter", 11.6), ("sendrecv", 12.0), ("alltoall", 9.1))
    ):
        info = say.nccl_info(2, 1, "2.21.5+cuda12.4", 100_000)
        lines = say.nccl_tests(2, 1, "NVIDIA A10", top, test=test, info=info)
        sound(f"nccl-tests: two hosts, {test}", HEALTHY, _wrapped(number + 1, lines))
    for number, (hosts, gpus, card, top) in enumerate(
        (
            (2, 1, "NVIDIA A10", 11.8),
            (4, 2, "NVIDIA L40S", 11.5),
            (2, 4, "NVIDIA A100-PCIE-40GB", 22.0),
            (8, 1, "Tesla T4", 2.7),
        )
    ):
        lines = say.nccl_tests(hosts, gpus, card, top)
        sound(f"nccl-tests: {hosts} hosts with {gpus} {card}: no word of the link", OPEN, _wrapped(number, lines))
    info = say.nccl_info(2, 2, "2.21.5+cuda12.4", 100_000)
    both = say.nccl_tests(2, 2, "NVIDIA L40S", 11.6, info=info) + say.nccl_tests(
        2, 2, "NVIDIA L40S", 11.5, test="all_gather"
    )
    sound("nccl-tests: two tests behind each other", HEALTHY, both)
    ethtool = ["Settings for ens192:", "\tSpeed: 100000Mb/s", "\tDuplex: Full", "\tLink detected: yes"]
    sound("nccl-tests: the link from ethtool", HEALTHY, [*ethtool, *say.nccl_tests(2, 1, "NVIDIA A10", 11.7)])
    sound("nccl-tests: the link from ibstat", HEALTHY, [*say.ibstat(200), *say.nccl_tests(2, 1, "NVIDIA L40S", 22.3)])
    lines = say.nccl_tests(2, 2, "NVIDIA L40S", 11.6, info=info)
    sound("nccl-tests: below mpirun --tag-output", HEALTHY, say.tagged(lines))
    sound("nccl-tests: below srun -l", HEALTHY, say.srun(lines))


def _torch() -> None:
    for number, (world, epochs) in enumerate(((1, 2), (2, 3), (4, 1), (8, 3), (8, 5), (16, 2), (32, 1), (4, 4))):
        lines = say.timm(world, epochs, rate=800.0 * world)
        lines = say.torchrun_noise(lines) if number % 2 else _wrapped(number, lines)
        sound(f"timm: {world} processes, {epochs} epochs", HEALTHY, lines)
    sound(
        "timm: another model, noise of Python", HEALTHY, say.python_noise(say.timm(8, 2, model="vit_base_patch16_224"))
    )
    sound("timm: below srun -l", HEALTHY, say.srun(say.timm(8, 2)))
    sound("timm: kubectl", HEALTHY, say.kubectl(say.timm(8, 1)))
    sound("timm: container", HEALTHY, say.container_noise(say.torchrun_noise(say.timm(8, 2))))
    for number, (world, steps) in enumerate(
        ((2, 100), (4, 500), (8, 200), (16, 100), (32, 300), (64, 100), (8, 2000), (2, 50))
    ):
        sound(f"own loop: {world} processes, {steps} steps", HEALTHY, _wrapped(number, say.own_loop(world, steps)))
    sound("own loop: the last step is the end", HEALTHY, say.own_loop(8, 400, end=""))
    sound("own loop: noise of torchrun and Python", HEALTHY, say.torchrun_noise(say.python_noise(say.own_loop(8, 300))))
    sound("own loop: Slurm", HEALTHY, say.slurm(say.own_loop(16, 300), 16))
    each = [[f"epoch {e}/5 loss {4.0 - e / 2 + r / 100:.3f}" for e in range(1, 6)] + ["done"] for r in range(4)]
    sound("own loop: all ranks print below srun -l", HEALTHY, say.ranks_of(each, "{}: "))
    sound("own loop: all ranks print below mpirun", HEALTHY, say.ranks_of(each))
    sound("own loop: torchrun prefixes", HEALTHY, say.ranks_of(each, "[default{}]:"))
    up = say.nccl_info(2, 4, "2.20.5+cuda12.4", 200_000, 1)
    sound("own loop: with NCCL's lines", HEALTHY, [*up, *say.own_loop(8, 300)])
    lines = [
        f"{{'loss': {3.2 - n / 100:.4f}, 'grad_norm': 1.21, 'learning_rate': 2e-05, 'epoch': {n / 100:.2f}}}"
        for n in range(10, 101, 10)
    ]
    end = (
        "{'train_runtime': 812.4, 'train_samples_per_second': 98.2, 'train_steps_per_second': 1.53, 'train_loss':"
        " 2.71, 'epoch': 1.0}"
    )
    sound("trainer of transformers", HEALTHY, [*lines, end, "100%|##########| 1000/1000 [13:32<00:00,  1.23it/s]"])
    first = say.own_loop(8, 100, end="")[:-1]
    sound(
        "own loop: a step that was slow once",
        HEALTHY,
        [*first[:12], first[12].replace("81", "41", 1), *first[13:], "Training finished."],
    )
    sound(
        "own loop: rising loss, finite",
        EITHER,
        [f"step {n}/50 loss {2 + n / 500:.3f}" for n in range(1, 51)] + ["Training finished."],
    )


def _frameworks() -> None:
    for number, (world, each) in enumerate(
        ((1, 340.0), (2, 331.0), (4, 329.0), (8, 327.0), (16, 322.0), (32, 318.0), (64, 309.0), (8, 1190.0))
    ):
        sound(f"Horovod: {world} GPUs at {each}", HEALTHY, _wrapped(number, say.horovod(world, each)))
    sound("Horovod: below horovodrun", HEALTHY, say.tagged(say.horovod(8)))
    sound(
        "Horovod: horovodrun with times",
        HEALTHY,
        [f"Tue Feb  3 08:00:{n % 60:02d} 2026[0]<stdout>:{line}" for n, line in enumerate(say.horovod(8))],
    )
    sound("Horovod: below srun -l", HEALTHY, say.srun(say.horovod(16)))
    sound("Horovod: on CPUs", HEALTHY, say.horovod(4, 12.0, device="CPU"))
    for number, (world, steps, release) in enumerate(
        (
            (1, 100, "1.13"),
            (2, 100, "1.15"),
            (4, 100, "1.15"),
            (8, 200, "2.4"),
            (16, 100, "2.11"),
            (4, 50, "1.12"),
            (2, 500, "2.4"),
            (8, 100, "1.15"),
        )
    ):
        lines = say.tf_cnn(world, steps=steps, release=release)
        sound(f"tf_cnn: rank 0 of {world}, {steps} steps, {release}, {number}", HEALTHY, _wrapped(number, lines))
    for world in (2, 4, 8):
        sound(
            f"tf_cnn: all of {world} ranks",
            HEALTHY,
            say.ranks_of([say.tf_cnn(world, each=330 + r) for r in range(world)]),
        )
    sound("tf_cnn: all of 4 ranks below srun -l", HEALTHY, say.ranks_of([say.tf_cnn(4) for _ in range(4)], "{}: "))
    for number, epochs in enumerate((1, 2, 4, 8)):
        sound(f"MXNet: {epochs} epochs", HEALTHY, _wrapped(number, say.mxnet(epochs)))
    for epochs in (1, 3):
        sound(f"MXNet: {epochs} epochs, how many it was to be is not said", EITHER, say.mxnet(epochs, say_epochs=False))
    sound("MXNet: below mpirun", HEALTHY, say.ranks_of([say.mxnet(2, rate=1500 + 9 * r) for r in range(2)]))
    sound("MXNet: kubectl", HEALTHY, say.kubectl(say.mxnet(2)))
    for number, (world, steps) in enumerate(((1, 50), (2, 100), (4, 200), (8, 100), (8, 500), (8, 1000))):
        sound(f"DeepSpeed: {world} processes, {steps} steps", HEALTHY, _wrapped(number, say.deepspeed(world, steps)))
    two = [
        f"gpu{host + 1:02d}: {line}"
        for pair in zip(say.deepspeed(8, 100), say.deepspeed(8, 100))
        for host, line in enumerate(pair)
    ]
    sound("DeepSpeed: two hosts by pdsh", HEALTHY, two)
    sound("DeepSpeed: noise of Python", HEALTHY, say.python_noise(say.deepspeed(8, 100)))
    for number, (world, steps) in enumerate(
        ((8, 100), (16, 500), (32, 200), (64, 100), (128, 1000), (8, 50), (16, 100), (256, 300))
    ):
        sound(
            f"Megatron: {world} processes, {steps} iterations",
            HEALTHY,
            _wrapped(number, say.megatron(world, steps, saved=number % 3 != 2)),
        )
    sound("Megatron: below srun -l, the last rank prints", HEALTHY, say.srun(say.megatron(16, 100), 15))
    sound("Megatron: torchrun", HEALTHY, say.torchrun_noise(say.megatron(8, 100)))


def _tools() -> None:
    sizes = tuple(1 << n for n in range(1, 24))
    for number, (verb, top) in enumerate(
        (("write", 197.1), ("read", 196.8), ("send", 98.4), ("write", 389.7), ("write", 23.1))
    ):
        rate = 25 if top < 25 else 100 if top < 100 else 200 if top < 200 else 400
        sound(f"perftest: {verb} at {top}, the link by ibstat", HEALTHY, [*say.ibstat(rate), *say.perftest(verb, top)])
        sound(f"perftest: {verb} at {top} alone", OPEN, _wrapped(number, say.perftest(verb, top)))
    sound(
        "perftest: all sizes, the link by ibstat",
        HEALTHY,
        [*say.ibstat(200), *say.perftest("write", 197.0, sizes=sizes)],
    )
    sound(
        "perftest: InfiniBand",
        HEALTHY,
        [*say.ibstat(200, "InfiniBand"), *say.perftest("read", 196.0, link="IB", gid=0)],
    )
    sound("perftest: all sizes alone", OPEN, say.perftest("write", 197.0, sizes=sizes))
    for hosts, each in ((2, 1), (2, 8), (4, 1), (4, 4), (8, 2)):
        sound(f"mpirun hostname: {hosts} hosts, {each} each", EITHER, say.hostnames(hosts, each))
    sound("mpirun hostname: tagged", EITHER, [f"[1,{n}]<stdout>:gpu{n // 2 + 1:02d}" for n in range(8)])
    sound("srun -l hostname", EITHER, [f"{n}: gpu{n // 4 + 1:02d}" for n in range(16)])


def _other_forms() -> None:
    info = say.nccl_info(2, 2, "2.21.5+cuda12.4", 100_000)
    table = say.nccl_tests(2, 2, "NVIDIA L40S", 11.6, info=info)
    sound("form: lines end as on Windows", HEALTHY, [f"{line}\r" for line in table])
    sound("form: docker compose", HEALTHY, [f"trainer-1  | {line}" for line in say.own_loop(8, 300)])
    unchecked = [line.replace("      0", "    N/A") if line[:12].strip().isdigit() else line for line in table]
    sound("nccl-tests: values were not checked (-c 0)", EITHER, unchecked)
    bar = "".join(
        (
            f"\rEpoch {e}: {p:3d}%|{'#' * (p // 10):10}| {p}/100 [00:{p // 2:02d}<00:{50 - p // 2:02d}, "
            f"loss={3 - e - p / 200:.3f}]"
        )
        for e in (0, 1)
        for p in range(0, 101, 20)
    )
    sound(
        "form: progress bars over each other",
        HEALTHY,
        ["Starting training on 4 GPUs", bar, "`Trainer.fit` stopped: `max_epochs=2` reached."],
    )
    colours = [
        f"\x1b[32m2026-02-03 08:00:{n:02d}\x1b[0m | \x1b[1mINFO    \x1b[0m | step {n}/50 loss={4 - n / 20:.3f}"
        for n in range(1, 51)
    ]
    sound("form: colours of a terminal", HEALTHY, [*colours, "\x1b[32mTraining finished.\x1b[0m"])
    jsons = [
        (
            f'{{"time": "2026-02-03T08:00:{n:02d}Z", "step": {n}, "steps": 40, "loss": {4 - n / 20:.3f}, '
            '"tokens_per_s": 51200}'
        )
        for n in range(1, 41)
    ]
    sound(
        "form: a JSON object a line",
        HEALTHY,
        [*jsons, '{"time": "2026-02-03T08:00:41Z", "event": "training finished", "exit_code": 0}'],
    )
    words = [
        f"epoch {e}/10 train loss {3 - e / 5:.3f} | val top-1 error {60 - e:.2f} % | decode errors 0 | failed samples 0"
        for e in range(1, 11)
    ]
    sound("words: error rates are figures", HEALTHY, [*words, "Training complete. 0 errors, 0 warnings."])
    retry = ["Downloading shard 3 of 8 ... timed out, trying again (1/5)", "Downloading shard 3 of 8 ... ok"]
    sound("words: a download that was tried twice", HEALTHY, [*retry, *say.own_loop(8, 300)])
    again = ["Error reading /data/cache.idx: not there yet, building it", "Built /data/cache.idx in 12 s"]
    sound("words: a cache that is built", EITHER, [*again, *say.own_loop(8, 300)])
    resumed = [
        "resuming from /data/run7/step000300.pt at step 300",
        *[line for line in say.own_loop(8, 600) if "step 1" not in line and "step 2" not in line],
    ]
    sound("own loop: resumed in the middle", HEALTHY, resumed)
    sound("Horovod: twice in one log", HEALTHY, say.horovod(8) + say.horovod(16, 322.0))


_nccl_tests()
_torch()
_frameworks()
_tools()
_other_forms()
