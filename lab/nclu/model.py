# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SIMULATED switch: what is configured, what is staged, and the ``net`` commands.

Faults (``POST /fault`` of the control port), each a dictionary with a ``name``: ``cut_after`` (the connection is cut at
command number ``commands``, counted from the injection; ``executed``: whether it still took effect; once), ``refuse``
(commands that match ``pattern`` fail), ``ignore`` (staged lines that match ``pattern`` are committed and do nothing),
``silent`` (no answer), ``link_down`` (``port``), ``stuck_links``, ``foreign_pending`` (at once: somebody else stages a
change), ``foreign_meanwhile`` (somebody else does so with the next staged line; once), ``netshow`` (the user may only
look).
"""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

NEEDS = {"cut_after": "commands", "refuse": "pattern", "ignore": "pattern", "link_down": "port"}
KNOWN = frozenset(NEEDS) | {"silent", "stuck_links", "foreign_pending", "foreign_meanwhile", "netshow"}


class Cut(Exception):
    """The connection ends without a word."""


def expand(selector: str) -> list[str]:
    names: list[str] = []
    prefix = ""
    for part in selector.split(","):
        found = re.fullmatch(r"(.*?)(\d+)(?:-(\d+))?", part)
        if not found:
            names.append(part)
            continue
        prefix = found[1] or prefix
        names += [f"{prefix}{number}" for number in range(int(found[2]), int(found[3] or found[2]) + 1)]
    return names


def factory() -> dict[str, Any]:
    return {
        "roce": None,
        "vids": ["100", "200"],
        "bridge_ports": ["swp31", "swp27"],
        "svis": [],
        "bonds": {"bond1": ["swp29", "swp30"]},
        "ports": {
            **{f"swp{number}": {"mtu": "1500"} for number in range(1, 5)},
            "swp31": {"bridge vids": "100,200", "bridge pvid": "1"},
            "swp28": {"ip address": "192.0.2.1/31"},
        },
    }


class Switch:
    def __init__(self, release: str = "4.3.0", ports: int = 32, clock: Callable[[], float] = time.monotonic) -> None:
        self.release = release
        self.number_of_ports = ports
        self.clock = clock
        self.reset()

    def reset(self) -> None:
        self.config = factory()
        self.staged = copy.deepcopy(self.config)
        self.pending: list[tuple[str, str]] = []
        self.history: list[dict[str, Any]] = []
        self.faults: list[dict[str, Any]] = []
        self.commands: list[str] = []
        self.down: set[str] = set()

    # --- faults

    def fault(self, name: str) -> dict[str, Any] | None:
        return next((fault for fault in self.faults[::-1] if fault["name"] == name), None)

    def inject(self, fault: Any) -> None:
        name = fault.get("name") if isinstance(fault, dict) else None
        if name not in KNOWN:
            raise ValueError(f"unknown fault {name!r}; known: {', '.join(sorted(KNOWN))}")
        if name in NEEDS and NEEDS[name] not in fault:
            raise ValueError(f"fault {name!r} needs {NEEDS[name]!r}")
        re.compile(fault.get("pattern", ""))
        if name == "foreign_pending":
            self._somebody()
        else:
            self.faults.append({**fault, "seen": 0})

    def _somebody(self) -> None:
        self.pending.append(("ana", "net add interface swp20 alias uplink"))
        self.staged["ports"].setdefault("swp20", {})["alias"] = "uplink"

    def as_json(self) -> dict[str, Any]:
        return {
            "simulated": True,
            "config": self.config,
            "pending": [list(row) for row in self.pending],
            "commands": list(self.commands),
            "faults": self.faults,
        }

    # --- commands

    def execute(self, words: Sequence[str], user: str = "cumulus") -> tuple[int, str]:
        """(exit status, output) of one command line."""
        line = " ".join(words)
        self.commands.append(line)
        cut = self.fault("cut_after")
        if cut:
            cut["seen"] += 1
            if cut["seen"] >= int(cut["commands"]):
                self.faults.remove(cut)
                if cut.get("executed"):
                    self._answer(list(words), line, user)
                raise Cut
        return self._answer(list(words), line, user)

    def _answer(self, words: list[str], line: str, user: str) -> tuple[int, str]:
        refuse = self.fault("refuse")
        if refuse and re.search(refuse["pattern"], line):
            return 1, "ERROR: refused by a test (synthetic wording)\n"
        if words == ["cat", "/etc/lsb-release"]:
            text = f'DISTRIB_ID="Cumulus Linux"\nDISTRIB_RELEASE={self.release}\n'
            return 0, text + f'DISTRIB_DESCRIPTION="Cumulus Linux {self.release}"\n'
        if words[:1] != ["net"] or len(words) < 2:
            return 127, f"{words[0]}: command not found\n"
        if words[1] not in ("show", "pending") and self.fault("netshow"):
            return 1, f"ERROR: User {user} does not have permission to make networking changes.\n"
        verbs: dict[str, Callable[[], tuple[int, str]]] = {
            "show": lambda: self._show(words[2:]),
            "pending": lambda: (0, self._pending()),
            "abort": self._abort,
            "commit": self._commit,
            "rollback": self._roll_back,
            "add": lambda: self._change("add", words[2:], line, user),
            "del": lambda: self._change("del", words[2:], line, user),
        }
        if words[1] not in verbs:
            return 1, f"ERROR: Command not found.\n\n    {line}\n"
        return verbs[words[1]]()

    def _abort(self) -> tuple[int, str]:
        self.staged, self.pending = copy.deepcopy(self.config), []
        return 0, ""

    def _roll_back(self) -> tuple[int, str]:
        """``net rollback last``."""
        if not self.history:
            return 1, "ERROR: there is nothing to roll back to (synthetic wording)\n"
        self.config = self.history.pop()
        return self._abort()

    def _change(self, verb: str, words: list[str], line: str, user: str) -> tuple[int, str]:
        ignore = self.fault("ignore")
        if not (ignore and re.search(ignore["pattern"], line)) and not self._stage(verb, words):
            return 1, f"ERROR: Command not found.\n\n    {line}\n"
        self.pending.append((user, line))
        meanwhile = self.fault("foreign_meanwhile")
        if meanwhile:
            self.faults.remove(meanwhile)
            self._somebody()
        return 0, ""

    def _stage(self, verb: str, words: list[str]) -> bool:
        staged = self.staged
        if words[0] == "roce":
            staged["roce"] = words[1] if verb == "add" else None
            return verb == "del" or words[1] in ("lossless", "lossy")
        if words[:2] == ["bridge", "bridge"] and words[2] in ("vids", "ports"):
            key = "vids" if words[2] == "vids" else "bridge_ports"
            names = expand(words[3])
            kept = [name for name in staged[key] if name not in names]
            staged[key] = kept + names if verb == "add" else kept
            return True
        if words[0] == "vlan" and words[1].isdigit():
            kept = [number for number in staged["svis"] if number != words[1]]
            staged["svis"] = [*kept, words[1]] if verb == "add" else kept
            return True
        if words[0] == "interface" and len(words) > 2:
            return all(self._stage_port(verb, name, words[2:]) for name in expand(words[1]))
        return False

    def _stage_port(self, verb: str, name: str, words: list[str]) -> bool:
        if name not in self.port_names():
            return False
        port = self.staged["ports"].setdefault(name, {})
        key = next(
            (
                key
                for key in ("bridge access", "bridge vids", "bridge pvid", "ip address", "mtu")
                if " ".join(words).startswith(key)
            ),
            None,
        )
        if key is None:
            return False
        value = " ".join(words)[len(key) :].strip()
        if verb == "del":
            port.pop(key, None)
        elif key == "mtu" and not (value.isdigit() and 552 <= int(value) <= 9216):
            return False
        else:
            port[key] = value
        return True

    def _commit(self) -> tuple[int, str]:
        if not self.pending:
            return 0, "There are no pending changes to commit.\n"
        text = self._pending()
        roce = [line for _user, line in self.pending if " roce" in line]
        if roce and len(self.pending) > 1:
            return 1, "ERROR: RoCE has to be committed alone (synthetic wording)\n"
        for name, port in self.staged["ports"].items():
            if "bridge access" in port and port["bridge access"] not in self.staged["vids"]:
                return 1, f"ERROR: {name}: VLAN {port['bridge access']} is not in the bridge (synthetic wording)\n"
        self.history.append(self.config)
        self.config = copy.deepcopy(self.staged)
        if self.fault("stuck_links"):
            self.down |= {word for _user, line in self.pending for word in expand(line.split()[3]) if "swp" in word}
        self.pending = []
        return 0, text

    def _pending(self) -> str:
        if not self.pending:
            return ""
        rows = [f"{user:<7}  2026-01-02 03:04:05.000000  {line}" for user, line in self.pending]
        head = ['net add/del commands since the last "net commit"', "=" * 48, ""]
        return "\n".join(
            [
                "--- SIMULATED",
                "+++ SIMULATED",
                *head,
                "User     Timestamp                   Command",
                "-------  --------------------------  -------",
                *rows,
                "",
            ]
        )

    # --- show

    def port_names(self) -> list[str]:
        names = [f"swp{number}" for number in range(1, self.number_of_ports)]
        return names + [f"swp{self.number_of_ports}s{lane}" for lane in range(4)]

    def _show(self, words: list[str]) -> tuple[int, str]:
        if words == ["configuration", "commands"]:
            return 0, self._configuration()
        if words == ["interface", "all", "json"]:
            return 0, json.dumps({name: self._interface(name) for name in ["eth0", *self.port_names()]}) + "\n"
        return 1, "ERROR: Command not found.\n"

    def _configuration(self) -> str:
        config = self.config
        lines = ["net del all", "net add interface eth0 ip address dhcp"]
        if config["roce"]:
            lines.append(f"net add roce {config['roce']}")
        if config["bridge_ports"]:
            lines.append(f"net add bridge bridge ports {','.join(config['bridge_ports'])}")
        lines += [f"net add bridge bridge vids {','.join(config['vids'])}", "net add bridge bridge vlan-aware"]
        lines += [f"net add bond {name} bond slaves {','.join(ports)}" for name, ports in config["bonds"].items()]
        lines += [f"net add vlan {number} vlan-id {number}" for number in config["svis"]]
        grouped: dict[str, list[str]] = {}
        for name, port in config["ports"].items():
            for key, value in port.items():
                grouped.setdefault(f"{key} {value}", []).append(name)
        lines += [f"net add interface {','.join(names)} {rest}" for rest, names in grouped.items()]
        return "\n".join(lines) + "\n"

    def _interface(self, name: str) -> dict[str, Any]:
        port = self.config["ports"].get(name, {})
        stem = int((re.findall(r"\d+", name) or ["0"])[0])
        broken = {fault["port"] for fault in self.faults if fault["name"] == "link_down"} | self.down
        up = name == "eth0" or ((stem <= 8 or stem > 26) and name not in broken)
        access = port.get("bridge access")
        vlans = [{"vlan": int(access), "flags": ["PVID", "Egress Untagged"]}] if access else None
        neighbor = [{"adj_hostname": f"gpu{stem:02}", "adj_port": "eth1", "adj_ttl": "120"}] if stem <= 8 else None
        return {
            "iface_obj": {
                "lldp": neighbor if up and name != "eth0" else None,
                "native_vlan": int(access) if access else None,
                "vlan": vlans,
                "mtu": 1500 if name == "eth0" else int(port.get("mtu", 9216)),
                "description": "",
                "members": {},
                "counters": {"RX_ERR": 0, "TX_ERR": 0, "TX_OK": 322, "RX_OK": 2318, "TX_DRP": 0, "RX_DRP": 0},
                "ip_address": {"allentries": [port["ip address"]] if "ip address" in port else []},
            },
            "linkstate": "UP" if up else "DN",
            "summary": "",
            "mode": "Access/L2" if access else "NotConfigured",
            "speed": "100G",
        }
