"""The ways to ask."""

from __future__ import annotations

import argparse
import pathlib
import time
from typing import Any

import yaml

from tests.mutation import engine, played, trial
from tests.mutation.mutant import drawn
from tests.mutation.operators import mutants

SAMPLE = 20
_IN_THE_LAB = ("molecule/", "tests/integration/site/")


def run(what: str, home: pathlib.Path, arguments: argparse.Namespace) -> int:
    return {"known": known, "code": code, "roles": roles, "guide": guide, "sample": sample}[what](home, arguments)


def code(home: pathlib.Path, arguments: argparse.Namespace) -> int:
    rows = {trial.key_of(entry): entry for entry in trial.kept(home, "code")}
    for room, content in trial.rooms()["code"].items():
        if arguments.room and room not in arguments.room:
            continue
        recording = trial.Recording(room, home / ".build/mutation")
        wanted = []
        for file in content["files"]:
            wanted += trial.chosen(file, arguments.per_file or trial.PER_FILE)
        for mutant in wanted:
            last = rows.get(mutant.key)
            if not (arguments.new and last and last["by"]):
                rows[mutant.key] = trial.tried(mutant, recording)
                _tell(rows[mutant.key])
                # Kept at once, so that a run that is ended can be finished with --new.
                trial.keep(home, "code", [rows[key] for key in sorted(rows)])
        keys = {mutant.key for mutant in wanted}
        engine.control(sorted({rows[key]["by"] for key in keys if rows[key]["by"].startswith("tests/")}))
        rows = {key: entry for key, entry in rows.items() if trial.room_of(entry["file"]) != room or key in keys}
    trial.keep(home, "code", [rows[key] for key in sorted(rows)])
    return _closing(list(rows.values()))


def _tell(entry: dict[str, Any]) -> None:
    mark = "caught  " if entry["by"] else ("explained" if not trial.unexplained([entry]) else "SURVIVES")
    print(f"{mark} {entry['seconds']:5.1f} s  {trial.key_of(entry)}   {entry['by']}", flush=True)


def _closing(entries: list[dict[str, Any]]) -> int:
    left = trial.unexplained(entries)
    caught = sum(bool(entry["by"]) for entry in entries)
    print(f"{caught} of {len(entries)} caught, {len(entries) - caught - len(left)} explained, {len(left)} unexplained")
    for entry in left:
        print(f"  no test notices: {trial.key_of(entry)}")
    return 1 if left else 0


def known(home: pathlib.Path, arguments: argparse.Namespace) -> int:
    """Those that once survived: each is caught by the tests that are named beside it."""
    rows = {entry["scope"]: entry for entry in trial.kept(home, "known")}
    changes = yaml.safe_load((trial.HERE / "known.yml").read_text())
    todo = [
        change
        for change in changes
        if (not arguments.room or trial.room_of(change["file"]) in arguments.room)
        and not (arguments.new and rows.get(change["name"], {}).get("by"))
    ]
    engine.control(list(dict.fromkeys(test for change in todo for test in change["tests"])))
    for change in todo:
        begun = time.monotonic()
        with engine.planted(trial.replaced(change["name"], change, "known")) as mutant:
            by = engine.ask(change["tests"], 120.0)
        rows[change["name"]] = trial.row(mutant, by, time.monotonic() - begun)
        _tell(rows[change["name"]])
        trial.keep(home, "known", [rows[each["name"]] for each in changes if each["name"] in rows])
    entries = [rows[each["name"]] for each in changes if each["name"] in rows]
    trial.keep(home, "known", entries)
    return _closing(entries)


def roles(home: pathlib.Path, arguments: argparse.Namespace) -> int:
    before = {trial.key_of(entry): entry for entry in trial.kept(home, "roles")}
    entries = {} if not arguments.room else dict(before)
    for mutant, tests, patience in played.chosen(home / ".build/mutation", arguments.room, arguments.per_file):
        last = before.get(mutant.key)
        if not (arguments.new and last and last["by"]):
            begun = time.monotonic()
            with engine.planted(mutant):
                by = engine.ask(tests, patience)
            last = trial.row(mutant, by, time.monotonic() - begun)
            _tell(last)
        entries[mutant.key] = last
        trial.keep(home, "roles", [entries[key] for key in sorted(entries)])
    return _closing(list(entries.values()))


def sample(home: pathlib.Path, arguments: argparse.Namespace) -> int:
    """Of those that were caught, the first by the fixed seed that the code still has."""
    rows = [entry for entry in trial.kept(home, "code") if entry["by"].startswith("tests/")]
    by = {trial.key_of(entry): entry["by"] for entry in rows}
    files = sorted({entry["file"] for entry in rows if pathlib.Path(entry["file"]).exists()})
    now = [mutant for file in files for mutant in mutants(file, pathlib.Path(file).read_text()) if mutant.key in by]
    ordinary = sum(entry["rule"] != "known" for entry in rows)
    print(f"{len(now)} of {ordinary} recorded mutants are still possible", flush=True)
    if len(now) < ordinary * 3 // 4:
        print("too few: the code has changed; run `python -m tests.mutation code`, and look at what survives")
        return 1
    lost, chosen = 0, drawn(now, arguments.per_file or SAMPLE)
    engine.control(list(dict.fromkeys(by[mutant.key] for mutant in chosen)))
    for mutant in chosen:
        begun = time.monotonic()
        with engine.planted(mutant):
            who = engine.ask([by[mutant.key]])
            if not who:
                who = engine.ask(trial.test_files(trial.room_of(mutant.file)), 300.0)
        _tell(trial.row(mutant, who, time.monotonic() - begun))
        lost += not who
    return 1 if lost else 0


def guide(home: pathlib.Path, arguments: argparse.Namespace) -> int:
    """Takes items of the guide away, one at a time: one of the tests that the item's row names has to fail."""
    sections = yaml.safe_load(pathlib.Path("docs/guide.yml").read_text())["sections"]
    tests_of = {item["id"]: item.get("tests", []) for section in sections for item in section["items"]}
    rows = {entry["scope"]: entry for entry in trial.kept(home, "guide")} if arguments.new else {}
    for change in yaml.safe_load((trial.HERE / "guide_breaks.yml").read_text()):
        item = f"item {change['id']}"
        if rows.get(item, {}).get("by"):
            continue
        near = [name for name in tests_of[change["id"]] if not name.startswith(_IN_THE_LAB)]
        begun = time.monotonic()
        engine.control(near)
        with engine.planted(trial.replaced(item, change, "guide")) as mutant:
            by = engine.ask(near, 300.0)
        rows[item] = trial.row(mutant, by, time.monotonic() - begun)
        _tell(rows[item])
        trial.keep(home, "guide", rows.values())
    entries = list(rows.values())
    trial.keep(home, "guide", entries)
    return _closing(entries)
