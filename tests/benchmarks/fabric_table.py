"""The measured tables of docs/fabric.md, made from docs/fabric.json: `python -m tests.benchmarks.fabric_table` writes
them, with --publish after it took over what tests/benchmarks/test_fabric.py left in reports/bench.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.page import row
from tests.benchmarks.record import ROOT

MEASURED = ROOT / "reports" / "bench"
FIGURES = ROOT / "docs" / "fabric.json"
PAGE = ROOT / "docs" / "fabric.md"
FORMS = ("quick", "full")
TABLES = ("judgement", "controller")
BLOCK = re.compile(r"(<!-- fabric.json: (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def published(before: dict[str, list[dict[str, Any]]], measured: Path) -> dict[str, list[dict[str, Any]]]:
    """``judgement`` and ``controller``: form by form, small fabrics first. A row that was measured takes the place of
    its own, unless it has fewer cases; the others stay.
    """
    rows = {(name, each["form"], each["hosts"]): each for name in TABLES for each in before.get(name, ())}
    for path in sorted(measured.glob("fabric_*.json")):
        content = json.loads(path.read_text())
        key = ("controller" if "by_part" in content else "judgement", content["form"], content["hosts"])
        if content.get("cases", 0) >= rows.get(key, {}).get("cases", 0):
            rows[key] = content
    order = sorted(rows, key=lambda key: (FORMS.index(key[1]), key[2]))
    return {name: [rows[key] for key in order if key[0] == name] for name in TABLES}


def judgement(entries: list[dict[str, Any]]) -> str:
    header = ("form", "hosts", "cases", "right", "accused without a fault", "rounds", "with repeats", "bound")
    text = "\n" + row(*header) + row("---", *("---:" for _column in header[1:]))
    for each in entries:
        text += row(
            each["form"],
            f"{each['hosts']:,}",
            f"{each['cases']:,}",
            f"{each['right']:,}",
            f"{each['accused_without_fault']} of {each['cases']:,}",
            each["rounds"],
            each["rounds_with_confirmation"],
            each["bound"],
        )
    return text + "\n"


def controller(entries: list[dict[str, Any]]) -> str:
    header = ("form", "hosts", "measurements", "plan, s", "controller, s of CPU", "share", "MB read")
    text = "\n" + row(*header) + row("---", *("---:" for _column in header[1:]))
    for each in entries:
        text += row(
            each["form"],
            f"{each['hosts']:,}",
            f"{each['measurements']:,}",
            f"{each['plan_seconds']:.0f}",
            f"{each['controller_seconds']:.1f}",
            f"{100 * each['share']:.1f} %",
            f"{each['megabytes_read']:.0f}",
        )
    return text + "\n"


def made(page: str) -> str:
    figures = json.loads(FIGURES.read_text())
    tables = {"judgement": judgement, "controller": controller}
    return BLOCK.sub(lambda found: found[1] + tables[found[2]](figures[found[2]]) + found[3], page)


def main(arguments: list[str]) -> int:
    if "--publish" in arguments:
        FIGURES.write_text(json.dumps(published(json.loads(FIGURES.read_text()), MEASURED), indent=1) + "\n")
    PAGE.write_text(made(PAGE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
