"""Faults that a test injects through the control port; each is a dictionary with a ``name``.

========================  ====================================================================================
name                      effect (further keys)
========================  ====================================================================================
``wizard``                the next logins meet the first-boot configuration wizard instead of a prompt
``standby``               the prompt says ``standby`` instead of ``master``
``prompt``                ``tag``: what stands in the brackets of the prompt (empty: no brackets); ``host``: its name
                          (may be empty)
``motd``                  ``text`` is printed after the login, before the first prompt
``chunks``                whatever is printed arrives in pieces of ``size`` bytes
``remark``                ``text`` is printed before the answer to a line that matches ``pattern``
``neighbor``              behind ``port`` is ``system``, for LLDP (empty: nobody says anything)
``counters``              ports have counted (``port``: only there): ``rx_discards``, ``tx_discards``,
                          ``tx_hoq_discards``, ``ecn_marked``, ``rx_pause``, ``tx_pause``, ``roce_packets``
``slow``                  ``command_delay``/``login_delay`` seconds instead of the command line's values
                          (``pattern``: only lines that match; a line is carried out after its delay, also if the
                          client has gone by then)
``silent``                ``phase``: ``banner`` (TCP accepts, SSH never speaks), ``prompt`` (login works, no prompt),
                          ``command`` (no answer to any command)
``cut_after``             the session is cut when line number ``lines`` arrives; ``scope``: ``config`` (default, lines
                          typed in configuration mode, without ``show``) or ``all``; ``executed``: whether that line
                          still took effect (default false). Fires once.
``password_expired``      after the login a new password is asked for
``foreign_line``          right after a line that matches ``pattern``, another admin's session types ``line``. Once.
``enable_password``       ``enable`` asks for a password
``confirm``               a line that matches ``pattern`` asks for a typed YES
``refuse_line``           a line that matches ``pattern`` is answered with an error
``ignore_line``           a line that matches ``pattern`` is accepted and does nothing
``refuse_force``          ``mtu N force`` is refused (``port``: only there)
``refuse_port``           a line that matches ``pattern`` is refused on ``port``, alone and in every range
``range_partial``         a range command changes members one by one until one refuses
``exception``             ``text`` stands in the exception list of ``show roce``
``pfc_off``               PFC never becomes operational (``port``: only there)
``link_down``             the cable of ``port`` is broken
``bad_json``              ``json-print`` prints text instead (``pattern``: only for those show commands)
``foreign_change``        at once: somebody else changes a description (``port``, default the last) and does not save
``reload``                at once: power cycle, the saved configuration becomes the running one
========================  ====================================================================================
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional

KNOWN = frozenset(
    {"wizard", "standby", "slow", "silent", "cut_after", "enable_password", "confirm", "refuse_line", "ignore_line"}
    | {"password_expired", "foreign_line", "refuse_port", "prompt", "motd", "chunks", "remark", "neighbor", "counters"}
    | {"refuse_force", "range_partial", "exception", "pfc_off", "link_down", "bad_json", "foreign_change", "reload"}
)
IMMEDIATE = frozenset({"foreign_change", "reload"})
NEEDS = {
    "refuse_port": "port",
    "motd": "text",
    "chunks": "size",
    "remark": "text",
    "neighbor": "system",
    "cut_after": "lines",
    "confirm": "pattern",
    "refuse_line": "pattern",
    "ignore_line": "pattern",
    "exception": "text",
    "link_down": "port",
    "foreign_line": "line",
}


class Faults:
    """The faults that are active, newest last."""

    def __init__(self) -> None:
        self._active: List[Dict[str, Any]] = []

    def clear(self) -> None:
        self._active = []

    def inject(self, fault: Dict[str, Any]) -> None:
        name = fault.get("name")
        if name not in KNOWN:
            raise ValueError("unknown fault {0!r}; known: {1}".format(name, ", ".join(sorted(KNOWN))))
        if name in NEEDS and NEEDS[name] not in fault:
            raise ValueError("fault {0!r} needs {1!r}".format(name, NEEDS[name]))
        try:
            re.compile(fault.get("pattern", ""))
        except re.error as error:
            raise ValueError("fault {0!r}: no regular expression: {1}".format(name, error)) from None
        if name == "chunks" and int(fault["size"]) < 1:
            raise ValueError("fault 'chunks': size is at least 1")
        if name not in IMMEDIATE:
            self._active.append(dict(fault))

    def get(self, name: str, port: Optional[str] = None, line: Optional[str] = None) -> Optional[Dict[str, Any]]:
        """The active fault of this name that concerns this port and this line, if any."""
        return next((fault for fault in reversed(self._active) if _concerns(fault, name, port, line)), None)

    def all(self, name: str) -> List[Dict[str, Any]]:
        return [fault for fault in self._active if fault["name"] == name]

    def spend(self, fault: Dict[str, Any]) -> None:
        self._active = [other for other in self._active if other is not fault]

    def as_json(self) -> List[Dict[str, Any]]:
        return [dict(fault) for fault in self._active]


def _concerns(fault: Dict[str, Any], name: str, port: Optional[str], line: Optional[str]) -> bool:
    if fault["name"] != name or (port is not None and fault.get("port", port) != port):
        return False
    return line is None or re.search(fault.get("pattern", ""), line) is not None
