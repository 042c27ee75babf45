"""The machine that a power-on makes: QEMU's words, as a pure function of what the guide's physics read at that moment.

The card's *current* ATS_ENABLED is the device's ``ats=``: off, and the guest finds no such capability. An IOMMU that
translates for the guest is there if the host *runs* with atsSupport and the VM's file has both P2P keys: only then does
the guest's kernel set Enable. (Under ESXi the host sets the bit, and here the guest's own IOMMU driver: the same bit of
the same register, set by another.) NIC and GPU lie behind root ports with ACS, on buses of the second NUMA node.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import ats, config, hardware

MEMORY_MB, CPUS = 1536, 2
# In the container.
KERNEL, INITRD, DISK = "/machine/vmlinuz", "/machine/initrd.img", "/disk/disk.qcow2"
RUN = "/run/machine"
_NODE = 1
# The timer test of the IO-APIC panics where the machine below is too busy to deliver its ticks in time.
_CMDLINE = "root=/dev/vda rw console=ttyS0 quiet no_timer_check panic=-1 intel_iommu=on"
# Emulated, a clock that is read from a device, a timer that is set anew at each pause and fences against other tenants
# cost more than the work between them; so do two threads of one machine that wait for each other's lock, and a fifth
# level of page tables. Together (QEMU 10.0, two guests on two processors): a boot 60 -> 31 s, a pull 150 -> 73 s.
_EMULATED = "mitigations=off nohz=off highres=off tsc=reliable"


@dataclasses.dataclass(frozen=True)
class Nic:
    """``pci`` as in the guest."""

    pci: str
    mac: str
    ats: bool


@dataclasses.dataclass(frozen=True)
class Machine:
    """What a power-on decides. ``gpus``: their PCI addresses; ``iommu``: whether one translates for the guest."""

    name: str
    nics: tuple[Nic, ...]
    gpus: tuple[str, ...]
    iommu: bool
    accelerator: str


def mac(rail: int, number: int) -> str:
    """Of the NIC of the VM with this number in a rail, from 0."""
    return f"52:54:00:bb:{rail:02x}:{number:02x}"


def at_power_on(
    node: config.Node,
    cards: Sequence[Mapping[str, Any]],
    *,
    ats_runtime: bool,
    extra_config: Mapping[str, Any],
    accelerator: str,
) -> Machine:
    of = {card["pci"]: ats.current_ats(card) for card in cards}
    nics = tuple(Nic(rail.nic, mac(each, node.number), of[rail.nic]) for each, rail in enumerate(config.SHAPE.rails))
    iommu = ats_runtime and ats.p2p_in_force(extra_config)
    return Machine(node.name, nics, config.SHAPE.gpus, iommu, accelerator)


def _behind_port(pci: str, slot: int) -> list[str]:
    """A bus of the second NUMA node just below the one that the address names, and a root port that leads to it."""
    above = int(pci.split(":")[1], 16) - 1
    return [
        *("-device", f"pxb-pcie,id=pxb{slot},bus_nr={above},numa_node={_NODE},bus=pcie.0"),
        *("-device", f"pcie-root-port,id=port{slot},bus=pxb{slot},chassis={slot},slot={slot},addr=0x0"),
    ]


def argv(machine: Machine) -> list[str]:
    """The whole command line."""
    kvm = machine.accelerator == "kvm"
    half = MEMORY_MB // 2
    # No device that no test asks for: a driver probes each one.
    board = "q35,sata=off,smbus=off,i8042=off,hpet=off"
    if kvm:
        board, accelerator, processor, cmdline = f"{board},kernel-irqchip=split", "kvm", "host", _CMDLINE
    else:
        accelerator, processor = "tcg,thread=single,tb-size=256", "max,la57=off,svm=off"
        cmdline = f"{_CMDLINE} {_EMULATED}"
    words = [
        *("qemu-system-x86_64", "-name", machine.name, "-nodefaults", "-no-user-config", "-display", "none"),
        *("-machine", board, "-accel", accelerator, "-cpu", processor),
        *("-smp", str(CPUS), "-m", str(MEMORY_MB)),
        *("-object", f"memory-backend-ram,id=ram0,size={half}M", "-object", f"memory-backend-ram,id=ram1,size={half}M"),
        *("-numa", "node,nodeid=0,cpus=0,memdev=ram0", "-numa", "node,nodeid=1,cpus=1,memdev=ram1"),
        *("-serial", "stdio", "-qmp", f"unix:{RUN}/qmp,server=on,wait=off"),
        *("-kernel", KERNEL, "-initrd", INITRD, "-append", cmdline),
        # Of a crash of the machine below nothing has to be left.
        *("-drive", f"if=none,id=disk,file={DISK},format=qcow2,cache=unsafe,discard=unmap"),
        *("-device", "virtio-blk-pci,drive=disk"),
        *("-object", "rng-random,id=random,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=random"),
        *("-virtfs", "local,path=/var/lib/lab-hw,mount_tag=hw,security_model=passthrough,multidevs=remap"),
        *("-virtfs", "local,path=/seed,mount_tag=seed,security_model=passthrough,readonly=on,multidevs=remap"),
    ]
    if machine.iommu:
        words += ["-device", "intel-iommu,intremap=on,device-iotlb=on"]
    iommu = "on" if machine.iommu else "off"
    for number, nic in enumerate(machine.nics):
        slot = number + 1
        words += _behind_port(nic.pci, slot)
        # What the guest sends is cut into frames by the guest, as by a card: the bridge then sees lengths of the wire.
        whole = "host_tso4=off,host_tso6=off,host_ufo=off"
        words += [
            *("-netdev", f"tap,id=net{number},ifname=tap{number},script=no,downscript=no"),
            *("-device", f"virtio-net-pci,netdev=net{number},bus=port{slot},mac={nic.mac},romfile=,disable-legacy=on,"),
        ]
        words[-1] += f"iommu_platform={iommu},ats={'on' if nic.ats else 'off'},{whole}"
    for number, gpu in enumerate(machine.gpus):
        slot = len(machine.nics) + number + 1
        words += [*_behind_port(gpu, slot), "-device", f"edu,bus=port{slot}"]
    return words


def write(paths: config.Paths, node: config.Node, *, ats_runtime: bool, extra_config: Mapping[str, Any]) -> None:
    """For the chassis, which starts it."""
    made = at_power_on(
        node,
        hardware.read_nic(paths, node.name)["cards"],
        ats_runtime=ats_runtime,
        extra_config=extra_config,
        accelerator=(paths.root / "accelerator").read_text().split()[0],
    )
    (folder(paths, node) / "argv").write_text("\0".join(argv(made)) + "\0")


def folder(paths: config.Paths, node: config.Node) -> Path:
    return paths.root / "machines" / node.name
