from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab import config, processes


def test_program_is_found_by_pid_and_stopped(tmp_path: Path) -> None:
    processes.start(tmp_path, "sleeper", [sys.executable, "-c", "import signal; signal.pause()"], ready=lambda: True)
    pid = processes.pid_of(tmp_path, "sleeper")
    assert pid is not None
    assert processes.stop(tmp_path, "sleeper")
    assert processes.pid_of(tmp_path, "sleeper") is None
    assert not processes.stop(tmp_path, "sleeper")


def test_program_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    marker = tmp_path / "deaf"
    code = (
        "import signal, pathlib; signal.signal(15, signal.SIG_IGN);"
        f"pathlib.Path({str(marker)!r}).touch(); signal.pause()"
    )
    processes.start(tmp_path, "deaf", [sys.executable, "-c", code], ready=marker.exists)
    assert processes.stop(tmp_path, "deaf", timeout=0.3)
    assert processes.pid_of(tmp_path, "deaf") is None


def test_pid_that_now_belongs_to_another_program_is_never_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as other:
        (tmp_path / "switch.pid").write_text(f"{other.pid} 1\n")
        assert processes.pid_of(tmp_path, "switch") is None
        assert not processes.stop(tmp_path, "switch")
        assert other.poll() is None
        other.kill()


def test_program_that_dies_is_reported_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(config.LabError, match=r"status 7:(?s:.*)no such port"):
        processes.start(
            tmp_path,
            "broken",
            [sys.executable, "-c", "print('no such port'); raise SystemExit(7)"],
            ready=lambda: False,
        )


def test_program_that_never_gets_ready_is_stopped_again(tmp_path: Path) -> None:
    with pytest.raises(config.LabError, match="slow answers"):
        processes.start(
            tmp_path,
            "slow",
            [sys.executable, "-c", "import signal; signal.pause()"],
            ready=lambda: False,
            timeout=0.2,
        )
    assert processes.pid_of(tmp_path, "slow") is None


def test_garbage_in_a_pid_file_is_no_process(tmp_path: Path) -> None:
    (tmp_path / "x.pid").write_text("not a pid")
    assert processes.pid_of(tmp_path, "x") is None
    (tmp_path / "y.pid").write_text(f"{os.getpid()}\n")
    assert processes.pid_of(tmp_path, "y") is None
