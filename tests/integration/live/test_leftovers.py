"""The role's search for other jobs, by a real ansible-playbook and real Open MPI, in a PID namespace of its own.

There the "container" has nothing but what the test starts: a colleague's mpirun, and what a killed run of ours left.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.integration.live import harness

pytestmark = pytest.mark.skipif(
    shutil.which("mpirun") is None or os.geteuid() != 0, reason="needs Open MPI and root (make dev brings it)"
)

# Started in the namespace: our job (its supervisor is killed, as with the machine's memory running out) and, if wanted,
# somebody's three-day job. Then the role, and what still lives.
DRIVER = """
import json, os, pathlib, signal, subprocess, sys, time
place, kind, job, playbook = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
def eventually(condition):
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "it does not start"
        time.sleep(0.02)
def lives(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
rank = "import os, pathlib, time; n = os.environ['OMPI_COMM_WORLD_RANK']; " \\
       f"pathlib.Path('{place}/rank' + n).write_text(str(os.getpid())); time.sleep(600)"
mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", sys.executable, "-c", rank]
folder = f"{place}/rocemesh-job-siteone-00aa"
argv = [sys.executable, job, "start", folder, "600", "0", *mpirun]
subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
eventually(lambda: all((place / f"rank{n}").exists() and (place / f"rank{n}").read_text() for n in (0, 1)))
ours = [int((place / f"rank{n}").read_text()) for n in (0, 1)]
supervisor = int(pathlib.Path(folder, "pid").read_text())
asking = None
if kind == "asked":
    loop = f"while :; do '{sys.executable}' '{job}' wait '{folder}' 600 0.2 0 0 >/dev/null; done"
    asking = subprocess.Popen(["sh", "-c", loop])
else:
    os.kill(supervisor, signal.SIGKILL)
other = None
if kind == "colleague":
    (place / "alice").mkdir()
    (place / "alice" / "training.py").write_text("import time; time.sleep(259200)")
    other = subprocess.Popen([sys.executable, str(place / "alice" / "training.py")])
done = subprocess.run(playbook, capture_output=True, text=True, stdin=subprocess.DEVNULL)
print(json.dumps({"rc": done.returncode, "out": done.stdout + done.stderr, "ours": [lives(pid) for pid in ours],
                  "other": other and other.poll() is None, "pid": other and other.pid}))
"""


def play(place: pathlib.Path, kind: str) -> dict[str, Any]:
    harness.make_docker(place)
    stand_in = next(place.rglob("docker_container_exec.py"))
    stand_in.write_text(stand_in.read_text().replace('if argv[3:4] == ["list"] and', "if False and"))
    hosts = [{"name": "localhost", "address": "127.0.0.1"}]
    book = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "tasks": [
            {"name": "Role",
             "ansible.builtin.include_role": {"name": "rocemesh.multinode.run", "tasks_from": "leftovers"},
             "vars": {"run_hosts": hosts, "run_site": "siteone", "run_python": sys.executable, "ansible_become": False}}
        ],
    }  # fmt: skip
    (place / "play.yml").write_text(yaml.safe_dump([book]))
    (place / "driver.py").write_text(DRIVER)
    words = [
        str(harness.PLAYBOOK),
        "-i",
        "localhost,",
        "-e",
        f"ansible_python_interpreter={sys.executable}",
        str(place / "play.yml"),
    ]
    job = str(harness.ROOT / "workloads" / "checks" / "job.py")
    done = subprocess.run(
        [
            "unshare",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            sys.executable,
            place / "driver.py",
            place,
            kind,
            job,
            *words,
        ],
        env=harness.environment(place),
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_what_our_killed_run_left_is_ended(tmp_path: pathlib.Path) -> None:
    answer = play(tmp_path, "alone")
    assert answer["rc"] == 0, answer["out"]
    assert answer["ours"] == [False, False]


def test_beside_a_colleagues_job_nothing_is_ended_and_the_run_is_refused(tmp_path: pathlib.Path) -> None:
    answer = play(tmp_path, "colleague")
    said = " ".join(answer["out"].split())
    assert answer["rc"] != 0
    assert answer["other"] is True
    assert answer["ours"] == [True, True], "a run that is refused changes nothing"
    assert f"process {answer['pid']} of root since 20" in said
    assert "no mark, so another user's" in said and "training.py" in said and "What to do: wait for them" in said


def test_a_second_run_of_the_same_playbook_is_refused_with_words(tmp_path: pathlib.Path) -> None:
    answer = play(tmp_path, "asked")
    assert answer["rc"] != 0
    assert answer["ours"] == [True, True]
    assert "is running: another run" in " ".join(answer["out"].split())
