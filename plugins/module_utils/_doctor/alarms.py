"""Words of trouble, whatever program says them, and what takes the trouble out of a line. Pure data."""

from __future__ import annotations

import re

from .._judge.words import any_of

# What a program says when something failed or was refused, in any words. Such a line that no sign knows is never
# "healthy".
_FAILURE = (
    r"\b(?:error|errors|fail(?:ed|s|ure|ing)?|fatal|critical|panic|segfault"
    r"|segmentation fault|abort(?:ed|ing)?|killed|timed? ?out|"
    r"timeouts?|cannot|can't|could not|couldn't|unable|denied|refused|unreachable|invalid"
    r"|mismatch(?:ed)?|hangs?|hung|"
    r"stuck|stall(?:s|ed)?|traceback|exception|corrupt(?:ed|ion)?|lost|unknown symbol|no such"
    r"|not permitted|crash(?:ed|es)?|NCCL WARN|"
    r"deadlock|exceed(?:s|ed)|insufficient|bug|oops|disconnected|bad|wrong|no route|err)\b"
)
# Words that a complaint has and many harmless lines as well: advice, options, properties.
_HINT = (
    r"\b(?:warn(?:ing)?|unsupported|not supported|"
    r"slow(?:er|ly)?|degraded|worse|drops?|dropped|discard(?:s|ed)?|stops?|stopp(?:ed|ing)|missing|"
    r"reset|never|out of|down|disabled|only|instead|poor"
    r"|low(?:er)?|expected)\b"
)
_INNER = r"失败|错误|error:|\w(?:error|exception)\b"
FAILURE = re.compile(f"{_FAILURE}|{_INNER}", re.IGNORECASE)
ALARM = re.compile(f"{_FAILURE}|{_HINT}|{_INNER}", re.IGNORECASE)
NOTHING = re.compile(
    r"(?:\b0 +(?:input|output|late|short|CRC|alignment|symbol) (?:errors?|collisions?|discards?|frame)\b"
    r"|\b0 +deferred\b"
    r"|\b0 +(?:discard|error|drop\w*|pause|unknown\w*) packets\b"
    r"|\b0 (?:errors?|failures?|failed|out of bounds|warnings?|drops?|dropped|discards?|timeouts?)\b"
    r"|\b(?:errors|failures|warnings|(?:failed|lost|dropped) \w+s) 0\b(?![.:,]\d)"
    r"|(?:errors?|dropped|drops?|discards?|failures?|lost|timeouts?|out_of_sequence"
    r"|\b\w{0,60}?(?:err|drop|discard|down|lost|exceeded)\w{0,60})"
    r"(?: packets)?[\"']?\s*[:=]\s*0\b|out of bounds values\s*:\s*0 ok|no errors?\b|without errors?\b"
    r"|errors? ?: ?none|not active|\b(?:failure|error|drop|discard|timeout|retry) count\s*[:=]\s*0\b"
    # Levels of messages that a program is set to, and what its author says is no failure.
    r"|\b\w*(?:threshold|level|verbosity)[\"']?\s*[:=]\s*[\"']?(?:debug|info|warn(?:ing)?|error|fatal|critical)\b"
    r"|\bnot (?:a failure|an? (?:fatal )?error)\b"
    # Names of columns, of functions and of good ends.
    r"|\bbusbw +error\b|\bwarnings\.warn\(|:stop\]|\bTrainer\.fit` stopped: .*\breached\b|\btop-?\d error\b)",
    re.IGNORECASE,
)

# A line that alarms begins a word with one of these, or has one of _INSIDE: looked for before the pattern is asked.
ALARM_WORDS = any_of(re.compile(f"{_FAILURE}|{_HINT}", re.IGNORECASE))
# Each part of NOTHING has one of these, which are found sooner.
_NONE = re.compile(
    r"\b0 |[:=]\s*0\b| 0\b|\b(?:no|without) error|none|not active|busbw|warnings\.|:stop\]|stopped: |top-?\d"
    r"|threshold|level|verbosity|\bnot an? ",
    re.IGNORECASE,
)

# Within a word, or in a script without spaces.
_INSIDE = ("error", "exception", "失败", "错误")
_BEGINS = re.compile(rf"\b(?:{'|'.join(ALARM_WORDS)})")


def alarms(text: str) -> bool:
    """Whether ``ALARM`` finds something; most lines are spared the question."""
    lower = text.lower()
    asked = any(word in lower for word in _INSIDE) or _BEGINS.search(lower) is not None
    return asked and ALARM.search(text) is not None


def alarms_still(text: str) -> tuple[bool, bool]:
    """As ``alarms``, of the text without what takes the trouble out of it; and whether it says that something failed."""
    bare = NOTHING.sub("", text) if _NONE.search(text) else text
    return alarms(bare), FAILURE.search(bare) is not None
