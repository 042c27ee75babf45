# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reboot of one ESXi host as a layer: the plan is the list of steps still to do, the proof is a newer boot time."""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
from typing import Any, Callable

from .._layer import ApplyError, Layer, LayerError, Operation, Pending, Reboot, UnreachableError, VerifyError
from .layers import VmPower
from .plan import KERNEL_LIST, KernelWanted, managed_settings, pending_kernel
from .plan_reboot import RebootWanted, check_host, needs_reboot, plan_reboot, reasons
from .state import HostState, HostVm, KernelSetting, KernelState, parse_kernel_list
from .transport import Connection

_HOST_PATHS = (
    "name",
    "runtime.connectionState",
    "runtime.powerState",
    "runtime.inMaintenanceMode",
    "runtime.bootTime",
    "runtime.standbyMode",
    "capability.rebootSupported",
    "vm",
)
_VM_PATHS = (
    "name",
    "runtime.powerState",
    "runtime.question",
    "guest.toolsRunningStatus",
    "guest.hostName",
    "guest.ipAddress",
    "guest.net",
    "config.vAppConfig",
    "config.managedBy",
    "config.template",
    "config.hardware.device",
)
# Agent VMs (vCLS and the like) belong to vCenter, which stops and starts them around maintenance.
# Not verified on hardware.
_AGENT_EXTENSIONS = ("com.vmware.vim.eam", "com.vmware.vcls")

_HOST_DEVICES = ("VirtualPCIPassthrough", "VirtualSriovEthernetCard")

_RETURN_POLL = 5.0  # seconds between looks at a host that boots; the first ones come faster
_DISCONNECTED_PATIENCE = 60.0  # seconds until "disconnected" counts as final
_UNSURE_PATIENCE = 180.0  # seconds until a host that stays up counts as never told to reboot
_SURE_BOOT = datetime.timedelta(seconds=60)  # a boot time that moved less may be a corrected clock
_BOOT_JITTER = datetime.timedelta(seconds=1)


@dataclasses.dataclass(frozen=True)
class Timeouts:
    """Seconds."""

    shutdown: float = 300.0
    maintenance: float = 600.0
    reboot: float = 3600.0
    power_on: float = 300.0


def is_newer_boot(
    before: datetime.datetime | None,
    now: datetime.datetime | None,
    was_down: bool,
    asked: datetime.datetime | None = None,
) -> bool:
    """Whether ``now`` proves a boot after ``before``; ``asked``: when the reboot was asked for, by vCenter's clock.

    A corrected clock moves a boot time too. So a small step counts only if the host was seen down, or if it crosses
    the moment of the request.
    """
    if now is None:
        return False
    if before is None:
        return was_down
    moved = now - before
    crosses_request = asked is not None and before < asked <= now
    return crosses_request or moved > (_BOOT_JITTER if was_down else _SURE_BOOT)


def guest_addresses(row: dict[str, Any]) -> set[str]:
    """All addresses that VMware Tools report for a VM."""
    found = {str(row.get("guest.ipAddress", "") or "")}
    for nic in row.get("guest.net") or []:
        found |= {str(address) for address in getattr(nic, "ipAddress", None) or []}
    return found - {""}


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


class RebootLayer(Layer[HostState, RebootWanted]):
    """State machine of one reboot. What this run has done is part of the observed state, so planning stays pure."""

    def __init__(
        self,
        connection: Connection,
        esxi_hostname: str,
        wanted: RebootWanted,
        timeouts: Timeouts,
    ) -> None:
        self._connection = connection
        self._wanted = wanted
        self._timeouts = timeouts
        reference, self.host = connection.find_host(esxi_hostname)
        self._moid = reference._moId
        self._first: HostState | None = None
        self._last: HostState | None = None
        self._reasons: list[str] = []
        self._rebooted = False
        self._entered = False
        self._left = False
        self._lost_maintenance = False
        self._shut_down: list[str] = []
        self._asked: list[str] = []  # to stop, without an answer yet
        self._powered_on: list[str] = []
        self._elapsed = 0.0
        self._addresses: tuple[str, str] | None = None

    def _reference(self) -> Any:
        return self._connection.reference("host", self._moid)

    # ------------------------------------------------------------ observe
    def observe(self) -> HostState:
        row = self._connection.read(self._reference(), _HOST_PATHS, "reading the host")
        connected = row.get("runtime.connectionState") == "connected"
        state = HostState(
            name=self.host,
            moid=self._moid,
            connection=str(row.get("runtime.connectionState", "unknown")),
            power=str(row.get("runtime.powerState", "unknown")),
            in_maintenance=bool(row.get("runtime.inMaintenanceMode", False)),
            boot_time=row.get("runtime.bootTime"),
            reboot_supported=bool(row.get("capability.rebootSupported", True)),
            standby=str(row.get("runtime.standbyMode") or "none"),
            vms=self._vms(row.get("vm", [])),
            pending=self._settings() if connected else (),
            rebooted=self._rebooted,
            entered_maintenance=self._entered,
            left_maintenance=self._left,
            shut_down=tuple(self._shut_down),
            powered_on=tuple(self._powered_on),
        )
        if not connected and not self._rebooted:
            check_host(state, self._wanted)  # nothing can be said about a host that does not answer
        if self._first is None:
            self._first = state
            self._reasons = reasons(state, self._wanted) if needs_reboot(state, self._wanted) else []
        self._last = state
        return state

    def _settings(self) -> tuple[KernelSetting, ...]:
        names = self._wanted.pending_settings
        if not names:
            return ()
        rows = self._connection.run_esxcli(self._reference(), self.host, KERNEL_LIST)
        state = KernelState(self.host, parse_kernel_list(rows, self.host))
        return tuple(managed_settings(state, KernelWanted(dict.fromkeys(names))))

    def _vms(self, references: list[Any]) -> tuple[HostVm, ...]:
        rows = self._connection.properties(references, _VM_PATHS, "reading the VMs of the host")
        if self._addresses is None:
            self._addresses = self._connection.addresses()
        server, own = self._addresses
        found = []
        for reference, row in zip(references, rows):
            if row.get("config.template"):
                continue
            addresses = guest_addresses(row)
            products = getattr(row.get("config.vAppConfig"), "product", None) or []
            manager = str(getattr(row.get("config.managedBy"), "extensionKey", "") or "")
            question = row.get("runtime.question")
            found.append(
                HostVm(
                    name=str(row.get("name", reference._moId)),
                    moid=reference._moId,
                    power=str(row.get("runtime.powerState", "")),
                    has_passthrough=any(
                        type(device).__name__.rpartition(".")[2] in _HOST_DEVICES
                        for device in row.get("config.hardware.device") or []
                    ),
                    tools_running=row.get("guest.toolsRunningStatus") == "guestToolsRunning",
                    is_vcenter=(self._connection.is_vcenter and server in addresses)
                    or str(row.get("guest.hostName", "")).lower() == self._connection.endpoint.hostname.lower()
                    or any("vcenter server" in str(getattr(product, "name", "")).lower() for product in products),
                    is_controller=own in addresses and not _is_loopback(own),
                    is_agent=manager.startswith(_AGENT_EXTENSIONS),
                    question=str(question.text) if question is not None else "",
                )
            )
        return tuple(sorted(found, key=lambda vm: (vm.name, vm.moid)))

    # ------------------------------------------------------------ plan and apply
    def plan(self, state: HostState, wanted: RebootWanted) -> list[Operation]:
        return plan_reboot(state, wanted)

    def apply(self, operation: Operation) -> None:
        steps = {
            "shutdown": self._stop_vm,
            "enter": self._enter,
            "reboot": self._reboot,
            "exit": self._exit,
            "poweron": self._start_vm,
        }
        try:
            steps[operation.payload["action"]](operation)
        except LayerError as error:
            self._say_how_to_resume(error)
            raise

    def _say_how_to_resume(self, error: LayerError) -> None:
        stopped = list(dict.fromkeys([*self._shut_down, *self._asked]))
        down = [name for name in stopped if name not in self._powered_on]
        error.details.setdefault("vms_shut_down", down)
        error.details.setdefault("entered_maintenance", self._entered and not self._left)
        error.details.setdefault("rebooted", self._rebooted)
        if (self._entered and not self._left) or down:
            resume = {"in_maintenance": "adopt", "power_on": down}
            error.details.setdefault("resume", resume)
            error.args = (f"{error} To go on from here run again with in_maintenance=adopt and power_on={down}.",)

    def _stop_vm(self, operation: Operation) -> None:
        name = operation.payload["vm"]
        power = VmPower(self._connection, operation.payload["moid"], name)
        self._asked.append(name)  # from here on it may go down, whether we hear of it or not
        try:
            self._take_down(power, operation)
        except LayerError as error:
            if not isinstance(error, UnreachableError):
                self._asked.remove(name)
                self._bring_back()
            raise
        self._asked.remove(name)
        self._shut_down.append(name)

    def _take_down(self, power: VmPower, operation: Operation) -> None:
        if not operation.payload["orderly"]:
            power.cut(self._timeouts.power_on)
            return
        try:
            power.shut_down(self._timeouts.shutdown)
        except ApplyError:
            if not operation.payload["hard_off"]:
                raise
            power.cut(self._timeouts.power_on)

    def _bring_back(self) -> list[str]:
        """Before the reboot has begun, a failure leaves the host as it was found: start what was stopped."""
        if not self._wanted.restore_vms or self._last is None:
            return []
        started = []
        moids = {vm.name: vm.moid for vm in self._last.vms}
        for name in list(self._shut_down):
            try:
                VmPower(self._connection, moids[name], name).on(self._timeouts.power_on)
            except LayerError:
                continue  # it stays in the list of VMs that are down, which the error names
            self._shut_down.remove(name)
            started.append(name)
        return started

    def _in_maintenance(self) -> bool:
        row = self._connection.read(self._reference(), ["runtime.inMaintenanceMode"], "reading the maintenance mode")
        return bool(row.get("runtime.inMaintenanceMode", False))

    def _enter(self, _operation: Operation) -> None:
        doing = f"put {self.host} into maintenance mode"
        limit = self._timeouts.maintenance
        connection = self._connection
        try:
            task = connection.start(
                self.host,
                doing,
                lambda: connection.enter_maintenance(self._reference(), int(limit), self._wanted.vsan_mode),
            )
            connection.wait(task, doing, self.host, limit + 10.0, cancel=True, reached=self._in_maintenance)
        except LayerError as error:
            # where the link broke, the request may have arrived all the same
            if not (isinstance(error, UnreachableError) and self._got_there(self._in_maintenance)):
                self._give_up_entering(error)
                raise
        self._entered = True

    def _got_there(self, question: Callable[[], bool], patience: float = 60.0) -> bool:
        """Whether ``question`` turns true within ``patience`` seconds; False also if nobody answers."""
        connection = self._connection
        deadline = connection.clock() + patience
        try:
            while not connection.persistently(question, deadline):
                if connection.clock() >= deadline:
                    return False
                connection.sleep(1.0)
        except LayerError:
            return False
        return True

    def _give_up_entering(self, error: LayerError) -> None:
        try:
            names = [vm.name for vm in self._vms(self._host_vms()) if vm.power == "poweredOn"]
            still_on = ", ".join(names) or "none"
        except LayerError:
            still_on = "not known"
        started = self._bring_back()
        text = f" VMs that are on: {still_on}."
        if started:
            text += " Powered on again: {}.".format(", ".join(started))
        error.args = (str(error) + text,)

    def _host_vms(self) -> list[Any]:
        return list(self._connection.read(self._reference(), ["vm"]).get("vm", []))

    def _reboot(self, _operation: Operation) -> None:
        before = self._connection.read(self._reference(), ["runtime.bootTime"]).get("runtime.bootTime")
        asked = self._connection.server_time()
        started = self._connection.clock()
        doing = f"reboot {self.host}"
        certain, task = True, None
        try:
            task = self._connection.start(self.host, doing, lambda: self._reference().RebootHost_Task(force=False))
        except UnreachableError as error:
            if "fault" in error.details:  # answered with a fault, or not even logged in: nothing began
                self._take_back(error)
                raise
            # The link broke. Logged in to the host itself it dies with the host; a vCenter may be restarting. Whether
            # the request arrived shows on the host, and asking again could reboot it twice.
            certain = not self._connection.is_vcenter
        except LayerError as error:
            self._take_back(error)
            raise
        if task is not None:
            self._watch(task, doing)
        self._await_return(before, asked, started, certain)
        self._elapsed = self._connection.clock() - started
        self._rebooted = True
        still = [s for s in self._settings() if s.is_pending]
        if still:
            raise VerifyError(
                "the host was rebooted, but {} ".format(
                    ", ".join(f"{s.name} is configured {s.configured} and {s.runtime} is in force" for s in still)
                )
                + "(it will not be rebooted again for this)",
                host=self.host,
                thing="kernel setting",
                remedy="check whether a host profile or the firmware overrides it, and the host's boot log",
            )

    def _watch(self, task: Any, doing: str) -> None:
        """Wait for the task, which ends when the reboot was issued. The return of the host is the proof in any case."""
        try:
            self._connection.wait(task, doing, self.host, 120.0, reached=lambda: True)
        except UnreachableError:
            return  # nobody can be asked, but the reboot was accepted
        except LayerError as error:
            if error.details.get("fault") != "Timedout":  # one that hangs may still begin
                self._take_back(error)
            raise

    def _take_back(self, error: LayerError) -> None:
        """The reboot was refused, so it will not happen: leave the host and its VMs as they were found."""
        text = " The host was not rebooted."
        if self._entered:
            try:
                self._exit(None)
                self._entered, self._left = False, False
                text += " It was taken out of maintenance mode again."
            except LayerError as second:
                text += f" It is still in maintenance mode ({second})."
        if not self._entered:
            started = self._bring_back()
            if started:
                text += " Powered on again: {}.".format(", ".join(started))
        error.args = (str(error) + text,)

    def _await_return(self, before: Any, asked: Any, started: float, certain: bool) -> None:
        """Wait until the host is connected, with a newer boot time, and answers a command.

        ``certain``: the reboot was accepted. Otherwise a host that stays up was never told to.
        """
        connection = self._connection
        deadline = started + self._timeouts.reboot
        was_down = False
        disconnected_since: float | None = None
        pause = 0.2
        seen = "unknown"
        while True:
            row = connection.persistently(
                lambda: connection.read(self._reference(), ["runtime.connectionState", "runtime.bootTime"]), deadline
            )
            seen = str(row.get("runtime.connectionState", "unknown"))
            was_down = was_down or seen != "connected"
            if seen == "connected":
                disconnected_since = None
                if is_newer_boot(before, row.get("runtime.bootTime"), was_down, asked) and self._answers():
                    return
            elif seen == "disconnected":
                disconnected_since = connection.clock() if disconnected_since is None else disconnected_since
                if connection.clock() - disconnected_since > min(_DISCONNECTED_PATIENCE, self._timeouts.reboot / 4):
                    raise UnreachableError(
                        "after the reboot vCenter calls the host disconnected, which does not heal by itself",
                        host=self.host,
                        thing="ESXi host",
                        remedy="reconnect it in vCenter (password and certificate are the usual reasons)",
                    )
            if not certain and not was_down and connection.clock() - started > _UNSURE_PATIENCE:
                raise UnreachableError(
                    "the connection broke while the reboot was asked for, and the host is still up with its old boot "
                    f"time after {_UNSURE_PATIENCE:.0f} s: the request did not arrive",
                    host=self.host,
                    thing="ESXi host",
                    remedy="see that vCenter is well, then run again",
                )
            if connection.clock() >= deadline:
                raise self._gave_up(seen, was_down)
            connection.sleep(min(pause, max(deadline - connection.clock(), 0.0)))
            pause = min(pause * 1.4, _RETURN_POLL)

    def _answers(self) -> bool:
        try:
            self._connection.run_esxcli(self._reference(), self.host, KERNEL_LIST)
        except UnreachableError:
            return False
        return True

    def _gave_up(self, seen: str, was_down: bool) -> LayerError:
        limit = f"{self._timeouts.reboot:.0f} s"
        if seen == "connected":
            return VerifyError(
                f"{limit} after the reboot was accepted, the host reports its old boot time"
                + ("" if was_down else " and was never seen down")
                + "; it has not rebooted",
                host=self.host,
                thing="ESXi host",
                remedy="look at the host's console and at its reboot task",
            )
        return UnreachableError(
            f"the host did not come back within {limit} after the reboot; its connection state is {seen}",
            host=self.host,
            thing="ESXi host",
            remedy="look at the server's console (BMC); raise reboot_timeout if it is only slow",
        )

    def _exit(self, _operation: Operation | None) -> None:
        if not self._in_maintenance():
            self._lost_maintenance = True  # it came back from the reboot without it
            self._left = True
            return
        doing = f"take {self.host} out of maintenance mode"
        limit = self._timeouts.maintenance
        task = self._connection.start(
            self.host, doing, lambda: self._reference().ExitMaintenanceMode_Task(timeout=int(limit))
        )
        self._connection.wait(task, doing, self.host, limit + 10.0, reached=lambda: not self._in_maintenance())
        self._left = True

    def _start_vm(self, operation: Operation) -> None:
        VmPower(self._connection, operation.payload["moid"], operation.payload["vm"]).on(self._timeouts.power_on)
        self._powered_on.append(operation.payload["vm"])

    # ------------------------------------------------------------ result
    def pending(self, state: HostState) -> Pending:
        if self._wanted.pending_settings:
            return pending_kernel(state.pending, self.host)
        return Pending(Reboot.NONE)

    def warnings(self, state: HostState, wanted: RebootWanted) -> list[str]:
        found = []
        if state.in_maintenance and not needs_reboot(state, wanted) and wanted.in_maintenance != "adopt":
            found.append(f"{state.name}: the host is in maintenance mode and stays there; no VM can start on it")
        if self._lost_maintenance:
            found.append(f"{state.name}: the host came back from its reboot without maintenance mode")
        return found

    def _net_undo(self, state: HostState) -> list[str]:
        """What takes back the difference between the first look and now: most steps of a finished reboot cancel out."""
        first = self._first or state
        before = {vm.moid: vm.power for vm in first.vms}
        commands = []
        for vm in state.vms:
            if before.get(vm.moid) == "poweredOn" and vm.power == "poweredOff":
                commands.append("PowerOnVM_Task " + vm.name)
            elif before.get(vm.moid) == "poweredOff" and vm.power == "poweredOn":
                commands.append("ShutdownGuest " + vm.name)
        if state.in_maintenance and not first.in_maintenance:
            commands.insert(0, "ExitMaintenanceMode_Task " + state.name)
        elif first.in_maintenance and not state.in_maintenance:
            commands.append("EnterMaintenanceMode_Task " + state.name)
        return commands

    def facts(self, state: HostState) -> dict[str, Any]:
        first = self._first or state

        def text(moment: datetime.datetime | None) -> str | None:
            return None if moment is None else moment.isoformat()

        return {
            "undo": self._net_undo(state),
            "esxi_host": self.host,
            "rebooted": self._rebooted,
            "reasons": self._reasons,
            "boot_time_before": text(first.boot_time),
            "boot_time_after": text(state.boot_time) if self._rebooted else None,
            "elapsed": round(self._elapsed, 1),
            "entered_maintenance": self._entered,
            "in_maintenance": state.in_maintenance,
            "vms_shut_down": list(self._shut_down),
            "vms_powered_on": list(self._powered_on),
        }
