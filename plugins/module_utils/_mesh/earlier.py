# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a release with a broker left on a node: a program of root's, a sudoers rule, an account.

Its own record decides what is taken away: the sudoers rule names account and directory, every file says whose it is.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable

from .._layer import Operation
from .state import FILE_HEADER, Earlier, Layout
from .transport import NodeTransport

SUDOERS = "/etc/sudoers.d/rocemesh-mesh-broker"
_RULE_HEADER = b"# Managed by rocemesh.multinode (role mesh). Changes made here are overwritten."
_RULE = re.compile(rb'^(?P<account>\S+) ALL=\(root\) NOPASSWD: (?P<directory>/\S+)/mesh-broker ""$', re.MULTILINE)
_PROGRAM = b"rocemesh.multinode contributors"
_ACCOUNT, _DIRECTORY = "rocemesh-mesh", "/usr/local/libexec/rocemesh"


def _is_settings(content: bytes) -> bool:
    try:
        return {"container", "docker"} <= set(json.loads(content))
    except (ValueError, TypeError):
        return False


def find(node: NodeTransport, layout: Layout) -> Earlier | None:
    """``node``: from the root of the file system. None: nothing is there."""

    def ours(path: str, known: Callable[[bytes], bool]) -> bool:
        return known(node.inspect(path.lstrip("/"), read=True).content or b"")

    rule = node.inspect(SUDOERS.lstrip("/"), read=True).content or b""
    record = _RULE.search(rule) if rule.startswith(_RULE_HEADER) else None
    name, directory = (record["account"].decode(), record["directory"].decode()) if record else (_ACCOUNT, _DIRECTORY)
    login = f"{layout.directory}/login"
    keys = f"{login}/.ssh/authorized_keys"
    account = node.account_at(name, login)
    files = (
        [keys] if ours(keys, lambda text: text.startswith(FILE_HEADER.encode())) else [],
        [f"{directory}/{each}" for each in ("mesh-broker", "mesh_grammar.py")
         if ours(f"{directory}/{each}", lambda text: _PROGRAM in text[:200])],
        [path for path in (f"{directory}/mesh-broker.json",) if ours(path, _is_settings)],
        [SUDOERS] if record else [],
    )  # fmt: skip
    found = tuple(path for group in files for path in group)
    if not found and account is None:
        return None
    empty: list[str] = []
    for path in (f"{login}/.ssh", login, directory):
        names = {f"{path}/{each}" for each in node.entries(path.lstrip("/"))}
        if node.inspect(path.lstrip("/")).kind == "directory" and names <= {*found, *empty}:
            empty.append(path)
    return Earlier(name if account else "", account is not None and node.is_busy(account), found, tuple(empty))


def plan(earlier: Earlier) -> list[Operation]:
    """The keys first; the rule, which is the record of the rest, last. Both account and rule wait for a launch."""

    def operation(action: str, path: str, what: str, **payload: Any) -> Operation:
        return Operation(
            description=f"{what} of an earlier release",
            command=f"{action} {path}",
            changes={path: ("of an earlier release", None)},
            inverse="",
            payload={"action": action, "path": path, **payload},
        )

    files = [path for path in earlier.files if path != SUDOERS or not earlier.busy]
    operations = [operation("unlink", path, f"delete {path}") for path in files if path != SUDOERS]
    if earlier.account and not earlier.busy:
        operations.append(operation("no-account", "/", f"delete the account {earlier.account}", name=earlier.account))
    operations += [operation("rmdir", path, f"remove the empty directory {path}") for path in earlier.directories]
    return operations + [operation("unlink", SUDOERS, f"delete {SUDOERS}") for path in files if path == SUDOERS]


def warnings(earlier: Earlier | None, host: str) -> list[str]:
    if earlier is None or not earlier.busy:
        return []
    return [
        f"{host}: a launch of an earlier release holds the account {earlier.account}, which stays. "
        "Run this again when the job is over."
    ]
