"""How the report grows with the number of ranks: time and size for 4, 64 and 512, and what the plots cost of it.

Writes reports/bench/report.json. `growth`: time and size of the report without plots against the one of 4 ranks, in the
same run (512 is 128 times 4; a figure far above 128 would be more than linear). Needs no lab.
"""

from __future__ import annotations

import json
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import tf_cnn
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import page, plots
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import build

from tests.unit.results import report_samples

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANKS = (4, 64, 512)
ROUNDS = 3


def seconds(work: Callable[[], Any]) -> float:
    """Of this process's own time: on a busy machine wall time tells what others did."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def test_growth_with_the_number_of_ranks() -> None:
    samples = {ranks: report_samples.inputs(ranks=ranks) for ranks in RANKS}
    logs = {ranks: report_samples.log(ranks) for ranks in RANKS}
    page.report(build(samples[4]))  # templates are compiled once
    plots.draw(build(samples[4]))  # fonts are found once
    # Once per size: ten images take seconds, and the ranks are hardly seen in that.
    drawn: dict[int, list[plots.Plot]] = {}
    times: dict[int, dict[str, list[float]]] = {ranks: {} for ranks in RANKS}
    sizes: dict[int, dict[str, int]] = {}
    for ranks in RANKS:
        summary = build(samples[ranks])
        times[ranks]["plots"] = [
            seconds(lambda ranks=ranks, summary=summary: drawn.update({ranks: plots.draw(summary)}))
        ]
    for _round in range(ROUNDS):
        for ranks in RANKS:
            summary = build(samples[ranks])
            steps: dict[str, Callable[[], Any]] = {
                "read_log": lambda ranks=ranks: tf_cnn.read(logs[ranks], ranks),
                "summary": lambda ranks=ranks: build(samples[ranks]),
                "markdown": lambda summary=summary: page.markdown(summary),
                "html_without_plots": lambda summary=summary: page.report(summary),
            }
            for name, work in steps.items():
                times[ranks].setdefault(name, []).append(seconds(work))
            sizes[ranks] = {
                "summary_json": len(json.dumps(summary, indent=2)),
                "report_md": len(page.markdown(summary)),
                "report_html": len(page.report(summary, drawn[ranks])),
                "report_html_without_plots": len(page.report(summary)),
            }
    medians = {
        ranks: {name: statistics.median(values) for name, values in found.items()} for ranks, found in times.items()
    }
    table = {
        "rounds": ROUNDS,
        "growth_against_4_ranks": {
            str(ranks): {
                **{f"cpu_time_{name}": round(medians[ranks][name] / medians[4][name], 2) for name in medians[4]},
                **{f"size_{name}": round(sizes[ranks][name] / sizes[4][name], 2) for name in sizes[4]},
            }
            for ranks in RANKS[1:]
        },
        "median_cpu_seconds": {
            str(ranks): {name: round(value, 4) for name, value in found.items()} for ranks, found in medians.items()
        },
        "bytes": {str(ranks): found for ranks, found in sizes.items()},
    }
    target = ROOT / "reports" / "bench" / "report.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(table, indent=1) + "\n")
    print(target.read_text())
    for ranks, grown in table["growth_against_4_ranks"].items():  # type: ignore[attr-defined]
        for name, factor in grown.items():
            assert not name.startswith("size_") or factor <= 1.1 * int(ranks) / 4, f"{name} grows faster than the ranks"
