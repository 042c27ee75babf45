"""The reboot of one ESXi host as a layer: the plan is the list of steps still to do, the proof is a newer boot time."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from .._layer import ApplyError, Layer, LayerError, Operation, Pending, RefusedError, VerifyError
from .guests import Guests, Stop
from .host_boot import HostBoot
from .host_vms import HostReader
from .kernel import read_kernel
from .lease import HostBookkeeping, LeaseWanted
from .maintenance import Maintenance
from .plan import KernelWanted, managed_settings, pending_kernel
from .plan_reboot import RebootWanted, Timeouts, check_host, is_same_boot, needs_reboot, plan_reboot, reasons
from .reboot_report import iso, net_undo, say_how_to_resume, warnings_of
from .records import STANDALONE
from .run_identity import current_run
from .state import HostState, KernelSetting
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


_STOPPING = ("move", "shutdown", "enter", "reboot")


class RebootLayer(Layer[HostState, RebootWanted]):
    """State machine of one reboot. What this run has done is part of the observed state, so planning stays pure.

    Without ``lease`` nothing is recorded: that is for a standalone host, which has nowhere to record anything.
    """

    def __init__(
        self,
        connection: Connection,
        esxi_hostname: str,
        wanted: RebootWanted,
        timeouts: Timeouts,
        *,
        lease: LeaseWanted | None = None,
        check_mode: bool = False,
    ) -> None:
        self._connection = connection
        self._wanted = wanted
        self._timeouts = timeouts
        self._check_mode = check_mode
        reference, self.host = connection.find_hosts([esxi_hostname])[0]
        self._moid = reference._moId
        self._bookkeeping = HostBookkeeping(connection, reference, self.host, lease) if lease else None
        self._records = self._bookkeeping.records if self._bookkeeping is not None else None
        self._guests = Guests(connection, timeouts)
        self._maintenance = Maintenance(
            connection,
            self._reference,
            self.host,
            timeouts.maintenance,
            records=self._records,
            run=lease.run if lease else current_run(),
        )
        self._boot = HostBoot(connection, self._reference, self.host, timeouts.reboot)
        self._reader = HostReader(connection)
        self._first: HostState | None = None
        self._last: HostState | None = None
        self._reasons: list[str] = []
        self._rebooted = False
        self._is_reboot_known = True
        self._superseded = False
        self._begun = False
        self._elapsed = 0.0

    def _reference(self) -> Any:
        return self._connection.reference("host", self._moid)

    # ------------------------------------------------------------ observe
    def observe(self) -> HostState:
        if self._first is None and self._wanted.in_maintenance == "recover":
            self._before_recovery()
        state = self._read()
        if state.connection != "connected" and not self._rebooted and not self._is_left_alone(state):
            check_host(state, self._wanted)  # nothing can be said about a host that does not answer
        if self._first is None:
            self._first = state
            self._reasons = reasons(state, self._wanted) if needs_reboot(state, self._wanted) else []
        self._last = state
        return state

    def _is_left_alone(self, state: HostState) -> bool:
        """A host that no interrupted run has marked is none of recovery's business, connected or not."""
        return self._wanted.in_maintenance == "recover" and not needs_reboot(state, self._wanted)

    def _before_recovery(self) -> None:
        """No recovery begins beside an active run, and a marked host may still be booting."""
        if self._bookkeeping is None:
            return
        self._bookkeeping.refuse_beside_others()
        if self._bookkeeping.records.mark() is not None and not self._check_mode:
            self._boot.await_connection()

    def _read(self) -> HostState:
        row = self._connection.read(self._reference(), _HOST_PATHS, "reading the host")
        connected = row.get("runtime.connectionState") == "connected"
        in_maintenance = bool(row.get("runtime.inMaintenanceMode", False))
        story, doubt = self._whose() if in_maintenance and not self._maintenance.entered else ("", "")
        drs = False
        refuges: tuple[tuple[str, str], ...] = ()
        if self._wanted.vm_policy == "evacuate" and connected and not self._rebooted:
            drs, refuges = self._reader.refuges(self._reference())
        return HostState(
            name=self.host,
            moid=self._moid,
            connection=str(row.get("runtime.connectionState", "unknown")),
            power=str(row.get("runtime.powerState", "unknown")),
            in_maintenance=in_maintenance,
            boot_time=row.get("runtime.bootTime"),
            reboot_supported=bool(row.get("capability.rebootSupported", True)),
            standby=str(row.get("runtime.standbyMode") or "none"),
            vms=self._reader.vms(row.get("vm", [])),
            pending=self._settings() if connected else (),
            story=story,
            doubt=doubt,
            drs=drs,
            refuges=refuges,
            rebooted=self._rebooted,
            superseded=self._superseded,
            entered_maintenance=self._maintenance.entered,
            left_maintenance=self._maintenance.left,
            shut_down=tuple(self._guests.down),
            powered_on=tuple(self._guests.started),
        )

    def _whose(self) -> tuple[str, str]:
        """Who entered the maintenance mode that the host is in, and why it is not an interrupted run's ("": it is)."""
        if self._records is None:
            return STANDALONE
        if self._first is None and self._wanted.in_maintenance in ("adopt", "recover"):
            self._maintenance.remember()  # before it is reported: a user who takes it over from here on is noticed
        mark = self._records.mark()
        doubt = self._records.doubt(mark)
        story = self._records.story()
        if mark is not None:
            story += f"; mark of run {mark.run.name} on controller {mark.run.controller}"
        return story, doubt

    def _settings(self) -> tuple[KernelSetting, ...]:
        names = self._wanted.pending_settings
        if not names:
            return ()
        state = read_kernel(self._connection, self._reference(), self.host)
        return tuple(managed_settings(state, KernelWanted(dict.fromkeys(names))))

    # ------------------------------------------------------------ plan and apply
    def plan(self, state: HostState, wanted: RebootWanted) -> list[Operation]:
        return plan_reboot(state, wanted)

    def apply(self, operation: Operation) -> None:
        steps: dict[str, Callable[[Operation], None]] = {
            "move": self._move,
            "shutdown": self._stop_vm,
            "enter": self._enter,
            "reboot": self._reboot,
            "exit": self._exit,
            "poweron": self._start_vm,
        }
        self._begin()
        try:
            if operation.payload["action"] in _STOPPING:
                self._keep_lease()
            steps[operation.payload["action"]](operation)
        except LayerError:
            raise
        except Exception as problem:  # a mistake of ours must not hide what is off now
            raise ApplyError(
                f"{operation.description}: {type(problem).__name__}: {problem}",
                host=self.host,
                remedy="report this; then go on as follows",
            ) from problem

    def _begin(self) -> None:
        """Before the first step: take the lease, see that the mark can be written, and look once more."""
        if self._begun:
            return
        self._begun = True
        if self._bookkeeping is None:
            return
        self._bookkeeping.open()
        before, state = self._last, self._read()
        if before is None or _essence(plan_reboot(before, self._wanted)) != _essence(plan_reboot(state, self._wanted)):
            raise RefusedError(
                "another client changed this host between the look at it and the lease; nothing was changed",
                host=self.host,
                thing="ESXi host",
                remedy="run again: it looks anew",
            )
        self._last = state

    def _keep_lease(self) -> None:
        """No step that stops anything without the lease; what puts things right goes on in any case."""
        if self._bookkeeping is None:
            return
        try:
            self._bookkeeping.keep()
        except LayerError as error:
            self._take_back(error)
            raise

    def _say_how_to_resume(self, error: LayerError) -> None:
        down = list(self._guests.still_down().values())
        entered = self._maintenance.is_ours
        error.details.setdefault("rebooted", self._rebooted if self._is_reboot_known else None)
        mode = "in maintenance mode (entered by this run)"
        if down and not entered:
            mode = self._mode()
        say_how_to_resume(error, self.host, mode, down, entered)

    def _mode(self) -> str:
        who = self._maintenance.taken_by
        if not who:
            who = self._records.story() if self._records else "a standalone host does not say by whom"
        try:
            is_on = self._connection.persistently(self._maintenance.is_on, self._connection.clock() + 10.0)
        except LayerError:
            return "out of reach"
        return f"in maintenance mode, but not by this run ({who})" if is_on else "not in maintenance mode"

    def _move(self, operation: Operation) -> None:
        what = operation.payload
        try:
            self._guests.move(what["moid"], what["vm"], what["target"], what["target_name"])
        except LayerError as error:
            self._restore(error)
            raise

    def _stop_vm(self, operation: Operation) -> None:
        what = operation.payload
        try:
            self._guests.stop(Stop(what["moid"], what["vm"], what["orderly"], what["hard_off"]), bool(what["last"]))
        except LayerError as error:
            self._restore(error)
            raise

    def _restore(self, error: LayerError) -> None:
        started = self._guests.bring_back()
        if started:
            error.args = ("{} Powered on again: {}.".format(error, ", ".join(started)),)

    def _enter(self, _operation: Operation) -> None:
        try:
            self._maintenance.enter(self._wanted.vsan_mode)
        except LayerError as error:
            if self._maintenance.entered:  # and the mark could not be written
                self._take_back(error)
            else:
                self._give_up_entering(error)
            raise

    def _give_up_entering(self, error: LayerError) -> None:
        try:
            vms = self._reader.vms(self._connection.read(self._reference(), ["vm"]).get("vm", []))
            names = [vm.name for vm in vms if vm.power == "poweredOn"]
            still_on = ", ".join(names) or "none"
        except LayerError:
            still_on = "not known"
        error.args = (f"{error} VMs that are on: {still_on}.",)
        self._restore(error)

    def _reboot(self, _operation: Operation) -> None:
        first = self._first.boot_time if self._first else None
        try:
            self._maintenance.check()
            before = self._connection.read(self._reference(), ["runtime.bootTime"]).get("runtime.bootTime")
        except LayerError as error:
            self._take_back(error)
            raise
        if not is_same_boot(before, first):  # a second one is not needed
            self._superseded = True
            return
        try:
            self._elapsed = self._boot.carry_out(before)
        except LayerError as error:
            if self._boot.never_began:
                self._take_back(error)
            else:
                self._is_reboot_known = False
                error.args = (f"{error} The reboot was asked for; whether the host has rebooted is not known.",)
            raise
        self._rebooted = True
        still = [s for s in self._settings() if s.is_pending]
        if still:
            said = ", ".join(f"{s.name} is configured {s.configured} and {s.runtime} is in force" for s in still)
            raise VerifyError(
                f"the host was rebooted, but {said} (it will not be rebooted again for this)",
                host=self.host,
                thing="kernel setting",
                remedy="check whether a host profile or the firmware overrides it, and the host's boot log",
            )

    def _take_back(self, error: LayerError) -> None:
        """It will not be rebooted: leave the host and its VMs as they were found."""
        text = " The host was not rebooted."
        if self._maintenance.is_ours:
            try:
                self._maintenance.leave()
                text += " It was taken out of maintenance mode again."
            except LayerError as second:
                text += f" It is still in maintenance mode ({second})."
        error.args = (f"{error}{text}",)
        if not self._maintenance.is_ours:
            self._restore(error)

    def _exit(self, _operation: Operation) -> None:
        self._maintenance.entered = True  # by this run, by an interrupted one, or a person says that it is this run's
        self._maintenance.leave()

    def _start_vm(self, operation: Operation) -> None:
        try:
            self._guests.start(operation.payload["moid"], operation.payload["vm"])
        except LayerError as error:
            others = self._guests.start_rest({**self._guests.down, **self._explicit()})
            if others:
                error.args = ("{} Powered on: {}.".format(error, ", ".join(others)),)
            raise

    def _explicit(self) -> dict[str, str]:
        vms = self._last.vms if self._last else ()
        return {vm.moid: vm.name for vm in vms if {vm.moid, vm.name} & set(self._wanted.power_on)}

    # ------------------------------------------------------------ every way out
    def commit(self, operations: Sequence[Operation]) -> None:
        if self._bookkeeping is None:
            return
        is_out = self._last is not None and self._last.connection == "connected" and not self._last.in_maintenance
        if self._wanted.in_maintenance == "recover" and not operations and is_out:
            self._bookkeeping.clear_stale_mark()
        self._bookkeeping.let_go()

    def failed(self, error: LayerError) -> None:
        text = ""
        if self._begun:  # also where only the last look failed
            self._say_how_to_resume(error)
        if self._begun and self._maintenance.entered and (self._maintenance.left or self._maintenance.taken_by):
            text = self._maintenance.clear_own()
        text += self._bookkeeping.let_go() if self._bookkeeping is not None else ""
        if text:
            error.args = (f"{error}{text}",)

    # ------------------------------------------------------------ result
    def pending(self, state: HostState) -> Pending:
        return pending_kernel(state.pending, self.host)

    def warnings(self, state: HostState, wanted: RebootWanted) -> list[str]:
        return list(warnings_of(state, wanted, unproved=self._maintenance.unproved, lost=self._maintenance.lost))

    def facts(self, state: HostState) -> dict[str, Any]:
        first = self._first or state
        return {
            "undo": net_undo(first, state),
            "esxi_host": self.host,
            "esxi_host_moid": self._moid,
            "rebooted": self._rebooted,
            "reasons": self._reasons,
            "boot_time_before": iso(first.boot_time),
            "boot_time_after": iso(state.boot_time) if self._rebooted else None,
            "elapsed": round(self._elapsed, 1),
            "entered_maintenance": self._maintenance.entered,
            "in_maintenance": state.in_maintenance,
            "vms_shut_down": list(self._guests.down.values()),
            "vms_moved": list(self._guests.moved.values()),
            "vms_powered_on": list(self._guests.started.values()),
        }


def _essence(operations: Sequence[Operation]) -> list[str]:
    return [operation.command for operation in operations]
