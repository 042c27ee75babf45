"""Kernel settings of one or many ESXi hosts as a layer, over one session.

All hosts are read (side by side), and the whole plan is made, before the first of them is written.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

from .._layer import Layer, LayerError, Operation, Pending, RefusedError, strictest
from .parallel import in_parallel, together, worth_telling
from .plan import KERNEL_LIST, KERNEL_SET, KernelWanted, managed_settings, pending_kernel, plan_kernel, with_configured
from .state import KernelState, parse_kernel_list
from .transport import HOST_UUID, Connection, unanswered, uuid_of


def read_kernel(connection: Connection, host: Any, name: str) -> KernelState:
    return KernelState(name, parse_kernel_list(connection.run_esxcli(host, name, KERNEL_LIST), name))


def several(errors: Sequence[LayerError], host: str) -> LayerError:
    """The same before the first write."""
    return together(errors, host, f"{len(errors)} hosts cannot be handled, so no host was changed")


class KernelLayer(Layer["tuple[KernelState, ...]", KernelWanted]):
    """Configured is ours to set, Runtime follows at the next reboot of the host."""

    def __init__(self, connection: Connection, hosts: Sequence[tuple[Any, str]], wanted: KernelWanted) -> None:
        self._connection = connection
        self._wanted = wanted
        names = [name for _reference, name in hosts]
        self._hosts = [
            (reference, name if names.count(name) == 1 else f"{name} ({reference._moId})") for reference, name in hosts
        ]
        self._references = {name: reference for reference, name in self._hosts}
        rows = connection.properties([reference for reference, _name in hosts], [HOST_UUID], "reading the hosts")
        self._uuids = {name: uuid_of(row) for (_reference, name), row in zip(self._hosts, rows)}
        self._first: dict[str, KernelState] = {}
        self._last: dict[str, KernelState] = {}
        self._touched: set[str] = set()
        self._planned: dict[str, list[str]] | None = None
        self.host = hosts[0][1] if len(hosts) == 1 else connection.name

    def observe(self) -> tuple[KernelState, ...]:
        """All hosts; the second time only those that were written, the others cannot have moved by our hand."""
        due = [host for host in self._hosts if host[1] not in self._last or host[1] in self._touched]
        outcomes = in_parallel(lambda host: read_kernel(self._connection, *host), due)
        errors = worth_telling(outcomes)
        if errors:
            raise several(errors, self._connection.name)
        self._last.update({one.host: one for one in outcomes if isinstance(one, KernelState)})
        self._first = self._first or dict(self._last)
        return tuple(self._last[name] for _reference, name in self._hosts)

    def plan(self, state: tuple[KernelState, ...], wanted: KernelWanted) -> list[Operation]:
        operations: list[Operation] = []
        errors: list[LayerError] = []
        for one in state:
            try:
                operations += [self._named(one.host, operation) for operation in plan_kernel(one, wanted)]
            except RefusedError as error:
                errors.append(error)
        if errors:
            raise several(errors, self._connection.name)
        if self._planned is None:
            self._planned = {}
            for operation in operations:
                self._planned.setdefault(operation.payload["host"], []).append(operation.description)
        return operations

    def _named(self, host: str, operation: Operation) -> Operation:
        """The operation of one host; among several its name comes before every key and command."""
        if len(self._hosts) == 1:
            return operation
        return dataclasses.replace(
            operation,
            command=f"{host}: {operation.command}",
            inverse=f"{host}: {operation.inverse}",
            changes={f"{host} {key}": change for key, change in operation.changes.items()},
        )

    def apply(self, operation: Operation) -> None:
        values = dict(operation.payload)
        host = values.pop("host")
        self._touched.add(host)
        # the command answers "true" even where nothing happened: only reading again counts
        with unanswered():
            self._connection.run_esxcli(self._references[host], host, KERNEL_SET, values)

    def apply_all(self, operations: Sequence[Operation], applied: list[Operation]) -> None:
        """The first host alone, then the others side by side: what every host refuses is refused once."""
        of_host: dict[str, list[Operation]] = {}
        for operation in operations:
            of_host.setdefault(operation.payload["host"], []).append(operation)
        first, *others = of_host
        super().apply_all(of_host[first], applied)
        done: dict[str, list[Operation]] = {host: [] for host in others}
        apply_to_one = super().apply_all
        outcomes = in_parallel(lambda host: apply_to_one(of_host[host], done[host]), others)
        for host in others:
            applied += done[host]
        errors = worth_telling(outcomes)
        if errors:
            left = [host for host in others if len(done[host]) < len(of_host[host])]
            raise together(errors, self._connection.name, f"{len(left)} hosts may not be (wholly) changed", left)

    def _pending_of(self, state: KernelState) -> Pending:
        return pending_kernel(managed_settings(state, self._wanted), state.host)

    def pending(self, state: tuple[KernelState, ...]) -> Pending:
        each = [self._pending_of(one) for one in state]
        return Pending(
            strictest([pending.scope for pending in each]),
            tuple(reason for pending in each for reason in pending.reasons),
        )

    def pending_after(self, state: tuple[KernelState, ...], operations: Sequence[Operation]) -> Pending:
        # a value that is set back to the one in force ends the wait for a reboot
        return self.pending(tuple(with_configured(one, operations) for one in state))

    def _facts_of(self, state: KernelState) -> dict[str, Any]:
        first = self._first.get(state.host, state)
        rows = []
        for setting in managed_settings(state, self._wanted):
            before = first.settings.get(setting.name.lower(), setting)
            row = dataclasses.asdict(setting)
            rows.append({**row, "previous_configured": before.configured, "reboot_required": setting.is_pending})
        return {
            "esxi_host": state.host,
            "esxi_host_moid": self._references[state.host]._moId,
            "esxi_host_uuid": self._uuids[state.host],
            "settings": rows,
        }

    def facts(self, state: tuple[KernelState, ...]) -> dict[str, Any]:
        hosts = []
        for one in state:
            pending = self._pending_of(one)
            hosts.append(
                {
                    **self._facts_of(one),
                    "changes": (self._planned or {}).get(one.host, []),
                    "reboot_required": bool(pending.reasons),
                    "reboot_reasons": list(pending.reasons),
                }
            )
        alone = self._facts_of(state[0]) if len(state) == 1 else {}
        return {**alone, "hosts": hosts}
