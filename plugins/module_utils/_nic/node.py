# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every reader of a node has: its name, its time limit, and all that touches the outside. Runs on Python 3.8."""

from __future__ import annotations

from .transport import Finished, Run, Sysfs, Which, find_program, run_command


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

    def miss(self, what: str, why: str, remedy: str) -> None:
        """Note what could not be read."""
        raise NotImplementedError

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
