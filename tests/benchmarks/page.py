"""The tables of docs/benchmarks.md, made from docs/benchmarks/*.json: `python -m tests.benchmarks.page` writes them,
with --check it only says whether the page agrees.

A table stands between `<!-- NAME.json -->` and `<!-- end -->`: of every side of every cell the median, and the
least and greatest of its runs where they differ; then the ratios.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.record import PUBLISHED

PAGE = PUBLISHED.parent / "benchmarks.md"
BLOCK = re.compile(r"(<!-- (\w+)\.json -->\n).*?(<!-- end -->\n)", re.DOTALL)


def row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def shown(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value == int(value) or value >= 1000 else f"{value:.2f}"


def spread(runs: list[dict[str, float]], metric: str) -> str:
    values = [run[metric] for run in runs if metric in run]
    if len(values) < 2 or min(values) == max(values):
        return ""
    return f" ({shown(min(values))} to {shown(max(values))})"


def table(content: dict[str, Any]) -> str:
    cells = content["cells"]
    metrics = list(dict.fromkeys(key for cell in cells.values() for side in cell["median"].values() for key in side))
    text = "\n" + row("case", "side", *metrics, "runs") + row("---", "---", *("---:" for _metric in metrics), "---:")
    for name, cell in cells.items():
        for side, median in cell["median"].items():
            values = (shown(median.get(metric)) + spread(cell["runs"][side], metric) for metric in metrics)
            text += row(name.replace("_", " "), f"`{side}`", *values, len(cell["runs"][side]))
    text += "\n" + row("ratio", "median") + row("---", "---:") if content["ratios"] else ""
    text += "".join(
        row(f"`{name}`", f"{value:.2f}" if value >= 1 else f"{value:.3f}")
        for name, value in sorted(content["ratios"].items())
    )
    loads = [content["machine"]["load_before"][0], *(cell["load_after"][0] for cell in cells.values())]
    return text + (
        f"\nMedians of {content['measured']}, {content['machine']['cpus']} cores, load {min(loads):g} to {max(loads):g}"
        f"{'; devices SIMULATED' if content['simulated'] else ''}.\n\n"
    )


def made(page: str) -> str:
    """The page with every table as its file has it."""

    def one(found: re.Match[str]) -> str:
        source = PUBLISHED / f"{found[2]}.json"
        text = table(json.loads(source.read_text())) if source.exists() else "Not measured.\n"
        return found[1] + text + found[3]

    return BLOCK.sub(one, page)


def main(arguments: list[str]) -> int:
    page = PAGE.read_text()
    wanted = made(page)
    if "--check" in arguments:
        return int(wanted != page)
    Path(PAGE).write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
