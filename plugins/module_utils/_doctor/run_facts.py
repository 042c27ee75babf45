"""The readings of a run (nodes, switches, ESXi hosts, fabric check) as the pieces that their devices would print. Pure.

A run reads counters before and after the job: this file has what was counted in between, so old trouble is none.
What was not read has no line: nothing is made up.
"""

from __future__ import annotations

import json
from typing import Any, Collection, Iterator, Mapping, Sequence

from .._judge.settled import Known, known_from, of_host
from . import facts, host_output

_STATES = {"ACTIVE": "PORT_ACTIVE (4)", "ARMED": "PORT_ARMED (3)", "INIT": "PORT_INIT (2)", "DOWN": "PORT_DOWN (1)"}
_MTUS = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
_ROCE = ("tx_roce_packets", "rx_roce_packets")
_SLOWED = ("HW Slowdown", "HW Thermal Slowdown", "HW Power Brake Slowdown", "SW Thermal Slowdown")


def pieces(
    evidence: Mapping[str, Any], esxi: Any = None, used: Mapping[str, Collection[str]] | None = None
) -> dict[str, str]:
    """``evidence`` as module run_report takes it; ``esxi``: host -> rows of its kernel settings; ``used``: host -> the
    NICs that NCCL uses there ("mlx5_0", "mlx5_1:2"), where its log says so."""
    found: dict[str, str] = {}
    lossy = _lossy(evidence)
    known = known_from((evidence.get("job") or {}).get("known_xids") or ())
    for name, moments in _each(evidence.get("rdma")):
        own = {word: _of_the_run(reading, (used or {}).get(name)) for word, reading in moments.items()}
        lines = _node(name, own, known)
        if lossy:
            lines.pop("mlnx_qos.txt", None)
        found |= {f"hosts/{name}/{piece}": "\n".join(printed) + "\n" for piece, printed in lines.items() if printed}
    for name, moments in _each(evidence.get("switches")):
        found |= facts.pieces(f"switches/{name}", _switch(moments))
    for name, rows in (esxi if isinstance(esxi, Mapping) else {}).items():
        if isinstance(rows, (list, tuple)) and all(isinstance(row, Mapping) for row in rows):
            found |= facts.pieces(f"esxi/{name}", {"found": rows})
    vcenter = evidence.get("vcenter")
    found |= facts.pieces("vcenter", vcenter) if isinstance(vcenter, Mapping) else {}
    for name, output in _each(evidence.get("hosts")):
        for piece, text in host_output.pieces(name, output).items():
            # Beside what was made of the readings, but for the kernel's log: that knows which Xids are of this run.
            found[piece] = text if piece.endswith("/dmesg.txt") else found.get(piece, "") + text
    report = (evidence.get("fabric") or {}).get("report")
    if report:
        found["fabric/fabric.json"] = json.dumps(report, indent=1, default=str)
    return found


def speed(pace: Mapping[str, Any], hosts: Mapping[str, str]) -> dict[str, str]:
    """``pace``: `figures.speed.Speed` as a result; only what is slow makes a line. ``hosts``: name in the inventory ->
    what the host calls itself."""
    found: dict[str, str] = {}
    if pace.get("state") == "bad":
        found["job/speed.txt"] = f"all-reduce bandwidth {pace['bus_gb_s']:.4g} GB/s, expected {pace['link_gb_s']:.4g}\n"
    names = {str(own): name for name, own in hosts.items()}
    for each in pace.get("slow_copies") or ():
        place = f"hosts/{names.get(each['host'], each['host'])}/gpu-copy.txt"
        line = f"GPU copy behind the others: rank {each['rank']}, {each['gb_s']:.4g} GB/s from and to the host, others "
        found[place] = found.get(place, "") + line + f"{each['usual_gb_s']:.4g}\n"
    return found


def simulated(evidence: Mapping[str, Any], layers: Mapping[str, Any]) -> tuple[str, ...]:
    """Beginnings of the names of pieces that devices wrote which do not exist. ``layers``: as the summary has them."""
    found = [f"hosts/{name}/" for name, moments in _each(evidence.get("rdma")) if _newest(moments).get("simulated")]
    for layer, place in (("switch", "switches/"), ("esxi", "esxi/"), ("nic", "hosts/")):
        if (layers.get(layer) or {}).get("simulated"):
            found.append(place)
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
    name, port = str(device.get("name")), device.get("port", 1)
    addressed = any(str(gid.get("type")).endswith("v2") for gid in device.get("gids") or ())
    return addressed or (name if port == 1 else f"{name}:{port}") in used


def _newest(moments: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((moments[key] for key in ("after", "before", "start") if moments.get(key)), {})


def _node(name: str, moments: Mapping[str, Any], known: Sequence[Known]) -> dict[str, list[str]]:
    newest = _newest(moments)
    if newest.get("error") and not newest.get("devices"):
        return {facts.SILENT: [f"unreachable: {' '.join(str(newest['error']).split())}"]}
    before = {_port(device): device for device in (moments.get("before") or {}).get("devices") or ()}
    after = (moments.get("after") or {}).get("devices") or ()
    found: dict[str, list[str]] = {"hw_counters.txt": [], "ethtool-S.txt": []}
    for device in after:
        for kind, piece in (("counters", "hw_counters"), ("hw_counters", "hw_counters"), ("ethtool", "ethtool-S")):
            old = (before.get(_port(device), {}).get("counters") or {}).get(kind) or {}
            counted = _moved(old, (device.get("counters") or {}).get(kind) or {})
            found[f"{piece}.txt"] += [f"{name}: {count}" for name, count in counted.items()]
    devices = newest.get("devices") or ()
    found["ethtool.txt"] = [line for device in devices for line in _speed(device)]
    found["ibv_devinfo.txt"] = [line for device in devices for line in _device(device)]
    found["ip-link.txt"] = [
        f"{number}: {device['netdev']}: <BROADCAST,MULTICAST> mtu {device['netdev_mtu']}"
        for number, device in enumerate(devices, 2)
        if device.get("netdev") and device.get("netdev_mtu")
    ]
    found["show_gids.txt"] = [_gid(device, gid) for device in devices for gid in device.get("gids") or ()]
    found["mlnx_qos.txt"] = [line for device in devices for line in _qos(device.get("qos") or {})]
    gpus = (moments.get("start") or {}).get("gpus")
    return {**found, **(_gpus(name, gpus, known) if isinstance(gpus, Mapping) else {})}


def _port(device: Mapping[str, Any]) -> tuple[Any, Any]:
    return device.get("name"), device.get("port")


def _moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, int]:
    """What each counter counted. One that went back was cleared: what it counted is not known."""
    both = {name: (before.get(name), count) for name, count in after.items()}
    return {
        name: new - old
        for name, (old, new) in both.items()
        if isinstance(old, int) and isinstance(new, int) and new >= old
    }


def _device(device: Mapping[str, Any]) -> list[str]:
    mtu = device.get("active_mtu")
    printed = {
        "state:\t": _STATES.get(device.get("state", "")),
        "active_mtu:": f"{mtu} ({_MTUS[mtu]})" if mtu in _MTUS else "",
        "link_layer:": device.get("link_layer"),
    }
    return [f"hca_id:\t{device.get('name')}", *(f"\t\t\t{name}\t\t{text}" for name, text in printed.items() if text)]


def _speed(device: Mapping[str, Any]) -> list[str]:
    """The port's rate as ethtool words it: nodes are compared by it."""
    rate = str(device.get("rate") or "").partition(" ")[0]
    return [f"\tSpeed: {int(rate)}000Mb/s"] if rate.isdigit() else []


def _gid(device: Mapping[str, Any], gid: Mapping[str, Any]) -> str:
    version = "v2" if str(gid.get("type")).endswith("v2") else "v1"
    parts = (device.get("name"), device.get("port", 1), gid.get("index"), gid.get("gid"), gid.get("ipv4") or "")
    return "\t".join(map(str, (*parts, version, gid.get("netdev") or "")))


def _qos(qos: Mapping[str, Any]) -> list[str]:
    lines = [f"Priority trust state: {qos['trust']}"] if qos.get("trust") else []
    if isinstance(qos.get("pfc_priorities"), (list, tuple)):
        on = "   ".join(str(int(priority in qos["pfc_priorities"])) for priority in range(8))
        lines += ["PFC configuration:", f"\tenabled     {on}"]
    return lines


def _gpus(name: str, gpus: Mapping[str, Any], known: Sequence[Known]) -> dict[str, list[str]]:
    kernel = [
        f"NVRM: Xid (PCI:{xids.bus}): {xid}, {count} times"
        for xids in of_host(name, gpus, known).values()
        for xid, count in xids.bad.items()
    ]
    smi = facts.printed("Driver Version", (gpus.get("driver") or {}).get("loaded"))
    for gpu in gpus.get("state") or ():
        reasons = gpu.get("slowed") or ()
        smi += [f"{title:34}: Active" for title in _SLOWED if title.lower().replace(" ", "_") in reasons]
        remapped = "" if gpu.get("remap_failed") is None else "Yes" if gpu["remap_failed"] else "No"
        smi += facts.printed("Remapping Failure Occurred", remapped, 34)
        smi += facts.printed("Fabric State", gpu.get("fabric"), 34)
    # Without NVSwitches it has nothing to do and may well be off.
    switched = any(row.get("kind") == "nvswitch" for row in gpus.get("pci") or ())
    manager = (gpus.get("fabric_manager") or {}).get("state")
    service = facts.printed("nvidia-fabricmanager.service", switched and manager)
    return {"dmesg.txt": kernel, "nvidia-smi-q.txt": smi, "fabricmanager.txt": service}


def _switch(moments: Mapping[str, Any]) -> Mapping[str, Any]:
    newest = _newest(moments)
    if newest.get("error"):
        return {facts.SILENT: f"unreachable: {' '.join(str(newest['error']).split())}"}
    before, after = ((moments.get(key) or {}).get("ports") or {} for key in ("before", "after"))
    ports = {}
    for name, seen in (newest.get("ports") or {}).items():
        counters = ((each.get(name) or {}).get("counters") or {} for each in (before, after))
        ports[name] = {**seen, "counters": _moved(*counters)}
    moved = {name for name, seen in ports.items() if any(seen["counters"].get(each) for each in _ROCE)}
    down = {
        name for name in set(ports) - moved if "up" not in (each.get(name, {}).get("oper") for each in (before, after))
    }
    if moved:  # a port that was down all the time is none of this run
        ports = {name: seen for name, seen in ports.items() if name not in down}
    return {"roce": newest.get("roce") or {}, "ports": ports}
