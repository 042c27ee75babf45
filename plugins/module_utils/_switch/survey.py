"""A switch that is only read, through commands over SSH: what ought to be, login, result."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Mapping

from .._layer import RefusedError
from . import ssh
from .commands import Commands, Show
from .judge import Need, dscp_of
from .observed import Observed, chosen, facts

MODES = ("lossless", "lossy", "absent")


def expected(host: str, params: Mapping[str, Any]) -> Need:
    mode, priority = params.get("mode"), params["priority"]
    if mode is not None and mode not in MODES:
        raise RefusedError(
            "not a RoCE mode of a switch that has none of its own",
            host=host,
            thing="mode",
            value=mode,
            remedy=f"choose one of {', '.join(MODES)}",
        )
    if not 0 <= priority <= 7:
        raise RefusedError(
            "a priority of 802.1p goes from 0 to 7", host=host, thing="priority", value=priority, remedy="use 3"
        )
    return Need(
        priority, dscp_of(priority), params.get("mtu"), params.get("port_mode"), params.get("vlan"), params.get("mode")
    )


def survey(params: Mapping[str, Any], read: Callable[[str, Show, int], Observed]) -> dict[str, Any]:
    """What a switch says. ``read``: (name of the switch, its commands, priority of RoCE) -> what it is."""
    host = params["hostname"]
    wanted = expected(host, params)
    with contextlib.closing(Commands(ssh.settings_from(params))) as session:
        seen = read(host, session, wanted.priority)
    return facts(seen, chosen(host, params["ports"], seen.ports), wanted)
