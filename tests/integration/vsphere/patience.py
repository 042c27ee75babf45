"""Connections whose limits mean the same on a machine that stands still now and then."""

from __future__ import annotations

import time

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere import power, transport


def shorten(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """What never arrived is waited for a minute in earnest."""
    for module in (transport, power):
        monkeypatch.setattr(module, "PATIENCE", seconds)


class Patience:
    """A clock that only waiting moves on: one second for each second that somebody meant to sleep, ``faster`` times as
    fast. A machine that is stopped for a while, or a simulator that is late with an answer, costs none of it, so a
    limit is a number of looks and not a race."""

    def __init__(self, faster: float) -> None:
        self._faster = faster
        self._now = 0.0

    def clock(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds / self._faster)
        self._now += max(seconds, 0.001)  # rounding must not leave anybody just before his deadline for ever


class Patient(transport.Connection):
    """As it is, but for the clock."""

    FASTER = 1.0

    def __init__(self, endpoint: transport.Endpoint) -> None:
        patience = Patience(self.FASTER)
        super().__init__(endpoint, patience.clock, patience.sleep)


class Quick(Patient):
    """A minute of patience takes three seconds."""

    FASTER = 20.0
