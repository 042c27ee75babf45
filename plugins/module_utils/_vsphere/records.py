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

    def _carried_out(self, doing: str, call: Callable[[Any], Any], *faults: str) -> tuple[bool, Any]:
        """Whether it was, and the answer; not if vCenter answers with one of these faults. ``call`` gets the manager of
        the present session."""
        connection = self._connection
        deadline = connection.clock() + self.patience
        try:
            return True, connection.persistently(
                lambda: connection.start(connection.name, doing, lambda: call(connection.content.customFieldsManager)),
                deadline,
            )
        except ApplyError as error:
            if error.details.get("fault") not in faults:
                raise
            return False, None

    def definitions(self) -> dict[str, int]:
        row = self._connection.read(
            self._connection.content.customFieldsManager, ["field"], "reading the custom attributes"
        )
        return {str(field.name): int(field.key) for field in row.get("field") or []}

    def define(self, name: str, kind: Any) -> int | None:
        """Its key; None if another client was faster: only one can define a name."""
        doing = f"define the custom attribute {name}"
        done, made = self._carried_out(
            doing, lambda manager: manager.AddFieldDefinition(name=name, moType=kind), "DuplicateName"
        )
        return int(made.key) if done else None

    def undefine(self, key: int) -> bool:
        """False if that definition is not there any more."""
        doing, gone = "remove a custom attribute", ("InvalidArgument", "NotFound")
        return self._carried_out(doing, lambda manager: manager.RemoveFieldDefinition(key=key), *gone)[0]

    def write(self, kind: str, moid: str, key: int, value: str) -> bool:
        """False if the definition is not there any more."""

        def call(manager: Any) -> None:
            manager.SetField(entity=self._connection.reference(kind, moid), key=key, value=value)

        return self._carried_out("write a custom attribute", call, "InvalidArgument")[0]

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

    def _error(self, kind: type[LayerError], what: str, remedy: str, value: str | None = None) -> LayerError:
        return kind(what, host=self._host, thing="custom attribute", value=value, remedy=remedy)

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
            what = (
                f"the custom attribute {MARK_FIELD} of the host holds {self.unreadable!r}, which is no mark of this "
                "collection; nothing was changed"
            )
            raise self._error(RefusedError, what, "find out who wrote it and empty it in the vSphere client")
        if mark is None and not self.fields.write("host", self._moid, self._key(), ""):
            what = (
                "vCenter takes no value of it for a host (it is defined for another kind of object, or was removed "
                "meanwhile); nothing was changed"
            )
            remedy = "remove this custom attribute in the vSphere client; the next run defines it for hosts"
            raise self._error(RefusedError, what, remedy, MARK_FIELD)

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
            what = "the custom attribute went away while it was written"
            raise self._error(ApplyError, what, "find out who removes custom attributes, then run again", MARK_FIELD)

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
