# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make lab` says in one line what each stage did, and at a failure which task failed and with what words."""

from __future__ import annotations

import re
from pathlib import Path

from lab.site import STAGES, Progress, follow
from tests.unit.roles.collection import ROOT

GOOD = """PLAY [Stage mark] ****
TASK [rocemesh.multinode.stage : Stage | Record the start of switch] ****
ok: [localhost]
TASK [rocemesh.multinode.switch : Switch | Configure the switch] ****
changed: [sw01]
TASK [rocemesh.multinode.stage : Stage | Record the start of esxi] ****
ok: [localhost]
"""
FORGIVEN = """TASK [Log in] ****
[ERROR]: Task failed: no login
fatal: [gpu01]: UNREACHABLE! => {"msg": "no login"}
...ignoring
TASK [Next] ****
ok: [gpu01]
"""
BAD = """TASK [rocemesh.multinode.esxi_host : ESXi host | Configure the kernel settings] ****
[ERROR]: Task failed: Module failed: esx01: no such setting
fatal: [esx01]: FAILED! =>
    msg: esx01: no such setting
PLAY RECAP ****
esx01 : ok=1 failed=1
"""


def shown(output: str, rc: int, tmp_path: Path) -> tuple[list[str], str]:
    lines: list[str] = []
    clock = iter(range(1000))
    progress = Progress(lines.append, lambda: float(next(clock)))
    follow(output.splitlines(keepends=True), tmp_path / "log", progress, everything=False)
    progress.end(rc)
    return lines, (tmp_path / "log").read_text()


def test_each_stage_has_one_line_with_what_it_does_and_its_time(tmp_path: Path) -> None:
    lines, log = shown(GOOD, 0, tmp_path)
    assert [line.split(" s  ")[1] for line in lines] == [f"{name:<8} {STAGES[name]}" for name in ("switch", "esxi")]
    assert all(re.match(r" +\d+\.\d s  ", line) for line in lines)
    assert log == GOOD, "the file has the whole output"


def test_at_a_failure_the_task_and_its_words_are_shown_and_nothing_that_was_forgiven(tmp_path: Path) -> None:
    lines, _log = shown(GOOD + FORGIVEN + BAD, 2, tmp_path)
    text = "\n".join(lines)
    assert "esxi     FAILED at TASK [rocemesh.multinode.esxi_host : ESXi host | Configure the kernel settings]" in text
    assert "    msg: esx01: no such setting" in text
    assert "RECAP" not in text and "no login" not in text


def test_every_stage_of_the_site_is_explained() -> None:
    site = (ROOT / "playbooks" / "site.yml").read_text()
    names = [
        name
        for playbook in re.findall(r"import_playbook: (\S+)", site)
        for name in re.findall(r"stage_name: (\w+)", (ROOT / "playbooks" / playbook).read_text())
    ]
    assert names == list(STAGES)
