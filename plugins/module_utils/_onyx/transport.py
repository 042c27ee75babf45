"""One SSH session with an Onyx command line, on netmiko's driver for it.

Netmiko's own session preparation waits a fixed time for a device that has already spoken, and its reads cannot tell
a broken connection from a slow one. So the driver is subclassed: netmiko connects, and the conversation is led here,
with the exact prompt of this switch as the end of every answer.
"""

from __future__ import annotations

import re
import time
import traceback
from typing import Any

from .._layer import ApplyError, CredentialError, LayerError, RefusedError, UnreachableError
from .._switch import ssh
from .._switch.ssh import Settings
from .state import ERROR_RE

IMPORT_ERROR = ssh.IMPORT_ERROR
try:
    from netmiko.exceptions import NetmikoBaseException, ReadException, WriteException
    from netmiko.mellanox.mellanox_mlnxos_ssh import MellanoxMlnxosSSH
    from paramiko.ssh_exception import SSHException
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


class OnyxSession:
    """Logged in, paging off, enable mode. Configuration mode is entered when the first line needs it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.host = settings.host
        self.role = ""  # master, standby, unknown, or "" if the prompt does not say
        self.remarks: list[str] = []  # answers to configuration lines that are neither silence nor an error
        self._buffer = ""
        self._hostname: str | None = None  # None: not learned yet
        self._seen_hostname = ""
        self._mode = ""  # "", or the text in the prompt's parentheses
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
        """Read into the buffer until the prompt is at its end, and take mode and role from it.

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
        """Screens that wait for an answer that this program must not give by itself."""
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
        """The text that a read command prints, errors included."""
        return self._send(command)

    def configure(self, line: str) -> str:
        """Send one configuration line; the switch's error text, or "" if it was accepted."""
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
    ssh.check_known_hosts(settings)
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
        raise ssh.explain(error, settings) from None


def _driver(host_key_checking: bool) -> Any:
    """The driver class; defined on demand, because its bases exist only where netmiko is installed."""

    class OnyxConnection(MellanoxMlnxosSSH):
        """Connects and stops there: no wait of fixed length, no command."""

        def _build_ssh_client(self) -> Any:
            client = super()._build_ssh_client()
            client.set_missing_host_key_policy(ssh.policy(host_key_checking))
            return client

        def _try_session_preparation(self, force_data: bool = True) -> None:
            return None

        def cleanup(self, command: str = "exit") -> None:
            """Closing the channel ends the session; words of farewell would each wait for an answer."""

    return OnyxConnection
