"""One run at a time changes an Onyx switch: a lease that every controller can read, and that expires.

The switch has no lock. A lease is a configuration file, which changes nothing that runs: its name holds when it expires
(seconds since 1970), the controller and the process that holds it. A run writes its own first and looks for others
then, so that two runs cannot miss each other; both may step back, and try again after different times. A lease of this
controller whose process is gone is none.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import re
import socket
import time
from typing import Callable, Sequence

from .._layer import ApplyError, LayerError, RefusedError
from .reading import Reader
from .transport import OnyxSession

SECONDS = 900  # longer than any run; clocks of controllers may differ by some of it
PATIENCE = 60.0
_NAME = re.compile(r"rocemesh-lease-(?P<until>\d{9,11})-(?P<controller>[0-9a-f]{8})-(?P<process>\d{1,10})")


def controller() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def write_copy(host: str, cli: OnyxSession, name: str, what: str, remedy: str) -> tuple[str, ...]:
    """Write the running configuration to a file beside the active one; the names of all files then."""
    refusal = cli.configure(f"configuration write to {name} no-switch")
    _unsaved, files = Reader(host, cli).files()
    if refusal or name not in files:
        raise ApplyError(
            f"the {what} was not written ({refusal or 'no such file afterwards'}); nothing was changed",
            host=host,
            thing=what,
            value=name,
            remedy=remedy,
            device_message=refusal,
        )
    return files


class SwitchLease:
    """Held from `take` to `release`. ``now``: seconds since 1970."""

    def __init__(self, host: str, sleep: Callable[[float], None], now: Callable[[], float] = time.time) -> None:
        self._host = host
        self._sleep = sleep
        self._now = now
        self.name = ""

    def take(self, cli: OnyxSession) -> None:
        """Raises `RefusedError` if another run holds one and does not end, `ApplyError` if the switch takes none."""
        waited = 0.0
        while True:
            name = f"rocemesh-lease-{int(self._now()) + SECONDS}-{controller()}-{os.getpid()}"
            files = write_copy(self._host, cli, name, "lease", "check the file system of the switch")
            self.name = name
            others = self._others(files)
            for old in (each for each in files if _NAME.fullmatch(each) and each not in (name, *others)):
                cli.configure(f"configuration delete {old}")
            if not others:
                return
            self.release(cli)
            if waited >= PATIENCE:
                raise RefusedError(
                    f"another run changes this switch (until {self._until(others[0])} at the latest)",
                    host=self._host,
                    thing="lease",
                    value=others[0],
                    remedy="let it end, then run this again; if it is gone, configuration delete ends its lease",
                )
            pause = 2.0 + (int(controller(), 16) + os.getpid()) % 5
            self._sleep(pause)
            waited += pause

    def release(self, cli: OnyxSession) -> None:
        """Whatever ended the run; a lease that cannot be taken away expires."""
        name, self.name = self.name, ""
        if name:
            with contextlib.suppress(LayerError):
                cli.configure(f"configuration delete {name}")

    def _others(self, files: Sequence[str]) -> list[str]:
        found = [match for match in map(_NAME.fullmatch, files) if match and match[0] != self.name]
        return [match[0] for match in found if int(match["until"]) > self._now() and not self._is_gone(match)]

    @staticmethod
    def _is_gone(lease: re.Match[str]) -> bool:
        """Whether it is of this controller, and of a process that has ended, or of this one."""
        if lease["controller"] != controller():
            return False
        try:
            os.kill(int(lease["process"]), 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return int(lease["process"]) == os.getpid()

    @staticmethod
    def _until(name: str) -> str:
        match = _NAME.fullmatch(name)
        seconds = int(match["until"]) if match else 0
        return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
