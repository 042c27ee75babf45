"""Jobs in the container: ours only by its mark, over only by its lock, and everything else is shown and left alone."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from types import ModuleType
from typing import Any, Callable, Iterator

import pytest
from ansible_collections.rocemesh.multinode.plugins.action.mpi_job import with_mark, without_secrets

from tests.unit.decisions import decide

CHECKS = pathlib.Path(__file__).parents[3] / "workloads" / "checks"
SITE = "0123456789ab"
OURS = f"/tmp/rocemesh-job-{SITE}-00aa"


@pytest.fixture
def leftovers(load: Callable[[str, str], ModuleType]) -> ModuleType:
    return load("checks", "leftovers")


def call(script: str, *words: str, code: int = 0) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, CHECKS / script, *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == code, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


# ---- whose is it ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "looks"),
    [
        (["orted", "-mca", "ess", "env"], True),
        (["/usr/bin/mpirun", "-np", "4", "hostname"], True),
        (["prted"], True),
        (["timeout", "--foreground", "-k", "10", "60", "mpirun", "-np", "4"], True),
        (["python3", "/workspace/resnet50/resnet50.py", "--batch_size", "2"], True),
        (["/usr/bin/python3.11", "-u", "/workspace/benchmarks/scripts/tf_cnn_benchmarks/tf_cnn_benchmarks.py"], True),
        (["sh", "-c", "mpirun -np 4 orted resnet50.py"], False),
        (["python3", "-c", "text that names resnet50.py and orted"], False),
        (["vim", "resnet50.py"], False),
        (["timeout", "60", "sleep", "5"], False),
        ([], False),
    ],
)
def test_what_looks_like_a_job_is_shown_and_words_in_a_text_are_not(
    leftovers: ModuleType, argv: list[str], looks: bool
) -> None:
    assert leftovers.is_job(argv) is looks


@pytest.mark.parametrize(
    ("mark", "ours"),
    [
        (OURS, True),
        ("/data/tmp/rocemesh-job-0123456789ab-ff", True),
        ("/tmp/rocemesh-job-ffffffffffff-00aa", False),
        ("/tmp/rocemesh-job-00aa", False),
        ("/tmp/rocemesh-job-x0123456789ab-00aa", False),
        (f"{OURS}/../x", False),
        ("", False),
    ],
)
def test_a_job_is_of_the_site_only_by_its_whole_name(leftovers: ModuleType, mark: str, ours: bool) -> None:
    assert leftovers.of_site(mark, SITE) is ours
    assert leftovers.of_site(mark, "") is False


def fake_proc(base: pathlib.Path, processes: dict[int, tuple[int, str, str, list[str], str]]) -> str:
    """pid -> (parent, state, PID namespace, argv, mark)"""
    (base / "stat").write_text("cpu 1\nbtime 1700000000\n")
    for pid, (parent, state, namespace, argv, mark) in processes.items():
        entry = base / str(pid)
        (entry / "ns").mkdir(parents=True)
        (entry / "ns" / "pid").symlink_to(f"pid:[{namespace}]")
        (entry / "stat").write_text(f"{pid} (a ) b) {state} {parent} " + "0 " * 17 + "100 0\n")
        (entry / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in argv))
        (entry / "environ").write_bytes(b"A=b\0" + (f"ROCEMESH_JOB={mark}".encode() + b"\0" if mark else b""))
    return str(base)


def test_zombies_ancestors_and_other_namespaces_are_no_jobs_and_a_daemon_is_of_the_job_below_it(
    leftovers: ModuleType, tmp_path: pathlib.Path
) -> None:
    proc = fake_proc(
        tmp_path,
        {
            1: (0, "S", "7", ["sleep", "infinity"], ""),
            10: (1, "S", "7", ["orted"], ""),
            11: (10, "R", "7", ["python3", "/w/mine.py"], OURS),
            12: (1, "Z", "7", ["orted"], OURS),
            13: (1, "S", "8", ["orted"], OURS),
            14: (1, "S", "7", ["sshd"], ""),
            15: (1, "S", "7", ["mpirun", "/data/alice/job"], ""),
            16: (15, "S", "7", ["/data/alice/job"], ""),
            20: (1, "S", "7", ["mpirun", "python3", "leftovers.py"], OURS),
            21: (20, "R", "7", ["python3", "-c", "orted"], OURS),
        },
    )
    found = leftovers.listing(proc, 21, SITE)
    assert [(entry["pid"], entry["job"], entry["ours"]) for entry in found] == [
        (10, OURS, True),
        (11, OURS, True),
        (15, "", False),
    ]
    assert found[0]["since"] == "2023-11-14T22:13:21Z"
    assert found[2]["command"] == "mpirun /data/alice/job"


def test_a_daemon_above_two_jobs_is_nobodys(leftovers: ModuleType, tmp_path: pathlib.Path) -> None:
    other = OURS[:-1] + "b"
    processes = {
        1: (0, "S", "7", ["sleep"], ""),
        10: (1, "S", "7", ["orted"], ""),
        11: (10, "S", "7", ["a"], OURS),
        12: (10, "S", "7", ["b"], other),
    }
    found = leftovers.listing(fake_proc(tmp_path, {**processes, 30: (1, "R", "7", ["me"], "")}), 30, SITE)
    assert [entry["job"] for entry in found] == ["", OURS, other]


def entry(**changes: Any) -> dict[str, Any]:
    told = {"pid": 7, "user": "alice", "since": "2026-11-19T08:00:00Z", "command": "mpirun -np 64 job"}
    return {**told, "job": "", "ours": False, **changes}


@pytest.mark.parametrize(
    ("process", "states", "end", "words"),
    [
        (
            entry(),
            {},
            True,
            "gpu02: process 7 of alice since 2026-11-19T08:00:00Z (no mark, so another user's): mpirun",
        ),
        (entry(job="/tmp/rocemesh-job-f-1"), {"/tmp/rocemesh-job-f-1": "over"}, True, "of another site"),
        (entry(job=OURS, ours=True), {OURS: "running"}, True, "is running: another run asks for it"),
        (entry(job=OURS, ours=True), {OURS: "unknown"}, True, "does not know whether it is over"),
        (entry(job=OURS, ours=True), {}, True, "does not know whether it is over"),
        (entry(job=OURS, ours=True), {OURS: "over"}, False, "run_end_leftovers is false"),
    ],
)
def test_whatever_is_not_surely_ours_and_over_is_refused_with_its_name(
    process: dict[str, Any], states: dict[str, str], end: bool, words: str
) -> None:
    judged = decide("mpi_leftovers", found={"gpu01": [], "gpu02": [process]}, states=states, end=end)
    assert judged["over"] == []
    assert words in judged["others"][0]["text"]


def test_only_a_job_of_the_site_that_is_over_may_be_ended() -> None:
    judged = decide("mpi_leftovers", found={"gpu01": [entry(job=OURS, ours=True), entry()]}, states={OURS: "over"})
    assert (judged["over"], len(judged["others"])) == ([OURS], 1)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["timeout", "--foreground", "-k", "10", "60", "mpirun", "-np", "2", "a"],
         ["timeout", "--foreground", "-k", "10", "60", "mpirun", "-x", "ROCEMESH_JOB", "-np", "2", "a"]),
        (["/opt/ompi/bin/mpirun", "mpirun"], ["/opt/ompi/bin/mpirun", "-x", "ROCEMESH_JOB", "mpirun"]),
        (["python3", "mpirun"], ["python3", "mpirun"]),
    ],
)  # fmt: skip
def test_mpirun_is_told_to_pass_the_mark_on_and_no_other_program_is(argv: list[str], expected: list[str]) -> None:
    assert with_mark(argv) == expected


def test_secret_of_a_rank_is_on_no_command_line() -> None:
    argv = ["mpirun", "-x", "WANDB_API_KEY=a=b", "-x", "NCCL_DEBUG=INFO", "-x", "TOKENIZERS_PARALLELISM=0", "train"]
    expected = ["mpirun", "-x", "WANDB_API_KEY", *argv[3:]]
    assert without_secrets(argv) == (expected, {"WANDB_API_KEY": "a=b"})


# ---- is it over -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def colleague(folder: pathlib.Path, name: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Somebody's process of that name, which says when it is there and ends when it is let go."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    script = "import sys; print('up', flush=True); sys.stdin.read()"
    if name.endswith(".py"):
        program.write_text(script)
        words = [sys.executable, str(program)]
    else:
        shutil.copy(shutil.which("sh") or "/bin/sh", program)
        words = [str(program), "-c", "echo up; read line"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, env={**os.environ, **environment}, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        try:
            yield process
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.communicate("\n")


def start(folder: pathlib.Path, orphan: float = 600) -> list[int]:
    """A job of this site with two processes; their numbers."""
    numbers = folder.parent / "numbers"
    script = f"sleep 600 & echo $! $$ > {numbers}.new; mv {numbers}.new {numbers}; wait"
    call("job.py", "start", str(folder), str(orphan), "0", "sh", "-c", script)
    until = time.monotonic() + 20
    while not numbers.exists():
        assert time.monotonic() < until, "the job does not start"
        time.sleep(0.02)
    return [int(word) for word in numbers.read_text().split()]


def there(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


@pytest.fixture
def job(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    folder = tmp_path / f"rocemesh-job-{SITE}-00aa"
    yield folder
    call("job.py", "end", str(folder))
    if (tmp_path / "numbers").exists():
        for pid in (int(word) for word in (tmp_path / "numbers").read_text().split()):
            if there(pid):
                os.kill(pid, signal.SIGKILL)


def kill_supervisor(folder: pathlib.Path) -> None:
    os.kill(int((folder / "pid").read_text()), signal.SIGKILL)


def found(pids: list[int]) -> dict[int, dict[str, Any]]:
    return {told["pid"]: told for told in call("leftovers.py", "list", SITE)["found"] if told["pid"] in pids}


@pytest.mark.parametrize("name", ["mpirun", "orted", "training.py", "scaling.py"])
def test_a_colleagues_job_is_named_and_survives_the_end_of_ours(
    job: pathlib.Path, tmp_path: pathlib.Path, name: str
) -> None:
    """The programs' names are those that this collection runs itself: a name is no proof."""
    ranks = start(job)
    kill_supervisor(job)
    with colleague(tmp_path / "alice", name) as other:
        told = found([other.pid])[other.pid]
        assert (told["job"], told["ours"]) == ("", False)
        assert str(tmp_path / "alice" / name) in told["command"]
        assert told["user"] and told["since"].endswith("Z")
        done = call("leftovers.py", "end", "10", str(job))
        assert sorted(done["ended"]) == sorted(ranks)
        assert other.poll() is None
    assert not any(there(pid) for pid in ranks)


def test_a_killed_run_of_this_site_is_over_and_its_ranks_are_ended(job: pathlib.Path) -> None:
    ranks = start(job)
    assert {told["ours"] for told in found(ranks).values()} == {True}
    kill_supervisor(job)
    assert call("leftovers.py", "jobs", "30", str(job)) == {"jobs": {str(job): "over"}}
    assert all(there(pid) for pid in ranks), "nothing but the supervisor was killed"
    assert call("leftovers.py", "end", "10", str(job))["left"] == []
    assert not any(there(pid) for pid in ranks)


def test_the_job_of_a_second_run_is_running_as_long_as_somebody_asks_for_it(job: pathlib.Path) -> None:
    start(job)
    with subprocess.Popen(
        [sys.executable, CHECKS / "leftovers.py", "jobs", "60", str(job)], stdout=subprocess.PIPE
    ) as asked:
        until = time.monotonic() + 30
        while asked.poll() is None:
            assert time.monotonic() < until, "it does not see that the job is asked for"
            call("job.py", "wait", str(job), "600", "0.2", "0", "0")
        assert asked.stdout is not None
        assert json.loads(asked.stdout.read()) == {"jobs": {str(job): "running"}}


def test_a_job_without_an_owner_is_waited_for_until_its_supervisor_has_ended_it(job: pathlib.Path) -> None:
    ranks = start(job, orphan=1)
    assert call("leftovers.py", "jobs", "60", str(job)) == {"jobs": {str(job): "over"}}
    assert not there(ranks[1])


def test_a_job_that_is_not_known_here_is_not_over(tmp_path: pathlib.Path) -> None:
    nowhere = str(tmp_path / "rocemesh-job-x-1")
    assert call("leftovers.py", "jobs", "1", nowhere) == {"jobs": {nowhere: "unknown"}}


def test_a_held_job_is_never_over_however_long_nobody_asks(leftovers: ModuleType, job: pathlib.Path) -> None:
    start(job)
    assert leftovers.states([str(job)], 1.0, lambda _seconds: None) == {str(job): "running"}


# ---- the end --------------------------------------------------------------------------------------------------------


def living(leftovers: ModuleType, pids: set[tuple[int, int]]) -> Callable[[], list[Any]]:
    return lambda: [leftovers.Process(pid, 1, started, 0, ("x",), OURS, False) for pid, started in sorted(pids)]


def test_who_ignores_sigterm_gets_sigkill_and_who_is_gone_gets_nothing(leftovers: ModuleType) -> None:
    there_now = {(10, 1), (11, 1)}
    sent: list[tuple[int, int]] = []

    def kill(pid: int, number: int) -> None:
        sent.append((pid, number))
        if number == signal.SIGKILL or pid == 10:
            there_now.discard((pid, 1))

    done = leftovers.end([OURS, "/tmp/other"], 0.3, living(leftovers, there_now), kill, lambda _seconds: None)
    assert done == ({10, 11}, set())
    assert sent == [(10, signal.SIGTERM), (11, signal.SIGTERM), (11, signal.SIGKILL)]


def test_a_number_that_went_to_another_process_meanwhile_is_not_killed(leftovers: ModuleType) -> None:
    sent: list[tuple[int, int]] = []
    looks = iter([{(10, 1)}, {(10, 99)}])
    now: set[tuple[int, int]] = set()

    def look() -> list[Any]:
        now.clear()
        now.update(next(looks, {(10, 99)}))
        return living(leftovers, now)()

    assert leftovers.end([OURS], 0.3, look, lambda *call: sent.append(call), lambda _seconds: None) == ({10}, set())
    assert sent == [(10, signal.SIGTERM)]


def test_what_cannot_be_ended_is_told(leftovers: ModuleType) -> None:
    look = living(leftovers, {(10, 1)})
    assert leftovers.end([OURS], 0.2, look, lambda _pid, _number: None, lambda _seconds: None) == (set(), {10})


@pytest.mark.parametrize("words", [("look", "1"), (), ("list",), ("end", "10"), ("jobs", "soon", "/tmp/x"), ("end",)])
def test_wrong_usage_ends_nothing(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, CHECKS / "leftovers.py", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "usage" in done.stderr


# ---- a look at a job that lives -------------------------------------------------------------------------------------


def stat(pid: int, state: str, parent: int, ticks: int) -> str:
    return f"{pid} (a ) b) {state} {parent} " + "0 " * 9 + f"{ticks} 0 " + "0 " * 6 + "100 0\n"


def thread(base: pathlib.Path, pid: int, number: int, state: str, wchan: str = "0") -> None:
    place = base / str(pid) / "task" / str(number)
    place.mkdir(parents=True, exist_ok=True)
    (place / "stat").write_text(stat(number, state, 1, 0))
    (place / "wchan").write_text(wchan)


def test_a_look_tells_rank_state_and_load_of_this_job_alone(leftovers: ModuleType, tmp_path: pathlib.Path) -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    jobs = {10: ("S", OURS), 11: ("S", OURS), 12: ("S", OURS), 13: ("D", OURS), 14: ("R", OURS[:-1] + "b")}
    processes = {pid: (1, state, "7", ["python3", "train.py"], mark) for pid, (state, mark) in jobs.items()}
    proc = fake_proc(tmp_path, {1: (0, "S", "7", ["sleep"], ""), 30: (1, "R", "7", ["me"], ""), **processes})
    for rank, pid in enumerate(processes):
        with open(tmp_path / str(pid) / "environ", "ab") as stream:
            stream.write(f"OMPI_COMM_WORLD_RANK={rank}\0".encode())
        (tmp_path / str(pid) / "stat").write_text(stat(pid, jobs[pid][0], 1, 100))
        thread(tmp_path, pid, pid, jobs[pid][0])
    thread(tmp_path, 11, 111, "D", "nfs_wait_on_request")

    def meanwhile(_seconds: float) -> None:
        """Rank 0 computes, one thread of rank 1 stays in the kernel, rank 2 is stopped, rank 3 came out of it."""
        (tmp_path / "10" / "stat").write_text(stat(10, "R", 1, 100 + 2 * ticks))
        thread(tmp_path, 10, 10, "R")
        (tmp_path / "12" / "stat").write_text(stat(12, "T", 1, 100))
        thread(tmp_path, 12, 12, "T")
        thread(tmp_path, 13, 13, "S", "do_poll")
        (tmp_path / "13" / "stat").write_text(stat(13, "D", 1, 100))

    told = leftovers.standing(proc, 30, OURS, 2.0, meanwhile)
    assert [(each["rank"], each["state"], each["waits_in"], each["cpu"]) for each in told] == [
        (0, "R", "", 1.0),
        (1, "D", "nfs_wait_on_request", 0.0),
        (2, "T", "", 0.0),
        (3, "S", "do_poll", 0.0),
    ]
    assert told[0]["command"] == "python3 train.py"


def test_a_look_sees_a_stopped_process_and_leaves_it_as_it_is(job: pathlib.Path) -> None:
    ranks = start(job)
    os.kill(ranks[0], signal.SIGSTOP)
    told = {each["pid"]: each for each in call("leftovers.py", "look", "0.1", str(job))["processes"]}
    assert {pid: told[pid]["state"] for pid in ranks} == {ranks[0]: "T", ranks[1]: "S"}
    again = {each["pid"]: each["state"] for each in call("leftovers.py", "look", "0", str(job))["processes"]}
    assert again[ranks[0]] == "T" and all(there(pid) for pid in ranks)


@contextlib.contextmanager
def nccl(*answers: bytes) -> Iterator[str]:
    """NCCL's RAS on loopback: the first answers are of one line each, behind the last one it hangs up."""

    def serve() -> None:
        wire = listener.accept()[0]
        with wire, wire.makefile("rb") as asked:
            for answer in answers:
                asked.readline()
                wire.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)


HELLO = (b"SERVER PROTOCOL 2\n", b"OK\n", b"OK\n")
NOTHING = {"begun": {}, "lost": []}


def test_nccl_says_what_each_rank_has_begun(leftovers: ModuleType) -> None:
    recorded = (pathlib.Path(__file__).parents[1] / "results/fixtures/h200/ras.json").read_bytes()
    with nccl(*HELLO, recorded) as address:
        assert leftovers.ras(address, [1, 848]) == {"begun": {0: 3, 1: 3}, "lost": []}
    with nccl(*HELLO, recorded) as address:
        assert leftovers.ras(address, [1]) == NOTHING, "of another job"
    answer = json.loads(recorded)
    job = answer["communicators"][0]
    job["missing_ranks"] = [{"rank": job["ranks"].pop(1)["rank"], "status": {"considered_dead": True}}]
    answer["communicators"].append({**job, "size": 1})
    with nccl(*HELLO, json.dumps(answer).encode()) as address:
        assert leftovers.ras(address, [847]) == {"begun": {0: 3}, "lost": [1]}


@pytest.mark.parametrize(
    "answers",
    [
        (*HELLO, b'{"communicators": []}'),
        (*HELLO, json.dumps({"communicators": 2 * [{"size": 2, "ranks": [], "missing_ranks": []}]}).encode()),
        (*HELLO, b"NCCL version 2.27.7 compiled with CUDA 12.9\n"),
        (b"SERVER PROTOCOL 2\n", b"OK\n", b"ERROR: Unknown command SET FORMAT json\n"),
        (b"HTTP/1.1 400 Bad Request\r\n",),
        (*HELLO, b'{"communicators": 3}'),
    ],
    ids=["none", "two-alike", "text", "older", "another-program", "another-form"],
)
def test_what_is_not_known_of_the_ranks_is_left_out(leftovers: ModuleType, answers: tuple[bytes, ...]) -> None:
    with nccl(*answers) as address:
        assert leftovers.ras(address, [847], 1) == NOTHING


@pytest.mark.parametrize("address", ["", "127.0.0.1:1", "localhost", "[::1]:port"])
def test_where_nothing_listens_nothing_is_known(leftovers: ModuleType, address: str) -> None:
    assert leftovers.ras(address, [847]) == NOTHING
