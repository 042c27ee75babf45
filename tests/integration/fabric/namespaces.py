"""A small fabric of network namespaces: hosts with one interface per rail, a bridge per rail for its leaf switch.

The real agents run in it, with real ARP, routes, MTU and TOS; perftest is the stand-in over TCP. SIMULATED: no RDMA.
Needs root and iproute2. Each namespace hangs on a process of ours, and is gone with it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import schedule, wire
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.model import Fabric, Port, from_rows

ROOT = Path(__file__).resolve().parents[3]
AGENT = ROOT / "workloads/fabric/agent.py"
STAND_IN = Path(__file__).with_name("perftest_stand_in.py")
TOS, MTU, PORT = 106, 1500, 18900
SECONDS = 0.6
SLOT = 4.0  # the stand-in's interpreter takes its time on a machine that does much else


class Namespaces:
    """``hosts`` x ``rails``; interface rN of host h has 10.90.N.(h+1)/24, and m0 is the control network."""

    def __init__(self, hosts: int, rails: int, tools: Path) -> None:
        self.hosts, self.rails, self.tools = hosts, rails, tools
        self.holders: dict[str, subprocess.Popen[bytes]] = {}
        self.fabric = self._fabric()
        self.netdevs = {nic: f"r{nic % rails}" for nic in range(hosts * rails)}
        self.environment: dict[int, dict[str, str]] = {}

    def _fabric(self) -> Fabric:
        return from_rows(
            {
                f"gpu{host:02d}": [
                    Port(f"mlx5_{rail}", f"10.90.{rail}.{host + 1}", 3, MTU, 400.0, f"leaf{rail}", f"1/{host + 1}")
                    for rail in range(self.rails)
                ]
                for host in range(self.hosts)
            }
        )

    def build(self) -> None:
        for name in ["switches", *self.fabric.hosts]:
            holder = subprocess.Popen(
                [
                    "unshare",
                    "--net",
                    "--mount",
                    "sh",
                    "-c",
                    "mount -t sysfs sysfs /sys; ip link set lo up; echo; exec cat",
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            assert holder.stdout is not None
            holder.stdout.readline()
            self.holders[name] = holder
        names = [f"leaf{rail}" for rail in range(self.rails)] + ["control"]
        self.switches(
            "; ".join(f"ip link add {name} type bridge forward_delay 0; ip link set {name} up" for name in names)
        )
        for number, host in enumerate(self.fabric.hosts):
            pid = self.holders[host].pid
            lines = []
            for rail in range(self.rails):
                lines.append(f"ip link add h{number}r{rail} type veth peer name r{rail} netns {pid}")
                lines.append(f"ip link set h{number}r{rail} master leaf{rail} up")
            lines.append(f"ip link add h{number}m type veth peer name m0 netns {pid}")
            lines.append(f"ip link set h{number}m master control up")
            self.switches("; ".join(lines))
            own = [
                f"ip addr add 10.90.{rail}.{number + 1}/24 dev r{rail}; ip link set r{rail} up"
                for rail in range(self.rails)
            ]
            self.host(number, "; ".join([*own, f"ip addr add 10.91.0.{number + 1}/24 dev m0; ip link set m0 up"]))

    def remove(self) -> None:
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
            for stream in (holder.stdin, holder.stdout):
                if stream is not None:
                    stream.close()

    def _enter(self, name: str) -> list[str]:
        return ["nsenter", "--target", str(self.holders[name].pid), "--net", "--mount"]

    def host(self, number: int, script: str) -> None:
        self._shell(self.fabric.hosts[number], script)

    def switches(self, script: str) -> None:
        self._shell("switches", script)

    def _shell(self, name: str, script: str) -> None:
        result = subprocess.run(
            [*self._enter(name), "sh", "-ec", script], capture_output=True, text=True, timeout=20, check=False
        )
        assert result.returncode == 0, f"{name}: {script}: {result.stderr}"

    # ------------------------------------------------------------------------------------------------- the real agents

    def agents(self, plan: str, without: Sequence[int] = ()) -> list[str]:
        """What the first host printed."""
        processes = []
        for number, name in enumerate(self.fabric.hosts):
            if number in without:
                continue
            environment = {
                "PATH": f"{self.tools}:{os.environ['PATH']}",
                "ROCEMESH_FABRIC_HOST": str(number),
                "STAND_IN_DEVICES": " ".join(f"mlx5_{rail}=r{rail}" for rail in range(self.rails)),
                **self.environment.get(number, {}),
            }
            processes.append(
                subprocess.Popen(
                    [*self._enter(name), sys.executable, "-S", "-E", str(AGENT), plan],
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        outputs = [process.communicate(timeout=400) for process in processes]
        assert not outputs[0][1], outputs[0][1]
        return outputs[0][0].splitlines()

    def plan(
        self,
        rounds: Sequence[schedule.Round],
        phase: str,
        programs: Sequence[Sequence[str]] = (),
        slot: float = SLOT,
    ) -> str:
        return wire.encode(
            self.fabric,
            rounds,
            phase=phase,
            desk=("10.91.0.1", PORT - 1),
            port=PORT,
            word="test",
            limit=60 + len(rounds) * slot,
            slot=slot,
            programs=programs,
            tos=TOS,
            netdevs=self.netdevs,
            mtu=MTU,
        )


@contextlib.contextmanager
def fabric(hosts: int, rails: int, tools: Path) -> Iterator[Namespaces]:
    tools.mkdir(exist_ok=True)
    for name in ("ib_write_bw", "ib_send_lat"):
        (tools / name).symlink_to(STAND_IN)
    site = Namespaces(hosts, rails, tools)
    try:
        site.build()
        yield site
    finally:
        site.remove()
