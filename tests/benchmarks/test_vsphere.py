"""One module call for many ESXi hosts against community.vmware, side by side in one run.

All sides run through ansible-playbook against the same simulated vCenter, started here on a free port. Ours sets a
kernel setting on a whole cluster. The other sides set a host option with community.vmware.vmware_host_config_manager,
the nearest thing that exists (nothing published sets kernel settings):

cluster            with `cluster_name`, the first example of its documentation: its fastest form
cluster_verified   the same, read back by a second call in check mode: as ours, it ends in a state that was verified
per_host           one task per host with `esxi_hostname`, its second example

Who goes first takes turns. `seconds` are those of the tasks; `wall` those of the whole command, which is the start of
ansible-playbook besides, the same for all, and `processor` what the machine's processors worked meanwhile. The
simulator answers at once, or after 20 ms each: a far vCenter.
Writes vsphere.json: every run, ratios. ROCEMESH_BENCH_HOSTS=64 chooses the sizes, ROCEMESH_BENCH_DELAYS=0,20 the
milliseconds, ROCEMESH_BENCH_SIDES=ours,cluster the sides.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.benchmarks.record import NO_JOURNAL, Record, Run, metered, ratio, tasks_of, turns
from tests.integration.vsphere.conftest import ROOT, Pki, Vcenter, binary, pki, start

__all__ = ["binary", "pki"]  # fixtures

SIZES = [int(size) for size in os.environ.get("ROCEMESH_BENCH_HOSTS", "16,64").split(",")]
DELAYS = [int(delay) for delay in os.environ.get("ROCEMESH_BENCH_DELAYS", "0,20").split(",")]
REPEATS = int(os.environ.get("ROCEMESH_BENCH_ROUNDS", "5"))
PER_HOST_UP_TO = 16  # hosts; above that a run of this side takes minutes, and its requests grow with the square

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
SIDES = os.environ.get("ROCEMESH_BENCH_SIDES", ",".join(PLAYS)).split(",")
# A value of its own for each side and round, so that each has work to do.
LEVELS = {"cluster": ("verbose", "info"), "cluster_verified": ("trivia", "error"), "per_host": ("warning", "none")}


def play(folder: pathlib.Path, name: str, value: str) -> tuple[Run, str]:
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        **NO_JOURNAL,
    }
    command = [
        *(str(pathlib.Path(sys.executable).with_name("ansible-playbook")), "-i", str(folder / "inventory")),
        *("-e", f"ansible_python_interpreter={sys.executable}", "-e", f"@{folder / 'login.json'}"),
        *("-e", json.dumps({"value": value}), str(folder / name)),
    ]
    with metered() as run:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=3600, check=False
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return run, done.stdout


def measure(vcenter: Vcenter, folder: pathlib.Path, name: str, value: str, changed: int) -> Run:
    vcenter.ask("DELETE", "/traffic")
    run, output = play(folder, name, value)
    seconds, changes = tasks_of(output)
    assert changes == changed, output[-3000:]
    traffic = vcenter.ask("GET", "/traffic")
    return {"seconds": seconds, **run, "requests": traffic["requests"], "sessions": traffic["sessions"]}


@contextlib.contextmanager
def site(binary: pathlib.Path, pki: Pki, folder: pathlib.Path, hosts: int, delay: int) -> Iterator[Vcenter]:
    """A vCenter with one cluster; inventory and login lie in ``folder``."""
    names = [f"esx{number:03d}" for number in range(hosts)]
    topology = {"cluster": "lab", "hosts": [{"name": name, "vms": []} for name in names]}
    vcenter = start(binary, pki, folder, topology, "--request-delay", f"{delay}ms")
    try:
        (folder / "inventory").write_text("[esxi]\n" + "\n".join(names) + "\n")
        login = {"login": vcenter.login}
        account = {f"rocemesh_vcenter_{name}": value for name, value in vcenter.login.items() if name != "timeout"}
        (folder / "login.json").write_text(json.dumps({**login, **account}))
        yield vcenter
    finally:
        vcenter.process.terminate()
        vcenter.process.wait(timeout=30)


def configured(vcenter: Vcenter) -> set[str]:
    return {host["kernel"]["atsSupport"]["configured"] for host in vcenter.state()["hosts"].values()}


def compare(binary: pathlib.Path, pki: Pki, folder: pathlib.Path, hosts: int, delay: int) -> dict[str, list[Run]]:
    sides = [side for side in SIDES if side != "per_host" or hosts <= PER_HOST_UP_TO]
    runs: dict[str, list[Run]] = {}
    with site(binary, pki, folder, hosts, delay) as vcenter:
        for side in sides:
            (folder / f"{side}.yml").write_text(PLAYS[side])
        for turn in range(REPEATS):
            for side in turns(sides, turn):
                value = ("true", "false")[turn % 2] if side == "ours" else LEVELS[side][turn % 2]
                changed = hosts if side == "per_host" else 1
                for name, count in ((side, changed), (f"{side}_again", 0)):
                    runs.setdefault(name, []).append(measure(vcenter, folder, f"{side}.yml", value, count))
            assert configured(vcenter) == {("TRUE", "FALSE")[turn % 2]}
    return runs


@pytest.fixture(scope="module")
def record() -> Record:
    return Record("vsphere", simulated=True, compared=__doc__ or "")


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("hosts", SIZES)
def test_one_call_for_many_hosts_against_the_usual_module(  # noqa: PLR0917
    binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path, record: Record, hosts: int, delay: int
) -> None:
    runs = compare(binary, pki, tmp_path, hosts, delay)
    record.add(f"{hosts}_hosts_{delay}ms", runs, ratios(hosts, delay, runs))
    # What does not depend on the machine: one session, and four requests per host at most.
    assert {run["sessions"] for side in ("ours", "ours_again") for run in runs[side]} == {1}
    assert max(run["requests"] for run in runs["ours"]) <= 4 * hosts + 10


def ratios(hosts: int, delay: int, runs: dict[str, list[Run]]) -> dict[str, float]:
    """Theirs over ours: the same round, first run with first run, and with nothing to change."""
    return {
        f"vsphere_kernel_vs_{side}_form_{hosts}_hosts_{delay}ms{when}{tail}": ratio(
            runs[side + when], runs["ours" + when], what
        )
        for side in LEVELS
        if side in runs
        for when in ("", "_again")
        for what, tail in (("seconds", ""), ("wall", "_wall"), ("processor", "_processor"), ("requests", "_requests"))
    }


# ---------------------------------------------------------------- the role against its module
ROLE_PLAYS = {
    "module": OUR_PLAY,
    "role": """
- hosts: esxi
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: rocemesh.multinode.esxi_host, tasks_from: together}
      run_once: true
      vars: {esxi_host_kernel_settings: {atsSupport: "{{ value }}"}}
""",
    "module_per_host": """
- hosts: esxi
  gather_facts: false
  connection: local
  module_defaults: {group/rocemesh.multinode.vsphere: "{{ login }}"}
  tasks:
    - rocemesh.multinode.esxi_kernel_setting:
        esxi_hostname: "{{ inventory_hostname }}"
        settings: {atsSupport: "{{ value }}"}
""",
}
# The last takes minutes on a busy machine.
ROLE_SIDES = [
    side for side in os.environ.get("ROCEMESH_BENCH_ROLE_SIDES", ",".join(ROLE_PLAYS)).split(",") if side in ROLE_PLAYS
]


def test_the_role_against_its_module(binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path) -> None:
    """The stage of the site, which publishes an outcome for each host, against one call of the module, and against the
    module as a task per host."""
    hosts, delay = 64, 20
    record = Record("esxi_role", simulated=True, compared=test_the_role_against_its_module.__doc__ or "")
    runs: dict[str, list[Run]] = {}
    with site(binary, pki, tmp_path, hosts, delay) as vcenter:
        for side in ROLE_SIDES:
            (tmp_path / f"{side}.yml").write_text(ROLE_PLAYS[side])
        value = False
        for turn in range(REPEATS):
            for side in turns(ROLE_SIDES, turn):
                value = not value  # each has work to do
                changed = hosts if side == "module_per_host" else 1
                runs.setdefault(side, []).append(measure(vcenter, tmp_path, f"{side}.yml", str(value).lower(), changed))
                assert configured(vcenter) == {str(value).upper()}
    found = {
        f"esxi_module_vs_{other}_{hosts}_hosts{tail}": ratio(runs[other], runs["module"], what)
        for other in ROLE_SIDES
        if other != "module"
        for what, tail in (("wall", ""), ("seconds", "_tasks"))
    }
    if "module_per_host" in runs:
        found[f"esxi_role_vs_module_per_host_{hosts}_hosts"] = ratio(runs["module_per_host"], runs["role"], "wall")
    record.add(f"{hosts}_hosts_{delay}ms", runs, found)
    assert {run["sessions"] for side in ("role", "module") for run in runs[side]} == {1}
