"""docs/mutation.md, and the rate in docs/architecture.md, from tests/mutation/results.

`python -m tests.mutation.figures` writes them; `--check`: are they current?
"""

from __future__ import annotations

import collections
import pathlib
import sys
from typing import Any

import yaml

from tests.mutation import trial

HOME = pathlib.Path(__file__).resolve().parents[2]
PAGE = HOME / "docs/mutation.md"
ARCHITECTURE = HOME / "docs/architecture.md"
BEGIN, END = "<!-- mutation: made by tests/mutation/figures.py -->\n", "<!-- end of mutation -->\n"
_TEXT = """# Mutation: do the tests notice?

<!-- Made by `python -m tests.mutation.figures` from tests/mutation/results. -->

A mutant is a copy of the code with one small lie: a comparison turned round, a refusal left out, a number one higher, a
condition of a role made true. If no test fails, nothing guards that rule. `make mutation` tries them; `make test`
repeats a sample of those that were caught, drawn by a fixed seed.

{summary}

| part | files | mutants | caught | survive, explained | survive |
|---|---|---|---|---|---|
{rows}

{open}\
- **Code** is what decides, by room (`tests/mutation/rooms.yml`): a few mutants of each file, drawn by a fixed seed.
  Only the room's own unit tests are asked: what playbooks, simulators and the lab notice besides does not count.
- **Roles** are conditions (`when`, `assert`, `until`, `failed_when`, `changed_when`) of tasks that a test plays against
  a simulator, or asks without a playbook (`tests/unit/roles/condition_table.py`). {conditions}
- **Known** are the mutants that survived a review of the tests, by name (`tests/mutation/known.yml`).
- **Guide** are items of docs/guide.yml, taken away: a test that the row names has to fail. Some are drawn by a fixed
  seed, the others chosen: what a review found to be done and guarded by nothing (`tests/mutation/guide_breaks.yml`).
{unasked}
A mutant that survives is a rule without a test: write the test, or say in `tests/mutation/explained.yml` why no test
can notice. `python -m tests.mutation code --room nic --new` tries again what survived in one room.

## By file

| file | mutants | caught |
|---|---|---|
{files}

{evidence}"""


def _parts() -> list[tuple[str, list[dict[str, Any]]]]:
    parts: list[tuple[str, list[dict[str, Any]]]] = []
    rooms = collections.defaultdict(list)
    for entry in trial.kept(HOME, "code"):
        rooms[trial.room_of(entry["file"])].append(entry)
    parts += [(f"code: {room}", entries) for room, entries in rooms.items()]
    return parts + [(name, trial.kept(HOME, name)) for name in ("roles", "known", "guide")]


def page() -> str:
    parts = _parts()
    everything = [entry for _name, entries in parts for entry in entries]
    rows = "\n".join(_row(name, entries) for name, entries in parts if entries)
    by_file = collections.defaultdict(list)
    for entry in everything:
        by_file[entry["file"]].append(bool(entry["by"]))
    files = "\n".join(f"| {file} | {len(found)} | {sum(found)} |" for file, found in sorted(by_file.items()))
    left = trial.unexplained(everything)
    return _TEXT.format(
        summary=_summary(everything),
        rows=rows,
        files=files,
        evidence=(trial.HERE / "false_evidence.md").read_text(),
        open=_open(left),
        unasked=_unasked(dict(parts)["guide"]),
        conditions=_conditions(dict(parts)["roles"]),
    )


def _open(left: list[dict[str, Any]]) -> str:
    """Who survives without a reason, by name."""
    if not left:
        return ""
    lines = "\n".join(f"- `{trial.key_of(entry)}`" for entry in left)
    return f"""What survives was asked of a part of the room's tests only; whether a test is missing is not decided
(`tests/mutation/undecided.yml`):

{lines}

"""


def _conditions(entries: list[dict[str, Any]]) -> str:
    asked = {(entry["file"], entry["scope"], entry["rule"], entry["before"]) for entry in entries}
    return f"{len(asked)}\n  conditions were drawn. What only the lab plays (most conditions) is not among them."


def _unasked(entries: list[dict[str, Any]]) -> str:
    """Items that are listed and of which there is no result."""
    listed = [row["id"] for row in yaml.safe_load((trial.HERE / "guide_breaks.yml").read_text())]
    missing = sorted({f"{number}" for number in listed} - {entry["scope"].split()[-1] for entry in entries}, key=int)
    if not missing:
        return ""
    return f"  {len(listed)} are listed, {len(missing)} of them were not asked (items {', '.join(missing)}).\n"


def _summary(entries: list[dict[str, Any]]) -> str:
    caught, left = sum(bool(entry["by"]) for entry in entries), len(trial.unexplained(entries))
    return (
        f"{len(entries)} mutants of {len({entry['file'] for entry in entries})} files were tried: {caught} are caught "
        f"({100 * caught / len(entries):.1f} %), {left} survive without an explanation."
    )


def architecture() -> str:
    """The page with the rate as it is now."""
    text = ARCHITECTURE.read_text()
    before, begin, rest = text.partition(BEGIN)
    _old, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("docs/architecture.md has no place for the rate of the mutants")
    everything = [entry for _name, entries in _parts() for entry in entries]
    return f"{before}{begin}\n{_summary(everything)}\n\n{end}{after}"


def _row(name: str, entries: list[dict[str, Any]]) -> str:
    caught = sum(bool(entry["by"]) for entry in entries)
    left = len(trial.unexplained(entries))
    files = len({entry["file"] for entry in entries})
    return f"| {name} | {files} | {len(entries)} | {caught} | {len(entries) - caught - left} | {left} |"


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        current = PAGE.exists() and PAGE.read_text() == page() and ARCHITECTURE.read_text() == architecture()
        return 0 if current else 1
    PAGE.write_text(page())
    ARCHITECTURE.write_text(architecture())
    return 0


if __name__ == "__main__":
    sys.exit(main())
