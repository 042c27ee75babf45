#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run_compare
short_description: Put runs, imported logs and published figures into one table
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads C(summary.json) of runs and logs of other runs, and writes C(compare.html), C(compare.md) and C(compare.json)
    into a folder.
  - Figures that others published stand beside them, each marked as published, not measured here, with its source.
  - Rows that simulated devices produced are marked SIMULATED.
  - With O(baseline), says of each case of the benchmark scaling whether it became slower, and how sure that is.
requirements:
  - jinja2 (comes with Ansible)
extends_documentation_fragment: [rocemesh.multinode.attributes.no_restart, rocemesh.multinode.attributes.writes]
attributes:
  diff_mode:
    support: full
    description: Shows the SHA-256 of each file before and after.
options:
  path:
    description: Folder in which a folder O(name) is written. It is created if it is missing.
    type: path
    required: true
  name:
    description: Name of the comparison, and of its folder. Letters, digits, dot, dash and underscore.
    type: str
    default: compare
  runs:
    description: Runs to compare, each the folder of a run or its C(summary.json). A run is called by its C(run_id).
    type: list
    elements: path
    default: []
  logs:
    description: Logs of tf_cnn_benchmarks or of this collection's ResNet-50 to compare with.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: The log.
        type: path
        required: true
      name:
        description: Name of the row. Left out, the name of the file.
        type: str
      ranks:
        description: How many ranks were started. Left out, the log is believed.
        type: int
  figures:
    description: Figures from logs of other formats, for example from another filter of this collection.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the row.
        type: str
        required: true
      images_per_second:
        description: Rate of all ranks together, in images/s.
        type: float
        required: true
      nodes:
        description: Number of nodes.
        type: int
      ranks:
        description: Number of ranks.
        type: int
      precision:
        description: Number format.
        type: str
      batch:
        description: Batch size per rank, in images.
        type: int
      note:
        description: Where the figure comes from.
        type: str
        default: ''
      simulated:
        description: Whether simulated devices produced it.
        type: bool
        default: false
  published:
    description: Whether to show figures that others published.
    type: bool
    default: true
  baseline:
    description: >-
      Name (C(run_id)) of the run that the others are held against, case by case of the benchmark scaling. Left out,
      nothing is judged.
    type: str
    default: ''
  margin_percent:
    description: >-
      A run counts as slower if its median is lower by more than this, in percent. Published repeats differ by 2 %
      among themselves, so a narrower margin than 3 % would flap.
    type: float
    default: 3.0
  confidence_percent:
    description: How sure the answers V(slower) and V(not_slower) have to be, in percent.
    type: float
    default: 95.0
"""

EXAMPLES = r"""
- name: Two runs and a log beside what others published
  rocemesh.multinode.run_compare:
    path: "{{ playbook_dir }}/reports"
    runs: [reports/20260131T120000Z, reports/20260201T120000Z]
    logs:
      - {path: old.log, name: before the upgrade, ranks: 4}
    baseline: 20260131T120000Z
  delegate_to: localhost
"""

RETURN = r"""
path:
  description: The folder of the comparison.
  type: str
  returned: success
comparison:
  description: The content of C(compare.json).
  type: dict
  returned: success
  contains:
    parts:
      description: Tables, each with C(title), C(header) and C(rows).
      type: list
      elements: dict
    problems:
      description: Problems of the runs and logs, as texts.
      type: list
      elements: str
    simulated:
      description: Number of rows that simulated devices produced.
      type: int
gates:
  description: One entry per case that the baseline has, too.
  type: list
  elements: dict
  returned: success
  contains:
    run:
      description: Name of the run.
      type: str
    case:
      description: The case.
      type: str
    verdict:
      description: V(slower), V(not_slower), V(uncertain) or V(not_enough_repeats).
      type: str
    probability:
      description: Chance that the run is slower by more than the margin. Null, if the repeats do not carry it.
      type: float
    message:
      description: The answer in words.
      type: str
slower:
  description: Whether any case became slower.
  type: bool
  returned: success
operations:
  description: Files of the comparison that were written (in check mode - would be).
  type: list
  elements: dict
  returned: success
undo:
  description: How to take the comparison back.
  type: list
  elements: str
  returned: success
"""

import json
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils._layer import RefusedError, exit_with, failing
from ..module_utils._results.readers import tf_cnn
from ..module_utils._results.report import comparison, page, summary
from ..module_utils._results.report.files import ReportFolder, Wanted

_CHUNK = 1 << 20


def _unreadable(thing: str, path: Path, why: object) -> RefusedError:
    return RefusedError(
        f"cannot be read ({why})", host="compare", thing=thing, value=str(path), remedy="give an existing run or log"
    )


def _run(given: str) -> comparison.Entry:
    path = Path(given)
    path = path / "summary.json" if path.is_dir() else path
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable("runs", path, error.strerror) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable("runs", path, f"no JSON: {error}") from error
    found = comparison.check(str(path), document)
    return comparison.Entry(str(found.get("run_id") or path.parent.name), found)


def _log(given: dict[str, Any]) -> comparison.Entry:
    path = Path(given["path"])
    reader = tf_cnn.Reader(given["ranks"])
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as stream:
            while text := stream.read(_CHUNK):
                reader.feed(text)
    except OSError as error:
        raise _unreadable("logs", path, error.strerror) from error
    found = summary.build(summary.Inputs(run_id=given["name"] or path.name, result=reader.result().as_dict()))
    if not found["ranks"]:
        reasons = "; ".join(problem["message"] for problem in found["problems"])
        raise _unreadable("logs", path, f"no rank has a result in it: {reasons}")
    # A log alone was not judged by the other witnesses.
    found = {key: value for key, value in found.items() if key != "verdict"}
    return comparison.Entry(given["name"] or path.name, summary.finite(found), imported=True)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "name": {"type": "str", "default": "compare"},
            "runs": {"type": "list", "elements": "path", "default": []},
            "logs": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "path": {"type": "path", "required": True},
                    "name": {"type": "str"},
                    "ranks": {"type": "int"},
                },
            },
            "figures": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "name": {"type": "str", "required": True},
                    "images_per_second": {"type": "float", "required": True},
                    "nodes": {"type": "int"},
                    "ranks": {"type": "int"},
                    "precision": {"type": "str"},
                    "batch": {"type": "int"},
                    "note": {"type": "str", "default": ""},
                    "simulated": {"type": "bool", "default": False},
                },
            },
            "published": {"type": "bool", "default": True},
            "baseline": {"type": "str", "default": ""},
            "margin_percent": {"type": "float", "default": 3.0},
            "confidence_percent": {"type": "float", "default": 95.0},
        },
        supports_check_mode=True,
    )
    if page.JINJA2_IMPORT_ERROR:
        module.fail_json(msg=missing_required_lib("jinja2"), exception=str(page.JINJA2_IMPORT_ERROR))
    options = module.params
    with failing(module):
        table = comparison.build(
            [*map(_run, options["runs"]), *map(_log, options["logs"])],
            [comparison.Figure(**figure) for figure in options["figures"]],
            options["published"],
            baseline=options["baseline"],
            margin=options["margin_percent"] / 100,
            confidence=options["confidence_percent"] / 100,
        )
        wanted = Wanted(
            {
                "compare.json": (json.dumps(table, indent=2, allow_nan=False) + "\n").encode(),
                "compare.md": comparison.markdown(table).encode(errors="replace"),
                "compare.html": page.compare(table).encode(errors="replace"),
            },
            link_latest=False,
        )
        facts = {
            "comparison": table,
            "gates": table["gates"],
            "slower": any(entry["verdict"] == "slower" for entry in table["gates"]),
        }
        folder = ReportFolder(options["path"], options["name"], wanted, facts)
    exit_with(module, folder, wanted)


if __name__ == "__main__":
    main()
