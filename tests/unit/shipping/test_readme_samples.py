"""The samples on the README's first screens are what the code says today; a line that ends in ... begins as shown."""

from __future__ import annotations

import textwrap

from ansible_collections.rocemesh.multinode.plugins.module_utils._nic import plan as nic
from ansible_collections.rocemesh.multinode.plugins.module_utils._preflight.findings import summary
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.reboot import windows
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan import pending_kernel
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.state import KernelSetting

from tests.unit.nic.test_plan import ABSENT, device, state
from tests.unit.preflight.faults import CAUTIONS, PROBLEMS, site
from tests.unit.preflight.test_findings import found
from tests.unit.roles.collection import ROOT
from tests.unit.site.test_reboot_windows import CHANGE, UNKEYED

SAMPLES = (ROOT / "README.md").read_text().split("## What it says before it touches anything\n")[1].split("\n## ")[0]
FAULTS = {fault.name: fault for fault in [*PROBLEMS, *CAUTIONS]}


def samples() -> list[list[str]]:
    """The two indented blocks."""
    blocks = [block for block in SAMPLES.split("\n\n") if block.startswith("    ")]
    return [textwrap.dedent(block).strip().splitlines() for block in blocks]


def test_the_sample_of_a_preflight() -> None:
    told = site()
    for name in ("pyvmomi-missing", "no-fabric-manager", "in-maintenance", "letters-swapped-alone"):
        FAULTS[name].change(told)
    lines = summary(found(told), [])["table"]
    shown = samples()[0]
    assert len(shown) == len(lines) == 4
    assert all(any(line.startswith(each.removesuffix("...")) for line in lines) for each in shown), lines
    assert [each for each in shown if not each.endswith("...") and each not in lines] == []


def test_the_sample_of_a_stop_at_the_window() -> None:
    kernel = pending_kernel([KernelSetting("atsSupport", "Bool", "TRUE", "FALSE", "FALSE")], "esx01")
    card = nic.pending(state(device(False, True, ABSENT)))
    host = {"host": "esx01", "host_moid": "host-1", "reboot_required": True, "reboot_reasons": list(kernel.reasons)}
    waiting = {"reboot_required": True, "reboot_reasons": list(card.reasons)}
    (window,) = windows({"esx01": host}, {"gpu01": {**UNKEYED, "changes": [CHANGE]}}, {"gpu01": waiting})
    first, host_line, *reasons, last = samples()[1]
    text = (ROOT / "playbooks" / "reboot.yml").read_text()
    assert first in text and last in text
    assert host_line == f"{window.host}: host reboot; stops {', '.join(window.vms)}"
    assert len(reasons) == len(window.reasons)
    for shown, said in zip(reasons, window.reasons):
        assert f"  - {said}".startswith(shown.removesuffix("...")) and (shown.endswith("...") or shown == f"  - {said}")
