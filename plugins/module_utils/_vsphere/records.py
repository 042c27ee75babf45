"""Marks on hosts and events about them, kept where every controller finds them: in vCenter.

A mark is the value of the custom attribute `rocemesh.window`. A standalone ESXi host has no custom attributes: there
nothing is recorded, so nothing can be recovered without a person who says so.
"""

from __future__ import annotations

import datetime
from typing import Any, Callable

from .._layer import ApplyError, CredentialError, LayerError, RefusedError
from .ownership import (
    MARK_FIELD,
    MaintenanceEvent,
    Mark,
    last_entry,
    not_ours,
    own_entry,
    read_mark,
    who_entered,
    write_mark,
)
from .state import type_name
from .transport import PATIENCE, Connection, vim

# Who entered the maintenance mode of a host that has no records, and why that is not proved.
STANDALONE = ("entered by a user whom a standalone host does not name", "nothing is recorded on a standalone host")
_EVENT_PATIENCE = 10.0  # seconds until the event of a finished task must be there


class CustomFields:
    """Definitions by name, values by object. All writes here may be repeated: they say the same the second time."""

    def __init__(self, connection: Connection, patience: float = PATIENCE) -> None:
        self._connection = connection
        self.patience = patience

    def insist(self, doing: str, call: Callable[[Any], Any]) -> Any:
        """``call`` gets the manager of the present session."""
        connection = self._connection
        deadline = connection.clock() + self.patience
        return connection.persistently(
            lambda: connection.start(connection.name, doing, lambda: call(connection.content.customFieldsManager)),
            deadline,
        )

    def definitions(self) -> dict[str, int]:
        row = self._connection.read(
            self._connection.content.customFieldsManager, ["field"], "reading the custom attributes"
        )
        return {str(field.name): int(field.key) for field in row.get("field") or []}

    def define(self, name: str, kind: Any) -> int | None:
        """Its key; None if another client was faster: only one can define a name."""
        try:
            made = self.insist(
                f"define the custom attribute {name}",
                lambda manager: manager.AddFieldDefinition(name=name, moType=kind),
            )
        except ApplyError as error:
            if error.details.get("fault") == "DuplicateName":
                return None
            raise
        return int(made.key)

    def undefine(self, key: int) -> bool:
        """False if that definition is not there any more."""
        try:
            self.insist("remove a custom attribute", lambda manager: manager.RemoveFieldDefinition(key=key))
        except ApplyError as error:
            if error.details.get("fault") in ("InvalidArgument", "NotFound"):
                return False
            raise
        return True

    def write(self, kind: str, moid: str, key: int, value: str) -> bool:
        """False if the definition is not there any more."""
        connection = self._connection
        try:
            self.insist(
                "write a custom attribute",
                lambda manager: manager.SetField(entity=connection.reference(kind, moid), key=key, value=value),
            )
        except ApplyError as error:
            if error.details.get("fault") == "InvalidArgument":
                return False
            raise
        return True

    @staticmethod
    def value(custom_values: Any, key: int | None) -> str:
        for item in custom_values or []:
            if key is not None and item.key == key:
                return str(getattr(item, "value", "") or "")
        return ""


class HostRecords:
    """The mark on one host, and vCenter's own events about it."""

    def __init__(self, connection: Connection, moid: str, host: str) -> None:
        self._connection = connection
        self._moid = moid
        self._host = host
        self.fields = CustomFields(connection)
        self.unreadable = ""  # a mark that this account cannot read

    def _reference(self) -> Any:
        return self._connection.reference("host", self._moid)

    def mark(self) -> Mark | None:
        key = self.fields.definitions().get(MARK_FIELD)
        if key is None:
            return None
        row = self._connection.read(self._reference(), ["customValue"], "reading the mark of the host")
        return self.parsed(self.fields.value(row.get("customValue"), key))

    def parsed(self, text: str) -> Mark | None:
        try:
            return read_mark(text)
        except ValueError:
            self.unreadable = text
            return None

    def events(self) -> list[MaintenanceEvent] | None:
        """All that vCenter remembers, None if it does not tell."""
        connection = self._connection
        kinds = {"EnteredMaintenanceModeEvent": "entered", "ExitMaintenanceModeEvent": "left"}

        def ask() -> Any:
            by_host = vim.event.EventFilterSpec.ByEntity(entity=self._reference(), recursion="self")
            return connection.content.eventManager.QueryEvents(
                filter=vim.event.EventFilterSpec(entity=by_host, eventTypeId=list(kinds))
            )

        try:
            rows = connection.ask(self._host, "reading the events of the host", ask)
        except (ApplyError, CredentialError):
            return None
        found = []
        for row in rows or []:
            kind = kinds.get(type_name(row))
            if kind:
                found.append(MaintenanceEvent(int(row.key), kind, row.createdTime, str(row.userName or "")))
        return found

    def user(self) -> str:
        row = self._connection.read(
            self._connection.content.sessionManager, ["currentSession"], "reading the name of the account"
        )
        return str(getattr(row.get("currentSession"), "userName", "") or "")

    def prepare(self) -> None:
        """Find out before anything stops whether the mark can be written: a missing privilege is a refusal then."""
        mark = self.mark()
        if self.unreadable:
            raise RefusedError(
                f"the custom attribute {MARK_FIELD} of the host holds {self.unreadable!r}, which is no mark of this "
                "collection; nothing was changed",
                host=self._host,
                thing="custom attribute",
                remedy="find out who wrote it and empty it in the vSphere client",
            )
        if mark is None and not self.fields.write("host", self._moid, self._key(), ""):
            raise RefusedError(
                "vCenter takes no value of it for a host (it is defined for another kind of object, or was removed "
                "meanwhile); nothing was changed",
                host=self._host,
                thing="custom attribute",
                value=MARK_FIELD,
                remedy="remove this custom attribute in the vSphere client; the next run defines it for hosts",
            )

    def _key(self) -> int:
        key = self.fields.definitions().get(MARK_FIELD)
        if key is None:
            key = self.fields.define(MARK_FIELD, vim.HostSystem)
        return key if key is not None else self.fields.definitions()[MARK_FIELD]

    def entry_since(self, asked: datetime.datetime, mine_only: bool) -> MaintenanceEvent | None:
        """The entry that this run's task, asked for at ``asked``, has made; ``mine_only``: it must name our account,
        because no answer says that it was our task."""
        connection = self._connection
        deadline = connection.clock() + _EVENT_PATIENCE
        user = self.user()
        while True:
            events = self.events() or ()
            entry = own_entry(events, asked, user)
            if entry is not None:
                if mine_only and (
                    entry != last_entry(events) or entry.at < asked or entry.user.lower() != user.lower()
                ):
                    return None
                return entry
            if connection.clock() >= deadline:
                return None
            connection.sleep(0.2)

    def write(self, mark: Mark) -> None:
        if not self.fields.write("host", self._moid, self._key(), write_mark(mark)):
            raise ApplyError(
                "the custom attribute went away while it was written",
                host=self._host,
                thing="custom attribute",
                value=MARK_FIELD,
                remedy="find out who removes custom attributes, then run again",
            )

    def clear(self) -> None:
        key = self.fields.definitions().get(MARK_FIELD)
        if key is not None:
            self.fields.write("host", self._moid, key, "")

    def doubt(self, mark: Mark | None) -> str:
        """Why the maintenance mode that the host is in is not that of ``mark``; "" if it is."""
        if self.unreadable:
            return f"its mark cannot be read: {self.unreadable!r}"
        return not_ours(mark, self.events())

    def story(self) -> str:
        try:
            return who_entered(self.events())
        except LayerError:
            return "vCenter could not be asked who entered it"
