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
import time
from typing import Any, Callable, Iterable, Sequence

from .._layer import (
    Layer,
    LayerError,
    Operation,
    RefusedError,
    VerifyError,
)
from . import plan as planning
from . import tree as trees
from .facts import common_facts, port_warnings
from .nclu_reading import LOST, NcluReader
from .plan import Wanted, Words
from .ssh import Shell
from .state import Port, State

_POLL_SECONDS = 0.5


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
        lost = [rest for rest in trees.get(state.config, "lines", port.name) or [] if LOST.match(rest)]
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
        self._reader = NcluReader(host, connect, wanted.domain)
        self._wanted = wanted
        self._wait_for_links = wait_for_links
        self._apply_timeout = apply_timeout
        self._rollback = rollback
        self._read_only = read_only
        self._clock = clock
        self._sleep = sleep
        self._dialect = NcluDialect()
        self._first: State | None = None
        self._planned: list[Operation] = []
        self._applied: list[Operation] = []
        self._commits = 0
        self._leftovers: list[str] = []
        self._notes: list[str] = []

    def close(self) -> None:
        self._reader.close()

    # --- observe

    def observe(self) -> State:
        if not self._applied:
            state = self._reader.state()
            if self._first is None:
                self._first = state
                self._look_for_others()
            return state
        try:
            lost = self._await_links()
            state = self._reader.state()
            self._verify(state, lost)
        except LayerError as error:
            self._give_up(error)
            raise
        return state

    def _look_for_others(self) -> None:
        """What is staged already goes along with the next commit, whoever makes it."""
        state = self._first
        rows = self._reader.pending()
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
            answer = self._reader.interfaces()
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
                self._reader.run("net", "abort")
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
            self._reader.run(*line.split())
        rows = self._reader.pending()
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
        self._reader.run("net", "commit", timeout=self._apply_timeout)

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
            rows = self._reader.pending()
            if rows and all(line in own for _user, line in rows):
                self._reader.run("net", "abort")

    def _rolled_back(self, error: LayerError) -> bool:
        before = self._first.config if self._first else None
        try:
            state = self._reader.state()
            while self._commits and state.config != before:
                self._reader.run("net", "rollback", "last", timeout=self._apply_timeout)
                self._commits -= 1
                state = self._reader.state()
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
        return {
            **common_facts(state, self._wanted),
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
