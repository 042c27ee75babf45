"""Why data took the detour over TCP or host memory, from what NCCL said of its network; all words of the verdict. Pure.

Rules from NCCL's source (src/graph/topo.h): distances are numbers that changed with the version.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping, Sequence

from ..._yaml_files import Beside
from ..readers.nccl_facts import GdrLine, NcclLog, Process

TCP = re.compile("socket|tcp", re.IGNORECASE)
_OF_RDMA = re.compile(r"verbs|NET/(?!Socket)|RDMA|\bibv?_", re.IGNORECASE)
reasons = Beside(__file__, "reasons.yml")


def reason(name: str, /, **words: Any) -> str:
    return str(reasons[name].format(**words))


def oldest(versions: Iterable[str]) -> tuple[int, int] | None:
    found = [tuple(int(part) for part in version.split(".")[:2]) for version in versions if version[0].isdigit()]
    return min(((major, minor) for major, minor in found), default=None)


def setting(log: NcclLog, name: str) -> str | None:
    """The first value that NCCL says a variable has."""
    return next(iter(log.environment.get(name, ())), None)


def tcp_setting(log: NcclLog) -> tuple[str, str] | None:
    """Name and value of the variable that keeps NCCL from RDMA."""
    if "1" in log.environment.get("NCCL_IB_DISABLE", ()):
        return "NCCL_IB_DISABLE", "1"
    tcp = [value for value in log.environment.get("NCCL_NET", ()) if TCP.search(value)]
    return ("NCCL_NET", tcp[0]) if tcp else None


def why_tcp(log: NcclLog, process: Process) -> str:
    was_set = tcp_setting(log)
    if was_set:
        return reason("tcp_set", variable=was_set[0], value=was_set[1])
    if any(other.host == process.host for other in log.no_ib_device):
        wanted = setting(log, "NCCL_IB_HCA")
        return reason("tcp_no_such_device" if wanted else "tcp_no_device", host=process.host, wanted=wanted)
    warned = [each for each in log.warnings if each.startswith(f"{process.host}:") and _OF_RDMA.search(each)]
    return reason("tcp_warned", line=warned[0]) if warned else reason("tcp_unknown")


def why_staged(log: NcclLog, lines: Sequence[GdrLine], direction: str) -> str:
    """``lines``: what NCCL says against this GPU with this NIC. A limit of 0 allows no distance, as a variable says."""
    version = oldest(log.versions)
    far = next((line for line in lines if line.distance is not None and line.limit), None)
    if far is not None:
        name, limit = distance_name(version, far.distance), distance_name(version, far.limit)
        meaning = f" = {name}, allowed {limit or far.limit}" if name else ""
        return reason("staged_distance", line=far.line, meaning=meaning)
    no_module = next((line for line in lines if not line.gpu or "no module" in line.line), None)
    if no_module is not None:
        return reason("staged_no_module", line=no_module.line)
    for name in ("NCCL_NET_GDR_LEVEL", *(("NCCL_NET_GDR_READ",) if direction == "send" else ())):
        if name in log.environment:
            return reason("staged_set", variable=name, value=setting(log, name))
    why = reason("staged_unsaid" if version is not None and version >= (2, 30) else "staged_unknown")
    return reason("staged_send", why=why) if direction == "send" and version is not None and version >= (2, 19) else why


def distance_name(version: tuple[int, int] | None, number: int | None) -> str | None:
    """PXB, PHB or SYS for the number that this version prints; None if it means something else or is not known."""
    if version is None or number is None:
        return None
    names: Mapping[int, str] = next((names for since, names in reasons["distances"] if [*version] >= since), {})
    return names.get(number)
