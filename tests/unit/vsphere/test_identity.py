"""Whichever server answers, ids that were read on another one are refused, also when a session is renewed."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError, RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere import arguments, transport
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import Connection, SessionLostError

from tests.unit.vsphere.fakes import ENDPOINT


class Servers:
    """Each login is answered by the next of ``uuids``; a standalone host has no UUID of its own but ``hardware``."""

    def __init__(self, *uuids: str, hardware: str = "") -> None:
        self.uuids, self.hardware = list(uuids), hardware
        self.logouts = self.dropped = 0

    def connect(self, **_login: Any) -> Any:
        about = SimpleNamespace(instanceUuid=self.uuids.pop(0), apiType="VirtualCenter", fullName="VMware vCenter 8.0")
        manager = SimpleNamespace(Logout=self._logout)
        content = SimpleNamespace(about=about, sessionManager=manager)
        stub = SimpleNamespace(poolSize=0, DropConnections=self._drop)
        return SimpleNamespace(_stub=stub, RetrieveContent=lambda: content)

    def _logout(self) -> None:
        self.logouts += 1
        raise OSError("a session that cannot be ended")

    def _drop(self) -> None:
        self.dropped += 1


def connection(servers: Servers, monkeypatch: pytest.MonkeyPatch, instance: str = "") -> Connection:
    monkeypatch.setattr(transport, "pyvim_connect", SimpleNamespace(SmartConnect=servers.connect))
    made = Connection(dataclasses.replace(ENDPOINT, instance=instance))
    rows = [(None, {"hardware.systemInfo.uuid": servers.hardware})] if servers.hardware else []
    monkeypatch.setattr(made, "_listed_once", lambda _kinds: rows)
    return made


def test_first_login_to_another_vcenter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its session is never used again, also where it could not be ended."""
    servers = Servers("B", "B", "B")
    made = connection(servers, monkeypatch, "a")
    with pytest.raises(RefusedError) as refused:
        made.open()
    assert "vCenter a;" in str(refused.value) and "nothing was changed" in str(refused.value)
    for use in (lambda: made.content, lambda: made.reference("vm", "vm-1")):
        with pytest.raises(RefusedError):
            use()
    assert servers.logouts == servers.dropped == 3


def test_renewed_session_of_a_standalone_host_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody has asked for the first UUID."""
    servers = Servers("", "", hardware="ABC")
    made = connection(servers, monkeypatch).open()
    monkeypatch.setattr(made, "_listed_once", lambda _kinds: [(None, {"hardware.systemInfo.uuid": "DEF"})])
    with pytest.raises(RefusedError):
        made.reopen()


def test_empty_uuid_is_refused_and_not_taken_for_any() -> None:
    given = {"hostname": "vc", "vcenter_uuid": ""}
    with pytest.raises(RefusedError, match="vcenter_uuid: it is empty"):
        arguments.endpoint_from(given)


@pytest.mark.parametrize("instance", ["", "a"])
def test_a_renewed_session_is_of_the_same_vcenter(monkeypatch: pytest.MonkeyPatch, instance: str) -> None:
    servers = Servers("A", "A", "B", "B")
    made = connection(servers, monkeypatch, instance).open()
    made.reopen()
    assert made.instance == "a"
    with pytest.raises(RefusedError) as refused:
        made.reopen()
    assert "vCenter a;" in str(refused.value) and "nothing was changed" not in str(refused.value)

    # Another thread that comes late gets the same words, and no exception of another kind.
    def call() -> None:
        raise SessionLostError("ended", host="vc")

    with pytest.raises(RefusedError):
        made.once_more(call)


def test_a_standalone_host_is_known_by_its_hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    assert connection(Servers("", hardware="ABC"), monkeypatch).open().instance == "abc"
    assert connection(Servers("", hardware="ABC"), monkeypatch, "abc").open().instance == "abc"
    with pytest.raises(RefusedError):
        connection(Servers("", hardware="ABC"), monkeypatch, "a").open()


@pytest.mark.parametrize("instance", ["", "a"])
def test_a_server_without_any_uuid_cannot_be_recognized(monkeypatch: pytest.MonkeyPatch, instance: str) -> None:
    with pytest.raises(ParseError):
        assert not connection(Servers(""), monkeypatch, instance).open().instance
