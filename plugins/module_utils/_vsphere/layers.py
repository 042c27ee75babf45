# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of a VM as a layer with the four verbs, its power, and the inventory of its host."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Sequence

from .._layer import ApplyError, Layer, LayerError, Operation, Pending, RefusedError, VerifyError
from .plan import FIRMWARE_FIELD, MEMORY_FIELD, VmxWanted, is_owned, pending_vmx, plan_vmx, wanted_keys
from .prerequisites import as_results, checklist, prerequisites
from .state import (
    NumaNode,
    PassthroughDevice,
    PciDevice,
    VmState,
    parse_extra_config,
    parse_numa_nodes,
    parse_pci_devices,
    pci_address,
)
from .transport import Connection


# ---------------------------------------------------------------- devices of a VM
def host_inventory(connection: Connection, host: Any) -> tuple[str, tuple[NumaNode, ...], tuple[PciDevice, ...]]:
    """Return (host name, NUMA nodes, PCI devices) in one read."""
    row = connection.read(
        host,
        ["name", "hardware.cpuInfo", "hardware.numaInfo", "hardware.pciDevice", "config.pciPassthruInfo"],
        "reading PCI and NUMA",
    )
    name = str(row.get("name", host._moId))
    nodes = parse_numa_nodes(row.get("hardware.numaInfo"), name, row.get("hardware.cpuInfo"))
    devices = parse_pci_devices(row.get("hardware.pciDevice", []), row.get("config.pciPassthruInfo", []), nodes, name)
    return name, nodes, devices


def passthrough_devices(
    virtual_devices: Sequence[Any], host_devices: Sequence[PciDevice]
) -> tuple[PassthroughDevice, ...]:
    """The host devices among a VM's virtual devices. Types are told by class name, so that plain fakes do for tests."""
    by_address = {device.address: device for device in host_devices}
    found: list[PassthroughDevice] = []
    count = 0
    for virtual in virtual_devices or []:
        kind = type(virtual).__name__.rpartition(".")[2]
        if kind == "VirtualPCIPassthrough":
            backing, index = virtual.backing, count
            count += 1
        elif kind == "VirtualSriovEthernetCard":
            backing, index = getattr(virtual.sriovBacking, "physicalFunctionBacking", None), -1
        else:
            continue
        info = getattr(virtual, "deviceInfo", None)
        text = getattr(backing, "id", None) or getattr(backing, "assignedId", None) or ""
        try:
            address = pci_address(text) if text else ""
        except ValueError:
            address = ""
        device = by_address.get(address)
        is_vgpu = bool(getattr(backing, "vgpu", None))
        found.append(
            PassthroughDevice(
                index=index,
                label=getattr(info, "label", "") or "",
                address=address,
                kind=device.kind if device else ("gpu" if is_vgpu else "nic" if index < 0 else "other"),
                name=f"{device.vendor_name} {device.device_name}" if device else getattr(info, "summary", "") or "",
                numa_node=device.numa_node if device else None,
            )
        )
    return tuple(found)


_VM_PATHS = (
    "name",
    "runtime.powerState",
    "runtime.connectionState",
    "runtime.host",
    "runtime.question",
    "runtime.bootTime",
    "guest.toolsRunningStatus",
    "config.template",
    "config.changeVersion",
    "config.extraConfig",
    "config.firmware",
    "config.memoryReservationLockedToMax",
    "config.cpuHotAddEnabled",
    "config.hardware",
)
_TOOLS_RUN = "guestToolsRunning"


class VmPower:
    """Power of one VM, with the waiting that vSphere leaves to the caller."""

    def __init__(self, connection: Connection, moid: str, name: str) -> None:
        self._connection = connection
        self._moid = moid
        self._name = name

    def _reference(self) -> Any:
        return self._connection.reference("vm", self._moid)

    def state(self, deadline: float) -> str:
        return str(
            self._connection.persistently(
                lambda: self._connection.read(self._reference(), ["runtime.powerState"], "reading the power state"),
                deadline,
            ).get("runtime.powerState", "")
        )

    def _is(self, power: str) -> bool:
        row = self._connection.read(self._reference(), ["runtime.powerState"], "reading the power state")
        return str(row.get("runtime.powerState", "")) == power

    def on(self, timeout: float) -> None:
        doing = f"power on {self._name}"
        try:
            task = self._connection.start(self._name, doing, lambda: self._reference().PowerOnVM_Task())
            self._connection.wait(task, doing, self._name, timeout, reached=lambda: self._is("poweredOn"))
        except ApplyError:
            if self.state(self._connection.clock() + timeout) != "poweredOn":  # somebody else may have been faster
                raise

    def cut(self, timeout: float) -> None:
        doing = f"cut the power of {self._name}"
        task = self._connection.start(self._name, doing, lambda: self._reference().PowerOffVM_Task())
        self._connection.wait(task, doing, self._name, timeout, reached=lambda: self._is("poweredOff"))

    def shut_down(self, timeout: float) -> None:
        """Ask the guest, then watch the power state: the call itself returns at once."""
        connection = self._connection
        connection.start(self._name, "shut down the guest", lambda: self._reference().ShutdownGuest())
        deadline = connection.clock() + timeout
        while self.state(deadline) == "poweredOn":
            if connection.clock() >= deadline:
                raise ApplyError(
                    f"the guest was asked to shut down and is still running after {timeout:.0f} s",
                    host=self._name,
                    remedy="look at its console for what keeps it up, or raise the timeout",
                )
            connection.sleep(0.5)


class VmxLayer(Layer[VmState, VmxWanted]):
    """The file of one VM: owned keys only, one atomic change, guarded and read back; power as the policy allows."""

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
    ) -> None:
        self._connection = connection
        self._wanted = wanted
        self._moid = connection.find_vm(vm, folder, uuid)._moId
        self._shutdown_timeout = shutdown_timeout
        self._power_timeout = power_timeout
        self._found_power = ""
        self._took_down = False
        self._events_say: bool | None = None
        self._inventory: dict[str, tuple[str, tuple[NumaNode, ...], tuple[PciDevice, ...]]] = {}
        self._state: VmState | None = None
        self.host = vm

    def _reference(self) -> Any:
        return self._connection.reference("vm", self._moid)

    def observe(self) -> VmState:
        row = self._connection.read(self._reference(), _VM_PATHS, "reading the VM")
        name = str(row.get("name", self._moid))
        self.host = name
        esxi = row.get("runtime.host")
        if esxi is None:
            raise RefusedError(
                "vCenter says that it is on no host", host=name, thing="VM", remedy="register it on a host"
            )
        if esxi._moId not in self._inventory:
            self._inventory[esxi._moId] = host_inventory(self._connection, esxi)
        host_name, nodes, host_devices = self._inventory[esxi._moId]
        hardware = row.get("config.hardware")
        power = str(row.get("runtime.powerState", ""))
        self._found_power = self._found_power or power
        changed: tuple[str, ...] | None = ()
        if power == "poweredOn":
            changed = self._connection.keys_changed_since(self._reference(), row.get("runtime.bootTime"))
            self._events_say = changed is not None
        question = row.get("runtime.question")
        self._state = VmState(
            name=name,
            moid=self._moid,
            host=host_name,
            power=power,
            connection=str(row.get("runtime.connectionState", "")),
            is_template=bool(row.get("config.template", False)),
            question=str(question.text) if question is not None else "",
            tools_running=row.get("guest.toolsRunningStatus") == _TOOLS_RUN,
            change_version=str(row.get("config.changeVersion", "")),
            firmware=str(row.get("config.firmware", "")),
            memory_reserved=bool(row.get("config.memoryReservationLockedToMax", False)),
            memory_mb=int(getattr(hardware, "memoryMB", 0) or 0),
            cpus=int(getattr(hardware, "numCPU", 0) or 0),
            cpu_hot_add=bool(row.get("config.cpuHotAddEnabled", False)),
            extra=parse_extra_config(row.get("config.extraConfig", [])),
            devices=passthrough_devices(getattr(hardware, "device", []), host_devices),
            numa_nodes=nodes,
            host_devices=host_devices,
            found_power=self._found_power,
            changed_while_on=changed or (),
        )
        return self._state

    def plan(self, state: VmState, wanted: VmxWanted) -> list[Operation]:
        return plan_vmx(state, wanted)

    def apply(self, operation: Operation) -> None:
        action = operation.payload["action"]
        power = VmPower(self._connection, self._moid, self.host)
        if action == "shutdown":
            power.shut_down(self._shutdown_timeout)
            self._took_down = True
        elif action == "poweroff":
            power.cut(self._power_timeout)
            self._took_down = True
        elif action == "poweron":
            try:
                power.on(self._power_timeout)
            except ApplyError as error:
                self._explain_power_on(error)
                raise
        else:
            try:
                self._reconfigure(operation.payload["extra"], operation.payload["fields"])
            except LayerError as error:
                if self._took_down:
                    self._restore_power(power, error)
                raise

    def _explain_power_on(self, error: LayerError) -> None:
        """vSphere's own sentence seldom names what is missing."""
        missing = [p.sentence(self.host) for p in checklist(self.observe()) if p.ok is False]
        if missing:
            error.args = (f"{error} Missing for its devices: {'; '.join(missing)}.",)

    def _restore_power(self, power: VmPower, error: LayerError) -> None:
        """The keys are not there, but the VM must not stay down because of that."""
        try:
            power.on(self._power_timeout)
            text = " The VM was powered on again"
        except LayerError as second:
            text = f" It is still powered off, and powering it on failed too ({second})"
        error.args = (str(error) + text + ".",)

    def _reconfigure(self, extra: dict[str, str], fields: dict[str, Any]) -> None:
        before = self._state
        if before is None:
            raise ApplyError("not observed yet", host=self.host)
        foreign = [key for key in extra if not is_owned(key)]
        if foreign:
            raise RefusedError(
                "these keys are not ours; nothing was changed",
                host=self.host,
                thing="extraConfig",
                value=foreign,
                remedy="set them with a module for advanced settings in general",
            )
        doing = "set {} in the file of {}".format(", ".join(sorted([*extra, *fields])), self.host)
        for is_last_attempt in (False, True):
            # power changes move the version, and so do other people; a foreign change of our keys is never overwritten
            now = self.observe() if self._took_down or is_last_attempt else before
            touched = [key for key in extra if now.value(key) != before.value(key)]
            if touched:
                raise ApplyError(
                    "somebody else changed {} meanwhile; nothing was written".format(", ".join(touched)),
                    host=self.host,
                    thing="extraConfig",
                    remedy="find out who, then run again",
                )
            change = functools.partial(self._change, extra, fields, now.change_version)
            try:
                task = self._connection.start(self.host, doing, change)
                self._connection.wait(
                    task, doing, self.host, self._power_timeout, reached=lambda: not self._left_out(extra, fields)
                )
                break
            except ApplyError as error:
                if error.details.get("fault") != "ConcurrentAccess" or is_last_attempt:
                    raise
        dropped = self._left_out(extra, fields)
        if dropped:
            raise VerifyError(
                "vSphere reported success and silently left out " + ", ".join(dropped.values()),
                host=self.host,
                thing="extraConfig",
                remedy="check whether a policy or this release forbids the key; try it by hand in the vSphere client",
                dropped_keys=list(dropped),
            )

    def _change(self, extra: dict[str, str], fields: dict[str, Any], version: str) -> Any:
        return self._connection.reconfigure(self._reference(), extra, fields, version)

    def _left_out(self, extra: dict[str, str], fields: dict[str, Any]) -> dict[str, str]:
        """Key or field -> sentence, for what the VM's configuration does not say although it was sent."""
        row = self._connection.read(
            self._reference(),
            ["config.extraConfig", "config.firmware", "config.memoryReservationLockedToMax"],
            "reading the keys back",
        )
        after = parse_extra_config(row.get("config.extraConfig", []))
        have: dict[str, Any] = {key: after.get(key.lower(), ("", ""))[1] for key in extra}
        have[MEMORY_FIELD] = bool(row.get("config.memoryReservationLockedToMax", False))
        have[FIRMWARE_FIELD] = str(row.get("config.firmware", ""))
        return {
            key: f"{key} (wanted {value!r}, is {have[key]!r})"
            for key, value in {**extra, **fields}.items()
            if have[key] != value
        }

    def pending(self, state: VmState) -> Pending:
        return pending_vmx(state, list(wanted_keys(state, self._wanted)))

    def warnings(self, state: VmState, wanted: VmxWanted) -> list[str]:
        found = prerequisites(state, wanted)
        if state.power == "poweredOn" and self._events_say is False:
            found.append(
                f"{state.name}: no event history says whether the keys were set before the VM was powered on; "
                "if in doubt, power-cycle it"
            )
        return found

    def facts(self, state: VmState) -> dict[str, Any]:
        keys = wanted_keys(state, self._wanted)
        pending = self.pending(state)
        would_cycle = self._wanted.plan_only and any(
            operation.payload["action"] in ("shutdown", "poweroff") for operation in plan_vmx(state, self._wanted)
        )
        return {
            "vm": state.name,
            "vm_moid": state.moid,
            "esxi_host": state.host,
            "power_state": state.power,
            "settings": {key: state.value(key) for key in keys},
            "power_cycle_required": bool(pending.reasons) or would_cycle,
            "devices": [dataclasses.asdict(device) for device in state.devices],
            "prerequisites": as_results(state),
        }
