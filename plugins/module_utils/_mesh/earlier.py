"""What a release with a broker left on a node: a program of root's, a sudoers rule, an account.

Its own record decides what is taken away: the sudoers rule names account and directory, every file names its owner.
"""

from __future__ import annotations

import re

from .state import FILE_HEADER, Layout
from .transport import NodeTransport

SUDOERS = "/etc/sudoers.d/rocemesh-mesh-broker"
_RULE_HEADER = b"# Managed by rocemesh.multinode (role mesh). Changes made here are overwritten."
_RULE = re.compile(rb'^(?P<account>\S+) ALL=\(root\) NOPASSWD: (?P<directory>/\S+)/mesh-broker ""$', re.MULTILINE)
_MAKER = b"rocemesh.multinode contributors"
_ACCOUNT, _DIRECTORY = "rocemesh-mesh", "/usr/local/libexec/rocemesh"


def find(node: NodeTransport) -> tuple[list[tuple[str, str, dict[str, str]]], str]:
    """Action, path and arguments that take it away, and the account if a launch holds it: then account and rule stay.

    ``node``: from the root of the file system. The keys go first; the rule, which is the record of the rest, last.
    """

    def read(path: str) -> bytes:
        return node.inspect(path, read=True).content or b""

    rule = read(SUDOERS)
    record = _RULE.search(rule) if rule.startswith(_RULE_HEADER) else None
    name, directory = (record["account"].decode(), record["directory"].decode()) if record else (_ACCOUNT, _DIRECTORY)
    login = f"{Layout.directory}/login"
    # In the order in which access is taken away; each with what tells that it is ours.
    marks = {
        f"{login}/.ssh/authorized_keys": FILE_HEADER.encode(),
        f"{directory}/mesh-broker": _MAKER,
        f"{directory}/mesh_grammar.py": _MAKER,
        f"{directory}/mesh-broker.json": b'"container": ',
    }
    files = [path for path, mark in marks.items() if mark in read(path)]
    uid = node.account_at(name, login)
    busy = uid is not None and node.is_busy(uid)
    if not files and not record and uid is None:
        return [], ""
    steps: list[tuple[str, str, dict[str, str]]] = [("unlink", path, {}) for path in files]
    if uid is not None and not busy:
        steps.append(("userdel", "/", {"name": name}))
    for place in (f"{login}/.ssh", login, directory):
        names = node.entries(place)
        if names is not None and {f"{place}/{each}" for each in names} <= {path for _action, path, _more in steps}:
            steps.append(("rmdir", place, {}))
    if record and not busy:
        steps.append(("unlink", SUDOERS, {}))
    return steps, name if busy else ""
