"""The progress of a running job, from what it has printed so far. Pure.

Reads the lines of tf_cnn_benchmarks (also as this collection's ResNet-50 prints them) and ``ROCEMESH-PROGRESS {json}``
with "stage", "done", "of" and, where they have a meaning, "what" (is being done now) and "img_s". Lines it does not
know say nothing about progress.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from ..readers.tags import Demultiplexer

MARK = "ROCEMESH-PROGRESS "
_STEPS = re.compile(r"^Num batches:\s+(\d+)$")
STEP = re.compile(r"^(\d+)\s+images/sec: (\d+(?:\.\d+)?)\b")
_TOTAL = re.compile(r"^total images/sec: (\d+(?:\.\d+)?)$")


class Progress:
    """``stage``: what the job does; ``done`` of ``of`` (0: unknown) steps of it; ``images_per_second``: of all ranks
    that have said a speed, as last printed; None as long as no rank has."""

    def __init__(self) -> None:
        self.stage = "starting"
        self.what = ""
        self.done = 0
        self.of = 0
        self._steps = 0
        self._speeds: dict[int | None, float] = {}
        self._total: float | None = None
        self._begun = 0.0  # seconds at the beginning of this stage
        self._reached = 0.0  # seconds when ``done`` was said
        self._lines = Demultiplexer()

    @property
    def images_per_second(self) -> float | None:
        if self._total is not None:
            return self._total
        return sum(self._speeds.values()) if self._speeds else None

    @property
    def ranks(self) -> int:
        """How many ranks the speed comes from."""
        return len(self._speeds)

    def feed(self, text: str, seconds: float) -> None:
        """``text``: what was printed since the last call; ``seconds``: since the start of the job."""
        for line in self._lines.lines(text):
            words = line.text.strip()
            if words.startswith(MARK):
                self._marked(words[len(MARK) :], seconds)
            elif words == "Running warm up":
                self._enter("warm-up", 0, seconds)
            elif words == "Done warm up":
                if self.stage != "training":
                    self._enter("training", self._steps, seconds)
            elif match := _STEPS.match(words):
                self._steps = int(match[1])
            elif match := STEP.match(words):
                if self.stage != "training":
                    self._enter("training", self._steps, seconds)
                self._speeds[line.rank] = float(match[2])
                self._reach(int(match[1]), seconds)
            elif match := _TOTAL.match(words):
                self._total = float(match[1])
                self.stage = "ending"

    def remaining(self, seconds: float) -> float | None:
        """Seconds until the end of this stage if it goes on as it went; None if that is not known."""
        if not self.done or self.done > self.of:
            return None
        per_step = (self._reached - self._begun) / self.done
        return max(0.0, per_step * (self.of - self.done) - (seconds - self._reached))

    def _marked(self, text: str, seconds: float) -> None:
        try:
            said: Any = json.loads(text)
            stage, done, of = str(said["stage"]), int(said["done"]), int(said["of"])
            what = str(said.get("what") or "")
            speed = said.get("img_s")
            speed = None if speed is None else float(speed)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            return  # a line of another program, or cut off: no news
        if stage != self.stage or of != self.of or done < self.done:
            self._enter(stage, of, seconds)
        self.what = what
        self._total = speed if speed is not None and math.isfinite(speed) else None
        if done:
            self._reach(done, seconds)

    def _enter(self, stage: str, of: int, seconds: float) -> None:
        self.stage, self.what, self.of, self.done = stage, "", of, 0
        self._begun = self._reached = seconds
        self._total = None
        self._speeds.clear()

    def _reach(self, done: int, seconds: float) -> None:
        if done > self.done:
            self.done, self._reached = done, seconds


def clock(seconds: float) -> str:
    """75 -> 1:15, 3700 -> 1:01:40"""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def describe(progress: Progress, seconds: float, expected: float = 0.0, limit: float = 0.0) -> str:
    """One line for a person. ``expected``: seconds that the whole job took before, 0: unknown; ``limit``: at most."""
    parts = [progress.stage]
    if progress.of:
        parts[0] += f" {progress.done}/{progress.of}"
    if progress.what:
        parts[0] += f" ({progress.what})"
    remaining = progress.remaining(seconds)
    if remaining is not None:
        parts.append(f"{clock(seconds)} of about {clock(seconds + remaining)}")
    elif expected:
        parts.append(f"{clock(seconds)} of about {clock(expected)} (as the last time)")
    else:
        parts.append(clock(seconds) + (f" (at most {clock(limit)})" if limit else ""))
    speed = progress.images_per_second
    if speed is not None:
        ranks = f" ({progress.ranks} ranks)" if progress.ranks > 1 else ""
        parts.append(f"{speed:.1f} images/s{ranks}")
    return ", ".join(parts)
