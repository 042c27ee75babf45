"""The SSH side: listening, host key, algorithms, password."""

from __future__ import annotations

import asyncio
import hmac
import os
import pathlib
import socket
from typing import Any, Dict, List, Set, Tuple

import asyncssh

from .session import Delays, serve_session
from .state import Switch

BANNER = "Mellanox Onyx Switch Management (SIMULATED, rocemesh lab)\n"
# What the server offers. "sha1": what field reports say of older images. "obsolete": what no current client speaks.
ALGORITHMS: Dict[str, Dict[str, List[str]]] = {
    "default": {},
    "sha1": {
        "kex_algs": ["diffie-hellman-group14-sha1"],
        "mac_algs": ["hmac-sha1"],
        "encryption_algs": ["aes128-ctr", "aes256-ctr"],
    },
    "obsolete": {"kex_algs": ["rsa1024-sha1"]},
}


def load_host_key(path: pathlib.Path) -> asyncssh.SSHKey:
    """The host key; created (RSA 3072, mode 0600, public half beside it) if there is none."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        key = asyncssh.generate_private_key("ssh-rsa", key_size=3072, comment="SIMULATED switch")
        descriptor = os.open(str(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(key.export_private_key())
        path.with_name(path.name + ".pub").write_bytes(key.export_public_key())
    return asyncssh.read_private_key(str(path))


class Server(asyncssh.SSHServer):
    """Password (and keyboard-interactive) login of one user."""

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


class Listener:
    """Accepts connections itself, so that a fault can keep one silent before SSH says a word."""

    def __init__(
        self,
        switch: Switch,
        address: Tuple[str, int],
        *,
        host_key: asyncssh.SSHKey,
        user: str,
        password: str,
        delays: Delays,
        algorithms: str = "default",
    ) -> None:
        self._switch = switch
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._socket = socket.create_server(address, family=family, backlog=16)
        self._socket.setblocking(False)
        self.port = int(self._socket.getsockname()[1])
        self._tasks: Set[asyncio.Task[None]] = set()
        self._silenced: List[socket.socket] = []

        async def on_process(process: asyncssh.SSHServerProcess[bytes]) -> None:
            await serve_session(process, switch, delays)

        arguments: Dict[str, Any] = dict(ALGORITHMS[algorithms])
        self._options = asyncssh.SSHServerConnectionOptions(
            server_factory=lambda: Server(user, password),
            server_host_keys=[host_key],
            process_factory=on_process,
            encoding=None,
            line_editor=False,
            login_timeout=60,
            **arguments,
        )
        if algorithms == "sha1":
            # An RSA key is offered under all its signature names; an old image knows only the first, with SHA-1.
            keys = self._options.server_host_keys
            for name in [name for name in keys if name != b"ssh-rsa"]:
                del keys[name]

    async def serve_forever(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _address = await loop.sock_accept(self._socket)
            silent = self._switch.faults.get("silent")
            if silent and silent.get("phase") == "banner":
                self._silenced.append(connection)
                continue
            task = loop.create_task(self._serve(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: socket.socket) -> None:
        try:
            await asyncssh.run_server(connection, options=self._options)
        except (asyncssh.Error, OSError) as error:  # a client that gives up is no trouble of the switch
            print("login failed: {0}".format(error), flush=True)

    def close(self) -> None:
        self._socket.close()
        for connection in self._silenced:
            connection.close()
