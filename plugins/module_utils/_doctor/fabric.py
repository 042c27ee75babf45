"""fabric.json of the fabric check (role fabric) as evidence: each of its faults is a sign, with its place. Pure.

It is read as a whole and not line by line: what it says of a sound fabric ("missing", "nothing found") is no trouble.
"""

from __future__ import annotations

import json
import re
from typing import Any, Iterator, Mapping

from .._judge.packs import loader
from .seen import Hit

PIECE = re.compile(r"(?:^|/)fabric[^/]*\.json$")
LARGEST = 64 << 20  # 1,000 hosts with 8 GPUs each are 4 MB
_ANYTHING = "other"
_WIDE = ("rail", "switch", "fabric")  # kinds of places that no host names
_DEVICE = re.compile(r"\(([^()]+)\)")


def read(text: str) -> list[Hit] | None:
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
        found.append(Hit("checked_partly", 1, f"the fabric check did not see everything: no answer from {lacking}"))
    measured = [each for each in (report.get("measured") or {}).values() if isinstance(each, Mapping)]
    if not found and report.get("ok") is True and any(each.get("tests") for each in measured):
        said = f"fabric check: {len(report.get('hosts') or ())} hosts, {report['rails']} rail(s), nothing found"
        found.append(Hit("checked_sound", 1, said))
    return found


def _fault(text: str, fault: Mapping[str, Any]) -> Iterator[Hit]:
    thing, kind, place = (str(fault.get(key) or "") for key in ("thing", "kind", "place"))
    quote = f"{place}: {thing}: {fault.get('found')}; {fault.get('remedy')}"
    where = text.find(json.dumps(place))
    line = text.count("\n", 0, max(0, where)) + 1
    hosts = [str(host) for host in fault.get("hosts") or ()] if kind not in _WIDE else []
    device = _DEVICE.search(place)
    for host in hosts or [""]:
        yield Hit(_name(thing, kind), line, quote, host, device[1] if device and hosts else place)


def _name(thing: str, kind: str) -> str:
    """Of the sign."""
    table = loader.load().lists["readers"]
    if thing in ("slow", "dead"):
        return f"checked_{table['measured'].get(kind, _ANYTHING)}"
    name = table["things"].get(thing, _ANYTHING)
    wide = f"checked_wide_{name}"
    return wide if kind in _WIDE and wide in table["signs"] else f"checked_{name}"
