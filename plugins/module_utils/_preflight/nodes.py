"""What the GPU VMs answered. Pure."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Iterator, Mapping

from .._judge.finding import PROBLEM, WARNING, Finding
from .._nic import gpu_state
from .._site import support, systems
from .controller import older
from .devices import clock, failed
from .findings import found, from_sentence

LEAST_PYTHON = "3.8"
# What modules of an ansible-core say that the Python of the node is too old for.
_OLD_PYTHON = re.compile(r"requires a minimum of Python version", re.IGNORECASE)
# What a node says before any module runs there -> what it is about, and what to do.
_NODE_SAYS = (
    (re.compile(r"must have a tty"), "sudo", "take requiretty out of sudoers: Defaults:USER !requiretty"),
    (re.compile(r"(?i)sudo password|password is required|in the sudoers|not allowed to execute"), "sudo",
     "give ansible_become_password, from a vault, or let ansible_user use sudo for everything"),
    (re.compile(r"python\S*: (?:command )?not found|python\S*: No such file"), "Python",
     f"install Python {LEAST_PYTHON} or newer there, or name it in ansible_python_interpreter"),
    (re.compile(r"future feature annotations"), "Python", systems.OLD_PYTHON),
)  # fmt: skip
# Where ssh fails, what is to do when it is neither address nor login.
_SSH_SAYS = (
    (re.compile(r"REMOTE HOST IDENTIFICATION HAS CHANGED"),
     "if it was installed anew, compare its key by another way and replace its line in known_hosts "
     "(ssh-keygen -R ADDRESS); if not, find out what answers at its address"),
    (re.compile(r"waiting for privilege escalation|Connection timed out during banner exchange"),
     "the node takes connections and does not answer in time: look at its console, load and disk"),
)  # fmt: skip
# Of images with CUDA torch 20 GiB and more are unpacked on each node.
IMAGE_GIB = 40.0
CPU_IMAGE_GIB = 6.0


def judge(place: str, reading: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[Finding]:
    """``wanted``: slots (ranks of the host, 0: not said), toolkit_repository (role container installs from it), no_gpus
    (the container gets none), mmio (the window may have to set the MMIO space of its VM), asleep (why it need not
    answer yet); esx (the site has ESXi hosts); parts (what is done there, of `systems.PARTS`), unlisted (systems that
    are not in the table are tried), gpu (options of module gpu_info), look (the role guest does not look at GPUs:
    what is wrong with them stops nothing)."""
    message = str(reading.get("msg") or "")
    if reading.get("unreachable") and wanted.get("asleep"):
        yield found("node_asleep", place, why=wanted["asleep"])
        return
    if reading.get("unreachable"):
        text = re.sub(r"@{3,}\s*|@\s+WARNING: (.*?)\s+@", r"\1", message or "no answer").strip()
        finding = found("node_unreachable", place, text=text.removeprefix("Task failed: "))
        remedy = next((remedy for pattern, remedy in _SSH_SAYS if pattern.search(text)), finding.remedy)
        yield dataclasses.replace(finding, remedy=remedy)
        return
    if reading.get("failed") and _OLD_PYTHON.search(message):
        yield found("node_python", place, text=message.strip(), remedy=systems.OLD_PYTHON)
        return
    if reading.get("failed"):
        for finding in failed(place, "node", reading):
            known = next((row for row in _NODE_SAYS if row[0].search(finding.text)), None)
            yield finding if known is None else Finding(place, known[1], finding.text, known[2])
        return
    if older(str(reading.get("python") or "0"), LEAST_PYTHON):
        yield found("node_python_old", place, version=reading.get("python"), least=LEAST_PYTHON)
    if reading.get("uid") != 0:
        yield found("node_user", place, user=reading.get("user"))
    yield from clock(place, reading.get("clock_skew"), WARNING)
    yield from _system(place, reading, wanted)
    yield from _space(place, reading)
    yield from _gpus(place, reading, wanted)
    yield from _engine(place, reading)
    yield from _next_boot(place, reading)
    if not reading.get("rdma_devices"):
        count = int(reading.get("nics") or 0)
        yield found("no_rdma_with_nic" if count else "no_rdma", place, count=count)


def _space(place: str, reading: Mapping[str, Any]) -> Iterator[Finding]:
    need = IMAGE_GIB if _devices(reading) and not reading.get("simulated") else CPU_IMAGE_GIB
    for path, free in (reading.get("free_gib") or {}).items():
        if isinstance(free, (int, float)) and free < need:
            yield found("space", place, path=path, free=free, need=need)


def _system(place: str, reading: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[Finding]:
    """The table that the roles obey, before any of them stops at it."""
    engine = reading.get("engine") or {}
    there = bool(engine.get("version") or engine.get("error"))
    parts = [part for part in wanted.get("parts") or () if part != "engine" or not there]
    unlisted = bool(wanted.get("unlisted"))
    given = reading.get("system") or {}
    for reason in systems.problems(given, parts, unlisted=unlisted):
        yield from_sentence(
            place, "operating system", reason, f"take a system of {systems.PAGE}, or leave out what is refused"
        )


def _devices(reading: Mapping[str, Any]) -> int:
    """GPUs on the bus; where none is seen there, those that answer."""
    gpu = reading.get("gpu") or {}
    return sum(device["kind"] == "gpu" for device in gpu.get("pci") or ()) or len(gpu.get("gpus") or ())


def _gpus(place: str, reading: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[Finding]:
    """What module gpu_info finds wrong, and the role guest stops at; and what only containers need."""
    devices, gpu, wishes = _devices(reading), reading.get("gpu") or {}, wanted.get("gpu") or {}
    if not devices:
        yield found("no_gpu", place)
        return
    if wanted.get("esx"):
        yield from _support(place, gpu)
    judged = WARNING if wanted.get("look") is False else PROBLEM
    given = gpu_state.driver_problems(place, gpu)
    staying, later = gpu_state.before_the_window(place, gpu) if wanted.get("mmio") else (given, [])
    said = [(judged, _driver_or_fabric(text), text) for text in staying]
    waits = "Or it waits for the MMIO space, which the window sets."
    said += [(WARNING, _driver_or_fabric(text), f"{text} {waits}") for text in later]
    slots, idle = int(wanted.get("slots") or 0), bool(wishes.get("idle_allowed"))
    ranks = gpu_state.rank_problems(place, devices, slots, idle) if slots else []
    said += [(judged, "rocemesh_slots", text) for text in ranks]
    known = gpu_state.image_problems(place, devices, {"torch": "for CPUs"}) if wishes.get("image") == "cpu" else []
    image = known if (gpu.get("usable") or later) and not wishes.get("cpu_allowed") else []
    newer = gpu_state.cuda_problems(place, gpu["driver"], str(wishes.get("image_cuda") or ""))
    said += [(judged, "image", text) for text in [*image, *newer]]
    for level, thing, text in said:
        yield from_sentence(place, thing, text, "nvidia-smi -L on the node", level)
    if not reading.get("toolkit") and not wanted.get("no_gpus") and not wanted.get("toolkit_repository"):
        yield found("no_toolkit", place)
    for row in reading.get("gpu_processes") or ():
        yield found("gpu_in_use", place, row=row)


def _support(place: str, gpu: Mapping[str, Any]) -> Iterator[Finding]:
    """What the vendors say of NVSwitches in a VM of ESX; refused only where both refuse."""
    if not any(device["kind"] == "nvswitch" for device in gpu.get("pci") or ()):
        return
    boards = {support.board_of(str(row.get("name") or "")) for row in gpu.get("gpus") or ()} - {""}
    for board in sorted(boards):
        refused = all(support.row(board, release, support.FIXED).is_refused for release in support.RELEASES)
        line = support.passthrough_line(board)
        yield found("support", place, PROBLEM if refused else WARNING, line=line, page=support.PAGE)


def _driver_or_fabric(sentence: str) -> str:
    return "Fabric Manager" if gpu_state.of_fabric_manager(sentence) else "NVIDIA driver"


def _engine(place: str, reading: Mapping[str, Any]) -> Iterator[Finding]:
    engine, registry = reading.get("engine") or {}, reading.get("registry") or {}
    if engine.get("error"):
        yield found("engine_down", place, text=engine["error"])
    elif not engine.get("version"):
        yield found("engine_missing", place)
    elif engine.get("apparmor"):
        yield found("apparmor", place, text=engine["apparmor"])
    if registry.get("error"):
        yield found("registry", place, name=registry.get("name"), text=registry["error"])


def _next_boot(place: str, reading: Mapping[str, Any]) -> Iterator[Finding]:
    """Nothing restarts here; the maintenance window compares again and leaves the host of this VM out."""
    boot = reading.get("next_boot") or {}
    for one in boot.get("differences") or ():
        yield found("next_boot", place, text=one["text"], file=one["file"])
    for path, role in (boot.get("leftovers") or {}).items():
        yield found("other_release", place, path=path, stage="guest" if role == "guest" else "mesh")
    for text in boot.get("unknown") or ():
        yield found("boot_unknown", place, text=text)
