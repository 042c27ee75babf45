# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The four verbs for Cumulus Linux 4.3 and 4.4: NCLU (``net ...``) over SSH.

NCLU has one staging area for everybody, and ``net commit`` takes all of it. So nothing is staged while somebody else's
changes are there, and what is staged is compared with what was planned before it is committed. RoCE is committed
alone, as NVIDIA's manual asks. A commit writes the files of the switch, so that there is nothing to save.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from typing import Any, Callable, Iterable, Mapping, Sequence

from .._layer import (
    ApplyError,
    CredentialError,
    Layer,
    LayerError,
    Operation,
    ParseError,
    RefusedError,
    UnreachableError,
    VerifyError,
)
from . import plan as planning
from . import state as parsing
from . import tree as trees
from .nvue import common_facts, port_warnings
from .plan import Wanted, Words
from .ssh import Shell
from .state import Port, State

_POLL_SECONDS = 0.5
_RELEASES = ((4, 3), (4, 4))
_SHOW_INTERFACES = ("net", "show", "interface", "all", "json")
_SHOW_CONFIG = ("net", "show", "configuration", "commands")
# Settings of a port that an access port cannot have, as NCLU lists them.
_LOST = re.compile(r"(bridge (?:vids|pvid|allow-untagged)|ip |ipv6 |vrf|pim|ospf|evpn)")
_PENDING_ROW = re.compile(r"(?m)^(\S+)\s+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S*\s+(net (?:add|del) .*?)\s*$")


class NcluDialect:
    """Every change is a list of command lines; payload key ``alone``: to be committed on its own."""

    def vlan(self, state: State, wanted: Wanted) -> Words:
        rest = f"bridge {wanted.domain} vids {wanted.vlan}"
        return Words([f"net add {rest}"], [f"net del {rest}"])

    def svi(self, state: State, wanted: Wanted) -> Words:
        return Words([f"net add vlan {wanted.vlan}"], [f"net del vlan {wanted.vlan}"])

    def roce(self, state: State, wanted: Wanted) -> Words:
        now = state.roce.mode
        line = f"net add roce {wanted.mode}" if wanted.mode else "net del roce"
        return Words([line], [f"net add roce {now}" if now else "net del roce"], {"alone": True})

    def release(self, state: State, wanted: Wanted, port: Port) -> Words:
        lost = [rest for rest in trees.get(state.config, "lines", port.name) or [] if _LOST.match(rest)]
        return Words(
            [f"net del interface {port.name} {rest}" for rest in lost],
            [f"net add interface {port.name} {rest}" for rest in lost],
        )

    def access(self, state: State, wanted: Wanted, names: Sequence[str]) -> Words:
        spec = trees.compressed(names)
        ports = f"bridge {wanted.domain} ports {spec}"
        lines = [f"net add interface {spec} bridge access {wanted.vlan}"]
        outside = [name for name in names if wanted.domain not in state.ports[name].domains]
        old = {state.ports[name].access_vlan for name in names}
        if not outside and old != {None}:  # the plan groups ports by what they were
            return Words(lines, [f"net add interface {spec} bridge access {number}" for number in old])
        inverse = [f"net del interface {spec} bridge access {wanted.vlan}"]
        if outside:
            ports = f"bridge {wanted.domain} ports {trees.compressed(outside)}"
            return Words([f"net add {ports}", *lines], [*inverse, f"net del {ports}"])
        return Words(lines, inverse)

    def mtu(self, state: State, wanted: Wanted, names: Sequence[str]) -> Words:
        spec = trees.compressed(names)
        explicit: dict[Any, list[str]] = {}
        for name in names:
            explicit.setdefault(trees.get(state.config, "interface", name, "link", "mtu"), []).append(name)
        inverse = [
            f"net add interface {trees.compressed(members)} mtu {old}"
            if old is not None
            else f"net del interface {trees.compressed(members)} mtu"
            for old, members in explicit.items()
        ]
        return Words([f"net add interface {spec} mtu {wanted.mtu}"], inverse)


# --- readers


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
    return {"ip": {text: {}}} if _LOST.match(text) else {}


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


# --- the layer


class NcluLayer(Layer[State, Wanted]):
    """One switch, one SSH session. Options as for `NvueLayer`; ``connect`` opens the session when it is needed."""

    def __init__(
        self,
        host: str,
        connect: Callable[[], Shell],
        wanted: Wanted,
        *,
        wait_for_links: float = 60.0,
        apply_timeout: float = 300.0,
        rollback: bool = False,
        read_only: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.host = host
        self._connect = connect
        self._wanted = wanted
        self._wait_for_links = wait_for_links
        self._apply_timeout = apply_timeout
        self._rollback = rollback
        self._read_only = read_only
        self._clock = clock
        self._sleep = sleep
        self._dialect = NcluDialect()
        self._shell: Shell | None = None
        self._first: State | None = None
        self._planned: list[Operation] = []
        self._applied: list[Operation] = []
        self._commits = 0
        self._leftovers: list[str] = []
        self._notes: list[str] = []

    def close(self) -> None:
        if self._shell is not None:
            self._shell.close()
            self._shell = None

    def _run(self, *command: str, timeout: float | None = None) -> str:
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
                    host=self.host,
                    remedy="use a member of the group netedit (netshow is enough for check mode)",
                )
            raise ApplyError(
                f"the switch refused it (exit status {status}): {text.strip()[:500]}",
                host=self.host,
                thing="command",
                value=line,
                remedy="see the switch's own text",
                device_message=text.strip()[:500],
            )
        return text

    # --- observe

    def observe(self) -> State:
        if not self._applied:
            state = self._read()
            if self._first is None:
                self._first = state
                self._look_for_others()
            return state
        try:
            lost = self._await_links()
            state = self._read()
            self._verify(state, lost)
        except LayerError as error:
            self._give_up(error)
            raise
        return state

    def _read(self) -> State:
        return parse_state(
            self.host,
            self._wanted.domain,
            release=self._run("cat", "/etc/lsb-release"),
            commands=self._run(*_SHOW_CONFIG),
            interfaces=self._run(*_SHOW_INTERFACES),
        )

    def _pending(self) -> list[tuple[str, str]]:
        return parse_pending(self.host, self._run("net", "pending"))

    def _look_for_others(self) -> None:
        """What is staged already goes along with the next commit, whoever makes it."""
        state = self._first
        rows = self._pending()
        if not rows or state is None:
            return
        own = {line for operation in planning.plan(state, self._wanted, self._dialect) for line in _lines([operation])}
        strangers = [f"{line} ({user})" for user, line in rows if line not in own]
        if strangers and not self._read_only:
            raise RefusedError(
                f"somebody else has staged changes, which a commit would take along: {'; '.join(strangers[:5])}",
                host=self.host,
                thing="net pending",
                remedy="let them commit or abort first (net pending shows who it is)",
                strangers=strangers,
            )
        if strangers:
            self._notes.append(f"somebody else has staged changes: {'; '.join(strangers[:5])}")
        else:
            self._leftovers = [line for _user, line in rows]

    def _await_links(self) -> list[str]:
        touched = {name for operation in self._applied for name in operation.payload["bounces"]}
        before = {name for name in touched if self._first and self._first.ports[name].up}
        deadline = self._clock() + self._wait_for_links
        while before:
            answer = parse_interfaces(self.host, self._run(*_SHOW_INTERFACES))
            down = [name for name in before if trees.get(answer, name, "link", "oper-status") != "up"]
            if not down:
                break
            if self._wait_for_links <= 0:
                listed = ", ".join(sorted(down, key=trees.port_key))
                self._notes.append(f"these links were up before and are down now (not waited for): {listed}")
                break
            if self._clock() >= deadline:
                return sorted(down, key=trees.port_key)
            self._sleep(_POLL_SECONDS)
        return []

    def _verify(self, state: State, links_lost: Sequence[str]) -> None:
        if links_lost:
            raise VerifyError(
                f"these links were up before and did not come back within {self._wait_for_links:g} s: "
                + ", ".join(links_lost),
                host=self.host,
                thing="links",
                remedy="check cable, transceiver and the host behind the port",
            )
        left = planning.plan(state, self._wanted, self._dialect)
        if left:
            raise VerifyError(
                "committed, but not in force: " + "; ".join(operation.description for operation in left),
                host=self.host,
                thing="net commit",
                remedy="look at net show commit last and at the journal of networking and switchd on the switch",
            )

    # --- plan, apply

    def plan(self, state: State, wanted: Wanted) -> list[Operation]:
        self._planned = planning.plan(state, wanted, self._dialect)
        return self._planned

    def apply(self, operation: Operation) -> None:
        if operation is not self._planned[-1]:
            return  # staged together with the last one
        try:
            if self._leftovers:
                self._run("net", "abort")
                self._notes.append("removed what an interrupted run had staged: " + "; ".join(self._leftovers))
            alone = [each for each in self._planned if each.payload.get("alone")]
            together = [each for each in self._planned if not each.payload.get("alone")]
            for operations in filter(None, (together, alone)):
                self._commit_all(operations)
        except LayerError as error:
            self._give_up(error)
            error.details["failed_operation"] = "\n".join(each.command for each in self._planned)
            raise

    def _commit_all(self, operations: Sequence[Operation]) -> None:
        lines = _lines(operations)
        for line in lines:
            self._run(*line.split())
        rows = self._pending()
        strangers = [f"{line} ({user})" for user, line in rows if line not in lines]
        if strangers:
            raise RefusedError(
                f"somebody else staged changes meanwhile, which a commit would take along: {'; '.join(strangers)}",
                host=self.host,
                thing="net pending",
                remedy="nothing was committed, and what this run staged is still there beside theirs: settle with "
                "them (net pending), then run this again",
                strangers=strangers,
            )
        self._applied += operations  # a commit that breaks may have taken effect
        self._commits += 1
        self._run("net", "commit", timeout=self._apply_timeout)

    def _give_up(self, error: LayerError) -> None:
        """Take back what was committed, if that is wanted and possible, and say what is there."""
        self._tidy()
        if self._applied and self._rollback and not self._rolled_back(error):
            error.details["rolled_back"] = False
        if not error.details.get("rolled_back"):
            error.details.setdefault("applied", [operation.command for operation in self._applied])
            error.details.setdefault("undo", _inverses(self._applied))

    def _tidy(self) -> None:
        """Remove what is staged if all of it is ours; after a broken session in a new one."""
        own = _lines(self._planned)
        with contextlib.suppress(LayerError):
            rows = self._pending()
            if rows and all(line in own for _user, line in rows):
                self._run("net", "abort")

    def _rolled_back(self, error: LayerError) -> bool:
        before = self._first.config if self._first else None
        try:
            state = self._read()
            while self._commits and state.config != before:
                self._run("net", "rollback", "last", timeout=self._apply_timeout)
                self._commits -= 1
                state = self._read()
        except LayerError as second:
            self._notes.append(f"taking the change back failed: {second}")
            return False
        if state.config != before:
            return False
        error.args = (f"{error} The switch has its previous configuration again.",)
        error.details.update(rolled_back=True, applied=[], undo=[])
        self._applied = []
        return True

    # --- results

    def warnings(self, state: State, wanted: Wanted) -> list[str]:
        result = list(self._notes)
        if wanted.mode is not None and state.roce.mode == wanted.mode:
            result.append(
                f"RoCE mode {wanted.mode} is configured; NCLU has no command that shows if PFC and ECN are in force"
            )
        return result + port_warnings(state, wanted)

    def facts(self, state: State) -> dict[str, Any]:
        facts = common_facts(state, self._wanted)
        facts["roce"]["pfc"] = None
        return {
            **facts,
            "saved": True,
            "unsaved_before": False,
            "foreign_changes": [],
            "revision": None,
            "previous_revision": None,
            "device_diff": [],
            "pending_revisions": {},
        }


def _lines(operations: Iterable[Operation]) -> list[str]:
    return [line for operation in operations for line in operation.payload["lines"]]


def _inverses(operations: Sequence[Operation]) -> list[str]:
    return [operation.inverse for operation in reversed(operations) if operation.inverse]
