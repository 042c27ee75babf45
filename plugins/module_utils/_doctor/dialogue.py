"""Question after question until one cause is left: which command next, what was given, when it ends.

The only I/O is reading the files that the person names, and what ``prompt`` does.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from pathlib import Path
from typing import Any, Callable, Mapping

from .._judge.packs.model import CONTAINER, GUEST, JOB
from . import doctor
from .catalogue import catalogue

MOST = 12  # questions of a session
SETTLED, NO_MORE = "one cause is left", "nothing left to ask"
NO_TERMINAL, STOPPED = "no terminal", "stopped by the person"
_HEAD = re.compile(r"^([\w.-]+) \| (?:CHANGED|SUCCESS|FAILED)\b.*$\n?", re.MULTILINE)
_NAME = re.compile(r"[^\w.-]+")


@dataclasses.dataclass
class Talk:
    """``asked``: names of the commands that were asked for; ``ended``: why it is over."""

    answer: dict[str, Any]
    asked: list[str]
    ended: str


def talk(bundle: str | Path | None, evidence: Mapping[str, str], prompt: Callable[[str], str | None]) -> Talk:
    """``prompt`` shows a text and returns what the person typed: name of a file with the output, or the output itself;
    an empty line: it printed nothing; ``q``: no more. None: there is no terminal. Raises OSError for the bundle."""
    texts = dict(evidence)
    asked: list[str] = []
    while True:
        found = doctor.diagnose(bundle, texts, asked)
        ready = [question for question in found["next"] if question["look"] and question["look"] not in asked]
        if found["settled"]:
            return Talk(found, asked, SETTLED)
        if not ready or len(asked) >= MOST:
            return Talk(found, asked, NO_MORE)
        typed = prompt(question_text(found, ready[0], len(asked) + 1))
        if typed is None:
            return Talk(found, asked, NO_TERMINAL)
        if typed.strip() == "q":
            return Talk(found, asked, STOPPED)
        asked.append(ready[0]["look"])
        given = _given(typed)
        for name, text in _by_host(given).items():
            texts[_piece(ready[0], found, name)] = text


def question_text(found: Mapping[str, Any], question: Mapping[str, Any], number: int) -> str:
    """What the person reads."""
    left = ", ".join(dict.fromkeys(finding["cause"] for finding in found["findings"][:4])) or "none yet"
    return (
        f"\nCandidates: {left}\n"
        f"Question {number}. Run {question['where']}:\n\n    {question['run']}\n\n"
        "Give the name of a file with its output, or paste it; end with Ctrl-D. Nothing: it printed nothing. q: stop.\n"
    )


def _given(typed: str) -> str:
    """The file that is named, or what was pasted."""
    line = typed.strip()
    if "\n" in line or not 0 < len(line) < 4096:
        return typed
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: no such user
        path = Path(line).expanduser()
        if path.is_file():
            with path.open("rb") as stream:
                return stream.read(64 << 20).decode("utf-8", "replace")
    return typed


def _by_host(given: str) -> dict[str, str]:
    """Host -> its part, where ``ansible -m shell`` printed it; else the whole, of no host."""
    whole, *parts = _HEAD.split(given)
    return dict(zip(parts[::2], parts[1::2])) or ({"": whole} if whole.strip() else {})


def _piece(question: Mapping[str, Any], found: Mapping[str, Any], host: str) -> str:
    """Name of the piece that the output becomes: of the machine that said it, or that is suspected."""
    look = next(look for look in catalogue().looks if look.id == question["look"])
    hosts = [host for finding in found["findings"][:1] for host in finding["hosts"]]
    host = _NAME.sub("-", host or (hosts[0] if hosts and look.place in (GUEST, CONTAINER) else "unnamed"))
    file = look.pieces[0] if look.pieces[0] != "*" else "log"
    return f"{look.place}/{file}.txt" if look.place == JOB else f"{look.place}/{host}/{file}.txt"
