# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start the SIMULATED switch: ``python -m lab.nclu --port 2222 --control 127.78.0.7:8080 ...``."""

from __future__ import annotations

import argparse
import asyncio
import hmac
import http.server
import json
import pathlib
import shlex
import signal
import threading
from typing import Any, cast

import asyncssh

from lab.switch.server import load_host_key

from .model import Cut, Switch

BANNER = "Cumulus Linux (SIMULATED, rocemesh lab)\n"


def _address(text: str) -> tuple[str, int]:
    host, _colon, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise argparse.ArgumentTypeError(f"not HOST:PORT: {text!r}")
    return host, int(port)


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m lab.nclu", description="SIMULATED Cumulus 4.x switch, net over SSH"
    )
    result.add_argument("--host", default="127.78.0.7", help="address to listen on (default %(default)s)")
    result.add_argument("--port", type=int, default=2222, help="SSH port, 0: any free one (default %(default)s)")
    result.add_argument("--control", type=_address, required=True, metavar="HOST:PORT", help="control HTTP")
    result.add_argument("--host-key", type=pathlib.Path, required=True, help="SSH host key, created if missing")
    result.add_argument("--password-file", type=pathlib.Path, required=True, help="file with the login password")
    result.add_argument("--user", default="cumulus", help="login user (default %(default)s)")
    result.add_argument("--release", default="4.3.0", help="release (default %(default)s)")
    result.add_argument("--ports", type=int, default=32, help="number of ports (default %(default)s)")
    return result


class Login(asyncssh.SSHServer):
    def __init__(self, user: str, password: str) -> None:
        self._user = user
        self._password = password

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn

    def begin_auth(self, username: str) -> bool:
        self._connection.send_auth_banner(BANNER)
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        right_user = hmac.compare_digest(username.encode(), self._user.encode())
        return hmac.compare_digest(password.encode(), self._password.encode()) and right_user

    def kbdint_auth_supported(self) -> bool:
        return False


async def answer(process: asyncssh.SSHServerProcess[str], switch: Switch) -> None:
    """One exec channel."""
    if process.command is None:
        process.stdout.write("This simulator has no interactive shell.\n")
        process.exit(1)
        return
    if switch.fault("silent"):
        await process.stdin.read()
        return
    try:
        status, text = switch.execute(shlex.split(process.command), process.get_extra_info("username"))
    except Cut:
        process.channel.get_connection().abort()
        return
    process.stdout.write(text)
    process.exit(status)


class Control(http.server.ThreadingHTTPServer):
    """``GET /state``  ``POST /reset``  ``POST /fault`` (JSON object)  ``DELETE /fault``; for tests, on loopback."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], switch: Switch) -> None:
        self.switch = switch
        super().__init__(address, _Handler)


class _Handler(http.server.BaseHTTPRequestHandler):
    def _serve(self) -> None:
        switch = cast("Control", self.server).switch
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status = 200
        result: dict[str, Any] = {}
        if (self.command, self.path) == ("GET", "/state"):
            result = switch.as_json()
        elif (self.command, self.path) == ("POST", "/reset"):
            switch.reset()
        elif (self.command, self.path) == ("DELETE", "/fault"):
            switch.faults.clear()
        elif (self.command, self.path) == ("POST", "/fault"):
            try:
                switch.inject(json.loads(data))
            except ValueError as error:
                status, result = 400, {"error": str(error)}
        else:
            status, result = 404, {"error": "no such path"}
        payload = json.dumps(result).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_GET = do_POST = do_DELETE = _serve

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Nothing is printed."""


async def serve(args: argparse.Namespace) -> None:
    password = args.password_file.read_text(encoding="utf-8").rstrip("\n")
    if not password:
        raise SystemExit(f"{args.password_file} is empty: refusing to run with an empty password")
    switch = Switch(args.release, args.ports)

    async def on_process(process: asyncssh.SSHServerProcess[str]) -> None:
        await answer(process, switch)

    listener = await asyncssh.listen(
        args.host,
        args.port,
        server_factory=lambda: Login(args.user, password),
        server_host_keys=[load_host_key(args.host_key)],
        process_factory=on_process,
    )
    control = Control(args.control, switch)
    threading.Thread(target=control.serve_forever, daemon=True).start()
    # One line for whoever waits for the start; --port 0 learns the real port here.
    print(
        f"ready ssh={args.host}:{listener.get_port()} control={args.control[0]}:{control.server_address[1]}", flush=True
    )
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    listener.close()
    control.shutdown()


def main() -> None:
    asyncio.run(serve(parser().parse_args()))


if __name__ == "__main__":
    main()
