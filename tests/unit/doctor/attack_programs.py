"""Build whole logs of sound runs, in the formats of several programs and releases.

Written from the output of the programs, without reading the rules of the doctor.
"""

from __future__ import annotations

from typing import Iterable

Lines = list[str]
WIDE = "#                                                              out-of-place                       in-place"
FACTORS = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "alltoall": 1.0, "sendrecv": 1.0}


def hosts_of(hosts: int, gpus: int) -> list[tuple[int, str, int]]:
    return [(rank, f"gpu{rank // gpus + 1:02d}", rank % gpus) for rank in range(hosts * gpus)]


def nccl_info(hosts: int, gpus: int, version: str, link: int, hca: int = 1, *, layer: str = "RoCE") -> Lines:
    """Build the NCCL_DEBUG=INFO lines of all ranks up to the rings; ``link``: Mb/s of each of ``hca`` NICs."""
    lines = []
    world = hosts * gpus
    for rank, host, gpu in hosts_of(hosts, gpus):
        said = f"{host}:{3100 + gpu}:{3100 + gpu} [{gpu}] NCCL INFO "
        address = f"192.0.2.{20 + rank // gpus}"
        lines.append(f"{said}Bootstrap : Using ens192:{address}<0>")
        if rank == 0:
            lines.append(f"{said}NCCL version {version}")
        if link:
            devices = " ".join(f"[{n}]mlx5_{n}:1/{layer}" for n in range(hca))
            lines.append(f"{said}NET/IB : Using {devices} [RO]; OOB ens192:{address}<0>")
            lines += [
                f"{said}NET/IB: [{n}] mlx5_{n}:uverbs{n}:1/{layer} provider=Mlx5 speed={link} context=0x7f{n} "
                f"pciPath=/sys/devices/pci0000:00/0000:00:1{n}.0 ar=0"
                for n in range(hca)
            ]
        lines.append(f"{said}Using network {'IB' if link else 'Socket'}")
    for rank, host, gpu in hosts_of(hosts, gpus):
        said = f"{host}:{3100 + gpu}:{3200 + gpu} [{gpu}] NCCL INFO "
        if link and hosts > 1 and gpu == 0:
            to = (rank + gpus) % world
            lines.append(f"{said}Channel 00/0 : {rank}[{gpu}] -> {to}[{gpu}] [send] via NET/IB/0/GDRDMA")
        lines.append(f"{said}Connected all rings")
        lines.append(
            f"{said}comm 0x55d{rank} rank {rank} nranks {world} cudaDev {gpu} nvmlDev {gpu} busId 1b00{gpu} "
            "commId 0x8f2 - Init COMPLETE"
        )
    return lines


def nccl_row(size: int, bus: float, factor: float, wrong: str = "0", kind: str = "float     sum      -1") -> str:
    algorithm = bus / factor if factor else 300.0  # One process alone copies in its own memory.
    micros = max(20.0, size / algorithm / 1000)
    seen = size / micros / 1000
    half = f"{micros:8.2f}  {seen:6.2f}  {seen * factor:6.2f} {wrong:>6}"
    return f"{size:12d} {size // 4:13d} {kind} {half} {half}"


def nccl_tests(
    hosts: int,
    gpus: int,
    card: str,
    top: float,
    *,
    test: str = "all_reduce",
    release: str = "2.13",
    largest: int = 30,
    info: Iterable[str] = (),
    average: float | None = None,
) -> Lines:
    """Build the output of one nccl-tests program from 8 bytes to 2**largest.

    ``release``: 2.0 (column error), 2.13 (column #wrong), 2.17 (ends with "concluded").
    """
    world = hosts * gpus
    factor = FACTORS[test]
    factor = factor * (world - 1) / world if test != "sendrecv" else 1.0
    settings = f"# nThread 1 nGpus 1 minBytes 8 maxBytes {1 << largest} step: 2(factor) warmup iters: 5 iters: 20"
    old = release == "2.0"
    kind = ("float     sum" if "reduce" in test else "float    none") + ("" if old else "      -1")
    lines: Lines = []
    if release == "2.17":
        lines.append("# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809")
        lines.append(f"# Collective test starting: {test}_perf")
    tail = {"2.0": " validation: 1", "2.13": " agg iters: 1 validation: 1 graph: 0"}
    lines.append(settings + tail.get(release, " agg iters: 1 validation: 1 graph: 0 unalign: 0"))
    lines += ["#", "# Using devices"]
    bus = "0x1b" if old else "0000:1b:00"
    lines += [
        f"#  Rank {r:2d} Group  0 Pid {3100 + g:6d} on {h:>10} device {g:2d} [{bus}] {card}"
        for r, h, g in hosts_of(hosts, gpus)
    ]
    lines += [*info, "#", WIDE]
    last = "error" if old else "#wrong"
    half = f"    time   algbw   busbw {last:>6}"
    root = "" if old else "    root"
    lines.append(f"#       size         count      type   redop{root} {half} {half}")
    lines.append(
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)"
    )
    wrong = "0e+00" if old else "0"
    lines += [nccl_row(1 << power, top, factor, wrong, kind) for power in range(3, largest + 1)]
    mean = top * 0.42 if average is None else average
    lines += ["# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {mean:.4f} ", "#"]
    if release == "2.17":
        lines += [f"# Collective test concluded: {test}_perf", "#"]
    return lines


def timm(world: int, epochs: int, batches: int = 400, rate: float = 6400.0, model: str = "resnet50") -> Lines:
    """timm's train.py under torchrun."""
    lines = [
        f"Training in distributed mode with multiple processes, 1 device per process.Process {rank}, total {world}, "
        f"device cuda:{rank % 8}."
        for rank in range(world)
    ]
    lines += [
        f"Model {model} created, param count:25557032",
        "Data processing configuration for current model + dataset:",
        "\tinput_size: (3, 224, 224)",
        "\tinterpolation: bicubic",
        "Created SGD (sgd) optimizer: lr: 0.4, momentum: 0.9, weight_decay: 2e-05, nesterov: True",
        "Using native Torch AMP. Training in mixed precision.",
        "Using native Torch DistributedDataParallel.",
        f"Scheduled epochs: {epochs}. LR stepped per epoch.",
    ]
    for epoch in range(epochs):
        for batch in [*range(0, batches, 50), batches - 1]:
            loss = 6.9 - 3.5 * (epoch * batches + batch) / (epochs * batches)
            share = round(100 * batch / (batches - 1))
            each = f"{world * 256 / rate:.3f}s, {rate - batch % 7:.2f}/s"
            lines.append(
                f"Train: {epoch} [{batch:4d}/{batches} ({share:3d}%)]  Loss: {loss:.3f} ({loss + 0.05:.3f})  "
                f"Time: {each}  ({each})  LR: 4.000e-01  Data: 0.011 (0.014)"
            )
        for batch in (0, 24, 48):
            lines.append(
                f"Test: [{batch:4d}/48]  Time: 0.101 (0.120)  Loss:  {5.1 - epoch / 4:.3f} ({5.2 - epoch / 4:.3f})  "
                f"Acc@1: {10 + 9 * epoch:.3f} ({10 + 9 * epoch:.3f})  Acc@5: {25 + 9 * epoch:.3f} "
                f"({25 + 9 * epoch:.3f})"
            )
        lines += ["Current checkpoints:", f" ('./output/train/checkpoint-{epoch}.pth.tar', {10 + 9 * epoch:.3f})", ""]
    return [*lines, f"*** Best metric: {10 + 9 * (epochs - 1):.3f} (epoch {epochs - 1})"]


def own_loop(world: int, steps: int, every: int = 10, rate: float = 812.0, end: str = "Training finished.") -> Lines:
    """A loop of one's own over DistributedDataParallel; all ranks say that they are there, rank 0 prints steps."""
    lines = [
        f"[rank {rank}] initialized: world_size={world} local_rank={rank % 8} backend=nccl" for rank in range(world)
    ]
    for step in range(every, steps + 1, every):
        lines.append(
            f"step {step}/{steps} loss {7.0 - 4.0 * step / steps:.4f} lr 3.0e-04 {rate + step % 5:.1f} samples/s"
        )
    lines.append(f"saved checkpoint to /data/run7/step{steps:06d}.pt")
    return [*lines, *([end] if end else [])]


def horovod(world: int, each: float = 331.0, iterations: int = 10, device: str = "GPU") -> Lines:
    """Horovod's pytorch_synthetic_benchmark.py: rank 0 alone prints."""
    lines = [
        "Model: resnet50",
        "Batch size: 64",
        f"Number of {device}s: {world}",
        "Running warmup...",
        "Running benchmark...",
    ]
    lines += [f"Iter #{n}: {each + n % 3 / 10:.1f} img/sec per {device}" for n in range(iterations)]
    lines.append(f"Img/sec per {device}: {each:.1f} +-0.3")
    return [*lines, f"Total img/sec on {world} {device}(s): {each * world:.1f} +-{0.3 * world:.1f}"]


def tf_cnn(world: int, each: float = 338.0, steps: int = 100, release: str = "1.15") -> Lines:
    """tf_cnn_benchmarks with variable_update=horovod: one rank's output."""
    lines = [
        f"TensorFlow:  {release}",
        "Model:       resnet50",
        "Dataset:     imagenet (synthetic)",
        "Mode:        training",
        "SingleSess:  False",
        f"Batch size:  {64 * world} global",
        "             64 per device",
        f"Num batches: {steps}",
        "Num epochs:  0.02",
        f"Devices:     {[f'horovod/gpu:{n}' for n in range(world)]}",
        "NUMA bind:   False",
        "Data format: NCHW",
        "Optimizer:   sgd",
        "Variables:   horovod",
        "==========",
        "Generating training model",
        "Initializing graph",
        "Running warm up",
        "Done warm up",
        "Step\tImg/sec\ttotal_loss",
    ]
    for step in [1, *range(10, steps + 1, 10)]:
        lines.append(f"{step}\timages/sec: {each:.1f} +/- 0.2 (jitter = 0.9)\t{7.9 - step / 200:.3f}")
    return [*lines, "-" * 64, f"total images/sec: {each * world:.2f}", "-" * 64]


def mxnet(epochs: int, batches: int = 200, rate: float = 1523.0, say_epochs: bool = True) -> Lines:
    """MXNet's train_imagenet.py with its Speedometer."""
    lines = []
    if say_epochs:
        lines.append(
            "INFO:root:start with arguments Namespace(batch_size=256, benchmark=1, disp_batches=20, "
            f"gpus='0,1,2,3', kv_store='dist_device_sync', network='resnet', num_epochs={epochs}, num_layers=50)"
        )
    for epoch in range(epochs):
        for batch in range(20, batches + 1, 20):
            lines.append(
                f"INFO:root:Epoch[{epoch}] Batch [{batch - 20}-{batch}]\tSpeed: {rate + batch % 9:.2f} samples/sec\t"
                f"accuracy={0.01 + epoch / 20 + batch / 9000:.6f}"
            )
        lines.append(f"INFO:root:Epoch[{epoch}] Train-accuracy={0.03 + epoch / 20:.6f}")
        lines.append(f"INFO:root:Epoch[{epoch}] Time cost={batches * 256 / rate:.3f}")
        lines.append(f'INFO:root:Saved checkpoint to "/data/resnet-{epoch + 1:04d}.params"')
        lines.append(f"INFO:root:Epoch[{epoch}] Validation-accuracy={0.02 + epoch / 20:.6f}")
    return lines


def deepspeed(world: int, steps: int, every: int = 10, rate: float = 410.0) -> Lines:
    """The DeepSpeed launcher on one host and its engine."""
    stamp = "[2026-02-03 08:{:02d}:{:02d},120]"
    lines = [
        (
            f"{stamp.format(0, 1)} [INFO] [runner.py:585:main] cmd = /usr/bin/python3 -u -m "
            "deepspeed.launcher.launch train.py"
        ),
        f"{stamp.format(0, 3)} [INFO] [launch.py:145:main] WORLD INFO DICT: {{'localhost': {list(range(world))}}}",
        f"{stamp.format(0, 3)} [INFO] [launch.py:151:main] nnodes=1, num_local_procs={world}, node_rank=0",
        f"{stamp.format(0, 9)} [INFO] [comm.py:637:init_distributed] cdb=None",
        f"{stamp.format(0, 20)} [INFO] [logging.py:96:log_dist] [Rank 0] DeepSpeed Flops Profiler Enabled: False",
        f"{stamp.format(0, 21)} [INFO] [logging.py:96:log_dist] [Rank 0] Creating fp16 ZeRO stage 2 optimizer",
    ]
    for step in range(every, steps + 1, every):
        when = stamp.format(1 + step // every % 58, step % 60)
        lines.append(
            f"{when} [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, skipped=0, lr=[0.0001], mom=[(0.9, 0.999)]"
        )
        lines.append(
            f"{when} [INFO] [timer.py:260:stop] epoch=0/micro_step={step}/global_step={step}, "
            f"RunningAvgSamplesPerSec={rate:.3f}, CurrSamplesPerSec={rate + step % 3:.3f}, MemAllocated=9.3GB, "
            "MaxMemAllocated=21.7GB"
        )
    lines.append(
        f"{stamp.format(59, 1)} [INFO] [logging.py:96:log_dist] [Rank 0] [Torch] Checkpoint "
        f"global_step{steps} is ready now!"
    )
    return [
        *lines,
        *(
            f"{stamp.format(59, 9)} [INFO] [launch.py:347:main] Process {4410 + n} exits successfully."
            for n in range(world)
        ),
    ]


def megatron(world: int, steps: int, every: int = 10, millis: float = 890.0, saved: bool = True) -> Lines:
    lines = [
        f"using world size: {world}, data-parallel size: {world // 4}, context-parallel size: 1, "
        "tensor-model-parallel size: 4, pipeline-model-parallel size: 1",
        "> initialized tensor model parallel with size 4",
        "> initialized pipeline model parallel with size 1",
        "[before the start of training step] datetime: 2026-02-03 08:00:00",
    ]
    for step in range(every, steps + 1, every):
        lines.append(
            f" [2026-02-03 08:{step // every % 60:02d}:07] iteration {step:8d}/{steps:8d} | consumed samples: "
            f"{step * 256:12d} | elapsed time per iteration (ms): {millis + step % 4:.1f} | throughput per GPU "
            f"(TFLOP/s/GPU): {371.0 * 890 / millis:.1f} | learning rate: 1.500000E-04 | global batch size:   256 | "
            f"lm loss: {9.1 - 5 * step / steps:.6E} | loss scale: 1.0 | grad norm: 1.204 | number of skipped "
            "iterations:   0 | "
            "number of nan iterations:   0 |"
        )
    if saved:
        lines.append(f"saving checkpoint at iteration {steps:7d} to /data/ckpt in torch_dist format")
        lines.append(f"  successfully saved checkpoint from iteration {steps:7d} to /data/ckpt [ t 1/4, p 1/1 ]")
    return [*lines, "[after training is done] datetime: 2026-02-03 09:00:00"]


def perftest(verb: str, top: float, *, sizes: Iterable[int] = (65536,), gid: int = 3, link: str = "Ethernet") -> Lines:
    """ib_write_bw and its sisters, client side; ``top``: Gb/s."""
    title = {"write": "RDMA_Write", "read": "RDMA_Read", "send": "Send"}[verb]
    lines = [
        "---------------------------------------------------------------------------------------",
        f"                    {title} BW Test",
        " Dual-port       : OFF\t\tDevice         : mlx5_0",
        " Number of qps   : 4\t\tTransport type : IB",
        " Connection type : RC\t\tUsing SRQ      : OFF",
        " TX depth        : 128",
        " CQ Moderation   : 1",
        " Mtu             : 4096[B]",
        f" Link type       : {link}",
        f" GID index       : {gid}",
        " Max inline data : 0[B]",
        " rdma_cm QPs\t : OFF",
        " Data ex. method : Ethernet",
        "---------------------------------------------------------------------------------------",
        " local address: LID 0000 QPN 0x008b PSN 0x4cbb07 RKey 0x20b1d3 VAddr 0x007fb8fc0e4000",
        " GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:00:02:20",
        " remote address: LID 0000 QPN 0x008c PSN 0x1e3d24 RKey 0x20a9c1 VAddr 0x007f0f5cd34000",
        " GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:00:02:21",
        "---------------------------------------------------------------------------------------",
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
    ]
    for size in sizes:
        got = min(top, size / 1024 * 8)
        lines.append(f" {size:<10d} 5000             {got + 0.05:<18.2f} {got:<18.2f}   {got / size / 8 * 1e3:.6f}")
    return [*lines, "---------------------------------------------------------------------------------------"]


def ibstat(rate: int, link: str = "Ethernet") -> Lines:
    return [
        "CA 'mlx5_0'",
        "\tCA type: MT4129",
        "\tNumber of ports: 1",
        "\tFirmware version: 28.41.1000",
        "\tPort 1:",
        "\t\tState: Active",
        "\t\tPhysical state: LinkUp",
        f"\t\tRate: {rate}",
        "\t\tBase lid: 0",
        f"\t\tLink layer: {link}",
    ]


def hostnames(hosts: int, each: int) -> Lines:
    """mpirun hostname, with the command as a shell prints it under set -x."""
    slots = ",".join(f"gpu{n + 1:02d}:{each}" for n in range(hosts))
    return [
        f"+ mpirun -np {hosts * each} -H {slots} hostname",
        *(f"gpu{n % hosts + 1:02d}" for n in range(hosts * each)),
    ]


# How a launcher or a collector of logs prints what a program says.


def tagged(lines: Lines, rank: int = 0) -> Lines:
    """mpirun --tag-output."""
    return [f"[1,{rank}]<stdout>:{line}" for line in lines]


def srun(lines: Lines, rank: int = 0) -> Lines:
    """srun -l."""
    return [f"{rank}: {line}" for line in lines]


def ranks_of(each: list[Lines], form: str = "[1,{}]<stdout>:") -> Lines:
    """The output of several ranks, line by line in turns."""
    out = []
    for n in range(max(map(len, each))):
        out += [form.format(rank) + lines[n] for rank, lines in enumerate(each) if n < len(lines)]
    return out


def kubectl(lines: Lines, second: int = 3) -> Lines:
    """kubectl logs --timestamps."""
    return [
        f"2026-02-03T{8 + n * second // 3600:02d}:{n * second // 60 % 60:02d}:{n * second % 60:02d}.482913377Z {line}"
        for n, line in enumerate(lines)
    ]


def pods(lines: Lines) -> Lines:
    """kubectl logs --prefix."""
    return [f"[pod/train-launcher-x7k2p/main] {line}" for line in lines]


def slurm(lines: Lines, ranks: int = 8) -> Lines:
    """A batch job of Slurm."""
    return [
        "Job 48812 on gpu[01-02], partition train",
        "Loading cuda/12.4",
        "  Loading requirement: gcc/12.2.0",
        f"+ srun --ntasks={ranks} --container-image=/data/train.sqsh ./run.sh",
        *lines,
        "+ echo 'rc=0'",
        "rc=0",
    ]


def mpirun_noise(lines: Lines) -> Lines:
    return [
        "Warning: Permanently added 'gpu02' (ED25519) to the list of known hosts.",
        "Authorization required, but no authorization protocol specified",
        *lines,
    ]


def torchrun_noise(lines: Lines) -> Lines:
    return [
        "W0203 08:00:00.104000 139981 torch/distributed/run.py:793] ",
        "W0203 08:00:00.104000 139981 torch/distributed/run.py:793] *****************************************",
        "W0203 08:00:00.104000 139981 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment "
        "variable for each "
        "process to be 1 in default, to avoid your system being overloaded, please further tune the variable "
        "for optimal "
        "performance in your application as needed. ",
        "W0203 08:00:00.104000 139981 torch/distributed/run.py:793] *****************************************",
        *lines,
    ]


def container_noise(lines: Lines) -> Lines:
    return [
        "",
        "=============",
        "== PyTorch ==",
        "=============",
        "",
        "NVIDIA Release 24.05 (build 91431255)",
        "PyTorch Version 2.4.0a0+07cecf4",
        "Container image Copyright (c) 2024, NVIDIA CORPORATION & AFFILIATES. All rights reserved.",
        "",
        "NOTE: CUDA Forward Compatibility mode ENABLED.",
        "  Using CUDA 12.4 driver version 550.54.15 with kernel driver version 535.161.08.",
        "",
        *lines,
    ]


def python_noise(lines: Lines) -> Lines:
    return [
        "/usr/lib/python3/dist-packages/torch/utils/data/dataloader.py:557: UserWarning: This DataLoader "
        "will create 12 "
        "worker processes in total. Our suggested max number of worker in current system is 8.",
        "  warnings.warn(_create_warning_msg(",
        *lines,
        "[rank0]:[W203 09:00:01.881 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed "
        "before we destruct ProcessGroupNCCL. (function operator())",
    ]
