"""The table of Xids (xids.yml): what each means, what is at fault, and whether the GPU goes on.

The fabric check, the doctor, the cause of a failed run and the report all read it.
"""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Mapping

from .. import _yaml_files as yaml_files

CATALOGUE = "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"

APPLICATION, DRIVER = "application", "driver"  # parts at fault, beside "GPU" and "NVLink"
# Severity, as the action that the catalogue asks for at once.
NOTHING, RESTART_APP, RESET_GPU, RESTART_HOST = "none", "restart the program", "reset the GPU", "restart the host"


@dataclasses.dataclass(frozen=True)
class Xid:
    number: int
    means: str
    at_fault: str
    action: str
    source: str = CATALOGUE

    @property
    def goes_on(self) -> bool:
        """Whether the GPU takes the next program as it is."""
        return self.action in (NOTHING, RESTART_APP)

    @property
    def cause(self) -> str:
        """The cause that the doctor and a failed run name for it; '' for what is only recorded."""
        if self.action == NOTHING:
            return ""
        if self.at_fault == APPLICATION:
            return "app_illegal_access"
        if self.goes_on:
            return "gpu_error_contained"
        return "driver_bug" if self.at_fault == DRIVER else "gpu_fault"


@functools.lru_cache(maxsize=None)
def table() -> Mapping[int, Xid]:
    """Raises PackError, and ImportError without PyYAML."""
    return {number: Xid(number, **row) for number, row in yaml_files.read(Path(__file__).with_suffix(".yml")).items()}


def stops(number: int) -> bool:
    """Whether the GPU is of no use until a user acts."""
    return number in table() and not table()[number].goes_on


def sentence(number: int) -> str:
    """What a reader of a report has to know of one Xid."""
    entry = table().get(number)
    if entry is None:
        return f"not in NVIDIA's catalogue as known here ({CATALOGUE}), so nothing is concluded from it"
    if entry.action == NOTHING:
        return f"{entry.means}: recorded, the GPU goes on"
    if entry.goes_on:
        fault = "mostly a fault of the program" if entry.at_fault == APPLICATION else f"a fault of the {entry.at_fault}"
        return f"{entry.means}: {fault} that ended the program, the GPU goes on"
    return f"{entry.means}: a fault of the {entry.at_fault}; {entry.action}"


def numbers(cause: str, at_fault: str = "") -> str:
    """The alternatives of a regular expression: Xids with this cause, and with this part at fault if one is named."""
    found = (entry for entry in table().values() if entry.cause == cause and at_fault in ("", entry.at_fault))
    return "|".join(str(entry.number) for entry in found)
