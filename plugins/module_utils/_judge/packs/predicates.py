"""What a pattern cannot say: conditions on what it found, by the names that packs use. Pure.

``condition: GROUP < GROUP`` (also >, >=, <=, ==, !=; one side may be a number) compares what groups of the pattern
hold, as numbers. ``test: NAME`` is a function of TESTS.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping, Match

from .loader import form
from .model import COMPARE

Test = Callable[[Match[str]], bool]
_PATH_MTUS = (256, 512, 1024, 2048, 4096)
_HEADERS = 80  # bytes that RoCE v2 takes of an Ethernet MTU, rounded up
_BYTES = re.compile(r"\sbytes\b")
_SMALL_LOCK = 1 << 20  # KiB; less than this is not enough for the buffers of one rank
_MEBIBYTES = {"K": 1 / 1024, "": 1 / 1024, "M": 1, "G": 1024, "T": 1 << 20}
_SMALL_SHM = 64  # MiB: Docker's default
_FOREIGN = 0.2  # of a GPU: more than a context and fragments take
_RELEASE = re.compile(r"\d+\.\d+(?:\.\d+)?")


def condition(text: str) -> Test:
    """Raises ValueError for what is no comparison of two."""
    parts = text.split()
    if len(parts) != 3 or parts[1] not in COMPARE:
        raise ValueError(f"condition is {text!r}, expected GROUP < GROUP or a number on one side. Write one.")
    left, sign, right = parts

    def test(match: Match[str]) -> bool:
        values = [match[side] if side in match.re.groupindex else side for side in (left, right)]
        return None not in values and COMPARE[sign](*map(float, values))

    return test


def helps(match: Match[str]) -> bool:
    """No word that denies it between what was changed and "helps"; "cannot be reproduced", "no longer" deny nothing."""
    return not form("denies").search(match.group().replace("cannot be reproduced", "").replace("no longer", ""))


def xid_said(match: Match[str]) -> bool:
    """Said to be there: "no Xid 79" and a counter at 0 are none; a policy or a condition names what may come."""
    return not form("xid_denied").search(match.string[: match.start()]) and not form("xid_none").match(
        match.string[match.end() :]
    )


def acs_said(match: Match[str]) -> bool:
    """Not "no ACS enabled" and not "whether ACS is on"; what lspci prints needs no such care."""
    return "ACSCtl" in match.group() or not form("acs_denied").search(match.string[: match.end()])


def mtus_differ(match: Match[str]) -> bool:
    """Two MTUs leave different path MTUs. Not of a host's own networks."""
    if form("bridges").search(match.string):
        return False
    figures = [int(text) for text in (match["a"] or match["c"], match["b"] or match["d"]) if text]
    return len(figures) < 2 or (path_mtu(figures[0]) or figures[0]) != (path_mtu(figures[1]) or figures[1])


def path_mtu(mtu: int) -> int:
    """The path MTU that an Ethernet MTU leaves; of a path MTU, itself; 0 if it leaves none."""
    return max((size for size in _PATH_MTUS if size == mtu or size + _HEADERS <= mtu), default=0)


def small_lock(match: Match[str]) -> bool:
    """In KiB, as ``ulimit -l`` has it; /proc/PID/limits and docker run count bytes."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    scale = 1024 if _BYTES.search(after) or before.endswith(("--ulimit ", "--ulimit=")) else 1
    return int(match["value"]) // scale < _SMALL_LOCK


def small_shm(match: Match[str]) -> bool:
    """Another alternative than the one with a size matched, or the size is small."""
    return match["size"] is None or float(match["size"]) * _MEBIBYTES[match["unit"].upper()] <= _SMALL_SHM


def held_by_others(match: Match[str]) -> bool:
    """Much of the GPU is neither free nor of the program that wants more."""
    sizes = (match[name] or match[f"{name}_new"] for name in ("total", "free", "own"))
    total, free, own = (float(size.split()[0]) * _MEBIBYTES.get(size.split()[1][0], 0.0) for size in sizes)
    return total - free - own > _FOREIGN * total


def foreign_magic(match: Match[str]) -> bool:
    """The magic number is text: another protocol, not another NCCL."""
    if match["magic"] is None:
        return False
    letters = bytes.fromhex(match["magic"].zfill(16))
    return sum(32 <= letter < 127 or letter in (9, 10, 13) for letter in letters) >= 7


def two_releases(match: Match[str]) -> bool:
    """Two releases differ, as far as both are given."""
    found = [_RELEASE.match(match[name]) for name in ("first", "second")]
    one, other = (entry.group().split(".") for entry in found if entry)
    return one[: min(len(one), len(other))] != other[: min(len(one), len(other))]


def one_subnet(match: Match[str]) -> bool:
    """Two interfaces, and not two names of one."""
    return match["one"] == match["two"] and match["first"].split(".")[0] != match["second"].split(".")[0]


TESTS: dict[str, Test] = {
    test.__name__: test
    for test in (
        helps, xid_said, acs_said, mtus_differ, small_lock, small_shm, held_by_others, foreign_magic,
        two_releases, one_subnet,
    )
}  # fmt: skip


def of(sign: Mapping[str, Any]) -> Test | None:
    """What a sign of a pack asks besides its pattern. Raises ValueError for what there is not."""
    if "condition" in sign:
        return condition(sign["condition"])
    if "test" not in sign:
        return None
    if sign["test"] not in TESTS:
        raise ValueError(f"test is {sign['test']}, expected one of {', '.join(TESTS)}. Write one.")
    return TESTS[sign["test"]]
