"""The HTTPS side of the SIMULATED switch: paths, Basic authentication, query parameters, errors."""

from __future__ import annotations

import base64
import contextlib
import copy
import hmac
import http.server
import json
import socket
import ssl
import threading
import urllib.parse
from typing import Any, cast

from . import views
from .faults import Faults
from .model import Refused, Switch
from .tree import Tree, at, difference

API = "/nvue_v1"
_TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    500: "Internal Server Error",
}


class Cut(Exception):
    """The connection ends without an answer."""


class Api:
    """One request at a time: (method, path, query, body) -> (status, answer)."""

    def __init__(self, switch: Switch) -> None:
        self._switch = switch
        self._lock = threading.Lock()
        self._counts: dict[int, int] = {}

    def handle(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        with self._lock:
            switch = self._switch
            switch.advance()
            switch.requests.append(f"{method} {target}")
            foreign = switch.faults.get("foreign_apply", f"{method} {target}")
            if foreign is not None and ("pattern" in foreign or method == "POST"):
                switch.faults.spend(foreign)
                answer = self._once(method, target, body)
                switch.somebody_applies()
                return answer
            return self._once(method, target, body)

    def _once(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        switch = self._switch
        cut = switch.faults.get("cut_after")
        if cut is not None:
            seen = self._counts.get(id(cut), 0) + 1
            self._counts[id(cut)] = seen
            if seen >= int(cut["requests"]):
                switch.faults.spend(cut)
                if cut.get("executed"):
                    with contextlib.suppress(Refused):
                        self._answer(method, target, body)
                raise Cut
        status = switch.faults.get("status", f"{method} {target}")
        if status is not None:
            left = int(status.get("times", 0))
            if left == 1:
                switch.faults.spend(status)
            elif left:
                status["times"] = left - 1
            return int(status["status"]), _problem(int(status["status"]), "injected (synthetic wording)")
        try:
            return self._answer(method, target, body)
        except Refused as error:
            return error.status, _problem(error.status, error.detail)

    def _answer(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        parts = urllib.parse.urlsplit(target)
        if not (parts.path + "/").startswith(API + "/"):
            raise Refused(404, "The requested URL was not found on the server.")
        path = [urllib.parse.unquote(part) for part in parts.path[len(API) :].split("/") if part]
        query = urllib.parse.parse_qs(parts.query)
        if path[:1] == ["revision"]:
            return self._revision(method, path[1:], body)
        if method == "GET":
            return 200, self._read(path, query)
        name = query.get("rev", [""])[0]
        if not name:
            raise Refused(400, "a change needs rev (synthetic wording)")
        if method == "PATCH":
            patch = body
            for key in reversed(path):
                patch = {key: patch}
            self._switch.patch(name, patch)
            whole = self._switch.config_of(name) if self._switch.version < (5, 10) else patch
            return 200, at(whole, *path) or {}
        raise Refused(405, "The method is not allowed for the requested URL.")

    def _revision(self, method: str, path: list[str], body: Any) -> tuple[int, Any]:
        switch = self._switch
        if not path:
            if method == "POST":
                name = switch.new_revision()
                return 201, {name: switch.revisions[name].as_json()}
            listed = {name: revision.as_json() for name, revision in switch.revisions.items()}
            return 200, {**listed, "startup": {"state": "inactive"}, "empty": {"state": "inactive"}}
        name = path[0]
        if method == "PATCH":
            switch.change_state(name, body)
        elif method == "DELETE":
            switch.delete(name)
            return (204, None) if switch.version >= (5, 10) else (200, {})
        elif method != "GET":
            raise Refused(405, "The method is not allowed for the requested URL.")
        answer = switch.revision(name).as_json()
        if name == "applied" and switch.version >= (5, 10):
            answer["last-apply"] = {"rev_id": switch.applied_id}
        return 200, answer

    def _read(self, path: list[str], query: dict[str, list[str]]) -> Any:
        switch = self._switch
        revision = query.get("rev", ["operational"])[0]
        if revision == "operational":
            tree: Tree = views.operational(switch, path[0] if path else "")
        else:
            tree = switch.config_of(revision)
            if "diff" in query:
                tree = difference(tree, switch.config_of(query["diff"][0]))
            elif query.get("filled", ["true"])[0] != "false":
                tree = {**tree, "qos": {**(tree.get("qos") or {}), "roce": views.filled_roce(switch.version, tree)}}
        found = at(tree, *path) if path else tree
        if found is None:
            raise Refused(404, "Requested item does not exist. (synthetic wording)")
        # A copy: what is answered is written while the switch goes on, and tests change it.
        return copy.deepcopy(_only(found, query["include"]) if "include" in query else found)


def _only(tree: Any, patterns: list[str]) -> Any:
    """What the ``include`` patterns name, "*" for any key."""
    result: Tree = {}
    for pattern in patterns:
        for path in _matches(tree, [part for part in pattern.split("/") if part]):
            here = result
            for key in path[:-1]:
                here = here.setdefault(key, {})
            here[path[-1]] = at(tree, *path)
    return result


def _matches(tree: Any, pattern: list[str]) -> list[list[str]]:
    if not pattern:
        return [[]]
    if not isinstance(tree, dict):
        return []
    keys = list(tree) if pattern[0] == "*" else [key for key in (pattern[0],) if key in tree]
    return [[key, *rest] for key in keys for rest in _matches(tree[key], pattern[1:])]


def _problem(status: int, detail: str) -> Tree:
    return {"detail": detail, "status": status, "title": _TITLES.get(status, "Error"), "type": "about:blank"}


def _expired(faults: Faults) -> bool:
    """Whether the login is no longer good; fault ``login_expires`` counts the requests that still pass."""
    fault = faults.get("login_expires")
    if fault is None:
        return False
    fault["requests"] = int(fault["requests"]) - 1
    return int(fault["requests"]) < 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "rocemesh-lab-SIMULATED"
    sys_version = ""
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        server = cast("Server", self.server)
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length) if length else b""
        if server.switch.faults.get("silent"):
            server.stopping.wait()
            self.close_connection = True
            return
        faults = server.switch.faults
        if not hmac.compare_digest(self.headers.get("Authorization", ""), server.login) or _expired(faults):
            self._reply(401, _problem(401, "Authentication required (synthetic wording)"))
            return
        if faults.get("echo", f"{self.command} {self.path}"):
            # A proxy in debug mode: the answer holds the request, with its login.
            request = {"request": f"{self.command} {self.path}", "headers": dict(self.headers.items())}
            self._reply(500, {**_problem(500, f"Internal error while handling {request}"), **request})
            return
        try:
            body = json.loads(data) if data else None
            status, answer = server.api.handle(self.command, self.path, body)
        except ValueError:
            status, answer = 400, _problem(400, "no JSON (synthetic wording)")
        except Cut:
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._reply(status, answer)

    do_GET = do_POST = do_PATCH = do_DELETE = _serve

    def _reply(self, status: int, answer: Any) -> None:
        payload = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="NVUE"')
        if payload:
            self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Requests are in /state; nothing is printed."""


class Server(http.server.ThreadingHTTPServer):
    """TLS is negotiated in the thread of each connection, so that a client that never finishes it stops nobody."""

    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        switch: Switch,
        *,
        certificate: str,
        key: str,
        user: str,
        password: str,
    ) -> None:
        self.switch = switch
        self.api = Api(switch)
        self.login = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        self.stopping = threading.Event()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        try:
            request.settimeout(30)
            with self._context.wrap_socket(request, server_side=True) as secure:
                secure.settimeout(None)
                super().finish_request(secure, client_address)
        except (ssl.SSLError, OSError):
            return  # a client that gives up, or does not trust us, is no trouble of the switch

    @property
    def port(self) -> int:
        return int(self.server_address[1])
