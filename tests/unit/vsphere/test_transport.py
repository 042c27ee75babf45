from __future__ import annotations

import datetime
import http.client
import ssl
import xml.parsers.expat
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    ApplyError,
    CredentialError,
    LayerError,
    UnreachableError,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere import transport
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import (
    Connection,
    Endpoint,
    GoneError,
    SessionLostError,
    fault_text,
    ssl_context,
    translated,
    vim,
    vmodl,
)

from tests.unit.clock import Clock

ENDPOINT = Endpoint("vcenter.example.org", "user", "secret")


def test_password_is_not_in_the_text_of_an_endpoint() -> None:
    assert "secret" not in repr(ENDPOINT)


def test_certificates_are_verified_unless_switched_off() -> None:
    context = ssl_context(ENDPOINT)
    assert context.verify_mode is ssl.CERT_REQUIRED and context.check_hostname
    assert ssl_context(Endpoint("h", "u", "p", validate_certs=False)).verify_mode is ssl.CERT_NONE


@pytest.mark.parametrize(
    ("raised", "expected", "text"),
    [
        (ConnectionRefusedError(111, "refused"), UnreachableError, "ConnectionRefusedError"),
        (TimeoutError("timed out"), UnreachableError, "timed out"),
        (http.client.RemoteDisconnected("gone"), UnreachableError, "RemoteDisconnected"),
        (ssl.SSLEOFError(8, "EOF"), UnreachableError, "SSLEOFError"),
        (Exception("x:443 is down or is not a VIM server"), UnreachableError, "not a VIM server"),
        (vim.fault.InvalidLogin(msg="Cannot complete login"), CredentialError, "InvalidLogin: Cannot complete login"),
        (vim.fault.NoPermission(privilegeId="Host.Config.Maintenance"), CredentialError, "privilege Host.Config.Maint"),
        (vim.fault.NotAuthenticated(), SessionLostError, "NotAuthenticated"),
        (vmodl.fault.HostNotConnected(msg="no"), UnreachableError, "HostNotConnected"),
        (vmodl.fault.HostCommunication(), UnreachableError, "HostCommunication"),
        (vim.fault.InvalidState(), ApplyError, "InvalidState: no message"),
    ],
)
def test_whatever_goes_wrong_names_host_and_reason(raised: Exception, expected: type[LayerError], text: str) -> None:
    with pytest.raises(expected) as caught, translated("esx01", "doing it"):
        raise raised
    assert str(caught.value).startswith("esx01") and text in str(caught.value)
    assert "What to do:" in str(caught.value)


def test_errors_of_this_code_are_not_hidden() -> None:
    with pytest.raises(KeyError), translated("esx01", "doing it"):
        raise KeyError("bug")


def test_reason_and_further_messages_of_a_fault_are_kept() -> None:
    fault = vim.fault.GenericVmConfigFault(
        msg="Module failed.", reason="mmio", faultMessage=[vmodl.LocalizableMessage(key="k", message="too many pages")]
    )
    assert fault_text(fault) == "GenericVmConfigFault: Module failed; too many pages; mmio"


class Scripted(Connection):
    """A connection whose reads come from a list of answers; the last one repeats."""

    def __init__(self, *answers: Any) -> None:
        self.time = Clock()
        super().__init__(ENDPOINT, clock=self.time, sleep=self.time.sleep)
        self.answers = list(answers)
        self.logins = 0
        self.cancelled = 0
        self._service = object()

    def open(self) -> Connection:
        self.logins += 1
        self._service = object()
        return self

    def reference(self, kind: str, moid: str) -> Any:
        def cancel() -> None:
            self.cancelled += 1

        return SimpleNamespace(CancelTask=cancel, _moId=moid)

    def read(self, *_: Any) -> Any:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


RUNNING, DONE = {"info.state": "running"}, {"info.state": "success"}
TASK = SimpleNamespace(_moId="task-1")


def test_task_is_waited_for_and_a_lost_session_renewed() -> None:
    connection = Scripted(RUNNING, SessionLostError("gone", host="vc"), UnreachableError("cut", host="vc"), DONE)
    connection.wait(TASK, "reboot", "esx01", 60)
    assert connection.logins == 2


@pytest.mark.parametrize("cancel", [True, False])
def test_task_that_takes_too_long_is_cancelled_if_asked(cancel: bool) -> None:
    connection = Scripted(RUNNING)
    with pytest.raises(ApplyError, match="not done after 30 s"):
        connection.wait(TASK, "enter", "esx01", 30, cancel=cancel)
    assert connection.time.now == pytest.approx(30)
    assert connection.cancelled == int(cancel)


def test_failed_task_keeps_its_sentence() -> None:
    error = SimpleNamespace(fault=vim.fault.InvalidState(), localizedMessage="not in this state")
    connection = Scripted({"info.state": "error", "info.error": error})
    with pytest.raises(ApplyError, match="InvalidState: not in this state"):
        connection.wait(TASK, "enter", "esx01", 30)


def test_persistence_ends_with_the_deadline() -> None:
    connection = Scripted(UnreachableError("cut", host="vc"))
    ask: Callable[[], Any] = connection.read
    with pytest.raises(UnreachableError):
        connection.persistently(ask, deadline=5)
    assert connection.time.now == pytest.approx(5)


ROTATED = ssl.SSLCertVerificationError(1, "certificate verify failed")
ROTATED.verify_message = "self-signed certificate"


@pytest.mark.parametrize("raised", [ROTATED, TimeoutError("timed out"), vmodl.fault.HostCommunication()])
def test_request_without_answer_is_not_known_to_be_carried_out(raised: Exception) -> None:
    """Neither that it was sent nor that it was not: a certificate may be another one at the next connection."""

    def call() -> None:
        raise raised

    with pytest.raises(UnreachableError, match=r"reboot it: .*Whether it was carried out is not known") as lost:
        Connection(ENDPOINT).start("esx01", "reboot it", call)
    assert "nothing was" not in str(lost.value).lower()
    with pytest.raises(UnreachableError) as read:
        Connection(ENDPOINT).ask("esx01", "reading it", call)
    assert "not known" not in str(read.value)


def test_fault_is_an_answer_to_a_request() -> None:
    def call() -> None:
        raise vmodl.fault.HostNotConnected(msg="no")

    with pytest.raises(UnreachableError) as refused:
        Connection(ENDPOINT).start("esx01", "reboot it", call)
    assert "not known" not in str(refused.value)


def test_login_claims_that_nothing_was_changed_only_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(**_login: Any) -> Any:
        raise vim.fault.InvalidLogin(msg="expired")

    monkeypatch.setattr(transport, "pyvim_connect", SimpleNamespace(SmartConnect=connect))
    connection = Connection(ENDPOINT)
    with pytest.raises(CredentialError, match=r"Nothing was changed\.$"):
        connection.open()
    connection.instance = "a"
    with pytest.raises(CredentialError) as later:
        connection.reopen()
    assert "othing was changed" not in str(later.value)


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (http.client.RemoteDisconnected("gone"), UnreachableError),
        (xml.parsers.expat.ExpatError("no element"), UnreachableError),
        (vim.fault.NoPermission(privilegeId="System.View"), None),
    ],
)
def test_events_of_a_vm_that_cannot_be_read_are_an_error_like_any_other(raised: Exception, expected: Any) -> None:
    def query(**_spec: Any) -> Any:
        raise raised

    connection = Connection(ENDPOINT)
    events = SimpleNamespace(QueryEvents=query)
    connection._service = object()
    connection._content = SimpleNamespace(about=SimpleNamespace(apiType="VirtualCenter"), eventManager=events)
    vm, since = vim.VirtualMachine("vm-1"), datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    if expected is None:
        assert connection.keys_changed_since(vm, since) is None
        return
    with pytest.raises(expected, match="reading the events of the VM"):
        connection.keys_changed_since(vm, since)


def test_a_host_that_booted_is_asked_by_another_executer_if_the_old_one_is_gone() -> None:
    class Executer:
        def ExecuteSoap(self, **_call: Any) -> Any:
            raise vmodl.fault.ManagedObjectNotFound()

    connection = Connection(ENDPOINT)
    connection._service = SimpleNamespace(_stub=None)
    connection._executers = {"host-1": Executer(), "host-2": Executer()}
    transport._executer_type()
    with pytest.raises(GoneError):
        connection.run_esxcli(SimpleNamespace(_moId="host-1"), "esx01", "system.settings.kernel.list")
    assert list(connection._executers) == ["host-2"]


def test_every_page_is_read_and_names_are_as_the_vsphere_client_shows_them() -> None:
    class Collector:
        def __init__(self) -> None:
            self.pages = [("vm-1", "AI%2ftrain%5c1", ""), ("vm-2", "100%25", "1")]

        def RetrievePropertiesEx(self, specSet: Any, options: Any) -> Any:
            return self.ContinueRetrievePropertiesEx("")

        def ContinueRetrievePropertiesEx(self, token: str) -> Any:
            moid, name, _wanted = next(page for page in self.pages if page[2] == token)
            row = SimpleNamespace(obj=vim.VirtualMachine(moid), propSet=[SimpleNamespace(name="name", val=name)])
            row.missingSet = []
            return SimpleNamespace(objects=[row], token="" if token else "1")

    connection = Connection(ENDPOINT)
    connection._service, connection._content = object(), SimpleNamespace(propertyCollector=Collector())
    machines = [vim.VirtualMachine(f"vm-{number}") for number in (1, 2)]
    assert connection.properties(machines, ["name"]) == [{"name": "AI/train\\1"}, {"name": "100%"}]
