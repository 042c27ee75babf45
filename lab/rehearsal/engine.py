"""The API of an engine without images: a query for an image in the registry finds none; everything else is refused."""

from __future__ import annotations

import contextlib
import http.server
import json
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

SOCKETS = (Path("/run/docker.sock"), Path("/run/podman/podman.sock"))


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = "/distribution/" in self.path
        content = json.dumps(
            {"message": "manifest unknown (SIMULATED)" if found else f"SIMULATED: {self.path}"}
        ).encode()
        self.send_response(404 if found else 501)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_DELETE = do_HEAD = do_GET

    def log_message(self, *_words: object) -> None:
        """Nobody reads it."""

    def address_string(self) -> str:
        return "local"


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


@contextlib.contextmanager
def listening() -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for path in SOCKETS:
            path.parent.mkdir(parents=True, exist_ok=True)
            server = stack.enter_context(_Server(str(path), _Handler))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
        yield
