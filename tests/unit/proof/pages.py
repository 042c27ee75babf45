"""Draws the pages that docs/report.md shows, from evidence that was made up for tests, by a headless chromium.

PYTHONPATH=collections:. python -m tests.unit.proof.pages
"""

from __future__ import annotations

import pathlib
import random
import tempfile

from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import page

from tests.unit.proof.attack_base import BASES, site_of, summary
from tests.unit.proof.test_attacks import KINDS
from tests.unit.roles.collection import ROOT, program

# Picture -> sound run, the kind of false evidence in it.
PAGES: dict[str, tuple[str, str]] = {
    "proven": ("4 hosts x 2 GPUs, 2 rails", ""),
    "path-proven": ("4 hosts x 2 GPUs, 2 rails, no switch", ""),
    "not-proven": ("4 hosts x 2 GPUs, 2 rails", "rail_is_idle"),
}
WIDTHS = (1280, 390)
SCREENS = program(ROOT / "docs" / "screens.py")


def main() -> None:
    for name, (run, kind) in PAGES.items():
        site = site_of(next(base for base in BASES if base.name == run))
        if kind:
            KINDS[kind].change(site, random.Random(3))
        with tempfile.TemporaryDirectory() as folder:
            text = page.report({**summary(site), "run_id": "made-up-evidence"})
            pathlib.Path(folder, "report.html").write_text(text, encoding="utf-8")
            for width in WIDTHS:
                SCREENS.draw(pathlib.Path(folder), ROOT / "docs" / f"screen-{name}-{width}.png", width)


if __name__ == "__main__":
    main()
