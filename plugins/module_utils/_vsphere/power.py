"""Power of one VM, with the waiting that vSphere leaves to the caller. A lost answer is followed to its end."""

from __future__ import annotations

from typing import Any, Callable

from .._layer import ApplyError, LayerError, UnreachableError, VerifyError
from .transport import PATIENCE, Connection


class VmPower:
    def __init__(self, connection: Connection, moid: str, name: str) -> None:
        self._connection = connection
        self._moid = moid
        self._name = name

    def _reference(self) -> Any:
        return self._connection.reference("vm", self._moid)

    def _read_state(self) -> str:
        row = self._connection.read(self._reference(), ["runtime.powerState"], "reading the power state")
        return str(row.get("runtime.powerState", ""))

    def state(self, deadline: float) -> str:
        return str(self._connection.persistently(self._read_state, deadline))

    def present_state(self) -> str:
        """The power state as far as there is an answer; "" without one."""
        try:
            return self.state(self._connection.clock() + PATIENCE)
        except LayerError:
            return ""

    def _carry_out(self, doing: str, call: Callable[[], Any], power: str, timeout: float) -> None:
        """Start a task and wait for it. Where the connection broke, the VM itself says whether it was carried out."""

        def reached() -> bool:
            return self._read_state() == power

        try:
            task = self._connection.start(self._name, doing, call)
            self._connection.wait(task, doing, self._name, timeout, reached=reached)
        except UnreachableError:
            if not self._connection.followed(reached, timeout):
                raise
        except ApplyError:
            if self.state(self._connection.clock() + timeout) != power:  # another client, or the guest, may be faster
                raise

    def _host(self, deadline: float) -> str:
        """Managed object id of the host that the VM is registered on."""
        row = self._connection.persistently(
            lambda: self._connection.read(self._reference(), ["runtime.host"], "reading the host of the VM"), deadline
        )
        return str(getattr(row.get("runtime.host"), "_moId", "") or "")

    def on(self, timeout: float) -> None:
        """Power on where the VM is, and look afterwards whether it is on, there.

        Without a host, a DRS cluster may move the VM at power-on, away from the devices and nodes that its file names.
        PowerOnMultiVM_Task, which the API recommends, takes no host at all.
        """
        deadline = self._connection.clock() + timeout
        host = self._host(deadline)
        doing = f"power on {self._name}"

        def call() -> Any:
            there = {"host": self._connection.reference("host", host)} if host and self._connection.is_vcenter else {}
            return self._reference().PowerOnVM_Task(**there)

        self._carry_out(doing, call, "poweredOn", timeout)
        self._check(host, self._connection.clock() + timeout)

    def _check(self, wanted_host: str, deadline: float) -> None:
        if self.state(deadline) != "poweredOn":
            raise VerifyError(
                "vSphere reported that it was powered on, and it is off",
                host=self._name,
                thing="VM",
                remedy="read its events in the vSphere client: something switched it off at once",
            )
        host = self._host(deadline)
        if host != wanted_host:
            names = {moid: self._host_name(moid) for moid in (host, wanted_host)}
            raise VerifyError(
                f"it was powered on on host {names[host]} and not on {names[wanted_host]}, where it was; NUMA nodes "
                f"and GPU addresses in its file are those of {names[wanted_host]}",
                host=self._name,
                thing="VM",
                value=names[host],
                remedy=f"shut it down, migrate it back to {names[wanted_host]} and run again, or run again as it is to "
                f"make its keys for {names[host]}; a VM override of DRS (manual or disabled) keeps it in its place",
            )

    def _host_name(self, moid: str) -> str:
        row = self._connection.read(self._connection.reference("host", moid), ["name"], "reading the name of a host")
        return str(row.get("name", moid))

    def cut(self, timeout: float) -> None:
        doing = f"cut the power of {self._name}"
        self._carry_out(doing, lambda: self._reference().PowerOffVM_Task(), "poweredOff", timeout)

    def shut_down(self, timeout: float) -> None:
        """Ask the guest, then watch the power state: the call itself returns at once."""
        connection = self._connection
        deadline = connection.clock() + timeout
        doubt = ""
        try:
            connection.start(self._name, "shut down the guest", lambda: self._reference().ShutdownGuest())
        except UnreachableError as error:
            doubt = f" (the answer to that was lost, perhaps also the question: {error})"
        while self.state(deadline) == "poweredOn":
            if connection.clock() >= deadline:
                raise ApplyError(
                    f"the guest was asked to shut down and is still running after {timeout:.0f} s{doubt}",
                    host=self._name,
                    remedy="look at its console for what keeps it up, or raise the timeout",
                )
            connection.sleep(0.5)
