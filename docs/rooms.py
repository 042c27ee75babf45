"""Draw the rooms of plugins/module_utils in docs/architecture.md from the imports; --check: is the drawing current?

A room is a folder with modules and all that lies in it, or a module of its own; a folder of folders has walls, and each
part is a room. An arrow goes from a room to one that it imports from. A circle between rooms is an error; without one
every room has a floor, and every arrow goes down.
"""

from __future__ import annotations

import ast
import functools
import pathlib
import sys
from typing import Iterator, Mapping

ROOT = pathlib.Path(__file__).resolve().parents[1]
UTILS = ROOT / "plugins" / "module_utils"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: made by rooms.py from the imports -->\n", "<!-- end of rooms -->\n"


def room_of(path: pathlib.Path) -> str:
    first, *rest = path.relative_to(UTILS).parts
    if not rest:
        return path.stem
    walls = all(file.name == "__init__.py" for file in (UTILS / first).glob("*.py"))
    return f"{first}/{rest[0]}" if walls else first


def imported(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Modules of module_utils that this one imports from when it runs, also inside of functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guards = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    unseen = {inner for guard in guards for statement in guard.body for inner in ast.walk(statement)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level or node in unseen:
            continue
        base = path.parents[node.level - 1].joinpath(*(node.module or "").split(".")) if node.module else None
        base = base or path.parents[node.level - 1]
        for target in [base.with_suffix(".py"), *(base / f"{alias.name}.py" for alias in node.names)]:
            if target.is_file() and UTILS in target.parents:
                yield target


@functools.cache
def files() -> dict[str, set[str]]:
    """File -> files that it imports from."""
    paths = [path for path in sorted(UTILS.rglob("*.py")) if path.name != "__init__.py"]
    return {str(path): {str(target) for target in imported(path)} for path in paths}


def arrows() -> dict[str, set[str]]:
    """Room -> rooms that it imports from."""
    found: dict[str, set[str]] = {}
    for path, targets in files().items():
        room = room_of(pathlib.Path(path))
        found.setdefault(room, set()).update({room_of(pathlib.Path(target)) for target in targets} - {room})
    return found


def floors(below: Mapping[str, set[str]]) -> dict[str, int]:
    """Room -> its floor, 0 at the bottom. Raises ValueError for a circle."""
    known: dict[str, int] = {}

    def floor(room: str, path: tuple[str, ...]) -> int:
        if room in path:
            raise ValueError("a circle of rooms: " + " -> ".join([*path[path.index(room) :], room]))
        if room not in known:
            known[room] = max((floor(other, (*path, room)) + 1 for other in below[room]), default=0)
        return known[room]

    for room in below:
        floor(room, ())
    return known


def drawing() -> str:
    below = arrows()
    level = floors(below)
    rows = ["| floor | room | imports from |", "|--:|---|---|"]
    for room in sorted(below, key=lambda name: (-level[name], name)):
        others = ", ".join(f"`{other}`" for other in sorted(below[room], key=lambda name: (-level[name], name)))
        rows.append(f"| {level[room]} | `{room}` | {others} |")
    return "\n".join(rows) + "\n"


def page(text: str) -> str:
    head, _begin, rest = text.partition(BEGIN)
    _old, _end, tail = rest.partition(END)
    if not tail:
        raise ValueError("docs/architecture.md has no place for the rooms")
    return head + BEGIN + "\n" + drawing() + "\n" + END + tail


if __name__ == "__main__":
    present = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        if present != page(present):
            sys.exit("the rooms in docs/architecture.md are not what the imports say; run docs/rooms.py")
    else:
        PAGE.write_text(page(present), encoding="utf-8")
