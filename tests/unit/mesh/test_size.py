"""The mesh stays small enough to be reviewed as a whole."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PARTS = ("plugins/module_utils/_mesh", "plugins/modules/ssh_container_mesh.py", "roles/mesh")
MOST = 2000


def lines(part: Path) -> int:
    found = [part] if part.is_file() else [path for path in part.rglob("*") if path.is_file()]
    return sum(len(path.read_bytes().splitlines()) for path in found if path.suffix != ".pyc")


def test_layer_module_and_role_together_keep_their_limit() -> None:
    counted = {part: lines(ROOT / part) for part in PARTS}
    assert all(counted.values())
    assert sum(counted.values()) <= MOST, counted
    (said,) = re.findall(r"at most ([\d,]+) lines", (ROOT / "docs/architecture.md").read_text())
    assert int(said.replace(",", "")) == MOST
