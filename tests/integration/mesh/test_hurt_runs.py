"""Runs that hang, starve or die: a real mpirun over real SSH servers, a rank on each of three nodes, and one thing that
goes wrong. The node and the cause are named, the run ends by itself, and nothing of it is left on any node.

The ranks are `hurt_rank.py`, which says what torch with gloo says. What goes wrong begins only when all ranks are at
the same step, so the speed of this machine decides nothing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.failure import Diagnosis, diagnose
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import Node as Host
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import command, major_of
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import tf_cnn

from tests.integration.mesh import many
from tests.integration.mesh.fleet import NETWORK, Fleet, Node, fleet, missing

MPIRUN = "/usr/bin/mpirun"
pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.skipif(not Path(MPIRUN).exists(), reason="needs openmpi-bin"),
]
RANK = Path(__file__).with_name("hurt_rank.py")
LIMIT = 120  # seconds of timeout(1) around mpirun where the run has to end by itself
HOSTS = ("gpu001", "gpu002", "gpu003")


@dataclasses.dataclass(frozen=True)
class Ended:
    rc: int
    out: str
    err: str

    def why(self, hosts: list[Host]) -> Diagnosis:
        return diagnose(self.rc, self.out, self.err, hosts)

    @property
    def text(self) -> str:
        return f"status {self.rc}\n{self.out}\n{self.err}"


@pytest.fixture(scope="module", name="place")
def fixture_place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rocemesh-hurt-", dir="/opt") as directory:
        Path(directory).chmod(0o755)
        shutil.copy(RANK, Path(directory) / "hurt_rank.py")
        yield Path(directory)


@pytest.fixture(scope="module", name="version")
def fixture_version() -> str:
    said = subprocess.run([MPIRUN, "--version"], capture_output=True, text=True, check=True).stdout
    if major_of(said) != 4:
        pytest.skip("the distribution's Open MPI is not version 4, whose words and daemon (orted) are told apart here")
    return said


@pytest.fixture(scope="module", name="nodes")
def fixture_nodes(version: str, place: Path) -> Iterator[Fleet]:
    with fleet(len(HOSTS), shared=place) as started:
        many.join(started)
        yield started


def eventually(condition: Callable[[], Any], what: str, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"not within {seconds:g} s: {what}"
        time.sleep(0.02)


def gone(job: Job, seconds: float = 120) -> None:
    """Nothing of a run lives on any node."""
    until = time.monotonic() + seconds
    while left := job.left():
        assert time.monotonic() < until, f"after {seconds:g} s there is still: {left}"
        time.sleep(0.02)


def processes(node: Node, *words: str) -> list[int]:
    """Living processes of a node, by this machine's numbers, whose arguments hold all of these words."""
    network = os.readlink(f"/proc/{node.pid}/ns/net")
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(entry / "ns/net") != network or (entry / "stat").read_text().rpartition(")")[2][1] in "ZX":
                continue
            text = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if text and all(word in text for word in words):
                found.append(int(entry.name))
    return found


def told(pid: int) -> str:
    """A process with its parent, its state and its first words, for a failure's text."""
    with contextlib.suppress(OSError):
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return f"{pid} (of {parent}, {state}) {b' '.join(words).decode(errors='replace')[:80]}"
    return f"{pid} (just ended)"


class Job:
    """One run. ``folder`` is its own; what it leaves is looked for by that name, and by the names of Open MPI."""

    def __init__(
        self, nodes: Fleet, place: Path, version: str, shape: dict[str, Any], seconds: int, /, **options: Any
    ) -> None:
        self.nodes = nodes
        self.folder = Path(tempfile.mkdtemp(prefix="run-", dir=place))
        self.folder.chmod(0o777)
        self.hosts = [Host(node.name, node.address) for node in nodes.nodes]
        head = nodes.nodes[0]
        (self.folder / "shape.json").write_text(json.dumps({"head": head.address, **shape}))
        program = options.pop("program", [many.PYTHON, str(place / "hurt_rank.py"), str(self.folder)])
        argv = command(self.hosts, program, NETWORK, timeout=seconds, version=version, kill_after=60, **options)
        argv = [MPIRUN if word == "mpirun" else word for word in argv]
        self._out, self._err = ((self.folder / name).open("w+b") for name in ("out", "err"))
        self.process = subprocess.Popen(
            [*head.entering(), "/usr/local/bin/docker", "exec", "mpicont", *argv],
            stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err,
            env={"PATH": os.environ["PATH"], "HOME": "/root", "LANG": "C.UTF-8"},
        )  # fmt: skip

    def note(self, *names: str) -> None:
        for name in names:
            (self.folder / name).touch()

    def ready(self) -> None:
        """All ranks are in the same step, and wait for a word."""

        def all_of_them() -> bool:
            assert self.process.poll() is None, self.ended().text
            return len(list(self.folder.glob("ready-*"))) == len(HOSTS)

        eventually(all_of_them, "all ranks in one step")

    def rank(self, number: int) -> int:
        (found,) = processes(self.nodes.nodes[number], "hurt_rank.py", self.folder.name)[-1:]
        return found

    def out(self) -> bytes:
        return (self.folder / "out").read_bytes()

    def ended(self) -> Ended:
        rc = self.process.wait(LIMIT + 30)
        for stream in (self._out, self._err):
            stream.flush()
        # As docker exec tells a signal.
        return Ended(
            rc if rc >= 0 else 128 - rc, *((self.folder / name).read_text(errors="replace") for name in ("out", "err"))
        )

    def time_is_over(self) -> None:
        """What timeout(1) does when its own alarm rings: now, and not after so many seconds of a machine under load."""
        for pid in processes(self.nodes.nodes[0], MPIRUN):
            with contextlib.suppress(OSError):  # mpirun may have ended by itself meanwhile
                if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"timeout\0"):
                    os.kill(pid, signal.SIGALRM)

    def left(self) -> list[str]:
        """What still lives of it on any node."""
        names = (("hurt_rank.py", self.folder.name), ("orted ",), (MPIRUN,))
        return [
            f"{node.name}: {told(pid)}"
            for node in self.nodes.nodes
            for words in names
            for pid in processes(node, *words)
        ]

    def close(self) -> None:
        for node in self.nodes.nodes:  # only after a failed test: a sound one has left nothing
            for words in (("hurt_rank.py", self.folder.name), ("orted ",), (MPIRUN,)):
                for pid in processes(node, *words):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self._out.close()
        self._err.close()


@pytest.fixture(name="start")
def fixture_start(nodes: Fleet, place: Path, version: str) -> Iterator[Callable[..., Job]]:
    jobs: list[Job] = []

    def start(seconds: int = LIMIT, *, options: dict[str, Any] | None = None, **shape: Any) -> Job:
        jobs.append(Job(nodes, place, version, shape, seconds, **(options or {})))
        return jobs[-1]

    try:
        yield start
    finally:
        for job in jobs:
            job.close()


def judged(job: Job, cause: str, host: str | None, words: str = "") -> Diagnosis:
    """The run ended, in time, with this cause on this node alone; nothing of it lives."""
    ended = job.ended()
    found = ended.why(job.hosts)
    assert ended.rc != 0, ended.text
    assert (found.cause, found.hosts) == (cause, (host,) if host else ()), f"{found.message}\n{ended.text}"
    assert words in found.message, f"{found.message}\n{ended.text}"
    gone(job)
    return found


Start = Callable[..., Job]

# ------------------------------------------------------------------------------------------- done to it from outside


def test_a_stopped_rank_is_named_and_not_those_that_wait_for_it(start: Start) -> None:
    job = start(outside=True)
    job.ready()
    os.kill(job.rank(1), signal.SIGSTOP)
    job.note("hurt", "go")
    assert judged(job, "rank_stuck", "gpu002", "rank 1 stood still").rank == 1


def test_a_killed_rank_is_named_with_its_signal(start: Start) -> None:
    job = start(outside=True)
    job.ready()
    os.kill(job.rank(2), signal.SIGKILL)
    job.note("go")
    judged(job, "host_memory", "gpu003", "signal 9")


def test_a_node_that_leaves_the_network_is_named(start: Start, nodes: Fleet) -> None:
    job = start(outside=True, victims=3)
    job.ready()
    assert nodes.run(["ip", "link", "set", "v1", "down"]).returncode == 0
    try:
        job.note("hurt", "go")
        eventually(lambda: job.out().count(b"Timed out waiting") == 2, "the words of the other two")
        job.time_is_over()
        job.process.wait(LIMIT)
    finally:
        nodes.run(["ip", "link", "set", "v1", "up"])
    judged(job, "rank_stuck", "gpu002", "stood still")


def test_a_daemon_that_dies_is_named_by_its_host(start: Start, nodes: Fleet) -> None:
    job = start(outside=True)
    job.ready()
    (daemon,) = processes(nodes.nodes[1], "orted ", "--tree-spawn")[-1:] or processes(nodes.nodes[1], "orted ")[-1:]
    os.kill(daemon, signal.SIGKILL)
    ended = job.ended()
    job.note("go")
    found = ended.why(job.hosts)
    assert "gpu002" in found.hosts, f"{found.message}\n{ended.text}"
    gone(job)


def test_a_killed_mpirun_is_told_and_its_ranks_end(start: Start, nodes: Fleet) -> None:
    job = start(outside=True)
    job.ready()
    for pid in processes(nodes.nodes[0], MPIRUN, "hurt_rank.py"):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(MPIRUN.encode()):
                os.kill(pid, signal.SIGKILL)
    ended = job.ended()
    job.note("go")
    found = ended.why(job.hosts)
    assert ended.rc == 137 and "or mpirun was killed (status 137)" in found.message, f"{found.message}\n{ended.text}"
    gone(job)


def test_a_node_whose_container_is_stopped_is_named(start: Start, nodes: Fleet) -> None:
    node = nodes.nodes[2]
    assert node.inside(["kill", (node.root / "run/sshd/mesh.pid").read_text().strip()]).returncode == 0
    eventually(lambda: ":2222 " not in node.inside(["ss", "-ltn"]).stdout, "the server ends")
    try:
        judged(start(30), "ssh_refused", "gpu003")
    finally:
        node.start_container()


# ------------------------------------------------------------------------------------------------ wrong from inside


@pytest.mark.parametrize(
    ("how", "cause", "words"),
    [
        ("raise", "rank_failed", "no such layer: conv9"),
        ("memory", "host_memory", "MemoryError"),
        ("import", "program_missing", "dataset_of_the_other_image"),
        ("crash", "signal", "signal 11"),
        ("dataset", "rank_stuck", "rank 1 stood still"),
        ("slow", "rank_stuck", "rank 1 stood still"),
    ],
    ids=["exception", "out-of-memory", "other-image", "crash", "stalled-dataset", "starved"],
)
def test_what_goes_wrong_in_one_rank_is_named_with_its_node(start: Start, how: str, cause: str, words: str) -> None:
    judged(start(rank=1, how=how), cause, "gpu002", words)


def test_a_full_disk_is_named_with_its_node(start: Start, nodes: Fleet) -> None:
    node = nodes.nodes[1]
    inside = ["nsenter", "--mount", "--root", "--target", (node.root / "run/sshd/mesh.pid").read_text().strip()]
    small = "mkdir -p /mnt/small && mount -t tmpfs -o size=64k none /mnt/small"
    assert node.inside([*inside, "sh", "-c", small]).returncode == 0
    try:
        judged(start(rank=1, how="full-disk"), "disk_full", "gpu002", "space")
    finally:
        node.inside([*inside, "umount", "/mnt/small"])


def test_a_rank_that_never_joins_is_named_when_the_time_is_over(start: Start) -> None:
    job = start(rank=2, how="never-joins")
    eventually(lambda: (job.folder / "pid-2").exists() and job.out().count(b"Running warm up") == 2, "the other two")
    job.time_is_over()
    judged(job, "timeout_silent_ranks", "gpu003")


def test_a_program_that_one_node_lacks_is_named(start: Start, nodes: Fleet) -> None:
    for node in nodes.nodes[:2]:
        shutil.copy("/bin/true", node.root / "usr/local/bin/only-here")
    judged(start(options={"program": ["/usr/local/bin/only-here"]}), "program_missing", "gpu003")


def test_a_network_that_no_node_has_is_told(start: Start) -> None:
    """Open MPI 4.1 says so and takes any: the ranks run, and whoever pinned them has to know."""
    job = start(options={"mca": {"oob_tcp_if_include": "192.0.2.0/24"}})
    ended = job.ended()
    found = ended.why(job.hosts)
    assert found.cause == "network_ignored" and "192.0.2.0/24" in ended.err, f"{found.message}\n{ended.text}"
    gone(job)


def test_fewer_ranks_than_were_meant_are_no_result(start: Start) -> None:
    job = start(options={"ranks": 2})
    ended = job.ended()
    assert ended.rc == 0, ended.text
    found = tf_cnn.read(ended.out, len(HOSTS)).as_dict()
    assert found["ok"] is False and "missing_ranks" in {problem["code"] for problem in found["problems"]}
    gone(job)


def test_a_sound_run_ends_well_and_leaves_nothing(start: Start) -> None:
    job = start()
    ended = job.ended()
    assert ended.rc == 0 and ended.out.count("ROCEMESH {") == len(HOSTS), ended.text
    gone(job)
