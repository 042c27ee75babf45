"""Join what the probe of a mesh printed with the nodes that it asked.

``probe``: One line per node, `ADDRESS EXIT_STATUS MILLISECONDS MESSAGE`.
``nodes``: Names of the nodes, in the same order.
``refused``: Whether every server has to refuse the key, instead of accepting it.
"""

from __future__ import annotations

from typing import Any

from ...module_utils._layer import ParseError
from ..decision import Context

SPEC: dict[str, Any] = {
    "probe": {"required": True},
    "nodes": {"type": "list", "elements": "str", "required": True},
    "refused": {"type": "bool", "default": False},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    host = str(context.variables.get("inventory_hostname", "this host"))
    lines, nodes = options["probe"].splitlines(), options["nodes"]
    if len(lines) != len(nodes):
        what = f"{len(nodes)} node(s) were asked and {len(lines)} answered"
        raise ParseError(what, host=host, thing="probe", raw="\n".join(lines))
    logins: list[dict[str, Any]] = []
    for line, node in zip(lines, nodes):
        address, status, milliseconds, *message = line.split(" ", 3)
        login = {"from": host, "to": node, "address": address, "rc": int(status), "ms": int(milliseconds)}
        logins.append({**login, "message": "".join(message).strip()})
    wrong = [
        f"{login['to']} ({login['address']}, exit status {login['rc']}: {login['message'] or 'no message'})"
        for login in logins
        if ("Permission denied" not in login["message"] if options["refused"] else login["rc"])
    ]
    summary = [f"{login['to']} {'refused' if login['rc'] else str(login['ms']) + ' ms'}" for login in logins]
    return {"logins": logins, "wrong": wrong, "summary": summary}
