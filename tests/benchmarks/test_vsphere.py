# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One module call for many ESXi hosts against one task per host with the usual module, side by side in one run.

Both sides run through ansible-playbook against the same simulated vCenter, started here on a free port. Ours sets a
kernel setting on a whole cluster; the other side sets one host option per host with
community.vmware.vmware_host_config_manager, the nearest thing that exists (nothing published sets kernel settings).
Writes reports/bench/vsphere.json: wall seconds, SOAP requests and sessions per number of hosts, and the ratios.
ROCEMESH_BENCH_HOSTS=256 measures one number of hosts alone; what earlier runs measured of the others is kept.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from typing import Any

from tests.integration.vsphere.conftest import ROOT, Pki, Vcenter, binary, pki, start

__all__ = ["binary", "pki"]  # fixtures

SIZES = [int(size) for size in os.environ.get("ROCEMESH_BENCH_HOSTS", "1,16,64,256").split(",")]
REPEATS = int(os.environ.get("ROCEMESH_BENCH_ROUNDS", "5"))
AGAIN_UP_TO = 16  # hosts; a run of the slow side with nothing to change takes minutes above that, and says little

OUR_PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  module_defaults: {group/rocemesh.multinode.vsphere: "{{ login }}"}
  tasks:
    - rocemesh.multinode.esxi_kernel_setting:
        cluster: lab
        settings: {atsSupport: "{{ value }}"}
"""
USUAL_PLAY = """
- hosts: esxi
  connection: local
  gather_facts: false
  tasks:
    - community.vmware.vmware_host_config_manager:
        hostname: "{{ login.hostname }}"
        port: "{{ login.port }}"
        username: "{{ login.username }}"
        password: "{{ login.password }}"
        validate_certs: false
        esxi_hostname: "{{ inventory_hostname }}"
        options: {Config.HostAgent.log.level: "{{ value }}"}
"""


def play(folder: pathlib.Path, name: str, value: str) -> tuple[float, str]:
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_HOME": str(folder / "home")}
    command = [
        *(str(pathlib.Path(sys.executable).with_name("ansible-playbook")), "-i", str(folder / "inventory")),
        *("-e", f"ansible_python_interpreter={sys.executable}", "-e", f"@{folder / 'login.json'}"),
        *("-e", json.dumps({"value": value}), str(folder / name)),
    ]
    begun = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=3600, check=False)
    seconds = time.monotonic() - begun
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return seconds, done.stdout


def measure(vcenter: Vcenter, folder: pathlib.Path, name: str, value: str, changed: int) -> dict[str, Any]:
    vcenter.ask("DELETE", "/traffic")
    seconds, output = play(folder, name, value)
    assert output.count("changed=1") == changed, output[-3000:]
    traffic = vcenter.ask("GET", "/traffic")
    return {"seconds": round(seconds, 3), "requests": traffic["requests"], "sessions": traffic["sessions"]}


def middle(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]} | {"repeats": len(runs)}


def compare(binary: pathlib.Path, pki: Pki, folder: pathlib.Path, hosts: int) -> dict[str, Any]:
    names = [f"esx{number:03d}" for number in range(hosts)]
    vcenter = start(binary, pki, folder, {"cluster": "lab", "hosts": [{"name": name, "vms": []} for name in names]})
    try:
        (folder / "ours.yml").write_text(OUR_PLAY)
        (folder / "usual.yml").write_text(USUAL_PLAY)
        (folder / "inventory").write_text("[esxi]\n" + "\n".join(names) + "\n")
        (folder / "login.json").write_text(json.dumps({"login": vcenter.login}))
        sides: dict[str, list[dict[str, Any]]] = {"ours": [], "ours_again": [], "usual": [], "usual_again": []}
        for turn in range(REPEATS):
            # alternating values, so that each turn has work to do
            value = ("true", "false")[turn % 2]
            sides["ours"].append(measure(vcenter, folder, "ours.yml", value, 1))
            sides["ours_again"].append(measure(vcenter, folder, "ours.yml", value, 0))
            wanted = ("TRUE", "FALSE")[turn % 2]
            kernels = [host["kernel"]["atsSupport"]["configured"] for host in vcenter.state()["hosts"].values()]
            assert kernels == [wanted] * hosts
            value = ("verbose", "info")[turn % 2]
            sides["usual"].append(measure(vcenter, folder, "usual.yml", value, hosts))
            if hosts <= AGAIN_UP_TO:
                sides["usual_again"].append(measure(vcenter, folder, "usual.yml", value, 0))
        return {side: middle(runs) for side, runs in sides.items() if runs}
    finally:
        vcenter.process.terminate()
        vcenter.process.wait(timeout=30)


def test_one_call_for_many_hosts_against_one_task_per_host(
    binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path
) -> None:
    found: dict[int, dict[str, Any]] = {}
    for hosts in SIZES:
        folder = tmp_path / str(hosts)
        folder.mkdir()
        found[hosts] = compare(binary, pki, folder, hosts)
        report(found)  # the larger sizes take minutes; what was measured is kept
    for hosts, sides in found.items():
        assert sides["ours"]["sessions"] == sides["ours_again"]["sessions"] == 1, f"{hosts} hosts: one session"
    if len(found) > 1:
        factors = growth(found)
        assert factors["requests"] <= 1 and factors["seconds"] <= 1, factors


def ratios(found: dict[int, dict[str, Any]]) -> dict[str, float]:
    pairs = (("usual", "ours", "{}"), ("usual_again", "ours_again", "nothing_to_change_{}"))
    return {
        f"usual_vs_ours_{hosts}_hosts_{name.format(what)}": round(sides[slow][what] / sides[fast][what], 2)
        for hosts, sides in found.items()
        for slow, fast, name in pairs
        if slow in sides
        for what in ("seconds", "requests")
    }


def growth(found: dict[int, dict[str, Any]]) -> dict[str, float]:
    """How much more the most hosts cost than the least, over how many more they are: at most 1 is at most linear."""
    least, most = min(found), max(found)
    return {
        what: round((found[most]["ours"][what] / found[least]["ours"][what]) / (most / least), 3)
        for what in ("seconds", "requests")
    }


def report(found: dict[int, dict[str, Any]]) -> None:
    target = ROOT / "reports" / "bench" / "vsphere.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    # Sizes of earlier runs are kept, so that one can be repeated alone.
    before = json.loads(target.read_text())["hosts"] if target.exists() else {}
    found = dict(sorted(({int(hosts): sides for hosts, sides in before.items()} | found).items()))
    content = {
        "simulated": True,
        "hosts": {str(hosts): sides for hosts, sides in found.items()},
        "ratios": ratios(found),
        "growth_of_ours_over_growth_of_hosts": growth(found),
        "note": "medians; 'repeats' says of how many runs",
    }
    target.write_text(json.dumps(content, indent=1) + "\n")
    print(target.read_text())
