"""`PYTHONPATH=collections python -m tests.unit.site.gpu_support` writes docs/gpu-support.md."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.rocemesh.multinode.plugins.module_utils._site.support import (
    PAGE,
    RELEASES,
    STATEMENTS,
    STEPS,
    Statement,
    rows,
)

FILE = Path(__file__).parents[3] / PAGE


def _cell(statement: Statement | None) -> str:
    if statement is None:
        return "unknown: no statement was found"
    when = f"read {statement.date}" if statement.read else statement.date
    return f"{statement.verdict}: [{STATEMENTS.index(statement) + 1}]({statement.address}), {when}"


def page() -> str:
    """docs/gpu-support.md."""
    table = [
        f"| HGX {row.board} | {row.release} | {row.attachment} | {row.fabric_manager} | {_cell(row.nvidia)} "
        f"| {_cell(row.broadcom)} |"
        for row in rows()
    ]
    said = [f"{number}. {each.vendor}: {each.text}." for number, each in enumerate(STATEMENTS, start=1)]
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
