"""What a release with a broker left on a node: a program of root's, a sudoers rule, an account.

Its own record decides what is taken away: the sudoers rule names account and directory, every file names its owner.
"""

from __future__ import annotations

import json
import re

from .state import FILE_HEADER, Earlier, Layout
from .transport import NodeTransport

SUDOERS = "/etc/sudoers.d/rocemesh-mesh-broker"
_RULE_HEADER = b"# Managed by rocemesh.multinode (role mesh). Changes made here are overwritten."
_RULE = re.compile(rb'^(?P<account>\S+) ALL=\(root\) NOPASSWD: (?P<directory>/\S+)/mesh-broker ""$', re.MULTILINE)
_ACCOUNT, _DIRECTORY = "rocemesh-mesh", "/usr/local/libexec/rocemesh"


def _is_ours(name: str, content: bytes) -> bool:
    if name == "authorized_keys":
        return content.startswith(FILE_HEADER.encode())
    if name != "mesh-broker.json":
        return b"rocemesh.multinode contributors" in content[:200]
    try:
        return {"container", "docker"} <= set(json.loads(content))
    except (ValueError, TypeError):
        return False


def find(node: NodeTransport, layout: Layout) -> Earlier | None:
    """``node``: from the root of the file system. None: nothing is there."""

    def read(path: str) -> bytes:
        return node.inspect(path, read=True).content or b""

    rule = read(SUDOERS)
    record = _RULE.search(rule) if rule.startswith(_RULE_HEADER) else None
    name, directory = (record["account"].decode(), record["directory"].decode()) if record else (_ACCOUNT, _DIRECTORY)
    login = f"{layout.directory}/login"
    places = [(f"{login}/.ssh", "authorized_keys")]
    places += [(directory, each) for each in ("mesh-broker", "mesh_grammar.py", "mesh-broker.json")]
    files = tuple(f"{place}/{each}" for place, each in places if _is_ours(each, read(f"{place}/{each}")))
    account = node.account_at(name, login)
    if not files and not record and account is None:
        return None
    busy = account is not None and node.is_busy(account)
    directories = (f"{login}/.ssh", login, directory)
    return Earlier(name if account else "", busy, files, SUDOERS if record else "", directories)
