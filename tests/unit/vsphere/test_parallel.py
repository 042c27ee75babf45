"""Requests side by side: really at once, in the order given, and one login however many find the session gone."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ApplyError, LayerError, UnreachableError
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.kernel import KernelLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.parallel import (
    WORKERS,
    in_parallel,
    worth_telling,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan import KERNEL_SET, KernelWanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import (
    HOST_UUID,
    Connection,
    SessionLostError,
)

from .fakes import ENDPOINT


def test_as_many_as_there_are_workers_wait_at_the_same_time() -> None:
    all_there = threading.Barrier(WORKERS, timeout=30)
    # One after another, the first would wait here for ever.
    assert in_parallel(lambda item: (all_there.wait(), item)[1], range(WORKERS)) == list(range(WORKERS))


def test_never_more_than_the_workers_at_once() -> None:
    lock, inside, most = threading.Lock(), [0], [0]

    def work(_item: int) -> None:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        threading.Event().wait(0.001)
        with lock:
            inside[0] -= 1

    in_parallel(work, range(4 * WORKERS))
    assert most[0] <= WORKERS


def test_results_stand_in_the_order_of_the_items_whoever_ends_first() -> None:
    last_is_done = threading.Event()

    def work(item: int) -> int:
        if item == 2:
            last_is_done.set()
        else:
            assert last_is_done.wait(30)
        return item

    assert in_parallel(work, [0, 1, 2]) == [0, 1, 2]


def test_an_error_stays_with_its_host_and_another_kind_of_exception_is_raised() -> None:
    def work(item: str) -> str:
        if item == "b":
            raise ApplyError("no", host=item)
        return item

    first, second, third = in_parallel(work, ["a", "b", "c"])
    assert (first, third) == ("a", "c") and isinstance(second, ApplyError) and second.host == "b"
    with pytest.raises(ZeroDivisionError):
        in_parallel(lambda item: 1 // item, [1, 0, 1])


def test_a_silent_vcenter_is_not_asked_for_the_rest() -> None:
    asked = []

    def work(item: int) -> None:
        asked.append(item)
        raise UnreachableError("no answer", host="vcenter")

    outcomes = in_parallel(work, range(10 * WORKERS))
    assert len(asked) <= WORKERS + 1 and outcomes[-1] is None
    assert len(worth_telling(outcomes)) == 1, "the same silence, told once"


def test_a_host_that_vcenter_calls_unreachable_does_not_stop_the_others() -> None:
    def work(item: int) -> int:
        if item == 0:
            raise UnreachableError("not connected", host="esx00", fault="HostNotConnected")
        return item

    assert in_parallel(work, [0, 1, 2])[1:] == [1, 2]


def test_one_login_for_all_that_find_the_session_gone() -> None:
    logins: list[int] = []

    class Session(Connection):
        def open(self) -> Connection:
            logins.append(1)
            self._service = object()
            return self

    connection = Session(ENDPOINT).open()
    old = connection._service
    together = threading.Barrier(8, timeout=30)

    def call() -> Any:
        used = connection._service
        if used is old:
            together.wait()
            raise SessionLostError("gone", host="vcenter")
        return used

    outcomes = in_parallel(lambda _item: connection.once_more(call), range(8))
    assert len(logins) == 2, "the first login, and one renewal"
    assert outcomes == [connection._service] * 8


# ---------------------------------------------------------------- writing kernel settings
ROWS = [{"Name": "atsSupport", "Type": "Bool", "Configured": "FALSE", "Runtime": "FALSE", "Default": "FALSE"}]


class Esxcli:
    """Stands for `Connection`: which hosts refuse, who was written, in which order it began."""

    name = "vcenter"

    def __init__(self, *refusing: str) -> None:
        self.refusing = refusing
        self.began: list[str] = []
        self.configured: dict[str, str] = {}

    def properties(self, hosts: Any, _paths: Any, _doing: str) -> list[dict[str, Any]]:
        return [{HOST_UUID: f"4C4C-{host._moId}"} for host in hosts]

    def run_esxcli(self, _host: Any, name: str, command: str, values: dict[str, str] | None = None) -> Any:
        if command != KERNEL_SET:
            return [{**ROWS[0], "Description": "", "Configured": self.configured.get(name, "FALSE")}]
        self.began.append(name)
        if name in self.refusing:
            raise ApplyError("esxcli: no", host=name)
        self.configured[name] = (values or {})["value"]
        return "true"


class Reference:
    def __init__(self, name: str) -> None:
        self._moId = "host-" + name


def layer(connection: Esxcli, hosts: list[str]) -> tuple[KernelLayer, list[Any]]:
    wanted = KernelWanted({"atsSupport": True})
    made = KernelLayer(connection, [(Reference(name), name) for name in hosts], wanted)  # type: ignore[arg-type]
    return made, made.plan(made.observe(), wanted)


HOSTS = [f"esx{number:02d}" for number in range(40)]


def test_what_the_first_host_refuses_no_other_host_is_asked() -> None:
    connection = Esxcli(*HOSTS)
    kernel, operations = layer(connection, HOSTS)
    with pytest.raises(ApplyError, match="esx00"):
        kernel.apply_all(operations, [])
    assert connection.began == ["esx00"]


def test_every_host_that_refuses_is_named_and_what_was_done_stands_in_order() -> None:
    connection = Esxcli("esx07", "esx31")
    kernel, operations = layer(connection, HOSTS)
    applied: list[Any] = []
    with pytest.raises(LayerError, match=r"2 hosts may not be \(wholly\) changed.*esx07.*esx31") as caught:
        kernel.apply_all(operations, applied)
    assert caught.value.details["failed_hosts"] == ["esx07", "esx31"]
    assert "esx07" in caught.value.details["failed_operation"]
    left = [name for name in HOSTS if name not in ("esx07", "esx31")]
    assert [operation.payload["host"] for operation in applied] == left, "what undo has to take back"
    assert sorted(connection.configured) == left


def test_all_are_written_and_read_back() -> None:
    connection = Esxcli()
    kernel, operations = layer(connection, HOSTS)
    applied: list[Any] = []
    kernel.apply_all(operations, applied)
    assert applied == operations
    state = kernel.observe()
    assert {one.settings["atssupport"].configured for one in state} == {"TRUE"}
    assert [row["esxi_host_uuid"] for row in kernel.facts(state)["hosts"]] == [f"4c4c-host-{name}" for name in HOSTS]
