"""JSON, which no pattern reads: facts that roles and runs read of devices, a fact a line, and fabric.json. Pure.

``readings.yml`` says which signs a value is; what was not read is no fact. Each fault of the fabric check (role fabric)
is a sign, with its place; line by line, what its report says of a sound fabric ("missing", "nothing found") would be
trouble.
"""

from __future__ import annotations

import fnmatch
import functools
import json
import re
from typing import Any, Iterable, Iterator, Mapping, NamedTuple

from .._judge.packs import loader
from .._judge.xids import numbers
from .seen import Hit

LARGEST = 64 << 20  # of a fabric.json: 1,000 hosts with 8 GPUs each are 4 MB
_FACTS = re.compile(r"(?:^|/)facts/[\w-]+\.json$")
_FABRIC = re.compile(r"(?:^|/)fabric[^/]*\.json$")
_ANYTHING = "other"
_WIDE = ("rail", "switch", "fabric")  # kinds of places that no host names
_DEVICE = re.compile(r"\(([^()]+)\)")
SILENT = "answer"  # the name of a piece with the reason why there is nothing


class Fact(NamedTuple):
    """``thing``: of ``readings.yml``, or the name of a counter; ``device``: port, NIC, GPU or key, if it is of one."""

    thing: str
    value: Any
    device: str = ""

    def __str__(self) -> str:
        return f"{self.thing}: {self.value}{self.device and f' ({self.device})'}"


def of_row(kind: str, row: Mapping[str, Any], device: str = "") -> Iterator[Fact]:
    """What was read of a row of this kind, by the ``fields`` of ``readings.yml``."""
    fields = loader.load().lists["readings"]["fields"][kind]
    return (Fact(thing, row[key], device) for key, thing in fields.items() if row.get(key) not in (None, ""))


@functools.lru_cache(maxsize=4096)
def _entry(thing: str) -> Mapping[str, Any]:
    """Its look, and its signs with their tests. A counter is of no thing: several signs may name it."""
    table = loader.load().lists["readings"]
    tests = {
        str(test.get("sign", sign)): test
        for sign, test in table["counters"].items()
        if any(fnmatch.fnmatchcase(thing, name) for name in test["names"])
    }
    return table["things"].get(thing) or {"look": "hw_counters", "signs": tests}


def _is(value: Any, test: Any) -> bool:
    if not isinstance(test, Mapping):
        return bool(test == "any" or str(value).lower() in {str(each).lower() for each in test})
    if "xids" in test:
        return str(value) in numbers(*test["xids"].split()).split("|")
    return isinstance(value, (int, float)) and test.get("least", value) <= value <= test.get("most", value)


def written(folder: str, facts: Iterable[Fact]) -> dict[str, str]:
    """Pieces with these facts, one for each look that they answer."""
    found: dict[str, list[str]] = {}
    for fact in facts:
        row = {key: value for key, value in fact._asdict().items() if key != "device" or value}
        found.setdefault(f"{folder}/facts/{_entry(fact.thing)['look']}.json", []).append(json.dumps(row))
    return {name: "[\n" + ",\n".join(rows) + "\n]\n" for name, rows in found.items()}


def is_whole(name: str) -> bool:
    """Whether a piece of this name is read as a whole."""
    return bool(_FABRIC.search(name) or _FACTS.search(name))


def read(name: str, text: str) -> list[Hit] | None:
    """None: it is not what its name says. A sign ``trouble`` looks like trouble, and no rule knows it."""
    try:
        given = json.loads(text)
        if _FABRIC.search(name):
            return _checked(text, given)
        facts = [Fact(str(row["thing"]), row["value"], str(row.get("device", ""))) for row in given]
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return [
        Hit(sign, line, str(fact), "", fact.device, str(fact.value))
        for line, fact in enumerate(facts, 2)
        for sign, test in _entry(fact.thing)["signs"].items()
        if _is(fact.value, test)
    ]


def _checked(text: str, report: Any) -> list[Hit] | None:
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


def pieces(name: str, value: Mapping[str, Any]) -> dict[str, str]:
    """``name`` is switches/NAME, esxi/NAME, vms/NAME or vcenter; ``value`` what the roles switch (switch_observed),
    esxi_host (esxi_host_pending), gpu_vm (gpu_vm_pending) and preflight (preflight_reading) published, or ``answer``
    with the reason why there is nothing. Any other name has no pieces."""
    if SILENT in value:
        return {f"{name}/{SILENT}": f"{value[SILENT]}\n"}
    if name == "vcenter":
        return _vcenter(value)
    read_as = {"switches": _switch, "esxi": _esxi, "vms": _vm}.get(name.partition("/")[0])
    return written(name, read_as(value)) if read_as else {}


def _switch(value: Mapping[str, Any]) -> Iterator[Fact]:
    roce, wanted = value.get("roce") or {}, value.get("wanted") or {}
    yield from of_row("roce", roce)
    # Of ports that differ, the words of each.
    yield from (Fact("trust", words) for words in filter(None, (roce.get("trust") or "").split(", ")))
    if wanted.get("mode") and roce.get("mode") not in (None, wanted["mode"]):
        yield Fact("RoCE not as wanted", f"mode is {roce['mode']}, not {wanted['mode']}")
    # What contradicts RoCE at the ports that the role configures.
    yield from (Fact("RoCE not as wanted", problem) for problem in value.get("problems") or ())
    for port, seen in (value.get("ports") or {}).items():
        yield from of_row("port", seen, str(port))
        yield from _port_differs(str(port), seen, wanted) if wanted else ()
        for way in ("rx", "tx"):
            count = (seen.get("counters") or {}).get(f"{way}_discards")
            yield from [Fact("discarded packets", count, f"{port} {way}")] if isinstance(count, int) else []
    yield from (
        Fact("could not be read", f"{row.get('what')}: {row.get('reason')}") for row in value.get("unreadable") or ()
    )


def _port_differs(port: str, seen: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[Fact]:
    """Of a port that the inventory gives to the site."""
    if seen.get("admin") == "down":
        yield Fact("port not as wanted", "shut down", port)
    elif seen.get("oper") == "down":
        yield Fact("link not as wanted", "no link", port)
    if seen.get("mtu") and wanted.get("mtu") and seen["mtu"] < wanted["mtu"]:
        yield Fact("MTU not as wanted", f"{seen['mtu']}, not {wanted['mtu']}", port)
    expected = wanted.get("neighbors") or ()
    systems = [str(neighbor.get("system") or "") for neighbor in seen.get("neighbors") or ()]
    if expected and systems and not any(fnmatch.fnmatch(system, want) for system in systems for want in expected):
        yield Fact("neighbor not as wanted", f"{', '.join(systems)} is none of {', '.join(expected)}", port)


def _esxi(value: Mapping[str, Any]) -> Iterator[Fact]:
    for row in value.get("found") or ():
        now, next_boot = ("on" if str(row.get(key)).upper() == "TRUE" else "off" for key in ("runtime", "configured"))
        if row.get("name") == "atsSupport":
            yield Fact("atsSupport", now if now == next_boot else f"{next_boot} after a reboot")
    for what in (*(value.get("changes") or ()), *(value.get("reboot_reasons") or ())):
        yield Fact("kernel setting not as wanted", what)


def _vm(value: Mapping[str, Any]) -> Iterator[Fact]:
    keys = loader.load().lists["readings"]["fields"]["key"]
    for change in value.get("changes") or ():
        key, before = str(change.get("key")), change.get("before")
        yield Fact(keys.get(key, "VM not as wanted"), "missing" if before is None else str(before), key)
    yield from of_row("vm", value)


def _vcenter(value: Mapping[str, Any]) -> dict[str, str]:
    if value.get("failed"):
        return {f"esxi/vcenter/{SILENT}": f"unreachable: {value.get('msg', 'did not answer')}\n"}
    found: dict[str, str] = {}
    for reading in value.get("results") or ():  # one for each vCenter of the site
        found |= _vcenter(reading)
    for folder, kind in (("esxi", "host"), ("vms", "vm")):
        for row in value.get(f"{kind}s") or ():
            found |= written(f"{folder}/{row['asked']}/vcenter", of_row(kind, row))
    return found
