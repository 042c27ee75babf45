# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One line for each stage on the screen, the whole output in a file."""

from __future__ import annotations

DOCUMENTATION = r"""
name: stages
type: stdout
short_description: One line for each stage of the site, and the whole output in a file
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Shows of each stage of C(site.yml) how long it took, how many tasks changed something, and how much is left if it
    takes as long as the last run that went through.
  - Shows preflight's problems and the verdict of the report as text, and each restart of a machine when it begins.
  - After a failure it shows the task and the messages of the hosts that failed, up to 20 lines.
  - Everything that C(ansible.builtin.default) prints is written to a file.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
requirements:
  - enabled with C(stdout_callback = rocemesh.multinode.stages), or C(ANSIBLE_STDOUT_CALLBACK=rocemesh.multinode.stages)
options:
  log:
    description: File for the whole output. It is written anew by each run.
    type: path
    default: reports/site.log
    env:
      - name: ROCEMESH_LOG
    ini:
      - section: rocemesh
        key: log
  times:
    description: File with the seconds of each stage of the last run that went through.
    type: path
    default: reports/stages.json
    env:
      - name: ROCEMESH_STAGE_TIMES
    ini:
      - section: rocemesh
        key: stage_times
"""

import contextlib  # noqa: E402
import pathlib  # noqa: E402
import time  # noqa: E402
from typing import Any  # noqa: E402

from ansible.plugins.callback import default  # noqa: E402

from ..plugin_utils import stages  # noqa: E402

# Modules that take minutes where a machine starts.
_SLOW = ("rocemesh.multinode.esxi_reboot", "ansible.builtin.wait_for_connection", "ansible.builtin.reboot")
# Messages that the roles of these names show are meant for a person as they are.
_SHOWN = ("rocemesh.multinode.preflight", "rocemesh.multinode.report")
_DEBUG = ("debug", "ansible.builtin.debug")


class _Log:
    """Takes the place of Ansible's display for the default callback: what it prints goes to the file."""

    def __init__(self, display: Any) -> None:
        self._real = display
        self._stream: Any = None

    def open(self, path: pathlib.Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = path.open("w", encoding="utf-8", buffering=1)

    def display(self, msg: str, *_args: Any, newline: bool = True, log_only: bool = False, **_options: Any) -> None:
        if self._stream is not None and not log_only:  # what is for a log alone is said in colour as well
            try:
                self._stream.write(str(msg) + ("\n" if newline else ""))
            except OSError as error:  # a full disk keeps no message from the screen
                self._stream = None
                self._real.warning(f"the whole output ends here: {error}. Set ROCEMESH_LOG to another file.")

    def banner(self, msg: str, *_args: Any, **_options: Any) -> None:
        self.display(f"\n{msg} {'*' * max(3, 119 - len(msg))}")

    def warning(self, msg: Any, *_args: Any, **_options: Any) -> None:
        event = getattr(msg, "event", None)  # ansible-core 2.19 and later hand on a summary
        self.display(f"[WARNING]: {getattr(event, 'msg', msg)}")

    _warning = deprecated = _deprecated = error = _error = warning

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


_Default: Any = default.CallbackModule  # it has no types


class CallbackModule(_Default):  # type: ignore[misc]
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "rocemesh.multinode.stages"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._screen = self._display  # type: ignore[has-type]
        self._display = self._log = _Log(self._screen)
        self._progress = stages.Progress({})

    def _show(self, lines: list[str]) -> None:
        for line in lines:
            self._screen.display(line)

    def _file(self, option: str) -> pathlib.Path:
        return pathlib.Path(str(self.get_option(option)))

    def v2_playbook_on_start(self, playbook: Any) -> None:
        try:
            self._log.open(self._file("log"))
        except OSError as error:
            self._screen.warning(f"the whole output is not written: {error}. Set ROCEMESH_LOG to another file.")
        with contextlib.suppress(OSError, ValueError):
            self._progress = stages.Progress(stages.read_times(self._file("times").read_text(encoding="utf-8")))
        super().v2_playbook_on_start(playbook)

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        super().v2_playbook_on_task_start(task, is_conditional)
        self._show(self._progress.task(task.get_name(), time.monotonic()))

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        super().v2_runner_on_start(host, task)
        if task.action in _SLOW:
            self._show(self._progress.begun(host.get_name(), task.get_name()))

    def v2_runner_on_skipped(self, result: Any) -> None:
        super().v2_runner_on_skipped(result)
        if result._task.action in _SLOW:
            self._show(self._progress.begun(result._host.get_name(), result._task.get_name(), ": not needed"))

    def v2_runner_on_ok(self, result: Any) -> None:
        super().v2_runner_on_ok(result)
        if result._result.get("changed"):
            self._progress.changed()
        role = result._task._role.get_name(include_role_fqcn=True) if result._task._role else ""
        if role in _SHOWN and result._task.action in _DEBUG:
            self._show(stages.text_of(result._result.get("msg")))

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        # A copy: the default callback takes the items of a loop out.
        found = {**result._result, "run_once": result._task.run_once}
        super().v2_runner_on_failed(result, ignore_errors)
        if not ignore_errors:
            self._progress.failed(result._host.get_name(), result._task.get_name(), found)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        super().v2_runner_on_unreachable(result)
        self._progress.failed(result._host.get_name(), result._task.get_name(), result._result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        super().v2_playbook_on_stats(stats)
        lost = [host for host in stats.processed if stats.failures.get(host) or stats.dark.get(host)]
        self._show(self._progress.end(time.monotonic(), lost, str(self._file("log"))))
        if not lost:
            with contextlib.suppress(OSError):
                self._file("times").write_text(self._progress.times(), encoding="utf-8")
