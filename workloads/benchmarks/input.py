"""Input: how many images per second storage and decoding threads deliver, with no network behind them.

Every rank makes a record file of its own (records.py) with JPEG images of ImageNet's usual size, reads it once from
storage ("read", MB/s; the system's cache of the file is dropped first, as far as the file system listens) and decodes
it with each number of threads: JPEG, a random part of the image, 224 x 224, mirrored half of the time, as floats.
All ranks at the same time; figures are the median of the ranks. A training step of batch b needs b / step seconds.
Needs Pillow. Source of the advice: MXNet's perf.md, "Input Data" (record format, storage, threads that decode).
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import io
import os
import random
import statistics
import sys
import tempfile
import time
from typing import Any, Callable, Iterator, Sequence

import common
import joining
import records

THREADS = (1, 2, 4)  # 4 is what MXNet takes by default
WIDTH, HEIGHT, QUALITY = 500, 375, 90  # the middle of ImageNet; about 100 kB


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    made = common.parser(__doc__ or "")
    made.add_argument("--images", type=int, default=256, help="in the record file of each rank (default 256)")
    made.add_argument("--decoders", nargs="+", type=int, default=list(THREADS), help="threads that decode")
    made.add_argument("--image_size", type=int, default=224, help="pixels per side of what comes out (default 224)")
    made.add_argument("--folder", default="", help="where the record files lie for the time (default: the system's)")
    options = common.parse(made, arguments)
    joining.refuse_below(made, options, {"images": 1, "decoders": 1, "image_size": 32})
    return options


def noise(source: random.Random, count: int) -> bytes:
    return source.getrandbits(8 * count).to_bytes(count, "little")  # randbytes came with Python 3.9


def picture(source: random.Random) -> bytes:
    """A JPEG of ImageNet's usual size and detail: coarse noise, enlarged, with fine noise over it."""
    from PIL import Image  # noqa: PLC0415

    coarse = Image.frombytes("RGB", (25, 19), noise(source, 25 * 19 * 3)).resize((WIDTH, HEIGHT), Image.BICUBIC)
    fine = Image.frombytes("RGB", (WIDTH, HEIGHT), noise(source, WIDTH * HEIGHT * 3))
    stream = io.BytesIO()
    Image.blend(coarse, fine, 0.12).save(stream, "JPEG", quality=QUALITY)
    return stream.getvalue()


def make(path: str, images: int, seed: int) -> None:
    """Writes the file through to the disk."""
    source = random.Random(seed)
    different = [picture(source) for _number in range(min(images, 16))]
    with open(path, "wb") as stream:
        for number in range(images):
            records.write(stream, number, float(number % 1000), different[number % len(different)])
        stream.flush()
        os.fsync(stream.fileno())


def forget(path: str) -> None:
    """The system need not keep the file in memory. tmpfs and some others do not listen."""
    with open(path, "rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def storage(path: str) -> float:
    """Seconds to read the file once, in order."""
    forget(path)
    begun = time.perf_counter()
    with open(path, "rb", buffering=0) as stream:
        while stream.read(1 << 20):
            pass
    return time.perf_counter() - begun


def decoded(image: bytes, size: int, source: random.Random) -> bytes:
    from PIL import Image, ImageOps  # noqa: PLC0415

    found = Image.open(io.BytesIO(image)).convert("RGB")
    side = int(min(found.size) * (0.5 + source.random() / 2))
    left, top = source.randrange(found.width - side + 1), source.randrange(found.height - side + 1)
    found = found.resize((size, size), Image.BILINEAR, box=(left, top, left + side, top + side))
    return (ImageOps.mirror(found) if source.random() < 0.5 else found).tobytes()


def decoding(path: str, threads: int, options: argparse.Namespace) -> float:
    """Images per second, the median of the iterations; the file is in memory by then."""
    import torch  # noqa: PLC0415

    def one(record: tuple[int, float, bytes]) -> int:
        number, _label, image = record
        pixels = decoded(image, options.image_size, random.Random(number))
        return int(torch.frombuffer(bytearray(pixels), dtype=torch.uint8).float().div_(255).numel())

    speeds = []
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for _number in range(options.warmup + options.iterations):
            begun = time.perf_counter()
            with open(path, "rb") as stream:
                count = run_through(pool, one, records.read(stream), 4 * threads)
            speeds.append(count / (time.perf_counter() - begun))
    return statistics.median(speeds[options.warmup :])


def run_through(pool: concurrent.futures.Executor, work: Callable[[Any], Any], items: Iterator[Any], most: int) -> int:
    """How many there were. No more than ``most`` lie in memory at a time; `map` would take them all at once."""
    waiting: collections.deque[concurrent.futures.Future[Any]] = collections.deque()
    count = 0
    for item in items:
        if len(waiting) >= most:
            waiting.popleft().result()
        waiting.append(pool.submit(work, item))
        count += 1
    for each in waiting:
        each.result()
    return count


def run(options: argparse.Namespace) -> int:
    joined = joining.join(options)
    tell = common.Teller(joined.rank)
    folder = options.folder or tempfile.gettempdir()
    tell.result({"settings": {**common.settings(joined, options), "image_size": options.image_size, "folder": folder}})
    with contextlib.ExitStack() as until_the_end:
        path, why = prepared(lambda: record_file(folder, options, joined.rank, until_the_end), joined)
        if why:
            tell.problem(f"no record file in {folder}: {why} on at least one rank")
        else:
            measure(path, options, joined, tell)
    joining.leave()
    return 0


def record_file(folder: str, options: argparse.Namespace, rank: int, until_the_end: contextlib.ExitStack) -> str:
    place = until_the_end.enter_context(tempfile.TemporaryDirectory(prefix="rocemesh-input-", dir=folder))
    path = os.path.join(place, "images.rec")
    make(path, options.images, options.seed + rank)
    return path


def prepared(attempt: Callable[[], str], joined: Any) -> tuple[str, str]:
    """(the file, what at least one rank lacks for it, or "")"""
    reasons = ("", "Pillow is missing (python3-pil)", "it cannot be written there")
    path, failed = "", 0
    try:
        path = attempt()
    except ImportError:
        failed = 1
    except OSError as error:
        print(f"{joined.host}: {error}", file=sys.stderr)
        failed = 2
    return path, reasons[int(max(common.gathered(failed, joined)))]


def measure(path: str, options: argparse.Namespace, joined: Any, tell: common.Teller) -> None:
    shared = {"ranks": joined.world, "images": options.images}
    reads = [max(common.gathered(storage(path), joined)) for _number in range(options.iterations)]
    tell.result(
        {
            "step": "read",
            **shared,
            "size_bytes": os.path.getsize(path),
            "mb_s": round(os.path.getsize(path) / statistics.median(reads) / 1e6, 3),
            "img_s": round(options.images / statistics.median(reads), 3),
        }
    )
    for number, threads in enumerate(options.decoders):
        tell.progress("input", f"{threads} thread(s)", number, len(options.decoders))
        speeds = common.gathered(decoding(path, threads, options), joined)
        tell.progress("input", f"{threads} thread(s)", number + 1, len(options.decoders), sum(speeds))
        tell.result(
            {
                "step": "decode",
                **shared,
                "decoders": threads,
                "image_size": options.image_size,
                "img_s": round(statistics.median(speeds), 3),
                "slowest_img_s": round(min(speeds), 3),
            }
        )


if __name__ == "__main__":
    sys.exit(run(parse_arguments()))
