"""The four verbs for Cumulus Linux 5.x: one plan, one NVUE revision.

Everything of a plan is staged in one revision, compared with what was planned, and applied with a dead-man switch: the
switch waits for a confirmation, and goes back by itself if none comes. The confirmation is sent when the state was
read again and is the wanted one. Check mode sends nothing but GET: a revision that is only staged would have to be
deleted again, and that a release can do so is documented by none.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from typing import Any, Callable, NoReturn, Sequence

from .._layer import ApplyError, Layer, LayerError, Operation, RefusedError, UnreachableError, VerifyError, inverses
from .._switch import guards, saving
from .._switch.request import Wanted, satisfied
from . import plan as planning
from . import tree as trees
from .info import port_fact, roce_fact
from .reading import NvueReader
from .rest import ConflictError, Session, quoted
from .revision import DONE, NOT_BEGUN, POLL_SECONDS, UNDER_WAY, YES, Revisions, failed
from .state import State

_LOST_POLLS = 4  # how often a revision may still be pending before its apply request counts as lost
_PENDING_SHOWN = 5
_GRACE_SECONDS = 5.0  # for a switch that takes a failed change back after it has called it failed
# Saving is a change of its own when nothing else has to change.
_SAVE = Operation(
    description="save the applied configuration, which differs from the start-up configuration",
    command="nv config save",
    changes={"saved": (False, True)},
    payload={"bounces": ()},
)


class NvueLayer(Layer[State, Wanted]):
    """One switch, one HTTPS session.

    ``save``: when_clean, always, never. ``wait_for_links``: seconds that links get to come back; 0: do not wait.
    ``apply_timeout``: seconds for one apply, and for another user's to end. ``confirm_timeout``: seconds after which
    the switch takes an unconfirmed change back by itself; 0: no such guard. ``rollback``: take a change back that did
    not lead to the wanted state. ``read_only``: check mode. ``clock`` and ``sleep`` are injected for tests.
    """

    def __init__(
        self,
        host: str,
        client: Session,
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
        self._reader = NvueReader(host, client, wanted.domain)
        self._revisions = Revisions(host, client, self._reader, apply_timeout=apply_timeout, clock=clock, sleep=sleep)
        self._first: State | None = None
        self._planned: list[Operation] = []
        self._staged: str | None = None  # our revision, not applied
        self._revision: str | None = None  # our revision, applied
        self._asked: str | None = None  # our revision, sent to be applied
        self._previous: str | None = None
        self._apply_sent = False
        self._outcome_known = False
        self._unconfirmed = False
        self._applied: list[Operation] = []
        self._links_lost: list[str] = []
        self._device_diff: list[str] = []
        self._pending: dict[str, list[str]] = {}
        self._notes: list[str] = []
        self._unsaved: tuple[str, ...] = ()
        self._foreign: tuple[str, ...] = ()
        self._saved_now = False

    def close(self) -> None:
        """Leave nothing half done behind, whatever ended the run. The switch's own timer is a second guard."""
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
        wanted = self._wanted
        if self._first is None:
            self._look_for_others()
        state = self._reader.state()
        self._read_unsaved()
        state = dataclasses.replace(state, unsaved=self._unsaved, foreign=self._foreign)
        if state.roce.mode is not None and satisfied(state.roce.mode, wanted.mode):
            ports = {
                name: self._reader.with_counters(port) for name, port in state.ports.items() if name in wanted.ports
            }
            state = dataclasses.replace(state, ports={**state.ports, **ports})
        return state

    def _read_unsaved(self) -> None:
        """What is unsaved, and what of it the request does not account for."""
        self._unsaved = self._reader.unsaved_lines()
        self._foreign = tuple(line for line in self._unsaved if not self._own(line))

    def _look_for_others(self) -> None:
        """Wait for another user's changes that are under way; report staged ones and leave them alone."""
        deadline = self._clock() + self._apply_timeout
        while True:
            revisions = self._reader.revisions()
            busy = {name: state for name, state in revisions.items() if state in UNDER_WAY}
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
            self._sleep(POLL_SECONDS)
        self._notes += [f"revision {name} is under way (state {state})" for name, state in busy.items()]
        self._pending = self._reader.staged(revisions, _PENDING_SHOWN)
        self._previous = self._in_force()

    def _in_force(self) -> str | None:
        """The revision that is applied, if the switch tells."""
        applied = self._reader.optional("/revision/applied")
        name = trees.get(applied, "last-apply", "rev_id") or trees.get(applied, "last-apply", "rev-id")
        return str(name) if name else None

    def _await_links(self) -> None:
        """Wait until the links that this plan touched and that were up are up again."""
        first = self._first
        touched = {name for operation in self._applied for name in operation.payload["bounces"]}
        before = {name for name in touched if first and name in first.ports and first.ports[name].up}
        if before:
            timing = (self._wait_for_links, self._clock, self._sleep)
            _ports, self._links_lost, notes = guards.await_links(before, self._reader.links, trees.port_key, timing)
            self._notes += notes

    # --- plan

    def _operations(self, state: State) -> list[Operation]:
        return planning.plan(state, self._wanted)

    def _own(self, line: str) -> bool:
        """Whether a line of the configuration belongs to the request."""
        return planning.own_line(line, self._wanted)

    def plan(self, state: State, wanted: Wanted) -> list[Operation]:
        operations = self._operations(state)
        if not operations:
            self._require_health(state)
            new = not self._applied and not self._saved_now
            if new and state.unsaved and saving.may_save(self._save, state.foreign):
                operations = [_SAVE]
        self._planned = operations
        return operations

    def _require_health(self, state: State) -> None:
        remedy = "remove the QoS settings that conflict with the RoCE template (nv show qos roce, nv config find qos)"
        problems = planning.unhealthy(state, self._wanted)
        guards.refuse_unhealthy(self.host, self._wanted, problems, f"{remedy} and run this again")

    def _verify(self, state: State) -> None:
        """The wanted state is there, or the switch gets its old one back."""
        guards.links_lost(self.host, self._links_lost, self._wait_for_links)
        left = self._operations(state)
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
        if operation is _SAVE:
            # Read again, as before every save: what was read for the plan is as old as that.
            self._read_unsaved()
            if saving.may_save(self._save, self._foreign):
                self._save_configuration()
            self._saved_now = True
            return
        if operation is not self._planned[-1]:
            return  # staged together with the last one, see below
        try:
            self._transaction(self._planned)
        except LayerError as error:
            error.details.setdefault("applied", [])
            if self._apply_sent and not self._outcome_known:
                self._say_uncertain(error)
            error.details.setdefault("undo", [])
            error.details["failed_operation"] = "\n".join(each.command for each in self._planned)
            left = self._drop_staged()
            if left:
                error.details["left_revision"] = left
                error.args = (f"{error} Revision {left} is left staged on the switch: nv config delete {left}.",)
            raise

    def _say_uncertain(self, error: LayerError) -> None:
        """The switch got the order to apply, and then gave no answer."""
        error.details.setdefault("undo", inverses(self._planned))
        guard = (
            f"without a confirmation it takes the change back after {self._confirm_timeout} s"
            if self._confirm_timeout
            else "it may go on applying the change"
        )
        error.args = (f"{error} The switch had the order to apply; {guard}.",)

    def _transaction(self, operations: Sequence[Operation]) -> None:
        revision = self._staged = self._revisions.new()
        to_set, to_unset = _patch(operations)
        # Two patches, because the API does not define what set and unset of one thing in one patch do.
        self._revisions.patch(revision, to_unset, to_set)
        self._check_staged(revision)
        if self._previous is None or self._in_force() != self._previous:
            self._previous = None  # going back to it would undo what another user applied since it was read
            self._refuse_outdated_plan()
        self._remove_twins(revision)
        state = self._run(revision)
        self._revision = revision
        self._unconfirmed = state == "confirm"
        self._applied = list(operations)
        if self._confirm_timeout and not self._unconfirmed:
            self._notes.append(f"this release applied revision {revision} without waiting for a confirmation")

    def _check_staged(self, revision: str) -> None:
        """The switch's own difference has to be what was planned: neither nothing, nor anything of another user."""
        lines = self._reader.diff_lines(revision, "applied")
        strangers = [line for line in lines if not self._own(line)]
        if strangers:
            raise ConflictError(
                "another user changed the configuration since it was read; the staged revision would undo: "
                + "; ".join(strangers[:5]),
                **self._about(revision),
                remedy="run this again: it reads the new configuration",
                strangers=strangers,
            )
        if not lines:
            raise VerifyError(
                "the configuration says already what was asked for, and the switch does not do it: "
                + "; ".join(operation.description for operation in self._planned),
                **self._about(revision),
                remedy="look at the journal of nvued, switchd and networking on the switch",
            )
        self._device_diff = lines

    def _refuse_outdated_plan(self) -> None:
        """Another run may have applied a change to the same settings since they were read. From here on the switch
        keeps others away: a revision that is being applied, or awaits its confirmation, is waited for."""
        state = self._reader.state()
        now = self._operations(state)
        if [each.command for each in now] != [each.command for each in self._planned]:
            raise ConflictError(
                "another run changed the same settings since they were read; still to do now: "
                + ("; ".join(each.description for each in now) or "nothing"),
                **self._about(self._staged or ""),
                remedy="run this again: it reads the new configuration; agree on one controller if this goes on",
            )

    def _remove_twins(self, revision: str) -> None:
        """Staged revisions of runs that ended before they could apply: exactly our change, and nothing else."""
        for name, lines in list(self._pending.items()):
            if name != revision and sorted(lines) == sorted(self._device_diff) and self._revisions.delete(name):
                del self._pending[name]
                self._notes.append(f"removed the staged revision {name}, which held exactly this change")

    def _drop_staged(self) -> str:
        """Remove our staged revision; its id if it could not be removed. Never the reason for a failure of its own."""
        revision, self._staged = self._staged, None
        with contextlib.suppress(LayerError):
            if revision is None or self._revisions.delete(revision):
                return ""
        return revision or ""

    # --- running a revision

    def _about(self, revision: str) -> dict[str, Any]:
        """What an error of a revision is about."""
        return {"host": self.host, "thing": "revision", "value": revision}

    def _run(self, revision: str) -> str:
        """Apply a revision and follow it; its last state: one of `DONE`, or confirm."""
        body: dict[str, Any] = {"state": "apply"}
        if self._accept_warnings:
            body["auto-prompt"] = dict(YES)
        if self._confirm_timeout:
            body["state-controls"] = {"confirm": self._confirm_timeout}
        lost: UnreachableError | None = None
        try:
            self._client.send("PATCH", f"/revision/{quoted(revision)}", body)
        except UnreachableError as error:
            lost = error  # it may have begun: the revision's own state tells
        self._asked = revision
        self._staged, self._apply_sent = None, True  # no longer ours alone to delete
        return self._follow(revision, lost)

    def _follow(self, revision: str, lost: UnreachableError | None) -> str:
        deadline = self._clock() + self._apply_timeout
        still_pending = 0
        while True:
            state, said = self._revisions.state(revision, deadline)
            if state in DONE:
                return state
            if state == "confirm" or (state == "ays" and self._awaits_confirmation(revision)):
                return "confirm"
            if state == "pending" and lost is not None:
                still_pending += 1
                if still_pending >= _LOST_POLLS:
                    # The request never arrived, and what is deleted cannot begin later.
                    self._staged, self._apply_sent = revision, False
                    raise lost
            elif state == "ays" and not self._accept_warnings:
                self._refuse_warnings(revision, said)
            elif state == "ays":
                with contextlib.suppress(ApplyError):  # it may have gone on by itself: the next state tells
                    self._revisions.answer(revision, "ays_yes")
            elif state == "ignore_fail":
                self._revisions.answer(revision, "ignore_fail_no")
            elif failed(state):
                self._apply_failed(revision, state, said)
            if self._clock() >= deadline:
                self._outcome_known = True
                raise ApplyError(
                    f"revision {revision} is still in state {state!r} after {self._apply_timeout:g} s ({said})",
                    **self._about(revision),
                    remedy="look at nv config history and the journal of nvued; "
                    + (
                        f"the switch takes it back by itself {self._confirm_timeout} s after it was applied"
                        if self._confirm_timeout
                        else "raise apply_timeout if the switch is only slow"
                    ),
                    revision=revision,
                    undo=inverses(self._planned),
                )
            self._sleep(POLL_SECONDS)

    def _awaits_confirmation(self, revision: str) -> bool:
        """Published clients disagree on what a switch shows meanwhile: "confirm", or "ays" as before an apply.

        What tells them apart: before an apply the revision still differs from the applied configuration.
        """
        return bool(self._confirm_timeout) and not self._reader.diff_lines(revision, "applied")

    def _refuse_warnings(self, revision: str, said: str) -> NoReturn:
        """The switch asks "are you sure": its warnings are for a person. It gives up by itself without an answer."""
        self._outcome_known = True
        with contextlib.suppress(LayerError):
            self._client.send("PATCH", f"/revision/{quoted(revision)}", {"state": "ays_no"})
        self._staged = revision
        raise RefusedError(
            f"the switch warns before it applies this, and the warnings are not accepted yet: {said}",
            **self._about(revision),
            remedy="read the warnings (files that were edited by hand would be overwritten, services restarted); "
            "accept_warnings=true goes on in spite of them",
            device_message=said,
        )

    def _apply_failed(self, revision: str, state: str, said: str) -> NoReturn:
        details: dict[str, Any] = {"revision": revision, "device_message": said}
        text = f"the switch did not apply revision {revision} (state {state}): {said}"
        self._outcome_known = True
        if self._goes_back_by_itself(revision, state, said):
            self._staged = revision
            text += "; its configuration is as before"
        elif self._rollback:
            details["rolled_back"] = self._roll_back()
            if details["rolled_back"]:
                self._staged = revision
                text += "; what had taken effect was taken back"
            else:
                details["undo"] = inverses(self._planned)
                text += "; taking it back failed as well"
        else:
            details["undo"] = inverses(self._planned)
            text += "; some of it is in force"
        raise ApplyError(
            text,
            **self._about(revision),
            remedy="see the switch's own text, and nv config history on the switch",
            **details,
        )

    # --- taking back

    def _goes_back_by_itself(self, revision: str, state: str, said: str) -> bool:
        """Some failed changes are taken back by the switch itself, and its state is final before that has ended."""
        began = self._clock()
        while True:
            if self._config_is_back():
                return True
            patience = self._apply_timeout if "rolling back" in said.lower() else _GRACE_SECONDS
            if state in NOT_BEGUN or self._clock() - began >= patience:
                return False
            self._sleep(POLL_SECONDS)
            with contextlib.suppress(LayerError):
                said = self._revisions.state(revision, began)[1]

    def _config_is_back(self) -> bool:
        return self._first is not None and self._reader.config() == self._first.config

    def _reject(self, revision: str) -> None:
        """Let the switch take back what was not confirmed, and wait until it has."""
        deadline = self._clock() + self._apply_timeout
        self._answer(revision, "confirm_no", "ays_no", deadline)
        self._unconfirmed = False
        while self._revisions.state(revision, deadline)[0] in UNDER_WAY and self._clock() < deadline:
            self._sleep(POLL_SECONDS)

    def _roll_back(self) -> bool:
        """Whether the applied configuration is again the one that was there before this run."""
        try:
            if self._unconfirmed and self._revision:
                self._reject(self._revision)
            if self._config_is_back():
                return True
            back = self._previous
            # The revision in force is not known, or another user has applied one since, which the whole of an
            # earlier revision would undo: only what we changed is set back.
            if back is None or self._in_force() not in (back, self._asked):
                config = self._first.config if self._first else {}
                to_set, to_unset = trees.inverse(*_patch(self._applied or self._planned), config)
                back = self._revisions.new()
                self._revisions.patch(back, to_unset, to_set)
            self._revisions.run_quietly(back)
            return self._config_is_back()
        except LayerError as error:
            self._notes.append(f"taking the change back failed: {error}")
            return False

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
        if self._unconfirmed or (isinstance(error, UnreachableError) and self._confirm_timeout):
            self._say_guarded(error)

    def _say_guarded(self, error: LayerError) -> None:
        guard = f"Without a confirmation the switch takes revision {self._revision} back within"
        error.args = (f"{error} {guard} {self._confirm_timeout} s.",)

    # --- commit

    def commit(self, operations: Sequence[Operation]) -> None:
        """Confirm what was verified, then save it unless that would write what another user left unsaved."""
        if not self._applied or self._first is None:
            return
        try:
            if self._unconfirmed and self._revision:
                self._confirm(self._revision)
            # Read again: the first reading is as old as this run.
            self._read_unsaved()
            if self._unsaved and saving.may_save(self._save, self._foreign):
                self._save_configuration()
        except LayerError as error:
            if self._unconfirmed and not isinstance(error, ApplyError):
                self._say_guarded(error)
            raise

    def _answer(self, revision: str, first: str, second: str, deadline: float) -> None:
        """Answer the wait for a confirmation; ``second``: for releases that show and take "ays" there."""
        try:
            self._revisions.answer(revision, first)
        except ApplyError:
            # Only while it still waits: what it has taken back meanwhile must not be applied again, unguarded.
            state = self._revisions.state(revision, deadline)[0]
            if state == "ays" and self._awaits_confirmation(revision):
                self._revisions.answer(revision, second)
            elif state in ("ays", "confirm"):
                raise

    def _confirm(self, revision: str) -> None:
        """With confirm_yes, as nv does it, else by applying it again, as NVIDIA's fleet tool does it."""
        deadline = self._clock() + self._apply_timeout
        self._answer(revision, "confirm_yes", "apply", deadline)
        while True:
            state, said = self._revisions.state(revision, deadline)
            if state in DONE:
                self._unconfirmed = False
                return
            if state == "previous":
                self._unconfirmed = False
                raise ApplyError(
                    f"revision {revision} was in force, and another user has applied a revision over it before this "
                    "run had confirmed and read it",
                    **self._about(revision),
                    remedy="see nv config history for who and what; then run this again",
                )
            if failed(state) or state == "inactive":
                self._unconfirmed = False
                raise ApplyError(
                    f"everything was in force, but the confirmation came too late (state {state}: {said}); the switch "
                    "has taken it back",
                    **self._about(revision),
                    remedy="raise confirm_timeout and run this again",
                    applied=[],
                    undo=[],
                )
            if state in ("confirm", "ays"):
                self._answer(revision, "confirm_yes", "apply", deadline)
            if self._clock() >= deadline:
                raise ApplyError(  # `close` rejects it, and if it does not take that either, its own timer does
                    f"the switch does not take the confirmation and goes back to before (state {state}: {said})",
                    **self._about(revision),
                    remedy="see nv config history; if this release cannot be confirmed, use confirm_timeout=0",
                    applied=[],
                    undo=[],
                )
            self._sleep(POLL_SECONDS)

    def _save_configuration(self) -> None:
        body = {"state": "save", "auto-prompt": dict(YES)}
        lost: UnreachableError | None = None
        try:
            self._client.send("PATCH", "/revision/applied", body)
        except UnreachableError as error:
            lost = error
        deadline = self._clock() + (self._apply_timeout if lost is None else 0)
        while True:
            self._unsaved = self._reader.unsaved_lines()
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
            self._sleep(POLL_SECONDS)

    # --- results

    def warnings(self, state: State, wanted: Wanted) -> list[str]:
        result = list(self._notes)
        foreign = self._foreign
        before = self._first.foreign if self._first else ()
        meanwhile = [line for line in foreign if line not in before]
        result += saving.warnings(
            self._save, unsaved=bool(self._unsaved), foreign=foreign, meanwhile=meanwhile, restart="reboot"
        )
        if not self._unsaved and self._save == "never" and self._applied:
            result.append("saved all the same: the switch saves by itself (nv show system config auto-save)")
        for name, lines in self._pending.items():
            result.append(f"another user has staged revision {name} and not applied it: {'; '.join(lines[:5])}")
        if state.custom_qos and wanted.mode is not None:
            result.append(
                "QoS settings besides RoCE are configured and may contradict its template: "
                + "; ".join(state.custom_qos[:5])
            )
        touched = planning.touched(self._planned or self._applied)
        result += guards.neighbor_warnings(planning.behind(self._first or state, touched), wanted)
        links = {name: (state.ports[name].admin, state.ports[name].up, "") for name in wanted.ports}
        return result + guards.port_warnings(wanted, planning.unexpected_members(state, wanted), links)

    def facts(self, state: State) -> dict[str, Any]:
        wanted = self._wanted
        members = state.members.get(wanted.vlan or 0, ())
        strangers = planning.unexpected_members(state, wanted)
        return {
            "version": state.release,
            "roce": roce_fact(state.roce),
            "vlan": guards.vlan_fact(wanted, state.vlans, None, members, strangers),
            "ports": {name: port_fact(state.ports[name]) for name in wanted.ports},
            "saved": not self._unsaved,
            "unsaved_before": bool(self._first and self._first.unsaved),
            "foreign_changes": list(self._foreign),
            "problems": planning.unhealthy(state, wanted),
            "revision": self._revision,
            "previous_revision": self._previous,
            "device_diff": list(self._device_diff),
            "pending_revisions": dict(self._pending),
        }


def _patch(operations: Sequence[Operation]) -> tuple[trees.Tree, trees.Tree]:
    """(to set, to unset) of all of them together."""
    to_set = trees.merge(*(operation.payload["set"] for operation in operations))
    return to_set, trees.merge(*(operation.payload["unset"] for operation in operations))
