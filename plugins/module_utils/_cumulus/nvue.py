# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The four verbs for Cumulus Linux 5.x: one plan, one NVUE revision.

Everything of a plan is staged in one revision, compared with what was planned, and applied with a dead-man switch: the
switch waits for a confirmation, and goes back by itself if none comes. The confirmation is sent when the state was
read again and is the wanted one. Check mode sends nothing but GET: a revision that is only staged would have to be
deleted again, and that a release can do so is documented by none.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from typing import Any, Callable, Iterable, Mapping, NoReturn, Sequence

from .._layer import ApplyError, Layer, LayerError, Operation, ParseError, RefusedError, UnreachableError, VerifyError
from . import plan as planning
from . import state as parsing
from . import tree as trees
from .dialect import NvueDialect
from .plan import Wanted
from .rest import Client, ConflictError, NotFoundError, no_api, quoted
from .state import State

_POLL_SECONDS = 0.5
_LOST_POLLS = 4  # how often a revision may still be pending before its apply request counts as lost
_PENDING_SHOWN = 5

# States of a revision, from NVIDIA's manual and from published clients.
_DONE = frozenset({"applied", "applied_and_saved", "auto_save", "auto_saving", "saved", "save"})
_NOT_BEGUN = frozenset({"invalid", "ays_fail", "ays_no", "check_fail", "verify_fail", "verify_error"})
_UNDER_WAY = frozenset(
    {"apply", "ays", "ays_yes", "checking", "checked", "verifying", "verified", "readying", "ready", "reloading"}
    | {"reloaded", "confirm", "confirm_yes", "confirm_no", "ignore_fail", "ignore_fail_yes", "ignore_fail_no"}
)
_YES = {"ays": "ays_yes"}
_LINK_FACTS = [f"/*/link/{key}" for key in ("mtu", "state", "oper-status", "admin-status", "stats")]


def _failed(state: str) -> bool:
    return state in _NOT_BEGUN or state.endswith(("_fail", "_error"))


class NvueLayer(Layer[State, Wanted]):
    """One switch, one HTTPS session.

    ``save``: when_clean, always, never. ``wait_for_links``: seconds that links get to come back; 0: do not wait.
    ``apply_timeout``: seconds for one apply, and for somebody else's to end. ``confirm_timeout``: seconds after which
    the switch takes an unconfirmed change back by itself; 0: no such guard. ``rollback``: take a change back that did
    not lead to the wanted state. ``read_only``: check mode. ``clock`` and ``sleep`` are injected for tests.
    """

    def __init__(
        self,
        host: str,
        client: Client,
        wanted: Wanted,
        *,
        save: str = "when_clean",
        wait_for_links: float = 60.0,
        apply_timeout: float = 300.0,
        confirm_timeout: int = 300,
        accept_warnings: bool = False,
        rollback: bool = False,
        read_only: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.host = host
        self._client = client
        self._wanted = wanted
        self._save = save
        self._wait_for_links = wait_for_links
        self._apply_timeout = apply_timeout
        self._confirm_timeout = confirm_timeout
        self._accept_warnings = accept_warnings
        self._rollback = rollback
        self._read_only = read_only
        self._clock = clock
        self._sleep = sleep
        self._dialect = NvueDialect()
        self._first: State | None = None
        self._planned: list[Operation] = []
        self._staged: str | None = None  # our revision, not applied
        self._revision: str | None = None  # our revision, applied
        self._previous: str | None = None
        self._told_to_apply = False
        self._unconfirmed = False
        self._applied: list[Operation] = []
        self._links_lost: list[str] = []
        self._device_diff: list[str] = []
        self._pending: dict[str, list[str]] = {}
        self._notes: list[str] = []
        self._unsaved: tuple[str, ...] = ()
        self._saved_now = False

    def close(self) -> None:
        """Leave nothing half done behind, whatever ended the run. The switch's own timer stands behind this."""
        with contextlib.suppress(LayerError):
            if self._unconfirmed and self._revision:
                self._reject(self._revision)
        self._drop_staged()
        self._client.close()

    # --- observe

    def observe(self) -> State:
        if not self._applied:
            state = self._read()
            self._first = self._first or state
            return state
        try:
            self._await_links()
            state = self._read()
            self._verify(state)
        except LayerError as error:
            self._give_up(error)
            raise
        return state

    def _read(self) -> State:
        host, wanted = self.host, self._wanted
        try:
            system = self._client.get("/system")
        except NotFoundError:
            no_api(host)
        if self._first is None:
            self._look_for_others()
        config = self._client.get("/", rev="applied", filled="false")
        state = parsing.parse_state(
            host,
            wanted.domain,
            system=system,
            applied=config,
            filled_roce=self._optional("/qos/roce", rev="applied"),
            roce=self._optional("/qos/roce"),
            interfaces=self._interfaces(),
        )
        unsaved = self._unsaved_lines()
        self._unsaved = unsaved
        foreign = tuple(line for line in unsaved if not planning.own_line(line, wanted))
        state = dataclasses.replace(state, unsaved=unsaved, foreign=foreign)
        if state.roce.mode is not None and state.roce.mode == wanted.mode:
            ports = {name: self._with_counters(port) for name, port in state.ports.items() if name in wanted.ports}
            state = dataclasses.replace(state, ports={**state.ports, **ports})
        return state

    def _optional(self, path: str, **query: Any) -> Any:
        """None where the release, or the present configuration, has no such thing."""
        try:
            return self._client.get(path, **query)
        except NotFoundError:
            return None

    def _interfaces(self) -> Any:
        """Type and link of every interface, and its neighbours; not more, since full answers are very large."""
        interfaces = self._client.get("/interface", include=["/*/type", *_LINK_FACTS])
        neighbors = self._optional("/interface", include=["/*/lldp/neighbor"])
        if not isinstance(interfaces, Mapping):
            raise ParseError("expected interfaces", host=self.host, thing="interface", raw=parsing.raw(interfaces))
        return trees.merge(interfaces, neighbors if isinstance(neighbors, Mapping) else {})

    def _with_counters(self, port: parsing.Port) -> parsing.Port:
        base = f"/interface/{port.name}/qos"
        # "status" and "counters" below "roce" in newer releases, all of it in "roce" itself in older ones.
        status = self._optional(f"{base}/roce/status") or self._optional(f"{base}/roce")
        counters = self._optional(f"{base}/roce/counters") or status
        return dataclasses.replace(
            port,
            pfc=parsing.parse_port_pfc(status),
            counters={**port.counters, **parsing.parse_counters(counters)},
            pfc_watchdog=self._optional(f"{base}/pfc-watchdog"),
        )

    def _revisions(self) -> dict[str, str]:
        """id -> state."""
        answer = self._client.get("/revision")
        if not isinstance(answer, Mapping):
            raise ParseError("expected revisions", host=self.host, thing="revision", raw=parsing.raw(answer))
        return {str(name): str(trees.get(facts, "state") or "") for name, facts in answer.items()}

    def _look_for_others(self) -> None:
        """Changes that somebody else has under way are waited for; staged ones are reported and left alone."""
        deadline = self._clock() + self._apply_timeout
        while True:
            revisions = self._revisions()
            busy = {name: state for name, state in revisions.items() if state in _UNDER_WAY}
            if not busy or self._read_only:
                break
            if self._clock() >= deadline:
                listed = ", ".join(f"{name} ({state})" for name, state in busy.items())
                raise RefusedError(
                    f"another change is under way and did not end within {self._apply_timeout:g} s: revision {listed}",
                    host=self.host,
                    thing="revision",
                    remedy="let it end, or confirm or reject it (nv config apply REVISION --confirm-yes, --confirm-no)",
                )
            self._sleep(_POLL_SECONDS)
        self._notes += [f"revision {name} is under way (state {state})" for name, state in busy.items()]
        for name in [name for name, state in revisions.items() if state == "pending"][-_PENDING_SHOWN:]:
            lines = self._diff_lines(name, "applied")
            if lines:
                self._pending[name] = lines
        applied = self._optional("/revision/applied")
        previous = trees.get(applied, "last-apply", "rev_id") or trees.get(applied, "last-apply", "rev-id")
        self._previous = str(previous) if previous else None

    def _diff_lines(self, revision: str, base: str) -> list[str]:
        """``+ nv set ...`` for what ``revision`` has and ``base`` has not (or otherwise), ``- ...`` the other way."""
        added = self._client.get("/", rev=revision, diff=base, filled="false")
        removed = self._client.get("/", rev=base, diff=revision, filled="false")
        return [
            f"{sign} {line}"
            for sign, tree in (("-", removed), ("+", added))
            for line in trees.nv_lines("set", parsing.without_empty_branches(_present(tree)))
        ]

    def _unsaved_lines(self) -> tuple[str, ...]:
        try:
            return tuple(self._diff_lines("applied", "startup"))
        except NotFoundError:
            return ("(unknown, because there is no start-up configuration)",)

    def _await_links(self) -> None:
        """Wait until the links that this plan touched and that were up are up again."""
        first = self._first
        touched = {name for operation in self._applied for name in operation.payload["bounces"]}
        before = {name for name in touched if first and name in first.ports and first.ports[name].up}
        deadline = self._clock() + self._wait_for_links
        while before:
            answer = self._client.get("/interface", include=["/*/type", *_LINK_FACTS])
            ports = parsing.parse_ports(self.host, {}, answer)
            down = sorted((name for name in before if name not in ports or not ports[name].up), key=trees.port_key)
            if not down:
                return
            if self._wait_for_links <= 0:
                self._notes.append(f"these links were up before and are down now (not waited for): {', '.join(down)}")
                return
            if self._clock() >= deadline:
                self._links_lost = down
                return
            self._sleep(_POLL_SECONDS)

    # --- plan

    def plan(self, state: State, wanted: Wanted) -> list[Operation]:
        operations = planning.plan(state, wanted, self._dialect)
        if not operations:
            self._require_health(state)
        if not operations and not self._applied and not self._saved_now and state.unsaved and self._may_save(state):
            operations = [_save_operation()]
        self._planned = operations
        return operations

    def _require_health(self, state: State) -> None:
        problems = planning.unhealthy(state, self._wanted)
        if problems:
            raise VerifyError(
                f"RoCE mode {self._wanted.mode or 'absent'} is configured, but not in force: " + "; ".join(problems),
                host=self.host,
                thing="roce",
                remedy="remove the QoS settings that conflict with the RoCE template (nv show qos roce, nv config find "
                "qos) and run this again",
                problems=problems,
            )

    def _may_save(self, first: State) -> bool:
        """Saving writes the whole applied configuration, with what somebody else left unsaved before this run."""
        return self._save == "always" or (self._save == "when_clean" and not first.foreign)

    def _verify(self, state: State) -> None:
        """The wanted state is there, or the switch gets its old one back."""
        if self._links_lost:
            raise VerifyError(
                f"these links were up before and did not come back within {self._wait_for_links:g} s: "
                + ", ".join(self._links_lost),
                host=self.host,
                thing="links",
                remedy="check cable, transceiver and the host behind the port",
            )
        left = planning.plan(state, self._wanted, self._dialect)
        if left:
            raise VerifyError(
                "applied by the switch, but not in force: " + "; ".join(operation.description for operation in left),
                host=self.host,
                thing="revision",
                value=self._revision,
                remedy="look at nv config diff and at the journal of nvued, switchd and networking on the switch",
            )
        self._require_health(state)

    # --- apply

    def apply(self, operation: Operation) -> None:
        if operation.payload.get("save"):
            self._save_configuration()
            self._saved_now = True
            return
        if operation is not self._planned[-1]:
            return  # staged together with the last one, see below
        try:
            self._transaction(self._planned)
        except LayerError as error:
            error.details.setdefault("applied", [])
            if isinstance(error, UnreachableError) and self._told_to_apply:
                self._say_uncertain(error)
            error.details.setdefault("undo", [])
            error.details["failed_operation"] = "\n".join(each.command for each in self._planned)
            left = self._drop_staged()
            if left:
                error.details["left_revision"] = left
                error.args = (f"{error} Revision {left} is left staged on the switch: nv config delete {left}.",)
            raise

    def _say_uncertain(self, error: LayerError) -> None:
        """The switch was told to apply, and then nothing more was heard of it."""
        error.details.setdefault("undo", _inverses(self._planned))
        guard = (
            f"without a confirmation it takes the change back after {self._confirm_timeout} s"
            if self._confirm_timeout
            else "it may go on applying the change"
        )
        error.args = (f"{error} The switch had been told to apply; {guard}.",)

    def _transaction(self, operations: Sequence[Operation]) -> None:
        revision = self._staged = self._new_revision()
        self._stage(revision, operations)
        self._check_staged(revision)
        self._remove_twins(revision)
        state = self._run(revision)
        self._revision = revision
        self._unconfirmed = state == "confirm"
        self._applied = list(operations)
        if self._confirm_timeout and not self._unconfirmed:
            self._notes.append(f"this release applied revision {revision} without waiting for a confirmation")

    def _new_revision(self) -> str:
        try:
            answer = self._client.send("POST", "/revision")
        except UnreachableError as error:
            error.args = (f"{error} A revision without changes may be left staged (nv config revision).",)
            raise
        names = list(answer) if isinstance(answer, Mapping) else []
        if len(names) != 1:
            raise ParseError(
                "expected the id of one new revision", host=self.host, thing="revision", raw=parsing.raw(answer)
            )
        return str(names[0])

    def _stage(self, revision: str, operations: Iterable[Operation]) -> None:
        """Two patches, because the API does not define what set and unset of one thing in one patch do."""
        unset = trees.merge(*(operation.payload["unset"] for operation in operations))
        to_set = trees.merge(*(operation.payload["set"] for operation in operations))
        self._patch(revision, unset, to_set)

    def _patch(self, revision: str, *parts: Mapping[str, Any]) -> None:
        for part in parts:
            if part:
                self._client.send("PATCH", "/", dict(part), rev=revision)

    def _check_staged(self, revision: str) -> None:
        """The switch's own difference has to be what was planned: neither nothing, nor anything of somebody else."""
        lines = self._diff_lines(revision, "applied")
        strangers = [line for line in lines if not planning.own_line(line, self._wanted)]
        if strangers:
            raise ConflictError(
                "somebody else changed the configuration since it was read; the staged revision would undo: "
                + "; ".join(strangers[:5]),
                host=self.host,
                thing="revision",
                value=revision,
                remedy="run this again: it reads the new configuration",
                strangers=strangers,
            )
        if not lines:
            raise VerifyError(
                "the configuration says already what was asked for, and the switch does not do it: "
                + "; ".join(operation.description for operation in self._planned),
                host=self.host,
                thing="revision",
                value=revision,
                remedy="look at the journal of nvued, switchd and networking on the switch",
            )
        self._device_diff = lines

    def _remove_twins(self, revision: str) -> None:
        """Staged revisions of runs that ended before they could apply: exactly our change, and nothing else."""
        for name, lines in list(self._pending.items()):
            if name != revision and sorted(lines) == sorted(self._device_diff) and self._delete(name):
                del self._pending[name]
                self._notes.append(f"removed the staged revision {name}, which held exactly this change")

    def _delete(self, revision: str) -> bool:
        try:
            self._client.send("DELETE", f"/revision/{quoted(revision)}")
        except NotFoundError:
            return revision not in self._revisions()
        except LayerError:
            return False
        return True

    def _drop_staged(self) -> str:
        """Remove our staged revision; its id if it could not be removed. Never the reason for a failure of its own."""
        revision, self._staged = self._staged, None
        with contextlib.suppress(LayerError):
            if revision is None or self._delete(revision):
                return ""
        return revision or ""

    # --- running a revision

    def _run(self, revision: str) -> str:
        """Apply a revision and follow it; its last state: one of `_DONE`, or confirm."""
        body: dict[str, Any] = {"state": "apply"}
        if self._accept_warnings:
            body["auto-prompt"] = dict(_YES)
        if self._confirm_timeout:
            body["state-controls"] = {"confirm": self._confirm_timeout}
        lost: UnreachableError | None = None
        try:
            self._client.send("PATCH", f"/revision/{quoted(revision)}", body)
        except UnreachableError as error:
            lost = error  # it may have begun: the revision's own state tells
        self._staged, self._told_to_apply = None, True  # no longer ours alone to delete
        return self._follow(revision, lost)

    def _follow(self, revision: str, lost: UnreachableError | None) -> str:
        deadline = self._clock() + self._apply_timeout
        still_pending = 0
        while True:
            state, said = self._revision_state(revision, deadline)
            if state in _DONE or state == "confirm":
                return state
            if state == "pending" and lost is not None:
                still_pending += 1
                if still_pending >= _LOST_POLLS:
                    # The request never arrived, and what is deleted cannot begin later.
                    self._staged, self._told_to_apply = revision, False
                    raise lost
            elif state == "ays" and not self._accept_warnings:
                self._refuse_warnings(revision, said)
            elif state == "ignore_fail":
                self._answer(revision, "ignore_fail_no")
            elif _failed(state):
                self._apply_failed(revision, state, said)
            if self._clock() >= deadline:
                raise ApplyError(
                    f"revision {revision} is still in state {state!r} after {self._apply_timeout:g} s ({said})",
                    host=self.host,
                    thing="revision",
                    value=revision,
                    remedy="look at nv config history and the journal of nvued; "
                    + (
                        f"the switch takes it back by itself {self._confirm_timeout} s after it was applied"
                        if self._confirm_timeout
                        else "raise apply_timeout if the switch is only slow"
                    ),
                    revision=revision,
                    undo=_inverses(self._planned),
                )
            self._sleep(_POLL_SECONDS)

    def _revision_state(self, revision: str, deadline: float) -> tuple[str, str]:
        """(state, what the switch says of it). A switch that applies may stop answering for a while."""
        while True:
            try:
                answer = self._client.get(f"/revision/{quoted(revision)}")
                break
            except UnreachableError:
                if self._clock() >= deadline:
                    raise
                self._sleep(_POLL_SECONDS)
        facts = trees.get(answer, revision) or answer  # both shapes stand in NVIDIA's manual
        state = trees.get(facts, "state")
        if not isinstance(state, str):
            raise ParseError("expected the state of a revision", host=self.host, thing="revision", raw=str(answer))
        issues = trees.get(facts, "transition", "issue") or {}
        texts = [str(trees.get(issue, "message") or issue).strip() for issue in issues.values()]
        progress = str(trees.get(facts, "transition", "progress") or "")
        return state, "; ".join(filter(None, [*texts, progress])) or "no further text"

    def _answer(self, revision: str, answer: str) -> None:
        with contextlib.suppress(UnreachableError):  # the state that follows tells whether it arrived
            self._client.send("PATCH", f"/revision/{quoted(revision)}", {"state": answer, "auto-prompt": dict(_YES)})

    def _refuse_warnings(self, revision: str, said: str) -> NoReturn:
        """The switch asks "are you sure": its warnings are for a person. It gives up by itself without an answer."""
        with contextlib.suppress(LayerError):
            self._client.send("PATCH", f"/revision/{quoted(revision)}", {"state": "ays_no"})
        self._staged = revision
        raise RefusedError(
            f"the switch warns before it applies this, and nobody has accepted that yet: {said}",
            host=self.host,
            thing="revision",
            value=revision,
            remedy="read the warnings (files that were edited by hand would be overwritten, services restarted); "
            "accept_warnings=true goes on in spite of them",
            device_message=said,
        )

    def _apply_failed(self, revision: str, state: str, said: str) -> NoReturn:
        details: dict[str, Any] = {"revision": revision, "device_message": said}
        text = f"the switch did not apply revision {revision} (state {state}): {said}"
        if self._config_is_back():
            self._staged = revision
            text += "; its configuration is as before"
        elif self._rollback:
            details["rolled_back"] = self._roll_back()
            text += (
                "; what had taken effect was taken back"
                if details["rolled_back"]
                else "; taking it back failed as well"
            )
            if details["rolled_back"]:
                self._staged = revision
            else:
                details["undo"] = _inverses(self._planned)
        else:
            details["undo"] = _inverses(self._planned)
            text += "; some of it is in force"
        raise ApplyError(
            text,
            host=self.host,
            thing="revision",
            value=revision,
            remedy="see the switch's own text, and nv config history on the switch",
            **details,
        )

    # --- taking back

    def _config(self) -> trees.Tree:
        return parsing.parse_config(self.host, self._client.get("/", rev="applied", filled="false"))

    def _config_is_back(self) -> bool:
        return self._first is not None and self._config() == self._first.config

    def _reject(self, revision: str) -> None:
        """Let the switch take back what it has not been told to keep, and wait until it has."""
        self._answer(revision, "confirm_no")
        self._unconfirmed = False
        deadline = self._clock() + self._apply_timeout
        while self._revision_state(revision, deadline)[0] in _UNDER_WAY and self._clock() < deadline:
            self._sleep(_POLL_SECONDS)

    def _roll_back(self) -> bool:
        """Whether the applied configuration is again the one that was there before this run."""
        try:
            if self._unconfirmed and self._revision:
                self._reject(self._revision)
            if self._config_is_back():
                return True
            back = self._previous
            if back is None:  # not told which revision was in force: set its values again
                operations = self._applied or self._planned
                trees_to_set = trees.merge(*(operation.payload["set"] for operation in operations))
                trees_to_unset = trees.merge(*(operation.payload["unset"] for operation in operations))
                config = self._first.config if self._first else {}
                to_set, to_unset = trees.inverse(trees_to_set, trees_to_unset, config)
                back = self._new_revision()
                self._patch(back, to_unset, to_set)
            self._run_quietly(back)
            return self._config_is_back()
        except LayerError as error:
            self._notes.append(f"taking the change back failed: {error}")
            return False

    def _run_quietly(self, revision: str) -> None:
        body = {"state": "apply", "auto-prompt": {**_YES, "ignore_fail": "ignore_fail_yes"}}
        self._client.send("PATCH", f"/revision/{quoted(revision)}", body)
        deadline = self._clock() + self._apply_timeout
        while self._clock() < deadline:
            state, _said = self._revision_state(revision, deadline)
            if state in _DONE or _failed(state):
                return
            self._sleep(_POLL_SECONDS)

    def _give_up(self, error: LayerError) -> None:
        """After an error behind an applied revision: take it back if that is wanted, and say what is there."""
        if self._rollback or self._unconfirmed:
            rolled_back = self._roll_back()
            error.details["rolled_back"] = rolled_back
            if rolled_back:
                error.args = (f"{error} The switch has its previous configuration again.",)
                error.details.update(applied=[], undo=[])
                self._applied = []
                return
        error.details.setdefault("applied", [operation.command for operation in self._applied])
        error.details.setdefault("undo", _inverses(self._applied))
        if self._unconfirmed or (isinstance(error, UnreachableError) and self._confirm_timeout):
            guard = f"Without a confirmation the switch takes revision {self._revision} back within"
            error.args = (f"{error} {guard} {self._confirm_timeout} s.",)

    # --- commit

    def commit(self, operations: Sequence[Operation]) -> None:
        """Confirm what was verified, then save it unless that would write what somebody else left unsaved."""
        if not self._applied or self._first is None:
            return
        try:
            if self._unconfirmed and self._revision:
                self._confirm(self._revision)
            self._unsaved = self._unsaved_lines()
            if self._unsaved and self._may_save(self._first):
                self._save_configuration()
        except LayerError as error:
            error.details.setdefault("applied", [operation.command for operation in self._applied])
            error.details.setdefault("undo", _inverses(self._applied))
            raise

    def _confirm(self, revision: str) -> None:
        self._answer(revision, "confirm_yes")
        deadline = self._clock() + self._apply_timeout
        while True:
            state, said = self._revision_state(revision, deadline)
            if state in _DONE:
                self._unconfirmed = False
                return
            if _failed(state) or state in ("inactive", "previous"):
                self._unconfirmed = False
                raise ApplyError(
                    f"everything was in force, but the confirmation came too late (state {state}: {said}); the switch "
                    "has taken it back",
                    host=self.host,
                    thing="revision",
                    value=revision,
                    remedy="raise confirm_timeout and run this again",
                    applied=[],
                    undo=[],
                )
            if state == "confirm":
                self._answer(revision, "confirm_yes")
            if self._clock() >= deadline:
                raise ApplyError(
                    f"everything is in force, but the switch does not take the confirmation (state {state}: {said})",
                    host=self.host,
                    thing="revision",
                    value=revision,
                    remedy=f"confirm it by hand (nv config apply {revision} --confirm-yes) before the switch takes it "
                    "back, or run this with confirm_timeout=0",
                )
            self._sleep(_POLL_SECONDS)

    def _save_configuration(self) -> None:
        body = {"state": "save", "auto-prompt": dict(_YES)}
        lost: UnreachableError | None = None
        try:
            self._client.send("PATCH", "/revision/applied", body)
        except UnreachableError as error:
            lost = error
        deadline = self._clock() + (self._apply_timeout if lost is None else 0)
        while True:
            self._unsaved = self._unsaved_lines()
            if not self._unsaved:
                return
            if lost is not None:
                raise lost
            if self._clock() >= deadline:
                raise ApplyError(
                    "everything is in force, but it could not be saved: still different from the start-up "
                    "configuration: " + "; ".join(self._unsaved[:5]),
                    host=self.host,
                    thing="request",
                    value="save",
                    remedy="run nv config save by hand and look at its answer; a reboot would lose the changes",
                )
            self._sleep(_POLL_SECONDS)

    # --- results

    def warnings(self, state: State, wanted: Wanted) -> list[str]:
        result = list(self._notes)
        foreign = self._first.foreign if self._first else ()
        if self._unsaved and foreign:
            result.append(
                f"nothing was saved, because somebody else's changes are unsaved (save={self._save}): "
                + "; ".join(foreign[:5])
                + (f" and {len(foreign) - 5} more" if len(foreign) > 5 else "")
                + ". A reboot loses them and what this run changed. Look at them, then use save=always"
            )
        elif self._unsaved:
            result.append(f"not saved (save={self._save}): a reboot of the switch takes unsaved changes back")
        elif self._save == "never" and self._applied:
            result.append("saved all the same: the switch saves by itself (nv show system config auto-save)")
        for name, lines in self._pending.items():
            result.append(f"somebody has staged revision {name} and not applied it: {'; '.join(lines[:5])}")
        if state.custom_qos and wanted.mode is not None:
            result.append(
                "QoS settings besides RoCE are configured and may contradict its template: "
                + "; ".join(state.custom_qos[:5])
            )
        return result + port_warnings(state, wanted)

    def facts(self, state: State) -> dict[str, Any]:
        return {
            **common_facts(state, self._wanted),
            "saved": not self._unsaved,
            "unsaved_before": bool(self._first and self._first.unsaved),
            "foreign_changes": list(self._first.foreign) if self._first else [],
            "revision": self._revision,
            "previous_revision": self._previous,
            "device_diff": list(self._device_diff),
            "pending_revisions": dict(self._pending),
        }


def port_warnings(state: State, wanted: Wanted) -> list[str]:
    """What a person should look at, and what is no reason to fail."""
    result = []
    strangers = planning.unexpected_members(state, wanted)
    if strangers:
        result.append(f"VLAN {wanted.vlan} is not isolated: it also reaches {', '.join(strangers)}")
    for name in wanted.ports:
        port = state.ports[name]
        if not port.admin:
            result.append(f"port {name} is shut down")
        elif not port.up:
            result.append(f"port {name} has no link")
    return result


def common_facts(state: State, wanted: Wanted) -> dict[str, Any]:
    """The part of the result that every kind of switch of this collection has."""
    roce = state.roce
    vlan = None
    if wanted.vlan is not None and wanted.vlan in state.vlans:
        vlan = {
            "id": wanted.vlan,
            "name": None,
            "members": list(state.members.get(wanted.vlan, ())),
            "unexpected_members": planning.unexpected_members(state, wanted),
        }
    return {
        "version": state.release,
        "roce": {
            "mode": roce.mode or "absent",
            "trust": roce.trust,
            "ecn": roce.congestion,
            "ecn_min_kb": roce.ecn_min_kb,
            "ecn_max_kb": roce.ecn_max_kb,
            "pfc": "enabled" if parsing.is_on(roce.pfc_rx) and parsing.is_on(roce.pfc_tx) else "disabled",
            "pfc_priorities": sorted(roce.pfc_priorities),
            "lldp": roce.lldp,
            "exceptions": list(roce.exceptions),
        },
        "vlan": vlan,
        "ports": {name: _port_fact(state.ports[name]) for name in wanted.ports},
    }


def _port_fact(port: parsing.Port) -> dict[str, Any]:
    return {
        "mode": port.mode,
        "access_vlan": port.access_vlan,
        "mtu": port.mtu,
        "admin": "up" if port.admin else "down",
        "oper": "up" if port.up else "down",
        "pfc_oper": port.pfc,
        "pfc_watchdog": port.pfc_watchdog,
        "neighbors": list(port.neighbors),
        "counters": dict(port.counters),
    }


def _present(tree: Any) -> dict[str, Any]:
    """A difference without what the other side alone has (null)."""
    if not isinstance(tree, Mapping):
        return {}
    result = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            inner = _present(value)
            if inner:
                result[key] = inner
        elif value is not None:
            result[key] = value
    return result


def _save_operation() -> Operation:
    """Saving is a change of its own when nothing else has to change."""
    return Operation(
        description="save the applied configuration, which differs from the start-up configuration",
        command="nv config save",
        changes={"saved": (False, True)},
        payload={"save": True, "bounces": ()},
    )


def _inverses(operations: Sequence[Operation]) -> list[str]:
    return [operation.inverse for operation in reversed(operations) if operation.inverse]
