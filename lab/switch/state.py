"""What the switch remembers (running and saved configuration) and what its links do when it is configured.

Physics that a real switch has and a careless tool forgets:

* a change of the RoCE mode toggles every link, not only those of the RoCE ports;
* an MTU is refused on an enabled port unless forced, and forcing it bounces the link;
* members of a port-channel take their MTU from the port-channel;
* a port that becomes an access port loses the VLANs that it carried as a trunk;
* only what was written survives a reload.
"""

from __future__ import annotations

import copy
import dataclasses
import ipaddress
import re
import time
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

from .faults import Faults

ROCE_MODES = ("lossless", "semi-lossless", "lossy")
MTU_MIN, MTU_MAX = 1500, 9216
VLAN_MIN, VLAN_MAX = 1, 4094
# First release whose JSON puts every innermost object into a list of one.
LISTED_JSON_SINCE = (3, 6, 6000)
ROCE_SINCE = (3, 8, 2000)

COUNTERS = (
    "rx_packets",
    "rx_bytes",
    "tx_packets",
    "tx_bytes",
    "rx_discards",
    "tx_discards",
    "tx_hoq_discards",
    "ecn_marked",
    "rx_pause",
    "tx_pause",
    "roce_packets",
)

PORT_RE = re.compile(r"(\d+/\d+(?:/\d+)?)(?:-(\d+/\d+(?:/\d+)?))?")


class CliError(Exception):
    """The command is refused; the text is what the switch prints (it starts with ``% ``)."""


@dataclasses.dataclass
class Port:
    mode: str = "access"  # access, trunk, hybrid, routed
    access_vlan: int = 1
    allowed_vlans: List[int] = dataclasses.field(default_factory=list)
    mtu: int = 1500
    admin: bool = True
    lag: int = 0  # number of the port-channel, 0: none
    mlag: bool = False  # whether it is one over two switches
    qos: Dict[str, str] = dataclasses.field(default_factory=dict)  # what was typed by hand, see qos.py
    description: str = ""
    addresses: List[str] = dataclasses.field(default_factory=list)  # of a routed port, the primary one first


@dataclasses.dataclass
class Config:
    hostname: str
    ports: Dict[str, Port]
    vlans: Dict[int, str]
    svis: List[int]
    roce: Optional[str] = None
    lldp: bool = True
    routing: bool = False  # whether it forwards between its layer 3 interfaces
    qos: Dict[str, str] = dataclasses.field(default_factory=dict)  # what was typed by hand, see qos.py

    def as_json(self) -> Dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass
class Log:
    """What clients did since the last reset: sessions that were opened, and every line that was typed in them."""

    sessions: int = 0
    lines: List[str] = dataclasses.field(default_factory=list)

    def as_json(self) -> Dict[str, Any]:
        return {"sessions": self.sessions, "lines": list(self.lines)}


def port_key(name: str) -> Tuple[int, ...]:
    return tuple(int(part) for part in name.split("/"))


def new_config(hostname: str, names: Sequence[str]) -> Config:
    """A switch as it comes, with these ports."""
    return Config(hostname, {name: Port() for name in names}, {1: "default"}, [], lldp=False)


def factory_config(hostname: str, count: int, lldp: bool = True) -> Config:
    """A switch that is in use: the last six ports are what a RoCE tool must not touch without being told to.

    From the end: a breakout (split into four), a trunk, two members of port-channel 1, a routed port, a hybrid port.
    """
    ports = {"1/{0}".format(number): Port() for number in range(1, count + 1)}
    if count >= 12:
        split, trunk, member_b, member_a, routed, hybrid = ("1/{0}".format(count - back) for back in range(6))
        del ports[split]
        for lane in range(1, 5):
            ports["{0}/{1}".format(split, lane)] = Port()
        ports[trunk] = Port(mode="trunk", allowed_vlans=[100, 200], description="uplink")
        ports[member_a] = Port(lag=1, mtu=9216, description="peer link")
        ports[member_b] = Port(lag=1, mtu=9216, description="peer link")
        ports[routed] = Port(mode="routed", addresses=["192.0.2.1/31"], mtu=9216)
        ports[hybrid] = Port(mode="hybrid", access_vlan=1, allowed_vlans=[100])
    return Config(hostname, ports, {1: "default", 100: "storage", 200: "backup"}, [], lldp=lldp)


class Switch:
    """One switch. Nothing here knows about SSH or about how a line is typed."""

    def __init__(
        self,
        hostname: str,
        version: str,
        ports: int,
        link_delay: float = 0.3,
        *,
        lldp: bool = True,
        nodes: int = 4,
        new: Optional[Sequence[str]] = None,
    ) -> None:
        """``new``: the ports of a switch as it comes, with a node behind each; None: one that is in use."""
        self.version = version
        self.release = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
        self.link_delay = link_delay
        self.faults = Faults()
        self.current_line = ""  # the one that is being carried out, for faults that look at it
        self._factory = factory_config(hostname, ports, lldp) if new is None else new_config(hostname, new)
        self._nodes = nodes
        self.reset()

    def reset(self) -> None:
        """Back to the factory state, which is also what is saved."""
        self.running = copy.deepcopy(self._factory)
        self.saved = copy.deepcopy(self._factory)
        self.flaps: Dict[str, int] = dict.fromkeys(self.running.ports, 0)
        self._down_until: Dict[str, float] = {}
        self.faults.clear()
        self.snapshots: Dict[str, Config] = {}
        self.log = Log()
        self.traffic: Dict[str, Dict[str, int]] = {}
        # Cables: the first ports (the nodes) and the six special ones; the rest is empty.
        names = sorted(self.running.ports, key=port_key)
        special = {name for name, port in self.running.ports.items() if port.mode != "access" or port.lag}
        self.cabled: Set[str] = set(names[: self._nodes]) | special | {name for name in names if name.count("/") == 2}

    def reload(self) -> None:
        """A power cycle: what was not written is gone."""
        self.running = copy.deepcopy(self.saved)
        self._bounce(self.running.ports)

    def snapshot(self, name: str) -> None:
        """A copy under its own name; what is active and what is saved stay as they are."""
        self.snapshots[name] = copy.deepcopy(self.running)

    def delete_snapshot(self, name: str) -> None:
        if self.snapshots.pop(name, None) is None:
            raise CliError("% No such configuration file: {0} (synthetic wording)".format(name))

    @property
    def listed_json(self) -> bool:
        return self.release >= LISTED_JSON_SINCE

    @property
    def unsaved(self) -> bool:
        return self.running != self.saved

    def write(self) -> None:
        self.saved = copy.deepcopy(self.running)

    def as_json(self) -> Dict[str, Any]:
        """The complete durable state; reading never changes it, so that it can be hashed."""
        return {
            "simulated": True,
            "version": self.version,
            "running": self.running.as_json(),
            "saved": self.saved.as_json(),
            "unsaved": self.unsaved,
            "snapshots": {name: config.as_json() for name, config in sorted(self.snapshots.items())},
            "flaps": dict(self.flaps),
            "cabled": sorted(self.cabled, key=port_key),
            "faults": self.faults.as_json(),
        }

    # --- links

    def _bounce(self, names: Iterable[str]) -> None:
        """The link goes down and comes back after ``link_delay`` seconds; only links that were up count."""
        until = time.monotonic() + self.link_delay
        for name in names:
            if name in self.cabled and self.running.ports[name].admin:
                self.flaps[name] = self.flaps.get(name, 0) + 1
                self._down_until[name] = until

    def link_up(self, name: str) -> bool:
        if self.faults.get("link_down", port=name):
            return False
        return (
            name in self.cabled
            and self.running.ports[name].admin
            and time.monotonic() >= self._down_until.get(name, 0.0)
        )

    # --- what is behind a port, and what went through it

    def neighbor(self, name: str) -> Optional[str]:
        """The name that the other end of the cable announces, None if it says nothing."""
        fault = self.faults.get("neighbor", port=name)
        if not self.running.lldp or not self.link_up(name):
            return None
        if fault:
            return str(fault["system"]) or None
        port = self.running.ports[name]
        kind = "host" if port.mode == "access" and not port.lag else "switch"
        return "SIMULATED {0} on {1}".format(kind, name)

    def counters(self, name: str) -> Dict[str, str]:
        """As printed: texts. What the lab's nodes have sent (no RoCE, so none of its counters), and the fault's."""
        seen = {**self.traffic.get(name, {}), **(self.faults.get("counters", port=name) or {})}
        return {key: str(int(seen.get(key, 0))) for key in COUNTERS}

    def links(self) -> Dict[str, Dict[str, Any]]:
        """For whoever carries real packets: which ports are up, how long they may be, and where untagged ones go."""
        result: Dict[str, Dict[str, Any]] = {}
        for name, port in self.running.ports.items():
            vlan = port.access_vlan if port.mode in ("access", "hybrid") and not port.lag else None
            untagged = vlan if vlan in self.running.vlans else None
            result[name] = {"up": self.link_up(name), "mtu": port.mtu, "untagged": untagged}
        return result

    # --- names

    def expand(self, spec: str) -> List[str]:
        """``1/1-1/4`` -> the port names; every one of them must exist."""
        match = PORT_RE.fullmatch(spec)
        if not match:
            raise CliError("% Invalid interface range: {0} (synthetic wording)".format(spec))
        first, last = match.group(1), match.group(2) or match.group(1)
        parent, low = first.rsplit("/", 1)
        other, high = last.rsplit("/", 1)
        if parent != other or int(low) > int(high):
            raise CliError("% Invalid interface range: {0} (synthetic wording)".format(spec))
        names = ["{0}/{1}".format(parent, number) for number in range(int(low), int(high) + 1)]
        missing = [name for name in names if name not in self.running.ports]
        if missing:
            raise CliError("% Interface does not exist: ethernet {0} (synthetic wording)".format(missing[0]))
        return names

    # --- changes

    def set_roce(self, mode: Optional[str]) -> None:
        if self.release < ROCE_SINCE:
            raise CliError('% Unrecognized command "roce".\nType "?" for help.')
        # Whether a real switch also toggles when the mode stays the same is unknown. This one does: whoever sends the
        # command again for nothing shall see what it may cost.
        self.running.roce = mode
        self._bounce(list(self.running.ports))

    def add_vlan(self, vlan: int) -> None:
        if not VLAN_MIN <= vlan <= VLAN_MAX:
            raise CliError("% VLAN {0} is out of range {1}-{2} (synthetic wording)".format(vlan, VLAN_MIN, VLAN_MAX))
        self.running.vlans.setdefault(vlan, "")

    def remove_vlan(self, vlan: int) -> None:
        if vlan == 1 or vlan not in self.running.vlans:
            raise CliError("% VLAN {0} cannot be removed (synthetic wording)".format(vlan))
        del self.running.vlans[vlan]
        for port in self.running.ports.values():
            if port.access_vlan == vlan:
                port.access_vlan = 1
            port.allowed_vlans = [other for other in port.allowed_vlans if other != vlan]

    def on_ports(self, names: List[str], check: Any, change: Any) -> None:
        """Validate all members of a range, then change them.

        What a real switch does when one member refuses is unknown: all or nothing here, or member by member under the
        fault ``range_partial``.
        """
        partial = self.faults.get("range_partial") is not None

        def refuse(name: str) -> None:
            if self.faults.get("refuse_port", port=name, line=self.current_line):
                raise CliError("% Eth{0} refuses it by an injected fault".format(name))
            check(name, self.running.ports[name])

        if not partial:
            for name in names:
                refuse(name)
        for name in names:
            refuse(name)
            change(name, self.running.ports[name])

    def set_admin(self, names: List[str], enabled: bool) -> None:
        def change(name: str, port: Port) -> None:
            if port.admin and not enabled and name in self.cabled:
                self.flaps[name] = self.flaps.get(name, 0) + 1
            if enabled and not port.admin:
                self._down_until[name] = time.monotonic() + self.link_delay
            port.admin = enabled

        self.on_ports(names, lambda name, port: None, change)

    def set_mtu(self, names: List[str], mtu: int, force: bool) -> None:
        if not MTU_MIN <= mtu <= MTU_MAX:
            raise CliError("% MTU {0} is out of range {1}-{2} (synthetic wording)".format(mtu, MTU_MIN, MTU_MAX))

        def check(name: str, port: Port) -> None:
            if port.lag:
                raise CliError(
                    "% Eth{0} is a member of port-channel {1}: set the MTU there (synthetic wording)".format(
                        name, port.lag
                    )
                )
            if port.admin and not force:
                raise CliError("% Eth{0} is enabled: shut it down first or use force (synthetic wording)".format(name))
            if force and self.faults.get("refuse_force", port=name):
                raise CliError("% force is not allowed on Eth{0} (synthetic wording)".format(name))

        def change(name: str, port: Port) -> None:
            port.mtu = mtu
            self._bounce([name])

        self.on_ports(names, check, change)

    def set_mode(self, names: List[str], mode: str) -> None:
        def check(name: str, port: Port) -> None:
            self._layer2(name, port)

        def change(name: str, port: Port) -> None:
            if port.mode == mode:
                return
            port.mode = mode
            # A mode has its own VLAN lists: what the port carried before is gone.
            port.allowed_vlans = []
            port.access_vlan = 1

        self.on_ports(names, check, change)

    def set_access_vlan(self, names: List[str], vlan: int) -> None:
        self._vlans_exist([vlan])

        def check(name: str, port: Port) -> None:
            self._layer2(name, port)
            if port.mode == "trunk":
                raise CliError("% Eth{0} is in trunk mode (synthetic wording)".format(name))

        def change(name: str, port: Port) -> None:
            port.access_vlan = vlan

        self.on_ports(names, check, change)

    def set_allowed_vlans(self, names: List[str], mode: str, vlans: List[int], add: bool) -> None:
        self._vlans_exist(vlans)

        def check(name: str, port: Port) -> None:
            self._layer2(name, port)
            if port.mode != mode:
                raise CliError("% Eth{0} is in {1} mode (synthetic wording)".format(name, port.mode))

        def change(name: str, port: Port) -> None:
            port.allowed_vlans = sorted(set(port.allowed_vlans if add else []) | set(vlans))

        self.on_ports(names, check, change)

    def set_routed(self, names: List[str], routed: bool) -> None:
        def check(name: str, port: Port) -> None:
            if port.lag:
                raise CliError("% Eth{0} is a member of port-channel {1} (synthetic wording)".format(name, port.lag))

        def change(name: str, port: Port) -> None:
            if (port.mode == "routed") == routed:
                return
            port.mode = "routed" if routed else "access"
            port.access_vlan, port.allowed_vlans, port.addresses = 1, [], []

        self.on_ports(names, check, change)

    def set_address(self, names: List[str], address: Optional[str]) -> None:
        """None: no address. The first one is primary and cannot be replaced while another one is there."""

        def check(name: str, port: Port) -> None:
            if port.mode != "routed":
                raise CliError("% Eth{0} is not a routed port (synthetic wording)".format(name))
            if address is None:
                return
            try:
                network = ipaddress.ip_interface(address).network
            except ValueError:
                raise CliError("% Invalid address: {0} (synthetic wording)".format(address)) from None
            for other, there in self.running.ports.items():
                for text in there.addresses:
                    if other != name and ipaddress.ip_interface(text).network.overlaps(network):
                        raise CliError("% {0} overlaps Eth{1} (synthetic wording)".format(address, other))

        def change(name: str, port: Port) -> None:
            port.addresses = [] if address is None else [*(each for each in port.addresses if each != address), address]

        self.on_ports(names, check, change)

    def set_description(self, names: List[str], text: str) -> None:
        def change(name: str, port: Port) -> None:
            port.description = text

        self.on_ports(names, lambda name, port: None, change)

    def set_svi(self, vlan: int, present: bool) -> None:
        if present:
            self._vlans_exist([vlan])
            self.running.svis = sorted(set(self.running.svis) | {vlan})
        else:
            self.running.svis = [other for other in self.running.svis if other != vlan]

    def _vlans_exist(self, vlans: List[int]) -> None:
        for vlan in vlans:
            if vlan not in self.running.vlans:
                raise CliError("% VLAN {0} does not exist (synthetic wording)".format(vlan))

    @staticmethod
    def _layer2(name: str, port: Port) -> None:
        if port.lag:
            raise CliError("% Eth{0} is a member of port-channel {1} (synthetic wording)".format(name, port.lag))
        if port.mode == "routed":
            raise CliError("% Eth{0} is a routed port (synthetic wording)".format(name))
