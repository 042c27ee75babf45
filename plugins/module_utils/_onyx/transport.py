# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One SSH session with an Onyx command line, on netmiko's driver for it.

Netmiko's own session preparation waits a fixed time for a device that has already spoken, and its reads cannot tell
a broken connection from a slow one. So the driver is subclassed: netmiko connects, and the conversation is led here,
with the exact prompt of this switch as the end of every answer.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import time
import traceback
from typing import Any, Protocol

from .._layer import ApplyError, CredentialError, LayerError, RefusedError, UnreachableError
from .state import ERROR_RE

IMPORT_ERROR: str | None = None
try:
    import paramiko
    from netmiko.exceptions import NetmikoAuthenticationException, NetmikoBaseException, ReadException, WriteException
    from netmiko.mellanox.mellanox_mlnxos_ssh import MellanoxMlnxosSSH
    from paramiko.ssh_exception import AuthenticationException, BadHostKeyException, IncompatiblePeer, SSHException
except ImportError:
    IMPORT_ERROR = traceback.format_exc()

# host, optional HA tag "[cluster: role]", optional "(config ...)", sign. A message of the day made of "#" lines is no
# prompt: the host contains no "#", and a host without a name has at least the HA tag.
_PROMPT = r"(?:^|\n)(?P<host>{host})(?: ?\[(?P<tag>[^\]\n]*)\])? ?(?:\((?P<mode>config[^)\n]*)\) )?(?P<sign>[>#]) ?\Z"
_ANY_HOST = r"[^\s\[\]>#()]*"
_CONFIRM_RE = re.compile(r"(?i)(?:type '?yes'?|\[(?:yes|no|y/n|yes/no)\]|confirm)[^\n]*\Z")
_PASSWORD_RE = re.compile(r"(?i)password[^\n]*: ?\Z")
_NEW_PASSWORD_RE = re.compile(r"(?i)new password[^\n]*: ?\Z")
_WIZARD_RE = re.compile(r"wizard for initial configuration")
_ANSI_RE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_POLL_SECONDS = 0.01
# A question is one only if the switch then waits; the same words may stand in the middle of an answer.
_QUESTION_SECONDS = 0.5
_SUBMODE_LIMIT = 6


class Cli(Protocol):
    """What the layer needs of a session; tests bring their own."""

    role: str  # master, standby, unknown, or "" if the prompt does not say
    remarks: list[str]  # answers to configuration lines that are neither silence nor an error

    def show(self, command: str) -> str:
        """The text that a read command prints, errors included."""

    def configure(self, line: str) -> str:
        """Send one configuration line; the switch's error text, or "" if it was accepted."""

    def close(self) -> None:
        """End the session."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """Where and how to log in. ``known_hosts`` None: the user's own file. ``timeout``: seconds of silence."""

    host: str
    username: str
    password: str = dataclasses.field(repr=False)
    port: int = 22
    known_hosts: str | None = None
    host_key_checking: bool = True
    timeout: float = 30.0


class OnyxSession:
    """Logged in, paging off, enable mode. Configuration mode is entered when the first line needs it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.host = settings.host
        self.role = ""
        self.remarks: list[str] = []
        self._buffer = ""
        self._hostname: str | None = None  # None: not learned yet
        self._seen_hostname = ""
        self._mode = ""  # "", or what stands in the prompt's parentheses
        self._sign = ""
        self._connection = _connect(settings)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        self._read("the first prompt")
        # A banner that only looks like a prompt is not repeated after an empty line.
        self._buffer = ""
        self._write("\n")
        self._read("the prompt")
        self._hostname = self._seen_hostname
        self._send("no cli session paging enable")
        if self._sign == ">":
            self._send("enable")
        if self._sign != "#":
            raise self._not_granted("enable mode")

    def _not_granted(self, what: str) -> CredentialError:
        return CredentialError(
            f"{what} was not granted",
            host=self.host,
            thing="user",
            value=self._settings.username,
            remedy="use an account with the admin capability",
        )

    # --- conversation

    def _closed(self) -> bool:
        channel = self._connection.remote_conn
        if channel is None:
            return True
        if channel.recv_ready():
            return False
        return bool(channel.closed or channel.eof_received or not channel.get_transport().is_active())

    def _broken(self, when: str) -> UnreachableError:
        return UnreachableError(
            f"the session broke {when}",
            host=self.host,
            remedy="run this again: it reads what is there and continues from it",
        )

    def _write(self, text: str) -> None:
        try:
            self._connection.write_channel(text)
        except (WriteException, SSHException, OSError, EOFError):
            raise self._broken(f"while {text.strip()!r} was sent") from None

    def _read(self, what: str, echo: str = "") -> None:
        """Read into the buffer until the prompt stands at its end, and take mode and role from it.

        A prompt before the ``echo`` of the line that was sent belongs to something earlier. A switch that then stays
        silent does not echo, and the prompt counts.
        """
        heard = time.monotonic()
        while True:
            closed = self._closed()  # asked before reading: what arrived before the end is still read
            try:
                data = self._connection.read_channel()
            except (ReadException, SSHException, OSError, EOFError):
                raise self._broken(f"while waiting for {what}") from None
            silence = time.monotonic() - heard
            if data:
                heard = time.monotonic()
                self._buffer += _ANSI_RE.sub("", data).replace("\r", "")
                if self._at_prompt(echo):
                    return
            elif closed:
                raise self._broken(f"while waiting for {what}")
            elif silence > self._settings.timeout:
                raise UnreachableError(
                    f"silent for {self._settings.timeout:g} s; waited for {what}, "
                    f"the last text was {self._buffer[-200:]!r}",
                    host=self.host,
                    remedy="look at the switch's console; raise timeout if it is only slow",
                )
            else:
                if silence > _QUESTION_SECONDS:
                    if echo and self._at_prompt(""):
                        return
                    try:
                        self._refuse_questions()
                    except LayerError:
                        self.close()  # the next line would be the answer
                        raise
                time.sleep(_POLL_SECONDS)

    def _at_prompt(self, echo: str = "") -> bool:
        if echo not in self._buffer:
            return False
        host = _ANY_HOST if self._hostname is None else re.escape(self._hostname)
        prompt = re.search(_PROMPT.format(host=host), self._buffer)
        if prompt is None or not (prompt.group("host") or prompt.group("tag")):
            return False
        self._seen_hostname = prompt.group("host")
        self._mode = prompt.group("mode") or ""
        self._sign = prompt.group("sign")
        self.role = (prompt.group("tag") or "").rpartition(":")[2].strip()
        self._buffer = self._buffer[: prompt.start()]
        return True

    def _refuse_questions(self) -> None:
        """Screens that wait for an answer that nobody may give unasked."""
        if _WIZARD_RE.search(self._buffer):
            raise RefusedError(
                "the switch shows its first-boot configuration wizard",
                host=self.host,
                remedy="finish the initial configuration (wizard, admin password) on the console, then run this again",
            )
        if _NEW_PASSWORD_RE.search(self._buffer):
            raise CredentialError(
                "the switch wants a new password (the present one is expired, or is the first one)",
                host=self.host,
                thing="user",
                value=self._settings.username,
                remedy="log in by hand once, choose the new password there, and give it here",
            )
        if _PASSWORD_RE.search(self._buffer):
            raise CredentialError(
                "the switch asks for another password (an enable password?)",
                host=self.host,
                thing="user",
                value=self._settings.username,
                remedy="use an account that needs no enable password",
            )
        if _CONFIRM_RE.search(self._buffer):
            raise ApplyError(
                f"the switch asks for a confirmation, and none was given: {self._buffer.strip()!r}",
                host=self.host,
                remedy="decide and do this step by hand",
            )

    def _send(self, line: str) -> str:
        """One line and its answer, without the echo and the prompt."""
        self._buffer = ""
        self._write(line + "\n")
        self._read(f"the answer to {line!r}", echo=line)
        _before, found, after = self._buffer.partition(line)
        _echo, _newline, answer = (after if found else self._buffer).partition("\n")
        return answer.strip("\n")

    # --- the layer's interface

    def show(self, command: str) -> str:
        return self._send(command)

    def configure(self, line: str) -> str:
        if not self._mode:
            self._send("configure terminal")
            if not self._mode:
                raise self._not_granted("configuration mode")
        answer = self._send(line)
        for _attempt in range(_SUBMODE_LIMIT):
            # Lines such as "vlan 111" open a sub-mode; the next line must not be read as part of it.
            if self._mode == "config":
                break
            self._send("exit")
        errors = "\n".join(ERROR_RE.findall(answer))
        if answer and not errors:
            self.remarks.append(f"{line!r} was answered with {answer!r}")
        return errors

    def close(self) -> None:
        self._connection.disconnect()


def _connect(settings: Settings) -> Any:
    """A netmiko connection that is logged in and has not been spoken to."""
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
    try:
        return _driver(settings.host_key_checking)(
            device_type="mellanox_mlnxos",
            host=settings.host,
            port=settings.port,
            username=settings.username,
            password=settings.password,
            ssh_strict=settings.host_key_checking,
            system_host_keys=settings.host_key_checking and settings.known_hosts is None,
            alt_host_keys=settings.host_key_checking and settings.known_hosts is not None,
            alt_key_file=settings.known_hosts or "",
            conn_timeout=settings.timeout,
            auth_timeout=settings.timeout,
            banner_timeout=settings.timeout,
            session_log=None,  # it would hold the whole conversation
        )
    except (NetmikoBaseException, SSHException, OSError, EOFError) as error:
        raise explain(error, settings) from None


def _driver(host_key_checking: bool) -> Any:
    """The driver class; defined on demand, because its bases exist only where netmiko is installed."""

    class Refuse(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]
        def missing_host_key(self, client: Any, hostname: str, key: Any) -> None:
            error = SSHException("unknown host key")
            error.offered_key = key  # for the fingerprint in the message
            raise error

    class Accept(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]
        """Accepts and writes no file, which paramiko's AutoAddPolicy may do."""

        def missing_host_key(self, client: Any, hostname: str, key: Any) -> None:
            return None

    class OnyxConnection(MellanoxMlnxosSSH):
        """Connects and stops there: no wait of fixed length, no command."""

        def _build_ssh_client(self) -> Any:
            client = super()._build_ssh_client()
            client.set_missing_host_key_policy(Refuse() if host_key_checking else Accept())
            return client

        def _try_session_preparation(self, force_data: bool = True) -> None:
            return None

        def cleanup(self, command: str = "exit") -> None:
            """Closing the channel ends the session; words of farewell would each wait for an answer."""

    return OnyxConnection


def explain(error: BaseException, settings: Settings) -> LayerError:
    """A failed connection as a message that names the cause; netmiko reports most of them as a timeout."""
    chain = _chain(error)
    for kind, make in _CAUSES.items():
        link = next((link for link in chain if _is(link, kind)), None)
        if link is not None:
            return make(link, settings)
    return UnreachableError(
        f"no connection ({' '.join(str(chain[-1]).split())[:200] or type(chain[-1]).__name__})",
        host=f"{settings.host}:{settings.port}",
        thing="ssh",
        remedy="check address, port, cabling of the management port and firewalls",
    )


def _is(link: BaseException, kind: str) -> bool:
    text = str(link).lower()
    tests = {
        "changed key": isinstance(link, BadHostKeyException),
        "unknown key": hasattr(link, "offered_key"),
        "algorithms": isinstance(link, IncompatiblePeer) or "incompatible ssh peer" in text,
        "login timeout": isinstance(link, AuthenticationException) and "timeout" in text,
        "login": isinstance(link, (AuthenticationException, NetmikoAuthenticationException)),
        # Paramiko says "no existing session" when its own timer runs out before the server's banner came.
        "no ssh": isinstance(link, SSHException) and ("banner" in text or "no existing session" in text),
    }
    return tests[kind]


def _changed_key(_link: BaseException, settings: Settings) -> LayerError:
    return CredentialError(
        "the host key differs from the known one: another device answers, or the switch was replaced",
        host=f"{settings.host}:{settings.port}",
        thing="known_hosts",
        value=settings.known_hosts or "~/.ssh/known_hosts",
        remedy="compare the fingerprint on the switch's console before you replace the entry",
    )


def _unknown_key(link: BaseException, settings: Settings) -> LayerError:
    key = getattr(link, "offered_key", None)
    name = key.get_name() if key else ""
    return CredentialError(
        f"the host key is not known ({name} {getattr(key, 'fingerprint', '')})",
        host=f"{settings.host}:{settings.port}",
        thing="known_hosts",
        value=settings.known_hosts or "~/.ssh/known_hosts",
        remedy="compare the fingerprint on the switch's console, then add the key: "
        f"ssh-keyscan -p {settings.port} {settings.host} >> {settings.known_hosts or '~/.ssh/known_hosts'}",
    )


def _algorithms(link: BaseException, settings: Settings) -> LayerError:
    return UnreachableError(
        f"no SSH algorithm in common ({' '.join(str(link).split())}): older images offer only SHA-1 key exchange or "
        f"ssh-rsa host keys, which paramiko 5 removed (installed: paramiko {paramiko.__version__})",
        host=f"{settings.host}:{settings.port}",
        thing="ssh",
        remedy="install netmiko[par4], which keeps paramiko 4, or upgrade the switch",
    )


def _login_timeout(_link: BaseException, settings: Settings) -> LayerError:
    return UnreachableError(
        f"no answer to the login within {settings.timeout:g} s",
        host=f"{settings.host}:{settings.port}",
        thing="ssh",
        remedy="look at the switch's console; raise timeout if it is only slow",
    )


def _login(_link: BaseException, settings: Settings) -> LayerError:
    return CredentialError(
        "the login was refused",
        host=f"{settings.host}:{settings.port}",
        thing="user",
        value=settings.username,
        remedy="check username and password",
    )


def _no_ssh(_link: BaseException, settings: Settings) -> LayerError:
    return UnreachableError(
        f"the port is open, but no SSH server answered there within {settings.timeout:g} s",
        host=f"{settings.host}:{settings.port}",
        thing="ssh",
        remedy="check that SSH is enabled on the switch and that this is its port",
    )


# In order: the first cause that is found in the chain of exceptions is the one to tell.
_CAUSES = {
    "changed key": _changed_key,
    "unknown key": _unknown_key,
    "algorithms": _algorithms,
    "login timeout": _login_timeout,
    "login": _login,
    "no ssh": _no_ssh,
}


def _chain(error: BaseException) -> list[BaseException]:
    """The error and what it came from; netmiko raises its own types from inside the handlers of the real ones."""
    links: list[BaseException] = []
    pending: list[BaseException | None] = [error]
    while pending:
        link = pending.pop(0)
        if link is not None and link not in links:
            links.append(link)
            pending += [link.__cause__, link.__context__]
    return links
