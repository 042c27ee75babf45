"""The role's limit of silence, by a real ansible-playbook and real Open MPI: three ranks of which one stands still. It
is named with its state and its step, before the run is ended; and the run leaves nothing behind."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
import time

import pytest
import yaml

from tests.integration.live import harness
from tests.integration.live.harness import eventually, output, why

pytestmark = pytest.mark.skipif(
    shutil.which("mpirun") is None or os.geteuid() != 0, reason="needs Open MPI and root (make dev brings it)"
)
LIMIT = 4

# Steps in step, by files: nobody prints step 30 before all have printed 20. Then rank 1 stands still, and the others
# wait for it as in an exchange.
RANK = """
import os, pathlib, signal, sys, time
here, how, rank = pathlib.Path(sys.argv[1]), sys.argv[2], int(os.environ["OMPI_COMM_WORLD_RANK"])
(here / f"pid-{rank}").write_text(str(os.getpid()))
def say(step):
    os.write(1, f"{step}\\timages/sec: 10.0 +/- 0.0 (jitter = 0.0)\\t7.0\\n".encode())
say(10)
say(20)
(here / f"at20-{rank}").touch()
while len(list(here.glob("at20-*"))) < 3:
    time.sleep(0.02)
if rank == 1 and how == "stopped":
    os.kill(os.getpid(), signal.SIGSTOP)
if rank == 1 and how == "in-the-kernel":
    # posix_spawn waits in the kernel (state D) until its child has started, which here waits for a writer for ever.
    os.mkfifo(here / "nobody-writes")
    opening = (os.POSIX_SPAWN_OPEN, 0, str(here / "nobody-writes"), os.O_RDONLY, 0)
    os.posix_spawn("/bin/true", ["true"], os.environ, file_actions=[opening])
say(30)
time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("how", "words"),
    [("stopped", "is stopped (state T)"), ("in-the-kernel", "waits in the kernel (state D")],
)
def test_the_rank_that_holds_up_a_silent_run_is_named_and_nothing_is_left(
    tmp_path: pathlib.Path, how: str, words: str
) -> None:
    harness.make_docker(tmp_path)
    (tmp_path / "rank.py").write_text(RANK)
    role = {"name": "rocemesh.multinode.run"}
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars": {
            "run_hosts": [{"name": "localhost", "address": "127.0.0.1", "slots": 3}],
            "run_network": "127.0.0.0/8",
            "run_python": sys.executable,
            "run_log_dir": str(tmp_path / "logs"),
            "run_id": "one",
            "run_progress_interval": 1,
            "run_step": {
                "name": "mine",
                "program": [sys.executable, str(tmp_path / "rank.py"), str(tmp_path), how],
                "stall_limit": LIMIT,
                "limit": 300,
            },
            "ansible_become": False,
        },
        "tasks": [
            {"name": "Before", "ansible.builtin.include_role": {**role, "tasks_from": "preflight"}},
            {"name": "Run", "ansible.builtin.include_role": {**role, "tasks_from": "program"}},
        ],
    }
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    with harness.playing(tmp_path, tmp_path / "play.yml") as process:
        begun = time.monotonic()
        assert process.wait(300) == 2, why(tmp_path)
    said = " ".join(output(tmp_path).split())
    pids = [int((tmp_path / f"pid-{rank}").read_text()) for rank in range(3)]
    eventually(lambda: not any(alive(pid) for pid in pids), "the end of the ranks")
    assert time.monotonic() - begun < 300, "its own limit ended it, and not the silence"
    assert "localhost: rank 1 stood still: process " in said and words in said, why(tmp_path)
    assert "no new line of output for " in said
    assert "rank 1 on localhost: step 20, state " in said and "ranks 0, 2 on localhost: step 30, state S" in said
    assert "What to do: " in said and "not be ended" not in said
    assert (tmp_path / "logs" / "one" / "mine.log").read_text().count("images/sec") >= 8
