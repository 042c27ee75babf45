"""Write docs/guide.md and docs/errata.md from docs/guide.yml, docs/causes.md and docs/signs.md from the rules
of the doctor, and the table of unread texts in docs/doctor.md from their lists.

--check: only say whether they are current (exit 1).
"""

from __future__ import annotations

import collections
import importlib
import pathlib
import sys
from typing import Any

import yaml

FOLDER = pathlib.Path(__file__).resolve().parent
MADE = "<!-- made from guide.yml by generate.py: change that file -->\n\n"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def link(path: str) -> str:
    return f"[{path.rpartition('/')[2]}](../{path})"


def test_name(test: str) -> str:
    path, _colons, name = test.partition("::")
    # No link: tests stay in the repository when the collection is installed.
    return f"`{path if name == '*' else test}`"


def errata(data: dict[str, Any]) -> str:
    rows = [
        f'| <a id="{entry["id"]}"></a>{cell(entry["guide"])} | {cell(entry["trouble"])} | {cell(entry["here"])} |'
        for entry in data["errata"]
    ]
    return (
        "# Errata of the guide\n\n"
        + MADE
        + 'What the guide "Multi-node training on VMware vSphere" says, why it does not '
        "work or is not safe, and what is done here. Item by item: [guide.md](guide.md).\n\n"
        "| guide | trouble | here |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def guide(data: dict[str, Any]) -> str:
    known = {entry["id"]: entry for entry in data["errata"]}
    count = sum(len(section["items"]) for section in data["sections"])
    parts = [
        "# The guide, item by item\n\n"
        + MADE
        + f'{count} items of "Multi-node training on VMware vSphere", in its order: '
        "what it says or has you type, which file does it here, the tests that fail without it, what is wrong with it "
        "([errata](errata.md)). An item without a test is one that is deliberately not done.\n"
    ]
    for section in data["sections"]:
        parts.append(
            f"\n## {section['title']}\n\n| | the guide | here | checked by | otherwise here |\n|--:|---|---|---|---|\n"
        )
        for item in section["items"]:
            wrong = [f"[{cell(known[name]['here'])}](errata.md#{name})" for name in item.get("errata", [])]
            columns = [
                str(item["id"]),
                cell(item["guide"]),
                " ".join(map(link, item.get("here", []))),
                " ".join(map(test_name, item.get("tests", []))),
                "; ".join(wrong),
            ]
            parts.append(f"| {' | '.join(columns)} |\n")
    return "".join(parts)


_MADE = "<!-- made from plugins/module_utils/_judge/packs by generate.py: change those files -->"


def ours(name: str) -> Any:
    """A module of plugins/module_utils."""
    sys.path.insert(0, str(FOLDER.parent / "plugins"))
    try:
        return importlib.import_module(f"module_utils.{name}")
    finally:
        sys.path.pop(0)


def causes() -> tuple[str, str]:
    """What a person does about each cause, and what its rules rest on."""
    module = ours("_doctor.catalogue")
    catalogue, layers = module.catalogue(), module.layers()
    said: dict[str, list[str]] = {}
    for entry in catalogue.rules:
        # Under the others that a rule thinks of as well it would stand again, and Galaxy takes no larger page.
        said.setdefault(entry.causes[0], []).append(f"`{cell(entry.when)}`: {cell(entry.source)}")
    for entry in catalogue.compares:
        said.setdefault(entry.causes[0], []).append(f"`{'+'.join(entry.names)}` of one host differs from the others'")
    parts = [
        f"# Causes\n\n{_MADE}\n\n"
        "What the [doctor](doctor.md) can name, layer by layer: what it means, how to check it and what puts it right, "
        "which interrupts nothing where nothing is said of it. "
        "[Signs and sources](signs.md) has what the rules of each cause rest on.\n"
    ]
    sources = [
        f"# Signs and sources\n\n{_MADE}\n\n"
        "The signs by which the [doctor](doctor.md) names each of its [causes](causes.md) and their sources. "
        "A rule that needs one sign alone is never certain unless the line states its cause.\n"
    ]
    for layer, owner in layers.items():
        here = [cause for cause in catalogue.causes.values() if cause.layer == layer]
        parts.append(f"\n## {layer}\n\nOwner: {owner}.\n\n| cause | meaning | check | remedy |\n|---|---|---|---|\n")
        sources.append(f"\n## {layer}\n\n| cause | signs and sources |\n|---|---|\n")
        for cause in here:
            own = (rule.fix for rule in catalogue.rules if rule.fix and rule.causes[0] == cause.id)
            fixes = "; or ".join(dict.fromkeys([cause.fix, *own]))
            parts.append(
                f"| `{cause.id}` | {cell(cause.means)} | {cell(cause.where)}: `{cell(cause.look)}` | {cell(fixes)}"
                f"{'' if cause.interrupts == 'nothing' else f' (interrupts {cause.interrupts})'} |\n"
            )
            sources.append(f"| `{cause.id}` | {'; '.join(dict.fromkeys(said.get(cause.id, [])))} |\n")
    return "".join(parts), "".join(sources)


ORDER = [
    *("fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth"),
    *("fourteenth", "fifteenth", "sixteenth", "seventeenth"),
]
LISTS = FOLDER.parent / "tests/unit/results"
MARKS = ("<!-- unread: made from tests/unit/results/logs_unread_*.yml by generate.py -->\n", "<!-- end of unread -->\n")


def unread() -> str:
    """One row for each round of texts that were judged before their rules were written."""
    parsed = ours("_yaml_files").parsed  # by libyaml: these are two megabytes
    rounds: dict[tuple[int, str], list[dict[str, Any]]] = collections.defaultdict(list)
    for path in LISTS.glob("logs_unread_*.yml"):
        name, _line, part = path.stem.removeprefix("logs_unread_").partition("_")
        entries = [entry for entry in parsed(path.read_text()) if "first_sight" in entry]
        rounds[ORDER.index(name), f"{name} {part[:-1]}".strip()] += entries
    firsts = ("first layer", "first remedy")
    head = ("texts", "right, or refused with reason", "decidable faults", "decided", "of these right", *firsts)
    rows = [f"| lists | {' | '.join((*head, 'all faults', *firsts))} |\n|---{'|---:' * 10}|\n"]
    for (_number, name), entries in sorted(rounds.items()):
        right = sum(entry["first_sight"] in ("right", "refused_right") for entry in entries)
        faults = [entry for entry in entries if entry.get("first_layer", "sound") != "sound"]
        clear = [entry for entry in faults if entry["decidable"] == "yes"]
        decided = [entry for entry in clear if entry["decided"] == "yes"]
        cells = [
            (len(entries), None), (right, len(entries)), (len(clear), None), (len(decided), len(clear)),
            (sum(entry["decided_right"] == "yes" for entry in decided), len(decided)), *_firsts(clear),
            (len(faults), None), *_firsts(faults),
        ]  # fmt: skip
        rows.append(f"| {name} | {' | '.join(_share(*cell) for cell in cells)} |\n")
    return "".join(rows)


def _firsts(faults: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(sum(entry[key] == "right" for entry in faults), len(faults)) for key in ("first_layer", "first_remedy")]


def _share(count: int, of: int | None) -> str:
    if of is None:
        return str(count or "")
    return f"{count} ({100 * count / of:.0f} %)" if of else ""


def doctor() -> str:
    page = (FOLDER / "doctor.md").read_text()
    before, rest = page.split(MARKS[0])
    return before + MARKS[0] + unread() + MARKS[1] + rest.split(MARKS[1])[1]


def main(arguments: list[str]) -> int:
    data = yaml.safe_load((FOLDER / "guide.yml").read_text())
    stale = []
    acted, rests = causes()
    pages = {
        "guide.md": guide(data),
        "errata.md": errata(data),
        "causes.md": acted,
        "signs.md": rests,
        "doctor.md": doctor(),
    }
    for name, text in pages.items():
        path = FOLDER / name
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.write_text(text)
    if "--check" in arguments and stale:
        print(f"{', '.join(stale)}: not what it is made from; run python docs/generate.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
