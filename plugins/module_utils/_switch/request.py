"""What is asked of a switch, of whatever kind, validated as far as that is possible without it. Pure."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import Any, Callable, Mapping

from .._layer import RefusedError

# How far a change may reach: every link of the switch, the requested ports, none.
DISRUPTIONS = ("any", "requested_ports", "none")
DISRUPTION = "requested_ports"
MTU_MIN, MTU_MAX = 1500, 9216
VLAN_MIN, VLAN_MAX = 1, 4094
PRIORITY = 3  # the switch priority, and the traffic class, that the RoCE templates use
# What may stand in a command line without quotes; a line break or a quote would become a command of its own.
_NAME_RE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,39}")
_FILE_RE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_DOMAIN_RE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,14}")


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The request.

    ``mode`` None: RoCE off. ``vlan``/``mtu`` None: leave as it is. ``port_mode``: one of `judge.PORT_MODES`;
    ``addresses``: of each routed port, with prefix lengths. ``convertible``: ports that may get this mode although they
    carry something now; None: any of the requested. ``neighbors``: patterns of the LLDP names that may be
    behind a port that is changed; empty: any. ``strangers``: ports that may be changed with any neighbor, None:
    any. ``disruption``: one of `DISRUPTIONS`. ``priority``: of RoCE traffic. ``vlan_name``, ``mtu_method`` and
    ``snapshot`` (a configuration file to write before the first change, empty: none) exist on Onyx, ``domain`` (the
    bridge of the VLAN) and ``watchdog`` (that of PFC, on) with NVUE.
    """

    mode: str | None = "lossless"
    vlan: int | None = None
    port_mode: str = "access"
    addresses: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    ports: tuple[str, ...] = ()
    mtu: int | None = None
    convertible: frozenset[str] | None = frozenset()
    svi: bool = False
    neighbors: tuple[str, ...] = ()
    strangers: frozenset[str] | None = frozenset()
    disruption: str = "any"
    priority: int = PRIORITY
    vlan_name: str | None = None
    mtu_method: str = "force"
    snapshot: str = ""
    domain: str = "br_default"
    watchdog: bool = False

    @property
    def sets_ports(self) -> bool:
        """Whether the request says what the ports carry."""
        return self.vlan is not None or self.port_mode == "routed"

    def may_convert(self, port: str) -> bool:
        return self.convertible is None or port in self.convertible


@dataclasses.dataclass(frozen=True)
class Naming:
    """How a kind of switch names its ports. ``expand``: (host, "1/1-1/4") -> names; ``example``: for messages."""

    expand: Callable[[str, str], list[str]]
    key: Callable[[str], tuple[Any, ...]]
    example: str

    def all(self, host: str, specs: Any) -> tuple[str, ...]:
        return tuple(sorted({name for spec in specs for name in self.expand(host, spec)}, key=self.key))

    def ports_or_all(self, host: str, option: str, value: Any) -> frozenset[str] | None:
        """A boolean (also as text, as templates produce it) or a list of ports. None: all of them."""
        if isinstance(value, str):
            word = value.strip().lower()
            if word in ("true", "yes", "on", "1"):
                return None
            if word in ("false", "no", "off", "0", ""):
                return frozenset()
            value = value.split(",")
        if value is True:
            return None
        if value is None or value is False:
            return frozenset()
        if not isinstance(value, (list, tuple)):
            raise RefusedError(
                "neither a boolean nor a list of ports",
                host=host,
                thing=option,
                value=value,
                remedy=f"name the ports that it may concern, for example {self.example}",
            )
        return frozenset(self.all(host, value))


def check_login(params: Mapping[str, Any]) -> None:
    """Raises `RefusedError` for a switch without an address, and for a time that is none."""
    for thing, fits in (("hostname", bool(params["hostname"])), ("timeout", params["timeout"] > 0)):
        if not fits:
            remedy = "give an address, and a second or more"
            raise RefusedError("cannot be", host=params["hostname"], thing=thing, value=params[thing], remedy=remedy)


def bad_range(host: str, spec: str, what: str, remedy: str) -> RefusedError:
    return RefusedError(what, host=host, thing="ports", value=spec, remedy=remedy)


def request(host: str, params: Mapping[str, Any], naming: Naming) -> Wanted:
    """The module's parameters as `Wanted`. Raises `RefusedError` before anything is sent, even before the login."""
    vlan, mtu, name, mode = (params.get(key) for key in ("vlan", "mtu", "vlan_name", "mode"))
    ports = naming.all(host, params.get("ports") or ())
    priority = params.get("priority")
    priority = PRIORITY if priority is None else priority
    snapshot = params.get("snapshot") or ""
    domain = params.get("bridge_domain") or Wanted.domain
    reserved = f"a VLAN has a number from {VLAN_MIN} to {VLAN_MAX} (0 and 4095 are reserved by 802.1Q)"
    taken = f"the switch takes an MTU from {MTU_MIN} to {MTU_MAX}"
    moved = "use 3, which the RoCE mode of the switch uses, unless the site has moved RoCE to another one"
    for thing, value, low, high, what, remedy in (
        ("vlan", vlan, VLAN_MIN, VLAN_MAX, reserved, "choose a free number for the RDMA network"),
        ("mtu", mtu, MTU_MIN, MTU_MAX, taken, "use 9216, which leaves room for hosts with 9000"),
        ("priority", priority, 0, 7, "a priority of 802.1p goes from 0 to 7", moved),
    ):
        if value is not None and not low <= value <= high:
            raise RefusedError(what, host=host, thing=thing, value=value, remedy=remedy)
    if name is not None and vlan is None:
        raise RefusedError("a VLAN name without a VLAN", host=host, thing="vlan_name", value=name, remedy="set vlan")
    if name is not None and not _NAME_RE.fullmatch(name):
        raise RefusedError(
            "the name would not reach the switch as one word",
            host=host,
            thing="vlan_name",
            value=name,
            remedy="use up to 40 letters, digits, and _ . : - (no blanks)",
        )
    if params.get("svi") and vlan is None:
        raise RefusedError("a layer 3 interface without a VLAN", host=host, thing="svi", remedy="set vlan")
    if mtu is not None and not ports:
        raise RefusedError("an MTU without ports", host=host, thing="mtu", value=mtu, remedy="set ports")
    if snapshot and not _FILE_RE.fullmatch(snapshot):
        raise RefusedError(
            "not a name for a configuration file",
            host=host,
            thing="snapshot",
            value=snapshot,
            remedy="use up to 64 letters, digits, and _ . - (no blanks), for example before-rdma",
        )
    if not _DOMAIN_RE.fullmatch(domain):
        raise RefusedError(
            "not the name of a bridge",
            host=host,
            thing="bridge_domain",
            value=domain,
            remedy="use up to 15 letters, digits and _ . -, beginning with a letter",
        )
    port_mode = params.get("port_mode") or "access"
    if port_mode == "routed" and vlan is not None:
        raise RefusedError(
            "a routed port is in no VLAN", host=host, thing="vlan", value=vlan, remedy="leave vlan out or set port_mode"
        )
    if port_mode == "trunk" and vlan is None:
        raise RefusedError("a trunk of no VLAN", host=host, thing="vlan", remedy="set vlan, or port_mode to access")
    return Wanted(
        port_mode=port_mode,
        addresses=addresses(host, port_mode, params.get("addresses") or {}, ports, naming),
        mode=None if mode == "absent" else mode or "lossless",
        vlan=vlan,
        ports=ports,
        mtu=mtu,
        convertible=naming.ports_or_all(host, "allow_mode_change", params.get("allow_mode_change", False)),
        svi=bool(params.get("svi")),
        neighbors=tuple(pattern.strip() for pattern in params.get("expected_neighbors") or () if pattern.strip()),
        strangers=naming.ports_or_all(
            host, "allow_unexpected_neighbors", params.get("allow_unexpected_neighbors", False)
        ),
        disruption=params.get("allow_disruption") or DISRUPTION,
        priority=priority,
        vlan_name=name,
        mtu_method=params.get("mtu_method") or "force",
        snapshot=snapshot,
        domain=domain,
        watchdog=bool(params.get("pfc_watchdog")),
    )


def addresses(
    host: str, port_mode: str, given: Mapping[str, Any], ports: tuple[str, ...], naming: Naming
) -> dict[str, tuple[str, ...]]:
    """Port -> its addresses. Each routed port has one or more, in networks of its own."""
    found: dict[str, tuple[str, ...]] = {}
    for spec, texts in given.items():
        listed = texts if isinstance(texts, (list, tuple)) else [texts]
        for name in naming.expand(host, spec):
            found[name] = tuple(str(_interface(host, name, text)) for text in listed)
    if port_mode == "routed":
        missing = [name for name in ports if not found.get(name)]
        if missing:
            raise RefusedError(
                f"no address for {', '.join(missing)}",
                host=host,
                thing="addresses",
                remedy="give each routed port an address with its prefix length, such as 192.0.2.0/31",
            )
    strange = list(found) if port_mode != "routed" else [name for name in found if name not in ports]
    if strange:
        raise RefusedError(
            f"addresses of {', '.join(strange)}, which are no routed ports of this request",
            host=host,
            thing="addresses",
            remedy="name these ports in ports and set port_mode to routed, or take their addresses out",
        )
    taken: list[tuple[str, Any]] = []
    for name, texts in found.items():
        for network in (ipaddress.ip_interface(text).network for text in texts):
            twin = next((other for other, known in taken if other != name and known.overlaps(network)), None)
            if twin is not None:
                raise RefusedError(
                    f"the network of {name} overlaps that of {twin}",
                    host=host,
                    thing="addresses",
                    value=str(network),
                    remedy="give each routed port a network of its own",
                )
            taken.append((name, network))
    return found


def _interface(host: str, name: str, text: Any) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    """An address of one host of its network, which is named with it."""
    try:
        found = ipaddress.ip_interface(str(text))
    except ValueError:
        found = None
    if found is None or "/" not in str(text) or (found.version == 4 and _is_whole_network(found)):
        raise RefusedError(
            f"not the address of {name} with its prefix length",
            host=host,
            thing="addresses",
            value=text,
            remedy="write it as 192.0.2.0/31 or 192.0.2.1/24",
        )
    return found


def _is_whole_network(found: Any) -> bool:
    """The number of a network or its broadcast address; a /31 and a /32 have neither."""
    ends = (found.network.network_address, found.network.broadcast_address)
    return found.network.prefixlen < 31 and found.ip in ends


def satisfied(now: str | None, wanted: str | None) -> bool:
    """Whether a RoCE mode is the one that was asked for. A variant (lossless-single-ipool) is a site's choice within
    its kind, and stays unless another one was named."""
    return now == wanted or (wanted in ("lossless", "lossy") and (now or "").startswith(f"{wanted}-"))


def is_lossless(mode: str | None) -> bool:
    return mode == "lossless" or (mode or "").startswith("lossless-")
