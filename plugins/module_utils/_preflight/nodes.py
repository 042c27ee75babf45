"""What the GPU VMs answered. Pure."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Iterator, Mapping

from .._judge.finding import PROBLEM, WARNING, Finding
from .._judge.sentences import Sentences
from .._nic import gpu_state
from .._site import support, systems
from .controller import older
from .devices import clock, failed
from .findings import found, from_sentence

LEAST_PYTHON = "3.8"
_SAYS = Sentences(__file__, "node_says.yml")
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
        yield dataclasses.replace(finding, remedy=_known(text, "ssh").get("remedy", finding.remedy))
        return
    if reading.get("failed"):
        for finding in failed(place, "node", reading):
            known = _known(finding.text)
            yield Finding(place, known["thing"], finding.text, known["remedy"]) if known else finding
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


def _known(text: str, thing: str = "") -> Mapping[str, str]:
    """What to do about these words, and what they are about; empty: not known."""
    for code, row in _SAYS.table.items():
        if thing in ("", row["thing"]) and re.search(row["pattern"], text):
            return _SAYS.say(code, least=LEAST_PYTHON, old_python=systems.OLD_PYTHON)
    return {}


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
    for reason in systems.problems(reading.get("system") or {}, parts, unlisted=bool(wanted.get("unlisted"))):
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
        words = {"line": support.passthrough_line(board), "page": support.PAGE}
        yield found("support", place, PROBLEM if refused else WARNING, **words)


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
