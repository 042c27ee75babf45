"""Maintenance mode of one host: entered and left by tasks that are followed to their end, and owned by its mark."""

from __future__ import annotations

import datetime
from typing import Any, Callable

from .._layer import ApplyError, LayerError, UnreachableError
from .ownership import Mark, last_entry
from .records import HostRecords
from .run_identity import Run
from .transport import Connection, may_have_arrived


class Maintenance:
    """``records`` None: nothing can be recorded (a standalone host), so this run alone knows that it entered."""

    def __init__(
        self,
        connection: Connection,
        reference: Callable[[], Any],
        host: str,
        limit: float,
        *,
        records: HostRecords | None,
        run: Run,
    ) -> None:
        self._connection = connection
        self._reference = reference
        self._host = host
        self._limit = limit
        self._records = records
        self._run = run
        self._mark: Mark | None = None
        self.entered = False
        self.left = False
        self.unproved = False  # vCenter shows no event that a later run could compare with the mark
        self.lost = False  # it ended without this run
        self.taken_by = ""  # who has it now, if it is not this run's any more

    @property
    def is_ours(self) -> bool:
        return self.entered and not self.left and not self.taken_by

    def _failed(self, what: str, remedy: str) -> ApplyError:
        return ApplyError(what, host=self._host, thing="ESXi host", remedy=remedy)

    def is_on(self) -> bool:
        row = self._connection.read(self._reference(), ["runtime.inMaintenanceMode"], "reading the maintenance mode")
        return bool(row.get("runtime.inMaintenanceMode", False))

    def _is_off(self) -> bool:
        return not self.is_on()

    # ------------------------------------------------------------ enter
    def enter(self, vsan_mode: str) -> None:
        connection = self._connection
        doing = f"put {self._host} into maintenance mode"
        asked = connection.server_time()
        sure = True
        try:
            task = connection.start(
                self._host, doing, lambda: connection.enter_maintenance(self._reference(), int(self._limit), vsan_mode)
            )
            connection.wait(task, doing, self._host, self._limit + 10.0, cancel=True, reached=self.is_on)
        except UnreachableError as error:
            # where the link broke, the request may have arrived all the same
            if not may_have_arrived(error) or not connection.followed(self.is_on):
                raise
            sure = False
        self._own(asked, sure)

    def _own(self, asked: datetime.datetime, sure: bool) -> None:
        """Write the mark: from here on every controller can tell that this maintenance mode is this run's."""
        self.entered = sure or self._records is None  # whatever comes of the mark
        if self._records is None:
            return
        entry = self._records.entry_since(asked, mine_only=not sure)
        if entry is None and not sure:
            raise self._failed(
                "the connection broke while maintenance mode was asked for. The host is in maintenance mode now, "
                f"{self._records.story()}, and nothing proves that it was this run's task",
                "ask the user who entered maintenance mode. If no user did, run again with in_maintenance=adopt",
            )
        self.entered = True
        self.unproved = entry is None
        self._mark = Mark(self._run, entry.at if entry else asked, entry.key if entry else 0)
        self._records.write(self._mark)

    def remember(self) -> None:
        """The maintenance mode of this moment, which is to be adopted: no later one is meant by that."""
        entry = last_entry(self._records.events() or ()) if self._records is not None else None
        if entry is not None:
            self._mark = Mark(self._run, entry.at, entry.key)

    # ------------------------------------------------------------ still ours?
    def check(self) -> None:
        """Raises `ApplyError` if the maintenance mode that this run had entered or found is another user's by now."""
        if self._records is None or self._mark is None or not self._mark.event or self.left:
            return
        doubt = self._connection.persistently(
            lambda: self._records.doubt(self._mark) if self._records else "", self._connection.clock() + 60.0
        )
        if not doubt:
            return
        if self._is_off():
            self.taken_by = doubt
            what = f"another user ended the maintenance mode that this run had entered ({doubt})"
            raise self._failed(what, "ask that user, then run again")
        self.taken_by = self._records.story()
        raise self._failed(
            f"the maintenance mode that the host is in now is not this run's any more: {self.taken_by} ({doubt}). "
            "It was left as it is",
            "ask the user who entered it; run again when it is over",
        )

    # ------------------------------------------------------------ leave
    def leave(self) -> None:
        if self._is_off():
            self.lost = True  # it came back from the reboot without it
            self._gone()
            return
        self.check()
        doing = f"take {self._host} out of maintenance mode"
        try:
            self._ask_to_leave(doing)
        except UnreachableError as error:
            if not may_have_arrived(error):
                raise
            # carried out and never answered, or never arrived: the host says which, and leaving twice is harmless
            if not self._connection.followed(self._is_off):
                self._ask_to_leave(doing)
        except ApplyError:
            if not self._connection.followed(self._is_off, 0.0):  # another client may have been faster
                raise
        self._gone()

    def _ask_to_leave(self, doing: str) -> None:
        task = self._connection.start(
            self._host, doing, lambda: self._reference().ExitMaintenanceMode_Task(timeout=int(self._limit))
        )
        self._connection.wait(task, doing, self._host, self._limit + 10.0, reached=self._is_off)

    def _gone(self) -> None:
        self.left = True
        self.clear()

    def clear_own(self) -> str:
        """As `clear`, for a run that failed: a mark that another run has written since then stays."""
        try:
            mark = self._records.mark() if self._records is not None else None
        except LayerError as error:
            return f" Whose mark is on it could not be read ({error})."
        event = self._mark.event if self._mark is not None else 0
        ours = mark is not None and (mark.run.name == self._run.name or (event and mark.event == event))
        return self.clear() if ours else ""

    def clear(self) -> str:
        """Take the mark away; "" or what keeps it there. A mark that stays proves nothing once the host is out."""
        if self._records is None:
            return ""
        try:
            self._records.clear()
        except LayerError as error:
            return f" Its mark could not be taken away ({error}); it proves nothing any more."
        self._mark = None
        return ""
