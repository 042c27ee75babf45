"""What the CONFIG_DB of a SONiC switch says of its ports. Pure.

Tables and fields: sonic-net/sonic-buildimage, src/sonic-yang-models/doc/Configuration.md (PORT, PORT_QOS_MAP,
DSCP_TO_TC_MAP, TC_TO_QUEUE_MAP, QUEUE, WRED_PROFILE, VLAN_MEMBER); that a reference may be spelled
``[DSCP_TO_TC_MAP|AZURE]`` or ``AZURE``: db_migrator.py of sonic-net/sonic-utilities. The key ``global`` of PORT_QOS_MAP
holds what belongs to the whole switch, such as its DSCP map, and a port's own entry goes before it. A DSCP that the map
leaves out is in traffic class 0 (SONiC's design document of its RoCE defaults). PFC_WD has an entry for each port whose
PFC watchdog runs (doc/Configuration.md, sonic-pfcwd.yang).
"""

from __future__ import annotations

import json
import re
from typing import Any, Iterable, Mapping

from .._layer import ParseError
from .._switch.observed import Marking, PortSeen
from .._switch.sections import spans

_MARKS = ("ecn_none", "ecn_green", "ecn_yellow", "ecn_red", "ecn_green_yellow", "ecn_green_red", "ecn_yellow_red")
_REFERENCE = re.compile(r"\[?(?:\w+\|)?([^\]|]+)\]?")
Config = Mapping[str, Mapping[str, Mapping[str, Any]]]


def config(host: str, data: Any) -> Config:
    """The tables of CONFIG_DB. Raises `ParseError` for what is none, and for a switch of several ASICs."""
    if not isinstance(data, Mapping) or not isinstance(data.get("PORT"), Mapping):
        several = isinstance(data, Mapping) and "localhost" in data and "asic0" in data
        what = "a switch of several ASICs, which is not known here" if several else "no table PORT in the CONFIG_DB"
        # The tables hold keys and passwords too: their names are all that a message shows.
        raw = "tables " + ", ".join(map(str, data)) if isinstance(data, Mapping) else f"a {type(data).__name__}"
        raise ParseError(what, host=host, raw=raw)
    return {name: table for name, table in data.items() if isinstance(table, Mapping)}


def named(value: Any) -> str:
    match = _REFERENCE.fullmatch(str(value))
    return match[1] if match else str(value)


def queue_of(db: Config, host: str, port: str, priority: int) -> int:
    """The queue that a traffic class leaves by; the class itself where the switch has no map for it."""
    table = db.get("TC_TO_QUEUE_MAP", {}).get(named(_qos(db, port).get("tc_to_queue_map", "")), {})
    return number(host, table.get(str(priority), priority))


def _qos(db: Config, port: str) -> dict[str, Any]:
    entries = db.get("PORT_QOS_MAP", {})
    found = dict(entries.get("global", {}))
    for key, entry in entries.items():
        if port in key.split(","):
            found.update(entry)
    return found


def port(db: Config, host: str, name: str) -> PortSeen:
    entry, qos = db["PORT"][name], _qos(db, name)
    lossless = frozenset(number(host, each) for each in str(qos.get("pfc_enable", "")).split(",") if each.strip())
    dscp_map = qos.get("dscp_to_tc_map")
    dscp = db.get("DSCP_TO_TC_MAP", {}).get(named(dscp_map), {}) if dscp_map else {}
    if dscp_map and not dscp:
        raise ParseError(f"{name} names the map {dscp_map!r}, which is not there", host=host, raw=json.dumps(qos))
    mode, vlan, tagged = _vlan(db, name)
    return PortSeen(
        mtu=number(host, entry["mtu"]) if "mtu" in entry else None,
        admin=entry.get("admin_status", "down") == "up",
        mode=mode,
        access_vlan=vlan if mode == "access" else None,
        allowed_vlans=spans(tagged) if mode == "trunk" else None,
        native_vlan=vlan if mode == "trunk" else None,
        addresses=tuple(_addresses(db, name)) if mode == "routed" else None,
        trust="dscp" if dscp_map else "pcp" if qos.get("dot1p_to_tc_map") else None,
        lossless=lossless,
        watchdog=any(name in key.split(",") for key in db.get("PFC_WD", {})),
        dscp={each: number(host, dscp.get(str(each), 0)) for each in range(64)},
        marking=_marking(db, host, name),
    )


def number(host: str, value: Any) -> int:
    text = str(value).strip()
    if not re.fullmatch(r"\d+", text):
        raise ParseError("not a number in the CONFIG_DB", host=host, raw=text)
    return int(text)


def _vlan(db: Config, name: str) -> tuple[str | None, int | None, list[int]]:
    """(mode, untagged VLAN, tagged VLANs)."""
    members = {
        int(key[len("Vlan") :].partition("|")[0]): entry.get("tagging_mode")
        for key, entry in db.get("VLAN_MEMBER", {}).items()
        if re.fullmatch(rf"Vlan\d+\|{re.escape(name)}", key)
    }
    untagged = [vlan for vlan, tagging in members.items() if tagging == "untagged"]
    tagged = [vlan for vlan in members if vlan not in untagged]
    if any(key.split("|")[-1] == name for key in db.get("PORTCHANNEL_MEMBER", {})):
        return "bond", None, []
    if len(untagged) == 1 and not tagged:
        return "access", untagged[0], []
    routed = any(key.partition("|")[0] == name for key in db.get("INTERFACE", {}))
    native = untagged[0] if len(untagged) == 1 else None
    return ("trunk" if members else "routed" if routed else None), native, tagged


def _addresses(db: Config, name: str) -> Iterable[str]:
    """An entry ``Ethernet0|192.0.2.0/31`` for each."""
    return [key.partition("|")[2] for key in db.get("INTERFACE", {}) if key.startswith(f"{name}|")]


def _marking(db: Config, host: str, name: str) -> dict[int, Marking]:
    found = {}
    for key, entry in db.get("QUEUE", {}).items():
        ports, _bar, queues = key.partition("|")
        profile = entry.get("wred_profile")
        if name not in ports.split(",") or not profile:
            continue
        mark = _mark(host, named(profile), db.get("WRED_PROFILE", {}).get(named(profile)))
        for queue in _span(host, queues):
            if mark:
                found[queue] = mark
    return {tc: found[queue_of(db, host, name, tc)] for tc in range(8) if queue_of(db, host, name, tc) in found}


def _span(host: str, queues: str) -> Iterable[int]:
    first, _dash, last = queues.partition("-")
    return range(number(host, first), number(host, last or first) + 1)


def _mark(host: str, profile: str, entry: Mapping[str, Any] | None) -> Marking | None:
    """Green packets are those without a colour of their own. Thresholds are in bytes."""
    if entry is None:
        raise ParseError(f"a queue names the WRED profile {profile}, which is not there", host=host, raw=profile)
    ecn = entry.get("ecn", "ecn_none")
    if ecn not in (*_MARKS, "ecn_all"):
        raise ParseError(f"ecn of the WRED profile {profile} is not known", host=host, raw=json.dumps(dict(entry)))
    if ecn != "ecn_all" and "green" not in ecn:
        return None
    least, most = (entry.get(f"green_{end}_threshold") for end in ("min", "max"))
    text = f"{profile}: {ecn}, {least} to {most} bytes"
    sizes = [None if each is None else number(host, each) / 1000 for each in (least, most)]
    return Marking(text, *sizes)
