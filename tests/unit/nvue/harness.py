"""The layer against the simulator without a network: the session's requests are answered by a function call."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import UnreachableError, converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue.nvue import NvueLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue.rest import API, Endpoint, Session
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted

from lab.nvue.model import Switch
from lab.nvue.server import Api, Cut
from tests.unit.clock import Clock

WANTED = Wanted(vlan=111, ports=("swp1", "swp2", "swp3", "swp4"), mtu=9216)


class Direct(Session):
    """A session whose requests reach the simulator without TLS; ``asked`` has every one of them."""

    def __init__(self, api: Api, clock: Clock) -> None:
        super().__init__(Endpoint("sw02", "cumulus", "secret"), clock)
        self._api = api
        self.asked: list[str] = []

    def _request(self, method: str, path: str, body: Any, query: Mapping[str, Any]) -> Any:
        target = API + path + ("?" + urllib.parse.urlencode(query, doseq=True) if query else "")
        self.asked.append(f"{method} {target}")
        try:
            status, answer = self._api.handle(method, target, json.loads(json.dumps(body)))
        except Cut:
            raise UnreachableError("the connection broke", host="sw02") from None
        return self._judge(status, "" if answer is None else json.dumps(answer), f"{method} {target}")

    @property
    def written(self) -> list[str]:
        return [request for request in self.asked if not request.startswith("GET ")]


class Twin:
    """A simulated switch and its clock."""

    def __init__(self, **options: Any) -> None:
        self.clock = Clock()
        options.setdefault("apply_seconds", 2.0)
        options.setdefault("link_seconds", 1.0)
        self.switch = Switch(clock=self.clock, **options)
        self.api = Api(self.switch)

    def fault(self, **fault: Any) -> None:
        self.switch.faults.inject(fault)

    @property
    def applied(self) -> Any:
        self.switch.advance()
        return self.switch.applied

    def states(self) -> dict[str, str]:
        self.switch.advance()
        return {name: revision.state for name, revision in self.switch.revisions.items()}


class Run:
    """One run of the layer; ``session`` is there afterwards."""

    def __init__(self, twin: Twin, wanted: Wanted = WANTED, check_mode: bool = False, **options: Any) -> None:
        self.session = Direct(twin.api, twin.clock)
        self._check_mode = check_mode
        self._wanted = wanted
        self.layer = NvueLayer(
            "sw02",
            self.session,
            wanted,
            read_only=check_mode,
            clock=twin.clock,
            sleep=twin.clock.sleep,
            **options,
        )

    def __call__(self) -> dict[str, Any]:
        try:
            return converge(self.layer, self._wanted, self._check_mode)
        finally:
            self.layer.close()


def run(twin: Twin, wanted: Wanted = WANTED, check_mode: bool = False, **options: Any) -> dict[str, Any]:
    return Run(twin, wanted, check_mode, **options)()
