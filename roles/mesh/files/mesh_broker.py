#!/usr/bin/python3 -I
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forced command of the container keys: starts Open MPI's daemon inside one container, and nothing else.

sshd runs it (through one sudoers rule without arguments) with the request in SSH_ORIGINAL_COMMAND. The request is read,
never evaluated: no shell sees it. What Open MPI 4.1 and 5.0 send is known (assignments of library paths, `export`, one
daemon, its parameters); anything else is refused with the reason, on standard error and in the system log.

Needs root (it talks to the container engine) and trusts two things only: its own file and `mesh-broker.json` beside it,
both of which must belong to root and be writable by nobody else. Runs on Python 3.8, standard library only.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
import socket
import stat
import subprocess
import sys
from typing import Any, Mapping, NamedTuple, NoReturn

# sysexits.h, as the script that this broker replaces. 255 is ssh's own; 125 to 127 are docker's.
NO_COMMAND = 64
REFUSED = 65
NO_CONTAINER = 69
MISCONFIGURED = 78

LONGEST = 131072  # bytes of one argument that Linux passes on; a launch line of 256 nodes has about 8 000
DAEMONS = ("orted", "prted")
PROBE = "true"  # what the role's `verify` asks for: proves the login and the container, changes nothing

_PREFIX_VARIABLES = ("PRTE_PREFIX", "PMIX_PREFIX", "OPAL_PREFIX")
_ASSIGNED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", *_PREFIX_VARIABLES)
_FLAGS = (
    "--daemonize", "--tree-spawn", "--allow-run-as-root", "--debug", "--debug-daemons", "--debug-daemons-file",
    "--leave-session-attached",
)  # fmt: skip
_PARAMETER = ("-mca", "--mca", "-gmca", "--gmca", "--prtemca", "--pmixmca")
# Parameters by which a daemon loads other code, reads other files or starts another program than its ranks.
_FORBIDDEN = re.compile(
    r"component_path|param_files|env_list|launch_agent|preload|debugger|fork_agent|exec_agent|pass_"
)
_AGENT = re.compile(r"plm_(rsh|ssh)_agent\Z")
_AGENTS = re.compile(r"(/usr/bin/)?ssh( : rsh)?\Z")
_AGENT_ARGUMENTS = re.compile(r"plm_(rsh|ssh)_args\Z")
# What mpirun's user may tell ssh; host key checking stays on and no proxy command runs.
_SSH_ARGUMENTS = re.compile(
    r"(?: *(?:-[Tqx4]|-p ?\d{1,5}|-o ?(?:BatchMode=yes|Port=\d{1,5}|ConnectTimeout=\d{1,5}|ConnectionAttempts=\d{1,3}"
    r"|LogLevel=[A-Z0-9]{4,8}|ServerAlive(?:Interval|CountMax)=\d{1,5})))* *\Z"
)
_URI = re.compile(r"_uri\Z")
_CONTACT = re.compile(r"tcp[46]?://(?P<hosts>[^;]+)\Z")
_DIRECTORY = re.compile(r"/[A-Za-z0-9_./+-]*\Z")
_QUOTED = re.compile(r"[ !#%-\[\]^_a-z{|}~]*\Z")  # printable ASCII but for " $ \ and the backquote


class Refused(Exception):
    """The request is not one that Open MPI sends; the text says where it differs."""


class Launch(NamedTuple):
    """One request, read. ``program``: orted or prted, bare or absolute; ``paths``: directories that come first in PATH
    and LD_LIBRARY_PATH; ``variables``: where Open MPI 5 says that it lies."""

    program: str
    arguments: list[str]
    paths: dict[str, str]
    variables: dict[str, str]


# ---------------------------------------------------------------------------------------------------------- reading it


def split(line: str) -> list[list[str]]:
    """Statements of words. Double quotes hold a word together; no other character of the shell has a meaning here."""
    statements: list[list[str]] = [[]]
    word: str | None = None
    position = 0
    while position < len(line):
        character = line[position]
        if character == '"':
            end = line.find('"', position + 1)
            if end < 0:
                raise Refused("a double quote is not closed")
            inside = line[position + 1 : end]
            if not _QUOTED.match(inside):
                raise Refused(f"{inside[:80]!r} holds a character that Open MPI never sends between quotes")
            word = (word or "") + inside
            position = end + 1
            continue
        if character in " ;":
            if word is not None:
                statements[-1].append(word)
                word = None
            if character == ";":
                statements.append([])
        elif re.match(r"[A-Za-z0-9_=.,:@/+^${}-]", character):
            word = (word or "") + character
        else:
            raise Refused(f"the character {character!r} at place {position + 1}")
        position += 1
    if word is not None:
        statements[-1].append(word)
    return statements


def _search_path(name: str, value: str) -> list[str]:
    """Directories of one assignment; a trailing reference to the variable's own old value is allowed and dropped."""
    parts = value.split(":")
    own = (f"${name}", "${" + name)  # ${NAME:-} was cut at its colon
    if len(parts) > 1 and parts[-1] == own[0]:
        parts = parts[:-1]
    elif len(parts) > 2 and parts[-2] == own[1] and parts[-1] == "-}":
        parts = parts[:-2]
    for part in parts:
        if not _DIRECTORY.match(part) or ".." in part.split("/"):
            raise Refused(f"{name} holds {part[:80]!r}, which is no absolute path")
    return parts


def read(line: str, prefixes: list[str], networks: list[Any]) -> Launch:
    """The request as data. Raises `Refused`.

    ``prefixes``: directories in which Open MPI may lie; ``networks``: where the daemon may report to.
    """
    if len(line) > LONGEST:
        raise Refused(f"{len(line)} characters")
    statements = split(line)
    if not statements[-1]:
        raise Refused("no daemon is started at its end")
    assigned: dict[str, list[str]] = {}
    for statement in statements[:-1]:
        _assignment(statement, assigned)
    for directories in assigned.values():
        for directory in directories:
            if re.sub(r"/(bin|lib|lib64)\Z", "", directory.rstrip("/")) not in prefixes:
                raise Refused(f"Open MPI in {directory}; here it may lie in {', '.join(prefixes)} (mesh_mpi_prefixes)")
    program, *arguments = statements[-1]
    if program not in [base + name for base in ("", *(f"{each}/bin/" for each in prefixes)) for name in DAEMONS]:
        raise Refused(f"{program[:80]!r} is no daemon of Open MPI ({', '.join(DAEMONS)} in {', '.join(prefixes)})")
    _check_arguments(arguments, networks)
    joined = {name: ":".join(directories) for name, directories in assigned.items()}
    return Launch(
        program,
        arguments,
        {name: joined.get(name, "") for name in ("PATH", "LD_LIBRARY_PATH")},
        {name: joined[name] for name in _PREFIX_VARIABLES if name in joined},
    )


def _assignment(statement: list[str], assigned: dict[str, list[str]]) -> None:
    if len(statement) == 2 and statement[0] == "export" and statement[1] in assigned:
        return
    name, equals, value = statement[0].partition("=") if len(statement) == 1 else ("", "", "")
    if not equals or name not in _ASSIGNED:
        raise Refused(f"{' '.join(statement)[:80]!r} before the daemon")
    assigned[name] = _search_path(name, value)


def _check_arguments(arguments: list[str], networks: list[Any]) -> None:
    rest = list(arguments)
    reports = 0
    while rest:
        word = rest.pop(0)
        if word in _PARAMETER:
            if len(rest) < 2:
                raise Refused(f"{word} without name and value")
            name, value = rest.pop(0), rest.pop(0)
            _check_parameter(name, value)
            if _URI.search(name):
                _check_contact(name, value, networks)
                reports += 1
        elif word not in _FLAGS:
            raise Refused(f"the argument {word[:80]!r}")
    if not reports:
        raise Refused("a daemon that is told nobody to report to (no parameter ..._uri)")


def _check_parameter(name: str, value: str) -> None:
    if not re.match(r"[A-Za-z][A-Za-z0-9_]*\Z", name):
        raise Refused(f"{name[:80]!r} is no name of a parameter")
    if _FORBIDDEN.search(name):
        raise Refused(f"the parameter {name}, by which a daemon runs other code")
    if _AGENT.search(name) and not _AGENTS.match(value):
        raise Refused(f"{name} {value[:80]!r}; daemons start each other with ssh only")
    if _AGENT_ARGUMENTS.search(name) and not _SSH_ARGUMENTS.match(value):
        raise Refused(f"{name} {value[:80]!r}; of ssh's options only port, time limits and log level are free")


def _check_contact(name: str, value: str, networks: list[Any]) -> None:
    """A daemon that obeys a stranger is a stranger's shell: every address it may report to lies in the mesh."""
    process, *contacts = value.split(";")
    if not re.match(r"[A-Za-z0-9_.@-]+\Z", process) or not contacts:
        raise Refused(f"{name} {value[:80]!r} is no contact of a daemon")
    for contact in contacts:
        match = _CONTACT.match(contact)
        if not match:
            raise Refused(f"{name} leads to {contact[:80]!r}")
        for address in _addresses(match.group("hosts")):
            if not any(address.version == network.version and address in network for network in networks):
                raise Refused(
                    f"{name} leads to {address}, outside of the mesh ({', '.join(map(str, networks))}): give mpirun "
                    "oob_tcp_if_include (4.1) or prte_if_include (5.0) with the network of the mesh"
                )


def _addresses(hosts: str) -> list[Any]:
    """`10.0.0.1,10.0.0.2:4711`, `[fd00::2]:4711:64` -> addresses. Ports and prefix lengths are not looked at."""
    found = []
    names = re.findall(r"\[([^\]]*)\]", hosts) if "[" in hosts else hosts.partition(":")[0].split(",")
    for name in names:
        try:
            found.append(ipaddress.ip_address(name))
        except ValueError:
            raise Refused(f"{name[:80]!r} is no IP address to report to") from None
    return found


# ---------------------------------------------------------------------------------------------------------- running it

# The only shell text, and constant: what the container's own PATH and LD_LIBRARY_PATH are is known inside alone.
_WITH_PATHS = (
    'PATH="${1:+$1:}$PATH"; LD_LIBRARY_PATH="${2:+$2:}${LD_LIBRARY_PATH:-}"; LD_LIBRARY_PATH="${LD_LIBRARY_PATH%:}"; '
    'export PATH LD_LIBRARY_PATH; shift 2; exec "$@"'
)


def inside(launch: Launch, docker: list[str], container: str) -> list[str]:
    """The argument vector that the engine gets. There is no -i: standard input is not passed on."""
    command = [*docker, "exec"]
    for name, value in sorted(launch.variables.items()):
        command += ["--env", f"{name}={value}"]
    command.append(container)
    if any(launch.paths.values()):
        paths = [launch.paths["PATH"], launch.paths["LD_LIBRARY_PATH"]]
        command += ["/bin/sh", "-c", _WITH_PATHS, "mesh-broker", *paths]
    return [*command, launch.program, *launch.arguments]


def settings(path: str) -> Mapping[str, Any]:
    """mesh-broker.json: container, docker, prefixes, networks, log. Raises ValueError with the reason."""
    for each in (path, os.path.dirname(path)):
        found = os.lstat(each)
        if stat.S_ISLNK(found.st_mode) or found.st_uid != 0 or found.st_mode & 0o022:
            raise ValueError(
                f"{each} must belong to root and be writable by nobody else; nothing is started until it is"
            )
    with open(path, encoding="utf-8") as stream:
        read_settings = json.load(stream)
    wanted = {"container": str, "docker": list, "prefixes": list, "networks": list, "log": str}
    for name, kind in wanted.items():
        if not isinstance(read_settings.get(name), kind) or not read_settings[name]:
            raise ValueError(f"{path}: {name} is missing or no {kind.__name__}; run the role mesh again")
    return dict(read_settings)


class Journal:
    """The system log, where sshd writes too. A log that is down or does not answer holds up nobody's training."""

    PRIORITY = 10 * 8 + 5  # authpriv.notice, RFC 3164

    def __init__(self, address: str) -> None:
        self._address = address

    def say(self, text: str) -> None:
        # One line: what came over the network must not forge a second one.
        printable = "".join(c if " " <= c <= "~" else ascii(c)[1:-1] for c in text)
        message = f"<{self.PRIORITY}>rocemesh-mesh[{os.getpid()}]: {printable[:2000]}"
        # Not logging.handlers.SysLogHandler: it waits without limit for a log whose queue is full.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            log.settimeout(1.0)
            log.sendto(message.encode("ascii"), self._address)


def _end(status: int, text: str) -> NoReturn:
    print(f"mesh-broker on {os.uname().nodename}: {text}", file=sys.stderr, flush=True)
    raise SystemExit(status)


def main() -> None:
    line = os.environ.get("SSH_ORIGINAL_COMMAND", "").strip(" ")
    client = os.environ.get("SSH_CONNECTION", "nobody").split(" ")[0]
    try:
        chosen = settings(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mesh-broker.json"))
        networks = [ipaddress.ip_network(each) for each in chosen["networks"]]
    except (OSError, ValueError) as error:
        _end(MISCONFIGURED, f"{error}")
    journal = Journal(chosen["log"])
    docker, container = list(chosen["docker"]), str(chosen["container"])
    if not line.strip():
        journal.say(f"refused from {client}: no command")
        _end(
            NO_COMMAND, f"no command was given. This key starts Open MPI in container {container}; it opens no session."
        )
    if line == PROBE:
        command = [*docker, "exec", container, "true"]
    else:
        try:
            launch = read(line, list(chosen["prefixes"]), networks)
        except Refused as error:
            journal.say(f"refused from {client}: {error}: {line}")
            _end(
                REFUSED,
                f"refused: {error}. This key starts Open MPI's daemon in container {container} and nothing else; "
                "the request stands in this node's system log (journalctl -t rocemesh-mesh).",
            )
        command = inside(launch, docker, container)
    _check_container(docker, container)
    journal.say(f"accepted from {client}: {line}")
    # Nothing can be sent in, and nothing of ours goes on into the engine's client.
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
    os.execvpe(command[0], command, environment)


def _check_container(docker: list[str], container: str) -> None:
    question = [*docker, "inspect", "--type", "container", "--format", "{{.State.Running}}", container]
    # Standard error stays apart from the answer: the engine prints warnings there that are no failure.
    answer = subprocess.run(question, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if answer.returncode != 0:
        said = answer.stderr.decode("utf-8", "replace").strip().splitlines()
        _end(NO_CONTAINER, f"cannot ask the engine for container {container}: {said[-1] if said else 'no message'}")
    if answer.stdout.strip() != b"true":
        _end(NO_CONTAINER, f"container {container} is not running. Start it: {' '.join(docker)} start {container}")


if __name__ == "__main__":
    main()
