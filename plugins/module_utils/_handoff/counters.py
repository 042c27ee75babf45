"""What counters.sh of a hand-off wrote on a node, in the shape in which module rdma_info reads a node. Pure."""

from __future__ import annotations

import re
from typing import Any

from .._layer import ParseError
from .._nic.rdma_state import parse_ethtool_counters, parse_gid

_FILE = re.compile(r"file class/infiniband/(?P<device>[^/ ]+)/ports/(?P<port>\d+)/(?P<what>\S+) (?P<value>.*)")
_WORDS = ("link_layer", "state", "rate")


def reading(text: str, node: str) -> dict[str, Any]:
    """One moment of one node. What is cut or not known becomes ``error``: nothing is taken from half a file."""
    ports: dict[tuple[str, int], dict[str, Any]] = {}
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
                empty: dict[str, Any] = {"counters": {"counters": {}, "hw_counters": {}}, "gids": {}}
                port = ports.setdefault((match["device"], int(match["port"])), empty)
                _take(port, match["what"], match["value"], node, match["device"])
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
            else:
                what = "an unknown file" if word == "file" else "an unknown line"
                raise ParseError(what, host=node, thing="counters", raw=line)
    except ParseError as error:
        return {**found, "error": str(error)}
    for (device, number), port in sorted(ports.items()):
        table = [gid for _index, gid in sorted(port["gids"].items()) if "gid" in gid]
        names = netdevs.get(device, [])
        own = [gid["netdev"] for gid in table if gid.get("netdev") in names] or names
        port.update(name=device, port=number, gids=table, netdev=own[0] if own else "")
        port["counters"]["ethtool"] = parse_ethtool_counters("\n".join(ethtool.get(port["netdev"], [])))
        found["devices"].append(port)
    return found


def _take(port: dict[str, Any], what: str, value: str, node: str, device: str) -> None:
    kind, _slash, name = what.rpartition("/")
    if what in _WORDS:
        port[what] = value.rpartition(":")[2].strip() if what == "state" else value
    elif kind in ("counters", "hw_counters"):
        if name != "lifespan" and value.isdigit():
            port["counters"][kind][name] = int(value)
    elif kind in ("gids", "gid_attrs/types", "gid_attrs/ndevs") and name.isdigit():
        entry = port["gids"].setdefault(int(name), {"index": int(name)})
        if kind == "gids":
            gid = parse_gid(value, node, f"{device} GID {name}")
            if gid:
                entry["gid"] = gid
        else:
            entry["type" if kind == "gid_attrs/types" else "netdev"] = value
    else:
        raise ParseError("an unknown file", host=node, thing="counters", raw=what)
