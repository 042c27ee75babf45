"""The VMs of one host around its reboot: asked to stop side by side, moved, started again."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

from .._layer import ApplyError, LayerError
from .plan_reboot import Timeouts
from .power import VmPower
from .transport import PATIENCE, Connection, may_have_arrived


@dataclasses.dataclass(frozen=True)
class Stop:
    """``orderly``: ask the guest; otherwise the power is cut. ``hard_off``: cut it too if the guest does not stop."""

    moid: str
    name: str
    orderly: bool
    hard_off: bool


class Guests:
    """What this run did to VMs. ``down`` and ``asked``: managed object id -> name."""

    def __init__(self, connection: Connection, timeouts: Timeouts) -> None:
        self._connection = connection
        self._timeouts = timeouts
        self._waiting: list[Stop] = []
        self._deadline = 0.0  # of all guests together
        self.asked: dict[str, str] = {}  # may go down at any moment
        self.down: dict[str, str] = {}
        self.started: dict[str, str] = {}
        self.moved: dict[str, str] = {}

    def power_of(self, moids: list[str]) -> dict[str, str]:
        connection = self._connection
        references = [connection.reference("vm", moid) for moid in moids]
        rows = connection.properties(references, ["runtime.powerState"], "reading the power state")
        return {moid: str(row.get("runtime.powerState", "")) for moid, row in zip(moids, rows)}

    # ------------------------------------------------------------ down
    def stop(self, stop: Stop, is_last: bool) -> None:
        """Ask this guest; after the last one wait for all of them, up to one common deadline."""
        if stop.orderly:
            self._ask(stop)
        else:
            self.asked[stop.moid] = stop.name
            self._cut(stop)
        if is_last:
            self._await_all()

    def _ask(self, stop: Stop) -> None:
        connection = self._connection
        self._deadline = connection.clock() + self._timeouts.shutdown
        self.asked[stop.moid] = stop.name  # from here on it may go down, whether we hear of it or not
        try:
            connection.start(
                stop.name, "shut down the guest", lambda: connection.reference("vm", stop.moid).ShutdownGuest()
            )
        except LayerError as error:
            if not may_have_arrived(error) and not self._is_off(stop.moid):  # another client may have been faster
                del self.asked[stop.moid]
                raise
        self._waiting.append(stop)

    def _is_off(self, moid: str) -> bool:
        try:
            return self.power_of([moid])[moid] == "poweredOff"
        except LayerError:
            return False

    def _cut(self, stop: Stop) -> None:
        VmPower(self._connection, stop.moid, stop.name).cut(self._timeouts.power_on)
        self.down[stop.moid] = self.asked.pop(stop.moid)

    def _note_down(self) -> None:
        if not self.asked:
            return
        for moid, power in self.power_of(list(self.asked)).items():
            if power == "poweredOff":
                self.down[moid] = self.asked.pop(moid)

    def _await_all(self) -> None:
        late = self._await_asked()
        for stop in [stop for stop in late if stop.hard_off]:
            self._cut(stop)
        stubborn = [stop for stop in late if not stop.hard_off]
        if stubborn:
            names = ", ".join(stop.name for stop in stubborn)
            raise ApplyError(
                f"the guest was asked to shut down and is still running after {self._timeouts.shutdown:.0f} s",
                host=names,
                remedy="look at its console for what keeps it up, or raise the timeout. It may still go down by itself",
            )

    def _await_asked(self) -> list[Stop]:
        """Until all who were asked are off, or their time is over; returns those who are late."""
        connection = self._connection
        late: list[Stop] = []
        for _look in connection.pauses(self._deadline, first=0.05):
            connection.persistently(self._note_down, max(self._deadline, connection.clock() + PATIENCE))
            late = [stop for stop in self._waiting if stop.moid in self.asked]
            if not late or connection.clock() >= self._deadline:
                break
        return late

    # ------------------------------------------------------------ elsewhere
    def move(self, moid: str, name: str, target: str, target_name: str) -> None:
        connection = self._connection
        doing = f"move {name} to {target_name}"

        def ask() -> Any:
            return connection.reference("vm", moid).MigrateVM_Task(
                host=connection.reference("host", target), priority="defaultPriority"
            )

        def there() -> bool:
            row = connection.read(connection.reference("vm", moid), ["runtime.host"], doing)
            return bool(getattr(row.get("runtime.host"), "_moId", "") == target)

        task = connection.start(name, doing, ask)
        connection.wait(task, doing, name, self._timeouts.maintenance, cancel=True, reached=there)
        self.moved[moid] = name

    # ------------------------------------------------------------ up
    def start(self, moid: str, name: str) -> None:
        VmPower(self._connection, moid, name).on(self._timeouts.power_on)
        self.started[moid] = name

    def bring_back(self) -> list[str]:
        """Before the reboot has begun, a failure leaves the host as it was found: start what was stopped."""
        try:
            self._await_asked()  # who was asked goes down yet, and would stay so
        except LayerError:
            return []  # no answer; the error names what is down
        back = self._start_each(self.down)
        for moid in back:
            del self.down[moid]
        return sorted(back.values())  # guests go down in any order

    def start_rest(self, wanted: dict[str, str]) -> list[str]:
        """After one VM did not start: the others all the same. Returns their names."""
        back = self._start_each({moid: name for moid, name in wanted.items() if moid not in self.started})
        self.started.update(back)
        return list(back.values())

    def _start_each(self, wanted: dict[str, str]) -> dict[str, str]:
        """Those that could be started; the others stay among the VMs that are down, which the error names."""
        back = {}
        for moid, name in wanted.items():
            with contextlib.suppress(LayerError):
                VmPower(self._connection, moid, name).on(self._timeouts.power_on)
                back[moid] = name
        return back

    def still_down(self) -> dict[str, str]:
        """What is off now, or may be, because of this run."""
        left = {moid: name for moid, name in {**self.down, **self.asked}.items() if moid not in self.started}
        try:
            powers = self.power_of(list(left)) if left else {}
        except LayerError:
            return left
        return {moid: name for moid, name in left.items() if powers.get(moid) != "poweredOn" or moid in self.asked}
