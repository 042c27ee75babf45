"""An SSH server on loopback that answers commands in channels of their own, as switches do, and records them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import paramiko

PASSWORD = "Not-to-be-seen-4712"


class Transport(paramiko.Transport):
    """Answers a command after the client was told that it was accepted, as every real server does."""

    pending: list[threading.Thread]

    def _send_user_message(self, data: Any) -> None:
        super()._send_user_message(data)  # type: ignore[misc]
        if data.asbytes()[:1] == paramiko.common.cMSG_CHANNEL_SUCCESS:
            waiting, self.pending = self.pending, []
            for thread in waiting:
                thread.start()


class Server(paramiko.ServerInterface):
    def __init__(self, answers: Mapping[str, str], heard: list[str]) -> None:
        self._answers = answers
        self._heard = heard

    def check_auth_password(self, username: str, password: str) -> int:
        return paramiko.AUTH_SUCCESSFUL if password == PASSWORD else paramiko.AUTH_FAILED

    def get_allowed_auths(self, username: str) -> str:
        return "password"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED

    def check_channel_shell_request(self, channel: Any) -> bool:
        self._heard.append("a shell")
        return False

    def check_channel_exec_request(self, channel: Any, command: bytes) -> bool:
        text = command.decode()
        self._heard.append(text)
        channel.get_transport().pending.append(threading.Thread(target=self._answer, args=(channel, text), daemon=True))
        return True

    def _answer(self, channel: Any, command: str) -> None:
        known = command in self._answers
        channel.sendall(self._answers.get(command, "% Invalid command\n").replace("\n", "\r\n").encode())
        channel.send_exit_status(0 if known else 1)
        channel.close()


class Switch:
    """``known_hosts``: a file with its key; ``heard``: the commands that came."""

    def __init__(self, answers: Mapping[str, str], folder: Path) -> None:
        self.heard: list[str] = []
        self._answers = answers
        self._key = paramiko.ECDSAKey.generate()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self.known_hosts = folder / f"known_hosts.{self.port}"
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {self._key.get_name()} {self._key.get_base64()}\n")
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _address = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        transport = Transport(connection)
        transport.pending = []
        transport.add_server_key(self._key)
        try:
            transport.start_server(server=Server(self._answers, self.heard))
        except (paramiko.SSHException, EOFError):
            connection.close()  # a client that does not take the key goes away

    def close(self) -> None:
        self._socket.close()
