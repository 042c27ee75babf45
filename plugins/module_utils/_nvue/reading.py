"""What is read from a switch through NVUE's API, and how. Sends nothing but GET."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

from .._layer import ParseError
from .._switch import saving
from . import state as parsing
from . import tree as trees
from .rest import NotFoundError, Session, no_api
from .state import Port, State

_LINK_FACTS = [f"/*/link/{key}" for key in ("mtu", "state", "oper-status", "admin-status", "stats")]


class NvueReader:
    """Readings of one switch. ``domain``: the bridge that VLANs are looked for in."""

    def __init__(self, host: str, client: Session, domain: str) -> None:
        self._host = host
        self._client = client
        self._domain = domain

    def state(self) -> State:
        """The switch, without what is read per port and without what is unsaved."""
        try:
            system = self._client.get("/system")
        except NotFoundError:
            no_api(self._host)
        return parsing.parse_state(
            self._host,
            self._domain,
            system=system,
            applied=self._client.get("/", rev="applied", filled="false"),
            filled_roce=self.optional("/qos/roce", rev="applied"),
            roce=self.optional("/qos/roce"),
            interfaces=self._interfaces(),
        )

    def config(self) -> trees.Tree:
        return parsing.parse_config(self._host, self._client.get("/", rev="applied", filled="false"))

    def optional(self, path: str, **query: Any) -> Any:
        """None where the release, or the present configuration, has no such thing."""
        try:
            return self._client.get(path, **query)
        except NotFoundError:
            return None

    def _interfaces(self) -> Any:
        """Type and link of every interface, and its neighbours; not more, since full answers are very large."""
        interfaces = self._client.get("/interface", include=["/*/type", *_LINK_FACTS])
        neighbors = self.optional("/interface", include=["/*/lldp/neighbor"])
        if not isinstance(interfaces, Mapping):
            raise ParseError("expected interfaces", host=self._host, thing="interface", raw=parsing.raw(interfaces))
        return trees.merge(interfaces, neighbors if isinstance(neighbors, Mapping) else {})

    def links(self) -> dict[str, Port]:
        """The ports with their links alone, for those who wait for them."""
        answer = self._client.get("/interface", include=["/*/type", *_LINK_FACTS])
        return parsing.parse_ports(self._host, {}, answer)

    def with_counters(self, port: Port) -> Port:
        base = f"/interface/{port.name}/qos"
        # "status" and "counters" below "roce" in newer releases, all of it in "roce" itself in older ones.
        status = self.optional(f"{base}/roce/status") or self.optional(f"{base}/roce")
        counters = self.optional(f"{base}/roce/counters") or status
        return dataclasses.replace(
            port,
            pfc=parsing.parse_port_pfc(status),
            counters={**port.counters, **parsing.parse_counters(counters)},
            pfc_watchdog=parsing.parse_watchdog(self.optional(f"{base}/pfc-watchdog")),
        )

    def revisions(self) -> dict[str, str]:
        """id -> state."""
        try:
            answer = self._client.get("/revision")
        except NotFoundError:
            no_api(self._host)
        if not isinstance(answer, Mapping):
            raise ParseError("expected revisions", host=self._host, thing="revision", raw=parsing.raw(answer))
        return {str(name): str(trees.get(facts, "state") or "") for name, facts in answer.items()}

    def diff_lines(self, revision: str, base: str) -> list[str]:
        """``+ nv set ...`` for what ``revision`` has and ``base`` has not (or otherwise), ``- ...`` the other way."""
        added = self._client.get("/", rev=revision, diff=base, filled="false")
        removed = self._client.get("/", rev=base, diff=revision, filled="false")
        return [
            saving.without_secret(f"{sign} {line}")
            for sign, tree in (("-", removed), ("+", added))
            for line in trees.nv_lines("set", parsing.without_empty_branches(_present(tree)))
        ]

    def staged(self, revisions: Mapping[str, str], limit: int) -> dict[str, list[str]]:
        """The last ``limit`` of them that were staged and not applied, with what they change, if anything."""
        pending = [name for name, state in revisions.items() if state == "pending"][-limit:]
        lines = {name: self.diff_lines(name, "applied") for name in pending}
        return {name: changes for name, changes in lines.items() if changes}

    def unsaved_lines(self) -> tuple[str, ...]:
        try:
            return tuple(self.diff_lines("applied", "startup"))
        except NotFoundError:
            return ("(unknown, because there is no start-up configuration)",)


def _present(tree: Any) -> dict[str, Any]:
    """A difference without what the other side alone has (null)."""
    if not isinstance(tree, Mapping):
        return {}
    result = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            inner = _present(value)
            if inner:
                result[key] = inner
        elif value is not None:
            result[key] = value
    return result
