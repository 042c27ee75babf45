"""Starting ranks through the containers' own SSH servers, and through the broker of an earlier release, as git has it.

`role`: each side's own role on new nodes, with its defaults. `open_mpi_4`, `open_mpi_5`: then `mpirun hostname` over
these nodes, 4.1 of the distribution and 5.0 of PyPI. Both sides have their nodes (tests/integration/mesh/fleet.py) at
the same time and take turns, and so does who goes first. The engine is a stand-in, which costs nothing: what `docker
inspect` and `docker exec` add to every launch by the broker is not in these figures. A launch of 5.0 that stands still
after all ranks have answered (openpmix/prrte issue 1839) is made again; `again` counts them.

Writes mesh_launch.json. Settable: ROCEMESH_BENCH_NODES (4,16,64), ROCEMESH_BENCH_ROUNDS (3,3,1: rounds with new nodes
for each number), ROCEMESH_BENCH_LAUNCHES (9 by each side, round and Open MPI).
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.benchmarks.mesh_sides import processor_time
from tests.benchmarks.record import Record, Run, ratio, turns
from tests.integration.mesh import earlier_release, many
from tests.integration.mesh.fleet import Fleet, fleet, missing
from tests.integration.mesh.playing import OURS, ROOT, play
from tests.integration.mesh.test_open_mpi import STOOD_STILL, Installed, said

NODES = [int(count) for count in os.environ.get("ROCEMESH_BENCH_NODES", "4,16,64").split(",")]
ROUNDS = [int(count) for count in os.environ.get("ROCEMESH_BENCH_ROUNDS", "3,3,1").split(",")]
LAUNCHES = int(os.environ.get("ROCEMESH_BENCH_LAUNCHES", "9"))
SIDES = ("sshd", "broker")
LIMIT = 120  # seconds for one launch
WHY = missing() or earlier_release.missing()
pytestmark = pytest.mark.skipif(bool(WHY), reason=WHY)
Measured = dict[str, dict[str, list[Run]]]


@pytest.fixture(scope="module")
def record() -> Record:
    return Record("mesh_launch", simulated=False, compared=__doc__ or "")


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Every node sees it, as every container has the same image."""
    with tempfile.TemporaryDirectory(prefix="rocemesh-mpi-", dir="/opt") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.fixture(scope="module")
def installed(place: Path) -> dict[str, Installed]:
    prefix = many.open_mpi_5(place / "ompi5")
    newer = Installed(f"{prefix}/bin", said(f"{prefix}/bin/mpirun"), str(prefix))
    return {"open_mpi_4": Installed("", said("/usr/bin/mpirun"), "/usr"), "open_mpi_5": newer}


@contextlib.contextmanager
def timed(used: Callable[[], float]) -> Iterator[Run]:
    run: Run = {}
    before, begun = used(), time.monotonic()
    yield run
    run.update(seconds=round(time.monotonic() - begun, 3), processor_seconds=round(used() - before, 3))


def launched(nodes: Fleet, mpi: Installed, used: Callable[[], float]) -> Run:
    for again in range(5):
        with timed(used) as run:
            done = many.mpirun(nodes, ["hostname"], mpi.version, directory=mpi.directory, seconds=LIMIT)
        assert len(many.answered(done.stdout)) == len(nodes.nodes), done.stderr[-3000:]
        if done.returncode == 0:
            return {**run, "again": again}
        assert done.returncode == STOOD_STILL, done.stderr[-3000:]
    raise AssertionError("mpirun stood still five times")


def configured(nodes: Fleet, side: str, tree: Path, installed: dict[str, Installed], used: Callable[[], float]) -> Run:
    prefixes = [mpi.prefix for mpi in installed.values()]
    plays = OURS if side == "sshd" else earlier_release.plays(*prefixes)
    with timed(used) as run:
        done = play(nodes, plays, side, tree=ROOT if side == "sshd" else tree)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    if side == "sshd":
        for node in nodes.nodes:
            node.start_container()
    return run


def one_round(count: int, turn: int, installed: dict[str, Installed], used: Callable[[], float]) -> Measured:
    measured: Measured = {what: {side: [] for side in SIDES} for what in ("role", *installed)}
    shared = Path(installed["open_mpi_5"].prefix).parent
    with contextlib.ExitStack() as stack:
        tree = stack.enter_context(earlier_release.tree())
        fleets = {side: stack.enter_context(fleet(count, shared=shared)) for side in SIDES}
        for side in turns(SIDES, turn):
            measured["role"][side].append(configured(fleets[side], side, tree, installed, used))
        for name, mpi in installed.items():
            for side in SIDES:
                launched(fleets[side], mpi, used)  # the first one reads the programs from the disk
            for number in range(LAUNCHES):
                for side in turns(SIDES, turn + number):
                    measured[name][side].append(launched(fleets[side], mpi, used))
    return measured


@pytest.mark.parametrize("count", NODES)
def test_launches(count: int, record: Record, installed: dict[str, Installed]) -> None:
    rounds = ROUNDS[NODES.index(count)] if len(ROUNDS) == len(NODES) else ROUNDS[0]
    measured: Measured = {}
    with processor_time() as used:
        for turn in range(rounds):
            for what, sides in one_round(count, turn, installed, used).items():
                for side, runs in sides.items():
                    measured.setdefault(what, {}).setdefault(side, []).extend(runs)
    record.content["versions"].update({name: mpi.version.splitlines()[0] for name, mpi in installed.items()})
    for what, runs in measured.items():
        ratios = {
            f"{what}_{count}_nodes_{metric}": ratio(runs["broker"], runs["sshd"], metric)
            for metric in ("seconds", "processor_seconds")
            if all(run[metric] for run in runs["sshd"])
        }
        record.add(f"{what}_{count}_nodes", runs, ratios)
