#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run_report
short_description: Write the summary and the report of a site run
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Writes C(summary.json) (for programs), C(report.md) (for people) and a copy of the training log into a folder per
    run,
    and points the link C(latest) to it.
  - Every file is written whole or not at all, and the link is swapped in one step.
  - Measures nothing and decides nothing - it writes down what it is given. If the given result contradicts itself, the
    report says that it is not a result.
attributes:
  check_mode:
    support: full
    description: Says what would be written, and writes nothing.
  diff_mode:
    support: full
    description: Shows the SHA-256 of each file before and after.
options:
  path:
    description: Folder of all reports. It is created if it is missing.
    type: path
    required: true
  run_id:
    description: Name of this run, and of its folder. Letters, digits, dot, dash and underscore.
    type: str
    required: true
  simulated:
    description: >-
      Whether the devices were simulated. The report then says so in its title, its headline and at each layer.
    type: bool
    default: false
  simulated_layers:
    description: The layers whose devices do not exist, if O(simulated=true).
    type: list
    elements: str
    choices: [switch, esxi, vm, nic, container, mesh, run]
    default: [switch, esxi, vm, nic]
  layers:
    description:
      - What each layer reported. Keys are V(switch), V(esxi), V(vm), V(nic), V(container), V(mesh) and V(run).
      - Each value is a dictionary with C(changed) (bool), C(verified) (bool, or null if nobody looked), C(found)
        (anything)
        and C(changes) (list of descriptions).
    type: dict
    default: {}
  result:
    description: >-
      The training result as the filter P(rocemesh.multinode.tf_cnn_log#filter) returns it. Leave it out if there was
      no run.
    type: dict
  stage_marks:
    description: The start of each stage.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the stage.
        type: str
        required: true
      at:
        description: When it started, in seconds since 1970 (UTC).
        type: float
        required: true
  started:
    description: When the run started (ISO 8601). Left out, the time of the first mark.
    type: str
    default: ''
  finished:
    description: When the run ended (ISO 8601). Left out, the time of the last mark.
    type: str
    default: ''
  hosts_rebooted:
    description: ESXi hosts that this run rebooted.
    type: list
    elements: str
    default: []
  workload:
    description: Parameters of the training run, shown as they are.
    type: dict
    default: {}
  versions:
    description: Versions of what took part, shown as they are.
    type: dict
    default: {}
  problems:
    description: Problems beside those of O(result). Texts, or dictionaries with C(code) and C(message).
    type: list
    elements: raw
    default: []
  log:
    description: Training log to copy into the folder as C(mpirun.log).
    type: path
  latest:
    description: Whether to point the link C(latest) to this run.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Write the report
  rocemesh.multinode.run_report:
    path: "{{ playbook_dir }}/reports"
    run_id: 20260131T120000Z
    result: "{{ lookup('ansible.builtin.file', 'mpirun.log') | rocemesh.multinode.tf_cnn_log(ranks=4) }}"
    log: mpirun.log
    layers:
      switch: {changed: false, verified: true, found: {roce: enabled}, changes: []}
  delegate_to: localhost
"""

RETURN = r"""
path:
  description: The folder of this run.
  type: str
  returned: success
  sample: reports/20260131T120000Z
headline:
  description: The result in one line.
  type: str
  returned: success
summary:
  description: The content of C(summary.json).
  type: dict
  returned: success
  contains:
    simulated:
      description: Whether the devices were simulated.
      type: bool
      returned: success
    ranks:
      description: Number of ranks with a result.
      type: int
      returned: success
    images_per_second:
      description: C(total) as printed, C(per_rank) as a list, and C(sum_of_ranks).
      type: dict
      returned: success
    agreement:
      description: C(ok) and C(relative_difference) between the sum of the ranks and the printed total.
      type: dict
      returned: success
    layers:
      description: For each layer C(changed), C(verified), C(found), C(changes) and C(simulated).
      type: dict
      returned: success
    stages:
      description: Seconds per stage.
      type: dict
      returned: success
    problems:
      description: Problems, each with C(code) and C(message).
      type: list
      elements: dict
      returned: success
operations:
  description: What was written (in check mode - would be).
  type: list
  elements: dict
  returned: success
undo:
  description: How to take it back.
  type: list
  elements: str
  returned: success
reboot_required:
  description: Always false.
  type: bool
  returned: success
reboot_scope:
  description: Always V(none).
  type: str
  returned: success
reboot_reasons:
  description: Always empty.
  type: list
  elements: str
  returned: success
"""

import json
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._layer import LayerError, RefusedError, exit_with
from ..module_utils._results.files import ReportFolder, Wanted
from ..module_utils._results.markdown import render
from ..module_utils._results.summary import LAYERS, SIMULATED_LAYERS, Inputs, build, headline


def _files(summary: dict[str, Any], log: str | None) -> dict[str, bytes]:
    files = {
        "summary.json": (json.dumps(summary, indent=2, allow_nan=False) + "\n").encode(),
        "report.md": render(summary).encode(),
    }
    if log:
        try:
            files["mpirun.log"] = Path(log).read_bytes()
        except OSError as error:
            raise RefusedError(
                f"cannot be read ({error.strerror})", host="report", thing="log", value=log, remedy="give the saved log"
            ) from error
    return files


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "run_id": {"type": "str", "required": True},
            "simulated": {"type": "bool", "default": False},
            "simulated_layers": {
                "type": "list",
                "elements": "str",
                "choices": list(LAYERS),
                "default": list(SIMULATED_LAYERS),
            },
            "layers": {"type": "dict", "default": {}},
            "result": {"type": "dict"},
            "stage_marks": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "name": {"type": "str", "required": True},
                    "at": {"type": "float", "required": True},
                },
            },
            "started": {"type": "str", "default": ""},
            "finished": {"type": "str", "default": ""},
            "hosts_rebooted": {"type": "list", "elements": "str", "default": []},
            "workload": {"type": "dict", "default": {}},
            "versions": {"type": "dict", "default": {}},
            "problems": {"type": "list", "elements": "raw", "default": []},
            "log": {"type": "path"},
            "latest": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    options = dict(module.params)
    path, log, latest = options.pop("path"), options.pop("log"), options.pop("latest")
    try:
        summary = build(Inputs(**options))
        wanted = Wanted(_files(summary, log), latest)
        folder = ReportFolder(path, options["run_id"], wanted, {"summary": summary, "headline": headline(summary)})
    except LayerError as error:
        module.fail_json(**error.as_result())
    exit_with(module, folder, wanted)


if __name__ == "__main__":
    main()
