# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the GPU VMs answered. Pure.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from .controller import older
from .devices import clock, failed
from .finding import Finding, note, problem, warning

LEAST_PYTHON = "3.8"
# Of images with CUDA torch 20 GiB and more are unpacked on each node.
IMAGE_GIB = 40.0
CPU_IMAGE_GIB = 6.0


def judge(place: str, reading: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[Finding]:
    """``wanted``: slots (ranks of the host, 0: not said), toolkit_repository (role container installs from it), no_gpus
    (the container gets none), mmio (the window sets the MMIO space of its VM), asleep (why it need not answer yet)."""
    if reading.get("unreachable") and wanted.get("asleep"):
        yield warning(place, "ssh", f"no answer, and {wanted['asleep']}", "stages recover and power bring it up")
        return
    if reading.get("unreachable"):
        yield problem(
            place,
            "ssh",
            str(reading.get("msg") or "no answer").strip().removeprefix("Task failed: "),
            "try `ansible -m ping` on it: address, port, key of the host, and key or password of the user",
        )
        return
    if reading.get("failed"):
        yield from failed(place, "node", reading)
        return
    if older(str(reading.get("python") or "0"), LEAST_PYTHON):
        yield problem(
            place,
            "Python",
            f"{reading.get('python')} is older than {LEAST_PYTHON}",
            "install a newer one, and name it in ansible_python_interpreter",
        )
    if reading.get("uid") != 0:
        yield problem(
            place,
            "sudo",
            f"the user becomes {reading.get('user')}, not root",
            "let ansible_user use sudo for everything, or log in as root",
        )
    yield from clock(place, reading.get("clock_skew"), warning)
    yield from _space(place, reading)
    yield from _gpus(place, reading, wanted)
    yield from _engine(place, reading)
    yield from _registry(place, reading)
    if not reading.get("rdma_devices"):
        there = int(reading.get("nics") or 0)
        yield warning(
            place,
            "RDMA device",
            f"there is none in /sys/class/infiniband, and {there or 'no'} NVIDIA network controller(s) on the PCI bus",
            "role guest installs the driver where guest_ofed_profile says so; else load it"
            if there
            else "pass the NIC through to this VM",
        )


def _space(place: str, reading: Mapping[str, Any]) -> Iterator[Finding]:
    need = IMAGE_GIB if reading.get("gpu_devices") and not reading.get("simulated") else CPU_IMAGE_GIB
    for path, free in (reading.get("free_gib") or {}).items():
        if isinstance(free, (int, float)) and free < need:
            yield warning(
                place,
                f"space at {path}",
                f"{free:.1f} GiB are free; an image of this kind takes up to {need:.0f}",
                "make space, or move the engine's data root, unless the image is there already",
            )


def _gpus(place: str, reading: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[Finding]:
    answering = reading.get("gpus")
    devices, driver = int(reading.get("gpu_devices") or answering or 0), reading.get("nvidia_driver")
    slots = int(wanted.get("slots") or 0)
    if not devices:
        yield warning(
            place, "GPU", "no NVIDIA GPU is passed through; the run trains on the CPU and proves nothing about GPUs"
        )
        return
    level = warning if wanted.get("mmio") else problem
    if not driver and not answering:
        yield level(
            place,
            "NVIDIA driver",
            f"{devices} GPUs are there and no driver is loaded",
            "install NVIDIA's driver (this collection does not); nvidia-smi has to list the GPUs",
        )
    elif isinstance(answering, int) and answering != devices:
        yield level(
            place,
            "GPU",
            f"{devices} are on the PCI bus and nvidia-smi lists {answering}",
            "look into the kernel's log for NVRM and Xid; in a VM mostly the MMIO space (pciPassthru.64bitMMIOSizeGB)",
        )
    if slots > devices:
        yield problem(place, "rocemesh_slots", f"{slots} ranks for {devices} GPUs", f"set rocemesh_slots: {devices}")
    elif 0 < slots < devices:
        yield warning(
            place,
            "rocemesh_slots",
            f"{slots} of {devices} GPUs get a rank",
            f"set rocemesh_slots: {devices}, unless the others are meant to stay idle",
        )
    if not reading.get("toolkit") and not wanted.get("no_gpus") and not wanted.get("toolkit_repository"):
        yield problem(
            place,
            "NVIDIA container toolkit",
            "no nvidia-ctk and no nvidia runtime of Docker",
            "install it, or name a repository in container_toolkit_repository",
        )
    for row in reading.get("gpu_processes") or ():
        yield note(place, "other jobs", f"a GPU is in use by process {row}")


def _engine(place: str, reading: Mapping[str, Any]) -> Iterator[Finding]:
    engine = reading.get("engine") or {}
    if engine.get("error"):
        yield warning(
            place,
            "Docker engine",
            str(engine["error"]),
            "role container starts it where it may install it; else look at systemctl status docker",
        )
    elif not engine.get("version"):
        yield warning(
            place, "Docker engine", "it is not installed", "role container installs it where apt is; else install it"
        )


def _registry(place: str, reading: Mapping[str, Any]) -> Iterator[Finding]:
    registry = reading.get("registry") or {}
    if registry.get("error"):
        yield warning(
            place,
            f"registry {registry.get('name')}",
            str(registry["error"]),
            "container_registry has to resolve and answer from every GPU VM, unless its engine has a proxy",
        )
