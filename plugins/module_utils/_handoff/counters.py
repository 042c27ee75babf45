"""What counters.sh of a hand-off wrote on a node, in the shape in which module rdma_info reads a node. Pure."""

from __future__ import annotations

import re
from typing import Any

from .._layer import ParseError
from .._nic.rdma_state import parse_ethtool_counters, parse_gid

_FILE = re.compile(r"file class/infiniband/(?P<device>[^/ ]+)/ports/(?P<port>\d+)/(?P<what>\S+) (?P<value>.*)")
_WORDS = {"link_layer": "link_layer", "state": "state", "rate": "rate"}


def reading(text: str, node: str) -> dict[str, Any]:
    """One moment of one node. What is cut or not known becomes ``error``: nothing is taken from half a file."""
    ports: dict[tuple[str, int], dict[str, Any]] = {}
    gids: dict[tuple[str, int], dict[int, dict[str, Any]]] = {}
    netdevs: dict[str, list[str]] = {}
    ethtool: dict[str, list[str]] = {}
    found: dict[str, Any] = {"at": None, "simulated": False, "devices": [], "error": ""}
    lines = text.splitlines()
    if not lines or lines[-1] != "end":
        return {**found, "error": f"{node}: the file is cut: it has no end"}
    try:
        for line in lines[:-1]:
            word, _blank, rest = line.partition(" ")
            match = _FILE.fullmatch(line)
            if match:
                key = (match["device"], int(match["port"]))
                _take(node, key, (match["what"], match["value"]), ports, gids)
            elif word == "at" and rest.isdigit():
                found["at"] = float(rest)
            elif line == "simulated":
                found["simulated"] = True
            elif word == "netdev" and len(rest.split()) == 2:
                device, netdev = rest.split()
                netdevs.setdefault(device, []).append(netdev)
            elif word == "ethtool" and rest:
                netdev, _blank, counter = rest.partition(" ")
                ethtool.setdefault(netdev, []).append(counter)
            elif word == "file":
                raise ParseError("an unknown file", host=node, thing="counters", raw=line)
            else:
                raise ParseError("an unknown line", host=node, thing="counters", raw=line)
    except ParseError as error:
        return {**found, "error": str(error)}
    for (device, number), port in sorted(ports.items()):
        table = [gid for _index, gid in sorted(gids.get((device, number), {}).items()) if "gid" in gid]
        names = netdevs.get(device, [])
        own = [gid["netdev"] for gid in table if gid.get("netdev") in names] or names
        port.update(name=device, port=number, gids=table, netdev=own[0] if own else "")
        port["counters"]["ethtool"] = parse_ethtool_counters("\n".join(ethtool.get(port["netdev"], [])))
        found["devices"].append(port)
    return found


def _take(
    node: str,
    key: tuple[str, int],
    read: tuple[str, str],
    ports: dict[tuple[str, int], dict[str, Any]],
    gids: dict[tuple[str, int], dict[int, dict[str, Any]]],
) -> None:
    what, value = read
    port = ports.setdefault(key, {"counters": {"counters": {}, "hw_counters": {}}})
    kind, _slash, name = what.rpartition("/")
    if what in _WORDS:
        port[_WORDS[what]] = value.rpartition(":")[2].strip() if what == "state" else value
    elif kind in ("counters", "hw_counters"):
        if name != "lifespan" and value.isdigit():
            port["counters"][kind][name] = int(value)
    elif kind in ("gids", "gid_attrs/types", "gid_attrs/ndevs") and name.isdigit():
        entry = gids.setdefault(key, {}).setdefault(int(name), {"index": int(name)})
        if kind == "gids":
            gid = parse_gid(value, node, f"{key[0]} GID {name}")
            if gid:
                entry["gid"] = gid
        else:
            entry["type" if kind == "gid_attrs/types" else "netdev"] = value
    else:
        raise ParseError("an unknown file", host=node, thing="counters", raw=what)
