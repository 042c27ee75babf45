# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SIMULATED switch behind the API: configuration, revisions, and what of them is in force."""

from __future__ import annotations

import copy
import dataclasses
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from .faults import Faults

Tree = dict[str, Any]
# How an apply goes on by itself, in this order; each step takes an equal part of the time.
_STEPS = ("apply", "checking", "checked", "verifying", "verified", "readying", "ready", "reloading", "reloaded")
_MTU_RANGE = range(552, 9217)


class Refused(Exception):
    """An HTTP error answer: status and text."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def merged(base: Tree, patch: Any) -> Any:
    """A merge patch: null removes, everything else is put into what is there."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result: Tree = copy.deepcopy(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key, {}), value)
    return result


def overlaid(base: Any, patch: Any) -> Any:
    """Like `merged`, for two patches: null stays null."""
    if not isinstance(patch, dict) or not isinstance(base, dict):
        return copy.deepcopy(patch)
    return {**copy.deepcopy(base), **{key: overlaid(base.get(key), value) for key, value in patch.items()}}


def difference(ours: Any, theirs: Any) -> Any:
    """What of ``ours`` is not in ``theirs``; null stands for what only ``theirs`` has. {} if they agree."""
    result: Tree = {}
    for key in [*ours, *(key for key in theirs if key not in ours)]:
        if key not in ours:
            result[key] = None
        elif key not in theirs:
            result[key] = copy.deepcopy(ours[key])
        elif isinstance(ours[key], dict) and isinstance(theirs[key], dict):
            inner = difference(ours[key], theirs[key])
            if inner:
                result[key] = inner
        elif ours[key] != theirs[key]:
            result[key] = copy.deepcopy(ours[key])
    return result


def lines(tree: Tree, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every end of a tree: (path, value)."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from lines(value, (*path, key))
        else:
            yield (*path, key), value


def at(tree: Any, *path: str) -> Any:
    for key in path:
        if not isinstance(tree, dict) or key not in tree:
            return None
        tree = tree[key]
    return tree


@dataclasses.dataclass
class Revision:
    config: Tree
    base: Tree
    state: str = "pending"
    issues: list[str] = dataclasses.field(default_factory=list)
    progress: str = ""
    began: float = 0.0  # of the present step
    seconds: float = 0.0  # of the whole apply
    confirm: float = 0.0  # seconds that a confirmation may take, 0: none asked for
    yes: bool = False  # the answer to "are you sure" came along
    ends_in: Tree | None = None

    def as_json(self) -> Tree:
        issue = {
            f"{number:05}": {"code": "generic", "data": {}, "message": text, "severity": "error"}
            for number, text in enumerate(self.issues)
        }
        return {"state": self.state, "transition": {"issue": issue, "progress": self.progress}}


def factory(ports: int) -> Tree:
    """The configuration that a reset brings back: a few ports with something to lose."""
    interfaces: Tree = {"eth0": {"ip": {"address": {"192.0.2.20/24": {}}, "vrf": "mgmt"}, "type": "eth"}}
    last = ports
    interfaces[f"swp{last}"] = {"link": {"breakout": {"4x": {}}}, "type": "swp"}
    interfaces[f"swp{last - 1}"] = {
        "bridge": {"domain": {"br_default": {"untagged": 1, "vlan": {"100": {}, "200": {}}}}},
        "type": "swp",
    }
    interfaces["bond1"] = {
        "bond": {"member": {f"swp{last - 3}": {}, f"swp{last - 2}": {}}},
        "bridge": {"domain": {"br_default": {"access": 100}}},
        "type": "bond",
    }
    interfaces[f"swp{last - 4}"] = {"ip": {"address": {"192.0.2.1/31": {}}}, "type": "swp"}
    interfaces[f"swp{last - 5}"] = {"bridge": {"domain": {"br_default": {}}}, "type": "swp"}
    interfaces[f"swp{last - 6}.300"] = {"base-interface": f"swp{last - 6}", "type": "sub", "vlan": 300}
    interfaces["swp1-4"] = {"link": {"mtu": 1500}, "type": "swp"}  # written as a range, as people do
    return {
        "bridge": {"domain": {"br_default": {"type": "vlan-aware", "vlan": {"100": {}, "200": {}}}}},
        "interface": interfaces,
        "system": {"hostname": "sw02"},
    }


class Switch:
    """``release``: e.g. 5.4.0; the shapes of answers follow it. ``apply_seconds``, ``link_seconds``: physics."""

    def __init__(
        self,
        name: str = "sw02",
        release: str = "5.11.0",
        ports: int = 32,
        *,
        apply_seconds: float = 0.2,
        link_seconds: float = 0.2,
        ays_seconds: float = 30.0,
        revision_names: str = "numbers",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.release = release
        self.version = tuple(int(part) for part in release.split("."))
        self.number_of_ports = ports
        self.apply_seconds = apply_seconds
        self.link_seconds = link_seconds
        self.ays_seconds = ays_seconds
        self.revision_names = revision_names
        self.clock = clock
        self.faults = Faults()
        self.reset()

    def reset(self) -> None:
        self.faults.clear()
        config = self._expanded(factory(self.number_of_ports))
        self.applied: Tree = config
        self.startup: Tree = copy.deepcopy(config)
        self.in_force: Tree = copy.deepcopy(config)
        self.auto_save = self.version >= (5, 9)
        self.applied_id = "1"
        self.revisions: dict[str, Revision] = {"1": Revision(copy.deepcopy(config), {}, state="applied")}
        if self.auto_save:
            self.revisions["1"].state = "applied_and_saved"
        self.made = 1
        self.down_until: dict[str, float] = {}
        self.requests: list[str] = []

    # --- ports

    def port_names(self) -> list[str]:
        names: list[str] = []
        for number in range(1, self.number_of_ports + 1):
            breakout = at(self.in_force, "interface", f"swp{number}", "link", "breakout")
            count = int(next(iter(breakout))[:-1]) if breakout else 0
            names += [f"swp{number}s{lane}" for lane in range(count)] or [f"swp{number}"]
        return names

    def _expanded(self, config: Tree) -> Tree:
        """What a client calls swp1-4 is kept as four interfaces."""
        result = copy.deepcopy(config)
        interfaces: Tree = {}
        for selector, settings in (config.get("interface") or {}).items():
            found = re.fullmatch(r"(\D+)(\d+)-(\d+)", selector)
            names = [selector]
            if found:
                names = [f"{found[1]}{number}" for number in range(int(found[2]), int(found[3]) + 1)]
            for name in names:
                interfaces[name] = overlaid(interfaces.get(name, {}), settings)
        if interfaces:
            result["interface"] = interfaces
        return result

    # --- revisions

    def advance(self) -> None:
        """Let time pass: whatever is under way goes on to where it is by now."""
        now = self.clock()
        for name in list(self.revisions):
            self._advance(name, self.revisions[name], now)

    def _advance(self, name: str, revision: Revision, now: float) -> None:
        if revision.state == "ays" and now - revision.began >= self.ays_seconds:
            revision.state, revision.progress = "ays_fail", "Aborted apply after warnings"
            revision.issues = ["Timeout while waiting for client response"]
        elif revision.state == "confirm" and now - revision.began >= revision.confirm:
            self._take_back(name, revision)
        elif revision.state in _STEPS and not self._must_wait(name):
            self._step(name, revision, now)

    def _must_wait(self, name: str) -> bool:
        """One after the other: an earlier revision under way holds this one back."""
        for other, revision in self.revisions.items():
            if other == name:
                return False
            if revision.state in _STEPS or revision.state in ("ays", "confirm", "ignore_fail"):
                self.revisions[name].began = self.clock()
                return True
        return False

    def _step(self, name: str, revision: Revision, now: float) -> None:
        issues = self.invalid(revision.config)
        ends = revision.ends_in
        if issues:
            revision.state, revision.issues, revision.progress = "invalid", issues, "Invalid config"
            return
        warning = self.faults.get("warn")
        if warning and not revision.yes:
            revision.state, revision.began = "ays", now
            revision.issues, revision.progress = [str(warning["message"])], "Are you sure?"
            return
        part = max(revision.seconds, 1e-6) / len(_STEPS)
        done = int((now - revision.began) / part)
        if done < len(_STEPS):
            revision.state = _STEPS[done]
            return
        if ends is not None:
            revision.state = str(ends["state"])
            revision.issues = [str(ends.get("message", "injected by a test (synthetic wording)"))]
            revision.progress = "Failure during apply. Ignore?" if revision.state == "ignore_fail" else "Failed"
            if ends.get("partial"):
                self._put_in_force(name, revision)
            return
        self._put_in_force(name, revision)
        if revision.confirm and not self.faults.get("no_confirm"):
            revision.state, revision.began = "confirm", now
            revision.progress = "Waiting for confirmation (synthetic wording)"
        else:
            self._finish(name, revision)

    def _put_in_force(self, name: str, revision: Revision) -> None:
        before = self.in_force
        self.applied, self.applied_id = copy.deepcopy(revision.config), name
        self.in_force = self._effective(before, revision.config)
        changed = difference(self.in_force, before)
        touched = set(changed.get("interface") or {})
        if at(changed, "qos") is not None or "qos" in changed:
            touched |= set(self.port_names())
        until = float("inf") if self.faults.get("stuck_links") else self.clock() + self.link_seconds
        self.down_until.update(dict.fromkeys(touched, until))

    def _effective(self, before: Tree, config: Tree) -> Tree:
        """What becomes real of a configuration; a fault keeps some lines on paper."""
        result = copy.deepcopy(config)
        for fault in self.faults.all("not_in_force"):
            for path, value in lines(difference(config, before)):
                text = " ".join(("nv", "set", *path, *([] if value in ({}, None) else [str(value)])))
                if re.search(fault["pattern"], text):
                    old = at(before, *path)
                    patch: Any = old
                    for key in reversed(path):
                        patch = {key: patch}
                    result = merged(result, patch)
        return result

    def _finish(self, name: str, revision: Revision) -> None:
        for other in self.revisions.values():
            if other is not revision and other.state.startswith("applied"):
                other.state = "previous" if not self.auto_save else other.state
        revision.state, revision.issues, revision.progress = "applied", [], ""
        if self.auto_save:
            self.startup = copy.deepcopy(self.applied)
            revision.state = "applied_and_saved"

    def _take_back(self, name: str, revision: Revision) -> None:
        revision.state, revision.progress = "confirm_fail", "Not confirmed, rolled back (synthetic wording)"
        before = self.in_force
        self.applied = copy.deepcopy(revision.base)
        self.in_force = copy.deepcopy(revision.base)
        self.applied_id = next(
            (other for other, each in self.revisions.items() if each.config == revision.base and other != name), "1"
        )
        touched = set(difference(self.in_force, before).get("interface") or {})
        self.down_until.update(dict.fromkeys(touched, self.clock() + self.link_seconds))

    def new_revision(self) -> str:
        self.made += 1
        name = str(self.made)
        if self.revision_names == "changesets":
            name = f"changeset/cumulus/2026-01-02_03.04.{self.made:02d}_SIMU"
        if self.faults.get("foreign_apply"):
            self.faults.spend(self.faults.get("foreign_apply") or {})
            self.revisions[name] = Revision(copy.deepcopy(self.applied), copy.deepcopy(self.applied))
            self.somebody_applies()
        else:
            self.revisions[name] = Revision(copy.deepcopy(self.applied), copy.deepcopy(self.applied))
        return name

    def patch(self, name: str, body: Any) -> None:
        revision = self.revision(name)
        if revision.state not in ("pending", "invalid", "ays_fail"):
            raise Refused(400, f"revision {name} is in state {revision.state} (synthetic wording)")
        if not isinstance(body, dict):
            raise Refused(400, "expected an object (synthetic wording)")
        for path, value in lines(body):
            self._check_value(path, value)
        revision.config = merged(revision.config, self._expanded(body))

    def _check_value(self, path: tuple[str, ...], value: Any) -> None:
        """What a schema refuses at once."""
        where = ".".join(path)
        if path[-1] == "mtu" and value is not None and value not in _MTU_RANGE:
            raise Refused(400, f"{value!r} is not a valid MTU at {where} (synthetic wording)")
        if path[-1] == "access" and value is not None and value not in range(1, 4095):
            raise Refused(400, f"{value!r} is not a valid VLAN at {where} (synthetic wording)")
        if path[:2] == ("qos", "roce") and path[-1] == "mode" and value not in ("lossless", "lossy", None):
            raise Refused(400, f"{value!r} is not one of lossless, lossy at {where} (synthetic wording)")
        wrong = "enable" if self.version >= (5, 14) else "state"
        if path == ("qos", "roce", wrong):
            raise Refused(400, f"{wrong!r} does not match any of the properties at qos.roce (synthetic wording)")

    def invalid(self, config: Tree) -> list[str]:
        """What a check of the whole configuration refuses."""
        issues = []
        interfaces = config.get("interface") or {}
        real = {f"swp{number}" for number in range(1, self.number_of_ports + 1)} | set(self.port_names())
        members = {port for settings in interfaces.values() for port in at(settings, "bond", "member") or {}}
        for name, settings in interfaces.items():
            if re.fullmatch(r"swp\d+(s\d+)?", name) and name not in real:
                issues.append(f"{name} is not a physical interface on this switch")
            if name in members and settings.get("bridge"):
                issues.append(f"Config invalid at interface.{name}.bridge: member of a bond (synthetic wording)")
            for domain, bridge in (at(settings, "bridge", "domain") or {}).items():
                known = at(config, "bridge", "domain", domain, "vlan") or {}
                access = (bridge or {}).get("access")
                if access is not None and str(access) not in known:
                    issues.append(
                        f"Config invalid at interface.{name}.bridge.domain.{domain}.access: VLAN {access} is not in "
                        "the bridge (synthetic wording)"
                    )
                if access is not None and {"untagged", "vlan"} & set(bridge):
                    issues.append(
                        f"Config invalid at interface.{name}.bridge.domain.{domain}: access and vlan exclude each "
                        "other (synthetic wording)"
                    )
        return issues

    def revision(self, name: str) -> Revision:
        if name == "applied":
            name = self.applied_id
        if name not in self.revisions:
            raise Refused(404, f"revision {name} does not exist (synthetic wording)")
        return self.revisions[name]

    def change_state(self, name: str, body: Any) -> None:
        wanted = body.get("state") if isinstance(body, dict) else None
        revision = self.revision(name)
        prompts = body.get("auto-prompt") or {} if isinstance(body, dict) else {}
        if wanted == "save" and name == "applied":
            self.startup = copy.deepcopy(self.applied)
            revision.state = "saved"
            return
        if wanted == "apply" and revision.state not in _STEPS:
            slow = self.faults.get("slow_apply")
            revision.state, revision.began = "apply", self.clock()
            revision.base = copy.deepcopy(self.applied)
            revision.seconds = float(slow["seconds"]) if slow else self.apply_seconds
            revision.confirm = float(at(body, "state-controls", "confirm") or 0)
            revision.yes = prompts.get("ays") == "ays_yes"
            revision.issues, revision.progress = [], ""
            revision.ends_in = self.faults.get("end_in")
            if revision.ends_in:
                self.faults.spend(revision.ends_in)
        elif wanted == "ays_no" and revision.state == "ays":
            revision.state, revision.progress = "ays_fail", "Aborted apply after warnings"
        elif wanted == "ignore_fail_no" and revision.state == "ignore_fail":
            revision.state, revision.progress = "apply_fail", "Aborted (synthetic wording)"
        elif wanted == "confirm_yes" and revision.state == "confirm":
            self._finish(name, revision)
        elif wanted == "confirm_no" and revision.state == "confirm":
            self._take_back(name, revision)
        else:
            raise Refused(400, f"state {wanted!r} is not possible from {revision.state!r} (synthetic wording)")

    def delete(self, name: str) -> None:
        revision = self.revision(name)
        if self.faults.get("no_delete"):
            raise Refused(405, "The method is not allowed for the requested URL.")
        if name == self.applied_id or revision.state in _STEPS or revision.state == "confirm":
            raise Refused(400, f"revision {name} is in use (synthetic wording)")
        del self.revisions[name]

    # --- somebody else

    def _somebody(self, name: str) -> Revision:
        config = copy.deepcopy(self.applied)
        port = f"swp{self.number_of_ports - 10}"
        config = merged(config, {"interface": {port: {"description": "changed by somebody else", "type": "swp"}}})
        self.revisions[name] = Revision(config, copy.deepcopy(self.applied))
        return self.revisions[name]

    def somebody_stages(self) -> None:
        self.made += 1
        self._somebody(str(self.made))

    def somebody_applies(self, save: bool = True) -> None:
        self.made += 1
        name = str(self.made)
        revision = self._somebody(name)
        startup = copy.deepcopy(self.startup)
        self._put_in_force(name, revision)
        self._finish(name, revision)
        if not save:
            self.startup, revision.state = startup, "applied"

    def somebody_waits(self, seconds: float) -> None:
        self.made += 1
        name = str(self.made)
        revision = self._somebody(name)
        self._put_in_force(name, revision)
        revision.state, revision.began, revision.confirm = "confirm", self.clock(), seconds

    def power_cycle(self) -> None:
        self.applied = copy.deepcopy(self.startup)
        self.in_force = copy.deepcopy(self.startup)

    # --- views

    def config_of(self, name: str) -> Tree:
        if name == "startup":
            return self.startup
        return self.applied if name == "applied" else self.revision(name).config

    def up(self, port: str) -> bool:
        broken = {fault["port"] for fault in self.faults.all("link_down")}
        stem = int(re.findall(r"\d+", port)[0])
        admin = at(self.in_force, "interface", port, "link", "state") or {"up": {}}
        cabled = stem <= 8 or stem > self.number_of_ports - 6
        return cabled and port not in broken and "up" in admin and self.clock() >= self.down_until.get(port, 0.0)

    def operational(self) -> Tree:
        """What /system, /interface, /qos, /bridge and /platform show without a revision."""
        system: Tree = {"hostname": self.name, "timezone": "Etc/UTC", "uptime": 4711}
        if self.version >= (5, 14):
            system["version"] = {"product-release": self.release, "image": f"SIMULATED {self.release}"}
        elif self.version >= (5, 11):
            system["product-release"] = self.release
        else:
            system["build"] = f"Cumulus Linux {self.release}"
        system["platform-name"] = "SIMULATED switch of the rocemesh lab"
        interfaces: Tree = {"eth0": {"type": "eth", "link": {"mtu": 1500, "state": {"up": {}}, "oper-status": "up"}}}
        for name in self.port_names():
            interfaces[name] = self._operational_port(name)
        for name, settings in (self.in_force.get("interface") or {}).items():
            if settings.get("type") in ("bond", "svi", "sub"):
                interfaces[name] = {"type": settings["type"], "link": {"mtu": 9216, "state": {"up": {}}}}
        return {"system": system, "interface": interfaces, "qos": {"roce": self._operational_roce()}}

    def _operational_port(self, name: str) -> Tree:
        settings = at(self.in_force, "interface", name) or {}
        up = self.up(name)
        link: Tree = {"mtu": at(settings, "link", "mtu") or 9216, "state": {"up" if up else "down": {}}}
        if self.version >= (5, 11):
            admin = at(settings, "link", "state") or {"up": {}}
            link.update({"oper-status": "up" if up else "down", "admin-status": next(iter(admin))})
        link["stats"] = {"in-drops": 0, "out-drops": 0, "in-pkts": 4711, "out-pkts": 4711, "carrier-transitions": 2}
        port: Tree = {"type": "swp", "link": link}
        stem = int(re.findall(r"\d+", name)[0])
        if up and stem <= 8:
            host = f"gpu{stem:02}"
            port["lldp"] = {"neighbor": {host: {"age": "12", "chassis": {"system-name": host}}}}
        elif up:
            port["lldp"] = {"neighbor": {"spine01": {"age": "12", "chassis": {"system-name": "spine01"}}}}
        roce = self._mode()
        if roce:
            port["qos"] = {
                "roce": {"status": self._roce_facts(roce, port=True), "counters": _counters()},
                "pfc-watchdog": {"state": "disabled"},
            }
        return port

    def _mode(self) -> str | None:
        roce = at(self.in_force, "qos", "roce")
        if not isinstance(roce, dict) or roce.get("enable") == "off" or roce.get("state") == "disabled":
            return None
        return str(roce.get("mode", "lossless"))

    def _roce_facts(self, mode: str, port: bool = False) -> Tree:
        word = "yes" if port else "enabled"
        facts: Tree = {
            "mode": mode,
            "congestion-control": {
                "congestion-mode": "ecn, absolute" if port else "ECN",
                "enabled-tc": "0,3",
                "max-threshold": "1.43 MB",
                "min-threshold": "146.48 KB",
                "probability": 100,
            },
            "lldp-app-tlv": {"priority": 3, "protocol-id": 4791, "selector": "UDP"},
            "trust": {"trust-mode": "pcp,dscp"},
        }
        if mode == "lossless":
            facts["pfc"] = {"pfc-priority": 3, "rx-enabled": word, "tx-enabled": word}
        return facts

    def _operational_roce(self) -> Tree:
        mode = self._mode()
        facts = self.filled_roce(self.in_force)
        if mode:
            facts.update(self._roce_facts(mode))
            exceptions = self.faults.all("exception")
            if exceptions:
                # Nobody has published how a row looks: synthetic.
                facts["exception-list"] = {str(n): {"text": fault["text"]} for n, fault in enumerate(exceptions, 1)}
        return facts

    def filled_roce(self, config: Tree) -> Tree:
        """/qos/roce of a revision with its defaults."""
        roce = at(config, "qos", "roce")
        key, on, off = ("state", "enabled", "disabled") if self.version >= (5, 14) else ("enable", "on", "off")
        if roce is None:
            return {key: off}
        return {key: on, "mode": "lossless", **roce}

    def as_json(self) -> Tree:
        self.advance()
        return {
            "simulated": True,
            "applied": self.applied,
            "startup": self.startup,
            "in_force": self.in_force,
            "revisions": {name: revision.state for name, revision in self.revisions.items()},
            "unsaved": self.applied != self.startup,
            "requests": list(self.requests),
            "faults": self.faults.as_json(),
        }


def _counters() -> Tree:
    return {
        "rx-stats": {
            "rx-pfc-stats": {"pause-duration": 0, "pause-packets": 3},
            "rx-roce-stats": {"no-buffer-discard": 0, "roce-bytes": "1.10 GB", "roce-packets": 4711},
        },
        "tx-stats": {
            "tx-ecn-stats": {"ecn-marked-packets": 152430},
            "tx-pfc-stats": {"pause-duration": 0, "pause-packets": 22},
            "tx-roce-stats": {"roce-packets": 4712, "unicast-no-buffer-discard": 0},
        },
    }
