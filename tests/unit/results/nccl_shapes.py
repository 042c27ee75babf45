"""Logs as NCCL of a given version would print them, composed from the formats in its source (NVIDIA/nccl, tags)."""

from __future__ import annotations

import dataclasses

HOSTS = ("gpu01", "gpu02", "gpu03", "gpu04")
# How launchers say that a process of theirs failed, and what says by itself that a process ends.
DIED = (
    "process rank 1 with PID 0 on node gpu02 exited on signal 11 (Segmentation fault)",
    "srun: error: gpu02: tasks 1-7: Exited with exit code 1",
    "slurmstepd: error: *** JOB 7 ON gpu02 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT",
    "mpirun detected that one or more processes exited with non-zero status",
    "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    "failed (exitcode: -9) local_rank: 3 (pid: 8)",
    "slurmstepd: error: Detected 2 oom_kill event",
    "gpu02.example.com: rank 7 died from signal 9",
    "gpu02: rank 7 exited with code 134",
    "exits with return code = -7",
    "-- Process 3 terminated with the following error",
    "process 3 terminated with signal SIGKILL",
    "CalledProcessError: Command '['/opt/py/bin/python3', '-u', 'a.py']' returned non-zero exit status 3",
    "command terminated with exit code 137",
    "worker-7 exited with code 139",
    "line 7: 4711 Killed",
    "0: Terminated",
    "Segmentation fault (core dumped)",
    "[rank7]: Traceback (most recent call last)",
    "terminate called after throwing an instance of 'std::bad_alloc'",
)
# Lines like them of which none says that the program failed.
LIVES = (
    "worker-7 exited with code 0",
    "gpu02: rank 7 exited with code 0",
    "run.sh: line 7: 4711 Terminated              nvidia-smi dmon -s u",
    "run.sh: line 8: 4712 Killed                  nvidia-smi dmon -s p",
    "    State:          Terminated",
    "Setting signal handlers: a job that is Killed or Terminated exits at once",
    "CalledProcessError: Command '['git', 'describe']' returned non-zero exit status 128",
)


@dataclasses.dataclass(frozen=True)
class Job:
    """A ring over ``hosts`` with ``gpus`` ranks each. ``send``, ``receive``: what stands behind "via".

    ``nranks``: what NCCL says, if not the truth; ``silent``: ranks that print nothing; ``channels``: whether the
    channel lines are printed; ``extra``: lines of every rank, behind its Using line.
    """

    version: str = "2.21.5"
    hosts: tuple[str, ...] = HOSTS
    gpus: int = 1
    send: str = "NET/IB/0/GDRDMA"
    receive: str = "NET/IB/0/GDRDMA"
    local: str = "P2P/IPC"
    network: str = "IB"
    nranks: int | None = None
    silent: tuple[int, ...] = ()
    channels: bool = True
    rings: bool = False
    complete: bool = True
    extra: tuple[str, ...] = ()

    @property
    def _release(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.version.split("."))

    @property
    def size(self) -> int:
        return len(self.hosts) * self.gpus

    def prefix(self, rank: int) -> str:
        word = "INFO" if self._release < (2, 3) else "NCCL INFO"
        return f"{self.hosts[rank // self.gpus]}:{1000 + rank}:{2000 + rank} [{rank % self.gpus}] {word} "

    def _end(self, rank: int) -> str:
        """How a rank is written in a channel line: bus id before 2.18, index of the GPU since."""
        if self._release < (2, 5) and rank >= 0:
            return str(rank)
        return f"{rank}[{'b1000' if self._release < (2, 18) else rank % self.gpus}]"

    def _channel(self, source: int, target: int, direction: str, via: str, number: int = 0) -> str:
        name = "Ring" if self._release < (2, 5) else "Channel"
        connection = "/0" if self._release >= (2, 12) and (direction or self._release >= (2, 14)) else ""
        middle = f"[{direction}] " if direction else ""
        return f"{name} {number:02d}{connection} : {self._end(source)} -> {self._end(target)} {middle}via {via}"

    def _state(self, rank: int, state: str) -> str:
        nranks = self.size if self.nranks is None else self.nranks
        rank = rank % nranks
        if self._release < (2, 5):
            return f"comm 0x7f0 rank {rank} nranks {nranks} cudaDev 0 nvmlDev 0 - {state}"
        text = f"comm 0x7f00c0 rank {rank} nranks {nranks} cudaDev {rank % self.gpus}"
        if self._release >= (2, 18):
            text += f" nvmlDev {rank % self.gpus}"
        text += " busId b1000"
        if self._release >= (2, 16):
            text += " commId 0x65e0bd6ee7449db4"
        if self._release >= (2, 23):
            text = "ncclCommInitRank " + text
        if self._release >= (2, 29) and state == "Init START":
            text = f"[Rank {rank}] " + text
        return f"{text} - {state}"

    def rank_lines(self, rank: int) -> list[str]:
        lines: list[str] = []
        if self.network == "IB":
            order = " [RO]" if self._release >= (2, 12) else " "
            rail = ":0:0" if self._release >= (2, 30) else ""
            lines.append(f"NET/IB : Using [0]mlx5_0:1{rail}/RoCE{order}; OOB ens192:192.0.2.{rank + 1}<0>")
        if self.network:
            lines.append(f"Using network {self.network}")
        lines += self.extra
        if self._release >= (2, 17):
            lines.append(self._state(rank, "Init START"))
        before, after = (rank - 1) % self.size, (rank + 1) % self.size
        if self.rings:
            lines.append(f"Ring 00 : {before} -> {rank} -> {after}")
        body = []
        if self.channels and self.size > 1:
            same = self.hosts[before // self.gpus] == self.hosts[rank // self.gpus]
            if not same:
                body.append(self._channel(before, rank, "receive", self.receive))
            same = self.hosts[after // self.gpus] == self.hosts[rank // self.gpus]
            body.append(
                self._channel(rank, after, "", self.local) if same else self._channel(rank, after, "send", self.send)
            )
        done = [self._state(rank, "Init COMPLETE")] if self.complete else []
        # Since 2.22 connections are made at the first collective, after the start.
        lines += done + body if self._release >= (2, 22) else body + done
        return [self.prefix(rank) + line for line in lines]

    def text(self) -> str:
        lines = [f"NCCL version {self.version}+cuda12.4"]
        for rank in range(self.size):
            if rank not in self.silent:
                lines += self.rank_lines(rank)
        return "\n".join(lines) + "\n"
