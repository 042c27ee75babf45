"""Further lines that the switch takes: quality of service by hand, port-channels and MLAG. Imported for its effect."""

from __future__ import annotations

from typing import Any, Dict, List

from . import qos
from .grammar import CONFIG, Arguments, Cli, _number, _on_interface, command, unrecognized
from .state import CliError, Port


def _one_of(word: str, choices: Any) -> str:
    if word not in choices:
        raise CliError(unrecognized(word))
    return word


def _class(text: str) -> str:
    if _number(text) > 7:
        raise CliError("% Class {0} is out of range 0-7 (synthetic wording)".format(text))
    return text


# --- the whole switch


def _global(pattern: str, key: str, text: str) -> None:
    """A line that sets or (``text`` empty) forgets a setting; both may name arguments of the pattern."""

    def handler(cli: Cli, args: Arguments) -> str:
        if "priority" in args:
            _class(args["priority"])
        settings = cli.switch.running.qos
        if text:
            settings[key.format(**args)] = text.format(**args)
        else:
            settings.pop(key.format(**args), None)
        return ""

    command((CONFIG,), pattern)(handler)


_global("dcb priority-flow-control enable", "pfc", "enable")
_global("dcb priority-flow-control enable force", "pfc", "enable")
_global("no dcb priority-flow-control enable", "pfc", "disable")
_global("no dcb priority-flow-control enable force", "pfc", "disable")
_global("dcb priority-flow-control priority <priority> enable", "pfc priority {priority}", "enable")
_global("no dcb priority-flow-control priority <priority> enable", "pfc priority {priority}", "disable")
_global("traffic pool <pool> type <type>", "pool {pool} type", "{type}")
_global("traffic pool <pool> memory percent <percent>", "pool {pool} memory", "percent {percent}")


@command((CONFIG,), "traffic pool <pool> map switch-priority <priority>")
def _map(cli: Cli, args: Arguments) -> str:
    settings = cli.switch.running.qos
    key = "pool {0} map".format(args["pool"])
    present = settings.get(key, "").split()
    settings[key] = " ".join(sorted({*present, _class(args["priority"])}))
    return ""


@command((CONFIG,), "no traffic pool <pool>")
def _no_pool(cli: Cli, args: Arguments) -> str:
    lead = "pool {0} ".format(args["pool"])
    qos_settings = cli.switch.running.qos
    for key in [key for key in qos_settings if key.startswith(lead)]:
        del qos_settings[key]
    return ""


# --- ports


def _set(cli: Cli, names: List[str], changes: Dict[str, str]) -> None:
    """Settings of ports; an empty text forgets one."""

    def change(name: str, port: Port) -> None:
        port.qos = {key: text for key, text in {**port.qos, **changes}.items() if text}

    cli.switch.on_ports(names, lambda name, port: None, change)


@_on_interface("qos trust <trust>")
def _trust(cli: Cli, names: List[str], args: Arguments) -> None:
    _set(cli, names, {"trust": _one_of(args["trust"], qos.TRUSTS)})


@_on_interface("no qos trust")
def _no_trust(cli: Cli, names: List[str], _arguments: Arguments) -> None:
    _set(cli, names, {"trust": ""})


def _pfc_mode(cli: Cli, names: List[str], args: Arguments) -> None:
    _set(cli, names, {"pfc": _one_of(args["mode"], qos.PFC_MODES)})


for _pattern in ("dcb priority-flow-control mode <mode> force", "dcb priority-flow-control mode <mode>"):
    _on_interface(_pattern)(_pfc_mode)


@_on_interface("no dcb priority-flow-control mode")
def _no_pfc_mode(cli: Cli, names: List[str], _arguments: Arguments) -> None:
    _set(cli, names, {"pfc": ""})


@_on_interface("traffic-class <class> congestion-control ecn minimum-absolute <min> maximum-absolute <max>")
def _ecn(cli: Cli, names: List[str], args: Arguments) -> None:
    _set(cli, names, {"ecn " + _class(args["class"]): "{0} {1}".format(_number(args["min"]), _number(args["max"]))})


@_on_interface("no traffic-class <class> congestion-control")
def _no_ecn(cli: Cli, names: List[str], args: Arguments) -> None:
    _set(cli, names, {"ecn " + _class(args["class"]): "off"})


@_on_interface("traffic-class <class> dcb ets strict")
def _strict(cli: Cli, names: List[str], args: Arguments) -> None:
    _set(cli, names, {"ets " + _class(args["class"]): "strict"})


def _join(cli: Cli, names: List[str], number: int, mlag: bool) -> None:
    def change(name: str, port: Port) -> None:
        port.lag, port.mlag = number, mlag

    cli.switch.on_ports(names, lambda name, port: None, change)


@_on_interface("channel-group <number> mode <mode>")
def _channel_group(cli: Cli, names: List[str], args: Arguments) -> None:
    _join(cli, names, _number(args["number"]), False)


@_on_interface("mlag-channel-group <number> mode <mode>")
def _mlag_channel_group(cli: Cli, names: List[str], args: Arguments) -> None:
    _join(cli, names, _number(args["number"]), True)


def _leave(cli: Cli, names: List[str], _arguments: Arguments) -> None:
    _join(cli, names, 0, False)


for _pattern in ("no channel-group", "no mlag-channel-group"):
    _on_interface(_pattern)(_leave)
