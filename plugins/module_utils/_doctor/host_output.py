"""Split the outputs of many commands on one host into the pieces of a bundle. Pure.

Of a job that ended well only the kernel's lines since its start count: older trouble is not of this run.
"""

from __future__ import annotations

import re
from typing import Any, Mapping

from . import facts

_HEADER = re.compile(r"^=== ROCEMESH ([\w./-]+)\r?(?:\n|\Z)", re.MULTILINE)
_KERNEL, _UPTIME = "dmesg.txt", "uptime.txt"
_SECONDS = re.compile(r"^\[ *(\d+\.\d+)\]")


def pieces(host: str, answer: Mapping[str, Any]) -> dict[str, str]:
    """``answer``: ``said``, the outputs, each below a line with its name (container/NAME: said inside the container);
    ``at`` and ``since`` in seconds since 1970, ``since`` 0: all that the kernel has logged; ``error``."""
    if not answer.get("said"):
        unreachable = "did not answer" if answer.get("unreachable") else ""
        error = " ".join(str(answer.get("error") or unreachable).split())
        return {f"hosts/{host}/{facts.SILENT}": f"unreachable: {error}\n"} if error else {}
    found = sections(str(answer["said"]))
    found.pop(_UPTIME, None)
    if answer.get("since") and _KERNEL in found:
        boot = booted(answer)
        # Where it is not known when a line was written, it counts for nothing.
        least = float("inf") if boot is None else float(answer["since"]) - boot
        said = ((line, _SECONDS.match(line)) for line in found[_KERNEL].splitlines())
        found[_KERNEL] = "".join(f"{line}\n" for line, when in said if when and float(when[1]) >= least)
    return {place(host, name): text for name, text in found.items() if text.strip()}


def booted(answer: Mapping[str, Any]) -> float | None:
    """When the host booted, in seconds since 1970 by the controller's clock; None if its uptime was not read."""
    uptime = sections(str(answer.get("said") or "")).get(_UPTIME, "").split()
    try:
        return float(answer["at"]) - float(uptime[0])
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def sections(text: str) -> dict[str, str]:
    """Name -> the text below it."""
    _before, *parts = _HEADER.split(text)
    return dict(zip(parts[::2], parts[1::2]))


def place(host: str, name: str) -> str:
    """Piece of what a command of this name said; container/NAME: inside the container."""
    inside, _slash, file = name.rpartition("/")
    return f"{'containers' if inside == 'container' else 'hosts'}/{host}/{file}"
