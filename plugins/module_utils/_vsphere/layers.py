"""The file of a VM as a layer with the four verbs: observe, plan, apply, verify."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Mapping

from .._layer import ApplyError, Layer, LayerError, Operation, Pending, RefusedError, UnreachableError, VerifyError
from .computed import Resolved, resolve
from .devices import group_names, passthrough_devices
from .inventory import HostInventory, host_inventory
from .keys import FIRMWARE_FIELD, MEMORY_FIELD, RESERVATION_FIELD, VmxWanted, is_owned
from .plan_vmx import changes_of, pending_vmx, plan_vmx, wanted_keys
from .power import VmPower
from .prerequisites import checklist, prerequisites
from .state import parse_extra_config
from .transport import VM_UUID, Connection, uuid_of
from .vm_state import VmState, device_name

VM_PATHS = (
    "name",
    "runtime.powerState",
    "runtime.connectionState",
    "runtime.host",
    "runtime.question",
    "runtime.bootTime",
    "guest.toolsRunningStatus",
    "config.template",
    "config.changeVersion",
    "config.version",
    VM_UUID,
    "config.extraConfig",
    "config.firmware",
    "config.memoryReservationLockedToMax",
    "config.memoryAllocation",
    "config.cpuHotAddEnabled",
    "config.hardware",
)


def _reservation_mb(row: dict[str, Any]) -> int:
    return int(getattr(row.get("config.memoryAllocation"), "reservation", 0) or 0)


class VmxLayer(Layer[VmState, VmxWanted]):
    """The file of one VM: owned keys only, one atomic change, guarded and read back; power as the policy allows.

    ``moid``, ``row`` and ``hosts`` (by managed object id): what was read of the VM together with others.
    """

    def __init__(
        self,
        connection: Connection,
        vm: str,
        wanted: VmxWanted,
        *,
        folder: str = "",
        uuid: str = "",
        shutdown_timeout: float = 300.0,
        power_timeout: float = 300.0,
        moid: str = "",
        row: dict[str, Any] | None = None,
        hosts: Mapping[str, HostInventory] | None = None,
    ) -> None:
        self._connection = connection
        self._wanted = wanted
        self._moid = moid or connection.find_vm(vm, folder, uuid)._moId
        self._row = row
        self._shutdown_timeout = shutdown_timeout
        self._power_timeout = power_timeout
        self._found_power = ""
        self._asked_down = False  # from the request on: it may go down, whether we hear of it or not
        self._doing = ""  # action that is under way
        self._events_say: bool | None = None
        self._inventory = dict(hosts or {})
        self._state: VmState | None = None
        self._resolved: Resolved | None = None
        self._changes: list[dict[str, Any]] | None = None
        self.host = vm

    def _reference(self) -> Any:
        return self._connection.reference("vm", self._moid)

    def _error(self, kind: type[LayerError], what: str, remedy: str, value: Any = None, **more: Any) -> LayerError:
        return kind(what, host=self.host, thing="extraConfig", value=value, remedy=remedy, **more)

    def observe(self) -> VmState:
        row = self._row or self._connection.read(
            self._reference(), (*VM_PATHS, *self._connection.group_paths), "reading the VM"
        )
        self._row = None  # whatever follows is read anew
        name = str(row.get("name", self._moid))
        self.host = name
        esxi = row.get("runtime.host")
        if esxi is None:
            raise RefusedError(
                "vCenter says that it is on no host", host=name, thing="VM", remedy="register it on a host"
            )
        if esxi._moId not in self._inventory:
            self._inventory[esxi._moId] = host_inventory(self._connection, esxi)
        host = self._inventory[esxi._moId]
        hardware = row.get("config.hardware")
        power = str(row.get("runtime.powerState", ""))
        self._found_power = self._found_power or power
        changed: tuple[str, ...] | None = ()
        if power == "poweredOn" and self._doing != "poweron":  # what this run set, it set before; clocks may differ
            changed = self._connection.keys_changed_since(self._reference(), row.get("runtime.bootTime"))
            self._events_say = changed is not None
        question = row.get("runtime.question")
        version = str(row.get("config.version", "")).rpartition("-")[2]
        self._state = VmState(
            name=name,
            moid=self._moid,
            uuid=uuid_of(row),
            host=host.name,
            host_moid=host.moid,
            host_release=host.release,
            power=power,
            connection=str(row.get("runtime.connectionState", "")),
            is_template=bool(row.get("config.template", False)),
            question=str(question.text) if question is not None else "",
            tools_running=row.get("guest.toolsRunningStatus") == "guestToolsRunning",
            change_version=str(row.get("config.changeVersion", "")),
            firmware=str(row.get("config.firmware", "")),
            hardware_version=int(version) if version.isdigit() else 0,
            memory_reserved=bool(row.get("config.memoryReservationLockedToMax", False)),
            memory_reservation_mb=_reservation_mb(row),
            memory_mb=int(getattr(hardware, "memoryMB", 0) or 0),
            cpus=int(getattr(hardware, "numCPU", 0) or 0),
            cpu_hot_add=bool(row.get("config.cpuHotAddEnabled", False)),
            extra=parse_extra_config(row.get("config.extraConfig", [])),
            devices=passthrough_devices(
                getattr(hardware, "device", []), host.devices, group_names(row.get("config.deviceGroups"))
            ),
            numa_nodes=host.nodes,
            host_devices=host.devices,
            found_power=self._found_power,
            changed_while_on=changed or (),
        )
        return self._state

    def _wish(self, state: VmState) -> Resolved:
        """What "auto" comes to, computed once: the plan is what is applied and verified."""
        if self._resolved is None:
            self._resolved = resolve(state, self._wanted)
        return self._resolved

    def plan(self, state: VmState, wanted: VmxWanted) -> list[Operation]:
        operations = plan_vmx(state, self._wish(state).wanted)
        if self._changes is None:
            self._changes = changes_of(operations)
        return operations

    def apply(self, operation: Operation) -> None:
        self._doing = operation.payload["action"]
        power = VmPower(self._connection, self._moid, self.host)
        if self._doing in ("shutdown", "poweroff"):
            self._asked_down = True
            if self._doing == "shutdown":
                power.shut_down(self._shutdown_timeout)
            else:
                power.cut(self._power_timeout)
        elif self._doing == "poweron":
            try:
                power.on(self._power_timeout)
            except ApplyError as error:
                self._explain_power_on(error)
                raise
        else:
            self._reconfigure(operation.payload["extra"], operation.payload["fields"])

    def failed(self, error: LayerError) -> None:
        """Whatever failed half-way, the VM shall run if it did, or if that was asked for; else say what is off now."""
        if not self._doing or not (self._asked_down or self._wanted.final_power == "on"):
            return
        power = VmPower(self._connection, self._moid, self.host)
        state, text = power.present_state(), ""
        if state == "poweredOff" and self._doing != "poweron":
            try:
                power.on(self._power_timeout)
                state, text = "poweredOn", " The VM was powered on again."
            except LayerError as second:
                state, text = power.present_state(), f" Powering it on again failed too ({second})."
        elif state == "poweredOn":
            text = " The VM is powered on."
            if self._doing == "shutdown":
                text += " It was asked to shut down and may still do so."
        if state != "poweredOn":
            endpoint = self._connection.endpoint
            where = f"hostname={endpoint.hostname}" + "".join(
                f" {name}={getattr(endpoint, name)}"
                for name in ("port", "ca_path", "validate_certs", "proxy_host", "proxy_port")
                if getattr(endpoint, name) != getattr(type(endpoint), name)
            )
            text += (
                f" {self.host} ({self._moid}) {'is' if state == 'poweredOff' else 'may be'} powered off now. To start "
                f"it: ansible localhost -m rocemesh.multinode.vmx_passthru -a '{where} vm={self._moid} power_only=true "
                "final_power=on' (account in VMWARE_USER and VMWARE_PASSWORD)."
            )
            error.details.setdefault("resume", {"vm": self._moid, "power_only": True, "final_power": "on"})
        error.args = (f"{error}{text}",)

    def _explain_power_on(self, error: LayerError) -> None:
        """vSphere's own sentence seldom names what is missing."""
        state = self.observe()
        missing = [p.sentence(self.host) for p in checklist(state) if p.ok is False]
        listed = {device.address for device in state.host_devices}
        gone = [device_name(each) for each in state.devices if each.address and each.address not in listed]
        missing += [f"{self.host}: {name} is not listed by host {state.host} (look at its BMC)" for name in gone]
        if missing:
            error.args = (f"{error} Missing for its devices: {'; '.join(missing)}.",)
        host = self._connection.reference("host", state.host_moid)
        if self._connection.read(host, ["runtime.inMaintenanceMode"]).get("runtime.inMaintenanceMode"):
            error.args = (f"{error} Its host {state.host} is in maintenance mode: ask who entered it.",)

    def _reconfigure(self, extra: dict[str, str], fields: dict[str, Any]) -> None:
        before = self._state
        if before is None:
            raise ApplyError("not observed yet", host=self.host)
        foreign = [key for key in extra if not is_owned(key)]
        if foreign:
            what = "these keys are not ours; nothing was changed"
            raise self._error(RefusedError, what, "set them with a module for advanced settings in general", foreign)

        def is_there() -> bool:
            return not self._left_out(extra, fields)

        doing = "set {} in the file of {}".format(", ".join(sorted([*extra, *fields])), self.host)
        for is_last_attempt in (False, True):
            # power changes move the version, and so do other people; a foreign change of our keys is never overwritten
            now = self.observe() if self._asked_down or is_last_attempt else before
            touched = [key for key in extra if now.value(key) != before.value(key)]
            if touched:
                what = "another client changed {} meanwhile; nothing was written".format(", ".join(touched))
                raise self._error(ApplyError, what, "find out who, then run again")
            change = functools.partial(self._change, extra, fields, now.change_version)
            try:
                task = self._connection.start(self.host, doing, change)
                self._connection.wait(task, doing, self.host, self._power_timeout, reached=is_there)
                break
            except UnreachableError:
                # the request may have arrived although its answer was lost
                if not self._connection.followed(is_there, self._power_timeout):
                    raise
                break
            except ApplyError as error:
                if error.details.get("fault") != "ConcurrentAccess" or is_last_attempt:
                    raise
        dropped = self._left_out(extra, fields)
        if dropped:
            what = "vSphere reported success and silently left out " + ", ".join(dropped.values())
            remedy = "check whether a policy or this release forbids the key; try it by hand in the vSphere client"
            raise self._error(VerifyError, what, remedy, dropped_keys=list(dropped))

    def _change(self, extra: dict[str, str], fields: dict[str, Any], version: str) -> Any:
        return self._connection.reconfigure(self._reference(), extra, fields, version)

    def _left_out(self, extra: dict[str, str], fields: dict[str, Any]) -> dict[str, str]:
        """Key or field -> sentence, for what the VM's configuration does not say although it was sent."""
        row = self._connection.read(
            self._reference(),
            ["config.extraConfig", "config.firmware", "config.memoryReservationLockedToMax", "config.memoryAllocation"],
            "reading the keys back",
        )
        after = parse_extra_config(row.get("config.extraConfig", []))
        have: dict[str, Any] = {key: after.get(key.lower(), ("", ""))[1] for key in extra}
        have[MEMORY_FIELD] = bool(row.get("config.memoryReservationLockedToMax", False))
        have[RESERVATION_FIELD] = _reservation_mb(row)
        have[FIRMWARE_FIELD] = str(row.get("config.firmware", ""))
        return {
            key: f"{key} (wanted {value!r}, is {have[key]!r})"
            for key, value in {**extra, **fields}.items()
            if have[key] != value
        }

    def pending(self, state: VmState) -> Pending:
        return pending_vmx(state, wanted_keys(state, self._wish(state).wanted))

    def warnings(self, state: VmState, wanted: VmxWanted) -> list[str]:
        wish = self._wish(state)
        found = [*wish.left_alone, *prerequisites(state, wish.wanted)]
        if state.power == "poweredOn" and self._events_say is False:
            found.append(
                f"{state.name}: no event history says whether the keys were set before the VM was powered on; "
                "if in doubt, power-cycle it"
            )
        return found

    def facts(self, state: VmState) -> dict[str, Any]:
        wish = self._wish(state)
        keys = wanted_keys(state, wish.wanted)
        pending = self.pending(state)
        would_cycle = self._wanted.plan_only and any(
            operation.payload["action"] in ("shutdown", "poweroff") for operation in plan_vmx(state, wish.wanted)
        )
        return {
            "vm": state.name,
            "vm_moid": state.moid,
            "vm_uuid": state.uuid,
            "esxi_host": state.host,
            "esxi_host_moid": state.host_moid,
            "power_state": state.power,
            "settings": {key: state.value(key) for key in keys},
            "changes": self._changes or [],
            "resolved": wish.wanted.arguments(),
            "left_alone": list(wish.left_alone),
            "power_cycle_required": bool(pending.reasons) or would_cycle,
            "devices": [dataclasses.asdict(device) for device in state.devices],
            "prerequisites": [dataclasses.asdict(prerequisite) for prerequisite in checklist(state)],
        }
