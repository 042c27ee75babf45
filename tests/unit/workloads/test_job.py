"""The supervisor on the node: all output arrives, once and in order; the end is known; nothing outlives its owner."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from types import ModuleType
from typing import Any, Callable, Iterator

import pytest

SCRIPT = pathlib.Path(__file__).parents[3] / "workloads" / "checks" / "job.py"
SHELL = ("sh", "-c")


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    path = tmp_path / "rocemesh-job-1"
    yield path
    if path.is_dir():
        call("end", str(path))


def call(*words: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=True, timeout=120)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def text(answer: dict[str, Any], stream: str = "out") -> str:
    return base64.b64decode(answer[stream]).decode()


def test_a_short_program_is_over_in_one_call(folder: pathlib.Path) -> None:
    answer = call("start", str(folder), "60", "60", *SHELL, "echo said; echo wrong >&2; exit 7")
    assert (answer["state"], answer["rc"], answer["more"]) == ("ended", 7, False)
    assert (text(answer), text(answer, "err")) == ("said\n", "wrong\n")
    assert 0 < answer["seconds"] < 60, "it waited although the program had ended"


def test_each_call_brings_what_is_new_and_the_last_one_brings_the_rest(
    folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    program = f"echo one; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo two"
    first = call("start", str(folder), "60", "1", *SHELL, program)
    assert (first["state"], first["rc"], text(first)) == ("running", None, "one\n")
    (tmp_path / "go").touch()
    second = call("wait", str(folder), "60", "60", str(first["out_at"]), str(first["err_at"]))
    assert (second["state"], second["rc"], text(second)) == ("ended", 0, "two\n")


def test_more_than_one_answer_holds_comes_in_order_and_without_waiting(folder: pathlib.Path) -> None:
    answer = call("start", str(folder), "60", "60", *SHELL, "seq 1 150000")
    whole = text(answer)
    while answer["more"]:
        answer = call("wait", str(folder), "60", "60", str(answer["out_at"]), str(answer["err_at"]))
        whole += text(answer)
    assert whole.split() == [str(number) for number in range(1, 150001)]
    assert answer["state"] == "ended"


def test_death_by_a_signal_is_told_as_a_shell_tells_it(folder: pathlib.Path) -> None:
    assert call("start", str(folder), "60", "60", *SHELL, "kill -9 $$")["rc"] == 137


def test_a_program_that_is_not_there_is_told_with_status_127(folder: pathlib.Path) -> None:
    answer = call("start", str(folder), "60", "60", "/no/such/program")
    assert (answer["state"], answer["rc"]) == ("ended", 127)
    assert "/no/such/program: No such file" in text(answer, "err")


def test_a_dead_supervisor_is_told_and_not_waited_for(folder: pathlib.Path) -> None:
    first = call("start", str(folder), "60", "1", *SHELL, f"echo $$ > {folder}/child; exec sleep 600")
    os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
    try:
        answer = call("wait", str(folder), "60", "60", str(first["out_at"]), "0")
        assert (answer["state"], answer["rc"]) == ("lost", None)
    finally:
        os.kill(int((folder / "child").read_text()), signal.SIGKILL)


def test_an_alarm_that_rings_before_the_wait_begins_does_not_make_it_endless(
    load: Callable[[str, str], ModuleType], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine the waiting time can be over before the wait has begun; that ring ends nothing."""
    job = load("checks", "job")
    rings: list[int] = []
    real = signal.signal

    def install(number: int, handler: Any) -> Any:
        def first_one_is_lost(*words: Any) -> None:
            rings.append(number)
            if len(rings) > 1:
                handler(*words)

        return real(number, first_one_is_lost if callable(handler) else handler)

    monkeypatch.setattr(job.signal, "signal", install)
    with open(tmp_path / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        letting_go = threading.Timer(20, fcntl.flock, (lock, fcntl.LOCK_UN))  # what else would end the wait
        letting_go.start()
        try:
            assert job._ended(str(tmp_path), 0.01) is False
            assert job._ended(str(tmp_path), 0) is False
        finally:
            letting_go.cancel()
    assert len(rings) > 1


def test_ending_asks_the_program_first(folder: pathlib.Path) -> None:
    program = "trap 'echo cleaned; exit 5' TERM; echo up; while :; do sleep 0.1; done"
    call("start", str(folder), "60", "1", *SHELL, program)
    assert call("end", str(folder)) == {"state": "ended", "rc": 5}
    assert (folder / "out").read_text() == "up\ncleaned\n"


def test_who_does_not_listen_is_killed_with_its_group(
    load: Callable[[str, str], ModuleType], tmp_path: pathlib.Path
) -> None:
    job = load("checks", "job")
    program = subprocess.Popen(
        [*SHELL, "trap '' TERM; sleep 600 & echo $!; while :; do sleep 1; done"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    child = int(program.stdout.readline())
    job._end_program(program, 0.3)
    program.stdout.close()
    assert program.returncode == -signal.SIGKILL
    until = time.monotonic() + 20
    while pathlib.Path(f"/proc/{child}/stat").exists() and "Z" not in pathlib.Path(f"/proc/{child}/stat").read_text():
        assert time.monotonic() < until, "a process of its group is left"
        time.sleep(0.05)


def test_a_job_that_nobody_asks_for_is_ended_and_says_so(folder: pathlib.Path) -> None:
    call("start", str(folder), "1", "0", *SHELL, "exec sleep 600")
    until = time.monotonic() + 30
    while not (folder / "rc").exists():
        assert time.monotonic() < until, "the job goes on without an owner"
        time.sleep(0.1)
    answer = call("wait", str(folder), "60", "60", "0", "0")
    assert (answer["state"], answer["rc"], answer["orphaned"]) == ("ended", 143, True)


def test_a_new_job_removes_what_old_ones_left_but_no_live_one_and_nothing_else(tmp_path: pathlib.Path) -> None:
    old, live, new = (tmp_path / f"rocemesh-job-{name}" for name in ("old", "live", "new"))
    other = tmp_path / "rocemesh-other"
    other.mkdir()
    call("start", str(old), "0", "60", "true")
    call("start", str(live), "60", "0", "sleep", "600")
    try:
        call("start", str(new), "60", "60", "true")
        assert [path.exists() for path in (old, live, new, other)] == [False, True, True, True]
    finally:
        call("end", str(live))


def test_a_job_that_has_just_ended_keeps_its_output_until_its_owner_has_read_it(tmp_path: pathlib.Path) -> None:
    ended, new = (tmp_path / f"rocemesh-job-{name}" for name in ("ended", "new"))
    answer = call("start", str(ended), "60", "60", *SHELL, "seq 1 150000")
    while answer["state"] != "ended":
        answer = call("wait", str(ended), "60", "60", "0", "0")
    assert (answer["state"], answer["more"]) == ("ended", True)
    call("start", str(new), "60", "60", "true")
    whole = text(answer)
    while answer["more"]:
        answer = call("wait", str(ended), "60", "60", str(answer["out_at"]), str(answer["err_at"]))
        whole += text(answer)
    assert whole.split()[-1] == "150000"


def test_the_program_and_its_children_carry_the_mark_of_the_job(folder: pathlib.Path) -> None:
    answer = call("start", str(folder), "60", "60", *SHELL, "sh -c 'echo $ROCEMESH_JOB'")
    assert text(answer).strip() == str(folder)


def test_a_folder_that_exists_is_refused(folder: pathlib.Path) -> None:
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, SCRIPT, "start", str(folder), "60", "1", "true"], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "FileExistsError" in done.stderr


@pytest.mark.parametrize("words", [(), ("start", "x"), ("wait", "x", "1"), ("stop", "x")])
def test_wrong_usage_is_refused(words: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage" in done.stderr
