"""Decide whether what was read proves a sound job: ranks, last rows, ends, figures against their links. Pure.

A line that sounds good proves nothing. Whatever is not shown is a gap with a code, and with a gap nothing is healthy.
"""

from __future__ import annotations

import re
from typing import Iterable, Iterator, Sequence

from .._judge.packs import loader
from .job_output import Figure, Record
from .pace import Gap

HEALTHY, NO_FAULT_SEEN, FAULTY, CANNOT_TELL = "healthy", "no_fault_seen", "faulty", "cannot_tell"
_LEAST = 0.5  # of the link: a sound all-reduce of large messages reaches 0.7 to 0.95
_MOST = 1.1  # of the link: more did not go over it
_LARGE = 32 << 20  # bytes from which a link is the bound
_FLOOR = 1.0  # GB/s: no link of a GPU and no NIC for RoCE (10 Gb/s = 1.25 GB/s) is slower
_SMALL = 1 << 16  # bytes: below, the time of a message is that of its way


def gaps(records: Sequence[Record], partial: Iterable[str] = (), sound: bool = False) -> list[Gap]:
    """What is not shown, most telling first; empty: the chain is complete. ``partial``: pieces that were not read to
    their end; ``sound``: a check of its own (the fabric check) says that it measured everything and found nothing."""
    found = [gap for record in records for gap in record.gaps]
    found += _gpus(records)
    found += _figures(records)
    found += [Gap("rest", f"the rest of {name}", name) for name in partial]
    if not found and not any(record.ends for record in records):
        begun = any(record.devices for record in records)
        if begun:
            found.append(Gap("job_end", "the end of the job behind NCCL's start"))
        elif not sound:
            found.append(Gap("job", "a job that ended"))
    return found


def _gpus(records: Sequence[Record]) -> Iterator[Gap]:
    jobs: dict[str, dict[str, set[int]]] = {}
    cards: dict[str, int] = {}
    for record in records:
        for job, hosts in record.devices.items():
            name = job if job.startswith("NCCL") else f"{record.file}: {job}"
            for host, numbers in hosts.items():
                jobs.setdefault(name, {}).setdefault(host, set()).update(numbers)
        if record.cards:
            cards[record.host] = max(len(record.cards), cards.get(record.host, 0))
    for hosts in jobs.values():
        most = max(map(len, hosts.values()))
        for host, numbers in hosts.items():
            count, listed = len(numbers), cards.get(host, cards.get("", 0))
            if count < most or 1 < count < listed:
                yield Gap("gpus", f"all GPUs of {host}: {count} of {max(most, listed)} take part")
            elif most > 1 and (count <= max(numbers) or count % 2):
                yield Gap("gpus", f"all GPUs of {host}: numbers {', '.join(map(str, sorted(numbers)))} take part")


def _figures(records: Sequence[Record]) -> Iterator[Gap]:
    hosts = {host for record in records for job in record.devices.values() for host in job}
    network = len(hosts) > 1 or any(record.network for record in records)
    # NCCL prints the speeds of the NICs that it takes. Of several that hosts have, nothing says which one a job took.
    of_nccl = {speed for record in records if record.network for speed in record.links}
    all_read = {speed for record in records for speed in record.links}
    speeds = of_nccl or (all_read if len(all_read) == 1 else set())
    names = {name for record in records for name in record.gpu_names}
    least, most = _link(names, hosts, speeds, network, max((record.nics for record in records), default=0) or 1)
    for record in records:
        for figure in record.figures:
            one = "perftest" in figure.name and speeds
            yield from _figure(record, figure, min(speeds) / 8 if one else least, max(speeds) / 8 if one else most)


def _link(names: set[str], hosts: set[str], speeds: set[float], network: bool, nics: int) -> tuple[float, float]:
    """GB/s that bound a collective, of the slowest and of the fastest link; 0: not known."""
    if network or not hosts:
        return (min(speeds) * nics / 8, max(speeds) * nics / 8) if speeds else (0.0, 0.0)
    rates = loader.load().lists["jobs"]["nvlink"]
    rate = next((rate for form, rate in rates.items() if any(re.search(form, name) for name in names)), 0.0)
    return rate, rate


def _figure(record: Record, figure: Figure, least: float, most: float) -> Iterator[Gap]:
    said = f"{figure.name} is {figure.rate:.4g} GB/s at {figure.size} bytes"
    place = (record.file, figure.line)
    if figure.rate < _FLOOR and (figure.size >= _SMALL or not figure.rate):
        yield Gap("figure", f"a figure that a link would give: {said}", *place)
    elif not least:
        yield Gap("link_speed", f"the speed of the link: {said}", *place)
    elif figure.size < _LARGE and "perftest" not in figure.name:
        yield Gap("size", f"a size of at least {_LARGE} bytes: {said}", *place)
    elif figure.rate < _LEAST * least:
        yield Gap("figure", f"what the link carries: {said}, the link gives {least:.4g}", *place)
    elif figure.rate > _MOST * most:
        yield Gap("figure", f"traffic over the link: {said}, the link gives {most:.4g}", *place)
