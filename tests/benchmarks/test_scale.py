"""What the two window playbooks ask of a large site, with nothing to do: 256 ESXi hosts with two VMs each.

The simulated vCenter runs here, on a free port. There are no guests to log in to; what the role guest would read of
their cards is a variable (tests/integration/vsphere/site_playbooks.py). How often vCenter is asked is asserted.
`wall` seconds, and those that the machine's processors worked (`processor`), depend on the machine and are published
only.
ROCEMESH_BENCH_HOSTS=64 chooses another size. Writes scale.json.
"""

from __future__ import annotations

import os
import pathlib

from tests.benchmarks.record import Record, Run, metered
from tests.integration.vsphere.conftest import Pki, Vcenter, binary, pki, started
from tests.integration.vsphere.site_playbooks import Controller

__all__ = ["binary", "pki"]  # fixtures

HOSTS = int(os.environ.get("ROCEMESH_BENCH_HOSTS", "256"))
ROUNDS = int(os.environ.get("ROCEMESH_BENCH_ROUNDS", "3"))
# Requests: one for each VM that is on (its events), two for each host (esxcli), and some for all together.
MOST = {"reboot": 4 * HOSTS + 100, "recover": 30}


def played(vcenter: Vcenter, controller: Controller, playbook: str, *more: str) -> Run:
    vcenter.ask("DELETE", "/traffic")
    with metered() as run:
        done = controller.play(playbook, *more, patience=3600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    traffic = vcenter.ask("GET", "/traffic")
    return {**run, "requests": traffic["requests"], "sessions": traffic["sessions"]}


def test_large_site(binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path) -> None:
    names = {f"esx{host:03}": [f"gpu{host:03}a", f"gpu{host:03}b"] for host in range(HOSTS)}
    # As the guide leaves them: nothing is pending.
    keys = {"pciPassthru.allowP2P": "TRUE", "pciPassthru.RelaxACSforP2P": "TRUE", "pciPassthru.64bitMMIOSizeGB": "128"}
    vms = {
        host: [{"name": vm, "extra_config": {**keys, "numa.nodeAffinity": str(node)}} for node, vm in enumerate(own)]
        for host, own in names.items()
    }
    topology = {
        "datacenter": "lab-dc",
        "cluster": "lab",
        "hosts": [{"name": host, "vms": own, "kernel": {"atsSupport": "TRUE"}} for host, own in vms.items()],
    }
    record = Record("scale", simulated=True, compared="nothing: how the playbooks grow with the site")
    runs: dict[str, list[Run]] = {"recover": [], "reboot": []}
    with started(binary, pki, tmp_path, topology) as vcenter:
        controller = Controller(vcenter, tmp_path / "controller", names)
        for _round in range(ROUNDS):
            runs["recover"].append(played(vcenter, controller, "recover.yml"))
            runs["reboot"].append(played(vcenter, controller, "reboot.yml", "--check"))
        assert vcenter.calls() == []
    record.add(f"{HOSTS}_hosts", runs, {})
    for playbook, most in MOST.items():
        assert max(run["requests"] for run in runs[playbook]) <= most, runs
        assert max(run["sessions"] for run in runs[playbook]) <= 6, runs
