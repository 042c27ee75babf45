"""Which commands read which part of an Onyx switch. Each table is read whole, each per-port answer by ranges of ports.

On a switch that takes 100 ms per line, the number of lines is the time; so nothing is asked port by port that can be
asked for all ports at once.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, Callable, Mapping, Sequence

from .._layer import ParseError
from .._switch.guards import Neighbor
from . import plan as planning
from . import state as parsing
from . import uses as using
from .state import Port, Roce, Switchport, Version, Vlan
from .transport import OnyxSession

_JSON = " | json-print"
# The counters of the result, from the names that the switch prints; what it prints besides stays in the info module.
_PFC_COUNTERS = {"rx_pause_packets": "rx_pfc_pause", "tx_pause_packets": "tx_pfc_pause"}
_ROCE_COUNTERS = {"rx_roce_pg_packets": "rx_roce_packets", "tx_roce_tc_packets": "tx_roce_packets"}


class Reader:
    """The read commands of one session. Every method raises `ParseError` on an answer that it does not know."""

    def __init__(self, host: str, cli: OnyxSession) -> None:
        self.host = host
        self._cli = cli

    def _json(self, command: str) -> str:
        return self._cli.show(command + _JSON)

    def version(self) -> Version:
        return parsing.parse_version(self.host, self._json("show version"))

    def files(self) -> tuple[bool, tuple[str, ...]]:
        """Whether changes are unsaved, and the names of the configuration files."""
        text = self._cli.show("show configuration files")
        return parsing.parse_unsaved(self.host, text), parsing.parse_files(self.host, text)

    def roce(self, version: Version) -> Roce:
        """A release that does not know the command has no RoCE mode."""
        if version.release < planning.ROCE_SINCE:
            return Roce()
        return parsing.parse_roce(self.host, self._cli.show("show roce"))

    def vlans(self) -> dict[int, Vlan]:
        return parsing.parse_vlans(self.host, self._json("show vlan"))

    def links(self) -> dict[str, Port]:
        """The ports with their links alone."""
        return parsing.parse_links(self.host, self._json("show interfaces ethernet"))

    def switchports(self) -> dict[str, Switchport]:
        return parsing.parse_switchport(self.host, self._json("show interfaces switchport"))

    def pfc(self) -> dict[str, tuple[str, str]]:
        return parsing.parse_pfc(self.host, self._json("show dcb priority-flow-control"))

    def congestion(self, names: Sequence[str]) -> tuple[dict[str, dict[int, str]], dict[str, int]]:
        """Per port: the mode of each traffic class; and the packets marked."""
        read = self._by_range(names, "show interfaces ethernet {0} congestion-control", parsing.parse_congestion)
        marked = {name: packets for name, (_modes, packets) in read.items() if packets is not None}
        return {name: modes for name, (modes, _packets) in read.items()}, marked

    def trust(self, names: Sequence[str]) -> dict[str, str]:
        return self._by_range(names, "show qos interface ethernet {0}", parsing.parse_trust)

    def neighbors(self) -> dict[str, tuple[Neighbor, ...]]:
        return parsing.parse_neighbors(self.host, self._json("show lldp interfaces ethernet remote"))

    def running(self) -> tuple[str, ...]:
        """The lines that run, ports one by one."""
        command = "show running-config"
        return parsing.parse_config(self.host, command, self._cli.show(command))

    def saved(self) -> tuple[str, ...]:
        """The lines that a reload would bring back."""
        command = "show configuration"
        return parsing.parse_config(self.host, command, self._cli.show(command))

    def counters(self, names: Sequence[str], priority: int) -> dict[str, dict[str, int]]:
        """PFC pauses of the RoCE priority and RoCE packets per port; a release that prints none of them gives none.

        Two lines for each range of ports, and never one per port: counters are information, not a reason to wait.
        """
        result: dict[str, dict[str, int]] = {name: {} for name in names}
        for suffix, wanted in ((f"pfc prio {priority}", _PFC_COUNTERS), ("roce", _ROCE_COUNTERS)):
            for spec, members in planning.runs(names):
                command = f"show interfaces ethernet {spec} counters {suffix}"
                with contextlib.suppress(ParseError):
                    read = parsing.parse_direction_counters(self.host, command, self._json(command))
                    for name in members:
                        for printed, key in wanted.items():
                            if printed in read.get(name, {}):
                                result[name][key] = read[name][printed]
        return result

    def ports(self, lines: Sequence[str], links: Mapping[str, Port] | None = None) -> dict[str, Port]:
        """Every port of the switch. ``lines``: the running configuration, which has what the tables do not show;
        ``links``: if they have just been read."""
        links = links or self.links()
        switchports = self.switchports()
        lags = parsing.parse_port_channels(self.host, self._json("show interfaces port-channel summary"))
        mentioned = using.references(lines)
        result = {}
        for name, port in links.items():
            lag = port.lag or lags.get(name) or using.group(lines, name)
            layer2 = switchports.get(name)
            config = () if layer2 else using.port_lines(lines, name)
            if lag:
                mode = "lag"
            elif layer2 is not None:
                mode = layer2.mode
            else:
                # Absence from the layer 2 table alone makes no routed port.
                mode = "routed" if any(" no switchport" in line for line in config) else "unknown"
            result[name] = dataclasses.replace(
                port,
                mode=mode,
                access_vlan=layer2.access_vlan if layer2 else None,
                allowed_vlans=layer2.allowed_vlans if layer2 else "",
                lag=lag,
                config=config,
                uses=(*using.port_uses(lines, name), *mentioned.get(name, ())),
            )
        return result

    def _by_range(
        self, names: Sequence[str], command: str, parse: Callable[[str, str], Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Read ports by ranges; whatever a range does not answer for is asked port by port."""
        result: dict[str, Any] = {}
        for spec, members in planning.runs(names):
            with contextlib.suppress(ParseError):
                result.update(parse(self.host, self._json(command.format(spec))))
            for name in members:
                if name not in result:
                    result.update(parse(self.host, self._json(command.format(name))))
        return result
