"""A real Slurm on this machine: Debian's slurmctld and two slurmd over loopback, each with a host name of its own, with
the configuration that the lab gives its nodes (lab/scheduler.py).

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

from lab import config, scheduler

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "munged")
NODES = config.NODES[:2]
HOSTS = tuple(node.name for node in NODES)
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


def _of_one_machine(text: str, folder: Path, control: int, ports: list[int], gpus: int) -> str:
    """The lab's configuration, with ports, files and names of this machine in place of the nodes'. ``gpus``: how many
    each node is to have (terminals stand in for them); 0: none, and nodes are given whole, as in the lab."""
    for node, port in zip(NODES, ports):
        place = f"NodeAddr=127.0.0.1 NodeHostname={node.name} Port={port}"
        text = text.replace(f"NodeAddr={node.cluster_ip}", place)
    for there, here in (
        (f"SlurmctldHost={NODES[0].name}({NODES[0].cluster_ip})", f"SlurmctldHost={socket.gethostname()}(127.0.0.1)"),
        ("/var/lib/slurm/slurmctld", f"{folder}/state"),
        ("/var/lib/slurm/slurmd", f"{folder}/spool.%n"),
        ("/run/slurmctld.pid", f"{folder}/slurmctld.pid"),
        ("/run/slurmd.pid", f"{folder}/slurmd.%n.pid"),
        (f"PartitionName={scheduler.PARTITION} ", f"PartitionName={PARTITIONS[0]} "),
        ("KillWait=5", "KillWait=1"),
    ):
        assert text.count(there) == 1, there
        text = text.replace(there, here)
    if gpus:
        text = text.replace("select/linear", "select/cons_tres").replace(" CPUs=", f" Gres=gpu:{gpus} CPUs=")
        text = f"GresTypes=gpu\nSelectTypeParameters=CR_Core\n{text}"
        (folder / "gres.conf").write_text(f"Name=gpu File=/dev/tty[0-{gpus - 1}]\n")
    return f"""{text}SlurmctldPort={control}
AuthInfo=socket={folder}/munge.sock
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
PartitionName={PARTITIONS[1]} Nodes={HOSTS[0]} State=UP
"""


@contextlib.contextmanager
def cluster(folder: Path, gpus: int = 0) -> Iterator[Slurm]:
    control, *ports = _free_ports(1 + len(HOSTS))
    (folder / "state").mkdir()
    (folder / "munge.key").write_bytes(secrets.token_bytes(128))
    (folder / "munge.key").chmod(0o400)
    text = _of_one_machine(scheduler.slurm_conf(NODES, 4), folder, control, ports, gpus)
    (folder / "slurm.conf").write_text(text)
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
