"""What a fault of the gym is made of: where it sits, and what it changes in the outputs of a right site."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from . import site

HOST, ESXI, SWITCH, JOB = "host", "esxi", "switch", "job"


class Clash(ValueError):
    """Two faults change the same text: such a pair cannot be shown."""


@dataclasses.dataclass(frozen=True)
class Change:
    """``old`` empty: ``new`` is added at the end of the piece (which may be new); else ``old`` becomes ``new``."""

    piece: str
    old: str
    new: str


@dataclasses.dataclass(frozen=True)
class Call:
    """What the lab's control ports are told: ``program`` switch, vsphere or physics, and the fault's JSON object, in
    which {host}, {esx} and {port} stand for the place."""

    program: str
    body: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Fault:
    """``causes``: what the doctor may call it, of its ``layer``. ``place``: what it is set at. ``symptom``: what the
    ranks say of it, which follows from it alone."""

    name: str
    layer: str
    causes: tuple[str, ...]
    place: str
    source: str
    changes: tuple[Change, ...]
    symptom: str = ""
    call: Call | None = None


def add(piece: str, *lines: str) -> Change:
    return Change(piece, "", "".join(line + "\n" for line in lines))


def swap(piece: str, old: str, new: str) -> Change:
    return Change(piece, old, new)


def fault(
    name: str,
    cause: str,
    place: str,
    source: str,
    *changes: Change,
    symptom: str = "",
    call: tuple[str, dict[str, Any]] | None = None,
) -> Fault:
    """``cause``: "layer: cause cause"."""
    layer, _colon, causes = cause.partition(": ")
    return Fault(name, layer, tuple(causes.split()), place, source, changes, symptom, call and Call(*call))


# What the other ranks say. {host} and {n} are the faulty host's, {other} and {m} those of the one that speaks.
SYMPTOMS: dict[str, str] = {
    "hang": "[rank{r}]: [E ProcessGroupNCCL.cpp:607] [Rank {r}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=91, OpType=ALLREDUCE) ran for 600012 milliseconds before timing out.\n",
    "retry": "{other}:40{m}:41{m} [0] NCCL WARN NET/IB : Got completion from peer 192.0.2.1{n}<4791> with status=12 "
    "opcode=0 len=0 vendor err 129 (Send)\n",
    "gone": "{other}:40{m}:41{m} [0] NCCL WARN socketProgress: Connection closed by remote peer {host}<40123>\n",
    "slow": "",
}
_SLOW = "[1,0]<stdout>:bandwidth 5.1 GB/s, expected 22.5 GB/s\n"


def where(found: Fault, host: str) -> str:
    """Name that the doctor should give: of the host, ESXi host or switch; empty for the job as a whole."""
    return {HOST: host, ESXI: site.ESXI[host], SWITCH: site.SWITCH, JOB: ""}[found.place]


def names(host: str) -> dict[str, Any]:
    n = site.number(host)
    return {"host": host, "n": n, "r": n - 1, "esx": site.ESXI[host], "switch": site.SWITCH, "port": f"1/{n}"}


def broken(faults: Sequence[tuple[Fault, str]]) -> dict[str, str]:
    """Outputs of the site with these faults, each at its host. Raises Clash, and ValueError for a host that is not
    there or a text that the right site does not print."""
    right = site.right()
    found = dict(right)
    for fault_, host in faults:
        if host not in site.HOSTS:
            raise ValueError(f"no host {host!r}; there are {', '.join(site.HOSTS)}")
        words = names(host)
        for change in fault_.changes:
            piece = change.piece.format(**words)
            old, new = change.old.format(**words), change.new.format(**words)
            if old and old not in found.get(piece, ""):
                if old in right.get(piece, ""):
                    raise Clash(f"{fault_.name}: {piece} was changed by another fault already")
                raise ValueError(f"{fault_.name}: {piece} of the right site has no {old!r}")
            found[piece] = found[piece].replace(old, new) if old else found.get(piece, "") + new
        if fault_.symptom:
            found[site.JOB] = found[site.JOB].replace(site.DONE, "") + _said(fault_, host)
    return found


def _said(fault_: Fault, host: str) -> str:
    if fault_.symptom == "slow":
        return _SLOW
    words = names(host)
    return "".join(
        SYMPTOMS[fault_.symptom].format(**{**words, "r": site.number(other) - 1}, other=other, m=site.number(other))
        for other in site.others(host)
    )
