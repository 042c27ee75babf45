"""Revisions of a switch: the writing half of NVUE's API, request by request. What is done when is `NvueLayer`'s."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, Callable, Mapping

from .._layer import LayerError, ParseError, UnreachableError
from . import state as parsing
from . import tree as trees
from .reading import NvueReader
from .rest import NotFoundError, Session, quoted

POLL_SECONDS = 0.5
YES = {"ays": "ays_yes"}

# States of a revision, from NVIDIA's manual and from published clients.
DONE = frozenset({"applied", "applied_and_saved", "auto_save", "auto_saving", "saved", "save"})
UNDER_WAY = frozenset(
    {"apply", "ays", "ays_yes", "checking", "checked", "verifying", "verified", "readying", "ready", "reloading"}
    | {"reloaded", "confirm", "confirm_yes", "confirm_no", "ignore_fail", "ignore_fail_yes", "ignore_fail_no"}
)
NOT_BEGUN = frozenset({"invalid", "ays_fail", "ays_no", "check_fail", "verify_fail", "verify_error"})


def failed(state: str) -> bool:
    return state in NOT_BEGUN or state.endswith(("_fail", "_error"))


@dataclasses.dataclass(frozen=True)
class Revisions:
    """``apply_timeout``: seconds for one apply. ``clock`` and ``sleep`` are injected for tests."""

    host: str
    client: Session
    reader: NvueReader
    apply_timeout: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    def new(self) -> str:
        """The id of a new, empty revision."""
        try:
            answer = self.client.send("POST", "/revision")
        except UnreachableError as error:
            error.args = (f"{error} A revision without changes may be left staged (nv config revision).",)
            raise
        names = list(answer) if isinstance(answer, Mapping) else []
        if len(names) != 1:
            raise ParseError(
                "expected the id of one new revision", host=self.host, thing="revision", raw=parsing.raw(answer)
            )
        return str(names[0])

    def patch(self, revision: str, *parts: Mapping[str, Any]) -> None:
        """Stage trees, one request each; null unsets."""
        for part in parts:
            if part:
                self.client.send("PATCH", "/", dict(part), rev=revision)

    def delete(self, revision: str) -> bool:
        """Whether a staged revision is gone now."""
        try:
            self.client.send("DELETE", f"/revision/{quoted(revision)}")
        except NotFoundError:
            return revision not in self.reader.revisions()
        except LayerError:
            return False
        return True

    def state(self, revision: str, deadline: float) -> tuple[str, str]:
        """(state, what the switch says of it). A switch that applies may stop answering for a while."""
        while True:
            try:
                answer = self.client.get(f"/revision/{quoted(revision)}")
                break
            except UnreachableError:
                if self.clock() >= deadline:
                    raise
                self.sleep(POLL_SECONDS)
        facts = trees.get(answer, revision) or answer  # both shapes stand in NVIDIA's manual
        state = trees.get(facts, "state")
        if not isinstance(state, str):
            raise ParseError("expected the state of a revision", host=self.host, thing="revision", raw=str(answer))
        issues = trees.get(facts, "transition", "issue") or {}
        texts = [str(trees.get(issue, "message") or issue).strip() for issue in issues.values()]
        progress = str(trees.get(facts, "transition", "progress") or "")
        return state, "; ".join(filter(None, [*texts, progress])) or "no further text"

    def answer(self, revision: str, answer: str) -> None:
        """Answer what the switch asks about a revision that it applies."""
        with contextlib.suppress(UnreachableError):  # the state that follows tells whether it arrived
            self.client.send("PATCH", f"/revision/{quoted(revision)}", {"state": answer, "auto-prompt": dict(YES)})

    def run_quietly(self, revision: str) -> None:
        """Apply it with yes to every question; the caller looks at the configuration afterwards."""
        body = {"state": "apply", "auto-prompt": {**YES, "ignore_fail": "ignore_fail_yes"}}
        self.client.send("PATCH", f"/revision/{quoted(revision)}", body)
        deadline = self.clock() + self.apply_timeout
        while self.clock() < deadline:
            state, _said = self.state(revision, deadline)
            if state in DONE or failed(state):
                return
            self.sleep(POLL_SECONDS)
