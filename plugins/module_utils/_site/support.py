"""What NVIDIA and Broadcom say of GPU boards with NVSwitches in VMs of ESX: one table with sources. Pure.

docs/gpu-support.md is made from it (`python -m tests.unit.site.gpu_support`); preflight prints the sentences for a VM
that sees NVSwitches. What no page says is unknown, and nothing is refused unless both vendors refuse it.
"""

from __future__ import annotations

import dataclasses
import re

PAGE = "docs/gpu-support.md"
BOARDS = ("A100", "H100", "H800", "H200", "B200", "B300")  # HGX, eight GPUs
RELEASES = ("8.0U3", "9.0", "9.1")
FIXED, DYNAMIC, ENHANCED, VGPU, GROUP = "Fixed", "Dynamic", "Enhanced DirectPath", "vGPU", "device group"
PASSTHROUGH = (FIXED, DYNAMIC, ENHANCED)
GUEST, CRX, NOT_SAID = "guest", "CRX", "not said"
YES, NO, UNKNOWN = "supported", "not supported", "unknown"


@dataclasses.dataclass(frozen=True)
class Statement:
    """``date``: of the page where it has one, else of the day on which it was read (``read``)."""

    vendor: str
    verdict: str
    text: str
    address: str
    date: str
    read: bool
    boards: tuple[str, ...]
    releases: tuple[str, ...]
    attachments: tuple[str, ...]

    def line(self) -> str:
        when = f"read {self.date}" if self.read else self.date
        return f"{self.vendor}: {self.verdict} ({self.text}; {self.address}, {when})"


_NVIDIA, _BROADCOM = "NVIDIA", "Broadcom"
_AIE = "https://docs.nvidia.com/ai-enterprise"
STATEMENTS = (
    Statement(
        _NVIDIA,
        NO,
        "AI Enterprise 8: no GPU passthrough on systems with NVSwitch under vSphere, no release named",
        f"{_AIE}/release-8/8.0/infra-software/vgpu/features/nvswitch.html",
        "2026-11-24",
        True,
        BOARDS,
        RELEASES,
        PASSTHROUGH,
    ),
    Statement(
        _NVIDIA,
        YES,
        "AI Enterprise 8: time-sliced vGPUs on Ampere from ESXi 8.0 U1, on Hopper from 8.0 U2",
        f"{_AIE}/release-8/latest/infra-software/vgpu/features/nvswitch.html",
        "2026-11-23",
        True,
        ("A100", "H100", "H800", "H200"),
        RELEASES,
        (VGPU,),
    ),
    Statement(
        _NVIDIA,
        YES,
        "AI Enterprise 9: NVSwitch on B200 and B300 needs Fabric Manager CRX (Infra 8.2, not 9.0); no ESX named",
        f"{_AIE}/release-9/latest/infra-software/vgpu/features/nvswitch.html",
        "2026-11-24",
        True,
        ("B200", "B300"),
        RELEASES,
        (VGPU,),
    ),
    Statement(
        _NVIDIA,
        YES,
        "AI Enterprise 8: device groups for vGPUs, in vSphere 9.0; no board named",
        f"{_AIE}/release-8/8.0/infra-software/vgpu/features/device-groups.html",
        "2026-11-23",
        True,
        BOARDS,
        ("9.0",),
        (GROUP,),
    ),
    Statement(
        _BROADCOM,
        YES,
        "DirectPath for GPUs announced, with HGX H100, NVSwitch and GPUDirect RDMA over RoCEv2; no release named",
        "https://www.pubt.io/view/A860EE42D075E4488BE5DF23238C0F1CD5672257",
        "2025-09-16",
        False,
        ("H100",),
        RELEASES,
        PASSTHROUGH,
    ),
    Statement(
        _BROADCOM,
        YES,
        "VCF 9.0: several full vGPU profiles of an H100 in one VM",
        "https://blogs.vmware.com/cloud-foundation/2025/06/19/"
        "viewing-usage-capacity-for-virtual-gpus-in-vmware-cloud-foundation-9-0/",
        "2025-06-19",
        False,
        ("H100",),
        ("9.0",),
        (VGPU,),
    ),
)


@dataclasses.dataclass(frozen=True)
class Row:
    board: str
    release: str
    attachment: str
    fabric_manager: str
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
            for vendor, statement in ((_NVIDIA, self.nvidia), (_BROADCOM, self.broadcom))
        ]
        return f"HGX {self.board}, ESX {self.release}, {self.attachment}. " + ". ".join(said)


def row(board: str, release: str, attachment: str) -> Row:
    """The row of a combination. Raises ValueError for one that the table does not have."""
    if board not in BOARDS or release not in RELEASES or attachment not in (*PASSTHROUGH, VGPU, GROUP):
        raise ValueError(f"no such combination: {board}, {release}, {attachment}")

    def of(vendor: str) -> Statement | None:
        for each in STATEMENTS:
            named = board in each.boards and release in each.releases and attachment in each.attachments
            if each.vendor == vendor and named:
                return each
        return None

    place = GUEST if attachment in PASSTHROUGH else CRX if board in ("B200", "B300") else NOT_SAID
    return Row(board, release, attachment, place, of(_NVIDIA), of(_BROADCOM))


def rows() -> tuple[Row, ...]:
    """Every combination of which a vendor says something."""
    found = (
        row(board, release, attachment)
        for board in BOARDS
        for release in RELEASES
        for attachment in (*PASSTHROUGH, VGPU, GROUP)
    )
    return tuple(each for each in found if each.nvidia or each.broadcom)


def board_of(gpu_name: str) -> str:
    """The board of a GPU by the name that its driver gives it, or "" if no board of the table has it."""
    match = re.search(rf"\b({'|'.join(BOARDS)})\b", gpu_name)
    return match.group(1) if match else ""


@dataclasses.dataclass(frozen=True)
class Step:
    """A step of the guide. ``verdicts``: per release of ESX, in the order of RELEASES."""

    name: str
    verdicts: tuple[str, str, str]
    why: str
    address: str


NEEDED, NOT_NEEDED = "needed", "not needed"
_HARDWARE_22 = "https://www.vinfrastructure.it/it/?p=39307"
STEPS = (
    Step(
        "`pciPassthru.allowP2P` and `pciPassthru.RelaxACSforP2P`",
        (NEEDED, UNKNOWN, UNKNOWN),
        "hardware version 22 (ESX 9.0) brings peer-to-peer for all passthrough devices; whether the keys go is open",
        _HARDWARE_22,
    ),
    Step(
        "passthrough turned on, then a reboot of the host",
        (NEEDED, UNKNOWN, UNKNOWN),
        "API 9.1 has a mode per device (DirectPathState); whether a reboot follows is not said",
        "https://developer.broadcom.com/xapis/vsphere-web-services-api/latest/"
        "vim.host.PciPassthruInfo.DirectPathState.html",
    ),
    Step("kernel setting `atsSupport`", (NEEDED, UNKNOWN, UNKNOWN), "no page names another setting, or drops it", ""),
    Step("64-bit MMIO space of the VM", (NEEDED, UNKNOWN, UNKNOWN), "no page says what version 22 changes", ""),
    Step(
        "Fabric Manager in the guest",
        (UNKNOWN, UNKNOWN, UNKNOWN),
        "for vGPUs on B200 and B300 it runs on the host (CRX); for passthrough on ESX no page was found",
        f"{_AIE}/release-9/latest/infra-software/vgpu/features/nvswitch.html",
    ),
)


def passthrough_line(board: str) -> str:
    """Both vendors' sentences on passthrough of a board, where they are the same for every release."""
    said = {row(board, release, FIXED).line().partition(f", {FIXED}. ")[2] for release in RELEASES}
    if len(said) > 1:
        return " ".join(row(board, release, FIXED).line() for release in RELEASES)
    return f"HGX {board}, ESX {', '.join(RELEASES)}, passthrough. {said.pop()}"
