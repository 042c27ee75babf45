"""The benchmark programs: the arrays are those of the published networks, and the programs run where there is torch."""

from __future__ import annotations

import io
import json
import os
import pathlib
import subprocess
import sys
from types import ModuleType
from typing import Any, Callable

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures.benchmark_files import read
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures.benchmarks import records

from tests.unit.workloads.torch_processes import PYTHON, QUIET, WORKLOADS, free_port, needs_torch, start

Load = Callable[[str, str], ModuleType]


@pytest.fixture
def architectures(load: Load) -> ModuleType:
    return load("benchmarks", "architectures")


# Parameters of the published networks as torchvision has them; inception-bn: Ioffe and Szegedy's in its usual widths.
@pytest.mark.parametrize(
    ("name", "arrays", "elements"),
    [
        ("alexnet", 16, 61_100_840),
        ("vgg16", 32, 138_357_544),
        ("inception-bn", 209, 11_285_224),
        ("inception-v3", 284, 23_834_568),
        ("resnet50", 161, 25_557_032),
        ("resnet152", 467, 60_192_808),
    ],
)
def test_the_arrays_are_those_of_the_published_network(
    architectures: ModuleType, name: str, arrays: int, elements: int
) -> None:
    found = architectures.arrays(architectures.find(name))
    assert (len(found), sum(array.elements for array in found)) == (arrays, elements)


@pytest.mark.parametrize(
    ("name", "arrays", "megabytes"), [("resnet200", 205, 257.991328), ("inception-v3", 96, 95.200544)]
)
def test_without_normalisation_they_are_what_mxnets_measure_printed(
    architectures: ModuleType, name: str, arrays: int, megabytes: float
) -> None:
    """measure.py counts weights and biases only: "num of arrays = 205, total size = 257.991328 MB"."""
    found = [array for array in architectures.arrays(architectures.find(name)) if array.kind != "norm"]
    assert (len(found), sum(array.elements for array in found) * 4 / 1e6) == (arrays, megabytes)


@pytest.mark.parametrize(
    ("size", "ranks", "seconds", "printed"),
    [(257_991_328, 2, 0.023242, 11.1002), (257_991_328, 8, 0.102321, 4.4124), (95_200_544, 8, 0.057934, 2.8757)],
)
def test_bandwidth_is_computed_as_mxnets_measure_does(
    load: Load, size: int, ranks: int, seconds: float, printed: float
) -> None:
    bandwidth = load("benchmarks", "bandwidth")
    assert bandwidth.gigabytes_per_second(size, ranks, seconds) == pytest.approx(printed, abs=5e-5)
    assert bandwidth.gigabytes_per_second(size, 1, seconds) == 0


def test_a_star_multiplies_the_batch(load: Load) -> None:
    common = load("benchmarks", "common")
    assert [(network.name, batch) for network, batch in common.cases(["alexnet*8", "resnet50"], [1, 32])] == [
        ("alexnet", 8),
        ("alexnet", 256),
        ("resnet50", 1),
        ("resnet50", 32),
    ]


@pytest.mark.parametrize("model", ["alexnet*", "alexnet*0", "alexnet*x", "lenet"])
def test_a_model_that_is_none_is_refused(load: Load, model: str) -> None:
    with pytest.raises(SystemExit, match=r"lenet|alexnet"):
        load("benchmarks", "common").cases([model], [1])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), 1),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"), 1),
        (type("OutOfMemoryError", (RuntimeError,), {})("no"), 1),
        (MemoryError(), 1),
        (ValueError("Expected more than 1 value per channel when training, got input size [1, 8]"), 2),
        (RuntimeError("Connection closed by peer"), 0),
        (ValueError("out of memory"), 0),
    ],
)
def test_only_what_a_smaller_case_would_cure_is_left_out(load: Load, error: BaseException, code: int) -> None:
    assert load("benchmarks", "common").reason(error) == code


@pytest.mark.parametrize(
    ("script", "options", "words"),
    [
        ("bandwidth.py", ["--iterations", "0"], "at least 1"),
        ("bandwidth.py", ["--iterations", "201"], "at most 200"),
        ("bandwidth.py", ["--networks", "lenet"], "there is: alexnet"),
        ("bandwidth.py", ["--asynchronous"], "with --asynchronous 1 or more"),
        ("bandwidth.py", ["--servers", "1", "--staged"], "in host memory anyway"),
        ("scoring.py", ["--batches", "0"], "at least 1"),
        ("training.py", ["--image_size", "16"], "at least 32"),
        ("training.py", ["--precision", "fp8"], "invalid choice"),
    ],
)
def test_wrong_options_are_told_without_torch(script: str, options: list[str], words: str) -> None:
    done = subprocess.run(
        [sys.executable, WORKLOADS / "benchmarks" / script, *options],
        env=QUIET,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def run(world: int, script: str, *options: str) -> tuple[list[int], dict[str, Any], str]:
    """(exit statuses, what rank 0 said, standard errors)"""
    port = free_port()
    usual = ("--iterations", "2", "--warmup", "1", *options)
    ranks = [start(f"benchmarks/{script}", rank, world, port, *usual) for rank in range(world)]
    said = [rank.communicate(timeout=400) for rank in ranks]
    for _out, _err in said[1:]:
        assert "ROCEMESH" not in _out, "more than rank 0 speaks"
    return [rank.returncode for rank in ranks], records(said[0][0]), "".join(err for _out, err in said)


@needs_torch
@pytest.mark.parametrize(
    ("options", "path"),
    [
        (("--staged",), "cpu_staged"),
        (("--optimizer", "sgd"), "cpu"),
        (("--servers", "3", "--optimizer", "sgd"), "servers"),
        (("--servers", "2", "--asynchronous", "--optimizer", "sgd"), "servers_async"),
    ],
    ids=lambda value: "_".join(value).replace("-", "") if isinstance(value, tuple) else value,
)
def test_every_sum_over_the_ranks_is_checked(options: tuple[str, ...], path: str) -> None:
    codes, said, errors = run(3, "bandwidth.py", "--networks", "inception-bn", *options)
    assert codes == [0, 0, 0], errors
    (result,) = said["results"]
    assert (result["network"], result["path"], result["ranks"]) == ("inception-bn", path, 3)
    assert result["size_bytes"] == 11_285_224 * 4
    assert len(result["seconds"]) == 2
    assert 0 <= result["error"] < 1e-6, "0 where rounding happens to cancel"
    middle = sum(result["seconds"]) / 2
    assert result["gb_s"] == pytest.approx(result["size_bytes"] * 4 / 3 / middle / 1e9, rel=1e-4)
    assert said["settings"]["threads"] == 1


def test_servers_keep_every_element_once_and_share_the_load(load: Load) -> None:
    """resnet200 has no array above 2.4 million elements but many above one: four servers, each a quarter."""
    architectures, servers = load("benchmarks", "architectures"), load("benchmarks", "servers")
    elements = [array.elements for array in architectures.arrays(architectures.find("resnet200"))]
    parts = servers.spread(elements, 4)
    for number, count in enumerate(elements):
        pieces = sorted((part.begin, part.end) for part in parts if part.array == number)
        assert pieces[0][0] == 0 and pieces[-1][1] == count
        assert all(before[1] == after[0] for before, after in zip(pieces, pieces[1:]))
        assert len(pieces) == (4 if count > servers.SPLIT else 1)
    kept = [sum(part.end - part.begin for part in parts if part.server == server) for server in range(4)]
    assert max(kept) < 1.05 * min(kept)
    assert [part.server for part in servers.spread(elements, 1)] == [0] * len(elements)


@pytest.mark.parametrize(("world", "rounds"), [(1, 1), (11, 12), (64, 202), (1024, 1)])
def test_known_values_fit_into_half_precision(load: Load, world: int, rounds: int) -> None:
    common = load("benchmarks", "common")
    scale = common.scale("fp16", world, rounds)
    assert common.PERIOD / 3 * world * (world + 1) / 2 * rounds / scale <= 32768
    assert 1 / 3 / scale > 6.2e-5, "the smallest one is a normal number"
    assert common.scale("fp32", world, rounds) == common.scale("bf16", world, rounds) == 1


def told(text: str) -> list[str]:
    """What a program prints that may import the benchmarks."""
    done = subprocess.run(
        [PYTHON, "-c", f"import sys, types; sys.path.insert(0, sys.argv[1]); {text}", str(WORKLOADS / "benchmarks")],
        env=QUIET,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@needs_torch
def test_a_synchronous_server_answers_when_all_have_pushed_and_an_asynchronous_one_at_once() -> None:
    text = (
        "import servers, torch; "
        "future = lambda: torch.futures.Future(); grad = torch.ones(5); "
        "sync = servers.Store(2, False, True); a, b = future(), future(); "
        "sync.push(0, grad, a); print(a.done()); "
        "sync.push(0, 3 * grad, b); print(a.wait()[0].item(), b.wait()[4].item()); "
        "free = servers.Store(2, True, False); a, b = future(), future(); "
        "free.push(7, grad, a); print(a.wait()[0].item()); "
        "free.push(7, 3 * grad, b); print(b.wait()[0].item(), a.wait()[0].item())"
    )
    assert told(text) == ["False", "-0.5", "-0.5", "1.0", "4.0", "1.0"]


@pytest.mark.parametrize(
    ("hosts", "pairs"),
    [
        (["a"], []),
        (["a", "b"], [(0, 1)]),
        (["a", "a", "b"], [(0, 1), (1, 2), (2, 0)]),
        (["a"] * 40 + ["b"] * 40 + ["c"] * 40, [(0, 40), (40, 80), (80, 0)]),
        (["a"] * 80, []),
    ],
    ids=["alone", "two", "ring", "first_of_each_host", "one_large_host"],
)
def test_each_rank_sends_to_the_next(load: Load, hosts: list[str], pairs: list[tuple[int, int]]) -> None:
    assert load("benchmarks", "point_to_point").ring(hosts) == pairs


@needs_torch
def test_what_two_ranks_send_each_other_arrives_and_is_timed() -> None:
    codes, said, errors = run(2, "point_to_point.py", "--bytes", "4000000")
    assert codes == [0, 0], errors
    one, both = said["results"]
    assert (one["path"], both["path"], one["ranks"], one["error"]) == ("point_to_point", "both_ways", 2, 0)
    assert one["gb_s"] == pytest.approx(4e6 / (sum(one["seconds"]) / 2) / 1e9, rel=1e-3)
    rows = read({"bandwidth": {"kind": "bandwidth", "simulated": False, "results": said["results"]}})["bandwidth"]
    assert len(rows["rows"]) == 2 and rows["problems"] == []


@needs_torch
def test_a_wrong_element_shows_in_the_error() -> None:
    text = (
        "import bandwidth, torch; "
        "here = types.SimpleNamespace(rank=0, world=1, device=torch.device('cpu'), gpu=False); "
        "work = bandwidth.Exchange([(1000, 3), (7,)], here, torch.float32); work.fill(); print(work.error()); "
        "work._tensors[0][2999] *= 1.5; print(work.error()); work._tensors[1][3] = float('nan'); print(work.error())"
    )
    right, wrong, broken = map(float, told(text))
    assert right < 1e-7
    assert wrong == pytest.approx(0.5, rel=1e-5)
    assert broken == float("inf")


@needs_torch
@pytest.mark.parametrize("name", ["alexnet", "inception-bn", "inception-v3", "resnet152", "vgg16"])
def test_the_torch_network_has_the_described_parameters_and_takes_its_smallest_image(name: str) -> None:
    text = (
        "import sys; sys.path.insert(0, sys.argv[1]); import torch, models, architectures; "
        "net = architectures.find(sys.argv[2]); module = models.build(net).eval(); "
        "print(*torch.no_grad()(module)(torch.zeros(2, 3, net.smallest, net.smallest)).shape)"
    )
    done = subprocess.run(
        [PYTHON, "-c", text, str(WORKLOADS / "benchmarks"), name],
        env=QUIET,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["2", "1000"], done.stderr


@needs_torch
def test_scoring_gives_each_case_and_tells_what_it_leaves_out() -> None:
    table = ("--models", "alexnet", "inception-v3", "--batches", "1", "2", "--image_size", "64")
    codes, said, errors = run(2, "scoring.py", *table)
    assert codes == [0, 0], errors
    assert [(each["model"], each["batch"], len(each["per_rank"])) for each in said["results"]] == [
        ("alexnet", 1, 2),
        ("alexnet", 2, 2),
    ]
    assert said["problems"] == ["inception-v3: needs images of 75 pixels or more, not 64; left out"]


@pytest.mark.parametrize(
    ("advice", "environment"),
    [
        ("none", {}),
        ("without_autotune", {}),
        ("half_the_processors", {"OMP_NUM_THREADS": "4"}),
        ("both", {"OMP_NUM_THREADS": "4", "KMP_AFFINITY": "granularity=fine,compact,1,0"}),
    ],
)
def test_advice_is_what_the_page_says(load: Load, advice: str, environment: dict[str, str]) -> None:
    found = load("benchmarks", "scoring").follow(advice, ranks_here=2, processors=16)
    assert {name: found[name] for name in environment} == environment
    assert bool(found) == bool(environment)


@needs_torch
def test_advice_about_threads_is_followed_and_named() -> None:
    table = ("--models", "alexnet", "--batches", "1", "--image_size", "64", "--advice", "both")
    codes, said, errors = run(1, "scoring.py", *table)
    assert codes == [0], errors
    (result,) = said["results"]
    assert (result["advice"], result["threads"]) == ("both", max(1, (os.cpu_count() or 1) // 2))
    assert said["settings"]["environment"]["OMP_PROC_BIND"] == "close"


@needs_torch
def test_input_reads_and_decodes_real_pictures(tmp_path: pathlib.Path) -> None:
    options = ("--images", "6", "--decoders", "1", "2", "--image_size", "64", "--folder", str(tmp_path))
    codes, said, errors = run(2, "input.py", *options)
    assert codes == [0, 0], errors
    read_once, *decoded = said["results"]
    assert read_once["step"] == "read" and read_once["size_bytes"] > 6 * 20_000 and read_once["mb_s"] > 0
    assert [(each["decoders"], each["step"]) for each in decoded] == [(1, "decode"), (2, "decode")]
    assert all(0 < each["slowest_img_s"] <= each["img_s"] for each in decoded)
    assert list(tmp_path.iterdir()) == [], "the record files are gone"


@needs_torch
def test_input_says_where_it_may_not_write() -> None:
    codes, said, _errors = run(1, "input.py", "--images", "1", "--folder", "/proc")
    assert codes == [0]
    assert said["problems"] == ["no record file in /proc: it cannot be written there on at least one rank"]


def test_a_record_file_is_read_back_and_a_broken_one_refused(load: Load) -> None:
    records_of = load("benchmarks", "records")
    stream = io.BytesIO()
    for number, image in enumerate([b"", b"abc", b"x" * 1000]):
        records_of.write(stream, number, number / 2, image)
    whole = stream.getvalue()
    assert whole[:4] == bytes.fromhex("0a23d7ce") and len(whole) % 4 == 0
    assert list(records_of.read(io.BytesIO(whole))) == [(0, 0.0, b""), (1, 0.5, b"abc"), (2, 1.0, b"x" * 1000)]
    for broken, words in ((whole[:-1], "ends within"), (whole[:5], "the head"), (b"\0" * 64, "no whole record")):
        with pytest.raises(ValueError, match=words):
            list(records_of.read(io.BytesIO(broken)))


@needs_torch
def test_training_splits_computing_from_communicating_and_profiles_a_step(tmp_path: pathlib.Path) -> None:
    trace = tmp_path / "trace.json"
    table = ("--models", "resnet50", "--batches", "2", "--image_size", "64", "--trace", str(trace))
    codes, said, errors = run(2, "training.py", *table)
    assert codes == [0, 0], errors
    (result,) = said["results"]
    assert min(result[key] for key in ("compute_s", "comm_s", "step_s")) > 0
    assert result["exposed_s"] == pytest.approx(result["step_s"] - result["compute_s"], abs=1e-6)
    assert result["comm_over_compute"] == pytest.approx(result["comm_s"] / result["compute_s"], abs=1e-3)
    assert result["size_bytes"] == 25_557_032 * 4
    assert said["trace"]["bytes"] == trace.stat().st_size
    assert json.loads(trace.read_text())
    operators = said["settings"]["operators"]["by_self_time"]
    shares = [each["share"] for each in operators]
    assert shares == sorted(shares, reverse=True) and 0 < sum(shares) <= 1.001
    assert any("conv" in each["operator"] for each in operators), operators


@needs_torch
def test_a_batch_that_normalisation_cannot_take_is_left_out_on_all_ranks() -> None:
    codes, said, errors = run(2, "training.py", "--models", "resnet50", "--batches", "1", "--image_size", "32")
    assert codes == [0, 0], errors
    assert said["results"] == []
    assert "value per channel" in said["problems"][0]
