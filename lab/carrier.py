"""What the simulated switch carries of the nodes' traffic: VLAN, MTU and link of a port decide, and its counters move.

The nodes hang on one Linux bridge, which knows nothing of the switch. So each node drops, silently and before anything
else looks at it, what its switch would not have brought: packets of nodes in another VLAN or behind a link that is
down, and packets that are longer than a port on the way allows. Registry, gateway and ssh from this machine come from
other addresses and always pass, as on a management network of its own.

Linux hands over many segments as one packet (GSO), whose length says nothing about the wire. Where lengths are looked
at, guests are kept from doing so; a connection that is older than that slows down.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from . import config, control, shapes
from .vm import bridge, machine

log = logging.getLogger("physics")

CHAIN = "ROCEMESH-SWITCH"
# The nodes are cabled in their order.
PORTS = {node.name: config.RAILS[0].port(node.number) for node in config.NODES}
ADDRESSES = {node.name: config.RAILS[0].address(node.number) for node in config.NODES}
_LINE = re.compile(r"^\s*(\d+)\s+(\d+)\s+(DROP|RETURN)\b.*?\s(\d+\.\d+\.\d+\.\d+)\s+\S+(.*)$", re.MULTILINE)
_ROUND_SECONDS = 0.5
_COUNT_ROUNDS = 20  # counters are read every so many rounds: each reading is a process in every node

# Carries out a shell script in a node; (exit status, output). 125 and more: the node is not there.
Runner = Callable[[str, str], "tuple[int, str]"]
Links = Mapping[str, Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class Path:
    """From one node to another: the longest IP packet that passes, 0: none does."""

    source: str
    limit: int


def paths_to(node: str, links: Links, ports: Mapping[str, str] = PORTS) -> tuple[Path, ...]:
    """What reaches ``node`` from the others. ``links``: port -> up, mtu, untagged (VLAN of untagged frames or None)."""
    here = links.get(ports[node], {})
    result = []
    for other in sorted(ports):
        if other == node:
            continue
        there = links.get(ports[other], {})
        together = here.get("untagged") is not None and here.get("untagged") == there.get("untagged")
        carried = bool(here.get("up") and there.get("up") and together)
        result.append(Path(other, min(int(here["mtu"]), int(there["mtu"])) if carried else 0))
    return tuple(result)


def chain(device: str) -> str:
    """Each interface has rules of its own."""
    return CHAIN if device == "eth0" else f"{CHAIN}-{device}"


def rules(arriving: tuple[Path, ...], addresses: Mapping[str, str], device: str = "eth0") -> str:
    """Input of iptables-restore: the whole chain, put in place at once."""
    lines = ["*raw", f":{chain(device)} - [0:0]"]
    for path in arriving:
        source = f"-A {chain(device)} -s {addresses[path.source]}"
        if 0 < path.limit < config.LINK_MTU:
            lines.append(f"{source} -m length --length {path.limit + 1}:65535 -j DROP")
        lines.append(f"{source} -j {'RETURN' if path.limit else 'DROP'}")
    return "\n".join([*lines, "COMMIT", ""])


def read_script(arriving: tuple[Path, ...], device: str = "eth0") -> str:
    """Prints what has been counted since the last time, and keeps the guest from packets that say nothing."""
    measured = any(0 < path.limit < config.LINK_MTU for path in arriving)
    offload = f"ip link set dev {device} gso_max_segs {1 if measured else 65535}"
    return f"{offload}\niptables -w -t raw -nvxL {chain(device)} -Z\n"


def apply_script(arriving: tuple[Path, ...], addresses: Mapping[str, str], device: str = "eth0") -> str:
    jump = f"PREROUTING -i {device} -j {chain(device)}"
    return (
        f"iptables-restore -w --noflush <<'RULES' || exit 1\n{rules(arriving, addresses, device)}RULES\n"
        f"iptables -w -t raw -C {jump} 2>/dev/null || iptables -w -t raw -I {jump}\n"
    )


def remove_script(device: str = "eth0") -> str:
    return (
        f"ip link set dev {device} gso_max_segs 65535\n"
        f"iptables -w -t raw -D PREROUTING -i {device} -j {chain(device)}\n"
        f"iptables -w -t raw -F {chain(device)} && iptables -w -t raw -X {chain(device)}\n"
        "true\n"
    )


def counted(text: str, addresses: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Output of iptables -nvxL -> source node -> packets and bytes that arrived, packets that were too long."""
    names = {address: name for name, address in addresses.items()}
    result: dict[str, dict[str, int]] = {}
    for packets, size, verdict, source, rest in _LINE.findall(text):
        if source not in names:
            continue
        entry = result.setdefault(names[source], {"packets": 0, "bytes": 0, "too_long": 0})
        if verdict == "RETURN":
            entry["packets"] += int(packets)
            entry["bytes"] += int(size)
        elif "length" in rest:
            entry["too_long"] += int(packets)
    return result


@dataclasses.dataclass(frozen=True)
class Rules:
    """How a node is kept from what the switch would not bring: its own iptables, or nft on the bridge before a VM."""

    read: Callable[[tuple[Path, ...], str], str]
    apply: Callable[[tuple[Path, ...], Mapping[str, str], str], str]
    remove: Callable[[str], str]
    counted: Callable[[str, Mapping[str, str]], dict[str, dict[str, int]]]


IN_NODE = Rules(read_script, apply_script, remove_script, counted)
BEFORE_VM = Rules(bridge.read_script, bridge.apply_script, bridge.remove_script, bridge.counted)


class Traffic:
    """Counters of the switch's ports, as the switch would have counted what its nodes have received."""

    def __init__(self, ports: Mapping[str, str] = PORTS) -> None:
        keys = ("rx_packets", "rx_bytes", "rx_discards", "tx_packets", "tx_bytes")
        self._of = ports
        self.ports: dict[str, dict[str, int]] = {port: dict.fromkeys(keys, 0) for port in ports.values()}

    def add(self, node: str, arrived: Mapping[str, Mapping[str, int]]) -> None:
        for source, entry in arrived.items():
            into, out_of = self.ports[self._of[source]], self.ports[self._of[node]]
            into["rx_packets"] += entry["packets"] + entry["too_long"]
            into["rx_bytes"] += entry["bytes"]
            into["rx_discards"] += entry["too_long"]
            out_of["tx_packets"] += entry["packets"]
            out_of["tx_bytes"] += entry["bytes"]


class Carrier:
    """Keeps the nodes' rules as the switch is. Off: nothing of it is in any node. ``addresses``: IP, or MAC of a VM."""

    def __init__(
        self,
        run: Runner,
        addresses: Mapping[str, str] = ADDRESSES,
        ask: Callable[[], Links] | None = None,
        tell: Callable[[dict[str, dict[str, int]]], None] | None = None,
        *,
        device: str = "eth0",
        ports: Mapping[str, str] = PORTS,
        rules: Rules = IN_NODE,
    ) -> None:
        self._run = run
        self._rules = rules
        self._addresses = addresses
        self._ask = ask or (lambda: dict(control.request("GET", control.url("switch", "/links"))))
        self._tell = tell or (lambda ports: control.request("POST", control.url("switch", "/traffic"), ports))
        self._device = device
        self._ports = ports
        self._lock = threading.Lock()
        self._in_place: dict[str, tuple[Path, ...]] = {}
        self.on = False
        self.said = ""
        self.traffic = Traffic(ports)

    def as_json(self) -> dict[str, Any]:
        return {"on": self.on, "problem": self.said, "ports": self.traffic.ports}

    def switch_on(self, on: bool) -> None:
        with self._lock:
            self.on, self.said = on, ""
            if not on:
                for node in list(self._in_place):
                    self._run(node, self._rules.remove(self._device))
                self._in_place = {}

    @contextlib.contextmanager
    def held(self, *nodes: str) -> Iterator[None]:
        """No look at any node meanwhile: an engine that is asked into a container that it removes may hang for minutes.

        Afterwards ``nodes`` are new, and have no rules yet."""
        with self._lock:
            yield
            for node in nodes:
                self._in_place.pop(node, None)

    def round(self, *, count: bool) -> None:
        """One look at the switch, and at the nodes where something has to change or to be counted."""
        with self._lock:
            if not self.on:
                return
            try:
                links = self._ask()
            except (ConnectionError, config.LabError) as error:
                self.said = f"the switch does not answer, its last state stays in force ({error})"
                return
            self.said = ""
            for node in sorted(self._addresses):
                self._visit(node, paths_to(node, links, self._ports), count)
            if count:
                try:
                    self._tell(self.traffic.ports)
                except (ConnectionError, config.LabError) as error:
                    self.said = f"the switch did not take its counters ({error})"

    def _visit(self, node: str, arriving: tuple[Path, ...], count: bool) -> None:
        changed = self._in_place.get(node) != arriving
        if not changed and not count:
            return
        status, text = self._run(node, self._rules.read(arriving, self._device))
        self.traffic.add(node, self._rules.counted(text, self._addresses))
        if status >= 125:  # powered off: its rules went with it; looked at again when it starts, or is counted
            self._in_place[node] = arriving
        elif status or changed:  # a guest that has booted has no rules yet
            status, text = self._run(node, self._rules.apply(arriving, self._addresses, self._device))
            if status:
                self._in_place.pop(node, None)
                self.said = (
                    f"{node} cannot be coupled to the switch, whatever it does reaches it: {text.strip()[-200:]}"
                )
                return
            self._in_place[node] = arriving

    def keep(self, stop: threading.Event) -> None:
        """Thread: until ``stop``."""
        rounds = 0
        while not stop.wait(_ROUND_SECONDS):
            rounds += 1
            try:
                self.round(count=rounds % _COUNT_ROUNDS == 0)
            except (OSError, config.LabError, ValueError) as error:
                self.said = str(error)
                log.warning("carrier: %s", error)


class Carriers:
    """One carrier per rail of the lab."""

    def __init__(self, run: Runner, rails: Iterable[shapes.Rail] = config.RAILS) -> None:
        self.each = tuple(
            Carrier(
                run,
                {
                    node.name: machine.mac(number, node.number) if config.SHAPE.machine else rail.address(node.number)
                    for node in config.NODES
                },
                # The container's end of the cable.
                device=f"eth{number}",
                ports={node.name: rail.port(node.number) for node in config.NODES},
                rules=BEFORE_VM if config.SHAPE.machine else IN_NODE,
            )
            for number, rail in enumerate(rails)
        )

    @property
    def on(self) -> bool:
        return all(one.on for one in self.each)

    @on.setter
    def on(self, on: bool) -> None:
        for one in self.each:
            one.on = on

    def as_json(self) -> dict[str, Any]:
        ports: dict[str, dict[str, int]] = {}
        for one in self.each:
            ports |= one.traffic.ports
        return {"on": self.on, "problem": "; ".join(one.said for one in self.each if one.said), "ports": ports}

    def switch_on(self, on: bool) -> None:
        for one in self.each:
            one.switch_on(on)

    @contextlib.contextmanager
    def held(self, *nodes: str) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for one in self.each:
                stack.enter_context(one.held(*nodes))
            yield
