"""What counters of NICs and switches moved between two readings, one before and one after the training. Pure.

A difference is given only if both readings have the counter and it can only have grown. A counter that went back (the
driver was loaded again, a user cleared it, it wrapped) or that is the largest value of its width says nothing,
and the place says why. Nothing becomes a zero.

Bytes: ``port_xmit_data`` and ``port_rcv_data`` count units of 4 bytes (Linux, Documentation/ABI/stable/
sysfs-class-infiniband: "data octets, divided by 4"). For a mlx5 RoCE port they hold RDMA traffic alone (mlx5_ib/mad.c
reads the vport's counters of RDMA), so TCP does not show up in them. Switches count RoCE packets, not bytes.
"""

from __future__ import annotations

import json
from typing import Any, Collection, Mapping, NamedTuple, Sequence

from .._results.figures.limits import UnknownError
from .._results.readers.reading import few
from .._yaml_files import Beside
from .evidence import addresses, gbit_per_s, moment, port_name, roce_gids, short, training_ports, whole

UNIT_BYTES = 4
# A rail that carries less than this of its even share carries no channel: connections are set up through it, no more.
IDLE_SHARE = 0.01
# Counters of these widths stand still at their largest value (InfiniBand's performance counters) or wrap there.
_LARGEST = tuple(2**width - 1 for width in (16, 32, 64))
_NAMES = Beside(__file__, "snapshots.yml")
SIMULATED = "SIMULATED: the counters of devices that do not exist count nothing"


_Ports = Mapping[str, Mapping[str, Any]]  # those that carry the training: device -> what rdma_info says


class Growth(NamedTuple):
    """``value`` None: not known, because of ``why``."""

    value: int | None
    why: str = ""


def growth(before: Mapping[str, Any], after: Mapping[str, Any], counter: str) -> Growth:
    """By how much a counter grew between two readings."""
    old, new = _count(before.get(counter)), _count(after.get(counter))
    if old is None or new is None:
        when = " and ".join(word for word, value in (("before", old), ("after", new)) if value is None)
        return Growth(None, f"{counter} was not read {when} the run")
    if new in _LARGEST and new >= old:
        return Growth(None, f"{counter} is {new}, the largest value of its width")
    if new < old:
        why = f"{counter} went back from {old} to {new}: it was cleared, it wrapped, or the driver was loaded again"
        return Growth(None, why)
    return Growth(new - old)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


# ----------------------------------------------------------------------------------------------------------------- NICs


def rdma(
    readings: Mapping[str, Any],
    nodes: Sequence[str],
    networks: Sequence[str] = (),
    hcas: Mapping[str, Collection[str]] | None = None,
    asked: Sequence[str] = (),
) -> dict[str, Any]:
    """``readings``: node -> {before, after}, each as module rdma_info returns it, with ``at`` (seconds UTC), and
    ``error`` if it failed. ``networks``: where the NICs are looked for (CIDR), one per rail; ``hcas``: node -> the NICs
    that NCCL says it uses, which go before the networks; ``asked``: networks that these have to be in.

    Returns ``places`` (node -> sent_bytes, received_bytes, discards, pauses, events, ports, why, strange, idle,
    before_at, after_at) as `counters.judge` takes them, and ``reason`` where there is nothing at all to judge.
    ``idle``: ports of several that carried next to nothing.
    """
    pairs = {node: readings.get(node) or {} for node in nodes}
    if any((pair.get(word) or {}).get("simulated") for pair in pairs.values() for word in ("before", "after")):
        return {"places": {}, "reason": SIMULATED}
    if not any(pair.get(word) for pair in pairs.values() for word in ("before", "after")):
        return {"places": {}, "reason": "the RDMA counters were not read before and after the training"}
    places = {node: _node(pair, networks, (hcas or {}).get(node), asked) for node, pair in pairs.items()}
    if places and all(not place["ports"] for place in places.values()):
        return {"places": {}, "reason": "; ".join(f"{node}: {place['why']}" for node, place in places.items())[:600]}
    return {"places": places, "reason": ""}


def _node(
    pair: Mapping[str, Any], networks: Sequence[str], hcas: Collection[str] | None, asked: Sequence[str]
) -> dict[str, Any]:
    start, before, after = (pair.get(word) or {} for word in ("start", "before", "after"))
    times = {"before_at": moment(before.get("at")), "after_at": moment(after.get("at"))}
    first, old, new = (
        {port_name(port): port for port in training_ports(reading, networks, hcas)}
        for reading in (start, before, after)
    )
    why = _unread(before, "before", nic=True) or _unread(after, "after", nic=True) or _unlike(old, new, networks, hcas)
    if why:  # then it is as a node without ports
        start = before = after = first = old = new = {}
    grown = {
        port: [growth(_counters(old[port]), _counters(new[port]), data) for data in ("port_xmit_data", "port_rcv_data")]
        for port in new
    }
    unknown = [f"{port} {both[side].why}" for side in (0, 1) for port, both in grown.items() if both[side].why]
    by_port = {
        port: [None if one.value is None else UNIT_BYTES * one.value for one in both] for port, both in grown.items()
    }
    outside = [port for port in new if asked and not any(roce_gids(new[port], asked))]
    # Both ports of a card have its GUID; that of a virtual function is zero until it is set.
    cards = {str(port.get("name")): str(port.get("node_guid") or "") for port in new.values()}
    return {
        **times,
        "sent_bytes": _total([both[0] for both in by_port.values()]),
        "received_bytes": _total([both[1] for both in by_port.values()]),
        "discards": _discards(old, new),
        "pauses": _of_class(old, new, "nic_pauses"),
        "paused_seconds": _paused(old, new),
        "most_bytes": _most(list(new.values()), times),
        "events": _events(old, new),
        "ports": list(new),
        "why": why or "; ".join(unknown),
        "strange": f"NCCL used {', '.join(outside)}, with no address in {', '.join(asked)}" if outside else "",
        "idle": _idle(by_port),
        "by_port": by_port,
        "mtu": sorted({*filter(None, (whole(port.get("active_mtu")) for port in new.values()))}),
        "identity": {
            "hostname": str(after.get("hostname") or ""),
            "boots": [str(after["boot_id"])] if after.get("boot_id") else [],
            "guids": sorted(guid for guid in cards.values() if guid.strip("0:")),
            "addresses": sorted(address for port in new.values() for address in addresses(port)),
        },
        "replaced": [*_replaced(start, after, first, new), *_replaced(before, after, old, new)],
    }


def _total(values: Sequence[int | None]) -> int | None:
    """All or nothing: a part of a sum is no sum."""
    return sum(filter(None, values)) if values and None not in values else None


def _unread(reading: Mapping[str, Any], word: str, *, nic: bool) -> str:
    """Why a reading before or after the run says nothing; empty: it does. That of ``nic`` has to say what is real."""
    if not reading or reading.get("error"):
        return f"not read {word} the run ({' '.join(str(reading.get('error') or 'no reading').split())[:200]})"
    unsaid = nic and reading.get("simulated") is not False
    return f"whether the devices are real was not read {word} the run" if unsaid else ""


def _unlike(old: _Ports, new: _Ports, networks: Sequence[str], hcas: Collection[str] | None) -> str:
    """Why the ports of both readings cannot be compared; empty: they can."""
    unseen = sorted(set(hcas or ()) - (set(old) & set(new)))
    if unseen:
        return f"NCCL names {', '.join(unseen)}, which rdma_info did not see"
    if not new and not old:
        return f"no RDMA port with a RoCE v2 address in {', '.join(networks) or 'any network'}"
    if set(old) != set(new):
        return f"the ports were {', '.join(old) or 'none'} before and {', '.join(new) or 'none'} after the run"
    return ""


def _replaced(before: Mapping[str, Any], after: Mapping[str, Any], old: _Ports, new: _Ports) -> list[str]:
    """What says that the two readings are not of the same machine, start, cards and speed of their links."""
    found = [
        f"its {word} was {before.get(key)} before the run and {after.get(key)} after it"
        for key, word in (("boot_id", "boot id"), ("hostname", "host name"))
        if before.get(key) and after.get(key) and short(str(before[key])) != short(str(after[key]))
    ]
    for port in set(old) & set(new):
        for key in ("node_guid", "sys_image_guid", "serial", "rate"):
            was, now = old[port].get(key), new[port].get(key)
            if was and now and was != now:
                found.append(f"{key} of {port} was {was} before the run and {now} after it")
        had, has = (", ".join(sorted(addresses(each[port]))) for each in (old, new))
        if had and has and had != has:
            found.append(f"{port} had the addresses {had} before the run and {has} after it")
    return found


def _idle(by_port: Mapping[str, Sequence[int | None]]) -> list[str]:
    """Ports that carried less in a direction than this share of what each would carry if all carried the same."""
    found: list[str] = []
    for moved in zip(*by_port.values()):
        least = IDLE_SHARE * sum(filter(None, moved)) / len(moved)
        found += [port for port, count in zip(by_port, moved) if count is not None and count < least]
    return [*dict.fromkeys(found)]


def _most(ports: Sequence[Mapping[str, Any]], times: Mapping[str, Any]) -> float | None:
    """What the links can carry between the two readings, per direction; None if that is not known."""
    rates = [gbit_per_s(port) for port in ports]
    before, after = times["before_at"], times["after_at"]
    if not rates or None in (*rates, before, after):
        return None
    return sum(filter(None, rates)) * 1e9 / 8 * max(0.0, float(after - before))


def _counters(port: Mapping[str, Any], kind: str = "counters") -> Mapping[str, Any]:
    found = (port.get("counters") or {}).get(kind)
    return found if isinstance(found, Mapping) else {}


def _of_class(old: _Ports, new: _Ports, names: str) -> int | None:
    """Sum over the lossless priorities (all, where they are not known); None if a port shows none of them."""
    by_port = [[one.value for one in _grown(old[port], new[port], names)] for port in new]
    return _total([value for values in by_port for value in values]) if all(by_port) else None


def _discards(old: _Ports, new: _Ports) -> int | None:
    """Of the lossless priorities; 0 also where a port that tells no priorities apart discarded nothing at all."""
    by_class = _of_class(old, new, "nic_discards")
    if by_class is not None:
        return by_class
    return 0 if _of_class(old, new, "port_discards") == 0 else None


def _paused(old: _Ports, new: _Ports) -> float | None:
    """Seconds for which a lossless priority of one port stood still, the longest; None if no port shows it."""
    found = [one.value for port in new for one in _grown(old[port], new[port], "nic_paused") if one.value is not None]
    return max(found) / 1e6 if found else None


def _grown(old: Mapping[str, Any], new: Mapping[str, Any], names: str) -> list[Growth]:
    """Of what a port shows of these counters, for its lossless priorities (all, where they are not known)."""
    before, after = _counters(old, "ethtool"), _counters(new, "ethtool")
    wanted = (new.get("qos") or {}).get("pfc_priorities") or range(8)
    shown = [name.format(priority) for priority in wanted for name in _NAMES[names]]
    return [growth(before, after, counter) for counter in shown if counter in after or counter in before]


def _events(old: _Ports, new: _Ports) -> dict[str, int]:
    """Congestion and loss by name, as far as it happened."""
    found: dict[str, int] = {}
    for port, after in new.items():
        for kind in ("hw_counters", "ethtool", "counters"):
            before, last = _counters(old[port], kind), _counters(after, kind)
            for name in filter(_NAMES["nic_events"].__contains__, last):
                grown = growth(before, last, name).value
                if grown:
                    found[name] = found.get(name, 0) + grown
    return found


# ------------------------------------------------------------------------------------------------------------- switches


def switches(readings: Mapping[str, Any], nodes: int, simulated: bool = False) -> dict[str, Any]:
    """``readings``: switch -> {before, after}, each {ports: {name: {oper, counters}}, error}; ``nodes``: of the run.

    The ports of all switches are one place: which node is behind which port is not known for sure, but what all nodes
    sent has to come in through these ports, and go out again. Returns the same shape as `rdma`.
    """
    if simulated:
        return {"places": {}, "reason": SIMULATED}
    if not any((pair or {}).get(word) for pair in readings.values() for word in ("before", "after")):
        return {"places": {}, "reason": "the switch's counters were not read before and after the training"}
    by_port: dict[str, list[int]] = {}
    lost: dict[str, list[int | None]] = {"discards": [], "pauses": []}
    place: dict[str, Any] = {"nodes": nodes, "why": "", "by_port": by_port, "same": _same_switch(readings), **lost}
    place.update((key, {}) for key in ("events", "neighbors", "readings"))
    try:
        for switch, pair in readings.items():
            before, after = ((pair or {}).get(word) or {} for word in ("before", "after"))
            place["readings"][switch] = {"before_at": moment(before.get("at")), "after_at": moment(after.get("at"))}
            _switch(switch, before, after, place)
    except UnknownError as error:
        place["why"] = str(error)
    moved = [port for port, both in by_port.items() if any(both)]
    if not place["why"] and 0 < len(moved) < nodes:
        some = f"one port only ({moved[0]})" if len(moved) == 1 else f"{len(moved)} ports only ({few(moved)})"
        place["why"] = f"RoCE packets went through {some}, and {nodes} nodes took part"
    sums = [None if place["why"] else sum(both[side] for both in by_port.values()) for side in (0, 1)]
    place.update(ports=list(by_port), sent_packets=sums[0], received_packets=sums[1])
    for key, counts in lost.items():
        total = sum(filter(None, counts))
        # A port that shows none of them may be the one that dropped.
        place[key] = total if total or (counts and None not in counts) else None
    return {"places": {f"{len(by_port)} ports of {', '.join(readings)}": place}, "reason": ""}


def _same_switch(readings: Mapping[str, Any]) -> list[str]:
    """Switches whose ports and counters are the same, to the packet, in both readings: one device with two names."""
    seen: dict[str, str] = {}
    found = []
    for switch, pair in readings.items():
        counters = json.dumps([((pair or {}).get(at) or {}).get("ports") for at in ("before", "after")], sort_keys=True)
        if counters in seen and '"tx_roce_packets"' in counters:
            found.append(f"{seen[counters]} and {switch}")
        seen.setdefault(counters, switch)
    return found


def _switch(switch: str, before: Mapping[str, Any], after: Mapping[str, Any], place: dict[str, Any]) -> None:
    """Add the ports of one switch to ``place``, and what each discarded and paused (None: it shows no counter of that).
    Raises UnknownError for a switch of which that is not known."""
    unread = _unread(before, "before", nic=False) or _unread(after, "after", nic=False)
    if unread:
        raise UnknownError(f"{switch} was {unread}")
    old, new = before.get("ports") or {}, after.get("ports") or {}
    up = [name for name, port in new.items() if port.get("oper") == "up" or (old.get(name) or {}).get("oper") == "up"]
    if not up:
        raise UnknownError(f"no port of {switch} that was looked at is up")
    if set(old) != set(new):
        raise UnknownError(f"{switch}: other ports were read before the run than after it")
    for name in up:
        port, neighbors = f"{switch} {name}", (new.get(name) or {}).get("neighbors") or ()
        first, last = ((ports.get(name) or {}).get("counters") or {} for ports in (old, new))
        # From the node's point of view as for a NIC: what the switch received, the node sent.
        received, sent = (_known(port, first, last, f"{way}_roce_packets") for way in ("tx", "rx"))
        place["by_port"][port] = [sent, received]
        place["neighbors"][port] = sorted({str(each["system"]) for each in neighbors if each.get("system")})
        for key, counters in _NAMES["switch"].items():
            shown = [counter for counter in counters if counter in last or counter in first]
            place[key] += [] if shown else [None]
            for counter in shown:
                grown = _known(port, first, last, counter)
                place[key].append(grown)
                if grown:
                    place["events"][f"{counter} at {port}"] = grown
        marked = growth(first, last, "ecn_marked")
        if marked.value:
            place["events"][f"ecn_marked at {port}"] = marked.value


def _known(port: str, first: Mapping[str, Any], last: Mapping[str, Any], counter: str) -> int:
    grown = growth(first, last, counter)
    if grown.value is None:
        raise UnknownError(f"{port}: {grown.why}")
    return grown.value
