"""150 sound outputs and what is right to say of each: SOUND, name -> (verdicts that are right, text).

"healthy" where the output shows a whole job; "no_fault_seen" where it cannot (no word of the link, no end that the
program prints); both where a careful reader may say either.
"""

from __future__ import annotations

from tests.unit.doctor import attack_programs as programs

HEALTHY, OPEN = ("healthy",), ("no_fault_seen",)
EITHER = (*HEALTHY, *OPEN)
SOUND: dict[str, tuple[tuple[str, ...], str]] = {}


def add(name: str, right: tuple[str, ...], lines: list[str]) -> None:
    assert name not in SOUND, name
    SOUND[name] = (right, "\n".join(lines) + "\n")


def _wrapped(number: int, lines: list[str]) -> list[str]:
    """The same through another launcher or collector."""
    return (
        lambda: lines,
        lambda: programs.kubectl(lines),
        lambda: programs.slurm(lines),
        lambda: programs.mpirun_noise(lines),
        lambda: programs.pods(lines),
        lambda: programs.container_noise(lines),
    )[number % 6]()


def _add_nccl_tests() -> None:
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
        lines = programs.nccl_tests(1, gpus, card, top, release=release, test="all_reduce")
        add(f"nccl-tests: one host, {gpus} {card}, {release}", HEALTHY, _wrapped(number, lines))
    for number, test in enumerate(("all_gather", "reduce_scatter", "alltoall", "sendrecv")):
        lines = programs.nccl_tests(1, 8, "NVIDIA A100-SXM4-80GB", 228.0, release="2.17", test=test)
        add(f"nccl-tests: one host, {test}", HEALTHY, _wrapped(number + 2, lines))
    bridged = (
        ("NVIDIA A10", 11.2, 4),
        ("NVIDIA L40S", 22.1, 8),
        ("Tesla T4", 5.9, 4),
        ("NVIDIA RTX 6000 Ada Generation", 20.7, 4),
    )
    for number, (card, top, gpus) in enumerate(bridged):
        lines = programs.nccl_tests(1, gpus, card, top, release="2.13", largest=28)
        add(f"nccl-tests: one host, {gpus} {card}: nothing says what the link carries", OPEN, _wrapped(number, lines))
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
        info = programs.nccl_info(hosts, gpus, nccl, link, nics, layer=layer)
        lines = programs.nccl_tests(hosts, gpus, card, top, release=release, info=info)
        add(f"nccl-tests: {hosts} hosts with {gpus} {card}, NCCL {nccl}, {layer}", HEALTHY, _wrapped(number, lines))
    for number, (test, top) in enumerate(
        (("all_gather", 11.7), ("reduce_scatter", 11.6), ("sendrecv", 12.0), ("alltoall", 9.1))
    ):
        info = programs.nccl_info(2, 1, "2.21.5+cuda12.4", 100_000)
        lines = programs.nccl_tests(2, 1, "NVIDIA A10", top, test=test, info=info)
        add(f"nccl-tests: two hosts, {test}", HEALTHY, _wrapped(number + 1, lines))
    for number, (hosts, gpus, card, top) in enumerate(
        (
            (2, 1, "NVIDIA A10", 11.8),
            (4, 2, "NVIDIA L40S", 11.5),
            (2, 4, "NVIDIA A100-PCIE-40GB", 22.0),
            (8, 1, "Tesla T4", 2.7),
        )
    ):
        lines = programs.nccl_tests(hosts, gpus, card, top)
        add(f"nccl-tests: {hosts} hosts with {gpus} {card}: no word of the link", OPEN, _wrapped(number, lines))
    info = programs.nccl_info(2, 2, "2.21.5+cuda12.4", 100_000)
    both = programs.nccl_tests(2, 2, "NVIDIA L40S", 11.6, info=info) + programs.nccl_tests(
        2, 2, "NVIDIA L40S", 11.5, test="all_gather"
    )
    add("nccl-tests: two tests behind each other", HEALTHY, both)
    ethtool = ["Settings for ens192:", "\tSpeed: 100000Mb/s", "\tDuplex: Full", "\tLink detected: yes"]
    add("nccl-tests: the link from ethtool", HEALTHY, [*ethtool, *programs.nccl_tests(2, 1, "NVIDIA A10", 11.7)])
    add(
        "nccl-tests: the link from ibstat",
        HEALTHY,
        [*programs.ibstat(200), *programs.nccl_tests(2, 1, "NVIDIA L40S", 22.3)],
    )
    lines = programs.nccl_tests(2, 2, "NVIDIA L40S", 11.6, info=info)
    add("nccl-tests: below mpirun --tag-output", HEALTHY, programs.tagged(lines))
    add("nccl-tests: below srun -l", HEALTHY, programs.srun(lines))


def _add_torch() -> None:
    for number, (world, epochs) in enumerate(((1, 2), (2, 3), (4, 1), (8, 3), (8, 5), (16, 2), (32, 1), (4, 4))):
        lines = programs.timm(world, epochs, rate=800.0 * world)
        lines = programs.torchrun_noise(lines) if number % 2 else _wrapped(number, lines)
        add(f"timm: {world} processes, {epochs} epochs", HEALTHY, lines)
    add(
        "timm: another model, noise of Python",
        HEALTHY,
        programs.python_noise(programs.timm(8, 2, model="vit_base_patch16_224")),
    )
    add("timm: below srun -l", HEALTHY, programs.srun(programs.timm(8, 2)))
    add("timm: kubectl", HEALTHY, programs.kubectl(programs.timm(8, 1)))
    add("timm: container", HEALTHY, programs.container_noise(programs.torchrun_noise(programs.timm(8, 2))))
    for number, (world, steps) in enumerate(
        ((2, 100), (4, 500), (8, 200), (16, 100), (32, 300), (64, 100), (8, 2000), (2, 50))
    ):
        add(f"own loop: {world} processes, {steps} steps", HEALTHY, _wrapped(number, programs.own_loop(world, steps)))
    add("own loop: the last step is the end", HEALTHY, programs.own_loop(8, 400, end=""))
    add(
        "own loop: noise of torchrun and Python",
        HEALTHY,
        programs.torchrun_noise(programs.python_noise(programs.own_loop(8, 300))),
    )
    add("own loop: Slurm", HEALTHY, programs.slurm(programs.own_loop(16, 300), 16))
    each = [[f"epoch {e}/5 loss {4.0 - e / 2 + r / 100:.3f}" for e in range(1, 6)] + ["done"] for r in range(4)]
    add("own loop: all ranks print below srun -l", HEALTHY, programs.ranks_of(each, "{}: "))
    add("own loop: all ranks print below mpirun", HEALTHY, programs.ranks_of(each))
    add("own loop: torchrun prefixes", HEALTHY, programs.ranks_of(each, "[default{}]:"))
    up = programs.nccl_info(2, 4, "2.20.5+cuda12.4", 200_000, 1)
    add("own loop: with NCCL's lines", HEALTHY, [*up, *programs.own_loop(8, 300)])
    lines = [
        f"{{'loss': {3.2 - n / 100:.4f}, 'grad_norm': 1.21, 'learning_rate': 2e-05, 'epoch': {n / 100:.2f}}}"
        for n in range(10, 101, 10)
    ]
    end = (
        "{'train_runtime': 812.4, 'train_samples_per_second': 98.2, 'train_steps_per_second': 1.53, 'train_loss':"
        " 2.71, 'epoch': 1.0}"
    )
    add("trainer of transformers", HEALTHY, [*lines, end, "100%|##########| 1000/1000 [13:32<00:00,  1.23it/s]"])
    first = programs.own_loop(8, 100, end="")[:-1]
    add(
        "own loop: a step that was slow once",
        HEALTHY,
        [*first[:12], first[12].replace("81", "41", 1), *first[13:], "Training finished."],
    )
    add(
        "own loop: rising loss, finite",
        EITHER,
        [f"step {n}/50 loss {2 + n / 500:.3f}" for n in range(1, 51)] + ["Training finished."],
    )


def _add_frameworks() -> None:
    for number, (world, each) in enumerate(
        ((1, 340.0), (2, 331.0), (4, 329.0), (8, 327.0), (16, 322.0), (32, 318.0), (64, 309.0), (8, 1190.0))
    ):
        add(f"Horovod: {world} GPUs at {each}", HEALTHY, _wrapped(number, programs.horovod(world, each)))
    add("Horovod: below horovodrun", HEALTHY, programs.tagged(programs.horovod(8)))
    add(
        "Horovod: horovodrun with times",
        HEALTHY,
        [f"Tue Feb  3 08:00:{n % 60:02d} 2026[0]<stdout>:{line}" for n, line in enumerate(programs.horovod(8))],
    )
    add("Horovod: below srun -l", HEALTHY, programs.srun(programs.horovod(16)))
    add("Horovod: on CPUs", HEALTHY, programs.horovod(4, 12.0, device="CPU"))
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
        lines = programs.tf_cnn(world, steps=steps, release=release)
        add(f"tf_cnn: rank 0 of {world}, {steps} steps, {release}, {number}", HEALTHY, _wrapped(number, lines))
    for world in (2, 4, 8):
        add(
            f"tf_cnn: all of {world} ranks",
            HEALTHY,
            programs.ranks_of([programs.tf_cnn(world, each=330 + r) for r in range(world)]),
        )
    add(
        "tf_cnn: all of 4 ranks below srun -l",
        HEALTHY,
        programs.ranks_of([programs.tf_cnn(4) for _each in range(4)], "{}: "),
    )
    for number, epochs in enumerate((1, 2, 4, 8)):
        add(f"MXNet: {epochs} epochs", HEALTHY, _wrapped(number, programs.mxnet(epochs)))
    for epochs in (1, 3):
        add(
            f"MXNet: {epochs} epochs, how many it was to be is not said",
            EITHER,
            programs.mxnet(epochs, say_epochs=False),
        )
    add("MXNet: below mpirun", HEALTHY, programs.ranks_of([programs.mxnet(2, rate=1500 + 9 * r) for r in range(2)]))
    add("MXNet: prefix of pods", HEALTHY, programs.pods(programs.mxnet(3)))
    for number, (world, steps) in enumerate(((1, 50), (2, 100), (4, 200), (8, 100), (8, 500), (8, 1000))):
        add(f"DeepSpeed: {world} processes, {steps} steps", HEALTHY, _wrapped(number, programs.deepspeed(world, steps)))
    two = [
        f"gpu{host + 1:02d}: {line}"
        for pair in zip(programs.deepspeed(8, 100), programs.deepspeed(8, 100))
        for host, line in enumerate(pair)
    ]
    add("DeepSpeed: two hosts by pdsh", HEALTHY, two)
    add("DeepSpeed: noise of Python", HEALTHY, programs.python_noise(programs.deepspeed(8, 100)))
    for number, (world, steps) in enumerate(
        ((8, 100), (16, 500), (32, 200), (64, 100), (128, 1000), (8, 50), (16, 100), (256, 300))
    ):
        add(
            f"Megatron: {world} processes, {steps} iterations",
            HEALTHY,
            _wrapped(number, programs.megatron(world, steps, saved=number % 3 != 2)),
        )
    add("Megatron: below srun -l, the last rank prints", HEALTHY, programs.srun(programs.megatron(16, 100), 15))
    add("Megatron: torchrun", HEALTHY, programs.torchrun_noise(programs.megatron(8, 100)))


def _add_tools() -> None:
    sizes = tuple(1 << n for n in range(1, 24))
    for number, (verb, top) in enumerate(
        (("write", 197.1), ("read", 196.8), ("send", 98.4), ("write", 389.7), ("write", 23.1))
    ):
        rate = 25 if top < 25 else 100 if top < 100 else 200 if top < 200 else 400
        add(
            f"perftest: {verb} at {top}, the link by ibstat",
            HEALTHY,
            [*programs.ibstat(rate), *programs.perftest(verb, top)],
        )
        add(f"perftest: {verb} at {top} alone", OPEN, _wrapped(number, programs.perftest(verb, top)))
    add(
        "perftest: all sizes, the link by ibstat",
        HEALTHY,
        [*programs.ibstat(200), *programs.perftest("write", 197.0, sizes=sizes)],
    )
    add(
        "perftest: InfiniBand",
        HEALTHY,
        [*programs.ibstat(200, "InfiniBand"), *programs.perftest("read", 196.0, link="IB", gid=0)],
    )
    add("perftest: all sizes alone", OPEN, programs.perftest("write", 197.0, sizes=sizes))
    for hosts, each in ((2, 1), (2, 8), (4, 1), (4, 4), (8, 2)):
        add(f"mpirun hostname: {hosts} hosts, {each} each", EITHER, programs.hostnames(hosts, each))
    add("mpirun hostname: tagged", EITHER, [f"[1,{n}]<stdout>:gpu{n // 2 + 1:02d}" for n in range(8)])
    add("srun -l hostname", EITHER, [f"{n}: gpu{n // 4 + 1:02d}" for n in range(16)])


def _add_other_forms() -> None:
    info = programs.nccl_info(2, 2, "2.21.5+cuda12.4", 100_000)
    table = programs.nccl_tests(2, 2, "NVIDIA L40S", 11.6, info=info)
    add("form: lines end as on Windows", HEALTHY, [f"{line}\r" for line in table])
    add("form: docker compose", HEALTHY, [f"trainer-1  | {line}" for line in programs.own_loop(8, 300)])
    unchecked = [line.replace("      0", "    N/A") if line[:12].strip().isdigit() else line for line in table]
    add("nccl-tests: values were not checked (-c 0)", EITHER, unchecked)
    progress = "".join(
        (
            f"\rEpoch {e}: {p:3d}%|{'#' * (p // 10):10}| {p}/100 [00:{p // 2:02d}<00:{50 - p // 2:02d}, "
            f"loss={3 - e - p / 200:.3f}]"
        )
        for e in (0, 1)
        for p in range(0, 101, 20)
    )
    add(
        "form: progress bars over each other",
        HEALTHY,
        ["Starting training on 4 GPUs", progress, "`Trainer.fit` stopped: `max_epochs=2` reached."],
    )
    colours = [
        f"\x1b[32m2026-02-03 08:00:{n:02d}\x1b[0m | \x1b[1mINFO    \x1b[0m | step {n}/50 loss={4 - n / 20:.3f}"
        for n in range(1, 51)
    ]
    add("form: colours of a terminal", HEALTHY, [*colours, "\x1b[32mTraining finished.\x1b[0m"])
    jsons = [
        (
            f'{{"time": "2026-02-03T08:00:{n:02d}Z", "step": {n}, "steps": 40, "loss": {4 - n / 20:.3f}, '
            '"tokens_per_s": 51200}'
        )
        for n in range(1, 41)
    ]
    add(
        "form: a JSON object a line",
        HEALTHY,
        [*jsons, '{"time": "2026-02-03T08:00:41Z", "event": "training finished", "exit_code": 0}'],
    )
    words = [
        f"epoch {e}/10 train loss {3 - e / 5:.3f} | val top-1 error {60 - e:.2f} % | decode errors 0 | failed samples 0"
        for e in range(1, 11)
    ]
    add("words: error rates are figures", HEALTHY, [*words, "Training complete. 0 errors, 0 warnings."])
    retry = ["Downloading shard 3 of 8 ... timed out, trying again (1/5)", "Downloading shard 3 of 8 ... ok"]
    add("words: a download that was tried twice", HEALTHY, [*retry, *programs.own_loop(8, 300)])
    again = ["Error reading /data/cache.idx: not there yet, building it", "Built /data/cache.idx in 12 s"]
    add("words: a cache that is built", EITHER, [*again, *programs.own_loop(8, 300)])
    resumed = [
        "resuming from /data/run7/step000300.pt at step 300",
        *[line for line in programs.own_loop(8, 600) if "step 1" not in line and "step 2" not in line],
    ]
    add("own loop: resumed in the middle", HEALTHY, resumed)
    add("Horovod: twice in one log", HEALTHY, programs.horovod(8) + programs.horovod(16, 322.0))


_add_nccl_tests()
_add_torch()
_add_frameworks()
_add_tools()
_add_other_forms()
