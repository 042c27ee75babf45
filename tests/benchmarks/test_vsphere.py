# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One module call for many ESXi hosts against community.vmware, side by side in one run.

All sides run through ansible-playbook against the same simulated vCenter, started here on a free port. Ours sets a
kernel setting on a whole cluster. The other sides set a host option with community.vmware.vmware_host_config_manager,
the nearest thing that exists (nothing published sets kernel settings):

cluster            with `cluster_name`, the first example of its documentation: its fastest form
cluster_verified   the same, read back by a second call in check mode: as ours, it ends in a state that was verified
per_host           one task per host with `esxi_hostname`, its second example

Who goes first takes turns. Writes reports/bench/vsphere.json: every run (wall seconds, requests, sessions), ratios.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time

from tests.benchmarks.record import Record, Run, medians, ratio, turns
from tests.integration.vsphere.conftest import ROOT, Pki, Vcenter, binary, pki, start

__all__ = ["binary", "pki"]  # fixtures

SIZES = [int(size) for size in os.environ.get("ROCEMESH_BENCH_HOSTS", "1,16,64,256").split(",")]
REPEATS = int(os.environ.get("ROCEMESH_BENCH_ROUNDS", "5"))
PER_HOST_UP_TO = 64  # hosts; above that a run of this side takes minutes, and its requests grow with the square

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
_LOGIN = """hostname: "{{ login.hostname }}"
        port: "{{ login.port }}"
        username: "{{ login.username }}"
        password: "{{ login.password }}"
        validate_certs: false
        options: {Config.HostAgent.log.level: "{{ value }}"}
"""
_CLUSTER_TASK = f"""    - community.vmware.vmware_host_config_manager:
        cluster_name: lab
        {_LOGIN}"""
_THEIRS = "- hosts: {hosts}\n  connection: local\n  gather_facts: false\n  tasks:\n"
PLAYS = {
    "ours": OUR_PLAY,
    "cluster": _THEIRS.format(hosts="localhost") + _CLUSTER_TASK,
    "cluster_verified": _THEIRS.format(hosts="localhost")
    + _CLUSTER_TASK
    + f"{_CLUSTER_TASK}      check_mode: true\n      register: again\n      failed_when: again is changed\n",
    "per_host": _THEIRS.format(hosts="esxi")
    + f"""    - community.vmware.vmware_host_config_manager:
        esxi_hostname: "{{{{ inventory_hostname }}}}"
        {_LOGIN}""",
}
# A value of its own for each side and round, so that each has work to do.
LEVELS = {"cluster": ("verbose", "info"), "cluster_verified": ("trivia", "error"), "per_host": ("warning", "none")}


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


def measure(vcenter: Vcenter, folder: pathlib.Path, name: str, value: str, changed: int) -> Run:
    vcenter.ask("DELETE", "/traffic")
    seconds, output = play(folder, name, value)
    assert output.count("changed=1") == changed, output[-3000:]
    traffic = vcenter.ask("GET", "/traffic")
    return {"seconds": round(seconds, 3), "requests": traffic["requests"], "sessions": traffic["sessions"]}


def compare(binary: pathlib.Path, pki: Pki, folder: pathlib.Path, hosts: int) -> dict[str, list[Run]]:
    names = [f"esx{number:03d}" for number in range(hosts)]
    vcenter = start(binary, pki, folder, {"cluster": "lab", "hosts": [{"name": name, "vms": []} for name in names]})
    sides = [side for side in PLAYS if side != "per_host" or hosts <= PER_HOST_UP_TO]
    runs: dict[str, list[Run]] = {}
    try:
        for side in sides:
            (folder / f"{side}.yml").write_text(PLAYS[side])
        (folder / "inventory").write_text("[esxi]\n" + "\n".join(names) + "\n")
        (folder / "login.json").write_text(json.dumps({"login": vcenter.login}))
        for turn in range(REPEATS):
            for side in turns(sides, turn):
                value = ("true", "false")[turn % 2] if side == "ours" else LEVELS[side][turn % 2]
                changed = hosts if side == "per_host" else 1
                for name, count in ((side, changed), (f"{side}_again", 0)):
                    runs.setdefault(name, []).append(measure(vcenter, folder, f"{side}.yml", value, count))
            kernels = [host["kernel"]["atsSupport"]["configured"] for host in vcenter.state()["hosts"].values()]
            assert kernels == [("TRUE", "FALSE")[turn % 2]] * hosts
        return runs
    finally:
        vcenter.process.terminate()
        vcenter.process.wait(timeout=30)


def test_one_call_for_many_hosts_against_the_usual_module(
    binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path
) -> None:
    record = Record("vsphere", simulated=True, compared=__doc__ or "")
    ours: dict[int, Run] = {}
    for hosts in SIZES:
        folder = tmp_path / str(hosts)
        folder.mkdir()
        runs = compare(binary, pki, folder, hosts)
        record.add(
            f"{hosts}_hosts", runs, ratios(hosts, runs)
        )  # the larger sizes take minutes; what was measured is kept
        ours[hosts] = medians(runs)["ours"]
        assert {run["sessions"] for side in ("ours", "ours_again") for run in runs[side]} == {1}, "one session"
    least, most = min(ours), max(ours)
    assert ours[most]["requests"] * least <= ours[least]["requests"] * most, "requests grow faster than the hosts"


def ratios(hosts: int, runs: dict[str, list[Run]]) -> dict[str, float]:
    """Theirs over ours: the same round, first run with first run, and with nothing to change."""
    return {
        f"vsphere_kernel_vs_{side}_form_{hosts}_hosts{when}_{what}": ratio(runs[side + when], runs["ours" + when], what)
        for side in LEVELS
        if side in runs
        for when in ("", "_again")
        for what in ("seconds", "requests")
    }
