"""The clock of tests that wait for nothing."""

from __future__ import annotations


class Clock:
    """Time passes only where somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
