# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands on a Cumulus switch over SSH: one connection, one exec channel per command, on paramiko.

The switch is a Debian host, so no prompt has to be recognised: every command has its own channel and exit status.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import socket
import traceback
from typing import Any, Protocol, Sequence

from .._layer import RefusedError, UnreachableError
from .._switch.transport import Settings, explain

IMPORT_ERROR: str | None = None
try:
    import paramiko
    from paramiko.ssh_exception import SSHException
except ImportError:
    IMPORT_ERROR = traceback.format_exc()


class Shell(Protocol):
    """What the layer needs of a session; tests bring their own."""

    def run(self, command: Sequence[str], timeout: float | None = None) -> tuple[int, str]:
        """Exit status and output (both streams) of one command; ``timeout``: seconds of silence, None: the default."""

    def close(self) -> None:
        """End the session."""


class SshShell:
    """Implements `Shell`. Connects at once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client = _connect(settings)

    def run(self, command: Sequence[str], timeout: float | None = None) -> tuple[int, str]:
        line = shlex.join(command)
        limit = timeout or self._settings.timeout
        try:
            channel = self._client.get_transport().open_session(timeout=limit)
            channel.settimeout(limit)
            channel.set_combine_stderr(True)
            channel.exec_command(line)
            with channel.makefile("rb") as stream:
                text = stream.read().decode("utf-8", "replace")
            status = channel.recv_exit_status()
        except (socket.timeout, TimeoutError):
            raise UnreachableError(
                f"silent for {limit:g} s; waited for the answer to {line!r}",
                host=self._settings.host,
                remedy="look at the switch's console; raise timeout if it is only slow",
            ) from None
        except (SSHException, OSError, EOFError, AttributeError):
            raise self._broken(line) from None
        if status < 0:  # the channel closed without a status: nobody knows how far the command came
            raise self._broken(line)
        return status, text

    def _broken(self, line: str) -> UnreachableError:
        return UnreachableError(
            f"the session broke during {line!r}",
            host=self._settings.host,
            remedy="run this again: it reads what is there and continues from it",
        )

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._client.close()


def _connect(settings: Settings) -> Any:
    if settings.host_key_checking and settings.known_hosts and not os.path.isfile(settings.known_hosts):
        raise RefusedError(
            "no such file, so that no host key could be checked",
            host=settings.host,
            thing="known_hosts",
            value=settings.known_hosts,
            remedy="create it with ssh-keyscan and compare the fingerprint on the switch's console",
        )
    # Paramiko logs what it raises anyway, with a traceback, and Python prints that where nobody handles it.
    logger = logging.getLogger("paramiko")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())

    class Policy(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]
        """Refuses what is not known, or accepts it without writing a file."""

        def missing_host_key(self, client: Any, hostname: str, key: Any) -> None:
            if settings.host_key_checking:
                error = SSHException("unknown host key")
                error.offered_key = key  # for the fingerprint in the message
                raise error

    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(Policy())
    try:
        if settings.host_key_checking and settings.known_hosts:
            client.load_host_keys(settings.known_hosts)
        elif settings.host_key_checking:
            client.load_system_host_keys()
        client.connect(
            settings.host,
            settings.port,
            settings.username,
            settings.password,
            timeout=settings.timeout,
            banner_timeout=settings.timeout,
            auth_timeout=settings.timeout,
            look_for_keys=False,
            allow_agent=False,
        )
    except (SSHException, OSError, EOFError) as error:
        client.close()
        raise explain(error, settings) from None
    return client
