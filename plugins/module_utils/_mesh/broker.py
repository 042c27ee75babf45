# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The broker's files on a node: its directory, its settings, its program, one sudoers rule. Pure.

They belong to the same call as the keys that lead to the broker: one call per node instead of five, and no key is
accepted before the program behind it is there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any, Callable, Mapping

from .._layer import Operation, RefusedError
from .state import FileState, parse_user

SUDO = "usr/bin/sudo"
VISUDO = "/usr/sbin/visudo"
SUDOERS = "etc/sudoers.d/rocemesh-mesh-broker"
PROGRAM, GRAMMAR, SETTINGS = "mesh-broker", "mesh_grammar.py", "mesh-broker.json"

_RULE = """\
# Managed by rocemesh.multinode (role mesh). Changes made here are overwritten.
# sshd leaves the request and the client's address in these two variables; the broker reads nothing else of its caller.
# Nobody is this account but a session that sshd opened for a key of the mesh, so nobody else can set them.
Defaults!{program} env_keep += "SSH_ORIGINAL_COMMAND SSH_CONNECTION", !requiretty, !use_pty
{caller} ALL=(root) NOPASSWD: {program} ""
"""


@dataclasses.dataclass(frozen=True)
class Broker:
    """``directory``: absolute; ``program``, ``grammar`` and ``settings``: what the files hold; ``caller``: who may
    start it through sudo, empty if sshd starts the program as root."""

    directory: str
    program: str
    settings: str
    grammar: str = ""
    caller: str = ""

    @property
    def call(self) -> list[str]:
        """How the caller starts it: the rule allows exactly this, without arguments."""
        return ["/" + SUDO, "-n", f"/{self.below}/{PROGRAM}"]

    @property
    def sudoers(self) -> str:
        return _RULE.format(caller=self.caller, program=self.call[-1]) if self.caller else ""

    @property
    def below(self) -> str:
        """The directory, relative to the root of the file system."""
        return self.directory.strip("/")

    @property
    def directories(self) -> tuple[str, ...]:
        """The directory and all above it, outermost first."""
        parts = self.below.split("/")
        return tuple("/".join(parts[: count + 1]) for count in range(len(parts)))

    @property
    def files(self) -> tuple[tuple[str, str, int], ...]:
        """path, content, mode; settings before the program, which needs them, the rule that opens it last."""
        grammar = ((f"{self.below}/{GRAMMAR}", self.grammar, 0o644),) if self.grammar else ()
        rule = ((SUDOERS, self.sudoers, 0o440),) if self.sudoers else ()
        return (
            (f"{self.below}/{SETTINGS}", self.settings, 0o644),
            *grammar,
            (f"{self.below}/{PROGRAM}", self.program, 0o755),
            *rule,
        )

    @property
    def paths(self) -> tuple[str, ...]:
        return (*self.directories, *(path for path, _content, _mode in self.files), *((SUDO,) if self.sudoers else ()))


def parse(raw: Mapping[str, Any] | None, *, host: str) -> Broker | None:
    """Option ``broker`` of the module. Raises `RefusedError`."""
    if not raw:
        return None
    directory = str(raw["directory"])
    if not directory.startswith("/") or ".." in directory.split("/") or not directory.strip("/"):
        raise RefusedError(
            "is not an absolute path below the root directory",
            host=host,
            thing="broker: directory",
            value=directory,
            remedy="use for example /usr/local/libexec/rocemesh",
        )
    caller = str(raw.get("caller") or "")
    if caller:
        parse_user(caller, host=host)
    settings = {**raw["settings"], **({"caller": caller} if caller else {})}
    return Broker(
        directory=directory,
        program=_text(raw["program"]),
        grammar=_text(raw.get("grammar") or ""),
        settings=json.dumps(settings, indent=4, sort_keys=True) + "\n",
        caller=caller,
    )


def digest(text: str) -> str:
    """Which program it is, for a person who will not read it in an answer of every node."""
    return f"{len(text.splitlines())} lines, sha256:{hashlib.sha256(text.encode('utf-8')).hexdigest()}"


def _text(text: Any) -> str:
    """Whether a template gave it its last newline or not."""
    return str(text).rstrip("\n") + "\n" if text else ""


def plan(
    broker: Broker, found: Mapping[str, FileState], *, host: str, effective_uid: int, root_uid: int = 0
) -> list[Operation]:
    """What is missing, as root's. Raises `RefusedError` for a node without sudo and for anything in the way."""
    operations: list[Operation] = []

    def look(path: str) -> FileState:
        return found.get(path, FileState(path))

    def refuse(path: str, what: str, remedy: str) -> RefusedError:
        return RefusedError(what, host=host, thing=f"/{path}", remedy=remedy)

    def add(action: str, path: str, description: str, changes: tuple[Any, Any], inverse: str, **payload: Any) -> None:
        if effective_uid != root_uid:
            raise refuse(path, "has to belong to root", "run the task as root (become: true)")
        operations.append(
            Operation(
                description=description,
                command=f"{action} /{path}",
                changes={f"/{path}": changes},
                inverse=inverse,
                payload={"action": action, "path": path, "system": True, "uid": 0, "gid": 0, **payload},
            )
        )

    if broker.sudoers and look(SUDO).kind == "missing":
        raise refuse(
            SUDO,
            "is missing, and the broker is started through one sudoers rule; nothing was changed here",
            "install sudo on the node, or set mesh_docker_access to group: the user may then use Docker, and is root",
        )
    _directories(broker, look, refuse, add)
    for path, text, mode in broker.files:
        state = look(path)
        if state.exists and state.kind != "file":
            raise refuse(path, f"is a {state.kind}, not a file", "move it away")
        _file(state, text, mode, add)
    return operations


def _directories(
    broker: Broker, look: Callable[[str], FileState], refuse: Callable[..., RefusedError], add: Callable[..., None]
) -> None:
    for path in broker.directories:
        state = look(path)
        if not state.exists:
            add(
                "mkdir",
                path,
                f"create the directory /{path}",
                (None, "directory, mode 0755"),
                f"rmdir /{path}",
                mode=0o755,
            )
        elif state.kind != "directory":
            raise refuse(path, f"is a {state.kind}, not a directory", "name another directory for the broker")
        elif path == broker.below and (state.uid != 0 or state.mode != 0o755):
            before = f"mode {state.mode:04o}, uid {state.uid}"
            add("chmod", path, f"give /{path} to root with mode 0755 (was {before})", (before, "mode 0755, uid 0"),
                f"set /{path} back to {before}", mode=0o755)  # fmt: skip


def _file(state: FileState, text: str, mode: int, add: Callable[..., None]) -> None:
    path, content = state.path, text.encode("utf-8")
    if state.content != content:
        before = None if state.content is None else state.content.decode("utf-8", "replace").splitlines()
        check = {"validate": (VISUDO, "-cf")} if path == SUDOERS else {}
        # What stood there is shown line by line beside what replaces it; a program that is new, by its digest.
        new = before is None and path.endswith((f"/{PROGRAM}", f"/{GRAMMAR}"))
        add("write", path, f"write /{path}", (before, digest(text) if new else text.splitlines()),
            f"delete /{path}" if before is None else f"write the former lines of /{path} back",
            content=content, mode=mode, **check)  # fmt: skip
    elif (state.uid, state.mode) != (0, mode):
        was = f"mode {state.mode:04o}, uid {state.uid}"
        add("chmod", path, f"give /{path} to root with mode {mode:04o} (was {was})", (was, f"mode {mode:04o}, uid 0"),
            f"set /{path} back to {was}", mode=mode)  # fmt: skip
