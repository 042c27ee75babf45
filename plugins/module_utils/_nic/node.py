"""What every reader of a node has: its name, its time limit, and all that touches the outside. Runs on Python 3.8."""

from __future__ import annotations

import os
from typing import Any, Callable, TypeVar

from .._layer import ParseError
from .transport import Finished, Run, Sysfs, Which, find_program, run_command

REPORT = "report the quoted text; nothing was guessed from it"
Parsed = TypeVar("Parsed")


def names_in(folder: str) -> list[str]:
    """Sorted; none where it is not there or cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


class Node:
    """One node. Everything that touches the outside comes in through the constructor; ``timeout``: of a command."""

    silent = "look at dmesg"  # what to do if a program does not answer

    def __init__(
        self,
        host: str,
        *,
        timeout: float = 20.0,
        run: Run = run_command,
        which: Which = find_program,
        sysfs: Sysfs | None = None,
    ) -> None:
        self.host = host
        self.timeout = timeout
        self.sysfs = sysfs or Sysfs()
        self.run = run
        self.which = which
        self.unreadable: list[dict[str, str]] = []

    def miss(self, what: str, why: str, remedy: str) -> None:
        """Note what could not be read, the error as it was seen, and what to do about it."""
        self.unreadable.append({"what": what, "why": why, "remedy": remedy})

    def tool(self, program: str, *arguments: str) -> Finished | None:
        """None: not installed, or it never answered (which is noted)."""
        path = self.which(program)
        if path is None:
            return None
        try:
            return self.run([path, *arguments], self.timeout)
        except TimeoutError:
            self.miss(program, f"no answer within {self.timeout:g} s", self.silent)
        except OSError as error:
            self.miss(program, str(error), "reinstall the package that the program belongs to")
        return None

    def output(self, program: str, *arguments: str) -> str:
        """What it printed; "" where it is not there, or failed."""
        done = self.tool(program, *arguments)
        return done.out if done is not None and done.code == 0 else ""

    def asked(
        self, what: str, remedy: str, parse: Callable[[str, str], Parsed], program: str, *arguments: str
    ) -> Parsed | None:
        """What it says, parsed. None, which is noted: it is not there, failed, or prints something new."""
        done = self.tool(program, *arguments)
        if done is not None and done.code == 0:
            return self.parsed(what, parse, done.out, self.host)
        self.miss(what, f"{program} is not installed" if done is None else f"{program}: {self.said(done)}", remedy)
        return None

    def parsed(self, what: str, parse: Callable[..., Parsed], *arguments: Any) -> Parsed | None:
        try:
            return parse(*arguments)
        except ParseError as error:
            self.miss(what, str(error), REPORT)
            return None

    @staticmethod
    def said(done: Finished) -> str:
        lines = (done.err.strip() or done.out.strip()).splitlines()
        return f"exit code {done.code}: {lines[0] if lines else 'no words'}"
