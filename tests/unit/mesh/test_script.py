"""The forced command: what Open MPI asks for arrives unchanged, and nothing else happens.

``fixtures/launch_lines.txt`` holds values of SSH_ORIGINAL_COMMAND as sshd 9.2 passed them on, one per line: Open MPI
4.1.4 (found on PATH, by absolute path, with a prefix, without tree spawn, from a worker) and 5.0.11.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh import render
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.state import Wanted

LAUNCH_LINES = (Path(__file__).parent / "fixtures/launch_lines.txt").read_text().splitlines()

# Stands for the engine: knows one container and runs the command on this machine instead of inside it.
DOCKER = r"""#!/bin/bash
printf '%s\n' "$*" >> "$STUB_LOG"
case "$1" in
  inspect)
    [ "$STUB_RUNNING" = missing ] && { echo "Error: No such container: ${!#}" >&2; exit 1; }
    echo "WARNING: engine noise" >&2
    echo "$STUB_RUNNING" ;;
  exec) shift; [ "$1" = "$STUB_CONTAINER" ] || exit 125; shift; exec "$@" ;;
  *) exit 125 ;;
esac
"""
# Stands for orted, prted and whatever else the line calls: prints its arguments one by one.
DAEMON = '#!/bin/bash\nprintf "[%s]\\n" "$@"\n'


class Script:
    def __init__(self, directory: Path, wanted: Wanted) -> None:
        self.path = directory / "mpicont.sh"
        self.path.write_text(render.script(wanted))
        self.bin = directory / "bin"
        self.bin.mkdir()
        self.log = directory / "docker.log"
        for name, text in (("docker", DOCKER), ("orted", DAEMON)):
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)
        self.container = wanted.container_name

    def run(self, command: str | None, running: str = "true", stdin: str = "") -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "STUB_LOG": str(self.log),
            "STUB_RUNNING": running,
            "STUB_CONTAINER": self.container,
        }
        if command is not None:
            environment["SSH_ORIGINAL_COMMAND"] = command
        return subprocess.run(
            ["/bin/bash", self.path], env=environment, input=stdin, capture_output=True, text=True, check=False
        )

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path, Wanted(state="present", name="gpu01", user="nvidia"))


@pytest.mark.parametrize("line", LAUNCH_LINES, ids=range(len(LAUNCH_LINES)))
def test_a_real_launch_line_is_evaluated_exactly_once(script: Script, line: str, tmp_path: Path) -> None:
    # The daemons of the absolute paths in the lines are replaced by the stub; everything else stays as recorded.
    for path in ("/usr/bin/orted", "/usr/local/mpi/bin/orted", "/opt/venv/bin/prted"):
        line = line.replace(path, str(script.bin / "orted"))
    direct = subprocess.run(
        ["/bin/bash", "-c", line],
        env={"PATH": f"{script.bin}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    through = script.run(line)
    assert through.returncode == 0, through.stderr
    assert through.stdout == direct.stdout
    # Quotes are gone, the characters that they protected are still there, in one argument.
    assert "[^s1,s2,cray,isolated]" in through.stdout or "tcp6://[fd00::2]:42117:64,24]" in through.stdout
    assert not [argument for argument in through.stdout.splitlines() if '"' in argument]


@pytest.mark.parametrize("status", [0, 1, 7, 213, 255])
def test_the_exit_status_is_the_commands_own(script: Script, status: int) -> None:
    assert script.run(f"exit {status}").returncode == status


@pytest.mark.parametrize("command", [None, "", "   ", "\t\n"])
def test_an_empty_command_opens_no_session(script: Script, command: str | None) -> None:
    done = script.run(command)
    assert done.returncode == render.NO_COMMAND
    assert "mpicont.sh on " in done.stderr and "mpicont" in done.stderr and "no command" in done.stderr
    assert script.calls == []


@pytest.mark.parametrize(
    ("running", "message"),
    [("false", "is not running. Start it: docker start mpicont"), ("missing", "No such container: mpicont")],
)
def test_a_container_that_does_not_run_is_named(script: Script, running: str, message: str) -> None:
    done = script.run("hostname", running)
    assert done.returncode == render.NO_CONTAINER and message in done.stderr
    assert not [call for call in script.calls if call.startswith("exec")]


def test_engine_warnings_are_no_failure(script: Script) -> None:
    assert script.run("echo fine").stdout == "fine\n"


def test_standard_input_is_not_offered_to_the_container(script: Script) -> None:
    script.run("true")
    (call,) = [call for call in script.calls if call.startswith("exec")]
    assert call == "exec mpicont /bin/bash -c true"


def test_the_container_is_the_one_that_was_named(tmp_path: Path) -> None:
    script = Script(tmp_path, Wanted(state="present", name="a", user="u", container_name="mpi-2.x"))
    assert script.run("echo 'a b'").stdout == "a b\n"
    assert script.calls[-1].startswith("exec mpi-2.x /bin/bash -c ")


def test_the_script_is_valid_for_bash(script: Script) -> None:
    assert subprocess.run(["/bin/bash", "-n", script.path], check=False).returncode == 0
    assert script.path.read_text().startswith("#!/bin/bash\n")
