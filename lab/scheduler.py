"""A real Slurm (Debian's) over the nodes, on request, and the hand-off trained under it.

The packages are a layer of the node image; torch is one of them, because Debian has no pyxis and so the ranks run with
what the nodes have installed. Configuration, key and hand-off lie in one folder that all nodes see as /shared.
"""

from __future__ import annotations

import concurrent.futures
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import config, engine, files, processes

PARTITION = "lab"
SHARED = "/shared"  # in the nodes
VARIABLES = config.REPO / "lab" / "slurm" / "handoff.yml"
# What is there already is left as it is; Slurm is started again only where something changed.
_SETUP = """\
set -e
changed=
put() {
  cmp -s "$1" "$2" && return
  install -D -m "$3" -o "$4" -g "$4" "$1" "$2"
  changed=yes
}
mkdir -p /var/lib/slurm/slurmctld /var/lib/slurm/slurmd
put /shared/slurm/slurm.conf /etc/slurm/slurm.conf 644 root
put /shared/slurm/munge.key /etc/munge/munge.key 400 munge
systemctl --quiet enable "$@"
if [ -n "$changed" ]; then systemctl restart "$@"; else systemctl start "$@"; fi
echo "${changed:-no}"
"""


def shared(paths: config.Paths) -> Path:
    return paths.root / "shared"


def volumes(paths: config.Paths) -> list[str]:
    """Of `docker create`: the folder that all nodes see."""
    return ["--volume", f"{shared(paths)}:{SHARED}"] if config.SCHEDULER else []


def slurm_conf(nodes: Sequence[config.Node], cpus: int) -> str:
    """No cgroups: a node is a container. A node that was rebooted by the guide comes back by itself."""
    head = nodes[0]
    lines = [
        "# Written by the lab (lab/scheduler.py).",
        "ClusterName=lab",
        f"SlurmctldHost={head.name}({head.cluster_ip})",
        "SlurmUser=root",
        "SlurmdUser=root",
        "AuthType=auth/munge",
        "CredType=cred/munge",
        "StateSaveLocation=/var/lib/slurm/slurmctld",
        "SlurmdSpoolDir=/var/lib/slurm/slurmd",
        "SlurmctldPidFile=/run/slurmctld.pid",
        "SlurmdPidFile=/run/slurmd.pid",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "SelectType=select/linear",
        "SlurmdParameters=config_overrides",
        "MpiDefault=none",
        "ReturnToService=2",
        "KillWait=5",
        *(f"NodeName={node.name} NodeAddr={node.cluster_ip} CPUs={cpus} State=UNKNOWN" for node in nodes),
        f"PartitionName={PARTITION} Nodes={','.join(node.name for node in nodes)} Default=YES State=UP",
    ]
    return "\n".join(lines) + "\n"


def units(node: config.Node) -> list[str]:
    """The first node is the controller as well."""
    return ["munge", *(["slurmctld"] if node == config.NODES[0] else []), "slurmd"]


def ensure(paths: config.Paths, on: Sequence[config.Node]) -> str:
    """Slurm over the nodes that are powered on; once more: nothing changes."""
    if not config.SCHEDULER:
        return "none asked for"
    head = config.NODES[0]
    if head not in on:
        return f"no Slurm: {head.name} is powered off"
    _write(paths)
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(on)) as pool:
        changed = list(pool.map(_set_up, on))
    wanted = sorted(node.name for node in on)
    processes.wait_for(
        f"Slurm has {', '.join(wanted)} idle or at work (see `docker exec {head.container} sinfo -R`)",
        lambda: set(wanted) <= set(usable(_sinfo(head))),
        90,
    )
    names = [node.name for node, new in zip(on, changed) if new]
    return f"Slurm, partition {PARTITION}: " + (f"set up {', '.join(names)}" if names else "already there")


def _write(paths: config.Paths) -> None:
    """slurm.conf as it should be; the key once."""
    folder = shared(paths) / "slurm"
    folder.mkdir(parents=True, exist_ok=True)
    files.write(folder / "slurm.conf", slurm_conf(config.NODES, max(2, os.cpu_count() or 2)))
    key = folder / "munge.key"
    if not key.exists():
        key.touch(mode=0o400)
        key.chmod(0o600)
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)


def _set_up(node: config.Node) -> bool:
    said = engine.docker("exec", node.container, "sh", "-c", _SETUP, "setup", *units(node), timeout=120)
    return said.stdout.split()[-1:] == ["yes"]


def _sinfo(head: config.Node) -> str:
    return engine.docker("exec", head.container, "sinfo", "-h", "-N", "-o", "%N %T", check=False, timeout=20).stdout


def usable(said: str) -> list[str]:
    """``sinfo -h -N -o '%N %T'``: nodes that take jobs. A star behind the state: the node does not answer."""
    rows = [line.split() for line in said.splitlines()]
    return [row[0] for row in rows if len(row) == 2 and row[1] in ("idle", "mixed", "allocated", "completing")]


# --- the job --------------------------------------------------------------------------------------------------------


def train(paths: config.Paths) -> int:
    """The hand-off is written, submitted in the first node as anybody would, waited for, and reported."""
    if not config.SCHEDULER:
        raise config.LabError("this lab has no scheduler; `make lab-down`, then `make lab SCHEDULER=slurm`")
    folder = shared(paths) / "handoff"
    shutil.copytree(config.REPO / "workloads" / "resnet50", shared(paths) / "resnet50", dirs_exist_ok=True)
    inventories = [word for inventory in config.SHAPE.inventories for word in ("-i", inventory)]
    wrote = _play("playbooks/handoff.yml", *inventories, "-e", f"@{VARIABLES}", "-e", f"run_handoff_dir={folder}")
    if wrote:
        return wrote
    head = config.NODES[0]
    # --wait: until the job is over, with its status.
    done = engine.docker(
        *("exec", head.container, f"{SHARED}/handoff/submit.sh", "--parsable", "--wait"), check=False, timeout=1800
    )
    job = done.stdout.strip().split(";")[0]
    if not job.isdigit():
        raise config.LabError(f"Slurm took no job: {(done.stderr or done.stdout).strip()}")
    results = folder / "results" / job
    print(f"Slurm job {job} ended with status {done.returncode}; what it wrote: {results}")
    if not results.is_dir():
        raise config.LabError(f"job {job} left no results; {folder} has what Slurm said of it")
    reported = _play("playbooks/report.yml", "-e", f"report_job={results}")
    return done.returncode or reported


def _play(*words: str) -> int:
    return subprocess.run(
        [str(Path(sys.executable).with_name("ansible-playbook")), *words], cwd=config.REPO, check=False
    ).returncode
