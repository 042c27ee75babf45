"""What site.yml does about each fault of the gym, held against what the doctor says of it: docs/faults.md.

python -m tests.unit.doctor.site_table writes the page.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

from lab.gym import model, site
from lab.gym.faults import FAULTS
from tests.unit.doctor import site_stages
from tests.unit.doctor.site_stages import AT, NOT_PROVEN, PROVEN, REPAIRED, STOPPED, Outcome

PAGE = Path(__file__).resolve().parents[3] / "docs" / "faults.md"

# The message names the right host, and another possible cause: the decisive line is where the run does not look.
ON_THE_HOST_ALONE: Mapping[str, str] = {
    "switch_err_disabled": "the switch's log",
    "switch_pfc_watchdog": "the switch's log",
    "cable_wrong_port": "LLDP, held against a plan of the cables (role switch: expected_neighbors)",
    "esxi_maintenance_stuck": "the ESXi host's log",
    "esxi_not_passthrough": "the ESXi host's log",
    "host_frozen": "the VM's log",
}
# What a stage that stops or repairs speaks of, in the doctor's layers.
_SPEAKS_OF = {
    "switch": ("switch_config",),
    "esxi_host": ("esxi_host",),
    "gpu_vm": ("vm_passthrough", "vm_mmio", "vm_memory"),
    "guest": ("nic_firmware",),
    "container": ("container",),
}
_PREFLIGHT = {"NVIDIA driver: ": "gpu_driver", "Fabric Manager: ": "gpu_driver"}
CAUSE, LAYER, HOST = "cause", "layer", "host"


@dataclasses.dataclass(frozen=True)
class Row:
    """``doctor``: what it says first of all the outputs of the site; ``agreement``: cause, layer, host, or '' for
    none."""

    name: str
    outcome: Outcome
    doctor: Mapping[str, Any]
    agreement: str


@functools.lru_cache(maxsize=None)
def row(name: str) -> Row:
    fault = FAULTS[name]
    outcome = site_stages.play(fault)
    first = diagnose(None, model.broken([(fault, AT)]))["findings"][0]
    return Row(name, outcome, first, agreement(name, outcome, first))


def agreement(name: str, outcome: Outcome, first: Mapping[str, Any]) -> str:
    if not _place_named(name, outcome):
        return ""
    if outcome.cause == (first["layer"], first["cause"]):
        return CAUSE
    if first["layer"] in (outcome.cause[0], *_layers_of(outcome)):
        return LAYER
    return HOST if outcome.how == STOPPED and not outcome.certain else ""


def _place_named(name: str, outcome: Outcome) -> bool:
    """The faulty host, its ESXi host, its switch or its port stands in the text; a fault of the job has no place. The
    plan of a NIC names the card, and Ansible the host."""
    fault = FAULTS[name]
    words = (AT, site.ESXI[AT], site.SWITCH, f"1/{site.number(AT)}")
    if outcome.how == REPAIRED and outcome.role == "guest":
        words += ("0000:13:00.0",)
    return fault.place == model.JOB or not fault.symptom or any(word in outcome.text for word in words)


def _layers_of(outcome: Outcome) -> tuple[str, ...]:
    if outcome.stage == "preflight":
        return tuple(layer for thing, layer in _PREFLIGHT.items() if thing in outcome.text)
    different = ("nccl_version",) if "different images" in outcome.text else ()
    return _SPEAKS_OF.get(outcome.role, ()) + different


# ------------------------------------------------------------------------------------------------------------ the page

_HEAD = """\
# What `site.yml` does about each fault

<!-- made from the fault gym by tests/unit/doctor/site_table.py (python -m tests.unit.doctor.site_table) -->

Each fault of the [gym](doctor.md#break-it-and-watch) alone, on an otherwise right site: the stage of `site.yml` that
repairs it, or that stops with a message, or the report, whose verdict is then not PROVEN. Decided by the code of the
stages over what the gym's devices print (SIMULATED), with a maintenance window allowed; no device is changed for it.
What slows data down slows the all-reduce that the run measures: by how much is computed from the devices' own figures
and from published ones (`tests/unit/doctor/site_pace.py`).

Column "agrees": what the message has in common with the doctor's answer on all outputs of that site. This is the cause,
or the layer and the place, or the host alone if the decisive line is in a log that no run reads.

"""


def rows() -> Iterator[Row]:
    return map(row, FAULTS)


def page() -> str:
    found = list(rows())
    parts = [_HEAD, "| | faults |\n|---|--:|\n"]
    for how, words in (
        (REPAIRED, "repaired"),
        (STOPPED, "stopped with a message"),
        (NOT_PROVEN, "the run ends and is not PROVEN"),
        (PROVEN, "the run ends and is PROVEN"),
    ):
        parts.append(f"| {words} | {sum(each.outcome.how == how for each in found)} |\n")
    parts.append(f"| **all** | {len(found)} |\n")
    parts.append("\n## Each fault\n\n| fault | layer | cause | done by | stage | agrees |\n|---|---|---|---|---|---|\n")
    for each in found:
        outcome = each.outcome
        by = {REPAIRED: f"repaired: role {outcome.role}", PROVEN: "PROVEN", NOT_PROVEN: "not PROVEN"}.get(outcome.how)
        by = by or (f"stopped: {_stopper(outcome)}")
        agrees = each.agreement
        agrees += f" (decides: {ON_THE_HOST_ALONE[each.name]})" if each.name in ON_THE_HOST_ALONE else ""
        parts.append(
            f"| `{each.name}` | {each.doctor['layer']} | {each.doctor['cause']} | {by} | {outcome.stage} | {agrees} |\n"
        )
    return "".join(parts)


def _stopper(outcome: Outcome) -> str:
    if outcome.stage in ("preflight", "run"):
        return {"preflight": "preflight", "run": "the job's failure"}[outcome.stage]
    return f"role {outcome.role}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
