"""What ``show`` prints: for every subject a text and an object for ``json-print``.

Texts and shapes of `version`, `roce`, `configuration files`, `running-config` and of the JSON objects follow real
output; the text tables of `vlan`, `interfaces switchport`, `lldp` and `port-channel summary` are synthetic.
"""

from __future__ import annotations

import functools
import json
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import qos
from .state import ROCE_SINCE, CliError, Config, Port, Switch, port_key

Rendered = Tuple[str, Optional[Any]]  # text, and the object for json-print (None: the command has no JSON)
_PRIORITIES = range(8)
NO_NEIGHBOR = "No lldp remote information."


def _listed(switch: Switch, entry: Dict[str, Any]) -> Any:
    """One innermost object in the JSON shape of the switch's release."""
    return [entry] if switch.listed_json else entry


def _table(rows: Dict[str, Any]) -> str:
    return "\n".join("{0:<18} {1}".format(key + ":", value) for key, value in rows.items())


def _ports(switch: Switch, spec: Optional[str]) -> List[str]:
    return switch.expand(spec) if spec else sorted(switch.running.ports, key=port_key)


def version(switch: Switch) -> Rendered:
    rows = {
        "Product name": "Onyx",
        "Product release": switch.version,
        "Build ID": "#1-dev (SIMULATED)",
        "Target arch": "x86_64",
        "Version summary": "X86_64 {0} 2026-01-01 00:00:00 x86_64 (SIMULATED)".format(switch.version),
        "Product model": "x86onie (SIMULATED)",
        "System serial num": "SIMULATED00001",
    }
    return _table(rows), rows


def hosts(switch: Switch) -> Rendered:
    return "Hostname: {0}".format(switch.running.hostname), None


def vlan(switch: Switch) -> Rendered:
    members: Dict[int, List[str]] = {number: [] for number in switch.running.vlans}
    for name in _ports(switch, None):
        port = switch.running.ports[name]
        if port.lag or port.mode == "routed":
            continue
        carried = [port.access_vlan] if port.mode == "access" else list(port.allowed_vlans)
        if port.mode == "hybrid":
            carried.append(port.access_vlan)
        for number in carried:
            members.setdefault(number, []).append("Eth" + name)
    data, lines = {}, ["VLAN    Name           Ports", "----    -----------    --------------------------------------"]
    for number, title in switch.running.vlans.items():
        # Long lists are wrapped, and json-print keeps the line break inside the string.
        chunks = [", ".join(members[number][at : at + 6]) for at in range(0, len(members[number]), 6)]
        text = ",\n".join(chunks)
        data[str(number)] = _listed(switch, {"Name": title, "Ports": text})
        lines.append("{0:<8}{1:<15}{2}".format(number, title, text.replace("\n", "\n" + " " * 23)))
    return "\n".join(lines), data


def switchport(switch: Switch) -> Rendered:
    data, lines = {}, ["Interface   Mode     Access vlan   Allowed vlans"]
    for name in _ports(switch, None):
        port = switch.running.ports[name]
        if port.lag or port.mode == "routed":
            continue
        entry = {
            "Access vlan": "N/A" if port.mode == "trunk" else str(port.access_vlan),
            "Allowed vlans": _compact(port.allowed_vlans) if port.mode != "access" else "",
            "Mode": port.mode,
        }
        data["Eth" + name] = _listed(switch, entry)
        lines.append(
            "Eth{0:<9}{1:<9}{2:<14}{3}".format(name, entry["Mode"], entry["Access vlan"], entry["Allowed vlans"])
        )
    return "\n".join(lines), data


def _compact(vlans: List[int]) -> str:
    """[2, 4, 7, 8, 9] -> "2, 4, 7-9"."""
    runs: List[List[int]] = []
    for number in sorted(vlans):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(low) if low == high else "{0}-{1}".format(low, high) for low, high in runs)


def ethernet(switch: Switch, spec: Optional[str]) -> Rendered:
    blank = " " if switch.listed_json else ""
    data: List[Any] = []
    blocks: List[str] = []
    for name in _ports(switch, spec):
        port = switch.running.ports[name]
        up = switch.link_up(name)
        entry: Dict[str, Any] = {
            "Admin state": "Enabled" if port.admin else "Disabled",
            "Operational state": "Up" if up else "Down",
            "Description": port.description or "N/A",
            "Mac address": _mac(name),
            "MTU": "{0} bytes{1}(Maximum packet size {2} bytes)".format(port.mtu, blank, port.mtu + 22),
            "Actual speed": "100 Gbps" if up else "Unknown",
            "Switchport mode": "N/A" if port.lag or port.mode == "routed" else port.mode,
        }
        count = switch.counters(name)
        receive = {
            "packets": count["rx_packets"],
            "bytes": count["rx_bytes"],
            "discard packets": count["rx_discards"],
            "error packets": "0",
        }
        transmit = {
            "packets": count["tx_packets"],
            "bytes": count["tx_bytes"],
            "discard packets": count["tx_discards"],
            "hoq discard packets": count["tx_hoq_discards"],
        }
        if switch.listed_json:
            data.append({"Eth" + name: [entry, {"Rx": [receive], "Tx": [transmit]}]})
        else:
            data.append({"header": "Eth" + name, **entry, "Rx": receive, "Tx": transmit})
        blocks.append(
            "Eth{0}:\n".format(name)
            + "\n".join("  {0:<33}: {1}".format(key, value) for key, value in entry.items())
            + "\n"
        )
    return "\n".join(blocks), data


def _mac(name: str) -> str:
    """Locally administered, and the same in every run."""
    numbers = port_key(name)
    return "02:00:00:00:{0:02x}:{1:02x}".format(numbers[-1] if len(numbers) == 3 else 0, numbers[1])


def interface_status(switch: Switch) -> Rendered:
    lines = ["Port                   Operational state           Speed    (synthetic wording)"]
    for name in _ports(switch, None):
        up = switch.link_up(name)
        lines.append("Eth{0:<20}{1:<28}{2}".format(name, "Up" if up else "Down", "100 Gbps" if up else "Unknown"))
    return "\n".join(lines), None


def port_channel_summary(switch: Switch) -> Rendered:
    groups: Dict[int, List[str]] = {}
    for name in _ports(switch, None):
        if switch.running.ports[name].lag and not switch.running.ports[name].mlag:
            groups.setdefault(switch.running.ports[name].lag, []).append(name)
    flags = {"U": "Up", "D": "Down", "P": "Up in port-channel (members)"}
    data: Dict[str, Any] = {"Flags": _listed(switch, flags)}
    lines = ["Group   Port-Channel   Type   Member Ports", "--------------------------------------------"]
    for number, names in sorted(groups.items()):
        states = {name: switch.link_up(name) for name in names}
        title = "{0} Po{0}({1})".format(number, "U" if any(states.values()) else "D")
        listing = " ".join("Eth{0}({1})".format(name, "P" if up else "D") for name, up in states.items())
        data[title] = [{"Type": "LACP", "Member Ports": listing}]
        lines.append("{0:<14} LACP   {1}".format(title, listing))
    return "\n".join(lines), data


def mlag_port_channel(switch: Switch) -> Rendered:
    """The shape of a real answer of 3.6: the members of this switch and of its peer, per port-channel."""
    groups: Dict[int, List[str]] = {}
    for name in _ports(switch, None):
        if switch.running.ports[name].mlag:
            groups.setdefault(switch.running.ports[name].lag, []).append(name)
    summary: Dict[str, Any] = {}
    lines = ["MLAG Port-Channel Flags: D-Down, U-Up, P-Partial UP, S - suspended by MLAG", ""]
    for number, names in sorted(groups.items()):
        states = {name: switch.link_up(name) for name in names}
        title = "1 Mpo{0}({1})".format(number, "P" if any(states.values()) else "D")
        members = " ".join("Eth{0}({1})".format(name, "P" if up else "D") for name, up in states.items())
        summary[title] = [{"Local Ports (D/P/S/I)": members, "Peer Ports (D/P/S/I)": "N/A", "Type": "LACP"}]
        lines.append("{0:<14} LACP   {1}   N/A".format(title, members))
    flags = {
        "I": "Individual",
        "P": "Up in port-channel (members)",
        "S": "Suspend in port-channel (members)",
        "D": "Down",
    }
    data = {
        "MLAG Port-Channel Flags": "D-Down, U-Up, P-Partial UP, S - suspended by MLAG",
        "Port Flags": flags,
        "MLAG Port-Channel Summary": summary,
    }
    return "\n".join(lines), data


def protocols(switch: Switch) -> Rendered:
    """Names and words of a real answer; what the lab has not is disabled."""
    off: Tuple[str, ...] = (
        "pim",
        "dhcp-relay",
        "igmp-snooping",
        "ptp",
        "isolation-group",
        "bfd",
        "openflow",
        "telemetry",
        "vrrp",
    )
    off += ("magp", "nve", "sflow", "dhcp-relay(v6)", "dot1x", "bgp", "ospf")
    ports = switch.running.ports.values()
    words = {True: "enabled", False: "disabled"}
    rows = {
        **dict.fromkeys(off, "disabled"),
        "lacp": words[any(port.lag for port in ports)],
        "lldp": words[switch.running.lldp],
        "spanning-tree": "rst",
        "mlag": words[any(port.mlag for port in ports)],
        "Ethernet": "enabled",
        "IP L3": words[any(port.mode == "routed" for port in ports) or bool(switch.running.svis)],
        "ets": "enabled",
        "priority-flow-control": words[qos.pfc_on(switch)],
    }
    return "\n".join(" {0:<23} {1}".format(name + ":", word) for name, word in rows.items()), rows


def inventory(switch: Switch) -> Rendered:
    """Synthetic but for the names of its columns."""
    row = {"Part number": "SIMULATED", "Serial number": "SIMULATED00001", "Asic rev": "N/A", "HW rev": "A1"}
    columns = "{0:<10}{1:<14}{2:<17}{3:<11}{4}"
    lines = [columns.format("Module", *row), *(columns.format(name, *row.values()) for name in ("CHASSIS", "MGMT"))]
    return "\n".join(lines), {name: _listed(switch, row) for name in ("CHASSIS", "MGMT")}


def lldp_local(switch: Switch) -> Rendered:
    rows = {
        "Supported capabilities": "B,R",
        "Chassis sub type": "Mac Address",
        "header": "Local global configuration",
        "System Name": switch.running.hostname,
        "Supported capabilities enabled": "B",
        "Chassis id": "02:00:00:00:ff:00",
        "System Description": "SIMULATED",
    }
    word = "enabled" if switch.running.lldp else "disabled"
    return "LLDP: {0}\n\n{1}".format(word, _table(rows)), [{"LLDP": word}, rows]


def priority_flow_control(switch: Switch) -> Rendered:
    lossless = qos.pfc_on(switch)
    enabled = qos.pfc_priorities(switch)
    head = {
        "PFC": "enabled" if lossless else "disabled",
        "Priority Enabled List": " ".join(str(number) for number in enabled),
        "Priority Disabled List": " ".join(str(number) for number in _PRIORITIES if number not in enabled),
    }
    table = {
        "Eth" + name: [
            {
                "PFC admin": qos.pfc_admin(switch, name),
                "PFC oper": "Enabled" if qos.pfc_operational(switch, name) else "Disabled",
            }
        ]
        for name in _ports(switch, None)
    }
    lines = [
        "PFC: {0}".format(head["PFC"]),
        "Priority Enabled List  : {0}".format(head["Priority Enabled List"]),
        "Priority Disabled List : {0}".format(head["Priority Disabled List"]),
        "",
        "Interface    PFC admin    PFC oper",
    ]
    lines += [
        "{0:<13}{1:<13}{2}".format(name, rows[0]["PFC admin"], rows[0]["PFC oper"]) for name, rows in table.items()
    ]
    data: Any = [head, table] if switch.listed_json else {**head, "Table 2": table}
    return "\n".join(lines), data


def qos_interface(switch: Switch, spec: Optional[str]) -> Rendered:
    data: List[Any] = []
    blocks: List[str] = []
    for name in _ports(switch, spec):
        trust = qos.trust(switch, name)
        entry = {"Trust mode": trust, "DSCP rewrite": "disabled", "PCP,DEI rewrite": "disabled"}
        mapping = {"24-31": "3", "48-55": "6"}
        data.append({"Eth" + name: [entry, {"DSCP; DSCP to switch-priority mapping": [mapping]}]})
        blocks.append("Eth{0}\n Trust mode: {1}\n DSCP rewrite: disabled\n".format(name, trust))
    return "\n".join(blocks), data


def congestion_control(switch: Switch, spec: str) -> Rendered:
    data: List[Any] = []
    lines: List[str] = []
    for name in _ports(switch, spec):
        marked = switch.counters(name)["ecn_marked"]
        data.append({"Interface ethernet": name, "ECN marked packets": marked})
        lines.append("Interface ethernet: {0}\nECN marked packets: {1}".format(name, marked))
        classes = qos.ecn(switch, name)
        for number in _PRIORITIES:
            row = {"header": "TC-{0}".format(number), "Mode": "none"}
            if number in classes:
                row.update(
                    {
                        "Mode": "ECN",
                        "Threshold mode": "absolute",
                        "Minimum threshold": "{0} KB".format(classes[number]["min"]),
                        "Maximum threshold": "{0} KB".format(classes[number]["max"]),
                        "RED dropped packets": "0",
                    }
                )
            data.append(row)
            lines.append(" TC-{0}: {1}".format(number, row["Mode"]))
    return "\n".join(lines), data


def roce_counters(switch: Switch, spec: str) -> Rendered:
    if switch.release < ROCE_SINCE:
        raise CliError('% Unrecognized command "roce".\nType "?" for help.')
    data, lines = [], []
    for name in _ports(switch, spec):
        packets = switch.counters(name)["roce_packets"]
        receive = {"RoCE PG packets": packets, "RoCE PG bytes": str(4096 * int(packets))}
        transmit = {"RoCE TC packets": packets, "RoCE TC bytes": str(4096 * int(packets))}
        data.append({"Eth" + name: [{"Rx": [receive]}, {"Tx": [transmit]}]})
        lines.append("Eth{0}: {1} packets (synthetic wording)".format(name, packets))
    return "\n".join(lines), data


def pfc_counters(switch: Switch, spec: str, priority: str) -> Rendered:
    """Only the words "pause packets" of the text are known of a real switch; the JSON follows ``counters roce``."""
    data, lines = [], []
    for name in _ports(switch, spec):
        count = switch.counters(name)
        rows = {"Rx": count["rx_pause"], "Tx": count["tx_pause"]} if priority == "3" else {"Rx": "0", "Tx": "0"}
        data.append({"Eth" + name: [{way: [{"pause packets": number}]} for way, number in rows.items()]})
        lines.append("Eth{0}".format(name))
        for way, number in rows.items():
            lines += ["  {0}".format(way), "    {0:<20} pause packets".format(number)]
    return "\n".join(lines), data


_ROCE_TEXT = """RoCE mode      : {mode}
LLDP           : {lldp}
Port trust mode: L3

Application TLV:
  Selector: udp
  Protocol: 4791
  Priority: 3

Port congestion-control:
  Mode    : ecn, absolute
  Min (KB): 150
  Max (KB): 1500

PFC              : {pfc}
switch-priority 3: {pfc}

RoCE used TCs:
  ----------------------------------------------
  Switch-Priority   TC     Application   ETS
  ----------------------------------------------
  3                 3      RoCE          WRR 50%
  6                 6      CNP           Strict

RoCE buffer pools:
  ----------------------------------------------------------------------------------------------
  Traffic                  Type      Memory   Switch        Memory actual   Usage    Max Usage
  Pool                               [%]      Priorities
  ----------------------------------------------------------------------------------------------
  lossy-default            lossy     auto     0, 1, 2, 4,   3.6M            0        0
                                              5, 6, 7
  roce-reserved            {kind}  auto     3             3.6M            0        0

Exception list:
{exceptions}"""


def roce(switch: Switch) -> Rendered:
    mode = switch.running.roce
    if mode is None:
        return "RoCE mode: N/A", None
    rows = qos.exceptions(switch)
    text = _ROCE_TEXT.format(
        mode=mode,
        lldp="enabled" if switch.running.lldp else "disabled",
        pfc="enabled" if mode == "lossless" and not switch.faults.get("pfc_off", port="") else "disabled",
        kind="lossy   " if mode == "lossy" else "lossless",
        exceptions="\n".join(rows) or "N/A",
    )
    return text, None


def lldp(switch: Switch, spec: Optional[str]) -> Rendered:
    """Keys of the JSON as real switches print them; a member of a port-channel has that behind its name."""
    data: List[Any] = []
    lines: List[str] = []
    for name in _ports(switch, spec):
        neighbor = switch.neighbor(name)
        if neighbor is None:
            continue
        lag = switch.running.ports[name].lag
        entry = {
            "port id subtype": "Interface Name (5)",
            "Remote chassis id": _mac(name),
            "Remote port-id": "eth0",
            "Remote port description": "Not Advertised",
            "Remote system name": neighbor,
            "Remote system description": "SIMULATED",
        }
        group = "Mpo" if switch.running.ports[name].mlag else "Po"
        data.append({"Eth{0} ({1}{2})".format(name, group, lag) if lag else "Eth" + name: [entry]})
        lines.append("Eth{0}".format(name))
        lines += ["  {0:<26}: {1}".format(key, value) for key, value in entry.items()]
    if not data:
        return NO_NEIGHBOR, {"Lines": ["", NO_NEIGHBOR, ""]}
    return "\n".join(lines), data


def configuration_files(switch: Switch) -> Rendered:
    names = ["initial (active)", "initial.bak", *sorted(switch.snapshots)]
    unsaved = "yes" if switch.unsaved else "no"
    return "\n".join([*names, "Active configuration: initial", "Unsaved changes : {0}".format(unsaved)]), None


def _interface_lines(name: str, port: Port) -> List[str]:
    prefix = "interface ethernet {0} ".format(name)
    lines = []
    if port.mtu != 1500 and not port.lag:
        lines.append(prefix + "mtu {0} force".format(port.mtu))
    if port.description:
        lines.append(
            prefix + ('description "{0}"' if " " in port.description else "description {0}").format(port.description)
        )
    if not port.admin:
        lines.append(prefix + "shutdown")
    if port.lag:
        lines.append(prefix + "{0}channel-group {1} mode active".format("mlag-" if port.mlag else "", port.lag))
    elif port.mode == "routed":
        lines.append(prefix + "no switchport force")
        for number, address in enumerate(port.addresses):
            lines.append(prefix + "ip address {0}{1}".format(address, "" if number else " primary"))
    else:
        if port.mode != "access":
            lines.append(prefix + "switchport mode {0}".format(port.mode))
        if port.mode != "trunk" and port.access_vlan != 1:
            lines.append(prefix + "switchport access vlan {0}".format(port.access_vlan))
        lines += [
            prefix + "switchport {0} allowed-vlan add {1}".format(port.mode, number) for number in port.allowed_vlans
        ]
    return lines + [prefix + line for line in qos.port_lines(port.qos)]


def _coalesced(config: Config) -> List[str]:
    """Neighbouring ports with the same setting in one line, as real switches write them; one setting after another."""
    groups: List[Tuple[str, str, List[str]]] = []  # setting, parent, ports
    for name in sorted(config.ports, key=port_key):
        parent = name.rpartition("/")[0]
        prefix = "interface ethernet {0} ".format(name)
        for line in _interface_lines(name, config.ports[name]):
            setting = line[len(prefix) :]
            for known, home, members in groups:
                if (known, home) == (setting, parent) and port_key(members[-1])[-1] + 1 == port_key(name)[-1]:
                    members.append(name)
                    break
            else:
                groups.append((setting, parent, [name]))
    return [
        "interface ethernet {0} {1}".format(
            members[0] if len(members) == 1 else "{0}-{1}".format(members[0], members[-1]), setting
        )
        for setting, _parent, members in groups
    ]


def running_config_interface(switch: Switch, spec: str) -> Rendered:
    lines = [line for name in _ports(switch, spec) for line in _interface_lines(name, switch.running.ports[name])]
    return "\n".join(lines), None


def running_config(switch: Switch) -> Rendered:
    return _configuration(switch.running, 'Running database "initial"'), None


def saved_config(switch: Switch) -> Rendered:
    # The title as in a public saved configuration of Onyx 3.9.2110.
    return _configuration(switch.saved, 'Active saved database "initial"'), None


def _configuration(config: Config, title: str) -> str:
    out = [
        "##",
        "## " + title,
        "## SIMULATED switch of the rocemesh lab",
        "## Hostname: {0}".format(config.hostname),
        "##",
        "",
        "##",
        "## Running-config temporary prefix mode setting",
        "##",
        "no cli default prefix-modes enable",
        "",
        "##",
        "## VLAN configuration",
        "##",
    ]
    for number, vlan_name in config.vlans.items():
        if number != 1:
            out.append("   vlan {0}".format(number))
            if vlan_name:
                out.append("   vlan {0} name {1}".format(number, vlan_name))
    out += ["", "##", "## Interface Ethernet configuration", "##"]
    out += ["   " + line for line in _coalesced(config)]
    if config.svis or config.routing:
        out += ["", "##", "## L3 configuration", "##", "   ip routing vrf default"]
        out += ["   interface vlan {0}".format(number) for number in config.svis]
    if config.qos:
        out += ["", "##", "## DCBX and QoS configuration", "##"]
        out += [line if line.startswith("no ") else "   " + line for line in qos.running_lines(config.qos)]
    if config.roce:
        # Nobody published the real line; synthetic.
        out += ["", "##", "## RoCE configuration (synthetic wording)", "##", "   roce {0}".format(config.roce)]
    out += ["", "##", "## Persistent prefix mode setting", "##", "cli default prefix-modes enable"]
    return "\n".join(out)


@functools.lru_cache(maxsize=64)  # what a client reads again is seldom another, and to indent takes long
def _indented(document: str) -> str:
    return json.dumps(json.loads(document), indent=4)


def render(rendered: Rendered, pipe: str) -> str:
    """Apply what stands behind ``|``."""
    text, data = rendered
    word, _blank, argument = pipe.partition(" ")
    if not word:
        return text
    if word == "json-print":
        # A command without a JSON form prints nothing useful on a real switch either; the wording is synthetic.
        return "% json-print is not supported here (synthetic wording)" if data is None else _indented(json.dumps(data))
    filters: Dict[str, Callable[[str], bool]] = {
        "include": lambda line: argument.strip('"') in line,
        "exclude": lambda line: argument.strip('"') not in line,
    }
    if word not in filters:
        raise CliError("% Unknown filter: {0} (synthetic wording)".format(word))
    return "\n".join(line for line in text.split("\n") if filters[word](line))
