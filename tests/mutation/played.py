"""Mutants of the roles' conditions, and the tests that play the task: real playbooks against the simulators."""

from __future__ import annotations

import collections
import hashlib
import json
import os
import pathlib
from collections.abc import Iterator, Sequence

from tests.mutation import engine, trial
from tests.mutation.conditions import Condition, conditions
from tests.mutation.mutant import Mutant, drawn

PER_ROLE = 8
_CALLBACKS = pathlib.Path(__file__).resolve().parent / "callback"
# A playbook takes seconds of CPU; tests that take more than this are left to the suites.
_LONG = 45.0

Played = dict[str, dict[str, float]]


def chosen(cache: pathlib.Path, only: Sequence[str] | None, per_role: int) -> Iterator[tuple[Mutant, list[str], float]]:
    """Conditions of tasks that a test plays, with the tests, the quickest first, and how long they may take."""
    for role, files in trial.rooms()["roles"].items():
        if only and role not in only:
            continue
        played = _recorded(files, cache)
        tests_of: dict[str, list[str]] = {}
        for condition in _of_role(role):
            places = {f"{condition.mutant.file}:{line}" for line in condition.tasks}
            tests: dict[str, float] = {}
            for place in places:
                tests.update(played.get(place, {}))
            quick = sorted((name for name in tests if tests[name] < _LONG), key=lambda name: tests[name])
            if quick:
                tests_of[condition.mutant.key] = quick
        possible = [condition.mutant for condition in _of_role(role)]
        print(f"{role}: {len(tests_of)} of {len(possible)} mutants are in tasks that its tests play", flush=True)
        seconds = {name: spent for by_test in played.values() for name, spent in by_test.items()}
        for mutant in drawn((one for one in possible if one.key in tests_of), per_role or PER_ROLE):
            wanted = tests_of[mutant.key]
            yield mutant, wanted, 60.0 + 3 * sum(seconds[name] for name in wanted)


def _of_role(role: str) -> list[Condition]:
    found = []
    for path in sorted(pathlib.Path("roles", role, "tasks").rglob("*.yml")):
        found += conditions(str(path), path.read_text())
    return found


def _recorded(files: Sequence[str], cache: pathlib.Path) -> Played:
    """Kept by file of tests, which several roles may share."""
    digest = hashlib.sha256()
    for path in sorted(pathlib.Path("roles").rglob("*.yml")):
        digest.update(path.read_bytes())
    found: Played = {}
    for file in files:
        own = digest.copy()
        own.update(pathlib.Path(file).read_bytes())
        kept = cache / f"played-{pathlib.Path(file).stem}-{own.hexdigest()[:16]}.json"
        if not kept.exists():
            cache.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(_record([file])))
        for place, by_test in json.loads(kept.read_text()).items():
            found.setdefault(place, {}).update(by_test)
    return found


def _record(files: Sequence[str]) -> Played:
    """Task (file and line) -> test -> seconds."""
    notes, settings = pathlib.Path.cwd() / ".build/played", pathlib.Path("ansible.cfg")
    before = settings.read_text()
    ways = {"callback_plugins": str(_CALLBACKS), "callbacks_enabled": "tasks_played"}
    # Some harnesses hand on no variable of Ansible, others a configuration of their own: both ways are needed.
    environment = {
        "ANSIBLE_CALLBACK_PLUGINS": str(_CALLBACKS),
        "ANSIBLE_CALLBACKS_ENABLED": "tasks_played",
        "ROCEMESH_PLAYED": str(notes),
    }
    os.environ.update(environment)
    try:
        lines = [f"{name} = {value}" for name, value in ways.items()]
        settings.write_text(before.replace("[defaults]", "\n".join(["[defaults]", *lines]), 1))
        notes.parent.mkdir(exist_ok=True)
        notes.write_text("")
        said = engine.record(files, [])
    finally:
        settings.write_text(before)
        for name in environment:
            del os.environ[name]
    found: Played = collections.defaultdict(dict)
    root = f"{pathlib.Path.cwd()}/"
    for line in set(notes.read_text().splitlines()):
        test, _tab, place = line.partition("\t")
        name = place.replace("collections/ansible_collections/rocemesh/multinode/", "").removeprefix(root)
        if test in said:
            seconds = said[test]["seconds"]
            assert isinstance(seconds, float)
            found[name][test] = seconds
    return dict(found)
