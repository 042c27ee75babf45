"""The GPUs of the hosts as `gpu_info` read them: one table, and what differs in it, in words. Pure.

A value is judged by itself where it is wrong anywhere (an uncorrected ECC error), and against the GPUs of the same
model where no value is right by itself: a VM may show a made-up PCIe link, and no source says how many
NVLinks there should be.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable, Mapping, Sequence

from .._judge.finding import Finding, text_table
from .._judge.xids import Known, Xids, counted, of_host, outlived, sentence
from .._results.readers.reading import by_key
from .._results.readers.reading import names as listed
from .._yaml_files import Beside
from .judge import Place
from .model import usual
from .reach import fault

_TABLE = Beside(__file__, "gpus.yml")
_NAMED = 3  # hosts of one row that are named; the others are counted
_UNKNOWN = "not known"
_AWAKE = "P0"  # below it a link may rest at a lower speed


def columns() -> Mapping[str, str]:
    """Key of a row -> its heading."""
    return dict(_TABLE["columns"])


@dataclasses.dataclass(frozen=True)
class Gpus:
    """``rows``: one per GPU, by the names of `columns`; ``table``: equal ones in one line."""

    rows: tuple[Mapping[str, str], ...] = ()
    faults: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> list[str]:
        return text_table([tuple(columns().values()), *merged(self.rows)]) if self.rows else []


@dataclasses.dataclass
class _Gpu:
    """One GPU with all that its host said beside it."""

    host: int
    name: str  # of the host
    given: Mapping[str, Any]
    state: Mapping[str, Any]
    xids: Xids
    words: list[str] = dataclasses.field(default_factory=list)

    @property
    def place(self) -> Place:
        return Place("gpu", (self.host,), part=f"GPU {self.state.get('index')} ({self.state.get('bus')})")

    @property
    def model(self) -> str:
        return str(self.state.get("name") or "")

    def fault(self, code: str, **words: Any) -> Finding:
        found = fault(code, self.place, **words)
        self.words += [found.thing] if found.thing not in self.words else []
        return found


def judge(hosts: Sequence[str], readings: Mapping[str, Any], known: Sequence[Known] = ()) -> Gpus:
    """``readings``: host to what was read there, with ``gpus``: what `gpu_info` returned with ``gather_state``;
    ``known``: Xids that an operator has looked at."""
    at = {name: number for number, name in enumerate(hosts)}
    read = {name: (readings.get(name) or {}).get("gpus") or {} for name in hosts}
    silent = {name: str(each["error"]) for name, each in read.items() if each.get("error")}
    buses = {name for name, each in read.items() if any(row.get("kind") == "gpu" for row in each.get("pci") or ())}
    given = {name: each for name, each in read.items() if each.get("gpus") or each.get("problems") or name in buses}
    xids = {name: of_host(name, each, known) for name, each in given.items()}
    gpus = [
        _Gpu(at[name], name, each, state, xids[name].get(str(state.get("bus"))) or Xids(name, ""))
        for name, each in given.items()
        # One whose state was not read is in the table all the same.
        for state in each.get("state")
        or [{key: gpu.get(key) for key in ("index", "name")} for gpu in each.get("gpus") or ()]
    ]
    faults = [*_of_drivers(at, given, gpus)]
    for name, each in given.items():  # whose GPU nvidia-smi does not show any more
        shown = {state.get("bus") for state in each.get("state") or ()}
        gone = [lost for lost in xids[name].values() if lost.bad and lost.bus not in shown]
        faults += [_xid_fault(lost, Place("gpu", (at[name],), part=f"GPU at {lost.bus}")) for lost in gone]
    for gpu in gpus:
        faults += _of_one(gpu)
    faults += _of_model(gpus)
    counts = {name: len(each.get("gpus") or ()) for name, each in read.items() if name not in silent}
    differ = given and len(set(counts.values())) > 1
    notes = [f"the hosts do not have the same number of GPUs: {_who_has(counts)}"] if differ else []
    notes += [*_weak(gpus), *_unreadable(given), *outlived(known, given)]
    # A host that could not be asked is news only where there are GPUs.
    notes += [f"GPUs of {name}: not read ({why})" for name, why in silent.items() if given]
    return Gpus(tuple(_row(gpu) for gpu in gpus), tuple(faults), tuple(notes))


def _who_has(values: Mapping[str, Any]) -> str:
    """``values``: of hosts, by their names."""
    hosts = by_key((value, host) for host, value in values.items())
    return ", ".join(f"{value} on {listed(names, _NAMED)}" for value, names in sorted(hosts.items()))


# ---- what is wrong --------------------------------------------------------------------------------------------------


def _of_drivers(
    at: Mapping[str, int], given: Mapping[str, Mapping[str, Any]], gpus: Sequence[_Gpu]
) -> Iterable[Finding]:
    """``at``: host to its number."""

    def driver(code: str, *hosts: str, **words: Any) -> Finding:
        for gpu in gpus:
            if gpu.name in hosts and "driver" not in gpu.words:
                gpu.words.append("driver")
        return fault(code, Place("gpu", tuple(at[host] for host in hosts), part="driver"), **words)

    for host, each in given.items():
        for text in each.get("problems") or ():
            found, _what, remedy = str(text).partition(". What to do: ")
            said, remedy = found.replace(f"{host}: ", "", 1), remedy.rstrip(".") or "look at gpu_info there"
            yield driver("gpu_problem", host, said=said, remedy=remedy)
    versions = {host: _driver(each) for host, each in given.items() if _driver(each)}
    most, share = usual(versions.values())
    odd = [host for host, version in versions.items() if version != most]
    if share > 0.5:
        for host in odd:
            yield driver("driver_odd", host, version=versions[host], most=most)
    elif odd:
        yield driver("driver_differs", *sorted(versions, key=lambda host: at[host]), said=_who_has(versions))


def _driver(given: Mapping[str, Any]) -> str:
    return str((given.get("driver") or {}).get("loaded") or "")


def _of_one(gpu: _Gpu) -> Iterable[Finding]:
    """What is wrong on any GPU."""
    if gpu.xids.bad:
        gpu.words.append(f"Xid {counted(gpu.xids.bad)}")
        yield _xid_fault(gpu.xids, gpu.place)
    state = gpu.state
    fabric, status = str(state.get("fabric") or ""), str(state.get("fabric_status") or "")
    joined = fabric in ("", "Completed") and status in ("", "Success")
    slowed, outside = ", ".join(state.get("slowed") or ()), "" if joined else f"{fabric} {status}".strip()
    for code in ("ecc_uncorrected", "remap_failed", "remap_pending", "slowed", "outside", "recovery"):
        value = {"slowed": slowed, "outside": outside}.get(code, state.get(code))
        if value:
            yield gpu.fault(code, value=value)


def _xid_fault(xids: Xids, place: Place) -> Finding:
    named = [f"{xids.host}/{xids.bus}/{xid}/{xids.last[xid]}" for xid in sorted(xids.bad) if xids.last[xid]]
    last = max((xids.last[xid] for xid in xids.bad), default="")
    settle = (
        f"If you have looked at it and go on with this GPU: fabric_known_xids: [{', '.join(named)}]"
        if len(named) == len(xids.bad)
        else "The log has no times, so that nothing else settles it"
    )
    means = "; ".join(sentence(xid) for xid in sorted(xids.bad))
    when = f", last at {last}" if last else ""
    return fault("xid", place, counts=counted(xids.bad), last=when, means=means, settle=settle)


def _of_model(gpus: Sequence[_Gpu]) -> Iterable[Finding]:
    """What only the others of the same model tell: their links."""
    for model, alike in by_key((gpu.model, gpu) for gpu in gpus).items():
        links_of = [gpu.state["nvlinks_active"] for gpu in alike if gpu.state.get("nvlinks_active") is not None]
        most, share = usual(links_of)
        width = max((gpu.state.get("pcie_width") or 0 for gpu in alike), default=0)
        speed = max((gpu.state.get("pcie_gen") or 0 for gpu in alike if _awake(gpu)), default=0)
        for gpu in alike:
            state = gpu.state
            links, now = state.get("nvlinks_active"), state.get("pcie_width")
            if share > 0.5 and links is not None and links < most:
                yield gpu.fault("nvlink", links=links, most=most, model=model)
            narrow = now and now < min(state.get("pcie_width_most") or now, width)
            slow = _awake(gpu) and (state.get("pcie_gen") or 0) < min(state.get("pcie_gen_most") or 0, speed)
            if narrow or slow:
                of = f" of generation {speed}" if speed else ""
                yield gpu.fault("gpu_pcie", link=_pcie(state), width=width, speed=of)


def _awake(gpu: _Gpu) -> bool:
    return gpu.state.get("performance_state") == _AWAKE


# ---- notes, which stop no run ----------------------------------------------------------------------------------------


def _weak(gpus: Sequence[_Gpu]) -> Iterable[str]:
    """Settings, and what a program of a user did: right somewhere, or over."""
    without = [gpu for gpu in gpus if gpu.state.get("ecc") is False]
    mixed = {gpu.model for gpu in without} & {gpu.model for gpu in gpus if gpu.state.get("ecc") is not False}
    asleep = [gpu for gpu in gpus if gpu.state.get("persistence") is False]
    bare = [gpu for gpu in without if gpu.model in mixed]
    for found, word in ((asleep, "persistence off"), (bare, "ecc off")):
        for gpu in found:
            gpu.words.append(word)
        if found:
            yield f"GPUs of {listed(dict.fromkeys(gpu.name for gpu in found), _NAMED)}: {_TABLE['settings'][word]}"
    for gpu in gpus:
        if gpu.xids.others:
            gpu.words.append(f"Xid {counted(gpu.xids.others)}")
        yield from gpu.xids.notes(f"{gpu.name} {gpu.place.part}")


def _unreadable(given: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    reasons = by_key(
        (f"{entry.get('what')} was not read ({entry.get('why')}): {entry.get('remedy')}", host)
        for host, each in given.items()
        for entry in each.get("unreadable") or ()
    )
    for text, hosts in reasons.items():
        yield f"GPUs of {listed(hosts, _NAMED)}: {text}"


# ---- the table ------------------------------------------------------------------------------------------------------


def _row(gpu: _Gpu) -> dict[str, str]:
    state, given = gpu.state, gpu.given
    cells = (
        gpu.name,
        str(state.get("index")),
        gpu.model,
        _driver(given) or _UNKNOWN,
        _manager(given.get("fabric_manager") or {}),
        _xid_cell(gpu),
        _ecc_cell(state),
        _pcie(state),
        "-" if state.get("nvlinks") is None else f"{state['nvlinks_active']} of {state['nvlinks']}",
        _UNKNOWN if "slowed" not in state else ", ".join(state["slowed"]) or "nothing",
        {True: "on", False: "off"}.get(state.get("persistence"), _UNKNOWN),  # type: ignore[arg-type]
        ", ".join(gpu.words) or ("in order" if "slowed" in state else "not read"),
    )
    return dict(zip(columns(), cells))


def _manager(given: Mapping[str, Any]) -> str:
    if not given.get("installed"):
        return "-"
    return " ".join(str(given.get(key) or "") for key in ("version", "state")).strip()


def _xid_cell(gpu: _Gpu) -> str:
    if gpu.given.get("xids") is None:
        return _UNKNOWN
    return gpu.xids.cell() or ("none" if gpu.given.get("since_boot") else "none in what is left of the log")


def _ecc_cell(state: Mapping[str, Any]) -> str:
    if state.get("ecc") is None:
        return "-" if "slowed" in state else _UNKNOWN
    if not state["ecc"]:
        return "off"
    counts = [f"{state[f'ecc_{word}']} {word}" for word in ("uncorrected", "corrected") if state.get(f"ecc_{word}")]
    return ", ".join(counts) or "on, no error"


def _pcie(state: Mapping[str, Any]) -> str:
    if not state.get("pcie_width"):
        return _UNKNOWN
    text = f"x{state['pcie_width']} of x{state.get('pcie_width_most') or '?'}"
    if not state.get("pcie_gen"):
        return text
    # At rest a link sleeps: its speed then says nothing.
    if state.get("performance_state") != _AWAKE:
        return f"{text}, generation up to {state.get('pcie_gen_most') or '?'}"
    return f"{text}, generation {state['pcie_gen']} of {state.get('pcie_gen_most') or '?'}"


def merged(rows: Sequence[Mapping[str, str]]) -> list[tuple[str, ...]]:
    """Equal GPUs of a host in one row, and hosts whose rows are equal; cells in the order of `columns`."""
    keys = [key for key in columns() if key != "gpu"]
    of_host = by_key((tuple(str(row.get(key, "")) for key in keys), str(row.get("gpu", ""))) for row in rows)
    of_all = by_key(((_spans(numbers), *values), host) for (host, *values), numbers in of_host.items())
    return [(listed(hosts, _NAMED), *values) for values, hosts in of_all.items()]


def _spans(numbers: Sequence[str]) -> str:
    """0-7 for eight in a row."""
    first = int(numbers[0]) if numbers[0].isdigit() else 0
    if len(numbers) > 2 and list(numbers) == [str(first + turn) for turn in range(len(numbers))]:
        return f"{numbers[0]}-{numbers[-1]}"
    return ",".join(numbers)
