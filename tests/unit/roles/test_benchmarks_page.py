"""docs/benchmarks.md shows what docs/benchmarks/*.json hold, and those hold nothing of the machine but its size."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from tests.benchmarks import page
from tests.benchmarks.record import PUBLISHED

FILES = sorted(PUBLISHED.glob("*.json"))


def test_page_and_files_agree() -> None:
    text = page.PAGE.read_text()
    assert page.made(text) == text, "run: python -m tests.benchmarks.page"
    tables = [found[1] for found in page.BLOCK.findall(text)]
    assert len(tables) == len(set(tables)) and FILES
    assert {file.stem for file in FILES} <= set(tables), "a file that no table shows"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_holds_every_run_and_its_medians(file: Path) -> None:
    content = json.loads(file.read_text())
    assert bool(content["ratios"]) is not content["compared"].startswith("nothing:")
    assert content["versions"]["ansible-core"] and content["machine"]["cpus"]
    for cell in content["cells"].values():
        assert len({len(runs) for runs in cell["runs"].values()}) == 1, "as many rounds for each side"
        for side, median in cell["median"].items():
            for key, value in median.items():
                assert value == round(statistics.median(run[key] for run in cell["runs"][side]), 3), (side, key)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_names_no_host_and_no_path(file: Path) -> None:
    content = json.loads(file.read_text())
    machine = json.dumps({key: value for key, value in content.items() if key not in ("compared", "ratios")})
    assert "/root" not in machine and "/home" not in machine and "/tmp" not in machine
    assert set(content["machine"]) == {"system", "cpus", "load_before"}


def test_a_table_follows_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, content = next((file.stem, read) for file in FILES if (read := json.loads(file.read_text()))["ratios"])
    ratio = next(iter(content["ratios"]))
    content["ratios"][ratio] = 4321.0
    (tmp_path / f"{name}.json").write_text(json.dumps(content))
    monkeypatch.setattr(page, "PUBLISHED", tmp_path)
    assert f"| `{ratio}` | 4321.00 |" in page.made(f"<!-- {name}.json -->\nold\n<!-- end -->\n")
