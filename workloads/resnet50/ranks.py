"""Who am I among the ranks, where is rank 0, and which interface leads there. No torch here."""

from __future__ import annotations

import dataclasses
import fcntl
import ipaddress
import socket
import struct
from typing import Mapping

# (rank, world, local rank): Open MPI (also as an MPIJob), torchrun, a step of Slurm, Hydra (MPICH, Intel MPI). One
# that was started by another launcher stands before it: mpirun and torchrun under srun leave Slurm's variables there.
LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
)
# Set by launchers as well, but without a word about how many ranks there are.
MARKS = ("PMIX_RANK",)
SIOCGIFADDR = 0x8915  # Linux: IPv4 address of an interface
INET6 = "/proc/net/if_inet6"  # Linux: address in hex, index, length of the prefix, scope, flags, interface


@dataclasses.dataclass(frozen=True)
class Place:
    rank: int
    world: int
    local_rank: int


def place(environment: Mapping[str, str]) -> Place:
    """Rank, number of ranks and rank within this host; (0, 1, 0) if no launcher started us."""
    for names in LAUNCHERS:
        if names[0] == "SLURM_PROCID" and _outside_of_a_step(environment):
            continue
        if names[0] in environment or names[1] in environment:
            missing = [name for name in names if name not in environment]
            if missing:
                raise SystemExit(f"{names[0]} or {names[1]} is set but {', '.join(missing)} is not: started by what?")
            found = Place(*(int(environment[name]) for name in names))
            if not 0 <= found.rank < found.world:
                raise SystemExit(f"{names[0]}={found.rank} does not fit {names[1]}={found.world}")
            return found
    marks = [name for name in MARKS if name in environment]
    if marks:
        raise SystemExit(
            f"{marks[0]} is set, so a launcher started this as one of several ranks, but nothing says how many there "
            "are: each would train alone. Start it with mpirun, torchrun or srun, or set RANK, WORLD_SIZE, LOCAL_RANK"
        )
    return Place(0, 1, 0)


def _outside_of_a_step(environment: Mapping[str, str]) -> bool:
    """Whether Slurm's variables are those of a batch script, which is one process whatever --ntasks says."""
    if "SLURM_PROCID" not in environment or "SLURM_STEP_NUM_TASKS" in environment:
        return False
    tasks = environment.get("SLURM_NTASKS", "1")
    if tasks != "1":
        raise SystemExit(
            f"SLURM_NTASKS is {tasks}, but this is the batch script itself and no step: it would wait for ranks that "
            "nobody starts. Put srun before it (srun --mpi=none python3 ...), or start torchrun or mpirun"
        )
    return True


def master(given: str | None, environment: Mapping[str, str], world: int) -> str:
    """Address of rank 0. Never guessed from a host name: many systems map their own name to 127.0.1.1."""
    address = given or environment.get("MASTER_ADDR")
    if address:
        return address
    if world == 1:
        return "127.0.0.1"
    raise SystemExit("more than one rank: give --master_addr (the address of the first host) or MASTER_ADDR")


def rendezvous(address: str, port: int) -> str:
    """Where torch's ranks meet; an IPv6 address stands in brackets (RFC 3986)."""
    return f"tcp://[{address}]:{port}" if ":" in address else f"tcp://{address}:{port}"


def local_addresses() -> list[tuple[str, str]]:
    """(interface, address) of this host, the IPv4 ones first."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _index, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe, SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue  # an interface without an IPv4 address
            found.append((name, socket.inet_ntoa(answer[20:24])))
    try:
        with open(INET6, encoding="ascii") as lines:
            rows = [line.split() for line in lines]
    except OSError:  # a kernel without IPv6
        rows = []
    return found + [(row[5], str(ipaddress.IPv6Address(int(row[0], 16)))) for row in rows]


def interface_in(network: str, addresses: list[tuple[str, str]]) -> str:
    """The interface with an address in ``network`` (CIDR); the exact name for GLOO_/NCCL_SOCKET_IFNAME."""
    wanted = ipaddress.ip_network(network)
    names = [name for name, address in addresses if ipaddress.ip_address(address) in wanted]
    if not names:
        have = ", ".join(f"{name} {address}" for name, address in addresses) or "none"
        raise SystemExit(f"{socket.gethostname()}: no interface has an address in {network} (there is: {have})")
    return names[0]
