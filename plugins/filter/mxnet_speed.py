# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: speed lines of MXNet, a log or DLPerf's tree of logs, read and judged."""

from __future__ import annotations

DOCUMENTATION = r"""
name: mxnet_speed
short_description: Read speed logs of MXNet, one log or DLPerf's tree of logs
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Of one log (MXNet, gluon-cv or MLPerf form) gives the statistics of its windows. Windows that are not a number are
    counted and left out; several ranks or nodes that each print a speed are neither added nor averaged.
  - Of a folder C(<nodes>n<gpus>g/<model>_b<batch>_<precision>_<run>.log) gives DLPerf's scaling table by DLPerf's rule,
    with its JSON keys. Of each run exactly O(windows) windows of epoch 0, without the first O(dropped), are averaged;
    the figure of a case is the median of its runs; the speed-up is against 1n1g.
  - Also gives the efficiency against one GPU and against one full node. Runs that are missing or unusable are named and
    left out.
  - The text that DLPerf's extractor printed is read as well.
  - A log may be of any size; it is read in constant memory. An empty log, a binary file or the log of another program
    is no error but a result with C(ok) false and the problem C(no_result), which names what was found.
positional: _input, repeats
options:
  _input:
    description: >-
      The text of the log, or the absolute path of a log on the controller (one line that begins with a slash is a
      path). The absolute path of a folder, or a dictionary of path inside the tree to text, is a tree.
    type: raw
    required: true
  repeats:
    description: How many runs each case was to have. Left out, as many as the fullest case has.
    type: int
  windows:
    description: Windows of epoch 0 that a run must have, no more and no less.
    type: int
    default: 120
  dropped:
    description: How many of them are the warm-up and not counted.
    type: int
    default: 20
notes:
  - Runs on the controller. Reads nothing but the log.
seealso:
  - plugin: rocemesh.multinode.mxnet_perf_tables
    plugin_type: filter
  - plugin: rocemesh.multinode.tf_cnn_log
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Write the table of a tree of logs as DLPerf does
  ansible.builtin.copy:
    content: "{{ ('/srv/logs/bz128' | rocemesh.multinode.mxnet_speed(repeats=5)).result | to_json }}"
    dest: bz128_result.json
    mode: "0644"
"""

RETURN = r"""
_value:
  description: >-
    C(kind) (C(log), C(tree) or C(printed)), C(ok), C(problems) (list of C(code), C(message)). Of a log C(sources) (per
    rank or node C(windows), C(samples_per_second) (count, mean, median, min, max, relative_spread), C(slow_windows)),
    C(figure) (DLPerf's figure of the run, null if its rule does not apply), C(windows_of_first_epoch),
    C(lines_without_speed), C(epochs), C(mlperf). Of a tree or a printed table C(result) (DLPerf's JSON of the only
    group), C(groups) (per model, batch size and precision C(result) and C(cases) with C(runs), C(average_speed),
    C(median_speed), C(relative_spread), C(speedup), C(efficiency) (C(one_gpu), C(one_node))), C(ignored).
  type: dict
"""

import functools
import os
from typing import Any, Callable, Mapping

from ansible.errors import AnsibleFilterError

from ..module_utils._results.readers.mxnet_scaling import read_printed, read_tree, tree_files
from ..module_utils._results.readers.mxnet_speed import DROPPED, WINDOWS, read
from ..module_utils._results.readers.reading import is_path, pieces
from ..plugin_utils.log_filter import count, read_log


def mxnet_speed(log: Any, repeats: int | None = None, windows: int = WINDOWS, dropped: int = DROPPED) -> dict[str, Any]:
    wanted = count("mxnet_speed", "repeats", repeats)
    total = count("mxnet_speed", "windows", windows) or WINDOWS
    if isinstance(dropped, bool) or not str(dropped).isdigit() or int(dropped) >= total:
        raise AnsibleFilterError(f"mxnet_speed: dropped {dropped!r} must be 0 or more and less than windows ({total})")
    skipped = int(dropped)
    if isinstance(log, Mapping):
        if not all(isinstance(text, (str, bytes)) for text in log.values()):
            raise AnsibleFilterError("mxnet_speed: a tree is a dictionary of path to text")
        files = [(str(path), functools.partial(pieces, text)) for path, text in log.items()]
        return {"kind": "tree", **read_tree(files, wanted, total, skipped).as_dict()}
    if isinstance(log, str) and is_path(log) and os.path.isdir(log):
        tree = read_log("mxnet_speed", log, lambda _source: read_tree(tree_files(log), wanted, total, skipped))
        return {"kind": "tree", **tree.as_dict()}
    found = read_log("mxnet_speed", log, lambda source: read(source, total, skipped))
    if not found.sources and not found.mlperf:
        printed = read_log("mxnet_speed", log, lambda source: read_printed(source, wanted))
        if printed.groups:
            return {"kind": "printed", **printed.as_dict()}
    return {"kind": "log", **found.as_dict()}


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"mxnet_speed": mxnet_speed}
