# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The broker reads what Open MPI sends as a shell would, and starts nothing else."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
import pwd
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.mesh.broker import (
    ATTACKS,
    GOOD,
    GRAMMAR,
    LAUNCH_LINES,
    NAMED,
    NETWORKS,
    PREFIXES,
    RECORDED,
    SOURCE,
    load,
)

broker = load()
networks = [ipaddress.ip_network(each) for each in NETWORKS]


def read(line: str) -> object:
    return broker.read(line.strip(" "), PREFIXES, networks)


# Prints its paths and arguments one by one. Stands for orted and prted.
DAEMON = '#!/bin/sh\nprintf "%s\\n" "$PATH" "$LD_LIBRARY_PATH" "${PRTE_PREFIX:-}" "$@"\n'
# Stands for the engine: `exec` runs on this machine, with the variables that the real one would set.
DOCKER = r"""#!/bin/bash
if [ "$1" = inspect ]; then cat "$(dirname "$0")/running"; exit; fi
shift
while [ "$1" = --env ]; do export "$2"; shift 2; done
shift
exec "$@"
"""


@pytest.mark.parametrize("line", LAUNCH_LINES, ids=range(len(LAUNCH_LINES)))
def test_a_recorded_launch_starts_what_a_shell_would_have_started(line: str, tmp_path: Path) -> None:
    """Same PATH, LD_LIBRARY_PATH and arguments: the shell is the reference."""
    tree = tmp_path / "mpi"
    (tree / "bin").mkdir(parents=True)
    for name in ("orted", "prted"):
        (tree / "bin" / name).write_text(DAEMON)
        (tree / "bin" / name).chmod(0o755)
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)
    for prefix in ("/usr/local/mpi", "/opt/venv", "/usr"):
        line = re.sub(re.escape(prefix) + r"(?=[/;:])", str(tree), line)
    environment = {"PATH": f"{tree}/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": "/image/lib"}
    by_shell = subprocess.run(["/bin/bash", "-c", line], env=environment, capture_output=True, text=True, check=True)
    launch = broker.read(line.strip(" "), [str(tree)], networks)
    command = broker.inside(launch, [str(tmp_path / "docker")], "mpicont")
    through = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert through.stdout == by_shell.stdout
    assert "/image/lib" in through.stdout


@pytest.mark.parametrize("line", [line for line in RECORDED if "plm_rsh_agent" in line or "plm_ssh_agent" in line])
def test_another_remote_shell_is_refused_even_in_a_real_launch(line: str) -> None:
    with pytest.raises(broker.Refused, match="daemons start each other with ssh only"):
        read(line)


@pytest.mark.parametrize("attack", ATTACKS)
def test_refused(attack: str) -> None:
    with pytest.raises(broker.Refused):
        read(ATTACKS[attack])


def test_every_word_that_is_never_allowed_has_an_attack_of_its_own() -> None:
    """Which is refused also where the site names it: a site cannot open what its users could not close again."""
    assert set(NAMED) == set(broker.NEVER) and len(NAMED) == 17
    assert sum(len(names) for names in NAMED.values()) == 51
    for word, names in NAMED.items():
        for name in names:
            assert word in name


@pytest.mark.parametrize("word", NAMED)
def test_a_site_cannot_allow_what_is_never_allowed(word: str, tmp_path: Path) -> None:
    """Removing any one word from the list is noticed: its names hold no other."""
    alone = [name for name in NAMED[word] if [each for each in broker.NEVER if each in name] == [word]]
    assert alone, f"no attack stands for {word!r} alone"
    for name in alone:
        with pytest.raises(ValueError, match=f"{name}.*cannot be allowed"):
            broker.check_site_parameters([name])


def test_a_site_can_allow_a_name_and_still_no_file_and_no_program() -> None:
    allowed = ("pml_site_knob",)
    line = GOOD.replace(" -mca orte", " -mca pml_site_knob {} -mca orte")
    for value in ("7", "fast,safe"):
        assert "pml_site_knob" in broker.read(line.format(value), PREFIXES, networks, allowed).arguments
    for value in ("/tmp/x", "a/b", '"sh -c id"', "a=b"):
        with pytest.raises(broker.Refused):
            broker.read(line.format(value), PREFIXES, networks, allowed)
    with pytest.raises(broker.Refused, match="mesh_mpi_parameters"):
        broker.read(line.format("fast"), PREFIXES, networks)


def test_what_is_passed_on_is_built_anew_and_nothing_of_the_request_is_copied() -> None:
    """Every word that the engine gets is one that the grammar knows; the caller's quoting and spelling are gone."""
    line = GOOD.replace("-mca ess", '"--mca" es"s"').replace('"env"', 'e"n"v').replace("orted", '"ort"ed')
    assert read(line) == read(GOOD)


@pytest.mark.parametrize(
    "extra",
    [
        "--daemonize", "--debug-daemons --leave-session-attached", '-mca plm_rsh_agent "ssh : rsh"',
        '-mca plm_rsh_args "-p 2222 -o BatchMode=yes -o ConnectTimeout=10 -q"',
        '-mca btl_tcp_if_include "192.0.2.0/24"',
        '-mca orte_parent_uri "1.3;tcp://192.0.2.9:1"', '-mca hwloc_base_binding_policy "core:overload-allowed"',
        '-mca rmaps_base_mapping_policy "ppr:2:node:PE=4"', "-mca btl_tcp_links 4",
        "-mca coll_tuned_use_dynamic_rules true", '--mca pml "ob1"', '-mca btl "^openib,uct"',
        '-mca orte_report_bindings "1"', '-mca btl_openib_receive_queues "P,128:S,2048,1024"',
    ],
)  # fmt: skip
def test_what_mpirun_may_add_is_accepted(extra: str) -> None:
    read(GOOD + " " + extra)


def test_the_reason_names_the_place_and_the_option() -> None:
    with pytest.raises(broker.Refused, match=r"198\.51\.100\.7, outside of the mesh \(127.*oob_tcp_if_include"):
        read(ATTACKS["reports_to_a_stranger"])
    with pytest.raises(broker.Refused, match="mesh_mpi_prefixes"):
        read(ATTACKS["search_path_elsewhere"])


@settings(max_examples=300, deadline=None)
@given(st.text(min_size=0, max_size=60), st.integers(0, len(GOOD)))
def test_whatever_is_put_into_a_launch_becomes_no_other_program(junk: str, place: int) -> None:
    line = GOOD[:place] + junk + GOOD[place:]
    try:
        launch = read(line)
    except broker.Refused:
        return
    assert launch.program in ("orted", "prted", *(f"{p}/bin/{d}" for p in PREFIXES for d in ("orted", "prted")))
    command = broker.inside(launch, ["docker"], "mpicont")
    assert command[command.index("mpicont") + 1] in (launch.program, "/bin/sh")


# -------------------------------------------------------------------------------------------------- the program itself

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="the broker trusts files of root only")


class Installed:
    """The broker and its settings in a directory of root's, with a stand-in for the engine."""

    def __init__(self, directory: Path) -> None:
        directory.chmod(0o755)
        self.directory = directory
        self.program = directory / "mesh-broker"
        shutil.copy(SOURCE, self.program)
        shutil.copy(GRAMMAR, directory)
        self.docker = directory / "docker"
        self.docker.write_text(DOCKER)
        self.docker.chmod(0o755)
        (directory / "running").write_text("true\n")
        self.config = directory / "mesh-broker.json"
        self.log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.log.bind(str(directory / "log"))
        self.log.setblocking(False)
        self.write()

    def write(self, **changes: object) -> None:
        chosen = {
            "caller": pwd.getpwuid(os.getuid()).pw_name, "container": "mpicont", "docker": [str(self.docker)],
            "prefixes": [str(self.directory)],
            "networks": NETWORKS, "log": str(self.directory / "log"), **changes,
        }  # fmt: skip
        self.config.write_text(json.dumps(chosen))
        self.config.chmod(0o644)

    def ask(self, line: str | None, **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {"SSH_CONNECTION": "192.0.2.1 4 192.0.2.2 22", **environment}
        if line is not None:
            variables["SSH_ORIGINAL_COMMAND"] = line
        return subprocess.run(
            [sys.executable, "-I", self.program], env=variables, input="secret\n", capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    def logged(self) -> str:
        try:
            return self.log.recv(65536).decode()
        except BlockingIOError:
            return ""


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path)


@needs_root
def test_the_daemon_runs_and_the_request_is_logged(installed: Installed) -> None:
    (installed.directory / "bin").mkdir()
    (installed.directory / "bin/orted").write_text('#!/bin/sh\ncat; printf "[%s]\\n" "$@"\n')
    (installed.directory / "bin/orted").chmod(0o755)
    done = installed.ask(GOOD.replace("orted", f"{installed.directory}/bin/orted", 1))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:3] == ["[-mca]", "[ess]", "[env]"], "standard input must not be passed on"
    assert "accepted from 192.0.2.1; account " in installed.logged()


@needs_root
def test_the_probe_asks_the_container(installed: Installed) -> None:
    assert installed.ask("true").returncode == 0
    (installed.directory / "running").write_text("false\n")
    done = installed.ask("true")
    assert done.returncode == broker.NO_CONTAINER and "mpicont is not running. Start it" in done.stderr


@needs_root
@pytest.mark.parametrize("line", [None, "", "   "])
def test_no_command_opens_no_session(installed: Installed, line: str | None) -> None:
    done = installed.ask(line)
    assert done.returncode == broker.NO_COMMAND and "opens no session" in done.stderr
    assert "no command" in installed.logged()


@needs_root
def test_a_refusal_is_explained_and_logged_on_one_line(installed: Installed) -> None:
    done = installed.ask(GOOD + "\nmesh-broker: accepted \u043e from 192.0.2.1: forged")
    assert done.returncode == broker.REFUSED and "refused:" in done.stderr and "journalctl" in done.stderr
    logged = installed.logged()
    assert "refused from 192.0.2.1" in logged and "\n" not in logged and "\\n" in logged


@needs_root
def test_the_callers_environment_changes_nothing(installed: Installed) -> None:
    evil = installed.directory / "evil"
    evil.mkdir()
    (evil / "json.py").write_text("raise SystemExit('code of the caller ran')")
    done = installed.ask("true", PYTHONPATH=str(evil), PYTHONHOME=str(evil), DOCKER_HOST="tcp://198.51.100.7:1")
    assert done.returncode == 0, done.stderr


@needs_root
@pytest.mark.parametrize(
    "which", ["writable_by_others", "writable_by_group", "link", "other_owner", "directory_writable"]
)
def test_settings_that_others_could_have_written_start_nothing(installed: Installed, which: str) -> None:
    if which == "writable_by_others":
        installed.config.chmod(0o646)
    elif which == "writable_by_group":
        installed.config.chmod(0o664)
    elif which == "other_owner":
        os.chown(installed.config, 65534, 65534)
    elif which == "directory_writable":
        installed.directory.chmod(0o777)
    else:
        installed.config.rename(installed.directory / "elsewhere.json")
        installed.config.symlink_to("elsewhere.json")
    done = installed.ask("true")
    assert done.returncode == broker.MISCONFIGURED and "must belong to root" in done.stderr


@needs_root
@pytest.mark.parametrize("name", ["caller", "container", "docker", "prefixes", "networks", "log"])
def test_a_setting_that_is_missing_is_named(installed: Installed, name: str) -> None:
    installed.write(**{name: None})
    done = installed.ask("true")
    assert done.returncode == broker.MISCONFIGURED and f"{name} is missing" in done.stderr


def fill(log: Path) -> None:
    """Nobody reads the socket: its queue is full after a few messages, and a write would wait for ever."""
    filler = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    filler.setblocking(False)
    with pytest.raises(BlockingIOError):
        for _message in range(100_000):
            filler.sendto(b"x" * 4096, str(log))
    filler.close()


@needs_root
@pytest.mark.parametrize("how", ["down", "full"])
def test_nothing_is_started_without_a_record(installed: Installed, how: str) -> None:
    """Else whoever fills or ends the log first works unseen. The operator can decide otherwise."""
    if how == "full":
        fill(installed.directory / "log")
    else:
        installed.write(log=str(installed.directory / "nowhere"))
    done = installed.ask("true")
    assert done.returncode == broker.NO_RECORD and "mesh_broker_log_required" in done.stderr
    chosen = json.loads(installed.config.read_text())
    installed.write(log=chosen["log"], log_required=False)
    done = installed.ask("true")
    assert (done.returncode, done.stderr) == (0, "")


@needs_root
def test_the_record_of_a_long_request_is_bounded_and_hides_nothing(installed: Installed) -> None:
    """Two requests with the same ends and the same length differ in their digest."""
    padding = " ".join(["-mca btl_tcp_links 4"] * 2000)
    records = []
    for secret in ("id", "ls"):
        line = f"{GOOD} {padding} {secret} {padding}"
        assert installed.ask(line).returncode == broker.REFUSED
        records.append(installed.logged())
        assert f"{len(line)} bytes, sha256 {hashlib.sha256(line.encode()).hexdigest()}: orted -mca ess" in records[-1]
        assert records[-1].endswith(padding[-600:]) and " [...] " in records[-1] and len(records[-1]) < 2500
    assert records[0].partition("sha256 ")[2][:64] != records[1].partition("sha256 ")[2][:64]


@needs_root
def test_the_record_says_which_account_and_which_programs_asked(installed: Installed) -> None:
    assert installed.ask("id").returncode == broker.REFUSED
    name = pwd.getpwuid(os.getuid()).pw_name
    assert f"; account {name} (uid {os.getuid()}) below " in installed.logged()


@needs_root
def test_the_record_names_the_four_programs_above_and_no_more(installed: Installed) -> None:
    """Each shell has something left to do, so that none becomes the next."""
    command = f"{sys.executable} -I {installed.program}"
    for _shell in range(6):
        command = f"/bin/sh -c {shlex.quote(command + '; true')}"
    environment = {"SSH_CONNECTION": "192.0.2.1 4 192.0.2.2 22", "SSH_ORIGINAL_COMMAND": "id"}
    subprocess.run(shlex.split(command), env=environment, capture_output=True, check=True)
    (found,) = re.findall(r" below ([^;]*);", installed.logged())
    assert found.split(" < ") == [os.path.basename(os.path.realpath("/bin/sh"))] * 4


@needs_root
def test_an_engine_that_does_not_answer_is_told_with_its_words(installed: Installed) -> None:
    """A stopped container is started; an engine that is down is another fault."""
    installed.docker.write_text("#!/bin/sh\necho first >&2\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    done = installed.ask("true")
    assert done.returncode == broker.NO_CONTAINER
    assert "cannot ask the engine for container mpicont: Cannot connect to the Docker daemon" in done.stderr


@needs_root
@pytest.mark.parametrize("uid", ["65534", "4711"], ids=["an_account", "no_account"])
def test_the_record_is_all_that_a_caller_gets_who_is_not_sshds_account(installed: Installed, uid: str) -> None:
    """sudo says who called, and nobody can tell it otherwise."""
    done = installed.ask(GOOD, SUDO_UID=uid)
    assert done.returncode == broker.REFUSED and "only sshd starts this program" in done.stderr
    logged = installed.logged()
    assert "refused: not started by sshd" in logged and f"uid {uid}" in logged and "accepted" not in logged


@needs_root
@pytest.mark.parametrize("how", ["writable", "owner", "link"])
def test_a_grammar_that_others_could_have_written_is_not_read(installed: Installed, how: str) -> None:
    grammar = installed.directory / "mesh_grammar.py"
    grammar.write_text("raise SystemExit('code of somebody else ran')")
    if how == "writable":
        grammar.chmod(0o666)
    elif how == "owner":
        os.chown(grammar, 65534, 65534)
    else:
        grammar.rename(installed.directory / "elsewhere.py")
        grammar.symlink_to("elsewhere.py")
    done = installed.ask("true")
    assert done.returncode == broker.MISCONFIGURED and "must belong to root" in done.stderr


@needs_root
def test_nothing_is_written_beside_the_program(installed: Installed) -> None:
    before = {path.name for path in installed.directory.iterdir()}
    assert installed.ask("true").returncode == 0
    assert {path.name for path in installed.directory.iterdir()} == before
