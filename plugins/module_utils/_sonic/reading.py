"""One pass over a SONiC switch through its own commands.

RoCE packets that come in are not counted by priority in any of SONiC's commands, so that counter is left out: what
needs it says that it was not read. A release without ``show queue wredcounters`` lacks the marks in the same way.
"""

from __future__ import annotations

import dataclasses
from typing import Mapping

from .._layer import ParseError
from .._switch.commands import Show, json_of
from .._switch.observed import NOTHING, Observed, PortSeen, Sections
from . import config as database
from . import tables

RUNNING = "show runningconfiguration all"
SAVED = "cat /etc/sonic/config_db.json"
VERSION = "show version"
INTERFACES = "show interfaces counters"
PFC = "show pfc counters"
QUEUES = "show queue counters"
MARKS = "show queue wredcounters"
LLDP = "show lldp table"


def read(host: str, show: Show, priority: int) -> Observed:
    """Raises `ParseError` if neither release nor ports can be read; what else is not readable is named."""
    section = Sections()
    version = tables.version(host, show(VERSION))
    db = database.config(host, json_of(host, RUNNING, show(RUNNING)))

    def port(name: str) -> PortSeen:
        bare = PortSeen(admin=db["PORT"][name].get("admin_status", "down") == "up")
        return section(f"QoS of {name}", lambda: database.port(db, host, name), bare)

    ports = {name: port(name) for name in db["PORT"]}
    seen = section("interfaces", lambda: tables.states(host, show(INTERFACES)), NOTHING)
    pauses = section("PFC counters", lambda: tables.pauses(host, show(PFC), priority), NOTHING)
    sent = section("queue counters", lambda: tables.queues(host, show(QUEUES), "Counter/pkts"), NOTHING)
    marks = section("ECN counters", lambda: _marks(host, show(MARKS)), NOTHING)
    neighbors = section("neighbors", lambda: tables.neighbors(host, show(LLDP)), NOTHING)

    def whole(name: str, port: PortSeen) -> PortSeen:
        link, counters = seen.get(name, (None, {}))
        queue = (name, database.queue_of(db, host, name, priority))
        more = {"tx_roce_packets": sent.get(queue), "ecn_marked": marks.get(queue)}
        counted = {key: value for key, value in more.items() if value is not None}
        every: Mapping[str, int] = {**counters, **pauses.get(name, {}), **counted}
        return dataclasses.replace(port, up=link, neighbors=neighbors.get(name, ()), counters=every)

    # Whether a restart brings back what runs; bgpraw is no table. `show` and `config save` print the same tables
    # (sonic-utilities, show/main.py and config/main.py, branches 201911 to 202405 and master of July 2026).
    saved = section("saved configuration", lambda: db == database.config(host, json_of(host, SAVED, show(SAVED))), None)
    found = {name: whole(name, port) for name, port in ports.items()}
    return Observed(version, found, saved, tuple(section.unreadable))


def _marks(host: str, text: str) -> dict[tuple[str, int], int]:
    """Older releases do not know the command, and then there is nothing to count."""
    if "No such command" in text:
        return {}
    try:
        return tables.queues(host, text, "EcnMarked/pkts")
    except ParseError:
        if "not supported" in text.lower():
            return {}
        raise
