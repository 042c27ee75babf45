"""Commands that only read, each in an SSH channel of its own without a terminal: no paging, no prompt, no mode."""

from __future__ import annotations

import json
import re
import threading
import time
from typing import Any, Callable, Mapping

from .._layer import LayerError, ParseError, RefusedError, UnreachableError
from . import ssh

try:
    import paramiko
    from paramiko.ssh_exception import SSHException
except ImportError:  # ssh.IMPORT_ERROR says it
    pass

# Nothing that writes begins so; a line break, a semicolon or a redirection could make a second command of it.
_READS = re.compile(r"(?:show [A-Za-z0-9 ./_|,-]+|cat /etc/sonic/config_db\.json)")
# A whole configuration holds secrets: of one that cannot be read, no message shows any of it.
_CONFIGURATION = re.compile(r"show running|cat ")
# NX-OS puts a line with a caret before its error. A line further down that begins so may be part of a banner.
_ERROR = re.compile(r"[\s^]*% ?(.+)")
_POLL_SECONDS = 0.01
_CHUNK = 65536
# The most that a switch is listened to; the running configuration of a large one has about a megabyte.
_MOST_BYTES = 64 << 20


Show = Callable[[str], str]  # command -> the text that it prints, errors included


class Commands:
    """One login; as many commands as wanted. A `Show`."""

    def __init__(self, settings: ssh.Settings) -> None:
        self._settings = settings
        self._client = self._connect()

    def _connect(self) -> Any:
        settings = self._settings
        ssh.check_known_hosts(settings)
        client = paramiko.SSHClient()
        client.set_missing_host_key_policy(ssh.policy(settings.host_key_checking))
        try:
            if settings.host_key_checking and settings.known_hosts:
                client.load_host_keys(settings.known_hosts)
            elif settings.host_key_checking:
                client.load_system_host_keys()
            client.connect(
                settings.host,
                port=settings.port,
                username=settings.username,
                password=settings.password,
                timeout=settings.timeout,
                banner_timeout=settings.timeout,
                auth_timeout=settings.timeout,
                look_for_keys=False,
                allow_agent=False,
            )
        except (SSHException, OSError, EOFError) as error:
            client.close()
            raise ssh.explain(error, settings) from None
        return client

    def __call__(self, command: str) -> str:
        if not _READS.fullmatch(command):
            raise RefusedError(
                "not a command that only reads",
                host=self._settings.host,
                thing="command",
                value=command,
                remedy="report this",
            )
        try:
            return self._run(command)
        except (SSHException, OSError, EOFError) as error:
            raise UnreachableError(
                f"the session broke while {command!r} was read ({error or type(error).__name__})",
                host=self._settings.host,
                remedy="run this again; it only reads",
            ) from None

    def _channel(self) -> Any:
        try:
            return self._client.get_transport().open_session(timeout=self._settings.timeout)
        except (SSHException, EOFError):
            # A switch may grant one channel for each login.
            self._client.close()
            self._client = self._connect()
            return self._client.get_transport().open_session(timeout=self._settings.timeout)

    def _run(self, command: str) -> str:
        channel = self._channel()
        channel.set_combine_stderr(True)
        self._send(channel, command)
        data, heard = bytearray(), time.monotonic()
        while True:
            over = channel.closed or channel.eof_received  # the status may come before the rest of the text
            if channel.recv_ready():
                data += channel.recv(_CHUNK)
                heard = time.monotonic()
                if len(data) > _MOST_BYTES:
                    raise self._unfinished(command, f"printed more than {_MOST_BYTES >> 20} MiB")
            elif over:
                break
            elif time.monotonic() - heard > self._settings.timeout:
                raise self._unfinished(command, f"was silent for {self._settings.timeout:g} s")
            else:
                time.sleep(_POLL_SECONDS)
        if not channel.eof_received and self._client.get_transport().saved_exception:
            raise EOFError("in the middle of the answer")
        channel.close()
        return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "")

    def _send(self, channel: Any, command: str) -> None:
        """paramiko waits for ever for a switch that neither takes nor refuses a command; a closed channel ends that."""
        late = threading.Event()

        def give_up() -> None:
            late.set()
            channel.close()

        watch = threading.Timer(self._settings.timeout, give_up)
        watch.daemon = True
        watch.start()
        try:
            channel.exec_command(command)
        except (SSHException, EOFError):
            if not late.is_set():
                raise
        finally:
            watch.cancel()
            watch.join()  # one that has begun closes the channel, and what is read of that is no whole answer
        if late.is_set():
            raise self._unfinished(command, f"was silent for {self._settings.timeout:g} s")

    def _unfinished(self, command: str, what: str) -> LayerError:
        return UnreachableError(
            f"the switch {what} while {command!r} was read",
            host=self._settings.host,
            remedy="look at the switch's console; raise timeout if it is only slow",
        )

    def close(self) -> None:
        self._client.close()


def json_of(host: str, command: str, text: str) -> Any:
    """The JSON that a command printed, perhaps between lines for people. Raises `ParseError`."""
    start = re.search(r"^\s*[{\[]", text, re.MULTILINE)
    try:
        return json.JSONDecoder().raw_decode(text[start.start() if start else 0 :].lstrip())[0]
    except ValueError:
        raw = f"{len(text)} characters" if _CONFIGURATION.match(command) else text
        raise ParseError(f"no JSON from {command!r}", host=host, raw=raw) from None


def error_in(text: str) -> str:
    """What an answer says that is an error and nothing else, as EOS and NX-OS begin one; "" for any other answer."""
    match = _ERROR.match(text)
    return match[1].strip() if match else ""


def answered(host: str, command: str, text: str) -> str:
    """The answer itself. Raises `ParseError` if it is an error."""
    if error := error_in(text):
        raise ParseError(f"{command!r} was not answered", host=host, raw=error)
    return text


def counts(printed: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, int]:
    """Name -> what the switch calls it. Only those that are there: what does not count prints "-" or nothing."""
    found = {name: str(printed.get(key, "")) for name, key in names.items()}
    return {name: int(value) for name, value in found.items() if value.isdigit()}


def rows(host: str, table: Any, *path: str) -> list[dict[str, Any]]:
    """The rows of a table within tables as NX-OS prints them: a single row is no list, an empty table is not there."""
    found = [table]
    for name in path:
        below: list[Any] = []
        for each in found:
            if not isinstance(each, dict):
                raise ParseError(f"{'/'.join(path)} is no table", host=host, raw=json.dumps(table)[:2000])
            inner = each.get(name)
            below += inner if isinstance(inner, list) else [] if inner in (None, "") else [inner]
        found = below
    return [each for each in found if isinstance(each, dict)]
