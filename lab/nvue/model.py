"""The SIMULATED switch behind the API: configuration, revisions, and what of them is in force."""

from __future__ import annotations

import copy
import dataclasses
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from . import fixtures, schema
from .faults import Faults
from .tree import Tree, at, difference, expanded, lines, merged

# How an apply goes on by itself, in this order; each step takes an equal part of the time.
_STEPS = ("apply", "checking", "checked", "verifying", "verified", "readying", "ready", "reloading", "reloaded")


class Refused(Exception):
    """An HTTP error answer: status and text."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


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
    applied: bool = False  # in force, and waiting for its confirmation
    back_at: float | None = None  # when a change that failed half-way is out of force again

    def as_json(self) -> Tree:
        issue = {
            f"{number:05}": {"code": "generic", "data": {"msg": text}, "message": text, "severity": "error"}
            for number, text in enumerate(self.issues)
        }
        return {"state": self.state, "transition": {"issue": issue, "progress": self.progress}}


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
        new: Sequence[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.release = release
        self.version = tuple(int(part) for part in release.split("."))
        if self.version[:2] not in schema.RELEASES:
            raise ValueError(f"no schema of release {release}: there are 5.0 to 5.{len(schema.RELEASES) - 1}")
        self.number_of_ports = ports if new is None else max(int(re.findall(r"\d+", name)[0]) for name in new)
        self._new = new  # the ports of a switch as it comes, with a node behind each; None: one that is in use
        self.apply_seconds = apply_seconds
        self.link_seconds = link_seconds
        self.ays_seconds = ays_seconds
        self.revision_names = revision_names
        self.clock = clock
        self.faults = Faults()
        self.reset()

    def reset(self) -> None:
        self.faults.clear()
        ports = self.number_of_ports
        new = self._new
        made = fixtures.factory(self.version, ports) if new is None else fixtures.new(self.version, new)
        config = expanded(made)
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
            count = fixtures.lanes(at(self.in_force, "interface", f"swp{number}", "link", "breakout"))
            names += [f"swp{number}s{lane}" for lane in range(count)] or [f"swp{number}"]
        return names

    # --- revisions

    def advance(self) -> None:
        """Let time pass: whatever is under way goes on to where it is by now."""
        now = self.clock()
        for name in list(self.revisions):
            self._advance(name, self.revisions[name], now)

    def _advance(self, name: str, revision: Revision, now: float) -> None:
        if revision.state == "ays" and not revision.applied and now - revision.began >= self.ays_seconds:
            revision.state, revision.progress = "ays_fail", "Aborted apply after warnings"
            revision.issues = ["Timeout while waiting for client response"]
        elif revision.state in ("confirm", "ays") and revision.confirm and now - revision.began >= revision.confirm:
            self._take_back(name, revision)
        elif revision.back_at is not None and now >= revision.back_at:
            revision.back_at, revision.progress = None, "Rolled back (synthetic wording)"
            self._restore(name, revision.base)
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
                if revision.state != "ignore_fail" and ends.get("back_after") is not None:
                    self._roll_back_slowly(revision)
            return
        self._put_in_force(name, revision)
        if revision.confirm and not self.faults.get("no_confirm"):
            # NVIDIA's own fleet tool waits for "ays" here, other published clients for "confirm".
            revision.state, revision.began, revision.applied = "confirm", now, True
            revision.progress = "Waiting for confirmation (synthetic wording)"
            if self.faults.get("confirm_ays"):
                revision.state, revision.progress = "ays", "awaiting confirm (synthetic wording)"
        else:
            self._finish(name, revision)

    def _roll_back_slowly(self, revision: Revision) -> None:
        """The state is final at once; what had taken effect goes away later."""
        revision.back_at = self.clock() + float((revision.ends_in or {}).get("back_after", 0))
        revision.progress = f"Rolling back to {self.applied_id}/start"

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
        # ifupdown2 leaves the addresses of a port of a bridge out, and only logs it (syntax_check_addr_allowed_on).
        for settings in (result.get("interface") or {}).values():
            if settings.get("bridge"):
                for family in ("ip", "ipv4", "ipv6"):
                    (settings.get(family) or {}).pop("address", None)
        return result

    def _finish(self, name: str, revision: Revision) -> None:
        for other in self.revisions.values():
            if other is not revision and other.state.startswith("applied"):
                other.state = "previous" if not self.auto_save else other.state
        revision.state, revision.issues, revision.progress, revision.applied = "applied", [], "", False
        if self.auto_save:
            self.startup = copy.deepcopy(self.applied)
            revision.state = "applied_and_saved"

    def _take_back(self, name: str, revision: Revision) -> None:
        revision.state, revision.progress = "confirm_fail", "Not confirmed, rolled back (synthetic wording)"
        revision.applied = False
        self._restore(name, revision.base)

    def _restore(self, name: str, config: Tree) -> None:
        before = self.in_force
        self.applied = copy.deepcopy(config)
        self.in_force = self._effective(before, config)
        self.applied_id = next(
            (other for other, each in self.revisions.items() if each.config == config and other != name), "1"
        )
        touched = set(difference(self.in_force, before).get("interface") or {})
        self.down_until.update(dict.fromkeys(touched, self.clock() + self.link_seconds))

    def new_revision(self) -> str:
        self.made += 1
        name = str(self.made)
        if self.revision_names == "changesets":
            name = f"changeset/cumulus/2026-01-02_03.04.{self.made:02d}_SIMU"
        self.revisions[name] = Revision(copy.deepcopy(self.applied), copy.deepcopy(self.applied))
        return name

    def patch(self, name: str, body: Any) -> None:
        revision = self.revision(name)
        if revision.state not in ("pending", "invalid", "ays_fail"):
            raise Refused(400, f"revision {name} is in state {revision.state} (synthetic wording)")
        problems = self.schema.problems(body)
        if problems:
            raise Refused(400, problems[0])
        revision.config = merged(revision.config, expanded(body))

    def load(self) -> None:
        """The schema takes half a second: better before the first request than in it."""
        schema.of_release(self.version[:2])

    @property
    def schema(self) -> schema.Schema:
        return schema.of_release(self.version[:2])

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
        confirms = {"confirm_yes": "confirm", "apply": "ays" if prompts.get("ays") == "ays_yes" else ""}
        if revision.applied and wanted in confirms:
            # Which of the two a release takes is known of none: "confirm_ays" says it with ``takes``.
            takes = (self.faults.get("confirm_ays") or {}).get("takes", "confirm_yes")
            if wanted != takes or (wanted == "apply" and not confirms[wanted]):
                raise Refused(400, f"state {wanted!r} is not possible from {revision.state!r} (synthetic wording)")
            self._finish(name, revision)
            return
        if wanted == "apply" and revision.state not in _STEPS and not difference(revision.config, self.applied):
            # Seen by NVIDIA's own clients: such a revision never becomes "applied".
            revision.progress = "config apply executed with no config diff (synthetic wording)"
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
        elif wanted in ("ays_no", "confirm_no") and revision.applied:
            self._take_back(name, revision)
        elif wanted == "ays_no" and revision.state == "ays":
            revision.state, revision.progress = "ays_fail", "Aborted apply after warnings"
        elif wanted == "ays_yes" and revision.state == "ays":
            revision.state, revision.began, revision.yes = "apply", self.clock(), True
            revision.issues, revision.progress = [], ""
        elif wanted == "ignore_fail_no" and revision.state == "ignore_fail":
            revision.state, revision.progress = "apply_fail", "Aborted (synthetic wording)"
            if (revision.ends_in or {}).get("back_after") is not None:
                self._roll_back_slowly(revision)
        else:
            raise Refused(400, f"state {wanted!r} is not possible from {revision.state!r} (synthetic wording)")

    def delete(self, name: str) -> None:
        revision = self.revision(name)
        if self.faults.get("no_delete"):
            raise Refused(405, "The method is not allowed for the requested URL.")
        if name == self.applied_id or revision.state in _STEPS or revision.applied:
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
        revision.state, revision.began, revision.confirm, revision.applied = "confirm", self.clock(), seconds, True

    def somebody_configures(self, tree: Tree) -> None:
        """Somebody else's settings, applied and saved. Raises ValueError for what the release refuses."""
        problems = self.schema.problems(tree)
        if problems:
            raise ValueError("; ".join(problems))
        self.made += 1
        name = str(self.made)
        self.revisions[name] = Revision(merged(self.applied, expanded(tree)), copy.deepcopy(self.applied))
        self._put_in_force(name, self.revisions[name])
        self._finish(name, self.revisions[name])
        self.startup = copy.deepcopy(self.applied)

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
        cabled = stem <= 8 or stem > self.number_of_ports - 6 if self._new is None else port in self._new
        return cabled and port not in broken and "up" in admin and self.clock() >= self.down_until.get(port, 0.0)

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
