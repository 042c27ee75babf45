"""What a Cumulus switch says, read into frozen data. Pure: no I/O, no Ansible.

Everything here is strict about what it acts on (a port, its bridge, its MTU, the RoCE mode) and tolerant about what it
only reports (counters, thresholds). NVUE's answers changed between releases (``enable: on`` became ``state: enabled``,
``link.state`` was split into ``admin-status`` and ``oper-status`` in 5.11), so both shapes are read and none is
chosen by release.
"""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import json
import re
from typing import Any, Mapping

from .._layer import ParseError
from .._switch import guards
from .._switch.guards import Neighbor, Use
from . import tree as trees
from . import uses as using

_ON = ("on", "enabled", "yes", "true")
# RoCE modes that take DSCP / 8 for the priority; that of lossy-multi-tc differs by release (NVIDIA's manuals).
_BY_EIGHTS = ("lossless", "lossy", "lossless-single-ipool")
_SIZES = {"bytes": 1, "byte": 1, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40}


@dataclasses.dataclass(frozen=True)
class Roce:
    """``mode``: configured and switched on, None: off. ``running``: the mode that the switch reports as in force.

    ``dscp``: DSCP -> switch priority in effect while RoCE is on. ``switch``: how this release spells the main switch,
    ("enable", "on") or ("state", "enabled"); None: not shown.
    """

    mode: str | None = None
    running: str | None = None
    switch: tuple[str, str] | None = None
    trust: str = ""
    congestion: str = ""
    ecn_classes: frozenset[int] = frozenset()
    ecn_min_kb: int | None = None
    ecn_max_kb: int | None = None
    pfc_priorities: frozenset[int] = frozenset()
    pfc_rx: str = ""
    pfc_tx: str = ""
    dscp: Mapping[int, int] = dataclasses.field(default_factory=dict)
    lldp: str = ""
    exceptions: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Port:
    """A switch port. ``mode``: access, trunk, routed, bond (member of one), used (in another way), or none.

    ``allowed_vlans``, ``native_vlan``: of a trunk of one bridge; ``all``: those of the bridge. ``addresses``: with
    prefix lengths. ``domains``: bridge -> its settings on this port. ``vlans``: those that they name, for a person.
    ``uses``: whatever else it is there for, at the port or elsewhere. ``above``: interfaces that stand on it
    (swp1.100). ``mtu`` in bytes; ``admin``/``up``: switched on, has a link.
    """

    name: str
    mode: str
    mtu: int
    admin: bool = True
    up: bool = False
    access_vlan: int | None = None
    bond: str | None = None
    allowed_vlans: str | None = None
    native_vlan: int | None = None
    addresses: tuple[str, ...] = ()
    domains: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    vlans: str = ""
    uses: tuple[Use, ...] = ()
    above: tuple[str, ...] = ()
    neighbors: tuple[Neighbor, ...] = ()
    counters: Mapping[str, int] = dataclasses.field(default_factory=dict)
    pfc: str | None = None
    pfc_watchdog: str | None = None

    @property
    def carries(self) -> str:
        """All that it would lose, for a person."""
        return "; ".join(filter(None, [self.vlans, guards.listed(self.uses)]))


@dataclasses.dataclass(frozen=True)
class State:
    """One reading of a switch. ``config``: the applied configuration, ranges written out.

    ``unsaved``/``foreign``: lines (``+ ...``, ``- ...``) by which it differs from the start-up configuration, all of
    them and those that the request does not account for. ``split``: ports that are split, with their lanes.
    ``members``: VLAN -> ports and bonds that carry it.
    """

    host: str
    release: str
    roce: Roce
    ports: Mapping[str, Port]
    vlans: frozenset[int] = frozenset()
    svis: frozenset[int] = frozenset()
    config: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    split: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    members: Mapping[int, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    custom_qos: tuple[str, ...] = ()
    unsaved: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()


def raw(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def is_on(value: Any) -> bool:
    return value is True or str(value).lower() in _ON


def release_number(text: str) -> tuple[int, ...]:
    """``Cumulus Linux 5.4.0`` -> (5, 4, 0); () if there is no number."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part) for part in found.groups() if part is not None) if found else ()


def numbers(value: Any) -> frozenset[int]:
    """``"0,3"``, ``3``, ``[3]``, ``{"3": {}}`` -> the numbers in it."""
    text = ",".join(map(str, value)) if isinstance(value, (list, tuple, Mapping)) else str(value or "")
    result: set[int] = set()
    for low, high in re.findall(r"(\d+)(?:-(\d+))?", text):
        result |= set(range(int(low), int(high or low) + 1))
    return frozenset(result)


def size_kb(value: Any) -> int | None:
    """``"146.48 KB"`` (binary units, as the switch prints them) or bytes -> thousands of bytes; None if unknown."""
    found = re.fullmatch(r"([\d.]+)\s*([A-Za-z]*)", str(value if value is not None else "").strip())
    if not found or (found.group(2).lower() or "bytes") not in _SIZES:
        return None
    return round(float(found.group(1)) * _SIZES[found.group(2).lower() or "bytes"] / 1000)


def whole(value: Any) -> int | None:
    return int(value) if re.fullmatch(r"\d+", str(value)) else None


def _word(value: Any) -> str:
    """``{"up": {}}`` and ``"up"`` -> up."""
    if isinstance(value, Mapping):
        return str(next(iter(value), ""))
    return str(value or "")


def parse_release(host: str, system: Any) -> str:
    """5.4: ``build``; 5.11: ``product-release``; 5.14: ``version.product-release``."""
    candidates = [trees.get(system, "version", "product-release"), trees.get(system, "product-release")]
    candidates += [trees.get(system, "build"), trees.get(system, "version", "image")]
    for text in candidates:
        if isinstance(text, str) and release_number(text):
            return text
    raise ParseError("NVUE does not say which release this is", host=host, thing="system", raw=raw(system))


def parse_config(host: str, config: Any) -> trees.Tree:
    """The applied configuration with ranges of ports and VLANs written out."""
    if not isinstance(config, Mapping):
        raise ParseError("expected a configuration tree", host=host, thing="configuration", raw=raw(config))
    try:
        result = trees.merge(config)
        if "interface" in config:
            result["interface"] = trees.expanded_interfaces(config)
        for domain, settings in (trees.get(config, "bridge", "domain") or {}).items():
            vlans = trees.get(settings, "vlan") or {}
            written = {number: value for spec, value in vlans.items() for number in trees.expand(str(spec))}
            if vlans:
                result = trees.replaced(result, ("bridge", "domain", domain, "vlan"), written)
    except (ValueError, AttributeError) as error:
        raise ParseError(
            f"unknown shape of the configuration ({error})", host=host, thing="configuration", raw=", ".join(config)
        ) from None
    return without_empty_branches(result)


def without_empty_branches(config: Mapping[str, Any]) -> trees.Tree:
    """Some releases show branches that hold nothing ("qos": {}); two readings have to compare equal all the same."""
    result = {key: value for key, value in config.items() if value not in ({}, None)}
    if trees.get(result, "bridge", "domain") == {}:
        result["bridge"] = {key: value for key, value in result["bridge"].items() if key != "domain"}
        result = {key: value for key, value in result.items() if value != {}}
    return result


def parse_roce(host: str, config: Mapping[str, Any], filled: Any, operational: Any) -> Roce:
    """``filled``: /qos/roce of the applied revision with defaults; ``operational``: /qos/roce as it is in force."""
    configured = trees.get(config, "qos", "roce")
    filled = filled if isinstance(filled, Mapping) else {}
    operational = operational if isinstance(operational, Mapping) else {}
    spellings = (("state", "enabled"), ("enable", "on"))
    switch = next((each for each in spellings if each[0] in filled or each[0] in operational), None)
    mode = None
    if isinstance(configured, Mapping):
        if is_on(_main_switch(configured)):
            mode = str(configured.get("mode", "lossless"))
    elif configured is not None:
        raise ParseError("unknown shape of qos roce", host=host, thing="qos roce", raw=raw(configured))
    # A release may print the mode that it would have although the main switch is off.
    running = operational.get("mode") if is_on(_main_switch(operational)) else None
    exceptions = [
        row for key, value in operational.items() if "exception" in key.lower() for row in _exception_rows(value)
    ]
    congestion = operational.get("congestion-control") or {}
    pfc = operational.get("pfc") or {}
    return Roce(
        mode=mode,
        running=None if running in (None, "", "none", "N/A") else str(running),
        switch=switch,
        trust=str(trees.get(operational, "trust", "trust-mode") or ""),
        congestion=str(congestion.get("congestion-mode", "")),
        ecn_classes=numbers(congestion.get("enabled-tc")),
        ecn_min_kb=size_kb(congestion.get("min-threshold")),
        ecn_max_kb=size_kb(congestion.get("max-threshold")),
        pfc_priorities=numbers(pfc.get("pfc-priority")),
        pfc_rx=str(pfc.get("rx-enabled", "")),
        pfc_tx=str(pfc.get("tx-enabled", "")),
        dscp=dscp_map(config, mode) if mode else {},
        lldp="application TLV" if operational.get("lldp-app-tlv") else "",
        exceptions=tuple(exceptions),
    )


def dscp_map(config: Mapping[str, Any], mode: str) -> dict[int, int]:
    """The map of the RoCE mode, as far as it is known, with what the profile default-global changes."""
    found = {dscp: dscp // 8 for dscp in range(64)} if mode in _BY_EIGHTS else {}
    for spec, entry in (trees.get(config, "qos", "mapping", "default-global", "dscp") or {}).items():
        priority = whole(trees.get(entry, "switch-priority"))
        if priority is not None:
            found.update(dict.fromkeys(numbers(spec), priority))
    return found


def parse_watchdog(answer: Any) -> str | None:
    """enabled, disabled, or None if the release does not say."""
    state = trees.get(answer, "state") if isinstance(answer, Mapping) else None
    return None if state is None else "enabled" if str(state).lower().startswith("enable") else "disabled"


def _main_switch(roce: Mapping[str, Any]) -> Any:
    """On where a release shows none."""
    return next((roce[key] for key in ("state", "enable") if key in roce), "on")


def _exception_rows(value: Any) -> tuple[str, ...]:
    """The shape of a row is not published, so every row counts, whatever it looks like."""
    if not value or value in ("N/A", "No Data"):
        return ()
    if isinstance(value, Mapping):
        return tuple(f"{key}: {raw(row)}" if row not in ({}, None) else str(key) for key, row in value.items())
    return tuple(raw(row) for row in value) if isinstance(value, list) else (raw(value),)


def parse_ports(host: str, config: Mapping[str, Any], operational: Any) -> dict[str, Port]:
    """Switch ports from what is in force (``/interface``) and from the applied configuration."""
    if not isinstance(operational, Mapping):
        raise ParseError("expected interfaces", host=host, thing="interface", raw=raw(operational))
    interfaces: Mapping[str, Any] = config.get("interface") or {}
    bonds: dict[str, str] = {}
    above: dict[str, list[str]] = {}
    for name, settings in interfaces.items():
        for selector in trees.get(settings, "bond", "member") or {}:
            bonds.update(dict.fromkeys(trees.expand(str(selector)), name))
        base, dot, _number = name.partition(".")
        if dot:
            above.setdefault(base, []).append(name)
    mentioned = using.references(config)
    result = {}
    for name, facts in operational.items():
        if not name.startswith("swp") or trees.split_port(name) is None:
            continue
        settings = interfaces.get(name) or {}
        uses = (*using.port_uses(config, name), *mentioned.get(name, ()))
        above_it = tuple(above.get(name, ()))
        result[name] = _port(host, name, facts, settings, bond=bonds.get(name), above=above_it, uses=uses)
    return result


def _port(
    host: str,
    name: str,
    facts: Any,
    settings: Mapping[str, Any],
    *,
    bond: str | None,
    above: tuple[str, ...],
    uses: tuple[Use, ...],
) -> Port:
    link = facts.get("link") if isinstance(facts, Mapping) else None
    mtu = whole(trees.get(link, "mtu"))
    oper = _word(trees.get(link, "oper-status") or trees.get(link, "state"))
    if mtu is None or not oper:
        raise ParseError(f"{name} has no MTU or no link state", host=host, thing="interface", raw=raw(facts))
    admin = _word(trees.get(link, "admin-status") or trees.get(settings, "link", "state") or "up")
    domains = trees.get(settings, "bridge", "domain") or {}
    mode, access, vlans = _layer2(host, name, settings, domains)
    if uses and mode == "none":
        layer3 = any(use.words.split()[0] in (*using.LAYER3, "vrf", "router") for use in uses)
        mode = "routed" if layer3 else "used"
    only = next(iter(domains.values()), None) or {}
    trunk = mode == "trunk" and len(domains) == 1
    return Port(
        name=name,
        mode="bond" if bond else mode,
        mtu=mtu,
        admin=admin.lower() == "up",
        up=oper.lower() == "up",
        access_vlan=access,
        allowed_vlans=(",".join(map(str, only.get("vlan") or ())) or "all") if trunk else None,
        native_vlan=whole(only.get("untagged")) if trunk else None,
        addresses=_addresses(settings),
        bond=bond,
        domains=domains,
        vlans=vlans,
        uses=uses,
        above=above,
        neighbors=_neighbors(facts),
        counters=_link_drops(link),
    )


def _addresses(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """In the spellings of 5.0 to 5.18; what is no address (dhcp) is left out."""
    found = []
    for family in ("ip", "ipv4", "ipv6"):
        for text in trees.get(settings, family, "address") or {}:
            with contextlib.suppress(ValueError):
                found.append(str(ipaddress.ip_interface(text)))
    return tuple(sorted(found))


def _layer2(host: str, name: str, settings: Mapping[str, Any], domains: Any) -> tuple[str, int | None, str]:
    """(mode, access VLAN, the VLANs that it carries)."""
    if not isinstance(domains, Mapping):
        raise ParseError(f"unknown bridge settings of {name}", host=host, thing="interface", raw=raw(settings))
    carries = []
    access: int | None = None
    for domain, bridge in domains.items():
        bridge = bridge or {}  # noqa: PLW2901 - null and {} say the same
        if whole(bridge.get("access")) is not None:
            access = whole(bridge["access"])
            carries.append(f"VLAN {access} of {domain}")
        else:
            tagged = ",".join(map(str, bridge.get("vlan") or {})) or "every VLAN"
            carries.append(f"{tagged} of {domain}, untagged {bridge.get('untagged', 'as the bridge says')}")
    if domains:
        single = len(domains) == 1 and access is not None
        return "access" if single else "trunk", access if single else None, "; ".join(carries)
    return "none", None, ""


def _neighbors(facts: Any) -> tuple[Neighbor, ...]:
    found = []
    for key, neighbor in (trees.get(facts, "lldp", "neighbor") or {}).items():
        capability = trees.get(neighbor, "chassis", "capability") or {}
        forwards = any(is_on(trees.get(capability, name)) for name in ("is-bridge", "is-router"))
        found.append(Neighbor(str(trees.get(neighbor, "chassis", "system-name") or key), forwards=forwards))
    return tuple(sorted(found, key=lambda each: each.system))


def _link_drops(link: Any) -> dict[str, int]:
    stats = trees.get(link, "stats") or {}
    found = {"rx_drops": whole(stats.get("in-drops")), "tx_drops": whole(stats.get("out-drops"))}
    return {key: value for key, value in found.items() if value is not None}


_COUNTERS = {
    "rx_pfc_pause": ("rx-stats", "rx-pfc-stats", "pause-packets"),
    "tx_pfc_pause": ("tx-stats", "tx-pfc-stats", "pause-packets"),
    "ecn_marked": ("tx-stats", "tx-ecn-stats", "ecn-marked-packets"),
    "rx_discards": ("rx-stats", "rx-roce-stats", "no-buffer-discard"),
    "tx_discards": ("tx-stats", "tx-roce-stats", "unicast-no-buffer-discard"),
    "rx_roce_packets": ("rx-stats", "rx-roce-stats", "roce-packets"),
    "tx_roce_packets": ("tx-stats", "tx-roce-stats", "roce-packets"),
}


def parse_counters(answer: Any) -> dict[str, int]:
    """RoCE counters of a port, in packets. What a release does not print is left out: they are reported, not used."""
    found = {name: whole(trees.get(answer, *path)) for name, path in _COUNTERS.items()}
    return {name: value for name, value in found.items() if value is not None}


def parse_port_pfc(answer: Any) -> str | None:
    """PFC of a port, from its RoCE status: enabled, disabled, or None if the release does not say."""
    pfc = trees.get(answer, "pfc")
    if not isinstance(pfc, Mapping) or "rx-enabled" not in pfc:
        return None
    return "enabled" if is_on(pfc.get("rx-enabled")) and is_on(pfc.get("tx-enabled")) else "disabled"


def split_ports(ports: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Ports that a breakout has replaced by their lanes."""
    result = {}
    for name in {port.rpartition("s")[0] for port in ports if re.fullmatch(r"swp\d+s\d+", port)}:
        if name not in ports:
            lanes = sorted((port for port in ports if port.startswith(name + "s")), key=trees.port_key)
            result[name] = tuple(lanes)
    return result


def vlan_members(config: Mapping[str, Any], domain: str) -> dict[int, tuple[str, ...]]:
    """VLAN -> interfaces of the bridge that carry it; a trunk without a list carries all of them."""
    known = {int(number) for number in trees.get(config, "bridge", "domain", domain, "vlan") or {} if number.isdigit()}
    result: dict[int, list[str]] = {number: [] for number in known}
    for name, settings in (config.get("interface") or {}).items():
        bridge = trees.get(settings, "bridge", "domain", domain)
        if bridge is None:
            continue
        if whole(bridge.get("access")) is not None:
            carried = {int(bridge["access"])}
        else:
            listed = numbers(list(bridge.get("vlan") or {}))
            carried = set(listed or known) | set(numbers(bridge.get("untagged")))
        for number in carried:
            result.setdefault(number, []).append(name)
    return {number: tuple(sorted(names, key=trees.port_key)) for number, names in result.items()}


def parse_state(
    host: str, domain: str, *, system: Any, applied: Any, filled_roce: Any, roce: Any, interfaces: Any
) -> State:
    """One reading through NVUE, without what is read per port."""
    config = parse_config(host, applied)
    ports = parse_ports(host, config, interfaces)
    vlans = trees.get(config, "bridge", "domain", domain, "vlan") or {}
    custom = {key: value for key, value in (config.get("qos") or {}).items() if key != "roce"}
    svis = {
        int(name[4:])
        for name, settings in (config.get("interface") or {}).items()
        if re.fullmatch(r"vlan\d+", name) and (settings or {}).get("base-interface", domain) == domain
    }
    return State(
        host=host,
        release=parse_release(host, system),
        roce=parse_roce(host, config, filled_roce, roce),
        ports=ports,
        vlans=frozenset(int(number) for number in vlans if number.isdigit()),
        svis=frozenset(svis),
        config=config,
        split=split_ports(ports),
        members=vlan_members(config, domain),
        custom_qos=tuple(trees.nv_lines("set", {"qos": custom})) if custom else (),
    )
