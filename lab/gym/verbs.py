"""``python -m lab fault list | set NAME [HOST] | clear``."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from .. import config, control
from . import model, site
from .faults import FAULTS

MARK = "SIMULATED"
_MARKED = "SIMULATED by the fault gym; written after the sources in lab/gym, not recorded.\n"
PROGRAMS = ("switch", "vsphere", "physics")


def listing() -> str:
    """One line per fault."""
    rows = [("fault", "layer", "set at", "in the lab", "source")]
    rows += [
        (entry.name, entry.layer, entry.place, entry.call.program if entry.call else "outputs only", entry.source)
        for entry in FAULTS.values()
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "".join("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]) + "\n" for row in rows)


def body(call: model.Call, host: str) -> dict[str, Any]:
    """The fault's JSON object with the place filled in."""
    words = model.names(host)
    return {key: value.format(**words) if isinstance(value, str) else value for key, value in call.body.items()}


def _known(name: str) -> model.Fault:
    if name not in FAULTS:
        raise config.LabError(f"no fault {name!r}; `python -m lab fault list` names them")
    return FAULTS[name]


def _ours(folder: Path) -> bool:
    """A file of that name alone is nobody's word for it."""
    try:
        return (folder / MARK).read_text(encoding="utf-8", errors="replace") == _MARKED
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return False


def write(name: str, host: str, folder: Path) -> int:
    """The outputs of the site with this fault, as a bundle; the number of pieces. Raises LabError for an unknown fault
    or host, and for a folder that somebody else made."""
    fault = _known(name)
    if folder.exists() and not _ours(folder):
        raise config.LabError(f"{folder} is there and not the gym's; give another folder with --bundle")
    try:
        pieces = model.broken([(fault, host)])
    except ValueError as error:
        raise config.LabError(str(error)) from error
    shutil.rmtree(folder, ignore_errors=True)
    for piece, text in {MARK: _MARKED, **pieces}.items():
        path = folder / piece
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return len(pieces)


def set_fault(name: str, host: str, folder: Path, *, up: bool) -> str:
    """What was done, for a person. With the lab up, a fault that a simulated device can show is set there, too,
    in place of those before: the lab has the fault of the outputs and no other."""
    fault = _known(name)
    pieces = write(name, host, folder)
    lines = [
        f"{name} at {model.where(fault, host) or 'the job'}: {pieces} SIMULATED outputs in {folder}",
        f"  ask: python3 workloads/doctor.py {folder}",
    ]
    if up:
        _cleared()
    if fault.call is None:
        lines.append("  no device of the lab shows this fault; its outputs alone do")
    elif not up:
        lines.append(f"  the lab is not up, so its {fault.call.program} was not told")
    else:
        control.request("POST", control.url(fault.call.program, "/fault"), body(fault.call, host), timeout=60)
        lines.append(f"  set in the lab ({fault.call.program}); `python -m lab fault clear` takes it back")
    return "\n".join(lines)


def clear(folder: Path, *, up: bool) -> str:
    """Every fault of the lab's devices is taken back, the outputs are removed."""
    if _ours(folder):
        shutil.rmtree(folder)
    if up:
        _cleared()
    return "no fault is set" if up else "the outputs are gone; the lab is not up"


def _cleared() -> None:
    for program in PROGRAMS:
        control.request("DELETE", control.url(program, "/fault"), timeout=120)


DEFAULT_HOST = site.HOSTS[1]
