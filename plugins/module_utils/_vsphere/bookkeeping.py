"""What one run keeps in vCenter while it works on a host: the lease of the datacenter, and the records of the host."""

from __future__ import annotations

import contextlib
from typing import Any, Callable

from .._layer import LayerError
from .lease import LeaseWanted, SiteLease, datacenter_of, release_quietly
from .records import HostRecords
from .transport import Connection


class HostBookkeeping:
    def __init__(self, connection: Connection, host: Any, name: str, wanted: LeaseWanted) -> None:
        self._connection = connection
        self._moid = str(host._moId)
        self._user = ""
        self._took_it = False
        self.records = HostRecords(connection, self._moid, name)
        self._lease = SiteLease(connection, wanted, *datacenter_of(connection, host))

    def refuse_beside_others(self) -> None:
        """No recovery begins beside an active run."""
        self._lease.refuse_beside_others()

    def clear_stale_mark(self) -> None:
        """On a host that is not in maintenance mode: left behind by a run that died after it had left that mode."""
        if self.records.mark() is None or self._lease.holder() is not None:
            return  # asked in this order: who writes a mark this moment has the lease
        self.records.clear()

    def open(self) -> None:
        """Take the lease, keep it alive from now on, and see that the mark can be written, before anything stops."""
        self._user = self.records.user()
        self._took_it = self._lease.take(self._user)
        self._connection.sleep = self._renewing(self._connection.sleep)
        self.records.prepare()

    def _renewing(self, sleep: Callable[[float], None]) -> Callable[[float], None]:
        """Waiting is when a lease would run out: say that we are alive. Losing it shows at the next step."""

        def renew_and_sleep(seconds: float) -> None:
            if self._lease.is_due:
                with contextlib.suppress(LayerError):
                    self._lease.renew_once(self._user)
            sleep(seconds)

        return renew_and_sleep

    def keep(self) -> None:
        """Raises a `LayerError` if the lease is lost."""
        self._lease.renew(self._user)

    def let_go(self) -> str:
        """Give back a lease that was taken here; one that the play holds stays. "" or what went wrong."""
        if not self._took_it:
            return ""
        self._took_it = False
        return release_quietly(self._lease)
