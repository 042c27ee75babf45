"""A session without SSH: the layer talks to the simulator's command line directly."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import UnreachableError, converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx.layer import SwitchLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted

from lab.switch.grammar import CONFIG, Cli, execute
from lab.switch.state import Switch
from tests.unit.clock import Clock

WANTED = Wanted(vlan=111, vlan_name="rdma", ports=("1/1", "1/2", "1/3", "1/4"), mtu=9216)


class FakeSession:
    """Implements the layer's session; ``sent`` has every configuration line, ``cut_at`` breaks it at the n-th one.

    With ``every_line`` the lines that read count too. Those of the lease stand in ``leases`` and do not count.
    """

    def __init__(self, switch: Switch, cut_at: int = 0, executed: bool = False, every_line: bool = False) -> None:
        self.role = "master"
        self.remarks: list[str] = []
        self.sent: list[str] = []
        self.read: list[str] = []
        self.leases: list[str] = []
        self.closed = False
        self._switch = switch
        self._cli = Cli(switch, mode=CONFIG)
        self._cut_at = cut_at
        self._executed = executed
        self._every_line = every_line

    def _cut(self, line: str) -> None:
        if self.closed:
            raise UnreachableError("the session broke", host="sw01")
        count = len(self.sent) + (len(self.read) if self._every_line else 0)
        if count == self._cut_at:
            self.closed = True
            if self._executed:
                execute(self._cli, line)
            raise UnreachableError("the session broke", host="sw01")

    def show(self, command: str) -> str:
        self.read.append(command)
        if self._every_line:
            self._cut(command)
        return execute(self._cli, command)

    def configure(self, line: str) -> str:
        if "rocemesh-lease" in line:
            self.leases.append(line)
            if self.closed:
                raise UnreachableError("the session broke", host="sw01")
        else:
            self.sent.append(line)
            self._cut(line)
        self._cli.context = ""
        return "\n".join(re.findall(r"(?m)^%.*$", execute(self._cli, line)))

    def close(self) -> None:
        self.closed = True


def new_switch(version: str = "3.10.4006", link_delay: float = 0.0) -> Switch:
    return Switch("sw01", version, 32, link_delay)


class Run:
    """One run of the layer against a switch; sessions in the order in which they were opened."""

    def __init__(
        self,
        switch: Switch,
        wanted: Wanted = WANTED,
        cut_at: int = 0,
        executed: bool = False,
        every_line: bool = False,
        **options: Any,
    ):
        self.sessions: list[FakeSession] = []
        self.clock = Clock()

        def connect() -> FakeSession:
            self.sessions.append(FakeSession(switch, 0 if self.sessions else cut_at, executed, every_line))
            return self.sessions[-1]

        self.layer = SwitchLayer("sw01", connect, wanted, clock=self.clock, sleep=self.clock.sleep, **options)
        self._wanted = wanted

    def __call__(self, check_mode: bool = False) -> dict[str, Any]:
        try:
            return converge(self.layer, self._wanted, check_mode)
        finally:
            self.layer.close()

    @property
    def lines(self) -> int:
        """All lines, those that read included."""
        return sum(len(session.sent) + len(session.read) for session in self.sessions)

    @property
    def sent(self) -> list[str]:
        return [line for session in self.sessions for line in session.sent]
