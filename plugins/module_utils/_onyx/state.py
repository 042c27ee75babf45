"""What an Onyx switch prints, as frozen data. The only code that parses it.

The JSON of ``| json-print`` changed with release 3.6.6000: innermost objects became lists of one, and tables became
lists of such objects. The parsers look at the shape that they were given and never at the release, so that one
misjudged version number cannot break them.

Port names are the switch's own without the prefix: ``1/1``, after a split ``1/1/1``.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import re
from typing import Any, Iterable, Iterator, Mapping

from .._layer import ParseError
from .._switch import saving
from .._switch.guards import Neighbor, Use

ERROR_RE = re.compile(r"(?m)^%.*$")
_ETH_RE = re.compile(r"^Eth(\d+/\d+(?:/\d+)?)(?:\s*\((M?[Pp]o\d+)\))?$")
_MEMBER_RE = re.compile(r"Eth(\d+/\d+(?:/\d+)?)")
_LAG_RE = re.compile(r"\b(M?[Pp]o\d+)\b")
_ADDRESS_RE = re.compile(
    r"interface ethernet \S+ (?:ip|ipv6) address ([0-9a-fA-F.:]+(?:/\d+| [0-9.]+))(?: (?:primary|secondary|eui-64))?"
)
_VLAN_LIST_RE = re.compile(r"^(?:all|none|[\d\s,-]*)$", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Version:
    text: str
    release: tuple[int, int, int]
    model: str = ""  # as "Product model" says; many switches say only "x86onie"
    serial: str = ""


@dataclasses.dataclass(frozen=True)
class Roce:
    """``show roce``. ``mode`` None: RoCE is off, and then nothing else is printed."""

    mode: str | None = None
    trust: str = ""
    ecn: str = ""
    ecn_min_kb: int | None = None
    ecn_max_kb: int | None = None
    pfc: str = ""
    priorities: Mapping[int, str] = dataclasses.field(default_factory=dict)
    lldp: str = ""
    exceptions: tuple[str, ...] = ()
    classes: tuple[tuple[int, int, str, str], ...] = ()  # switch priority, traffic class, application, ETS as printed
    pools: tuple[tuple[str, str, str], ...] = ()  # traffic pool, lossy or lossless, maximum usage as printed


@dataclasses.dataclass(frozen=True)
class Vlan:
    name: str
    members: tuple[str, ...]  # port names, and port-channels as the switch writes them (Po1)


@dataclasses.dataclass(frozen=True)
class Switchport:
    mode: str
    access_vlan: int | None
    allowed_vlans: str  # as the CLI takes it: "100,200-210", "all", ""


@dataclasses.dataclass(frozen=True)
class Port:
    """One port as the plan sees it. ``mode``: access, trunk, hybrid..., lag, routed, or unknown.

    ``uses``: what the running configuration has it for besides its layer 2 mode, at the port or elsewhere. ``config``:
    its lines there, of a port outside layer 2.
    """

    name: str
    mode: str
    mtu: int
    admin: bool
    oper: str
    access_vlan: int | None = None
    allowed_vlans: str = ""
    lag: str | None = None
    config: tuple[str, ...] = ()
    uses: tuple[Use, ...] = ()
    counters: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @property
    def up(self) -> bool:
        return self.oper.lower() == "up"

    @property
    def addresses(self) -> tuple[str, ...]:
        """Of a routed port: IPv4 and IPv6, with prefix lengths, in the order of the configuration."""
        found = (_ADDRESS_RE.fullmatch(line) for line in self.config)
        return tuple(str(ipaddress.ip_interface("/".join(each.group(1).split()))) for each in found if each)

    @property
    def ipv4(self) -> list[str]:
        return [text for text in self.addresses if ":" not in text]


@dataclasses.dataclass(frozen=True)
class SwitchState:
    """Everything that the plan needs; ``pfc``, ``ecn`` and ``trust`` are read only in the wanted RoCE mode.

    ``pfc``: port -> (admin, oper) as printed. ``neighbors`` None: not read, because no guard asked for it.
    """

    host: str
    version: Version
    roce: Roce
    vlans: Mapping[int, Vlan]
    ports: Mapping[str, Port]
    unsaved: bool
    lines: tuple[str, ...] = ()  # of the running configuration, one port each
    foreign: tuple[str, ...] = ()  # unsaved lines ("+ ..." new, "- ..." gone) that the request does not account for
    pfc: Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    ecn: Mapping[str, Mapping[int, str]] = dataclasses.field(default_factory=dict)
    trust: Mapping[str, str] = dataclasses.field(default_factory=dict)
    svis: frozenset[int] = frozenset()
    marked: Mapping[str, int] = dataclasses.field(default_factory=dict)  # port -> packets marked by ECN
    neighbors: Mapping[str, tuple[Neighbor, ...]] | None = None
    files: tuple[str, ...] = ()  # configuration files on the switch


def port_key(name: str) -> tuple[int, ...]:
    """Sort key: 1/2 before 1/10, 1/10/1 right after 1/10."""
    return tuple(int(part) for part in name.split("/"))


def refuse_error(host: str, command: str, text: str) -> None:
    """Raise if a show command was answered with an error line (``%`` at the start of a line)."""
    error = ERROR_RE.search(text)
    if error:
        raise ParseError("the switch refused the read command", host=host, thing=command, raw=error.group())


def load_json(host: str, command: str, text: str) -> Any:
    """The object that ``json-print`` printed; text before it (a banner, a warning) is skipped."""
    refuse_error(host, command, text)
    start = re.search(r"(?m)^\s*[\[{]", text)
    if start is None:
        raise ParseError("expected JSON", host=host, thing=command, raw=text)
    try:
        return json.loads(text[start.start() :])
    except ValueError as error:
        raise ParseError(f"broken JSON ({error})", host=host, thing=command, raw=text) from None


def one(value: Any) -> Any:
    """The object itself, whether it comes bare (before 3.6.6000) or as the first of a list."""
    return value[0] if isinstance(value, list) and value else value


def _merged(value: Any) -> dict[str, Any]:
    """All objects of an inner list as one (newer releases spread one port over several)."""
    result: dict[str, Any] = {}
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, dict):
            result.update(part)
    return result


def _per_port(data: Any) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """(port, its port-channel, its attributes) from any of the known shapes.

    ``[{"Eth1/1": [{...}, {...}]}]``, ``{"Eth1/1": [{...}]}``, ``{"Eth1/1": {...}}``, ``[{"header": "Eth1/1", ...}]``.
    """
    for element in data if isinstance(data, list) else [data]:
        if not isinstance(element, dict):
            continue
        header = _ETH_RE.match(str(element.get("header", "")))
        if header:
            yield header.group(1), header.group(2), element
            continue
        for key, value in element.items():
            name = _ETH_RE.match(key)
            if name:
                yield name.group(1), name.group(2), _merged(value)


def _need(host: str, command: str, attributes: Mapping[str, Any], key: str, name: str) -> str:
    if key not in attributes:
        raise ParseError(f"no {key!r} for {name}", host=host, thing=command, raw=json.dumps(attributes))
    return str(attributes[key]).strip()


def parse_version(host: str, text: str) -> Version:
    """``show version | json-print``: the release as three numbers, because "3.10" sorts before "3.6" as text."""
    data = _merged(load_json(host, "show version", text))
    release = _need(host, "show version", data, "Product release", "the switch")
    numbers = re.match(r"\D*(\d+)\.(\d+)\.(\d+)", release)
    if not numbers:
        raise ParseError(f"cannot read the release {release!r}", host=host, thing="show version", raw=text)
    return Version(
        release,
        (int(numbers.group(1)), int(numbers.group(2)), int(numbers.group(3))),
        str(data.get("Product model", "")),
        str(data.get("System serial num", "")),
    )


def _line(text: str, pattern: str) -> str:
    found = re.search(rf"(?m)^\s*(?:{pattern})\s*:\s*(.*?)\s*$", text)
    return found.group(1) if found else ""


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def parse_roce(host: str, text: str) -> Roce:
    """``show roce``: text, because no JSON form of it is known. Wordings of two manuals and one real 3.10.4006."""
    refuse_error(host, "show roce", text)
    mode = _line(text, "RoCE mode")
    if not mode:
        raise ParseError("no RoCE mode", host=host, thing="show roce", raw=text)
    if mode.upper() == "N/A":
        return Roce()
    listed = re.search(r"(?ms)^\s*Exception list\s*:\s*(.*)\Z", text)
    if listed is None:
        raise ParseError("no exception list", host=host, thing="show roce", raw=text)
    rows = tuple(line.strip() for line in listed.group(1).splitlines() if line.strip(" -\t"))
    priorities = {
        int(number): state for number, state in re.findall(r"(?m)^\s*switch-priority\s+(\d+)\s*:\s*(.*?)\s*$", text)
    }
    return Roce(
        mode=mode,
        trust=_line(text, "Port trust mode"),
        ecn=_line(text, "Mode"),
        ecn_min_kb=_number(_line(text, r"Min(?: \(KB\))?")),
        ecn_max_kb=_number(_line(text, r"Max(?: \(KB\))?")),
        pfc=_line(text, "PFC"),
        priorities=priorities,
        lldp=_line(text, "LLDP"),
        exceptions=() if rows == ("N/A",) else rows,
        classes=tuple(
            (int(priority), int(number), application, ets.strip())
            for priority, number, application, ets in re.findall(
                r"(?m)^ +(\d+) +(\d+) +(\S+) +(WRR \S+|Strict)\s*$", text
            )
        ),
        # A row that continues the priorities of the one above has no name and no type.
        pools=tuple(
            (name, kind, usage)
            for name, kind, usage in re.findall(r"(?m)^ +(\S+) +(lossy|lossless) +\S+ .* (\S+)\s*$", text)
        ),
    )


def parse_vlans(host: str, text: str) -> dict[int, Vlan]:
    """``show vlan | json-print``: number -> name and members; keys that are no number are not VLANs."""
    data = load_json(host, "show vlan", text)
    result: dict[int, Vlan] = {}
    for key, value in _merged(data).items():
        if key.isdigit():
            entry = one(value)
            if not isinstance(entry, dict):
                raise ParseError(f"VLAN {key} is no object", host=host, thing="show vlan", raw=text)
            ports = str(entry.get("Ports", ""))
            parts = [part for part in re.split(r"[,\s]+", ports) if part]
            members = tuple(name[1] if (name := _ETH_RE.match(part)) else part for part in parts)
            result[int(key)] = Vlan(str(entry.get("Name", "")), members)
    if not result:
        raise ParseError("not one VLAN", host=host, thing="show vlan", raw=text)
    return result


def parse_switchport(host: str, text: str) -> dict[str, Switchport]:
    """``show interfaces switchport | json-print``: the layer 2 ports; routed ports do not appear in it."""
    command = "show interfaces switchport"
    result: dict[str, Switchport] = {}
    for name, _lag, entry in _per_port(load_json(host, command, text)):
        mode = _need(host, command, entry, "Mode", name).lower()
        access = _need(host, command, entry, "Access vlan", name)
        allowed = str(entry.get("Allowed vlans", "")).strip()
        if allowed.upper() == "N/A":
            allowed = ""
        if not (access.isdigit() or access.upper() == "N/A") or not _VLAN_LIST_RE.match(allowed):
            raise ParseError(f"unknown VLAN notation of {name}", host=host, thing=command, raw=str(entry))
        result[name] = Switchport(mode, _number(access), re.sub(r"\s+", "", allowed.lower()))
    return result


def parse_links(host: str, text: str) -> dict[str, Port]:
    """``show interfaces ethernet | json-print``: every port that exists, with what this table has of it: MTU in bytes,
    states, discards."""
    command = "show interfaces ethernet"
    result: dict[str, Port] = {}
    for name, lag, entry in _per_port(load_json(host, command, text)):
        printed = _need(host, command, entry, "MTU", name)
        mtu = re.match(r"(\d+)\s*bytes", printed)
        admin = _need(host, command, entry, "Admin state", name).lower()
        if not mtu or admin not in ("enabled", "disabled"):
            raise ParseError(f"unknown MTU or admin state of {name}", host=host, thing=command, raw=str(entry))
        oper = _need(host, command, entry, "Operational state", name)
        result[name] = Port(
            name, "unknown", int(mtu.group(1)), admin == "enabled", oper, lag=lag, counters=_discards(entry)
        )
    if not result:
        raise ParseError("not one port", host=host, thing=command, raw=text)
    return result


def _discards(entry: Mapping[str, Any]) -> dict[str, int]:
    """The three counters that tell of lost or stuck RoCE traffic, where the release prints them."""
    printed = _counters(entry)
    return {
        f"{kind}_discards": printed[f"{kind}_discard_packets"]
        for kind in ("rx", "tx", "tx_hoq")
        if f"{kind}_discard_packets" in printed
    }


def _counters(entry: Mapping[str, Any]) -> dict[str, int]:
    """Names follow what is printed: ``Rx`` / ``RoCE PG packets`` is ``rx_roce_pg_packets``."""
    found = {}
    for direction in ("Rx", "Tx"):
        for key, value in _merged(entry.get(direction, {})).items():
            if str(value).isdigit():
                words = re.sub(r"[^a-z0-9]+", "_", f"{direction} {key}".lower()).strip("_")
                found[words] = int(str(value))
    return found


def parse_port_channels(host: str, text: str) -> dict[str, str]:
    """``show interfaces port-channel summary | json-print``: member port -> port-channel.

    Only the shape ``{"1 Po1(U)": [{"Member Ports": "Eth1/7(P) ..."}]}`` is documented; members are looked for in all
    texts below a key that names a port-channel, because a member that goes unnoticed would be changed.
    """
    data = load_json(host, "show interfaces port-channel summary", text)
    result: dict[str, str] = {}
    for key, value in _merged(data).items():
        lag = _LAG_RE.search(key.replace("(", " "))
        if lag:
            for member in _MEMBER_RE.findall(json.dumps(value)):
                result[member] = lag.group(1)
    return result


def parse_pfc(host: str, text: str) -> dict[str, tuple[str, str]]:
    """``show dcb priority-flow-control | json-print``: port -> (admin, oper) as printed."""
    command = "show dcb priority-flow-control"
    data = load_json(host, command, text)
    ports: dict[str, tuple[str, str]] = {}
    for table in _tables(data):
        for name, _lag, entry in _per_port(table):
            if "PFC oper" in entry:
                ports[name] = (str(entry.get("PFC admin", "")), str(entry["PFC oper"]))
    if not ports:
        raise ParseError("not one port with 'PFC oper'", host=host, thing=command, raw=text)
    return ports


def _tables(data: Any) -> list[dict[str, Any]]:
    """The object, the objects of the list, and the "Table N" objects inside, each once."""
    result: list[dict[str, Any]] = []
    for element in data if isinstance(data, list) else [data]:
        if isinstance(element, dict):
            result.append(element)
            result += [_merged(value) for key, value in element.items() if key.lower().startswith("table")]
    return result


def parse_congestion(host: str, text: str) -> dict[str, tuple[dict[int, str], int | None]]:
    """``show interfaces ethernet P congestion-control | json-print``: port -> (traffic class -> mode, packets that were
    marked by ECN, where the release prints them).

    The rows of one port follow its ``Interface ethernet`` row; that several ports follow each other in the same way
    was not verified on hardware, so the caller asks again for ports that are missing here.
    """
    command = "show interfaces ethernet congestion-control"
    data = load_json(host, command, text)
    result: dict[str, tuple[dict[int, str], int | None]] = {}
    name = ""
    for row in data if isinstance(data, list) else [data]:
        entry = one(row)
        if not isinstance(entry, dict):
            continue
        if "Interface ethernet" in entry:
            name = str(entry["Interface ethernet"]).replace("Eth", "").strip()
            result[name] = ({}, _number(str(entry.get("ECN marked packets", ""))))
        traffic_class = re.match(r"TC-(\d+)$", str(entry.get("header", "")))
        if traffic_class and name in result:
            result[name][0][int(traffic_class.group(1))] = _need(host, command, entry, "Mode", name)
    if not any(modes for modes, _marked in result.values()):
        raise ParseError("not one traffic class", host=host, thing=command, raw=text)
    return result


def parse_direction_counters(host: str, command: str, text: str) -> dict[str, dict[str, int]]:
    """``show interfaces ethernet P counters roce | json-print`` (and ``... pfc prio N``): port -> counter -> number."""
    read = {name: _counters(entry) for name, _lag, entry in _per_port(load_json(host, command, text))}
    result = {name: counters for name, counters in read.items() if counters}
    if not result:
        raise ParseError("not one counter", host=host, thing=command, raw=text)
    return result


def parse_neighbors(host: str, text: str) -> dict[str, tuple[Neighbor, ...]]:
    """``show lldp interfaces ethernet remote | json-print``: port -> neighbours.

    ``[{"Eth1/1 (Po100)": [{"Remote system name": ..., "Remote port-id": ...}]}]``; without any neighbour the switch
    prints the line "No lldp remote information." instead.
    """
    command = "show lldp interfaces ethernet remote"
    refuse_error(host, command, text)
    if re.search(r"(?i)no lldp remote information", text) or not text.strip():
        return {}
    data = load_json(host, command, text)
    result: dict[str, tuple[Neighbor, ...]] = {}
    for element in data if isinstance(data, list) else [data]:
        for key, value in element.items() if isinstance(element, dict) else ():
            name = _ETH_RE.match(key)
            if name is None:
                continue
            found = []
            for entry in value if isinstance(value, list) else [value]:
                if not isinstance(entry, dict):
                    raise ParseError(f"the neighbour of {key} is no object", host=host, thing=command, raw=text)
                texts = {
                    field: str(entry.get(f"Remote {field}", "")).strip()
                    for field in ("system name", "port-id", "system description")
                }
                enabled = re.split(r"[,\s]+", str(entry.get("Remote system capabilities enabled", "")).lower())
                forwards = bool({"b", "r", "bridge", "router"} & set(enabled))
                found.append(Neighbor(texts["system name"], texts["port-id"], texts["system description"], forwards))
            result[name.group(1)] = (*result.get(name.group(1), ()), *found)
    if not result and data not in ([], {}):
        raise ParseError("not one port", host=host, thing=command, raw=text)
    return result


def parse_files(host: str, text: str) -> tuple[str, ...]:
    """``show configuration files``: the names of the configuration files, the active one among them."""
    refuse_error(host, "show configuration files", text)
    names, _title, _rest = text.partition("Active configuration")
    return tuple(line.split()[0] for line in names.splitlines() if line.strip())


def parse_trust(host: str, text: str) -> dict[str, str]:
    """``show qos interface ethernet P | json-print``: port -> trust mode (L2, L3, both)."""
    command = "show qos interface"
    result = {
        name: _need(host, command, entry, "Trust mode", name)
        for name, _lag, entry in _per_port(load_json(host, command, text))
    }
    if not result:
        raise ParseError("not one port", host=host, thing=command, raw=text)
    return result


def parse_unsaved(host: str, text: str) -> bool:
    """``show configuration files``: True if the running configuration would not survive a reload."""
    refuse_error(host, "show configuration files", text)
    answer = _line(text, "Unsaved changes").lower()
    if answer not in ("yes", "no"):
        raise ParseError("no 'Unsaved changes'", host=host, thing="show configuration files", raw=text)
    return answer == "yes"


def parse_svis(lines: Iterable[str]) -> frozenset[int]:
    """Lines of the running configuration: VLANs that have a layer 3 interface."""
    found = (re.fullmatch(r"interface vlan (\d+)", line) for line in lines)
    return frozenset(int(each.group(1)) for each in found if each)


def parse_config(host: str, command: str, text: str) -> tuple[str, ...]:
    """``show running-config`` or ``show configuration`` (what is saved): the lines, without comments.

    The switch may write neighbouring ports and VLANs as one range, and differently so in the two, hence one line each.
    """
    refuse_error(host, command, text)
    title = "Active saved database" if command == "show configuration" else "Running database"
    if not re.search(rf"(?m)^##\s*{title}", text):
        raise ParseError(f"not titled {title!r}", host=host, thing=command, raw=text.partition("\n")[0])
    lines: list[str] = []
    for line in text.splitlines():
        words = " ".join(line.split())
        if not words or words.startswith("#"):
            continue
        span = re.fullmatch(r"((?:no )?interface ethernet (\d+(?:/\d+)*)/|vlan )(\d+)-(?:\2/)?(\d+)(.*)", words)
        if span is None:
            lines.append(words)
            continue
        lead, _parent, low, high, rest = span.groups()
        lines += [f"{lead}{number}{rest}" for number in range(int(low), int(high) + 1)]
    return tuple(dict.fromkeys(lines))


def difference(lines: Iterable[str], before: Iterable[str]) -> tuple[str, ...]:
    """``+ `` lines that were not there before, ``- `` lines that are gone. Messages show them."""
    new, old = set(lines), set(before)
    changed = [f"+ {line}" for line in new - old] + [f"- {line}" for line in old - new]
    return tuple(sorted(map(saving.without_secret, changed)))
