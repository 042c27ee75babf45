"""The newest report."""

import json
import os
import pathlib


def test_latest_points_to_a_complete_report():
    latest = pathlib.Path(os.environ["MOLECULE_SCENARIO_DIRECTORY"]) / "reports" / "latest"
    summary = json.loads((latest / "summary.json").read_text())
    assert {"simulated", "ranks", "images_per_second", "hosts_rebooted", "layers"} <= set(summary)
    assert (latest / "report.md").read_text().startswith("#")
