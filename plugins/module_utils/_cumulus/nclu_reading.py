# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read from a switch with Cumulus Linux 4.3 or 4.4, and how: NCLU's answers in the shape of NVUE's.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Iterable, Mapping, Sequence

from .._layer import ApplyError, CredentialError, ParseError, RefusedError, UnreachableError
from . import state as parsing
from . import tree as trees
from .ssh import Shell
from .state import State

_RELEASES = ((4, 3), (4, 4))
_SHOW_INTERFACES = ("net", "show", "interface", "all", "json")
_SHOW_CONFIG = ("net", "show", "configuration", "commands")
# Settings of a port that an access port cannot have, as NCLU lists them.
LOST = re.compile(r"(bridge (?:vids|pvid|allow-untagged)|ip |ipv6 |vrf|pim|ospf|evpn)")
_PENDING_ROW = re.compile(r"(?m)^(\S+)\s+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S*\s+(net (?:add|del) .*?)\s*$")


class NcluReader:
    """Commands and readings in one session, which ``connect`` opens when it is needed. ``domain``: the bridge."""

    def __init__(self, host: str, connect: Callable[[], Shell], domain: str) -> None:
        self._host = host
        self._connect = connect
        self._domain = domain
        self._shell: Shell | None = None

    def close(self) -> None:
        if self._shell is not None:
            self._shell.close()
            self._shell = None

    def run(self, *command: str, timeout: float | None = None) -> str:
        """The output; raises `ApplyError` with it if the command failed."""
        if self._shell is None:
            self._shell = self._connect()
        try:
            status, text = self._shell.run(command, timeout)
        except UnreachableError:
            self.close()  # whoever asks again gets a new session
            raise
        if status or re.match(r"\s*ERROR", text):
            line = " ".join(command)
            if "not in the netedit" in text or "permission" in text.lower():
                raise CredentialError(
                    f"the user may not run {line!r}: {text.strip()[:200]}",
                    host=self._host,
                    remedy="use a member of the group netedit (netshow is enough for check mode)",
                )
            raise ApplyError(
                f"the switch refused it (exit status {status}): {text.strip()[:500]}",
                host=self._host,
                thing="command",
                value=line,
                remedy="see the switch's own text",
                device_message=text.strip()[:500],
            )
        return text

    def state(self) -> State:
        return parse_state(
            self._host,
            self._domain,
            release=self.run("cat", "/etc/lsb-release"),
            commands=self.run(*_SHOW_CONFIG),
            interfaces=self.run(*_SHOW_INTERFACES),
        )

    def interfaces(self) -> trees.Tree:
        return parse_interfaces(self._host, self.run(*_SHOW_INTERFACES))

    def pending(self) -> list[tuple[str, str]]:
        """(user, command) of everything staged, whoever did it."""
        return parse_pending(self._host, self.run("net", "pending"))


def parse_release(host: str, text: str) -> str:
    """/etc/lsb-release. Raises `RefusedError` for a release that is not configured this way."""
    found = re.search(r'(?m)^DISTRIB_RELEASE="?([\d.]+)', text)
    if "Cumulus" not in text or not found:
        raise ParseError("this is no Cumulus Linux", host=host, thing="/etc/lsb-release", raw=text)
    release = found.group(1)
    if parsing.release_number(release)[:2] not in _RELEASES:
        raise RefusedError(
            "NCLU configures RoCE for the whole switch in 4.3 and 4.4 only",
            host=host,
            thing="release",
            value=release,
            remedy="use transport=nvue for 5.x; upgrade older releases, whose RoCE commands are per port",
        )
    return release


def parse_config(host: str, text: str) -> trees.Tree:
    """``net show configuration commands`` as a tree like NVUE's, and under ``lines`` what is said of each port."""
    tree: trees.Tree = {}
    lines: dict[str, list[str]] = {}
    for line in text.splitlines():
        words = line.split()
        if words[:2] != ["net", "add"]:
            if words and words[0] == "net" and words[1:2] != ["del"]:
                raise ParseError("unknown line of the configuration", host=host, thing="configuration", raw=line)
            continue
        try:
            tree = trees.merge(tree, *_line_trees(words[2:]))
            if words[2] == "interface" and len(words) > 4:
                for name in trees.expand(words[3]):
                    lines.setdefault(name, []).append(" ".join(words[4:]))
        except (ValueError, IndexError):
            raise ParseError("unknown line of the configuration", host=host, thing="configuration", raw=line) from None
    # A port that is only listed in the bridge is a trunk with all of its VLANs.
    return {**tree, "lines": lines}


def _line_trees(words: Sequence[str]) -> Iterable[trees.Tree]:
    kind = words[0]
    if kind == "roce":
        return [{"qos": {"roce": {"mode": words[1] if len(words) > 1 else "lossless"}}}]
    if kind == "bridge" and len(words) > 3:
        return _bridge(words[1], words[2], words[3])
    if kind == "vlan" and words[1].isdigit():
        return [{"interface": {f"vlan{words[1]}": {"type": "svi", "vlan": int(words[1])}}}]
    if kind == "bond" and words[2:4] == ["bond", "slaves"]:
        members: trees.Tree = {name: {} for name in trees.expand(words[4])}
        return [{"interface": {name: {"bond": {"member": members}}}} for name in trees.expand(words[1])]
    if kind in ("interface", "bond") and len(words) > 2:
        setting = _interface(words[2:])
        return [{"interface": {name: setting}} for name in trees.expand(words[1])]
    return []


def _bridge(domain: str, what: str, value: str) -> list[trees.Tree]:
    if what == "vids":
        return [{"bridge": {"domain": {domain: {"vlan": {number: {} for number in trees.expand(value)}}}}}]
    if what == "ports":
        return [{"interface": {name: {"bridge": {"domain": {domain: {}}}} for name in trees.expand(value)}}]
    return [{"bridge": {"domain": {domain: {what: value}}}}]


# How a line about an interface begins, and what its next word says.
_SETTINGS: Mapping[str, Callable[[str], trees.Tree]] = {
    "bridge access": lambda word: {"access": int(word)},
    "bridge vids": lambda word: {"vlan": {number: {} for number in trees.expand(word)}},
    "bridge pvid": lambda word: {"untagged": int(word)},
    "mtu": lambda word: {"link": {"mtu": int(word)}},
    "link down": lambda _word: {"link": {"state": {"down": {}}}},
    "ip address": lambda word: {"ip": {"address": {word: {}}}},
    "ipv6 address": lambda word: {"ip": {"address": {word: {}}}},
    "vrf": lambda word: {"ip": {"vrf": word}},
}


def _interface(words: Sequence[str]) -> trees.Tree:
    text = " ".join(words)
    for begin, setting in _SETTINGS.items():
        if text == begin or text.startswith(begin + " "):
            return setting(text[len(begin) :].split()[0] if text != begin else "")
    return {"ip": {text: {}}} if LOST.match(text) else {}


def settle(config: Mapping[str, Any], domain: str) -> trees.Tree:
    """Put what lines say of a port's VLANs below its bridge, where NVUE has it."""
    result = trees.merge(config)
    for settings in (result.get("interface") or {}).values():
        vlans = {key: settings.pop(key) for key in ("access", "vlan", "untagged") if key in settings and key != "vlan"}
        if isinstance(settings.get("vlan"), dict):  # an SVI has a number there
            vlans["vlan"] = settings.pop("vlan")
        if vlans:
            bridges = trees.get(settings, "bridge", "domain") or {domain: {}}
            settings["bridge"] = {"domain": {name: {**value, **vlans} for name, value in bridges.items()}}
    return result


def parse_interfaces(host: str, text: str) -> trees.Tree:
    """``net show interface all json`` in the shape of NVUE's /interface."""
    try:
        answer = json.loads(text)
    except ValueError:
        raise ParseError("expected JSON", host=host, thing="net show interface all json", raw=text) from None
    if not isinstance(answer, Mapping):
        raise ParseError("expected interfaces", host=host, thing="net show interface all json", raw=text)
    result = {}
    for name, facts in answer.items():
        link = {
            "mtu": trees.get(facts, "iface_obj", "mtu"),
            "oper-status": {"UP": "up", "DN": "down", "ADMDN": "down"}.get(str(trees.get(facts, "linkstate")), ""),
            "admin-status": "down" if trees.get(facts, "linkstate") == "ADMDN" else "up",
            "stats": {
                "in-drops": trees.get(facts, "iface_obj", "counters", "RX_DRP"),
                "out-drops": trees.get(facts, "iface_obj", "counters", "TX_DRP"),
            },
        }
        heard = trees.get(facts, "iface_obj", "lldp") or []
        neighbors: trees.Tree = {str(each.get("adj_hostname")): {} for each in heard}
        result[name] = {"link": link, "lldp": {"neighbor": neighbors}}
    return result


def parse_pending(host: str, text: str) -> list[tuple[str, str]]:
    """``net pending``: (user, command) of everything staged. Raises `ParseError` for a difference without commands."""
    rows = [(user, " ".join(line.split())) for user, line in _PENDING_ROW.findall(text)]
    if not rows and text.strip() and "no pending changes" not in text.lower():
        raise ParseError("staged changes of unknown origin", host=host, thing="net pending", raw=text)
    return rows


def parse_state(host: str, domain: str, *, release: str, commands: str, interfaces: str) -> State:
    config = settle(parse_config(host, commands), domain)
    ports = parsing.parse_ports(host, config, parse_interfaces(host, interfaces))
    vlans = trees.get(config, "bridge", "domain", domain, "vlan") or {}
    svis = {int(name[4:]) for name in config.get("interface") or {} if re.fullmatch(r"vlan\d+", name)}
    return State(
        host=host,
        release=parse_release(host, release),
        roce=parsing.Roce(mode=trees.get(config, "qos", "roce", "mode"), readable=False),
        ports=ports,
        vlans=frozenset(int(number) for number in vlans if number.isdigit()),
        svis=frozenset(svis),
        config=config,
        split=parsing.split_ports(config, ports),
        members=parsing.vlan_members(config, domain),
    )
