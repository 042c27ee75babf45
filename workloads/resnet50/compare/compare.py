"""This collection's ResNet-50 side by side with timm's and with torchvision's, on one GPU (or CPU), in one run.

Every variant trains with the same batch, image size, precision, number of steps, optimizer (SGD with momentum) and
synthetic images that lie on the device. Each measurement is a process of its own, so that no variant inherits another's
memory pool or clocks; the variants take turns, and each round begins with another one, so that a drift of the machine
meets all alike. The figure is the median of the rounds; the ratio is ours / theirs (above 1: ours is faster).

variants
  ours              resnet50.py as it is (channels_last on a GPU, autocast)
  ours-compiled     ... with --compile         (torch 2 or later)
  ours-graph        ... with --cuda_graph      (GPU; not with fp16)
  torchvision       torchvision.models.resnet50 in a plain eager loop: contiguous images, autocast, nothing else
  torchvision-last  the same with channels_last
  timm              timm.create_model("resnet50") in the same loop with channels_last
  timm-compiled     ... and torch.compile
A variant whose library or device is missing is left out, with the reason. Compiling and capturing happen in the
warm-up, whose seconds are recorded and not counted. Ours runs as in a cluster: DistributedDataParallel over one rank.

Exit status: 0 done; 1 a variant failed (what the others gave is written); 2 wrong options; 3 nothing to compare with.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import time
from typing import Any, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = os.path.join(HERE, "..", "resnet50.py")
VARIANTS = ("ours", "ours-compiled", "ours-graph", "torchvision", "torchvision-last", "timm", "timm-compiled")
MARK = "ROCEMESH-COMPARE "
NOTHING = 3


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--batch_size", type=int, default=256)
    parser.add_argument("--image_size", type=int, default=224)
    parser.add_argument("--steps", type=int, default=100, help="timed steps (default 100)")
    parser.add_argument("--warmup", type=int, default=20, help="steps before them (default 20)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each variant (default 5)")
    parser.add_argument("--precision", choices=("fp32", "bf16", "fp16"), default="bf16")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: what torch chooses")
    parser.add_argument("--limit", type=int, default=1800, help="seconds for one measurement (default 1800)")
    parser.add_argument("--json", metavar="FILE", help="write the result here as well")
    parser.add_argument("--one", choices=VARIANTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    for name, least in (("batch_size", 1), ("image_size", 32), ("steps", 1), ("warmup", 0), ("rounds", 1)):
        if getattr(options, name) < least:
            parser.error(f"--{name} {getattr(options, name)}: at least {least}")
    return options


# ------------------------------------------------------------------------------------------------- one measurement


def network_of(variant: str, layout: Any, device: Any) -> Any:
    """The other library's network, ready to train."""
    import torch  # noqa: PLC0415

    if variant.startswith("timm"):
        import timm  # noqa: PLC0415

        network = timm.create_model("resnet50", num_classes=1000)
    else:
        import torchvision  # noqa: PLC0415

        network = torchvision.models.resnet50()
    network = network.to(device=device, memory_format=layout).train()
    return torch.compile(network) if variant.endswith("-compiled") else network


def eager_loop(options: argparse.Namespace) -> dict[str, Any]:
    """A plain training loop with another library's network; {"img_s", "warmup_s"}."""
    import torch  # noqa: PLC0415

    gpu = torch.cuda.is_available()
    device = torch.device("cuda" if gpu else "cpu")
    if gpu:
        torch.backends.cudnn.benchmark = True
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    last = options.one.startswith("timm") or options.one.endswith("-last")
    layout = torch.channels_last if last else torch.contiguous_format
    network = network_of(options.one, layout, device)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    criterion = torch.nn.CrossEntropyLoss()
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(options.precision)
    scaler: Any = None
    if options.precision == "fp16":
        scaler = torch.amp.GradScaler("cuda") if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler()
    shape = (options.batch_size, 3, options.image_size, options.image_size)
    images = torch.randn(shape).to(device=device, memory_format=layout)
    labels = torch.randint(0, 1000, (options.batch_size,)).to(device)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        mixed: Any = torch.autocast(device.type, dtype=dtype) if dtype else contextlib.nullcontext()
        with mixed:
            loss = criterion(network(images), labels)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

    def settle() -> None:
        if gpu:
            torch.cuda.synchronize()

    begun = time.perf_counter()
    for _number in range(options.warmup):
        step()
    settle()
    warm = time.perf_counter()
    for _number in range(options.steps):
        step()
    settle()
    took = time.perf_counter() - warm
    return {"img_s": options.batch_size * options.steps / took, "warmup_s": warm - begun}


def command(variant: str, options: argparse.Namespace) -> list[str]:
    if not variant.startswith("ours"):
        names = ("batch_size", "image_size", "steps", "warmup", "precision", "threads")
        words = [word for name in names for word in (f"--{name}", str(getattr(options, name)))]
        return [sys.executable, os.path.abspath(__file__), "--one", variant, *words]
    words = ["--batch_size", str(options.batch_size), "--image_size", str(options.image_size)]
    words += ["--num_batches", str(options.steps), "--num_warmup_batches", str(options.warmup)]
    words += [
        "--precision",
        options.precision,
        "--threads",
        str(options.threads),
        "--display_every",
        str(options.steps),
    ]
    extra = {"ours": [], "ours-compiled": ["--compile"], "ours-graph": ["--cuda_graph"]}[variant]
    return [sys.executable, OURS, *words, *extra]


def read(variant: str, text: str) -> dict[str, Any]:
    """{"img_s", "warmup_s"} from what a measurement printed; ValueError if it is not there."""
    mark = "ROCEMESH " if variant.startswith("ours") else MARK
    lines = [line[len(mark) :] for line in text.splitlines() if line.startswith(mark)]
    if len(lines) != 1:
        raise ValueError(f"{len(lines)} results instead of one")
    record = json.loads(lines[0])
    if variant.startswith("ours"):
        record = {"img_s": record["images_per_second"], "warmup_s": record["warmup_seconds"]}
    return {"img_s": float(record["img_s"]), "warmup_s": float(record["warmup_s"])}


def measure(variant: str, options: argparse.Namespace) -> tuple[dict[str, Any] | None, str]:
    """(result, why there is none)"""
    # Alone: no launcher's variables, and a port of its own for the process group of one.
    quiet = {name: value for name, value in os.environ.items() if not re.match("OMPI_|PMIX_|RANK$|WORLD_SIZE$", name)}
    quiet["MASTER_PORT"] = str(20000 + os.getpid() % 20000)
    try:
        done = subprocess.run(
            command(variant, options),
            env=quiet,
            capture_output=True,
            text=True,
            timeout=options.limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"no end within {options.limit} s"
    if done.returncode:
        return None, f"status {done.returncode}: {(done.stderr.strip() or done.stdout.strip())[-400:]}"
    try:
        return read(variant, done.stdout), ""
    except (ValueError, KeyError, TypeError) as error:
        return None, f"{error}: {done.stdout[-200:]}"


# ------------------------------------------------------------------------------------------------------ comparison


def possible(options: argparse.Namespace) -> tuple[list[str], dict[str, str], dict[str, Any]]:
    """(variants that can run here, why the others cannot, versions)"""
    import importlib  # noqa: PLC0415

    import torch  # noqa: PLC0415

    gpu = torch.cuda.is_available()
    versions: dict[str, Any] = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "device": torch.cuda.get_device_name(0) if gpu else "cpu",
    }
    missing = {}
    for name in ("timm", "torchvision"):
        try:
            versions[name] = importlib.import_module(name).__version__
        except Exception as error:
            missing[name] = f"{name} cannot be imported ({type(error).__name__}: {error})"
    can, cannot = [], {}
    for variant in options.variants:
        library = variant.partition("-")[0]
        if library in missing:
            cannot[variant] = missing[library]
        elif variant.endswith("-compiled") and not hasattr(torch, "compile"):
            cannot[variant] = f"torch {torch.__version__} cannot compile"
        elif variant == "ours-graph" and not gpu:
            cannot[variant] = "no GPU"
        elif variant == "ours-graph" and options.precision == "fp16":
            cannot[variant] = "no CUDA graph with the loss scaling of fp16"
        else:
            can.append(variant)
    return can, cannot, versions


def summary(measured: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Medians, and the ratio of each of ours to each of the others."""
    table = {
        variant: {
            "img_s": round(statistics.median(each["img_s"] for each in rounds), 3),
            "rounds": [round(each["img_s"], 3) for each in rounds],
            "warmup_s": round(statistics.median(each["warmup_s"] for each in rounds), 3),
        }
        for variant, rounds in measured.items()
        if rounds
    }
    ours = [variant for variant in table if variant.startswith("ours")]
    theirs = [variant for variant in table if not variant.startswith("ours")]
    ratios = {
        f"{mine} / {other}": round(table[mine]["img_s"] / table[other]["img_s"], 4) for mine in ours for other in theirs
    }
    return {"variants": table, "ratios": ratios}


def compare(options: argparse.Namespace) -> int:
    can, left_out, versions = possible(options)
    for variant, why in left_out.items():
        print(f"left out: {variant}: {why}", file=sys.stderr)
    if not any(each.startswith("ours") for each in can) or all(each.startswith("ours") for each in can):
        print("nothing to compare: one of ours and one of torchvision or timm are needed", file=sys.stderr)
        return NOTHING
    measured: dict[str, list[dict[str, Any]]] = {variant: [] for variant in can}
    failed: dict[str, str] = {}
    for number in range(options.rounds):
        turn = number % len(can)
        for variant in can[turn:] + can[:turn]:
            if variant in failed:
                continue
            result, why = measure(variant, options)
            if result is None:
                failed[variant] = why
                measured[variant] = []
                print(f"failed: {variant}: {why}", file=sys.stderr)
            else:
                measured[variant].append(result)
                print(f"round {number + 1}/{options.rounds} {variant}: {result['img_s']:.2f} images/s", file=sys.stderr)
    names = ("batch_size", "image_size", "steps", "warmup", "rounds", "precision", "threads")
    whole = {
        "settings": {name: getattr(options, name) for name in names},
        "versions": versions,
        "left_out": left_out,
        "failed": failed,
        **summary(measured),
    }
    text = json.dumps(whole, indent=2)
    print(text)
    if options.json:
        temporary = f"{options.json}.{os.getpid()}.tmp"
        with open(temporary, "w", encoding="utf-8") as stream:
            stream.write(text + "\n")
        os.replace(temporary, options.json)
    return 1 if failed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    if options.one:
        print(MARK + json.dumps(eager_loop(options)))
        return 0
    return compare(options)


if __name__ == "__main__":
    sys.exit(main())
