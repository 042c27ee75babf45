"""The command grammar: which words are understood in which mode, and what they do.

A command is a pattern of words. Keywords may be abbreviated as long as one pattern fits best; ``<name>`` takes one
word, ``<name...>`` takes the rest of the line, quotes removed.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import shlex
from typing import Callable, Dict, List, Optional, Sequence, Tuple, Union

from . import show
from .state import ROCE_MODES, CliError, Switch

USER, ENABLE, CONFIG = "user", "enable", "config"
ANYWHERE = (USER, ENABLE, CONFIG)
PRIVILEGED = (ENABLE, CONFIG)

Arguments = Dict[str, str]


@dataclasses.dataclass
class Cli:
    """Where one session stands: its mode, the sub-mode's command prefix, and the terminal's paging."""

    switch: Switch
    mode: str = USER
    context: str = ""  # "interface ethernet 1/1-1/4", "vlan 111"...: lines are completed with it
    paging: bool = True
    closed: bool = False

    def prompt(self) -> str:
        faults = self.switch.faults
        tag = "standalone: {0}".format("standby" if faults.get("standby") else "master")
        host = self.switch.running.hostname
        odd = faults.get("prompt")
        if odd:
            tag, host = str(odd.get("tag", tag)), str(odd.get("host", host))
        sign = ">" if self.mode == USER else "#"
        middle = ""
        if self.mode == CONFIG:
            middle = "(config {0}) ".format(self.context) if self.context else "(config) "
        lead = " ".join(filter(None, (host, "[{0}]".format(tag) if tag else "")))
        return "{0} {1}{2} ".format(lead, middle, sign)


# A configuration command prints text (mostly none); a show command hands over text and object, for the pipe.
Handler = Callable[[Cli, Arguments], Union[str, show.Rendered]]


@dataclasses.dataclass(frozen=True)
class Command:
    modes: Tuple[str, ...]
    words: Tuple[str, ...]
    handler: Handler


_COMMANDS: List[Command] = []


def command(modes: Sequence[str], pattern: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        _COMMANDS.append(Command(tuple(modes), tuple(pattern.split()), handler))
        return handler

    return register


def unrecognized(word: str) -> str:
    return '% Unrecognized command "{0}".\nType "?" for help.'.format(word)


def _fit(candidate: Command, words: Sequence[str]) -> Optional[Tuple[int, Arguments]]:
    """How well the words fit (number of fully spelled keywords) and the arguments; None: not at all."""
    exact, arguments, at = 0, {}, 0
    for expected in candidate.words:
        if at >= len(words):
            return None
        if expected.endswith("...>"):
            arguments[expected[1:-4]] = " ".join(words[at:])
            at = len(words)
        elif expected.startswith("<"):
            arguments[expected[1:-1]] = words[at]
            at += 1
        elif expected.startswith(words[at]):
            exact += expected == words[at]
            at += 1
        else:
            return None
    return (exact, arguments) if at == len(words) else None


@functools.lru_cache(maxsize=4096)  # the lines of one client are much the same
def _lookup(mode: str, words: Tuple[str, ...]) -> Optional[Tuple[Command, Arguments]]:
    fits = []
    for candidate in _COMMANDS:
        fit = _fit(candidate, words) if mode in candidate.modes else None
        if fit is not None:
            fits.append((fit[0], candidate, fit[1]))
    if not fits:
        return None
    best = max(fits, key=lambda fit: fit[0])
    return best[1], best[2]


def execute(cli: Cli, line: str) -> str:
    """Carry out one line; returns what the switch prints (without a final line break)."""
    fault = cli.switch.faults.get("refuse_line", line=line)
    if fault:
        return "% {0}".format(fault.get("message", "The command was refused by an injected fault"))
    foreign = cli.switch.faults.get("foreign_line", line=line)
    if foreign:
        cli.switch.faults.spend(foreign)
        said = _carry_out(cli, line)
        execute(Cli(cli.switch, mode=CONFIG), str(foreign["line"]))
        return said
    remark = cli.switch.faults.get("remark", line=line)
    if remark:
        return "\n".join(filter(None, (str(remark["text"]), _carry_out(cli, line))))
    return _carry_out(cli, line)


def _carry_out(cli: Cli, line: str) -> str:
    cli.switch.current_line = line
    if cli.switch.faults.get("ignore_line", line=line):
        return ""
    body, _bar, pipe = (part.strip() for part in line.partition("|"))
    try:
        return _run(cli, shlex.split(body), pipe, line) if body else ""
    except ValueError:
        return "% Unbalanced quotes (synthetic wording)"
    except CliError as error:
        return str(error)


def _run(cli: Cli, words: List[str], pipe: str, line: str) -> str:
    found = _in_context(cli, words) or _lookup(cli.mode, tuple(words))
    if found is None:
        raise CliError(unrecognized(words[0]))
    output = found[0].handler(cli, found[1])
    if isinstance(output, str):
        return unrecognized("|") if pipe else output
    if pipe == "json-print" and cli.switch.faults.get("bad_json", line=line):
        pipe = ""
    return show.render(output, pipe)


def _in_context(cli: Cli, words: List[str]) -> Optional[Tuple[Command, Arguments]]:
    """In a sub-mode a line is first read as the rest of the command that opened it."""
    if not cli.context:
        return None
    lead = cli.context.split()
    return _lookup(cli.mode, (*lead, *words)) or (
        _lookup(cli.mode, ("no", *lead, *words[1:])) if words[0] == "no" else None
    )


# --- modes


@command(ANYWHERE, "enable")
def _enable(cli: Cli, _arguments: Arguments) -> str:
    if cli.mode == USER:
        cli.mode = ENABLE
    return ""


@command((ENABLE,), "disable")
def _disable(cli: Cli, _arguments: Arguments) -> str:
    cli.mode = USER
    return ""


@command(PRIVILEGED, "configure terminal")
def _configure(cli: Cli, _arguments: Arguments) -> str:
    cli.mode, cli.context = CONFIG, ""
    return ""


@command((CONFIG,), "no configure")
def _no_configure(cli: Cli, _arguments: Arguments) -> str:
    cli.mode, cli.context = ENABLE, ""
    return ""


@command(ANYWHERE, "exit")
def _exit(cli: Cli, _arguments: Arguments) -> str:
    if cli.context:
        cli.context = ""
    elif cli.mode == CONFIG:
        cli.mode = ENABLE
    else:
        cli.closed = True
    return ""


@command(ANYWHERE, "no cli session paging enable")
def _paging_off(cli: Cli, _arguments: Arguments) -> str:
    cli.paging = False
    return ""


@command(ANYWHERE, "cli session paging enable")
def _paging_on(cli: Cli, _arguments: Arguments) -> str:
    cli.paging = True
    return ""


@command(ANYWHERE, "terminal length <rows>")
def _terminal_length(cli: Cli, args: Arguments) -> str:
    if not args["rows"].isdigit() or not 5 <= int(args["rows"]) <= 999:
        raise CliError("% Please enter an integer between 5 and 999.")
    return ""


@command(ANYWHERE, "terminal type <type>")
def _terminal_type(cli: Cli, _arguments: Arguments) -> str:
    return ""


@command((CONFIG,), "configuration write")
@command(PRIVILEGED, "write memory")
def _write(cli: Cli, _arguments: Arguments) -> str:
    cli.switch.write()
    return ""


@command((CONFIG,), "configuration write to <name> no-switch")
def _snapshot(cli: Cli, args: Arguments) -> str:
    cli.switch.snapshot(args["name"])
    return ""


@command((CONFIG,), "configuration delete <name>")
def _delete_snapshot(cli: Cli, args: Arguments) -> str:
    cli.switch.delete_snapshot(args["name"])
    return ""


# --- configuration


def _number(text: str) -> int:
    if not text.isdigit():
        raise CliError("% Invalid number: {0} (synthetic wording)".format(text))
    return int(text)


def _vlan_list(text: str) -> List[int]:
    vlans: List[int] = []
    for part in re.split(r"[,\s]+", text.strip()):
        low, _hyphen, high = part.partition("-")
        vlans += range(_number(low), _number(high or low) + 1)
    return vlans


@command((CONFIG,), "vlan <vlan>")
def _vlan(cli: Cli, args: Arguments) -> str:
    cli.switch.add_vlan(_number(args["vlan"]))
    cli.context = "vlan {0}".format(args["vlan"])
    return ""


@command((CONFIG,), "vlan <vlan> name <name...>")
def _vlan_name(cli: Cli, args: Arguments) -> str:
    number = _number(args["vlan"])
    cli.switch.add_vlan(number)
    cli.switch.running.vlans[number] = args["name"]
    return ""


@command((CONFIG,), "no vlan <vlan> name")
@command((CONFIG,), "vlan <vlan> no name")
def _vlan_no_name(cli: Cli, args: Arguments) -> str:
    number = _number(args["vlan"])
    if number not in cli.switch.running.vlans:
        raise CliError("% VLAN {0} does not exist (synthetic wording)".format(number))
    cli.switch.running.vlans[number] = ""
    return ""


@command((CONFIG,), "no vlan <vlan>")
def _no_vlan(cli: Cli, args: Arguments) -> str:
    cli.switch.remove_vlan(_number(args["vlan"]))
    return ""


@command((CONFIG,), "interface vlan <vlan>")
def _svi(cli: Cli, args: Arguments) -> str:
    cli.switch.set_svi(_number(args["vlan"]), True)
    cli.context = "interface vlan {0}".format(args["vlan"])
    return ""


@command((CONFIG,), "no interface vlan <vlan>")
def _no_svi(cli: Cli, args: Arguments) -> str:
    cli.switch.set_svi(_number(args["vlan"]), False)
    return ""


@command((CONFIG,), "roce")
def _roce(cli: Cli, _arguments: Arguments) -> str:
    cli.switch.set_roce("lossless")
    return ""


@command((CONFIG,), "roce <mode>")
def _roce_mode(cli: Cli, args: Arguments) -> str:
    if args["mode"] not in ROCE_MODES:
        raise CliError(unrecognized(args["mode"]))
    cli.switch.set_roce(args["mode"])
    return ""


@command((CONFIG,), "no roce")
def _no_roce(cli: Cli, _arguments: Arguments) -> str:
    cli.switch.set_roce(None)
    return ""


@command((CONFIG,), "lldp")
def _lldp(cli: Cli, _arguments: Arguments) -> str:
    cli.switch.running.lldp = True
    return ""


@command((CONFIG,), "no lldp")
def _no_lldp(cli: Cli, _arguments: Arguments) -> str:
    cli.switch.running.lldp = False
    return ""


@command((CONFIG,), "ip routing vrf default")
def _routing(cli: Cli, _arguments: Arguments) -> str:
    cli.switch.running.routing = True
    return ""


@command((CONFIG,), "no ip routing vrf default")
def _no_routing(cli: Cli, _arguments: Arguments) -> str:
    cli.switch.running.routing = False
    return ""


@command((CONFIG,), "hostname <name>")
def _hostname(cli: Cli, args: Arguments) -> str:
    cli.switch.running.hostname = args["name"]
    return ""


@command((CONFIG,), "interface ethernet <ports>")
def _interface(cli: Cli, args: Arguments) -> str:
    cli.switch.expand(args["ports"])
    cli.context = "interface ethernet {0}".format(args["ports"])
    return ""


def _on_interface(pattern: str) -> Callable[[Callable[[Cli, List[str], Arguments], None]], Handler]:
    """Register ``interface ethernet <ports> PATTERN``; the handler gets the expanded port names."""

    def register(change: Callable[[Cli, List[str], Arguments], None]) -> Handler:
        def handler(cli: Cli, args: Arguments) -> str:
            change(cli, cli.switch.expand(args["ports"]), args)
            return ""

        if pattern.startswith("no "):
            command((CONFIG,), "no interface ethernet <ports> " + pattern[3:])(handler)
        return command((CONFIG,), "interface ethernet <ports> " + pattern)(handler)

    return register


@_on_interface("shutdown")
def _shutdown(cli: Cli, names: List[str], _arguments: Arguments) -> None:
    cli.switch.set_admin(names, False)


@_on_interface("no shutdown")
def _no_shutdown(cli: Cli, names: List[str], _arguments: Arguments) -> None:
    cli.switch.set_admin(names, True)


@_on_interface("mtu <mtu>")
def _mtu(cli: Cli, names: List[str], args: Arguments) -> None:
    cli.switch.set_mtu(names, _number(args["mtu"]), force=False)


@_on_interface("mtu <mtu> force")
def _mtu_force(cli: Cli, names: List[str], args: Arguments) -> None:
    cli.switch.set_mtu(names, _number(args["mtu"]), force=True)


@_on_interface("switchport mode <mode>")
def _mode(cli: Cli, names: List[str], args: Arguments) -> None:
    if args["mode"] not in ("access", "trunk", "hybrid"):
        raise CliError(unrecognized(args["mode"]))
    cli.switch.set_mode(names, args["mode"])


@_on_interface("switchport access vlan <vlan>")
def _access_vlan(cli: Cli, names: List[str], args: Arguments) -> None:
    cli.switch.set_access_vlan(names, _number(args["vlan"]))


@_on_interface("no switchport access vlan")
def _no_access_vlan(cli: Cli, names: List[str], _arguments: Arguments) -> None:
    cli.switch.set_access_vlan(names, 1)


@_on_interface("switchport <mode> allowed-vlan add <vlans...>")
def _allowed_add(cli: Cli, names: List[str], args: Arguments) -> None:
    cli.switch.set_allowed_vlans(names, args["mode"], _vlan_list(args["vlans"]), add=True)


@_on_interface("switchport <mode> allowed-vlan <vlans...>")
def _allowed(cli: Cli, names: List[str], args: Arguments) -> None:
    vlans = [] if args["vlans"] == "none" else _vlan_list(args["vlans"])
    cli.switch.set_allowed_vlans(names, args["mode"], vlans, add=False)


@_on_interface("no switchport force")
def _routed(cli: Cli, names: List[str], _arguments: Arguments) -> None:
    cli.switch.set_routed(names, True)


@_on_interface("switchport force")
def _switched(cli: Cli, names: List[str], _arguments: Arguments) -> None:
    cli.switch.set_routed(names, False)


@_on_interface("ip address <address>")
def _address(cli: Cli, names: List[str], args: Arguments) -> None:
    cli.switch.set_address(names, args["address"])


@_on_interface("ip address <address> primary")
def _address_primary(cli: Cli, names: List[str], args: Arguments) -> None:
    cli.switch.set_address(names, args["address"])


@_on_interface("no ip address")
def _no_address(cli: Cli, names: List[str], _arguments: Arguments) -> None:
    cli.switch.set_address(names, None)


@_on_interface("description <text...>")
def _description(cli: Cli, names: List[str], args: Arguments) -> None:
    cli.switch.set_description(names, args["text"])


@_on_interface("no description")
def _no_description(cli: Cli, names: List[str], _arguments: Arguments) -> None:
    cli.switch.set_description(names, "")


# --- show


def _show(pattern: str, function: Callable[..., show.Rendered], modes: Sequence[str] = PRIVILEGED) -> None:
    """Register ``show PATTERN``; the arguments of the pattern go to the function in order."""

    def handler(cli: Cli, args: Arguments) -> show.Rendered:
        return function(cli.switch, *args.values())

    command(modes, "show " + pattern)(handler)


_show("version", show.version, ANYWHERE)
_show("hosts", show.hosts, ANYWHERE)
_show("roce", show.roce, ANYWHERE)
_show("vlan", show.vlan, ANYWHERE)
_show("interfaces switchport", show.switchport, ANYWHERE)
_show("interfaces status", show.interface_status, ANYWHERE)
_show("interfaces ethernet", lambda switch: show.ethernet(switch, None), ANYWHERE)
_show("interfaces ethernet <ports>", show.ethernet, ANYWHERE)
_show("interfaces ethernet <ports> congestion-control", show.congestion_control, ANYWHERE)
_show("interfaces ethernet <ports> counters roce", show.roce_counters, ANYWHERE)
_show("interfaces port-channel summary", show.port_channel_summary, ANYWHERE)
_show("interfaces mlag-port-channel", show.mlag_port_channel, ANYWHERE)
_show("interfaces mlag-port-channel summary", show.mlag_port_channel, ANYWHERE)
_show("protocols", show.protocols, ANYWHERE)
_show("inventory", show.inventory, ANYWHERE)
_show("lldp local", show.lldp_local, ANYWHERE)
_show("dcb priority-flow-control", show.priority_flow_control, ANYWHERE)
_show("qos", lambda switch: show.qos_interface(switch, None), ANYWHERE)
_show("qos interface ethernet <ports>", show.qos_interface, ANYWHERE)
_show("interfaces ethernet <ports> counters pfc prio <priority>", show.pfc_counters, ANYWHERE)
_show("lldp interfaces ethernet remote", lambda switch: show.lldp(switch, None), ANYWHERE)
_show("lldp interfaces ethernet <ports> remote", show.lldp, ANYWHERE)
_show("configuration files", show.configuration_files)
_show("running-config", show.running_config)
_show("running-config interface ethernet <ports>", show.running_config_interface)
_show("configuration", show.saved_config)

from . import lines as _lines  # noqa: E402, F401 - it registers further lines, with what stands above
