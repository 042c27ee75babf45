"""Faults that a test injects through the control port; each is a dictionary with a ``name``.

===================  =========================================================================================
name                 effect (further keys)
===================  =========================================================================================
``cut_after``        the connection is cut at request number ``requests``, counted from the injection;
                     ``executed``: whether that request still took effect (default false). Fires once.
``slow_apply``       an apply takes ``seconds``
``end_in``           the next apply ends in ``state`` (invalid, verify_error, apply_fail, ignore_fail ...) with
                     ``message``; ``partial``: the configuration is in force all the same (default false);
                     ``back_after``: it is taken back by itself, so many seconds after the state was final. Once.
``warn``             every apply asks "are you sure", with ``message``, unless the answer came along
``confirm_ays``      this release shows "ays" while it waits for a confirmation; ``takes``: what it takes as one,
                     "confirm_yes" (default) or "apply" with the answer "ays_yes"
``no_confirm``       this release knows no confirmation: it applies at once
``no_delete``        revisions cannot be deleted (HTTP 405)
``status``           requests whose ``METHOD path?query`` matches ``pattern`` are answered with HTTP ``status``;
                     ``times``: how often (default: always)
``echo``             requests that match ``pattern`` end in HTTP 500, and the answer holds the request and its login
``login_expires``    after ``requests`` further requests the login is refused (HTTP 401)
``roce_facts``       ``facts`` are put over what is shown of RoCE in force
``silent``           connections are accepted and nothing is answered
``not_in_force``     changes whose ``nv set`` line matches ``pattern`` are applied on paper only
``exception``        ``text`` stands in the exception list of RoCE
``link_down``        the cable of ``port`` is broken
``stuck_links``      links that bounce do not come up again
``foreign_apply``    somebody else applies a change as soon as a revision is opened, or right after the first request
                     whose ``METHOD path?query`` matches ``pattern``. Fires once.
``foreign_config``   at once: somebody else has applied and saved ``tree``
``foreign_staged``   at once: somebody else stages a change and does not apply it
``foreign_unsaved``  at once: somebody else has applied a change and not saved it
``foreign_confirm``  at once: somebody else's revision waits for its confirmation, for ``seconds`` (default 600)
``reload``           at once: power cycle, the start-up configuration becomes the applied one
===================  =========================================================================================
"""

from __future__ import annotations

import re
from typing import Any

IMMEDIATE = frozenset({"foreign_config", "foreign_staged", "foreign_unsaved", "foreign_confirm", "reload"})
NEEDS = {
    "cut_after": "requests",
    "slow_apply": "seconds",
    "end_in": "state",
    "warn": "message",
    "status": "status",
    "not_in_force": "pattern",
    "exception": "text",
    "link_down": "port",
    "foreign_config": "tree",
    "login_expires": "requests",
    "roce_facts": "facts",
}
KNOWN = IMMEDIATE | frozenset(NEEDS)
KNOWN |= {"no_confirm", "no_delete", "silent", "stuck_links", "foreign_apply", "confirm_ays", "echo"}


class Faults:
    """The faults that are active, newest last."""

    def __init__(self) -> None:
        self._active: list[dict[str, Any]] = []

    def clear(self) -> None:
        self._active = []

    def inject(self, fault: dict[str, Any]) -> None:
        name = fault.get("name")
        if name not in KNOWN:
            raise ValueError(f"unknown fault {name!r}; known: {', '.join(sorted(KNOWN))}")
        if name in NEEDS and NEEDS[name] not in fault:
            raise ValueError(f"fault {name!r} needs {NEEDS[name]!r}")
        try:
            re.compile(fault.get("pattern", ""))
        except re.error as error:
            raise ValueError(f"fault {name!r}: no regular expression: {error}") from None
        if name not in IMMEDIATE:
            self._active.append(dict(fault))

    def get(self, name: str, text: str | None = None) -> dict[str, Any] | None:
        """The newest active fault of this name (whose pattern, if it has one, is found in ``text``)."""
        for fault in self._active[::-1]:
            if fault["name"] == name and (text is None or re.search(fault.get("pattern", ""), text)):
                return fault
        return None

    def all(self, name: str) -> list[dict[str, Any]]:
        return [fault for fault in self._active if fault["name"] == name]

    def spend(self, fault: dict[str, Any]) -> None:
        self._active = [other for other in self._active if other is not fault]

    def as_json(self) -> list[dict[str, Any]]:
        return [dict(fault) for fault in self._active]
