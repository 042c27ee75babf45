"""What NVIDIA and Broadcom say of GPU boards with NVSwitches in VMs of ESX: one table with sources, support.yml. Pure.

docs/gpu-support.md is made from it (`python -m tests.unit.site.gpu_support`); preflight prints the sentences for a VM
that sees NVSwitches. What no page says is unknown, and nothing is refused unless both vendors refuse it.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from pathlib import Path
from typing import Sequence

from .. import _yaml_files as yaml_files

PAGE = "docs/gpu-support.md"
BOARDS = ("A100", "H100", "H800", "H200", "B200", "B300")  # HGX, eight GPUs
RELEASES = ("8.0U3", "9.0", "9.1")
FIXED, DYNAMIC, ENHANCED, VGPU, GROUP = "Fixed", "Dynamic", "Enhanced DirectPath", "vGPU", "device group"
PASSTHROUGH = (FIXED, DYNAMIC, ENHANCED)
YES, NO, UNKNOWN = "supported", "not supported", "unknown"
_VENDORS = ("NVIDIA", "Broadcom")


@dataclasses.dataclass(frozen=True)
class Statement:
    """``date``: of the page where it has one, else of the day on which it was read (``read``)."""

    vendor: str
    verdict: str
    text: str
    address: str
    date: str
    attachments: Sequence[str]
    read: bool = False
    boards: Sequence[str] = BOARDS
    releases: Sequence[str] = RELEASES

    def line(self) -> str:
        when = f"read {self.date}" if self.read else self.date
        return f"{self.vendor}: {self.verdict} ({self.text}; {self.address}, {when})"


@functools.lru_cache(maxsize=1)
def statements() -> tuple[Statement, ...]:
    return tuple(Statement(**row) for row in yaml_files.read(Path(__file__).with_suffix(".yml"))["statements"])


@dataclasses.dataclass(frozen=True)
class Row:
    board: str
    release: str
    attachment: str
    nvidia: Statement | None
    broadcom: Statement | None

    @property
    def is_refused(self) -> bool:
        """Only what both vendors refuse."""
        return all(each is not None and each.verdict == NO for each in (self.nvidia, self.broadcom))

    def line(self) -> str:
        """Both vendors' sentences, each with its address."""
        said = [
            statement.line() if statement else f"{vendor}: {UNKNOWN} (no statement was found)"
            for vendor, statement in zip(_VENDORS, (self.nvidia, self.broadcom))
        ]
        return f"HGX {self.board}, ESX {self.release}, {self.attachment}. " + ". ".join(said)


def row(board: str, release: str, attachment: str) -> Row:
    """The row of a combination. Raises ValueError for one that the table does not have."""
    if board not in BOARDS or release not in RELEASES or attachment not in (*PASSTHROUGH, VGPU, GROUP):
        raise ValueError(f"no such combination: {board}, {release}, {attachment}")
    said = {
        each.vendor: each
        for each in reversed(statements())
        if board in each.boards and release in each.releases and attachment in each.attachments
    }
    return Row(board, release, attachment, *map(said.get, _VENDORS))


def board_of(gpu_name: str) -> str:
    """The board of a GPU by the name that its driver gives it, or "" if no board of the table has it."""
    match = re.search(rf"\b({'|'.join(BOARDS)})\b", gpu_name)
    return match.group(1) if match else ""


def passthrough_line(board: str) -> str:
    """Both vendors' sentences on passthrough of a board, where they are the same for every release."""
    said = {row(board, release, FIXED).line().partition(f", {FIXED}. ")[2] for release in RELEASES}
    if len(said) > 1:
        return " ".join(row(board, release, FIXED).line() for release in RELEASES)
    return f"HGX {board}, ESX {', '.join(RELEASES)}, passthrough. {said.pop()}"
