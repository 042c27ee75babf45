"""NVIDIA GPUs, driver and Fabric Manager of a node: the parsers, and what is wrong with what they found. Pure: no I/O.

Sources: NVIDIA's documentation of nvidia-smi, of CUDA's compatibility and of Fabric Manager (its version has to be that
of the driver; without it CUDA does not start on machines with NVSwitches).

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from .._layer import ParseError

NVIDIA = "10de"
_GPU_CLASSES = ("0300", "0302")  # VGA, 3D controller
_SWITCH_CLASS = "0680"  # other bridge: NVSwitch
_GPU_LINE = re.compile(r"^GPU (\d+): (.+?) \(UUID: (\S+)\)$")
_NO_GPU = ("  ", "No devices", "Unable to determine the device handle for ", "WARNING: infoROM is corrupted at ")


def kind_of(class_id: str, vendor: str) -> str:
    """gpu, nvswitch, or '' for anything else. ``class_id``: four digits of sysfs."""
    if vendor.lower() != NVIDIA:
        return ""
    return "gpu" if class_id in _GPU_CLASSES else "nvswitch" if class_id == _SWITCH_CLASS else ""


def parse_gpus(text: str, host: str) -> list[dict[str, Any]]:
    """``nvidia-smi -L`` -> one {index, name, uuid} per GPU that answers, without the MIG instances below it."""
    found = []
    for line in text.splitlines():
        if not line.strip() or line.startswith(_NO_GPU):
            continue
        row = _GPU_LINE.match(line.strip())
        if not row:
            raise ParseError("an unknown line", host=host, thing="nvidia-smi -L", raw=text)
        found.append({"index": int(row.group(1)), "name": row.group(2), "uuid": row.group(3)})
    return found


def parse_cuda(text: str) -> str:
    """The newest that the driver runs, of nvidia-smi's banner: ``CUDA Version``, since 610 ``CUDA UMD Version``."""
    found = re.search(r"CUDA(?: UMD)? Version:\s*(\d+\.\d+)", text)
    return found.group(1) if found else ""


def parse_fabric_version(text: str) -> str:
    """``nv-fabricmanager --version``: ``Fabric Manager version is : 550.54.15``."""
    found = re.search(r"(\d+\.\d+(?:\.\d+)?)", text)
    return found.group(1) if found else ""


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


# ---- what is wrong --------------------------------------------------------------------------------------------------


def driver_problems(host: str, found: Mapping[str, Any]) -> list[str]:
    """What keeps GPUs that are on the bus from being used; each text names host, versions and the next command."""
    on_bus = [device for device in found["pci"] if device["kind"] == "gpu"]
    driver, gpus = found["driver"], found["gpus"]
    problems: list[str] = []
    if on_bus and not driver["loaded"]:
        count = f"{host}: {len(on_bus)} NVIDIA GPU(s) on the PCI bus, and no NVIDIA driver is loaded"
        problems.append(
            f"{count}, although {driver['installed']} is on the disk. What to do: sudo modprobe nvidia, and look at "
            "dmesg for NVRM (a module that Secure Boot refuses, or one for another kernel)."
            if driver["installed"]
            else f"{count} or on the disk. What to do: install the data centre driver (Ubuntu: sudo ubuntu-drivers "
            "install --gpgpu), then nvidia-smi -L."
        )
        return problems
    if driver["loaded"] and gpus is None:
        both = driver["installed"] and driver["installed"] != driver["loaded"]
        problems.append(
            f"{host}: driver {driver['loaded']} is loaded and nvidia-smi does not answer"
            + (f"; on the disk is {driver['installed']}, so an upgrade waits for a restart of the VM" if both else "")
            + ". What to do: "
            + ("restart the VM in a window, or unload the old modules." if both else "nvidia-smi; dmesg | grep NVRM")
        )
    elif gpus is not None and len(gpus) < len(on_bus):
        problems.append(
            f"{host}: {len(on_bus)} NVIDIA GPU(s) on the PCI bus, and nvidia-smi -L shows {len(gpus)} (driver "
            f"{driver['loaded']}). What to do: dmesg | grep -i -E 'NVRM|Xid' names the one that failed."
        )
    # Where NVSwitches are, Fabric Manager runs, in the driver's version.
    return problems + fabric_on_disk(host, found) + _fabric_running(host, found)


def _switches(host: str, found: Mapping[str, Any]) -> str:
    """The beginning of every sentence about them; empty without any."""
    count = sum(device["kind"] == "nvswitch" for device in found["pci"])
    driver = found["driver"]["loaded"] or "not loaded"
    return f"{host}: {count} NVSwitch(es) on the PCI bus, driver {driver}" if count else ""


def fabric_on_disk(host: str, found: Mapping[str, Any]) -> list[str]:
    """Whether Fabric Manager is there, in the driver's version: that needs no driver that works."""
    where, fabric, driver = _switches(host, found), found["fabric_manager"], found["driver"]["loaded"] or ""
    branch = driver.split(".", 1)[0] or "VERSION"
    if where and not fabric["installed"]:
        return [
            f"{where}, and Fabric Manager is not installed: CUDA does not start without it. What to do: sudo apt-get "
            f"install nvidia-fabricmanager-{branch}={driver}-* (RHEL: nvidia-fabric-manager-{driver}), then sudo "
            "systemctl enable --now nvidia-fabricmanager."
        ]
    if where and fabric["version"] and driver and fabric["version"] != driver:
        return [
            f"{where}, Fabric Manager {fabric['version']}: it has to be of the driver's version, or it ends at once. "
            f"What to do: sudo apt-get install nvidia-fabricmanager-{branch}={driver}-* and sudo systemctl restart "
            "nvidia-fabricmanager."
        ]
    return []


def _fabric_running(host: str, found: Mapping[str, Any]) -> list[str]:
    where, fabric = _switches(host, found), found["fabric_manager"]
    if not where or not fabric["installed"] or fabric["state"] == "active":
        return []
    return [
        f"{where}, Fabric Manager {fabric['version'] or 'of unknown version'} is {fabric['state'] or 'not running'}"
        ": CUDA does not start without it. What to do: sudo systemctl enable --now nvidia-fabricmanager, and "
        "journalctl -u nvidia-fabricmanager if it ends again."
    ]


def of_fabric_manager(problem: str) -> bool:
    return "NVSwitch(es)" in problem


def before_the_window(host: str, found: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """`driver_problems` of a VM whose MMIO space a maintenance window still sets: those that stay whatever it sets (no
    driver on the disk, no Fabric Manager of its version), and those that may go with it."""
    texts, driver = driver_problems(host, found), found["driver"]
    if not driver["loaded"] and not driver["installed"]:
        return texts, []
    of_disk = {**found, "driver": {**driver, "loaded": driver["loaded"] or driver["installed"]}}
    staying = fabric_on_disk(host, of_disk)
    return staying, [text for text in texts if text not in staying]


def cuda_problems(host: str, driver: Mapping[str, Any], image: str) -> list[str]:
    """Whether the driver runs programs of the image's CUDA: its own and every older one, and newer ones of one major.

    ``image``: version of CUDA in the image, '' not known.
    """
    most = str(driver.get("cuda") or "")
    if not image or not most or numbers(image)[:1] <= numbers(most)[:1]:
        return []
    return [
        f"{host}: the image has CUDA {image}, and driver {driver.get('loaded')} runs CUDA up to {most}. What to do: "
        f"install a driver for CUDA {numbers(image)[0]}, or take an image with CUDA {numbers(most)[0]} (an image with "
        "CUDA's forward compatibility package runs too: then set guest_image_cuda to the CUDA that the driver runs)."
    ]


# ---- ranks ----------------------------------------------------------------------------------------------------------


def rank_problems(host: str, gpus: int, ranks: int, idle_allowed: bool) -> list[str]:
    """A rank per GPU: more ranks share a GPU, which no figure shows; fewer leave GPUs idle."""
    if ranks > gpus:
        return [
            f"{host}: {ranks} ranks and {gpus} GPU(s): several ranks would share a GPU. What to do: set rocemesh_slots "
            f"of this host to {gpus}, or look with nvidia-smi -L for the GPUs that are missing."
        ]
    if ranks < gpus and not idle_allowed:
        return [
            f"{host}: {ranks} rank(s) and {gpus} GPUs: {gpus - ranks} would be idle. What to do: set rocemesh_slots of "
            f"this host to {gpus} (or leave it out: then it follows from the GPUs), or rocemesh_allow_idle_gpus to "
            "true if that is what you want."
        ]
    return []


def image_problems(host: str, gpus: int, stack: Mapping[str, Any]) -> list[str]:
    """Whether torch of the image can use the GPUs that are there. ``stack``: what the image's torch says of itself
    (``torch``, ``cuda``, ``available``, ``gpus``, ``error``)."""
    if gpus == 0:
        return []
    remedy = (
        "What to do: take an image with CUDA (container_build_dockerfile: multinode/Dockerfile.ngc, or container_image "
        "with your own), or set rocemesh_allow_cpu to true to train on CPUs beside idle GPUs."
    )
    if stack.get("error"):
        return [f"{host}: {gpus} GPU(s), and torch of the image does not load ({stack['error']}). {remedy}"]
    if not stack.get("cuda"):
        version = stack.get("torch") or "of unknown version"
        return [f"{host}: {gpus} GPU(s), and torch {version} of the image was built without CUDA. {remedy}"]
    if not stack.get("available") or int(stack.get("gpus") or 0) < gpus:
        why = f": {stack['why']}" if stack.get("why") else ""
        return [
            f"{host}: {gpus} GPU(s), and torch {stack.get('torch')} (CUDA {stack['cuda']}) sees "
            f"{stack.get('gpus') or 0} of them{why}. What to do: nvidia-smi -L and python3 -c "
            "'import torch; torch.cuda.init()' in the container."
        ]
    return []


def problems(host: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Everything that is known before an image runs. ``wanted``: options of the module gpu_info."""
    staying, later = before_the_window(host, found) if wanted.get("waits_for") else (driver_problems(host, found), [])
    on_bus = sum(device["kind"] == "gpu" for device in found["pci"])
    shown = len(found["gpus"] or ())
    gpus = max(on_bus, shown) if later else shown
    ranks = int(wanted.get("ranks") or 0)
    if gpus and ranks:
        staying += rank_problems(host, gpus, ranks, bool(wanted.get("allow_idle_gpus")))
    if (found["usable"] or later) and wanted.get("image") == "cpu" and not wanted.get("allow_cpu"):
        staying += image_problems(host, gpus, {"torch": "for CPUs"})
    return staying + cuda_problems(host, found["driver"], str(wanted.get("image_cuda") or ""))


def waiting(host: str, found: Mapping[str, Any], waits_for: Sequence[str]) -> list[str]:
    """What is wrong now and is judged only after the window, which sets these keys of the VM."""
    later = before_the_window(host, found)[1] if waits_for else []
    keys = " and ".join(waits_for)
    return [
        f"{text.partition(' What to do: ')[0].rstrip('.')}. The maintenance window sets {keys} of this VM, which a "
        "driver may need to reach its GPUs: this waits for it, and is judged again at its end."
        for text in later
    ]
