"""The readings of a run (nodes, switches, ESXi hosts, fabric check) as pieces for the doctor. Pure.

A run reads counters before and after the job: facts are what was counted in between. What was not read is no fact.
"""

from __future__ import annotations

import collections
import json
import re
from typing import Any, Collection, Iterator, Mapping, Sequence

from .._judge.xids import Known, known_from, of_host
from .._site import path_nic, path_switch
from . import facts, host_output
from .facts import Fact
from .readers import kind_of_gids, on_priority_0

_ROCE = ("tx_roce_packets", "rx_roce_packets")
_PRIORITY = re.compile(r"[rt]x_prio(\d)_(?:bytes|packets)$")
_DATA, _LOSSY = "priority of the data", "data without PFC"


def pieces(
    evidence: Mapping[str, Any], esxi: Any = None, used: Mapping[str, Collection[str]] | None = None
) -> dict[str, str]:
    """``evidence`` as module run_report takes it; ``esxi``: host -> rows of its kernel settings; ``used``: host -> the
    NICs that NCCL uses there ("mlx5_0", "mlx5_1:2"), where its log says so."""
    found: dict[str, str] = {}
    lossy = _lossy(evidence)
    known = known_from((evidence.get("job") or {}).get("known_xids") or ())
    said: dict[str, str] = {}
    text = str(((evidence.get("nccl_path") or {}).get("settings") or {}).get("NCCL_IB_TC"))
    byte = int(text) if text.isdigit() else None
    ridden: collections.Counter[int] = collections.Counter()
    for name, output in _each(evidence.get("hosts")):
        said |= host_output.pieces(name, output)
    for name, moments in _each(evidence.get("rdma")):
        own = {word: _of_the_run(reading, (used or {}).get(name)) for word, reading in moments.items()}
        newest = _newest(own)
        if newest.get("error") and not newest.get("devices"):
            found[f"hosts/{name}/{facts.SILENT}"] = f"unreachable: {' '.join(str(newest['error']).split())}\n"
            continue
        # The kernel's log knows which Xids are of this run.
        left_out = {"Xid"} if f"hosts/{name}/dmesg.txt" in said else set()
        left_out |= {"trusts", "PFC priorities", "priority of all traffic", _DATA, _LOSSY} if lossy else set()
        read = [fact for fact in _node(name, own, known, (used or {}).get(name), byte) if fact.thing not in left_out]
        ridden.update(fact.value for fact in read if fact.thing == _DATA)
        found |= facts.written(f"hosts/{name}", read)
    usual = max(ridden, key=ridden.__getitem__, default=None)
    for name, moments in _each(evidence.get("switches")):
        found |= facts.pieces(f"switches/{name}", _switch(moments, usual, byte))
    for name, rows in (esxi if isinstance(esxi, Mapping) else {}).items():
        if isinstance(rows, (list, tuple)) and all(isinstance(row, Mapping) for row in rows):
            found |= facts.pieces(f"esxi/{name}", {"found": rows})
    found |= facts.pieces("vcenter", evidence["vcenter"]) if isinstance(evidence.get("vcenter"), Mapping) else {}
    report = (evidence.get("fabric") or {}).get("report")
    if report:
        found["fabric/fabric.json"] = json.dumps(report, indent=1, default=str)
    return {**found, **said}


def speed(pace: Mapping[str, Any], hosts: Mapping[str, str]) -> dict[str, str]:
    """``pace``: `figures.speed.Speed` as a result; only what is slow is a fact. ``hosts``: name in the inventory ->
    what the host calls itself."""
    read: dict[str, list[Fact]] = {}
    if pace.get("state") == "bad":
        figures = f"{pace['bus_gb_s']:.4g} of {pace['link_gb_s']:.4g} GB/s"
        read["job"] = [Fact("exchange below what the links carry", figures)]
    names = {str(own): name for name, own in hosts.items()}
    for each in pace.get("slow_copies") or ():
        text = f"{each['gb_s']:.4g} GB/s from and to the host, others {each['usual_gb_s']:.4g}"
        place = f"hosts/{names.get(each['host'], each['host'])}"
        read.setdefault(place, []).append(Fact("GPU copy behind the others", text, f"rank {each['rank']}"))
    return {piece: text for place, said in read.items() for piece, text in facts.written(place, said).items()}


def simulated(evidence: Mapping[str, Any], layers: Mapping[str, Any]) -> tuple[str, ...]:
    """Beginnings of the names of pieces that devices wrote which do not exist. ``layers``: as the summary has them."""
    said = [(name, each) for name, moments in _each(evidence.get("rdma")) for _word, each in _each(moments)]
    said += [(name, each.get("gpus") or {}) for name, each in said]
    found = [f"hosts/{name}/" for name, each in said if each.get("simulated")]
    places = (("switch", "switches/"), ("esxi", "esxi/"), ("nic", "hosts/"))
    found += [place for layer, place in places if (layers.get(layer) or {}).get("simulated")]
    if ((evidence.get("fabric") or {}).get("report") or {}).get("simulated"):
        found.append("fabric/")
    return tuple(found)


def _lossy(evidence: Mapping[str, Any]) -> bool:
    """The inventory asks for no lossless class at the NICs, none has one, and all trust the same: that is as wished."""
    if (evidence.get("job") or {}).get("nic_qos") is not False:
        return False
    newest = [_newest(moments) for _name, moments in _each(evidence.get("rdma"))]
    found = [device.get("qos") or {} for reading in newest for device in reading.get("devices") or ()]
    return not any(qos.get("pfc_priorities") for qos in found) and len({qos.get("trust") for qos in found}) < 2


def _each(readings: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, moments in (readings if isinstance(readings, Mapping) else {}).items():
        if isinstance(moments, Mapping):
            yield str(name), moments


def _of_the_run(reading: Any, used: Collection[str] | None) -> Any:
    """Without NICs that have no part in the run: NCCL does not use them, and they have no RoCE v2 address."""
    if not used or not isinstance(reading, Mapping):
        return reading
    return {**reading, "devices": [each for each in reading.get("devices") or () if _has_part(each, used)]}


def _has_part(device: Mapping[str, Any], used: Collection[str]) -> bool:
    return any(str(gid.get("type")).endswith("v2") for gid in device.get("gids") or ()) or _is_used(device, used)


def _is_used(device: Mapping[str, Any], used: Collection[str] | None) -> bool:
    name, port = str(device.get("name")), device.get("port", 1)
    return not used or (name if port == 1 else f"{name}:{port}") in used


def _newest(moments: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((moments[key] for key in ("after", "before", "start") if moments.get(key)), {})


def _node(
    name: str, moments: Mapping[str, Any], known: Sequence[Known], used: Collection[str] | None, byte: int | None
) -> Iterator[Fact]:
    before = {_port(device): device for device in (moments.get("before") or {}).get("devices") or ()}
    priorities: list[tuple[str, float]] = []
    data: list[Fact] = []
    for device in (moments.get("after") or {}).get("devices") or ():
        first = before.get(_port(device), {})
        moved: dict[str, int] = {}
        for kind, new in (device.get("counters") or {}).items():
            moved |= _moved((first.get("counters") or {}).get(kind) or {}, new or {})
        yield from (Fact(counter, count, str(device.get("name"))) for counter, count in moved.items())
        priorities += [(each[1], count) for counter, count in moved.items() if (each := _PRIORITY.match(counter))]
        for reading in (first, device) if _is_used(device, used) else ():
            priority, wrong = path_nic.data_priority(reading, moved, byte)
            if priority is not None:
                data.append(Fact(_LOSSY if wrong else _DATA, wrong or priority, str(device.get("name"))))
    yield from dict.fromkeys(data or ([Fact("priority of all traffic", 0)] if on_priority_0(priorities) else []))
    for device in _newest(moments).get("devices") or ():
        yield from _device(device, _is_used(device, used))
    gpus = (moments.get("start") or {}).get("gpus")
    yield from _gpus(name, gpus, known) if isinstance(gpus, Mapping) else ()


def _port(device: Mapping[str, Any]) -> tuple[Any, Any]:
    return device.get("name"), device.get("port")


def _moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, int]:
    """What each counter counted. One that went back was cleared: what it counted is not known."""
    known = {name: count for name, count in after.items() if isinstance(count, int)}
    return {name: new - old for name, new in known.items() if isinstance(old := before.get(name), int) and new >= old}


def _device(device: Mapping[str, Any], is_used: bool) -> Iterator[Fact]:
    name, qos = str(device.get("name") or ""), (device.get("qos") if is_used else None) or {}
    yield from facts.of_row("nic", device, name)
    rate = str(device.get("rate") or "").partition(" ")[0]
    yield from [Fact("link rate", int(rate) * 1000, name)] if rate.isdigit() else []  # Mb/s, as ethtool says it
    yield from facts.of_row("qos", qos, name)
    if isinstance(qos.get("pfc_priorities"), (list, tuple)):
        yield Fact("PFC priorities", ",".join(map(str, qos["pfc_priorities"])) or "none", name)
    gids = [(str(gid.get("type"))[-2:], str(gid.get("gid")).lower()[:4] == "fe80") for gid in device.get("gids") or ()]
    if kind := kind_of_gids(gids):
        yield Fact("GIDs", kind.replace("_", " "), name)


def _gpus(name: str, gpus: Mapping[str, Any], known: Sequence[Known]) -> Iterator[Fact]:
    for xids in of_host(name, gpus, known).values():
        yield from (Fact("Xid", xid, xids.bus) for xid in xids.bad)
    yield from facts.of_row("driver", gpus.get("driver") or {})
    for gpu in gpus.get("state") or ():
        bus = str(gpu.get("bus") or "")
        yield from (Fact("slowed", reason, bus) for reason in gpu.get("slowed") or ())
        yield from facts.of_row("gpu", gpu, bus)
    # Without NVSwitches it has nothing to do and may well be off.
    manager = (gpus.get("fabric_manager") or {}).get("state")
    if manager and any(row.get("kind") == "nvswitch" for row in gpus.get("pci") or ()):
        yield Fact("Fabric Manager", manager)


def _switch(moments: Mapping[str, Any], priority: int | None, byte: int | None) -> Mapping[str, Any]:
    newest = _newest(moments)
    if newest.get("error"):
        return {facts.SILENT: f"unreachable: {' '.join(str(newest['error']).split())}"}
    before, after = ((moments.get(key) or {}).get("ports") or {} for key in ("before", "after"))
    ports = {}
    for name, seen in (newest.get("ports") or {}).items():
        counters = ((each.get(name) or {}).get("counters") or {} for each in (before, after))
        ports[name] = {**seen, "counters": _moved(*counters)}
    counted = {name: max(seen["counters"].get(each, 0) for each in _ROCE) for name, seen in ports.items()}
    busy = {name for name, count in counted.items() if 100 * count > max(counted.values())}
    up = {name for each in (before, after) for name, seen in each.items() if seen.get("oper") == "up"}
    if busy:  # a port that was down all the time is none of this run
        ports = {name: seen for name, seen in ports.items() if name in busy | up}
    read = [moments.get(key) or {} for key in ("before", "after") if priority is not None]
    wrong = [text for each in read for text in path_switch.lossy(each, sorted(busy), priority or 0, byte)]
    return {"roce": newest.get("roce") or {}, "ports": ports, "problems": list(dict.fromkeys(wrong))}
