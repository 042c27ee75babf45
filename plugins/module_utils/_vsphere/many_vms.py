"""Many VMs in one session, read only: few calls for all of them, and one for the events of each VM that is on."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from .._layer import LayerError, converge
from .inventory import HostInventory, inventories
from .keys import VmxWanted
from .layers import VM_PATHS, VmxLayer
from .parallel import in_parallel, is_silence
from .transport import Connection

AT_ONCE = 64


def read_vms(connection: Connection, wishes: Sequence[tuple[str, VmxWanted]]) -> list[dict[str, Any]]:
    """For each (VM, wish), in this order, what check mode of one VM returns; ``failed`` with the error of one that
    cannot be read, which stops nothing. Raises the error of a vCenter that does not answer."""
    known = connection.listed_vms()
    found = [_found(connection, name, known) for name, _wanted in wishes]
    machines = list({vm._moId: vm for vm in found if not isinstance(vm, LayerError)}.values())
    paths = (*VM_PATHS, *connection.group_paths)
    rows = {vm._moId: row for some in _parts(machines) for vm, row in zip(some, connection.properties(some, paths))}
    hosts = {row["runtime.host"]._moId: row["runtime.host"] for row in rows.values() if row.get("runtime.host")}
    tables = [each for some in _parts(list(hosts.values())) for each in inventories(connection, some)]
    seen = {host.moid: host for host in tables if isinstance(host, HostInventory)}

    def one(position: int) -> dict[str, Any]:
        vm, (name, wanted) = found[position], wishes[position]
        if isinstance(vm, LayerError):
            raise vm
        layer = VmxLayer(connection, name, wanted, moid=vm._moId, row=rows[vm._moId], hosts=seen)
        return converge(layer, wanted, check_mode=True)

    outcomes = in_parallel(one, range(len(wishes)))
    for outcome in outcomes:
        if isinstance(outcome, LayerError) and is_silence(outcome):
            raise outcome
    return [_row(name, outcome) for (name, _wanted), outcome in zip(wishes, outcomes)]


def _parts(objects: Sequence[Any]) -> list[Sequence[Any]]:
    """So many in a request that its answer comes within the time of one: hardware and configuration are long."""
    return [objects[first : first + AT_ONCE] for first in range(0, len(objects), AT_ONCE)]


def _found(connection: Connection, name: str, known: Sequence[tuple[Any, Mapping[str, Any]]]) -> Any:
    """The VM, or why there is not one."""
    try:
        return connection.find_vm(name, known=known)
    except LayerError as error:
        return error


def _row(name: str, outcome: Any) -> dict[str, Any]:
    if isinstance(outcome, LayerError):
        return {"asked": name, "failed": True, **outcome.as_result()}
    return {"asked": name, "failed": False, **outcome}
