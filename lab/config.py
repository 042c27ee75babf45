"""Names, addresses and paths of the lab: the one place where they are written down."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from . import shapes

REPO = Path(__file__).resolve().parent.parent

SWITCH_IP, SWITCH_NAME = "127.78.0.2", "sw01"
VCENTER_IP, VCENTER_PORT = "127.78.0.3", 8443
SECOND_VCENTER_IP = "127.78.0.7"
_VCENTER_NAMES = ("vsphere", "vsphere2")
PHYSICS_IP = "127.78.0.4"
SSH_PORT, CONTROL_PORT = 2222, 8080

SWITCH_USER = "admin"
VCENTER_USER = "administrator@vsphere.local"
REGISTRY_USER = "rocemesh"
NODE_USER = "nvidia"

# What the wire of the lab can carry (the switch's largest MTU). A guest starts at 1500, as after an installation.
LINK_MTU = 9216
REGISTRY_NAME, REGISTRY_PORT = "registry", 5000
REGISTRY_CONTAINER, REGISTRY_VOLUME = "rocemesh-registry", "rocemesh-registry"

SUITE = "bookworm"
BASE_IMAGE = f"rocemesh-lab/base:{SUITE}"
REGISTRY_IMAGE = "rocemesh-lab/registry:latest"
VSPHERE_IMAGE = "rocemesh-lab/vsphere:latest"
VM_IMAGE = "rocemesh-lab/vm:latest"
JOB_IMAGE = "rocemesh-lab/job:latest"

# Labels on everything that the lab makes in the engine.
OWNER_LABEL, SOURCES_LABEL, VM_LABEL = "rocemesh.lab.dir", "rocemesh.lab.sources", "rocemesh.lab.vm"

# Of the machine, not of one clone: the engine that the lab starts where there is none, and the downloaded base.
MACHINE_DIR = Path("/var/lib/rocemesh-lab")
CACHE_DIR = Path("/var/cache/rocemesh-lab")


class LabError(Exception):
    """Something a person can act on; the text says what it is and what to do next."""


@dataclasses.dataclass(frozen=True)
class Node:
    """One GPU VM: ``name`` and ESXi ``host`` as in the inventory, ``number`` from 1; ``vm`` and ``esxi``: the names of
    both in ``vcenter``, which differ where there are two vCenters."""

    name: str
    host: str
    number: int
    vcenter: str
    vm: str
    esxi: str

    @property
    def container(self) -> str:
        return f"rocemesh-{self.name}"

    @property
    def volume(self) -> str:
        return f"rocemesh-{self.name}-docker"

    @property
    def ssh_ip(self) -> str:
        """An address of this machine, which the engine forwards; to a node with IPv6 alone it does not."""
        return RAILS[0].address6(self.number) if SHAPE.ipv6_alone else f"127.78.0.{10 + self.number}"

    @property
    def ssh_port(self) -> int:
        return 22 if SHAPE.ipv6_alone else SSH_PORT

    @property
    def cluster_ip(self) -> str:
        return RAILS[0].address6(self.number) if SHAPE.ipv6_alone else RAILS[0].address(self.number)


def nodes_of(shape: shapes.Shape) -> tuple[Node, ...]:
    """The VMs over the vCenters, each of which has two hosts with half of its VMs each."""
    share = shape.vms // shape.vcenters
    found = []
    for index in range(shape.vms):
        vcenter, at = divmod(index, share)
        host = 2 * at // share
        names = (f"gpu{index + 1:02d}", f"esx{2 * vcenter + host + 1:02d}")
        found.append(Node(*names, index + 1, _VCENTER_NAMES[vcenter], f"gpu{at + 1:02d}", f"esx{host + 1:02d}"))
    return tuple(found)


@dataclasses.dataclass(frozen=True)
class Paths:
    """Everything that one running lab writes, below ``root``."""

    root: Path

    def __getattr__(self, name: str) -> Path:
        # .lab/pki, .lab/ssh, ...: the directories have the names of the attributes.
        if name in {"secrets", "pki", "ssh", "switch", "vsphere", "run", "hw", "bin", "registry", "physics"}:
            return self.root / name
        raise AttributeError(name)

    def secret(self, name: str) -> Path:
        return self.root / "secrets" / f"{name}_password"

    def nic(self, vm: str) -> Path:
        return self.root / "hw" / vm / "nic.json"

    def pci(self, vm: str) -> Path:
        return self.root / "hw" / vm / "pci.json"

    @property
    def known_hosts(self) -> Path:
        return self.root / "ssh" / "known_hosts"

    @property
    def controller_key(self) -> Path:
        return self.root / "ssh" / "controller_ed25519"


def _root() -> Path:
    return Path(os.environ.get("ROCEMESH_LAB_DIR") or REPO / ".lab").resolve()


def _shape() -> shapes.Shape:
    """That of the lab that is up; else what $ROCEMESH_LAB_SHAPE says. Raises ShapeError where the two differ."""
    asked, built = os.environ.get("ROCEMESH_LAB_SHAPE") or "", _root() / "shape"
    there = built.read_text().strip() if built.exists() else ""
    if asked and there and asked != there:
        raise shapes.ShapeError(
            f"the lab of {_root()} has shape {there}, and ROCEMESH_LAB_SHAPE (SHAPE of make) asks for {asked}; "
            f"`make lab-down` first, or leave SHAPE out"
        )
    return shapes.read(there or asked or shapes.DEFAULT)


def _scheduler() -> str:
    """As `_shape`: that of the lab that is up; else what $ROCEMESH_LAB_SCHEDULER says; '' for none."""
    asked, shape, built = os.environ.get("ROCEMESH_LAB_SCHEDULER") or "", _root() / "shape", _root() / "scheduler"
    if asked not in SCHEDULERS:
        known = ", ".join(filter(None, SCHEDULERS))
        raise shapes.ShapeError(f"ROCEMESH_LAB_SCHEDULER (SCHEDULER of make) is {asked!r}; there is {known}")
    there = built.read_text().strip() if built.exists() else ""
    if asked and shape.exists() and asked != there:
        raise shapes.ShapeError(
            f"the lab of {_root()} was built without {asked}: its nodes lack the packages; `make lab-down` first "
            f"(`python -m lab down --keep-cache` keeps the images), or leave SCHEDULER out"
        )
    return there or asked


def keep_shape(paths: Paths) -> str:
    """For as long as this lab is there; everything else that looks at it finds shape and scheduler in its folder."""
    paths.root.mkdir(parents=True, exist_ok=True)
    (paths.root / "shape").write_text(SHAPE.name + "\n")
    if SCHEDULER:
        (paths.root / "scheduler").write_text(SCHEDULER + "\n")
    return f"{SHAPE.name}, {SCHEDULER}" if SCHEDULER else SHAPE.name


def paths() -> Paths:
    """The lab of this clone: $ROCEMESH_LAB_DIR, or .lab in the repository."""
    return Paths(_root())


SHAPE = _shape()
VCENTERS = dict(zip(_VCENTER_NAMES[: SHAPE.vcenters], (VCENTER_IP, SECOND_VCENTER_IP)))
NODES = nodes_of(SHAPE)
BY_NAME = {node.name: node for node in NODES}
# What the nodes' image has beside the guide's, by scheduler.
SCHEDULERS = {"": "", "slurm": "slurm-wlm munge python3-torch"}
SCHEDULER = _scheduler()
NODE_IMAGE = f"rocemesh-lab/node:{SCHEDULER or 'latest'}"
# What a VM is made of.
MACHINE_IMAGE = VM_IMAGE if SHAPE.machine else NODE_IMAGE
# What the registry has from the beginning, as nodes name it (`FROM registry:5000/base:bookworm`).
SEEDS = {f"base:{SUITE}": BASE_IMAGE, **({"job:lab": JOB_IMAGE} if SHAPE.machine else {})}
IMAGES = (JOB_IMAGE, VM_IMAGE, NODE_IMAGE, REGISTRY_IMAGE, VSPHERE_IMAGE, BASE_IMAGE)
RAILS = SHAPE.rails
# The first network also carries what is not RoCE; the guide's shape has no other. PCI addresses are the guide's own.
NETWORK, SUBNET, GATEWAY, BRIDGE = RAILS[0].network, RAILS[0].subnet, RAILS[0].gateway, RAILS[0].bridge
REGISTRY_IP, REGISTRY_IP6 = f"{RAILS[0].prefix}.5", RAILS[0].address6(-5)
NIC_PCI, GPU_PCI = RAILS[0].nic, SHAPE.gpus[0]
