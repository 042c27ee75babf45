"""The control port: read the state, reset it, inject faults. Loopback only, not a feature of any switch.

``GET /state``  ``POST /reset``  ``POST /fault`` (JSON object)  ``DELETE /fault``  ``GET /log``  ``DELETE /log``
``GET /links`` (what each port carries)  ``POST /traffic`` (port -> counters, of whoever carries it)
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Dict, Tuple

from .state import Log, Switch, port_key

_LIMIT = 1 << 20
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}
_METHODS = {"/state": ("GET",), "/reset": ("POST",), "/fault": ("GET", "POST", "DELETE"), "/log": ("GET", "DELETE")}
_METHODS.update({"/links": ("GET",), "/traffic": ("POST",)})


def answer(switch: Switch, method: str, path: str, body: bytes) -> Tuple[int, Dict[str, Any]]:
    """Status code and JSON object for one request."""
    if path not in _METHODS:
        return 404, {"error": "no such path; there are {0}".format(", ".join(_METHODS))}
    if method not in _METHODS[path]:
        return 405, {"error": "{0} takes {1}".format(path, ", ".join(_METHODS[path]))}
    if method == "DELETE" and path == "/log":
        switch.log = Log()
    readings = {"/state": switch.as_json, "/log": switch.log.as_json, "/links": switch.links}
    if path in readings:
        return 200, readings[path]()
    if path == "/reset":
        switch.reset()
    elif method == "DELETE":
        switch.faults.clear()
    elif method == "POST":
        try:
            (_count if path == "/traffic" else _inject)(switch, json.loads(body))
        except ValueError as error:
            return 400, {"error": str(error)}
    return 200, {"faults": switch.faults.as_json()}


def _count(switch: Switch, ports: Any) -> None:
    """port -> counters, as they are by now."""
    if not isinstance(ports, dict) or not all(isinstance(counters, dict) for counters in ports.values()):
        raise ValueError("port -> counters")
    switch.traffic = {port: dict(counters) for port, counters in ports.items()}


def _inject(switch: Switch, fault: Any) -> None:
    if not isinstance(fault, dict):
        raise ValueError("a fault is a JSON object")
    port = fault.get("port")
    if port is not None and port not in switch.running.ports:
        raise ValueError("no such port: {0!r}".format(port))
    switch.faults.inject(fault)
    if fault["name"] == "reload":
        switch.reload()
    elif fault["name"] == "foreign_change":
        name = port or max(switch.running.ports, key=port_key)
        switch.running.ports[name].description = "changed by somebody else"


async def serve_control(switch: Switch, host: str, port: int) -> asyncio.Server:
    async def on_connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            request, *headers = head.split("\r\n")
            method, path, _version = request.split(" ", 2)
            length = 0
            for header in headers:
                name, _colon, value = header.partition(":")
                if name.strip().lower() == "content-length":
                    length = min(int(value), _LIMIT)
            body = await reader.readexactly(length)
            status, result = answer(switch, method, path, body)
            payload = json.dumps(result, sort_keys=True).encode()
            answer_head = (
                "HTTP/1.1 {0} {1}".format(status, _REASONS[status]),
                "Content-Type: application/json",
                "Content-Length: {0}".format(len(payload)),
                "Connection: close",
            )
            writer.write("\r\n".join((*answer_head, "", "")).encode() + payload)
            await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
            pass  # a broken request gets no answer
        finally:
            writer.close()

    return await asyncio.start_server(on_connect, host, port)
