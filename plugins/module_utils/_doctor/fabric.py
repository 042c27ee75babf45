"""fabric.json of the fabric check (role fabric) as evidence: each of its faults is a sign, with its place. Pure.

It is read as a whole and not line by line: what it says of a sound fabric ("missing", "nothing found") is no trouble.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Iterator, Mapping

from .._judge.packs import loader
from .._judge.packs.model import FAULT, GOOD, Sign, sign
from .readers import Found

PIECE = re.compile(r"(?:^|/)fabric[^/]*\.json$")
LARGEST = 64 << 20  # 1,000 hosts with 8 GPUs each are 4 MB
_ANYTHING = "other"
_WIDE = ("rail", "switch", "fabric")  # kinds of places that no host names
_DEVICE = re.compile(r"\(([^()]+)\)")
SOUND = sign("checked_sound", "fabric.json without a fault", GOOD)
PARTLY = sign("checked_partly", "fabric.json of a check that did not see everything", FAULT)


@functools.lru_cache(maxsize=None)
def signs() -> dict[str, Sign]:
    """By their names without checked_."""
    table = loader.load().lists["readers"]
    names = dict.fromkeys((*table["measured"].values(), *table["things"].values(), "wide_mtu", "wide_qos", _ANYTHING))
    return {name: sign(f"checked_{name}", "a fault in fabric.json", FAULT) for name in names}


def read(text: str) -> list[Found] | None:
    """None: it is no report of the fabric check."""
    try:
        report = json.loads(text)
    except ValueError:
        return None
    if not isinstance(report, dict) or not isinstance(report.get("faults"), list) or "rails" not in report:
        return None
    found = [each for fault in report["faults"] if isinstance(fault, Mapping) for each in _fault(text, fault)]
    if report.get("complete") is not True:
        lacking = ", ".join(map(str, report.get("missing") or ())) or "some measurements"
        found.append(Found(PARTLY, 1, f"the fabric check did not see everything: no answer from {lacking}"))
    if not found and report.get("ok") is True and any(map(_tests, (report.get("measured") or {}).values())):
        said = f"fabric check: {len(report.get('hosts') or ())} hosts, {report['rails']} rail(s), nothing found"
        found.append(Found(SOUND, 1, said))
    return found


def _tests(measured: Any) -> int:
    tests = measured.get("tests") if isinstance(measured, Mapping) else 0
    return tests if isinstance(tests, int) else 0


def _fault(text: str, fault: Mapping[str, Any]) -> Iterator[Found]:
    thing, kind, place = (str(fault.get(key) or "") for key in ("thing", "kind", "place"))
    quote = f"{place}: {thing}: {fault.get('found')}; {fault.get('remedy')}"
    where = text.find(json.dumps(place))
    line = text.count("\n", 0, max(0, where)) + 1
    hosts = [str(host) for host in fault.get("hosts") or ()] if kind not in _WIDE else []
    device = _DEVICE.search(place)
    for host in hosts or [""]:
        yield Found(signs()[_name(thing, kind)], line, quote, host, device[1] if device and hosts else place)


def _name(thing: str, kind: str) -> str:
    table = loader.load().lists["readers"]
    if thing in ("slow", "dead"):
        return str(table["measured"].get(kind, _ANYTHING))
    name = table["things"].get(thing, _ANYTHING)
    return f"wide_{name}" if kind in _WIDE and f"wide_{name}" in signs() else name
