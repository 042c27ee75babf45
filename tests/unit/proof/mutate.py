"""Lies about a sound run: one fact, or a line of a log, changed in one of the ways in which evidence goes wrong."""

from __future__ import annotations

import copy
import random
import re
from typing import Any, Callable, Iterator, NamedTuple

from tests.unit.proof.truth import JOB, Run

Place = tuple[Any, ...]
ROOTS = ("evidence", "result", "layers", "expected_ranks")


class Mutation(NamedTuple):
    """``where``: the fact, in the words of the list of facts that do not matter; ``apply`` returns False if the fact
    was already so, or is gone."""

    kind: str
    where: str
    apply: Callable[[dict[str, Any]], bool]


def leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every fact, and every list or mapping of facts."""
    if place:
        yield place
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*place, key))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from leaves(value[index], (*place, index))


def name(place: Place) -> str:
    """evidence.rdma.*.before.devices.*.rate: hosts, switches, ports and indexes are stars."""
    words = []
    for word in place:
        text = str(word)
        words.append("*" if isinstance(word, int) or re.fullmatch(r"gpu\d+|sw\d+|\d+/\d+", text) else text)
    return ".".join(words)


def _at(inputs: dict[str, Any], place: Place) -> tuple[Any, Any] | None:
    holder: Any = inputs
    for word in place[:-1]:
        try:
            holder = holder[word]
        except (KeyError, IndexError, TypeError):
            return None
    try:
        holder[place[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return holder, place[-1]


def _drop(inputs: dict[str, Any], place: Place) -> bool:
    found = _at(inputs, place)
    if found is None:
        return False
    del found[0][found[1]]
    return True


def _set(new: Callable[[Any], Any]) -> Callable[[dict[str, Any], Place], bool]:
    def change(inputs: dict[str, Any], place: Place) -> bool:
        found = _at(inputs, place)
        if found is None:
            return False
        holder, key = found
        value = new(holder[key])
        if value is _NOTHING or (type(value) is type(holder[key]) and value == holder[key]):
            return False
        holder[key] = value
        return True

    return change


_NOTHING = object()


def _zero(value: Any) -> Any:
    return type(value)() if isinstance(value, (bool, int, float, str, list, dict)) else _NOTHING


def _saturate(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return 2**64 - 1
    if isinstance(value, float):
        return 1e18
    return value * 9 if isinstance(value, (str, list)) else _NOTHING


def _cut(value: Any) -> Any:
    if isinstance(value, bool):
        return _NOTHING
    if isinstance(value, int):
        return value // 3
    if isinstance(value, float):
        return value / 3
    if isinstance(value, (str, list)):
        return value[: len(value) // 2]
    if isinstance(value, dict):
        return dict(list(value.items())[: len(value) // 2])
    return _NOTHING


def _other_host(value: Any) -> Any:
    if isinstance(value, str) and re.search(r"gpu\d\d", value):
        return re.sub(r"gpu(\d\d)", "alien\\1", value)
    if isinstance(value, dict) and any(re.fullmatch(r"gpu\d\d", str(key)) for key in value):
        return {f"alien{key}": entry for key, entry in value.items()}
    return _NOTHING


def _swap_host(value: Any) -> Any:
    """Another host of the same job."""
    if isinstance(value, str) and re.search(r"gpu01|gpu02", value):
        return value.replace("gpu01", "#").replace("gpu02", "gpu01").replace("#", "gpu02")
    return _NOTHING


def _other_job(value: Any) -> Any:
    return "20251231T000000Z" if value == JOB else _NOTHING


def _other_time(value: Any) -> Any:
    return value - 86400 if isinstance(value, float) and value > 1e9 else _NOTHING


def _later(value: Any) -> Any:
    return value + 86400 if isinstance(value, float) and value > 1e9 else _NOTHING


def _problem(value: Any) -> Any:
    if isinstance(value, list) and not value:
        return [{"code": "aborted", "message": "a fault that the reader found"}]
    return _NOTHING


KINDS: dict[str, Callable[[dict[str, Any], Place], bool]] = {
    "drop": _drop,
    "zero": _set(_zero),
    "saturate": _set(_saturate),
    "cut": _set(_cut),
    "other host": _set(_other_host),
    "swap hosts": _set(_swap_host),
    "other job": _set(_other_job),
    "other time": _set(_other_time),
    "later": _set(_later),
    "add a problem": _set(_problem),
}


def of_facts(inputs: dict[str, Any]) -> list[Mutation]:
    """Every single change of the readings, as data."""
    found = []
    for place in leaves({key: inputs[key] for key in ROOTS}):
        for kind, change in KINDS.items():
            found.append(Mutation(kind, name(place), lambda given, change=change, place=place: change(given, place)))
    return found


# ------------------------------------------------------------------------------------------------------- lines of logs


def _without_gdr(line: str) -> str:
    return line.replace("/GDRDMA", "")


_LINES: dict[str, Callable[[str], str]] = {
    "line dropped": lambda line: "",
    "line cut": lambda line: line[: len(line) // 2],
    "line cut short": lambda line: line[:-1],
    "line of another host": lambda line: re.sub(r"^gpu\d\d", "alien07", line).replace('"gpu0', '"alien0'),
    "line without GDRDMA": _without_gdr,
    "line by sockets": lambda line: re.sub(r"NET/IB/\d+(\(\d+\))?(/GDRDMA)?", "NET/Socket/0", line),
    "line of InfiniBand": lambda line: line.replace("/RoCE", "/IB"),
    "line of another version": lambda line: re.sub(r"NCCL version \d+\.\d+", "NCCL version 2.99", line),
    "line of the CPU": lambda line: line.replace('"nccl"', '"gloo"').replace("NVIDIA A100-SXM4-80GB", "cpu"),
    "line of other weights": lambda line: line.replace("5" * 64, "6" * 64, 1),
    "line that aborts": lambda line: line.replace("Init COMPLETE", "Abort COMPLETE"),
    "number one higher": lambda line: re.sub(r"\d+(?=\D*$)", lambda found: str(int(found[0]) + 1), line, count=1),
}


def shape(line: str) -> str:
    """A line without its numbers and hosts: what kind of line it is."""
    text = re.sub(r"gpu\d+:\d+:\d+ \[\d+\] NCCL INFO ", "", line)
    text = re.sub(r"^\[1,\d+\]<stdout>:", "", text)
    return re.sub(r"0x[0-9a-f]+|\d+(?:\.\d+)*", "N", text)[:60]


def of_log(run: Run, kind: str) -> list[Mutation]:
    """Every single change of a line; ``kind``: nccl or training."""
    text = run.nccl() if kind == "nccl" else run.training()
    found = []
    for number, line in enumerate(text.splitlines()):
        for how, change in _LINES.items():
            if change(line) != line:
                found.append(Mutation(how, f"{kind} log: {shape(line)}", _line(run, kind, number, change)))
    return found


def _line(run: Run, kind: str, number: int, change: Callable[[str], str]) -> Callable[[dict[str, Any]], bool]:
    def apply(inputs: dict[str, Any]) -> bool:
        key = f"{kind} text"
        lines = inputs.setdefault(key, (run.nccl() if kind == "nccl" else run.training()).split("\n"))
        lines[number] = change(lines[number])
        return True

    return apply


def read_again(run: Run, inputs: dict[str, Any]) -> dict[str, Any]:
    """The readers see the changed logs, before anything of what they say is changed."""
    nccl, training = inputs.pop("nccl text", None), inputs.pop("training text", None)
    if nccl is not None:
        inputs["evidence"]["nccl_path"] = run.path("\n".join(nccl))
    if training is not None:
        inputs["result"] = run.result("\n".join(training))
    return inputs


def mutated(run: Run, truth: dict[str, Any], mutations: tuple[Mutation, ...]) -> dict[str, Any] | None:
    """None if one of them changes nothing."""
    inputs = copy.deepcopy(truth)
    logs = [mutation for mutation in mutations if " log: " in mutation.where]
    facts = [mutation for mutation in mutations if " log: " not in mutation.where]
    for mutation in logs:
        mutation.apply(inputs)
    inputs = read_again(run, inputs)
    if not all(mutation.apply(inputs) for mutation in facts):
        return None
    return inputs


def lies(run: Run, truth: dict[str, Any], dice: random.Random) -> Iterator[tuple[Mutation, ...]]:
    """Endless: single changes and pairs, of facts and of lines, each kind as often as the other."""
    facts = of_facts(truth)
    logs = {kind: of_log(run, kind) for kind in ("nccl", "training")}
    # Large lists (pairs of ranks, ports) would fill the sample: each fact by its name has the same chance.
    by_name: dict[tuple[str, str], list[Mutation]] = {}
    for mutation in [*facts, *logs["nccl"], *logs["training"]]:
        by_name.setdefault((mutation.kind, mutation.where), []).append(mutation)
    groups = list(by_name.values())
    while True:
        first = dice.choice(dice.choice(groups))
        yield (first,) if dice.random() < 0.5 else (first, dice.choice(dice.choice(groups)))


def singles(run: Run, truth: dict[str, Any]) -> list[Mutation]:
    return [*of_facts(truth), *of_log(run, "nccl"), *of_log(run, "training")]
