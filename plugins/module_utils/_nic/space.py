"""Room on a node's disks: what an installation needs, what is free, and whether a failure was a full disk. Pure.

All sizes are bytes.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Iterator, Mapping, Sequence

from .._layer import ParseError


@dataclasses.dataclass(frozen=True)
class Place:
    """The file system below ``path``. ``inodes``: free ones, None where the file system does not count them."""

    path: str
    free: int
    size: int
    inodes: int | None
    mount: str

    @property
    def words(self) -> str:
        where = self.path if self.path == self.mount else f"{self.path} (mount point {self.mount})"
        full = ", no free inode" if self.inodes == 0 else ""
        return f"{where} has {self.free} of {self.size} bytes free{full}"


def parse_places(text: str, host: str) -> list[Place]:
    """One line per path: the path, a tab, then ``df --output=avail,size,iavail,target`` for it."""
    places = []
    for line in text.splitlines():
        path, _tab, figures = line.partition("\t")
        words = figures.split(None, 3)
        if len(words) != 4 or not words[0].isdigit() or not words[1].isdigit():
            raise ParseError("no figures", host=host, thing=f"df of {path}", raw=text)
        # btrfs and vfat have no table of inodes: "-", or 0 of 0.
        inodes = int(words[2]) if words[2].isdigit() and int(words[1]) else None
        places.append(Place(path, int(words[0]), int(words[1]), inodes, words[3]))
    return places


def shortages(places: Sequence[Place], needs: Sequence[Mapping[str, Any]]) -> list[str]:
    """One sentence per file system without room for all that goes there. A need: ``path``, ``bytes``, ``what``."""
    by_path = {place.path: place for place in places}
    totals: dict[str, list[Mapping[str, Any]]] = {}
    for need in needs:
        totals.setdefault(by_path[need["path"]].mount, []).append(need)
    found = []
    for wanted in totals.values():
        place = by_path[wanted[0]["path"]]
        total = sum(int(need["bytes"]) for need in wanted)
        if total > place.free:
            parts = " and ".join(f"{need['bytes']} for {need['what']}" for need in wanted)
            found.append(f"{place.words}, needed are {total}: {parts}")
    return found


def fullest_first(places: Sequence[Place]) -> list[str]:
    """What is free, once per file system."""
    seen: dict[str, Place] = {}
    for place in places:
        seen.setdefault(place.mount, place)
    return [place.words for place in sorted(seen.values(), key=lambda place: (place.inodes != 0, place.free))]


_FULL = re.compile(
    r"no space left on device|\berrno 28\b|not enough free space|don't have enough free space|disk quota exceeded",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?<![\w./:])/(?:[\w.+~-]+/)+[\w.+~-]*")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            # What was asked, not what was answered.
            if key != "invocation":
                yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


def out_of_space(result: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a task failed because a disk was full, and the directories that its lines about it name."""
    lines = [line for text in _texts(result) for line in text.splitlines() if _FULL.search(line)]
    paths: list[str] = []
    for line in lines:
        paths += [path.rsplit("/", 1)[0] for path in _PATH.findall(line) if path.rsplit("/", 1)[0] not in paths]
    return {"full": bool(lines), "paths": [path for path in paths if not path.startswith(("/proc", "/dev"))]}


_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_DOWNLOAD = re.compile(r"^Need to get ([\d.,]+) (\w?B)(?:/[\d.,]+ \w?B)? of archives\.", re.MULTILINE)
_DISK = re.compile(r"^After this operation, ([\d.,]+) (\w?B) of additional disk space will be used", re.MULTILINE)


def apt_needs(text: str) -> dict[str, int]:
    """``apt-get install --print-uris --assume-yes`` -> bytes to download and on the disk; 0 where it does not say.

    apt rounds to three digits; the last digit is counted up.
    """

    def amount(found: re.Match[str] | None) -> int:
        if not found:
            return 0
        digits, unit = found.group(1).replace(",", ""), _UNITS[found.group(2)]
        decimals = len(digits.partition(".")[2])
        value = int(digits.replace(".", ""))
        return (value + (1 if value and unit > 1 else 0)) * unit // int(10**decimals)

    return {"download": amount(_DOWNLOAD.search(text)), "disk": amount(_DISK.search(text))}
