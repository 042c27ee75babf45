"""One lease per datacenter: only its holder opens maintenance windows there.

The lock is the definition of a custom attribute: vCenter lets only one caller define a name, and never gives its key
again. The key therefore also fences: a holder that slept through its expiry writes to a key that is gone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
from typing import Any, Callable

from .._layer import LayerError, RefusedError
from .ownership import Lease, describe_lease, read_lease, write_lease
from .records import CustomFields, HostRecords
from .run_identity import Run, is_gone
from .transport import Connection, vim

_UNSIGNED_PATIENCE = 10.0  # seconds that a lease may lack its holder's name; signing takes one call
_ATTEMPTS = 6
LEAST_SECONDS = 60


@dataclasses.dataclass(frozen=True)
class LeaseWanted:
    """``seconds``: how long the lease is good without a word from ``run``; ``take_over``: name of a dead run."""

    run: Run
    seconds: int = 1800
    take_over: str = ""


class LeaseLostError(RefusedError):
    """Another run has it now, or another client removed it."""

    code = "lease_lost"


def datacenter_of(connection: Connection, host: Any) -> tuple[str, str]:
    """Return (managed object id, name) of the datacenter that the host is in."""
    current = host
    while current is not None:
        row = connection.read(current, ["parent", "name"], "looking for the datacenter of the host")
        if isinstance(current, vim.Datacenter):
            return str(current._moId), str(row.get("name", ""))
        current = row.get("parent")
    raise RefusedError("vCenter names no datacenter above it", host=connection.name, thing="ESXi host")


class SiteLease:
    def __init__(self, connection: Connection, wanted: LeaseWanted, moid: str, name: str) -> None:
        self._connection = connection
        self._run = wanted.run
        self._take_over = wanted.take_over
        self._moid = moid
        self._name = name
        self._seconds = max(wanted.seconds, LEAST_SECONDS)
        self._fields = CustomFields(connection)
        self._key: int | None = None
        self._since: datetime.datetime | None = None
        self._renewed = 0.0
        self.field = f"rocemesh.lease.{moid}"

    def _refused(self, what: str, remedy: str, **more: Any) -> RefusedError:
        return RefusedError(what, host=self._name, thing="lease", remedy=remedy, **more)

    def _read(self) -> tuple[int | None, str]:
        key = self._fields.definitions().get(self.field)
        if key is None:
            return None, ""
        row = self._connection.read(
            self._connection.reference("datacenter", self._moid), ["customValue"], "reading the lease"
        )
        return key, self._fields.value(row.get("customValue"), key)

    def _parsed(self, text: str) -> Lease | None:
        try:
            return read_lease(text)
        except ValueError:
            raise self._refused(
                f"the custom attribute {self.field} holds {text!r}, which is no lease of this collection; nothing was "
                "changed",
                "find out who wrote it; if no controller opens windows, remove that custom attribute in vCenter",
            ) from None

    # ------------------------------------------------------------ what others have
    def holder(self) -> Lease | None:
        """The live lease of another run, None if there is none."""
        key, text = self._read()
        lease = self._parsed(text) if key is not None else None
        if lease is None or lease.run.name == self._run.name or not self._is_live(lease):
            return None
        return lease

    def _is_live(self, lease: Lease) -> bool:
        return lease.until > self._connection.server_time() and not is_gone(lease.run.process)

    def refuse_beside_others(self) -> None:
        other = self.holder()
        if other is not None and other.run.name != self._take_over:
            raise self.refusal(other)

    def refusal(self, lease: Lease) -> RefusedError:
        now = self._connection.server_time()
        return self._refused(
            f"another run has the maintenance windows of this datacenter: {describe_lease(lease, now)}; nothing was "
            "changed",
            "wait until that run has ended, then run again. Only if you know that it is dead: run again with "
            f"take_over={lease.run.name} (in the playbooks -e rocemesh_take_over={lease.run.name})",
            holder={"run": lease.run.name, "controller": lease.run.controller, "user": lease.user},
        )

    # ------------------------------------------------------------ take, renew, release
    def take(self, user: str) -> bool:
        """True if it was taken now, False if this run has it already. Raises `RefusedError` that names the holder."""
        unsigned_since: float | None = None
        unsigned_key: int | None = None
        for _attempt in range(_ATTEMPTS):
            key, text = self._read()
            if key is None:
                if self._define(user):
                    return True
                continue
            lease = self._parsed(text)
            if lease is None:  # taken this moment, or by one that died before it signed
                if unsigned_key != key:
                    unsigned_since, unsigned_key = self._connection.clock(), key
                self._await_signature(key, unsigned_since or 0.0)
                continue
            if lease.run.name == self._run.name:
                self._key, self._since = key, lease.since
                self.renew(user)
                return False
            if self._is_live(lease) and self._take_over != lease.run.name:
                raise self.refusal(lease)
            self._fields.undefine(key)  # by key: who was faster has another one
        what = "other runs take it away again and again; nothing was changed"
        raise self._refused(what, "look who else opens maintenance windows, then run again", value=self.field)

    def _await_signature(self, key: int, since: float) -> None:
        connection = self._connection
        while connection.clock() < since + _UNSIGNED_PATIENCE:
            connection.sleep(0.2)
            now, text = self._read()
            if now != key or text:
                return
        self._fields.undefine(key)

    def _define(self, user: str) -> bool:
        key = self._fields.define(self.field, vim.Datacenter)
        if key is None:
            return False
        self._key, self._since = key, self._connection.server_time()
        try:
            return self._sign(user)
        except LayerError:
            self._key = None
            with contextlib.suppress(LayerError):  # nothing stays without an owner
                self._fields.undefine(key)
            raise

    def _sign(self, user: str, fields: CustomFields | None = None) -> bool:
        fields = fields or self._fields
        now = self._connection.persistently(self._connection.server_time, self._connection.clock() + fields.patience)
        lease = Lease(self._run, user, self._since or now, now, now + datetime.timedelta(seconds=self._seconds))
        if self._key is None or not fields.write("datacenter", self._moid, self._key, write_lease(lease)):
            self._key = None
            return False
        self._renewed = self._connection.clock()
        return True

    def renew_once(self, user: str) -> None:
        """Without patience: called while waiting for something else. A failure counts at the next `renew`."""
        self._renewed = self._connection.clock()  # not again at once, whatever comes of it
        self._sign(user, CustomFields(self._connection, patience=0.0))

    def renew(self, user: str) -> None:
        """Raises `LeaseLostError` if it is another run's by now."""
        if self._sign(user):
            return
        lease = self.holder()
        who = f"{describe_lease(lease, self._connection.server_time())} has it" if lease else "no run has it"
        raise LeaseLostError(
            f"this run has lost it; now {who}",
            host=self._name,
            thing="lease",
            remedy="make sure that no other run is active, then run again",
        )

    @property
    def is_due(self) -> bool:
        return self._key is not None and self._connection.clock() - self._renewed >= self._seconds / 4

    def release(self) -> bool:
        """Ends the lease if this run has it; another run's stays. True if it was ended now."""
        key, text = self._read()
        try:
            lease = read_lease(text)
        except ValueError:
            return False
        ours = lease is not None and lease.run.name == self._run.name
        mine = key is not None and (ours or key == self._key)
        self._key = None
        return mine and key is not None and self._fields.undefine(key)


def release_quietly(lease: SiteLease) -> str:
    """ "" or what keeps it from ending; it expires by itself."""
    try:
        lease.release()
    except LayerError as error:
        return f" The lease could not be given back ({error}) and expires by itself."
    return ""


class HostBookkeeping:
    """What one run keeps in vCenter while it works on a host: the lease of the datacenter, the records of the host."""

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
