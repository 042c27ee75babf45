"""mpi_job under a real ansible-playbook on this machine, with a stand-in for mpirun that prints slowly."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.integration.live import harness
from tests.integration.live.harness import eventually, output

# Two ranks, 40 steps in all, in mpirun's own manner: tagged, and now and then two ranks glued into one line. It goes
# on at a word of the test (a file), so that nothing here depends on how fast this machine is.
MPIRUN = """
import os, pathlib, signal, sys, time
here = pathlib.Path(sys.argv[1])
(here / "pid").write_text(str(os.getpid()))
def say(text):
    os.write(1, text.encode())
def until(name):
    while not (here / name).exists():
        time.sleep(0.02)
def stop(number, _frame):
    (here / "stopped").write_text(str(number))
    sys.exit(143)
signal.signal(signal.SIGTERM, stop)
say("[1,0]<stdout>:Num batches: 20\\n[1,0]<stdout>:Running warm up\\n")
say("[1,0]<stdout>:Done warm up\\n[1,1]<stdout>:Done warm up\\n")
for step in range(1, 11):
    line = "[1,{}]<stdout>:{}\\timages/sec: {} +/- 0.0 (jitter = 0.0)\\t7.0"
    say(line.format(0, step, 10.5) + line.format(1, step, 11.5) + "\\n[1,0]<stdout>:\\n")
until("go on")
say("[1,0]<stdout>:total images/sec: 22.00\\n[1,0]<stdout>:\\xe4\\u2028 done\\n")
os.write(2, b"one word to standard error\\n")
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture
def place(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    (tmp_path / "mpirun.py").write_text(MPIRUN)
    yield tmp_path
    with contextlib.suppress(OSError, ValueError):
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def write_playbook(place: pathlib.Path, code: int = 0, hosts: str = "localhost", **options: Any) -> pathlib.Path:
    argv = [sys.executable, str(place / "mpirun.py"), str(place), str(code)]
    job = {"name": "train", "argv": argv, "python": sys.executable, "directory": str(place), "interval": 1, **options}
    play = {
        "hosts": hosts,
        "connection": "local",
        "gather_facts": False,
        "tasks": [
            {"name": "Train", "rocemesh.multinode.mpi_job": job, "register": "train"},
            {"name": "Show", "ansible.builtin.debug": {"var": "train"}},
        ],
    }
    path = place / "play.yml"
    path.write_text(yaml.safe_dump([play]))
    return path


def playing(place: pathlib.Path, *arguments: str, callback: str = "ansible.builtin.default") -> Any:
    return harness.playing(place, place / "play.yml", *arguments, callback=callback)


def alive(pid: int) -> bool:
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_the_user_sees_step_time_and_speed_while_the_job_runs_and_gets_all_of_its_output(place: pathlib.Path) -> None:
    write_playbook(place)
    line = re.compile(
        r"^\[localhost\] train: training 10/20, \d+:\d\d of about \d+:\d\d, 22\.0 images/s \(2 ranks\)$", re.M
    )
    with playing(place) as process:
        eventually(lambda: bool(line.search(output(place))) or process.poll() is not None, "a line of progress")
        assert line.search(output(place)), output(place)
        assert process.poll() is None, "the progress came after the end"
        (place / "go on").touch()
        assert process.wait(180) == 0, output(place)
    text = output(place)
    assert "total images/sec: 22.00" in text.partition("TASK [Show]")[2]
    assert "one word to standard error" in text.partition("TASK [Show]")[2]
    assert "changed=0" in text


@pytest.mark.parametrize("callback", ["ansible.posix.json", "ansible.posix.jsonl"])
def test_a_callback_for_programs_gets_pure_json_with_the_whole_output(place: pathlib.Path, callback: str) -> None:
    write_playbook(place)
    (place / "go on").touch()
    with playing(place, callback=callback) as process:
        _none, errors = process.communicate(timeout=180)
        assert process.returncode == 0, output(place) + errors
    assert "train: " not in errors
    records = [json.loads(output(place))] if callback.endswith("json") else []
    records = records or [json.loads(line) for line in output(place).splitlines()]
    text = json.dumps(records)
    assert text.count("total images/sec: 22.00") >= 1
    assert "\\u00e4\\u2028 done" in text
    assert "of about" not in text


def test_check_mode_starts_nothing(place: pathlib.Path) -> None:
    write_playbook(place)
    with playing(place, "--check") as process:
        assert process.wait(180) == 0, output(place)
    assert not (place / "pid").exists()
    assert "skipped=1" in output(place)


def test_a_failed_job_is_a_failed_task_with_its_code_and_output(place: pathlib.Path) -> None:
    write_playbook(place, code=7)
    (place / "go on").touch()
    with playing(place) as process:
        assert process.wait(180) == 2, output(place)
    assert re.search(r"rc: 7$", output(place), re.M)
    assert "train: non-zero return code 7 on localhost" in output(place)
    assert "total images/sec: 22.00" in output(place)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_who_interrupts_the_run_ends_the_job(place: pathlib.Path, number: signal.Signals) -> None:
    write_playbook(place, orphan_after=10)
    with playing(place) as process:
        eventually(lambda: "training 10/20" in output(place), "a line of progress")
        pid = int((place / "pid").read_text())
        process.send_signal(number)
        process.wait(180)
    eventually(lambda: not alive(pid), "the end of the job")
    assert (place / "stopped").read_text() == str(int(signal.SIGTERM)), "it had no chance to clean up"


def test_task_timeout_ends_the_job_at_once(place: pathlib.Path) -> None:
    path = write_playbook(place, orphan_after=600)
    play = yaml.safe_load(path.read_text())
    play[0]["tasks"][0]["timeout"] = 4
    path.write_text(yaml.safe_dump(play))
    with playing(place) as process:
        assert process.wait(180) == 2, output(place)
    eventually((place / "stopped").exists, "the end of the job", 60)


def test_two_hosts_at_once_do_not_mix_their_output(place: pathlib.Path) -> None:
    (place / "slow.py").write_text(
        "import os, sys, time\nfor step in range(1, 6):\n"
        "    os.write(1, f'{sys.argv[1]} {step}\\n'.encode())\n    time.sleep(0.1)\n"
    )
    write_playbook(place, hosts="all")
    play = yaml.safe_load((place / "play.yml").read_text())
    play[0]["tasks"][0]["rocemesh.multinode.mpi_job"]["argv"] = [
        sys.executable,
        str(place / "slow.py"),
        "{{ inventory_hostname }}",
    ]
    play[0]["tasks"][1] = {
        "name": "Judge",
        "ansible.builtin.assert": {
            "that": ["train.stdout_lines | map('split') | map('first') | unique == [inventory_hostname]"]
        },
    }
    (place / "play.yml").write_text(yaml.safe_dump(play))
    with playing(place, "-i", "a,b,c,", "-f", "3") as process:
        assert process.wait(300) == 0, output(place)
    assert output(place).count("ok=2") == 4


def test_a_host_without_python_is_told_and_its_code_is_not_taken_for_that_of_the_job(place: pathlib.Path) -> None:
    write_playbook(place, python=str(place / "no-python-here"))
    with playing(place) as process:
        assert process.wait(180) == 2, output(place)
    assert "supervisor on localhost" in output(place)
    assert not re.search(r"^\s+rc:", output(place), re.M)


@pytest.fixture
def docker(place: pathlib.Path) -> None:
    harness.make_docker(place)


@pytest.mark.usefixtures("docker")
def test_in_a_container_every_question_goes_through_docker(place: pathlib.Path) -> None:
    write_playbook(place, container="mpicont")
    with playing(place) as process:
        eventually(lambda: "training 10/20" in output(place) or process.poll() is not None, "a line of progress")
        (place / "go on").touch()
        assert process.wait(180) == 0, output(place)
    assert "total images/sec: 22.00" in output(place).partition("TASK [Show]")[2]
    assert "changed=0" in output(place), "watching a job is no change"


@pytest.mark.usefixtures("docker")
def test_a_container_that_is_not_there_is_told(place: pathlib.Path) -> None:
    write_playbook(place, container="gone")
    with playing(place) as process:
        assert process.wait(180) == 2, output(place)
    assert 'Could not find container "gone"' in output(place)
    assert "localhost, container gone" in output(place)
