"""The control port: read the state, reset it, inject faults. Loopback only, not a feature of any switch.

``GET /state``  ``POST /reset``  ``POST /fault`` (JSON object)  ``DELETE /fault``
"""

from __future__ import annotations

import http.server
import json
from typing import Any, cast

from .model import Switch

_METHODS = {"/state": ("GET",), "/reset": ("POST",), "/fault": ("GET", "POST", "DELETE")}


def answer(switch: Switch, method: str, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
    """Status code and JSON object for one request."""
    if path not in _METHODS:
        return 404, {"error": f"no such path; there are {', '.join(_METHODS)}"}
    if method not in _METHODS[path]:
        return 405, {"error": f"{path} takes {', '.join(_METHODS[path])}"}
    if path == "/state":
        return 200, switch.as_json()
    if path == "/reset":
        switch.reset()
    elif method == "DELETE":
        switch.faults.clear()
    elif method == "POST":
        try:
            inject(switch, json.loads(body))
        except ValueError as error:
            return 400, {"error": str(error)}
    return 200, {"faults": switch.faults.as_json()}


def inject(switch: Switch, fault: Any) -> None:
    if not isinstance(fault, dict):
        raise ValueError("a fault is a JSON object")
    if "port" in fault and fault["port"] not in switch.port_names():
        raise ValueError(f"no such port: {fault['port']!r}")
    if "tree" in fault and not isinstance(fault["tree"], dict):
        raise ValueError("tree is a JSON object")
    switch.faults.inject(fault)
    if fault["name"] == "foreign_config":
        switch.somebody_configures(fault["tree"])
    elif fault["name"] == "foreign_staged":
        switch.somebody_stages()
    elif fault["name"] == "foreign_unsaved":
        switch.somebody_applies(save=False)
    elif fault["name"] == "foreign_confirm":
        switch.somebody_waits(float(fault.get("seconds", 600)))
    elif fault["name"] == "reload":
        switch.power_cycle()


class Control(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], switch: Switch) -> None:
        self.switch = switch
        super().__init__(address, _Handler)

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Handler(http.server.BaseHTTPRequestHandler):
    def _serve(self) -> None:
        length = min(int(self.headers.get("Content-Length") or 0), 1 << 20)
        switch = cast("Control", self.server).switch
        status, result = answer(switch, self.command, self.path, self.rfile.read(length) if length else b"")
        payload = json.dumps(result, sort_keys=True).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_GET = do_POST = do_DELETE = _serve

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Nothing is printed."""
