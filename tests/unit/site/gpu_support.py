"""`PYTHONPATH=collections python -m tests.unit.site.gpu_support` writes docs/gpu-support.md."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ansible_collections.rocemesh.multinode.plugins.module_utils._site.support import (
    BOARDS,
    GROUP,
    PAGE,
    PASSTHROUGH,
    RELEASES,
    UNKNOWN,
    VGPU,
    Row,
    Statement,
    row,
    statements,
)

FILE = Path(__file__).parents[3] / PAGE


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
        "https://docs.nvidia.com/ai-enterprise/release-9/latest/infra-software/vgpu/features/nvswitch.html",
    ),
)


def rows() -> tuple[Row, ...]:
    """Every combination of which a vendor says something."""
    found = (
        row(board, release, attachment)
        for board in BOARDS
        for release in RELEASES
        for attachment in (*PASSTHROUGH, VGPU, GROUP)
    )
    return tuple(each for each in found if each.nvidia or each.broadcom)


def _fabric_manager(row: Row) -> str:
    """Where it runs."""
    return "guest" if row.attachment in PASSTHROUGH else "CRX" if row.board in ("B200", "B300") else "not said"


def _cell(statement: Statement | None) -> str:
    if statement is None:
        return "unknown: no statement was found"
    when = f"read {statement.date}" if statement.read else statement.date
    return f"{statement.verdict}: [{statements().index(statement) + 1}]({statement.address}), {when}"


def page() -> str:
    """docs/gpu-support.md."""
    table = [
        f"| HGX {row.board} | {row.release} | {row.attachment} | {_fabric_manager(row)} | {_cell(row.nvidia)} "
        f"| {_cell(row.broadcom)} |"
        for row in rows()
    ]
    said = [f"{number}. {each.vendor}: {each.text}." for number, each in enumerate(statements(), start=1)]
    sources = {step: f" ([source]({step.address}))" if step.address else "" for step in STEPS}
    steps = [f"| {step.name} | {' | '.join(step.verdicts)} | {step.why}{sources[step]} |" for step in STEPS]
    return (
        "# GPU boards on ESX: what the vendors say\n\n"
        "<!-- made from plugins/module_utils/_site/support.py by python -m tests.unit.site.gpu_support -->\n\n"
        "Boards with NVSwitches (HGX, eight GPUs) in VMs of ESX. For a VM that sees NVSwitches `preflight` prints both "
        "vendors'\nsentences, and refuses only what both refuse. PCIe cards are not concerned. "
        "Nothing of this was tried on hardware;\nthat Fabric Manager runs in the guest for passthrough is inferred.\n\n"
        "| board | ESX | attachment | Fabric Manager | NVIDIA | Broadcom |\n|---|---|---|---|---|---|\n"
        + "\n".join(table)
        + "\n\nThe statements, in this project's words:\n\n"
        + "\n".join(said)
        + "\n\nSteps of the guide per release of ESX:\n\n"
        + f"| step | {' | '.join(RELEASES)} | why |\n|---|{'---|' * len(RELEASES)}---|\n"
        + "\n".join(steps)
        + "\n"
    )


if __name__ == "__main__":
    FILE.write_text(page())
