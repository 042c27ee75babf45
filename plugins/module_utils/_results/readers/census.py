"""What a log is that has nothing of what was looked for: by its size, its first and its last bytes. Pure."""

from __future__ import annotations

import re

from .tables import Patterns

_SAMPLE = 1 << 16
_FORMS = Patterns("programs.yml")
# What is in each line that says that a process failed; see `died` of programs.yml.
DEATHS = ["xit", "died from", "erminate", ": error: ", "BAD TERMINATION", "Killed", "core dumped", "]: Traceback"]


def identify(sample: bytes) -> str | None:
    """What wrote this, if it is known; only the program's name, for a message."""
    text, start = sample.decode("latin-1"), sample.lstrip()[:512].decode("latin-1").lower()
    marks = (program for words, program in _FORMS.table["magic"].items() if start.startswith(words.lower()))
    found = (program for words, program in _FORMS.table["words"].items() if words in text)
    return next(marks, None) or next(found, None)


def died(text: str) -> str:
    """How this line says that a process failed; empty if it does not."""
    said = _FORMS["died"].search(text) if any(word in text for word in DEATHS) else None
    return said[0] if said else ""


class Census:
    """What went by: sizes, and the first and the last of it as evidence."""

    def __init__(self) -> None:
        self.bytes = 0
        self.lines = 0
        self.nul = False
        self._head = b""
        self._tail = b""

    def add(self, piece: bytes) -> None:
        self.bytes += len(piece)
        self.lines += piece.count(b"\n")
        self.nul = self.nul or b"\0" in piece
        if len(self._head) < _SAMPLE:
            self._head += piece[: _SAMPLE - len(self._head)]
        self._tail = piece[-_SAMPLE:] if len(piece) >= _SAMPLE else (self._tail + piece)[-_SAMPLE:]

    def describe(self) -> str:
        """What was found in place of what was looked for."""
        if not self.bytes:
            return "the log is empty: the program did not start, or its output went elsewhere"
        sample = self._head + b"\n" + self._tail
        size = f"{self.bytes} bytes, {self.lines} lines"
        if program := identify(sample):
            return f"this looks like {program} ({size})"
        odd = self._head.count(b"\xff") + len(re.findall(rb"[\x01-\x06\x0e-\x1a]", self._head))
        if self.nul or odd > max(8, len(self._head) // 20):
            return f"this is binary data ({size}), beginning with {self._head[:24]!r}"
        if not sample.strip():
            return f"there is only white space ({size})"
        if failed := self.failures():
            return f"found {size}; lines with words of a failure: {failed}"
        first = next(line for line in sample.splitlines() if line.strip())
        return f"found {size}, beginning with {first.decode('utf-8', 'replace')[:120]!r}"

    def failures(self) -> str:
        """The first lines with words of a failure; what a run gets over has them, too."""
        return " | ".join(self.said("failed")[:3])

    def said(self, form: str) -> list[str]:
        """The different lines of a form in programs.yml."""
        lines = (line for line in self._sample().splitlines() if _FORMS[form].search(line))
        return [*dict.fromkeys(line.strip()[:160] for line in lines)]

    def ends(self) -> list[str]:
        """What says that the run failed; a traceback of Python does if no result is behind it."""
        ends = [*filter(None, (died(line[:2000]) for line in self._sample().splitlines())), *self.said("ended")]
        before, mark, behind = self._sample().rpartition("Traceback (most recent call last)")
        if mark and "ignored in" not in before[-200:] and not _FORMS["result"].search(behind):
            ends += _FORMS["exception"].findall(behind)[:1] or ([] if ends else [mark])
        return ends

    def _sample(self) -> str:
        return (self._head + b"\n" + self._tail).decode("utf-8", "replace")
