"""One reboot: asked for once, watched until the host proves that it is back."""

from __future__ import annotations

import datetime
from typing import Any, Callable, Iterator

from .._layer import ApplyError, LayerError, UnreachableError, VerifyError
from .plan import KERNEL_LIST
from .transport import Connection, may_have_arrived

_RETURN_POLL = 5.0  # seconds between looks at a host that boots; the first ones come faster
_DISCONNECTED_PATIENCE = 60.0  # seconds until "disconnected" counts as final
_UNSURE_PATIENCE = 180.0  # seconds until a host that stays up counts as never ordered to reboot
_BOOT_JITTER = datetime.timedelta(seconds=1)


def is_newer_boot(
    before: datetime.datetime | None, now: datetime.datetime | None, was_down: bool, asked: datetime.datetime
) -> bool:
    """Whether ``now`` proves a boot after ``before``; ``asked``: when the reboot was asked for, by vCenter's clock.

    A corrected clock moves a boot time too, by minutes if it was far off. So a host that was not seen down has booted
    only if its new boot time lies after the moment of the request, and one that was seen down if it moved at all.
    """
    if now is None:
        return False
    if before is None:
        return was_down
    return before < asked <= now or (was_down and now - before > _BOOT_JITTER)


class HostBoot:
    """``never_began``: after a failure, whether it is certain that the reboot will not happen."""

    def __init__(self, connection: Connection, reference: Callable[[], Any], host: str, limit: float) -> None:
        self._connection = connection
        self._reference = reference
        self._host = host
        self._limit = limit
        self._silence = ""
        self.never_began = False

    def carry_out(self, before: datetime.datetime | None) -> float:
        """Ask once, return the seconds until the host was back. ``before``: the boot time that it replaces."""
        connection = self._connection
        asked = connection.server_time()
        started = connection.clock()
        doing = f"reboot {self._host}"
        certain, task = True, None
        try:
            task = connection.start(self._host, doing, lambda: self._reference().RebootHost_Task(force=False))
        except LayerError as error:
            if not may_have_arrived(error):  # answered with a fault, or not even logged in: nothing began
                self.never_began = True
                raise
            # The link broke. Logged in to the host itself it dies with the host; a vCenter may be restarting. Whether
            # the request arrived shows on the host, and asking again could reboot it twice.
            certain = not connection.is_vcenter
        if task is not None:
            certain = self._watch(task, doing)
        self._await_return(before, asked, started, certain)
        return connection.clock() - started

    def _watch(self, task: Any, doing: str) -> bool:
        """Wait for the task, which ends when the reboot was issued. The return of the host is the proof in any case.
        False if vCenter lost the host meanwhile: that may be the reboot."""
        try:
            self._connection.wait(task, doing, self._host, 120.0, reached=lambda: True)
        except LayerError as error:
            lost = error.details.get("fault") == "HostCommunication"
            self.never_began = error.details.get("task") == "error" and not lost
            if self.never_began or not isinstance(error, UnreachableError):  # one that hangs may still begin
                raise
            return not lost
        return True

    def _await_return(self, before: Any, asked: Any, started: float, certain: bool) -> None:
        """Wait until the host is connected, with a newer boot time, and answers a command.

        ``certain``: the reboot was accepted. Otherwise a host that stays up was never ordered to.
        """
        connection = self._connection
        deadline = started + self._limit
        unsure_until = started + min(_UNSURE_PATIENCE, self._limit)
        was_down = False
        disconnected_since: float | None = None
        for seen, boot_time in self._looks(deadline):
            was_down = was_down or seen != "connected"
            if seen == "connected":
                disconnected_since = None
                if is_newer_boot(before, boot_time, was_down, asked) and self.answers():
                    return
            elif seen == "disconnected":
                disconnected_since = connection.clock() if disconnected_since is None else disconnected_since
                if connection.clock() - disconnected_since > min(_DISCONNECTED_PATIENCE, self._limit / 4):
                    what = "after the reboot vCenter calls the host disconnected, which does not heal by itself"
                    remedy = "reconnect it in vCenter (password and certificate are the usual reasons)"
                    raise self._error(UnreachableError, what, remedy)
            if not certain and not was_down and connection.clock() >= unsure_until:
                self.never_began = True
                what = (
                    "the connection broke while the reboot was asked for, and the host is still up with its old boot "
                    f"time after {unsure_until - started:.0f} s: the request did not arrive"
                )
                raise self._error(UnreachableError, what, "see that vCenter is well, then run again")
            if connection.clock() >= deadline:
                raise self._gave_up(seen, was_down, boot_time)

    def _looks(self, deadline: float) -> Iterator[tuple[str, Any]]:
        """Connection state and boot time of the host, again and again."""
        connection = self._connection
        for _look in connection.pauses(deadline, first=0.2, growth=1.4, most=_RETURN_POLL):
            row = connection.persistently(
                lambda: connection.read(self._reference(), ["runtime.connectionState", "runtime.bootTime"]), deadline
            )
            yield str(row.get("runtime.connectionState", "unknown")), row.get("runtime.bootTime")

    def await_connection(self) -> None:
        """For a host that an earlier run has sent into its reboot: until it is connected and answers."""
        deadline = self._connection.clock() + self._limit
        for seen, _boot_time in self._looks(deadline):
            if seen == "connected" and self.answers():
                return
            if self._connection.clock() >= deadline:
                raise self._error(
                    UnreachableError,
                    f"an interrupted run has marked it, and after {self._limit:.0f} s its connection state is {seen}; "
                    "nothing was changed",
                    "look at the server's console (BMC); run again when the host is back",
                )

    def answers(self) -> bool:
        try:
            self._connection.run_esxcli(self._reference(), self._host, KERNEL_LIST)
        except (UnreachableError, ApplyError) as error:  # what esxcli needs starts later than the host connects
            self._silence = f"answers no command ({error})"
            return False
        return True

    def _error(self, kind: type[LayerError], what: str, remedy: str) -> LayerError:
        return kind(what, host=self._host, thing="ESXi host", remedy=remedy)

    def _gave_up(self, seen: str, was_down: bool, boot_time: Any) -> LayerError:
        limit = f"{self._limit:.0f} s"
        said = "reports its old boot time" if boot_time is not None else "reports no boot time"
        if seen == "connected":
            seen_down = "" if was_down else " and was never seen down"
            what = f"{limit} after the reboot was accepted, the host {self._silence or said}{seen_down}"
            return self._error(VerifyError, what, "look at the host's console and at its reboot task")
        what = f"the host did not come back within {limit} after the reboot; its connection state is {seen}"
        remedy = "look at the server's console (BMC); raise reboot_timeout if it is only slow"
        return self._error(UnreachableError, what, remedy)
