#!/usr/bin/python3 -I
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forced command of the container keys: starts Open MPI's daemon inside one container, and nothing else.

sshd runs it (as an account of its own, through one sudoers rule without arguments) with the request in
SSH_ORIGINAL_COMMAND. The request is read, never evaluated: no shell sees it. What Open MPI 4.1 and 5.0 send is known
token by token, and what the engine gets is built anew from what was understood, never copied from the request.
Anything else is refused with the reason, on standard error and in the system log. docs/security.md says why.

Needs root (it talks to the container engine) and trusts three files only: its own, and `mesh_grammar.py` and
`mesh-broker.json` beside it, which must belong to root and be writable by nobody else. Runs on Python 3.8, standard
library only.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
import pwd
import socket
import stat
import subprocess
import sys
from typing import Any, Mapping, NoReturn

HERE = os.path.dirname(os.path.abspath(__file__))


def check_root_alone(*paths: str) -> None:
    """Raises ValueError unless every path belongs to root and nobody else can write it."""
    for each in paths:
        found = os.lstat(each)
        if stat.S_ISLNK(found.st_mode) or found.st_uid != 0 or found.st_mode & 0o022:
            raise ValueError(
                f"{each} must belong to root and be writable by nobody else; nothing is started until it is"
            )


def end(status: int, text: str) -> NoReturn:
    print(f"mesh-broker on {os.uname().nodename}: {text}", file=sys.stderr, flush=True)
    raise SystemExit(status)


# sysexits.h, as the script that this broker replaces. 255 is ssh's own; 125 to 127 are docker's.
NO_COMMAND = 64
REFUSED = 65
NO_CONTAINER = 69
NO_RECORD = 75
MISCONFIGURED = 78

PROBE = "true"  # what the role's `verify` asks for: proves the login and the container, changes nothing

if __name__ == "__main__":
    # -I leaves this file's directory out of the search path; nothing is read from it before it is known to be root's.
    try:
        check_root_alone(HERE, os.path.join(HERE, "mesh_grammar.py"))
    except (OSError, ValueError) as error:
        end(MISCONFIGURED, f"{error}")
    sys.dont_write_bytecode = True
    sys.path.insert(0, HERE)

from mesh_grammar import NAME, NEVER, Launch, Refused, read  # noqa: E402

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
    """mesh-broker.json. Raises ValueError with the reason."""
    check_root_alone(path, os.path.dirname(path))
    with open(path, encoding="utf-8") as stream:
        chosen = json.load(stream)
    wanted = {"caller": str, "container": str, "docker": list, "prefixes": list, "networks": list, "log": str}
    for name, kind in wanted.items():
        if not isinstance(chosen.get(name), kind) or not chosen[name]:
            raise ValueError(f"{path}: {name} is missing or no {kind.__name__}; run the role mesh again")
    check_site_parameters(chosen.get("parameters", []))
    return dict(chosen)


def check_site_parameters(names: list[str]) -> None:
    for each in names:
        word = next((word for word in NEVER if word in each), None)
        if word or not NAME.match(each):
            why = (
                f"by a parameter with {word!r} in its name a daemon runs, reads or obeys something else" if word else ""
            )
            raise ValueError(
                f"mesh_mpi_parameters: {each!r} cannot be allowed; {why or 'it is no name of a parameter'}"
            )


class Journal:
    """The system log, where sshd writes too. ``say`` tells whether the record got there; it never waits for long."""

    PRIORITY = 10 * 8 + 5  # authpriv.notice, RFC 3164
    WHOLE = 1400  # characters of a request that stand in the log as they are; of a longer one, its two ends

    def __init__(self, address: str, who: str) -> None:
        self._address, self._who = address, who

    def say(self, what: str, request: str) -> str:
        """Empty, or why the record could not be written. Bounded, and whoever pads a request hides nothing: its length
        and its SHA-256 are in the record."""
        raw = os.fsencode(request)
        shown = self._printable(request)
        if len(shown) > self.WHOLE:
            shown = f"{shown[: self.WHOLE // 2]} [...] {shown[-self.WHOLE // 2 :]}"
        about = f"{len(raw)} bytes, sha256 {hashlib.sha256(raw).hexdigest()}"
        text = f"{self._printable(what)[:400]}; {self._printable(self._who)[:300]}; {about}: {shown}"
        message = f"<{self.PRIORITY}>rocemesh-mesh[{os.getpid()}]: {text}"
        # Not logging.handlers.SysLogHandler: it waits without limit for a log whose queue is full.
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
                log.settimeout(1.0)
                log.sendto(message.encode("ascii"), self._address)
        except OSError as error:
            return f"{self._address}: {error.strerror or error}"
        return ""

    @staticmethod
    def _printable(text: str) -> str:
        """One line of ASCII: what came over the network must not forge a second one."""
        return "".join(c if " " <= c <= "~" else ascii(c)[1:-1] for c in text)


def started_by() -> tuple[str, str]:
    """The account behind sudo, which sudo itself says, and the programs above this one, as the kernel knows them."""
    uid = int(os.environ.get("SUDO_UID", os.getuid()))
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = f"uid {uid}"
    programs: list[str] = []
    pid = os.getppid()
    while pid > 1 and len(programs) < 4:
        try:
            programs.append(os.path.basename(os.readlink(f"/proc/{pid}/exe")))
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stream:
                pid = int(stream.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
    return name, f"account {name} (uid {uid}) below {' < '.join(programs)}"


def main() -> None:
    line = os.environ.get("SSH_ORIGINAL_COMMAND", "").strip(" ")
    client = os.environ.get("SSH_CONNECTION", "nobody").split(" ")[0]
    try:
        chosen = settings(os.path.join(HERE, "mesh-broker.json"))
        networks = [ipaddress.ip_network(each) for each in chosen["networks"]]
    except (OSError, ValueError) as error:
        end(MISCONFIGURED, f"{error}")
    caller, who = started_by()
    journal = Journal(chosen["log"], who)
    docker, container = list(chosen["docker"]), str(chosen["container"])
    if caller != chosen["caller"]:
        journal.say("refused: not started by sshd for a key of the mesh", line)
        end(REFUSED, f"refused: only sshd starts this program, as {chosen['caller']}; it was started by {caller}.")
    if not line.strip():
        journal.say(f"refused from {client}: no command", line)
        end(
            NO_COMMAND, f"no command was given. This key starts Open MPI in container {container}; it opens no session."
        )
    if line == PROBE:
        command = [*docker, "exec", container, "true"]
    else:
        try:
            site = tuple(map(str, chosen.get("parameters", [])))
            launch = read(line, list(chosen["prefixes"]), networks, site)
        except Refused as error:
            journal.say(f"refused from {client}: {error}", line)
            end(
                REFUSED,
                f"refused: {error}. This key starts Open MPI's daemon in container {container} and nothing else; "
                "the request stands in this node's system log (journalctl -t rocemesh-mesh).",
            )
        command = inside(launch, docker, container)
    _check_container(docker, container)
    lost = journal.say(f"accepted from {client}", line)
    if lost and chosen.get("log_required", True):
        end(
            NO_RECORD,
            f"the request cannot be written to the system log ({lost}), and nothing is started without a record. Start "
            "the node's log, or name its socket (mesh_broker_log), or set mesh_broker_log_required to false.",
        )
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
        end(NO_CONTAINER, f"cannot ask the engine for container {container}: {said[-1] if said else 'no message'}")
    if answer.stdout.strip() != b"true":
        end(NO_CONTAINER, f"container {container} is not running. Start it: {' '.join(docker)} start {container}")


if __name__ == "__main__":
    main()
