"""Failed connections: the message names the cause, whatever netmiko calls it, and never the password. Only reading."""

from __future__ import annotations

import dataclasses
import socket
import threading
import types

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    CredentialError,
    LayerError,
    ParseError,
    RefusedError,
    UnreachableError,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.commands import (
    Commands,
    error_in,
    json_of,
    rows,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.ssh import Settings, explain
from netmiko.exceptions import NetmikoAuthenticationException, NetmikoTimeoutException
from paramiko import RSAKey
from paramiko.ssh_exception import AuthenticationException, BadHostKeyException, IncompatiblePeer, SSHException

SETTINGS = Settings(host="sw01", username="admin", password="do-not-show", port=2222, timeout=7)


@pytest.fixture(scope="module")
def key() -> RSAKey:
    return RSAKey.generate(2048)


def as_netmiko_raises(outer: type[Exception], inner: Exception) -> Exception:
    """Netmiko raises its own exception from inside the handler of paramiko's."""
    try:
        try:
            raise inner
        except Exception:
            raise outer(  # noqa: B904 (netmiko does not say "from" either)
                "TCP connection to device failed." if outer is NetmikoTimeoutException else "Authentication"
            )
    except Exception as error:
        return error


def unknown(key: RSAKey) -> SSHException:
    error = SSHException("unknown host key")
    error.offered_key = key  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize(
    ("inner", "kind", "words"),
    [
        (IncompatiblePeer("Incompatible ssh peer (no acceptable kex algorithm)"), UnreachableError, "netmiko[par4]"),
        (SSHException("Incompatible ssh peer (no acceptable host key)"), UnreachableError, "SHA-1"),
        (
            SSHException("Error reading SSH protocol banner"),
            UnreachableError,
            "no SSH server answered there within 7 s",
        ),
        (SSHException("No existing session"), UnreachableError, "no SSH server answered there within 7 s"),
        (AuthenticationException("Authentication timeout."), UnreachableError, "no answer to the login within 7 s"),
        (ConnectionRefusedError(111, "Connection refused"), UnreachableError, "Connection refused"),
        (socket.timeout("timed out"), UnreachableError, "timed out"),
        (EOFError(), UnreachableError, "EOFError"),
    ],
)
def test_the_cause_is_named_although_netmiko_calls_it_a_timeout(
    inner: Exception, kind: type[LayerError], words: str
) -> None:
    error = explain(as_netmiko_raises(NetmikoTimeoutException, inner), SETTINGS)
    assert error.__class__ is kind
    assert words in str(error) and "sw01:2222" in str(error) and "What to do:" in str(error)
    assert "do-not-show" not in str(error)


def test_an_unknown_host_key_is_shown_with_its_fingerprint(key: RSAKey) -> None:
    error = explain(as_netmiko_raises(NetmikoTimeoutException, unknown(key)), SETTINGS)
    assert isinstance(error, CredentialError)
    assert key.fingerprint in str(error) and "ssh-keyscan -p 2222 sw01" in str(error)


def test_a_changed_host_key_is_no_unknown_one(key: RSAKey) -> None:
    other = RSAKey.generate(2048)
    error = explain(as_netmiko_raises(NetmikoTimeoutException, BadHostKeyException("sw01", key, other)), SETTINGS)
    assert isinstance(error, CredentialError) and "differs" in str(error)


def test_a_refused_login_names_the_user_and_not_the_password() -> None:
    inner = AuthenticationException("Authentication failed.")
    error = explain(as_netmiko_raises(NetmikoAuthenticationException, inner), SETTINGS)
    assert isinstance(error, CredentialError)
    assert "'admin'" in str(error) and "do-not-show" not in str(error)


def test_the_password_is_not_in_the_settings_text() -> None:
    assert "do-not-show" not in repr(SETTINGS)


@pytest.mark.parametrize(
    "command",
    [
        "configure terminal",
        "show version; reload",
        "show version\nreload",
        "show version > flash:file",
        "show version | redirect bootflash:`x`",
        "cat /etc/shadow",
        "cat /etc/sonic/config_db.json /etc/shadow",
        "sudo config save",
        "",
    ],
)
def test_a_session_that_reads_sends_nothing_else(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Commands, "_connect", lambda self: None)
    with pytest.raises(RefusedError, match="that only reads"):
        Commands(SETTINGS)(command)


def test_json_is_read_behind_lines_for_people() -> None:
    assert json_of("sw01", "show it", 'Warning: soon\n  {"a": 1}\n') == {"a": 1}
    for text in ("", "% no", "{broken"):
        with pytest.raises(ParseError, match="no JSON from 'show it'"):
            json_of("sw01", "show it", text)


def test_json_is_read_before_lines_for_people() -> None:
    assert json_of("sw01", "show it", '{"a": {"b": 1}}\nDone.\n') == {"a": {"b": 1}}


@pytest.mark.parametrize(
    "command", ["show running-config", "show runningconfiguration all", "cat /etc/sonic/config_db.json"]
)
def test_a_configuration_that_cannot_be_read_is_not_shown(command: str) -> None:
    text = '{"TACPLUS": {"global": {"passkey": "Not-to-be-seen-4712"}'
    with pytest.raises(ParseError, match=f"the raw text was: '{len(text)} characters'") as caught:
        json_of("sw01", command, text)
    assert "4712" not in str(caught.value.as_result())


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("% Invalid input (at token 1: 'qos')\n", "Invalid input (at token 1: 'qos')"),
        ("                  ^\n% Invalid command at '^' marker.\n", "Invalid command at '^' marker."),
        ("banner motd\n% keep out\nEOF\nusername admin secret sha512 $6$x\n", ""),
        ("", ""),
    ],
    ids=["EOS", "NX-OS", "banner", "nothing"],
)
def test_an_error_is_an_answer_that_begins_as_one(text: str, error: str) -> None:
    assert error_in(text) == error


class Mute:
    """A switch that neither takes nor refuses a command: as in paramiko, the wait ends when the channel is closed."""

    def __init__(self) -> None:
        self._closed = threading.Event()

    def set_combine_stderr(self, _on: bool) -> None:
        pass

    def exec_command(self, _command: str) -> None:
        assert self._closed.wait(20), "nobody ended the wait"
        raise SSHException("Channel closed.")

    def close(self) -> None:
        self._closed.set()


def test_a_switch_that_does_not_take_a_command_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Commands, "_connect", lambda self: None)
    monkeypatch.setattr(Commands, "_channel", lambda self: Mute())
    with pytest.raises(UnreachableError, match=r"silent for 0\.1 s while 'show version'"):
        Commands(dataclasses.replace(SETTINGS, timeout=0.1))("show version")


class Late(Mute):
    """A command that has ended, and whose text is still on its way: OpenSSH sends the status before the last of it."""

    closed = False

    def __init__(self) -> None:
        super().__init__()
        self._looks = iter([False, True, False, True])
        self._texts = [b"one\n", b"two\n"]

    @property
    def eof_received(self) -> bool:
        return not self._texts

    def exec_command(self, _command: str) -> None:
        pass

    def exit_status_ready(self) -> bool:
        return True

    def recv_ready(self) -> bool:
        return next(self._looks, False)

    def recv(self, _size: int) -> bytes:
        return self._texts.pop(0)


def test_a_status_is_not_the_end_of_what_a_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Commands, "_connect", lambda self: None)
    monkeypatch.setattr(Commands, "_channel", lambda self: Late())
    assert Commands(SETTINGS)("show version") == "one\ntwo\n"


def test_half_an_answer_of_a_broken_session_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Late()
    broken.closed, broken._looks = True, iter([True])
    client = types.SimpleNamespace(get_transport=lambda: types.SimpleNamespace(saved_exception=EOFError()))
    monkeypatch.setattr(Commands, "_connect", lambda self: client)
    monkeypatch.setattr(Commands, "_channel", lambda self: broken)
    with pytest.raises(UnreachableError, match="session broke"):
        Commands(SETTINGS)("show version")


def test_rows_of_a_table_are_a_list_of_one_or_nothing() -> None:
    table = {"TABLE_a": {"ROW_a": [{"TABLE_b": {"ROW_b": {"x": 1}}}, {"TABLE_b": ""}, {}]}}
    assert rows("sw01", table, "TABLE_a", "ROW_a", "TABLE_b", "ROW_b") == [{"x": 1}]
    with pytest.raises(ParseError, match="is no table"):
        rows("sw01", {"TABLE_a": 7}, "TABLE_a", "ROW_a")
