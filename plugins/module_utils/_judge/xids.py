"""The table of Xids: what each means, what is at fault, and whether the GPU goes on. Pure data.

The fabric check, the doctor, the cause of a failed run and the report all read it. An Xid that NVIDIA's catalogue does
not name, or names without an action, has no row: none of them may decide anything from it.
"""

from __future__ import annotations

import dataclasses
from typing import Iterable

CATALOGUE = "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"
# For what the catalogue calls unused, the list of releases before it.
LIST = "https://docs.nvidia.com/deploy/xid-errors/index.html"

APPLICATION, GPU, NVLINK, DRIVER = "application", "GPU", "NVLink", "driver"
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


XIDS: dict[int, Xid] = {
    entry.number: entry
    for entry in (
        Xid(8, "GPU stopped processing", APPLICATION, RESTART_APP),
        Xid(13, "graphics engine exception", APPLICATION, RESTART_APP),
        Xid(31, "GPU memory page fault", APPLICATION, RESTART_APP),
        Xid(43, "program ended after a fault of its own", APPLICATION, RESTART_APP),
        Xid(45, "program was ended, or another Xid ended it", APPLICATION, RESTART_APP),
        Xid(46, "GPU stopped processing", GPU, RESET_GPU),
        Xid(48, "double bit ECC error", GPU, RESET_GPU),
        Xid(54, "auxiliary power is not connected", GPU, RESTART_HOST),
        Xid(62, "internal microcontroller halted", GPU, RESET_GPU),
        Xid(63, "row remapping or page retirement recorded", GPU, NOTHING),
        Xid(64, "row remapping or page retirement failed", GPU, RESET_GPU),
        Xid(68, "video decoder exception", APPLICATION, RESTART_APP),
        Xid(69, "graphics engine class error", APPLICATION, RESTART_APP),
        Xid(74, "NVLink error", NVLINK, RESET_GPU),
        Xid(79, "GPU has fallen off the bus", GPU, RESTART_HOST),
        Xid(92, "high rate of single bit ECC errors", GPU, NOTHING),
        Xid(94, "contained memory error", GPU, RESTART_APP),
        Xid(95, "uncontained memory error", GPU, RESET_GPU),
        Xid(109, "context switch timeout", DRIVER, RESET_GPU),
        Xid(110, "security fault", GPU, RESET_GPU),
        Xid(119, "GSP RPC timeout", DRIVER, RESET_GPU),
        Xid(120, "GSP error", DRIVER, RESET_GPU),
        Xid(121, "corrected error of the C2C link", NVLINK, NOTHING),
        Xid(123, "write by the power management unit failed", GPU, RESET_GPU, LIST),
        Xid(136, "NVLink training failed", NVLINK, RESET_GPU),
        Xid(137, "illegal access of a peer over NVLink", APPLICATION, RESTART_APP),
        Xid(140, "unrecovered ECC error", GPU, RESET_GPU),
        Xid(143, "GPU initialization error", GPU, RESET_GPU),
        Xid(144, "NVLink SAW error", NVLINK, RESET_GPU),
        Xid(145, "NVLink RLW error", NVLINK, RESET_GPU),
        Xid(146, "NVLink TLW error", NVLINK, RESET_GPU),
        Xid(147, "NVLink TREX error", NVLINK, RESET_GPU),
        Xid(148, "NVLink NVLPW_CTRL error", NVLINK, RESET_GPU),
        Xid(149, "NVLink NETIR error", NVLINK, RESET_GPU),
        Xid(150, "NVLink MSE error", NVLINK, RESET_GPU),
        Xid(151, "key rotation error", GPU, RESTART_HOST),
        Xid(154, "recovery action of another Xid", GPU, NOTHING),
        Xid(155, "NVLink error defined by software", NVLINK, RESET_GPU),
        Xid(156, "resource retired", GPU, RESET_GPU),
        Xid(157, "resource could not be retired", GPU, NOTHING),
        Xid(158, "fatal timeout", GPU, RESET_GPU),
        Xid(160, "memory channel retired", GPU, NOTHING),
        Xid(161, "memory channel could not be retired", GPU, NOTHING),
        Xid(171, "uncorrectable DRAM error", GPU, RESET_GPU),
        Xid(172, "uncorrectable SRAM error", GPU, RESET_GPU),
    )
}


def stops(number: int) -> bool:
    """Whether the GPU is of no use until a user acts."""
    return number in XIDS and not XIDS[number].goes_on


def sentence(number: int) -> str:
    """What a reader of a report has to know of one Xid."""
    entry = XIDS.get(number)
    if entry is None:
        return f"not in NVIDIA's catalogue as known here ({CATALOGUE}), so nothing is concluded from it"
    if entry.action == NOTHING:
        return f"{entry.means}: recorded, the GPU goes on"
    if entry.goes_on:
        fault = "mostly a fault of the program" if entry.at_fault == APPLICATION else f"a fault of the {entry.at_fault}"
        return f"{entry.means}: {fault} that ended the program, the GPU goes on"
    return f"{entry.means}: a fault of the {entry.at_fault}; {entry.action}"


def numbers(causes: Iterable[str], at_fault: Iterable[str] = (APPLICATION, GPU, NVLINK, DRIVER)) -> str:
    """The alternatives of a regular expression: Xids with these causes."""
    wanted, parts = set(causes), set(at_fault)
    return "|".join(str(entry.number) for entry in XIDS.values() if entry.cause in wanted and entry.at_fault in parts)
