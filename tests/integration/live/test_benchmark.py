"""The role benchmark under a real ansible-playbook on this machine: four slots of one host.

With a stand-in for mpirun that answers at once, for what the role does with results, failures and interruptions. Open
MPI and torch do it in the lab (tests/integration/site).
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import sys
from typing import Any

import pytest
import yaml

from tests.integration.live import harness
from tests.integration.live.harness import eventually, output, why

# Answers like the programs; notes each start in place/starts. A step stands still as long as a file "hold" names it,
# and fails as long as a file "fail" does.
MPIRUN = """#!/usr/bin/env python3
import json, os, pathlib, sys, time
place = pathlib.Path(__file__).resolve().parent.parent
words = sys.argv[1:]
if words == ["--version"]:
    print("mpirun (Open MPI) 4.1.4")
    sys.exit(0)
ranks = int(words[words.index("-np") + 1])
script = next((os.path.basename(word) for word in words if word.endswith(".py")), "")
after = dict(zip(words, words[1:]))
def say(rank, line):
    os.write(1, f"[1,{rank}]<stdout>:{line}\\n".encode())
def named(name):
    path = place / name
    return path.exists() and path.read_text() in f"{script} {ranks} #{count}"
if not script:
    say(0, "LOOKED")
    sys.exit(0)
with open(place / "starts", "a") as stream:
    stream.write(f"{script} {ranks}\\n")
count = (place / "starts").read_text().splitlines().count(f"{script} {ranks}")
while named("hold"):
    time.sleep(0.05)
if named("fail"):
    os.write(2, b"CUDA out of memory. Tried to allocate 2 GiB\\n")
    sys.exit(1)
if script == "resnet50.py":
    speed = 10.0 * ranks ** 0.9
    for rank in range(ranks):
        say(rank, f"total images/sec: {speed:.2f}")
        say(rank, "ROCEMESH " + json.dumps({
            "rank": rank, "world": ranks, "host": "localhost", "images_per_second": speed / ranks,
            "total_images_per_second": speed, "batches": int(after["--num_batches"]), "batch_size": 1, "loss": 7.0,
            "loss_finite": True, "checksum": "c0ffee", "checksums_equal": True, "backend": "gloo", "format": 1,
            "warmup_seconds": 1.5, "wall_seconds": 1.0, "busy_seconds": 1.0}))
else:
    say(0, "ROCEMESH-BENCHMARK " + json.dumps({"settings": {"backend": "gloo", "ranks": ranks}}))
    if script == "bandwidth.py":
        record = {"network": after["--networks"], "path": after["--path"], "ranks": ranks, "size_bytes": 8,
                  "seconds": [1.0], "gb_s": 1.0, "error": 0.0}
    else:
        record = {"model": after["--models"], "batch": int(after["--batches"]), "img_s": 5.0}
    say(0, "ROCEMESH-BENCHMARK " + json.dumps(record))
"""
SCALING = {"cases": ["1n1g", "1n2g"], "batches": {"fp32": 1}, "repeats": 2, "iterations": 3, "dropped": 1}
SMALL = {
    "benchmark_bandwidth": {"networks": ["resnet50"], "iterations": 2, "warmup": 1},
    "benchmark_scaling": SCALING,
    "benchmark_scoring": {"models": ["resnet50"], "batches": [1], "iterations": 2, "warmup": 1},
    "benchmark_training": {"models": ["resnet50"], "batches": [1], "iterations": 2, "warmup": 1},
    "benchmark_image_size": 64,
    "run_threads": 1,
}
TAGS = ("bandwidth", "scaling", "scoring", "training")


def settings(place: pathlib.Path, host: str = "localhost") -> dict[str, Any]:
    return {
        **SMALL,
        "benchmark_dir": str(place / "reports"),
        "rocemesh_simulated": True,
        "benchmark_hosts": [{"name": host, "address": "127.0.0.1", "slots": 4}],
        "run_network": "127.0.0.0/8",
        "run_log_dir": str(place / "logs"),
        "run_python": shutil.which("python3", path="/usr/bin") or "python3",
        "run_progress_interval": 1,
        "run_torch_script": str(harness.ROOT / "workloads" / "resnet50" / "resnet50.py"),
        "benchmark_scripts": str(harness.ROOT / "workloads" / "benchmarks"),
        # Stand-in or not: these ranks are processes of this machine, and there is no sudo to rely on.
        "ansible_become": False,
    }


def write_play(place: pathlib.Path, hosts: str, variables: dict[str, Any]) -> None:
    play = {
        "hosts": hosts,
        "connection": "local",
        "gather_facts": False,
        "vars": variables,
        "tasks": [
            {"name": "Measure", "ansible.builtin.import_role": {"name": "rocemesh.multinode.benchmark"}},
        ],
    }
    (place / "play.yml").write_text(yaml.safe_dump([play]))


@pytest.fixture
def place(tmp_path: pathlib.Path) -> pathlib.Path:
    harness.make_docker(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpirun").write_text(MPIRUN)
    (tmp_path / "bin" / "mpirun").chmod(0o755)
    write_play(tmp_path, "localhost", settings(tmp_path))
    return tmp_path


def play(place: pathlib.Path, *arguments: str, seconds: float = 900) -> int:
    with harness.playing(place, place / "play.yml", *arguments) as process:
        rc: int = process.wait(seconds)
    return rc


def folder(place: pathlib.Path) -> pathlib.Path:
    (found,) = (place / "reports").glob("*/benchmarks")
    return found


def document(place: pathlib.Path, kind: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder(place) / f"{kind}.json").read_text())
    return value


def starts(place: pathlib.Path) -> list[str]:
    return (place / "starts").read_text().splitlines() if (place / "starts").exists() else []


def repeats(place: pathlib.Path) -> dict[str, tuple[int, int]]:
    return {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (folder(place) / "scaling").glob("*.json")
    }


def test_each_benchmark_writes_its_file_and_a_killed_one_repeats_nothing_that_is_done(place: pathlib.Path) -> None:
    """SIGKILL in the third of four repeats, to the playbook and its process group; then all of it again."""
    (place / "hold").write_text("resnet50.py 1 #2")
    with harness.playing(place, place / "play.yml") as process:
        eventually(
            lambda: len([each for each in starts(place) if "resnet50" in each]) == 3 or process.poll() is not None,
            "the third repeat",
            600,
        )
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
    assert not re.search(r"^(changed|failed|fatal):", output(place), re.M), why(place)
    for reason in (
        "nccl-tests skipped: localhost: no GPU in the container",
        "perftest skipped: there is one host only",
    ):
        assert reason in output(place)
    before = repeats(place)
    assert len(before) == 2
    others = {
        kind: (folder(place) / f"{kind}.json").stat().st_mtime_ns for kind in ("bandwidth", "scoring", "training")
    }
    assert not (folder(place) / "scaling.json").exists()
    (place / "hold").unlink()
    (place / "starts").unlink()

    assert play(place) == 0, why(place)
    assert re.search(r"localhost +: ok=\d+ +changed=0 ", output(place)), output(place)
    assert "SIMULATED" in output(place)
    after = repeats(place)
    assert {name: after[name] for name in before} == before, "a finished repeat was written again"
    assert len(after) == 4
    assert [each for each in starts(place) if not each.startswith("resnet50")] == [], "a finished benchmark ran again"
    assert len(starts(place)) == 2, starts(place)
    assert "2 of 4 repeats done, 2 to do" in output(place)
    assert others == {kind: (folder(place) / f"{kind}.json").stat().st_mtime_ns for kind in others}

    for kind in TAGS:
        found = document(place, kind)
        assert (found["kind"], found["simulated"], found["backend"], found["problems"]) == (kind, True, "gloo", [])
        assert found["results"], kind
    assert [each["path"] for each in document(place, "bandwidth")["results"]] == ["cpu", "cpu_staged"]
    one, two = document(place, "scaling")["results"]
    assert (one["nodes"], one["gpus_per_node"], one["repeats"], one["mean"], one["median"]) == (1, 1, [10, 10], 10, 10)
    assert two["repeats"] == [pytest.approx(18.66)] * 2
    seed = json.loads((folder(place) / "fp32_bz1_result.json").read_text())["rn50"]
    assert seed["1n2g"] == {
        "average_speed": 18.66,
        "batch_size_per_device": 1,
        "median_speed": 18.66,
        "speedup": 1.87,
    }
    assert not (place / "reports" / "unfinished-benchmark").exists(), "a finished measurement is still under way"


def test_what_is_there_is_taken_only_if_it_is_whole_and_was_made_alike(place: pathlib.Path) -> None:
    """Five measurements one after the other, of two cases with one repeat each; of the first one, a case fails."""
    named = ("-e", "benchmark_id=a")
    once = json.dumps({"benchmark_scaling": {**SCALING, "repeats": 1}})

    def measure(*arguments: str, rc: int = 0) -> list[str]:
        before = len(starts(place))
        assert play(place, "--tags", "scaling", "-e", once, *arguments) == rc, why(place)
        return starts(place)[before:]

    # A failed repeat is told with its cause, and the rest is measured and kept.
    (place / "fail").write_text("resnet50.py 2")
    assert measure(*named, rc=2) == ["resnet50.py 1", "resnet50.py 2"]
    found = document(place, "scaling")
    assert [each["gpus_per_node"] for each in found["results"]] == [1]
    assert any("1n2g" in problem and "memory" in problem for problem in found["problems"]), found["problems"]
    assert any("0 of 1 repeats" in problem for problem in found["problems"]), found["problems"]
    assert "not everything" in output(place)
    (place / "fail").unlink()
    assert measure(*named) == ["resnet50.py 2"], "more than what was missing was measured"
    assert document(place, "scaling")["problems"] == []
    assert {path.stem for path in folder(place).glob("*.json")} - {"fp32_bz1_result"} == {"scaling"}, "only its tag"

    first = sorted((folder(place) / "scaling").glob("*.json"))[0]
    first.write_text(first.read_text()[:-40])
    assert len(measure(*named)) == 1, "a damaged repeat is measured again, a whole one is not"
    json.loads(first.read_text())

    assert len(measure(*named, "-e", "run_threads=2")) == 2, "stale repeats were reused"
    assert [len(each["repeats"]) for each in document(place, "scaling")["results"]] == [1, 1]

    assert len(measure()) == 2, "a finished measurement is history: the next one starts anew"
    assert len(list((place / "reports").glob("*/benchmarks"))) == 2


def test_check_mode_measures_nothing(place: pathlib.Path) -> None:
    assert play(place, "--check") == 0, why(place)
    assert not starts(place)
    assert not (place / "reports").exists()
    assert "nothing is measured" in output(place)


WRONG: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "too_many_nodes": (
        "scaling",
        {"benchmark_scaling": {**SCALING, "cases": ["9n1g"]}},
        ("9n1g", "leave this case out"),
    ),
    "not_a_case": ("scaling", {"benchmark_scaling": {**SCALING, "cases": ["1 node"]}}, ("1 node", "2n8g")),
    "nothing_counts": (
        "scaling",
        {"benchmark_scaling": {**SCALING, "dropped": 3}},
        ("benchmark_scaling.dropped is 3 of 3",),
    ),
    "unknown_path": ("bandwidth", {"benchmark_bandwidth": {"paths": ["teleport"]}}, ("teleport", "gpu_direct")),
    "unknown_part": ("scalign", {}, ("scalign", "scaling")),
    "reserved_name": ("scoring", {"benchmark_id": "latest"}, ("latest is not the name of a run",)),
}


def test_wrong_settings_are_refused_with_what_to_do(place: pathlib.Path) -> None:
    """One play, in which this machine is a host once per wrong setting."""
    python = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    hosts = {
        case: {**settings(place / case, case), **python, "benchmark_parts": [part], **override}
        for case, (part, override, _words) in WRONG.items()
    }
    (place / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    write_play(place, "all", {})
    assert play(place, "-i", str(place / "hosts.json"), "-l", "!localhost") == 2
    for case, (_part, _override, words) in WRONG.items():
        (said,) = re.findall(rf"^fatal: \[{case}\].*?(?=\n\n|\Z)", output(place), re.M | re.S)
        assert [word for word in words if word not in " ".join(said.split())] == [], said
    assert not starts(place)
