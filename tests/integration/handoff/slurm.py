# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Slurm on this machine: Debian's slurmctld and two slurmd over loopback, each with a host name of its own.

All of it lives in one PID namespace, so that nothing outlives the test, whatever a job does.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "munged")
HOSTS = ("gpu01", "gpu02")
PARTITIONS = ("train", "other")

_INSIDE = """
set -u
munged --key-file=$1/munge.key --socket=$1/munge.sock --pid-file=$1/munged.pid --log-file=$1/munged.log \
  --seed-file=$1/munged.seed --num-threads=4 --force
slurmctld -c -D > $1/slurmctld.out 2>&1 &
until scontrol ping 2> /dev/null | grep -q UP; do sleep 0.05; done
for host in {hosts}; do
  unshare --uts sh -c 'hostname "$0"; exec slurmd -D -N "$0"' "$host" > "$1/slurmd.$host.out" 2>&1 &
done
wait
"""


def missing() -> list[str]:
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [program for program in PROGRAMS if shutil.which(program, path=path) is None]


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _number in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Slurm:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {
            **os.environ,
            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin",
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONWARNINGS": "ignore",
            "OMP_NUM_THREADS": "1",
        }

    def run(self, *words: str, cwd: Path | None = None, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, env=self.env, cwd=cwd, capture_output=True, text=True, check=False, timeout=timeout
        )

    def states(self) -> list[str]:
        return self.run("sinfo", "-h", "-N", "-p", PARTITIONS[0], "-o", "%T").stdout.split()

    def state_of(self, job: str) -> str:
        told = self.run("scontrol", "-o", "show", "job", job).stdout
        return next((word[9:] for word in told.split() if word.startswith("JobState=")), "")

    def wait(self, job: str, *states: str, seconds: float = 240) -> str:
        """Until the job is in one of ``states``, or over."""
        over = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
        until = time.monotonic() + seconds
        while (found := self.state_of(job)) not in (*states, *over):
            assert time.monotonic() < until, f"job {job} is still {found}:\n{self.log()}"
            time.sleep(0.1)
        return found

    def log(self) -> str:
        texts = [path.read_text(errors="replace")[-1500:] for path in sorted(self.folder.glob("*.log"))]
        return "\n".join(texts)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Slurm]:
    control, *ports = _free_ports(1 + len(HOSTS))
    here = socket.gethostname()
    nodes = "\n".join(
        f"NodeName={name} NodeAddr=127.0.0.1 NodeHostname={name} Port={port} CPUs=4" for name, port in zip(HOSTS, ports)
    )
    (folder / "state").mkdir()
    (folder / "munge.key").write_bytes(secrets.token_bytes(128))
    (folder / "munge.key").chmod(0o400)
    (folder / "slurm.conf").write_text(
        f"""ClusterName=test
SlurmctldHost={here}(127.0.0.1)
SlurmctldPort={control}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
KillWait=1
{nodes}
PartitionName={PARTITIONS[0]} Nodes={",".join(HOSTS)} Default=YES State=UP
PartitionName={PARTITIONS[1]} Nodes={HOSTS[0]} State=UP
"""
    )
    slurm = Slurm(folder)
    # The namespace dies with its first process, and that with this one.
    init = subprocess.Popen(
        [
            *("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c"),
            *(_INSIDE.replace("{hosts}", " ".join(HOSTS)), "slurm", str(folder)),
        ],
        env=slurm.env,
        stdin=subprocess.DEVNULL,
        stdout=(folder / "init.log").open("w"),
        stderr=subprocess.STDOUT,
    )
    try:
        until = time.monotonic() + 30
        while slurm.states() != ["idle"] * len(HOSTS):
            assert init.poll() is None and time.monotonic() < until, f"Slurm did not start:\n{slurm.log()}"
            time.sleep(0.1)
        yield slurm
    finally:
        init.kill()
        init.wait()


if __name__ == "__main__":
    with cluster(Path(sys.argv[1])) as started:
        print(started.run("sinfo").stdout)
