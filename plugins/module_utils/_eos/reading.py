"""One pass over an EOS switch.

JSON keys: aristanetworks/anta, unit tests of its checks (show version, interfaces, lldp neighbors detail);
amd/node-scraper, its collector of Arista switches (interfaceCounters of show priority-flow-control counters;
intfQueueCounters of show qos interfaces ecn counters queue). How ``show priority-flow-control`` itself looks in JSON
is in no public output, so whether PFC is in operation is not said, only whether it is configured. Frames of PFC are
counted over all priorities. RoCE packets are not counted by priority in JSON, so those counters are left out: what
needs them says that they were not read.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any, Mapping

from .._layer import CredentialError, ParseError
from .._switch.commands import Show, answered, counts, error_in, json_of
from .._switch.guards import Neighbor
from .._switch.observed import NOTHING, Observed, PortSeen, Sections
from .._switch.sections import tree
from . import config

VERSION = "show version | json"
RUNNING = "show running-config"
INTERFACES = "show interfaces | json"
PFC = "show priority-flow-control counters | json"
MARKS = "show qos interfaces ecn counters queue | json"
LLDP = "show lldp neighbors detail | json"
UNSAVED = "show running-config diffs"
_PORT = re.compile(r"Ethernet\d+(?:/\d+)*")


def read(host: str, show: Show, priority: int) -> Observed:
    """Raises `ParseError` if neither release nor ports can be read; what else is not readable is named."""
    section = Sections()
    version = _text(host, json_of(host, VERSION, show(VERSION)), "version")
    interfaces = _table(host, json_of(host, INTERFACES, show(INTERFACES)), "interfaces")
    root = tree(_allowed(host, RUNNING, show(RUNNING)))
    dscp = section("map of DSCPs", lambda: config.dscp_map(host, root), NOTHING)
    queues = section("map of queues", lambda: config.queue_map(host, root), NOTHING)
    pauses = section("PFC counters", lambda: _table(host, _json(host, PFC, show), "interfaceCounters"), NOTHING)
    marks = section("ECN counters", lambda: _table(host, _json(host, MARKS, show), "intfQueueCounters"), NOTHING)
    neighbors = section("neighbors", lambda: _neighbors(host, _json(host, LLDP, show)), NOTHING)

    def port(name: str, facts: Mapping[str, Any]) -> PortSeen:
        configured = section(f"QoS of {name}", lambda: config.port(host, root, name, queues), PortSeen())
        marked = marks.get(name, {}).get("queueCounters") or {}
        counted = {
            **counts(facts.get("interfaceCounters") or {}, {"rx_discards": "inDiscards", "tx_discards": "outDiscards"}),
            **counts(pauses.get(name, {}), {"rx_pfc_pause": "rxFrames", "tx_pfc_pause": "txFrames"}),
            **counts(marked, {"ecn_marked": str(queues.get(priority, priority))}),
        }
        mtu = facts.get("mtu")
        return dataclasses.replace(
            configured,
            mtu=mtu if isinstance(mtu, int) else None,
            admin=facts.get("interfaceStatus") != "disabled",
            up=facts.get("lineProtocolStatus") == "up",
            dscp=dscp,
            neighbors=neighbors.get(name, ()),
            counters=counted,
        )

    ports = {name: port(name, facts) for name, facts in interfaces.items() if _PORT.fullmatch(name)}
    saved = section("saved configuration", lambda: not _allowed(host, UNSAVED, show(UNSAVED)).strip(), None)
    return Observed(version, ports, saved, tuple(section.unreadable))


def _allowed(host: str, command: str, text: str) -> str:
    """EOS refuses the configuration to a login that is not privileged."""
    error = error_in(text)
    if "privileged" in error.lower():
        raise CredentialError(
            f"{command!r} was refused ({error})",
            host=host,
            thing="user",
            remedy="use an account of privilege 15, with 'aaa authorization exec default local'",
        )
    return answered(host, command, text)


def _json(host: str, command: str, show: Show) -> Any:
    return json_of(host, command, _allowed(host, command, show(command)))


def _table(host: str, data: Any, key: str) -> Mapping[str, Mapping[str, Any]]:
    found = data.get(key) if isinstance(data, Mapping) else None
    if not isinstance(found, Mapping):
        raise ParseError(f"no {key} in the JSON", host=host, raw=json.dumps(data)[:2000])
    return {name: each for name, each in found.items() if isinstance(each, Mapping)}


def _text(host: str, data: Any, key: str) -> str:
    if not isinstance(data, Mapping) or not isinstance(data.get(key), str):
        raise ParseError(f"no {key} in the JSON", host=host, raw=json.dumps(data)[:2000])
    return str(data[key])


def _neighbors(host: str, data: Any) -> dict[str, tuple[Neighbor, ...]]:
    found = {}
    for name, port in _table(host, data, "lldpNeighbors").items():
        each = port.get("lldpNeighborInfo")
        if not isinstance(each, list):
            raise ParseError(f"neighbors of {name} are no list", host=host, raw=json.dumps(port)[:2000])
        found[name] = tuple(_neighbor(info) for info in each if isinstance(info, Mapping))
    return found


def _neighbor(info: Mapping[str, Any]) -> Neighbor:
    there = info.get("neighborInterfaceInfo") or {}
    able = info.get("systemCapabilities") or {}
    return Neighbor(
        str(info.get("systemName") or ""),
        str(there.get("interfaceId_v2") or there.get("interfaceId") or "").strip('"'),
        str(info.get("systemDescription") or ""),
        bool(able.get("bridge") or able.get("router")),
    )
