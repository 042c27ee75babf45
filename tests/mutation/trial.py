"""Which mutants are tried, which tests are asked, and what they said: the recording of a room, and the results."""

from __future__ import annotations

import ast
import collections
import functools
import hashlib
import json
import pathlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from tests.mutation import engine
from tests.mutation.mutant import Mutant, drawn
from tests.mutation.operators import mutants

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = "tests/mutation/results"
PER_FILE = 5
# Seconds of CPU of tests per question, as the recording took them: it is a few times slower than the tests alone.
_ENOUGH = 20.0


@functools.cache
def rooms() -> dict[str, Any]:
    return dict(yaml.safe_load((HERE / "rooms.yml").read_text()))


@functools.cache
def explained() -> dict[str, str]:
    """The survivors that are no gap, each with the reason why nobody can notice."""
    rows = yaml.safe_load((HERE / "explained.yml").read_text()) or []
    return {row["mutant"]: row["because"] for row in rows}


@functools.cache
def undecided() -> frozenset[str]:
    """Survivors of which nobody knows yet whether a test is missing."""
    return frozenset(yaml.safe_load((HERE / "undecided.yml").read_text()) or [])


def room_of(file: str) -> str:
    return next(str(name) for name, room in rooms()["code"].items() if file in room["files"])


def test_files(room: str) -> list[str]:
    found = []
    for path in map(pathlib.Path, rooms()["code"][room]["tests"]):
        found += sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
    slow = rooms()["code"][room].get("slow", [])
    return [str(path) for path in found if str(path) not in slow]


def chosen(file: str, per_file: int) -> list[Mutant]:
    return drawn(mutants(file, pathlib.Path(file).read_text()), per_file)


def replaced(name: str, change: Mapping[str, str], rule: str) -> Mutant:
    """One text for another, of which the file has exactly one."""
    source = pathlib.Path(change["file"]).read_text()
    if source.count(change["before"]) != 1:
        raise SystemExit(f"{name}: {change['file']} has its text {source.count(change['before'])} times, not once")
    line = source[: source.index(change["before"])].count("\n") + 1
    text = source.replace(change["before"], change["after"])
    return Mutant(change["file"], line, name, rule, change["before"], change["after"], 0, text)


class Recording:
    """Which tests of a room enter a function; taken once per file of tests and state of the code, and kept under
    ``cache``."""

    def __init__(self, room: str, cache: pathlib.Path) -> None:
        files = rooms()["code"][room]["files"]
        kept = {path: cache / f"{room}-{digest}.json" for path, digest in _digests(room).items()}
        new = [path for path, place in kept.items() if not place.exists()]
        if new:
            cache.mkdir(parents=True, exist_ok=True)
            said = engine.record(new, files)
            for path in new:
                own = {name: entry for name, entry in said.items() if name.split("::")[0] == path}
                kept[path].write_text(json.dumps(own))
        self._tests: dict[str, Any] = {}
        for place in kept.values():
            self._tests.update(json.loads(place.read_text()))
        self._functions = {file: _functions(pathlib.Path(file).read_text()) for file in files}

    def _quickest_first(self, tests: Iterable[str]) -> list[str]:
        """As many as take ``_ENOUGH`` seconds, and at least one: of each function one row before any has its second, or
        the many rows of one table would be all that is asked."""
        found: list[str] = []
        spent, rows = 0.0, collections.Counter[str]()
        order: list[tuple[int, float, str]] = []
        for test in sorted(tests, key=lambda test: self._tests[test]["seconds"]):
            function = test.split("[")[0]
            order.append((rows[function], self._tests[test]["seconds"], test))
            rows[function] += 1
        for _row, _seconds, test in sorted(order):
            spent += self._tests[test]["seconds"]
            if spent < _ENOUGH or not found:
                found.append(test)
        return found

    def of_line(self, file: str, line: int) -> list[str]:
        """Those that enter the function that has the line; none for a line of the module."""
        around = [span for span in self._functions[file] if span[0] <= line <= span[1]]
        begin = max(around)[0] if around else None
        return self._quickest_first(name for name, said in self._tests.items() if begin in said.get(file, ()))

    def by_file(self, tests: Iterable[str]) -> list[list[str]]:
        """One group per file of tests, the quickest group first: what is not needed is not even imported."""
        groups: dict[str, list[str]] = {}
        for test in tests:
            groups.setdefault(test.split("::")[0], []).append(test)
        return sorted(groups.values(), key=lambda group: sum(self._tests[test]["seconds"] for test in group))

    def of_file(self, file: str) -> list[str]:
        touching = [name for name, said in self._tests.items() if file in said]
        return self._quickest_first(touching or self._tests)

    def patience(self, tests: Iterable[str]) -> float:
        return 30.0 + 4 * float(sum(self._tests[test]["seconds"] for test in tests))


def _digests(room: str) -> dict[str, str]:
    """Of each file of tests with the code that it may enter."""
    code = hashlib.sha256()
    for path in sorted(
        {*rooms()["code"][room]["files"], *map(str, pathlib.Path("plugins/module_utils").rglob("*.py"))}
    ):
        code.update(pathlib.Path(path).read_bytes())
    found = {}
    for path in test_files(room):
        own = code.copy()
        own.update(path.encode() + pathlib.Path(path).read_bytes())
        found[path] = own.hexdigest()[:16]
    return found


def _functions(source: str) -> list[tuple[int, int]]:
    """First line, as Python counts it (the decorator's), and last line of each function."""
    return [
        (min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


def tried(mutant: Mutant, recording: Recording) -> dict[str, Any]:
    """First the tests that enter the function, file by file, then all that enter the file of the mutant."""
    begun = time.monotonic()
    near = recording.of_line(mutant.file, mutant.line)
    far = [test for test in recording.of_file(mutant.file) if test not in set(near)]
    # What a test starts as a program of its own enters nothing that the recording could see.
    far += rooms()["code"][room_of(mutant.file)].get("programs", {}).get(mutant.file, [])
    by = ""
    with engine.planted(mutant):
        for group in (*recording.by_file(near), far):
            if group and not by:
                by = engine.ask(group, recording.patience(group))
    return row(mutant, by, time.monotonic() - begun)


def row(mutant: Mutant, by: str, seconds: float) -> dict[str, Any]:
    said = {name: value for name, value in mutant._asdict().items() if name not in ("text", "line")}
    return {**said, "by": by, "seconds": round(seconds, 1)}


def key_of(entry: dict[str, Any]) -> str:
    return Mutant(line=0, text="", **{name: entry[name] for name in Mutant._fields if name in entry}).key


def unexplained(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries if not entry["by"] and key_of(entry) not in explained()]


def kept(home: pathlib.Path, what: str) -> list[dict[str, Any]]:
    path = home / RESULTS / f"{what}.json"
    return list(json.loads(path.read_text())) if path.exists() else []


def keep(home: pathlib.Path, what: str, entries: Iterable[dict[str, Any]]) -> None:
    """One mutant per line, so that a change of one is a change of one line."""
    lines = ",\n".join(json.dumps(entry, sort_keys=True) for entry in entries)
    (home / RESULTS).mkdir(exist_ok=True)
    (home / RESULTS / f"{what}.json").write_text(f"[\n{lines}\n]\n")
