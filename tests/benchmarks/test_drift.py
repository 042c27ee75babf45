"""What playbooks/drift.yml costs on a large site that is right: 64 ESXi hosts, 64 VMs and 4 leafs in the simulators.

drift        switches, ESXi hosts, VM keys and guests. The guests are folders on this machine: what their modules cost
             is counted here, although on a real site each node pays for its own
controller   the same without the guests

Image, mesh and containers need real guests and are left out. `wall` seconds are those of the whole command, `processor`
what the machine's processors worked meanwhile. ROCEMESH_BENCH_HOSTS=16 chooses another size. Writes drift.json.
"""

from __future__ import annotations

import json
import os
import pathlib

from tests.benchmarks.record import Record, Run, metered, turns
from tests.integration.day2.drift_site import DriftSite, right_site
from tests.integration.vsphere.conftest import Pki, binary, pki

__all__ = ["binary", "pki"]  # fixtures

HOSTS = int(os.environ.get("ROCEMESH_BENCH_HOSTS", "64"))
ROUNDS = int(os.environ.get("ROCEMESH_BENCH_ROUNDS", "3"))
SIDES = {"drift": "image,mesh", "controller": "image,mesh,guest"}


def played(site: DriftSite, tags: str) -> Run:
    with metered() as run:
        done = site.play("--skip-tags", tags, patience=3600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    read = json.loads((site.folder / "reports/drift.json").read_text())["read"]
    assert len(read["gpu_vm"]) == len(read["esxi_host"]) == HOSTS and ("guest" in tags or len(read["guest"]) == HOSTS)
    return run


def test_drift_of_a_large_site(binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path) -> None:
    record = Record("drift", simulated=True, compared="nothing: what comparing a large site with its inventory costs")
    vms = {f"esx{number:02}": [f"gpu{number:02}"] for number in range(1, HOSTS + 1)}
    runs: dict[str, list[Run]] = {}
    with right_site(binary, pki, tmp_path, 4, vms) as site:
        for turn in range(ROUNDS):
            for side in turns(tuple(SIDES), turn):
                runs.setdefault(side, []).append(played(site, SIDES[side]))
    record.add(f"{HOSTS}_hosts", runs, {})
