"""For ansible-playbook: modules on this machine run in forks of a Python that has imported what all modules import, one
for each interpreter of a play (``kept_forks_server.py``). The start of an interpreter and these imports are four fifths
of a short module.

Only what Ansible would pipe into an interpreter as the user that it is; everything else runs as ever.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import hashlib
import json
import os
import pathlib
import re
import shlex
import socket
import subprocess
from typing import Any, Callable

import ansible
from ansible.plugins.loader import connection_loader

_SERVER = pathlib.Path(__file__).with_name("kept_forks_server.py")
_COMMAND = re.compile(r"/bin/sh -c (.+)", re.S)
_OF_THE_START = re.compile(r"PYTHON|LANG|LC_|LD_")
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, prctl(2)
Answer = tuple[int, bytes, bytes]


def pipelined(command: str) -> tuple[str, dict[str, str]] | None:
    """The interpreter that a module is piped into, and the task's environment; None: something else."""
    found = _COMMAND.fullmatch(command)
    if not found or set("$`") & set(command):
        return None
    try:
        (inner,) = shlex.split(found[1])
        *words, interpreter, then, sleep, zero = shlex.split(inner)
    except ValueError:
        return None
    pairs = [word.partition("=") for word in words]
    plain = all(mark and name.isidentifier() and not _OF_THE_START.match(name) for name, mark, _value in pairs)
    if not plain or (then, sleep, zero) != ("&&", "sleep", "0") or not interpreter.startswith("/"):
        return None
    return interpreter, {name: value for name, _mark, value in pairs}


class Forks:
    """The servers of one ansible-playbook; made before its workers, which share them. They end with the last one."""

    def __init__(self, base: pathlib.Path) -> None:
        self.base = base
        self.name = os.urandom(16).hex()
        self.alive, self._held = os.pipe()

    def connect(self, interpreter: str) -> socket.socket:
        """The first worker that asks starts the server; the others find its socket."""
        name = f"\0{self.name}{hashlib.sha256(interpreter.encode()).hexdigest()}"
        connection = socket.socket(socket.AF_UNIX)
        with socket.socket(socket.AF_UNIX) as listener:
            try:
                listener.bind(name)
            except OSError:
                connection.connect(name)
                return connection
            listener.listen(128)
            environment = {**os.environ}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            subprocess.Popen(
                [interpreter, str(_SERVER), str(listener.fileno()), str(self.alive), str(self.base)],
                pass_fds=(listener.fileno(), self.alive),
                env=environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # what ends the first worker ends no other's module
            )
            connection.connect(name)
        return connection

    def run(self, interpreter: str, environment: dict[str, str], folder: str, module: bytes) -> Answer | None:
        """None: there is no server; the module has not been started."""
        outputs = [os.memfd_create(name) for name in ("stdout", "stderr")]
        head = json.dumps({"folder": folder, "environment": environment, "length": len(module)})
        try:
            with self.connect(interpreter) as connection:
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", outputs))]
                connection.sendmsg([head.encode() + b"\n"], rights)
                connection.sendall(module)
                answer = connection.makefile()
                if not answer.readline():
                    return None
                code = 1  # of a server that did not live to tell
                with contextlib.suppress(OSError):
                    code = int(answer.readline() or code)
            read = [os.pread(output, os.fstat(output).st_size, 0) for output in outputs]
            return code, read[0], read[1]
        except OSError:
            return None
        finally:
            for output in outputs:
                os.close(output)


def _forking(forks: Forks, exec_command: Callable[..., Answer]) -> Callable[..., Answer]:
    def run(self: Any, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> Answer:
        found = pipelined(cmd) if in_data and isinstance(cmd, str) else None
        answer = forks.run(*found, os.fsdecode(self.cwd or os.getcwd()), in_data) if found and in_data else None
        return answer or exec_command(self, cmd, in_data=in_data, sudoable=sudoable)

    return run


def target(folder: pathlib.Path) -> pathlib.Path:
    """Ansible as a node sees it: its common code alone, without the controller's."""
    package = folder / "target" / "ansible"
    if not (package / "module_utils").exists():
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        part = package / f"module_utils.{os.getpid()}"
        part.symlink_to(pathlib.Path(ansible.__file__).parent / "module_utils")
        os.replace(part, package / "module_utils")
    return package.parent


def begin(folder: pathlib.Path) -> None:
    """``folder``: kept as long as this Ansible stands as it is."""
    # A server outlives the worker that started it, and is this process's child then, as a module's process would be: a
    # run is known by the ansible-playbook above its modules.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    local = connection_loader.get("ansible.builtin.local", class_only=True)
    local.exec_command = _forking(Forks(target(folder)), local.exec_command)
