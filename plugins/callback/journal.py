# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run changed, written while it changes it; what a run in check mode would change; drift."""

from __future__ import annotations

DOCUMENTATION = r"""
name: journal
type: aggregate
short_description: Write what each run changed, and how to take it back
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Writes one file of JSON lines for each run in which a task of this collection changes something, for example
    C(reports/journal/20261123T101500Z-4f2a.jsonl). Its first line says who ran what; a line for each change says what
    was there before, what was done, what is there now, how to take it back, and which restart waits; its last line says
    how the run ended. A run without a last line was killed.
  - Each line is on the disk before the next task starts.
  - A run in check mode writes what it would change, to C(…-plan.jsonl).
  - At the end of the run one HTML page with the same content is written beside it.
  - After the playbook C(drift.yml) it writes C(drift.json) and ends C(ansible-playbook) with 0 (right), 2 (differs) or
    3 (not readable).
  - Arguments of tasks, values of variables and output of commands are not written.
  - A journal that cannot be written is a warning, and does not stop the run.
requirements:
  - enabled with C(callbacks_enabled = rocemesh.multinode.journal), as the C(ansible.cfg) of this repository does
options:
  directory:
    description: Folder of the journal on the controller.
    type: path
    default: reports/journal
    env:
      - name: ROCEMESH_JOURNAL
    ini:
      - section: rocemesh
        key: journal
  drift:
    description: Where the playbook C(drift.yml) writes its answer as JSON.
    type: path
    default: reports/drift.json
    env:
      - name: ROCEMESH_DRIFT
    ini:
      - section: rocemesh
        key: drift
  textfile:
    description:
      - Where the playbook C(drift.yml) writes its answer as metrics, a file F(*.prom) in the folder of node_exporter's
        textfile collector.
      - Not written if this is not set.
    type: path
    env:
      - name: ROCEMESH_DRIFT_TEXTFILE
    ini:
      - section: rocemesh
        key: drift_textfile
"""

import atexit  # noqa: E402
import contextlib  # noqa: E402
import datetime  # noqa: E402
import getpass  # noqa: E402
import hashlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import pathlib  # noqa: E402
import secrets  # noqa: E402
import socket  # noqa: E402
import subprocess  # noqa: E402
import time  # noqa: E402
from typing import Any, Iterable  # noqa: E402

import yaml  # noqa: E402
from ansible import constants, context  # noqa: E402
from ansible.errors import AnsibleError  # noqa: E402
from ansible.module_utils.parsing.convert_bool import boolean  # noqa: E402
from ansible.plugins.callback import CallbackBase  # noqa: E402

from ..module_utils._layer import write_whole  # noqa: E402
from ..plugin_utils import journal, journal_file, planned  # noqa: E402

DRIFT = "drift.yml"
COMPARISON = "comparison"
# Of what the playbook compares itself: the role to which it belongs.
LAYER = "__drift_layer"
_HOME = pathlib.Path(__file__).resolve().parents[2]


class CallbackModule(CallbackBase):
    """The file is made with the first change: a run that changes nothing leaves none."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "rocemesh.multinode.journal"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._begin: dict[str, Any] = {}
        self._said: list[dict[str, Any]] = []
        self._said_of: dict[str, list[dict[str, Any]]] = {}  # the same by host: each new entry is compared with these
        self._asked: dict[str, set[str]] = {}
        self._file: pathlib.Path | None = None
        self._refused = False
        self._drift = False
        self._check = False
        self._ended = False

    def v2_playbook_on_start(self, playbook: Any) -> None:
        atexit.register(self._cut_short)
        now = datetime.datetime.now(datetime.timezone.utc)
        self._check = bool(context.CLIARGS.get("check"))
        self._drift = self._check and os.path.basename(str(playbook._file_name)) == DRIFT
        self._begin = {
            "kind": "begin",
            "schema": journal.SCHEMA,
            "run": f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}",
            "time": now.isoformat(timespec="seconds"),
            "check_mode": self._check,
            "simulated": False,
            "playbook": os.path.basename(str(playbook._file_name)),
            "account": _account(),
            "controller": socket.gethostname(),
            "version": _version(),
            "commit": _commit(),
            "limit": context.CLIARGS.get("subset") or "",
            "tags": sorted(context.CLIARGS.get("tags") or ()),
            "skip_tags": sorted(context.CLIARGS.get("skip_tags") or ()),
            "inventory": [os.path.basename(str(each).rstrip("/")) for each in context.CLIARGS.get("inventory") or ()],
            "inventory_sha256": "",
        }

    def v2_playbook_on_play_start(self, play: Any) -> None:
        manager = play.get_variable_manager()
        if self._begin["inventory_sha256"] or manager is None:
            return
        inventory = manager._inventory
        self._begin["inventory_sha256"] = _hash(getattr(inventory, "_sources", ()))
        for host in inventory.get_hosts(ignore_limits=True, ignore_restrictions=True)[:1]:
            with contextlib.suppress(AnsibleError):  # a vault without its password: the play says so
                simulated = manager.get_vars(host=host).get("rocemesh_simulated", False)
                self._begin["simulated"] = boolean(simulated, strict=False)

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        """The task writes its plan into the file before it changes anything. A file of nothing else goes at the end."""
        if self._check or task.check_mode is True or self._file is not None:
            return
        if _about(task, host).action.removeprefix(journal.COLLECTION) in journal.RESTORED:
            self._record()

    def v2_runner_on_ok(self, result: Any) -> None:
        self._take(result, failed=False)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        if not ignore_errors:
            self._take(result, failed=True)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        if not self._check:  # what a loop had changed before
            self._take(result, failed=False)
        task = _about(result._task, result._host)
        if task.ours:
            self._write([journal.unreachable(task, result._result)])

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._ended = True
        if self._said:
            hosts = {host: stats.summarize(host) for host in sorted(stats.processed)}
            failed = any(each["failures"] or each["unreachable"] for each in hosts.values())
            self._write([{"kind": "end", "status": "failed" if failed else "ok", "hosts": hosts}])
            self._finish()
        elif self._file is not None:
            self._file.unlink(missing_ok=True)
        if self._drift:
            self._answer()

    def _take(self, result: Any, failed: bool) -> None:
        task = _about(result._task, result._host)
        if not task.ours:
            return
        if task.layer:
            self._asked.setdefault(task.layer, set()).update(journal.asked(task, result._result))
        # A reading of what would change, in a run that changes things elsewhere. A task that decides it by a template
        # says itself that it changed nothing.
        if not self._check and result._task.check_mode is True:
            return
        # A comparison with other values than the wanted ones: no plan.
        if COMPARISON in result._task.tags:
            return
        self._write(journal.entries(task, result._result, failed, plan=self._check, drift=self._drift))

    def _write(self, said: Iterable[dict[str, Any]]) -> None:
        for entry in said:
            # Each reading of a device says again what waits, and in check mode what would change.
            before = self._said_of.setdefault(entry.get("host", ""), [])
            if any(journal.says_nothing_new(entry, other, self._check) for other in before):
                continue
            before.append(entry)
            self._said.append(entry)
            self._record(entry)

    def _record(self, *entries: dict[str, Any]) -> None:
        if not self._refused:
            try:
                self._append(*entries)
            except OSError as error:
                self._refused = True
                self._display.warning(f"the journal is not written: {error}. Set ROCEMESH_JOURNAL to another folder.")

    def _append(self, *entries: dict[str, Any]) -> None:
        lines = list(entries)
        if self._file is None:
            folder = pathlib.Path(self._place("directory"))
            folder.mkdir(mode=0o750, parents=True, exist_ok=True)
            self._file = folder / f"{self._begin['run']}{'-plan' if self._check else ''}.jsonl"
            lines.insert(0, self._begin)
            os.environ[planned.JOURNAL] = str(self._file.absolute())
        journal_file.append(self._file, *lines)

    def _finish(self) -> None:
        if self._file is None or self._refused:
            return
        lines = [json.loads(line) for line in self._file.read_text(encoding="utf-8").splitlines()]
        _replace(self._file.with_suffix(".html"), journal.page(lines))
        self._say(f"{'Plan' if self._check else 'Journal'}: {self._file}")

    def _cut_short(self) -> None:
        """After Ctrl-C ansible-core calls no callback."""
        if self._ended or self._check or not self._begin.get("inventory_sha256"):
            return
        recorded = f"Journal of what was changed: {self._file}." if self._file else "No change was recorded."
        self._say(
            f"Interrupted. {recorded} What had begun on a device goes on there: a boot, a shutdown, a maintenance mode,"
            " an apt. Give the same command again: it ends a maintenance mode of this run, or says whose it may be."
        )

    def _say(self, text: str) -> None:
        """Where another callback prints for programs, nothing else may stand beside it."""
        self._display.display(text, stderr="json" in str(getattr(constants, "DEFAULT_STDOUT_CALLBACK", "")))

    def _place(self, option: str) -> str:
        return str(self.get_option(option) or "")  # type: ignore[no-untyped-call]

    def _answer(self) -> None:
        found = journal.drift(self._said, {layer: sorted(hosts) for layer, hosts in self._asked.items()}, self._begin)
        text = json.dumps(found, indent=2, ensure_ascii=False, default=str)
        _replace(pathlib.Path(self._place("drift")), text + "\n")
        if textfile := self._place("textfile"):
            _replace(pathlib.Path(textfile), journal.metrics(found, time.time()))
        for row in found["drift"]:
            where = " ".join(part for part in (row["host"], row["layer"], row["device"]) if part)
            self._say(f"{where}: {row['state']}: {'; '.join(row['what'])}")
        simulated = " (SIMULATED)" if found["simulated"] else ""
        self._say(f"Drift: {found['verdict']}{simulated}, {len(found['drift'])} differences, {self._place('drift')}")
        raise SystemExit(journal.status(self._said))


def _about(task: Any, host: Any) -> journal.Task:
    role = task._role.get_name(include_role_fqcn=True) if task._role else str(task.get_vars().get(LAYER, ""))
    return journal.task_of(task, role if role.startswith(journal.COLLECTION) else "", host.get_name())


def _replace(path: pathlib.Path, text: str) -> None:
    """Readable for all, as node_exporter has an account of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(str(path), text)


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _version() -> str:
    manifest, source = _HOME / "MANIFEST.json", _HOME / "galaxy.yml"
    if manifest.is_file():
        return str(json.loads(manifest.read_text())["collection_info"]["version"])
    return str(yaml.safe_load(source.read_text())["version"]) if source.is_file() else ""


def _commit() -> str:
    """Of a checkout; an installed collection has none."""
    if not (_HOME / ".git").exists():
        return ""
    try:
        asked = subprocess.run(
            ["git", "-C", str(_HOME), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return asked.stdout.strip()


def _hash(sources: Iterable[Any]) -> str:
    """Of the names and contents of all files of the inventory: whether two runs had the same one."""
    total = hashlib.sha256()
    for source in map(pathlib.Path, map(str, sources)):
        files = [source] if source.is_file() else sorted(path for path in source.rglob("*") if path.is_file())
        for path in files:
            total.update(f"{path.relative_to(source.parent)}\0".encode())
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
