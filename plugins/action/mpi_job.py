"""Action of rocemesh.multinode.mpi_job: start a job on the node, tell how it gets on, bring back all of its output.

The job runs under a supervisor on the node (workloads/checks/job.py); this side only asks it for news. Each question
is one module call that returns when the job has ended or the interval is over, so no worker sits in a busy loop, and a
broken connection costs one question, not the job. Who stops asking (Ctrl-C, SIGKILL, a lost controller) loses the job:
the supervisor ends it.
"""

from __future__ import annotations

import base64
import codecs
import dataclasses
import json
import os
import re
import time
import uuid
from typing import Any, Sequence

from ansible import constants as C
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..module_utils import _yaml_files
from ..module_utils._handoff.job import SECRET
from ..module_utils._results.launch.progress import Progress, describe
from ..modules.mpi_job import DOCUMENTATION
from ..plugin_utils.decision import argument_spec

display = Display()

# Callbacks that write for people, line by line. Any other may be read by a program, and gets no word between its own.
_FOR_PEOPLE = ("default", "minimal", "oneline", "debug", "yaml", "tree", "unixy", "dense", "actionable")
_SUPERVISOR = os.path.join(os.path.dirname(__file__), "..", "..", "workloads", "checks", "job.py")
_PREFIX = "rocemesh-job-"
_MARK = "ROCEMESH_JOB"
_SITE = re.compile(r"^[A-Za-z0-9_.]{1,40}$")
_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun")


class NoAnswerError(Exception):
    """The node ran the question and gave no answer that the supervisor could have given."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__()
        self.result = result


@dataclasses.dataclass
class Output:
    """One stream as it comes: ``at`` bytes have arrived, and their text is in ``parts``."""

    at: int = 0
    parts: list[str] = dataclasses.field(default_factory=list)
    decoder: Any = dataclasses.field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace"))

    def take(self, encoded: str, at: int) -> str:
        text: str = self.decoder.decode(base64.b64decode(encoded))
        self.at = at
        self.parts.append(text)
        return text

    @property
    def text(self) -> str:
        text: str = "".join(self.parts) + self.decoder.decode(b"", final=True)
        return text.rstrip("\r\n")


class Silence:
    """How long a job has printed no new line, by the clock of its host. A connection that was away is no silence: what
    was printed meanwhile comes with the next answer, and counts as printed then."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.seconds = 0.0
        self._last = 0.0

    def hear(self, text: str, seconds: float) -> bool:
        """``text``: what came with an answer ``seconds`` after the start. Whether the limit has passed."""
        if "\n" in text or "\r" in text:
            self._last = seconds
        self.seconds = seconds - self._last
        return bool(self.limit) and self.seconds >= self.limit


def wants_progress(setting: str, callback: str, quiet: bool) -> bool:
    """``callback``: the configured stdout callback, with or without its collection."""
    if setting == "auto":
        return not quiet and callback.rpartition(".")[2] in _FOR_PEOPLE
    return setting == "always"


def with_mark(argv: Sequence[str]) -> list[str]:
    """The command line with which mpirun passes the job's mark on: ranks on other nodes get no environment else.

    Only the first launcher counts, which is the program itself or what ``timeout`` starts.
    """
    words = list(argv)
    for place, word in enumerate(words):
        if os.path.basename(word) in _LAUNCHERS:
            return [*words[: place + 1], "-x", _MARK, *words[place + 1 :]]
        if place == 0 and os.path.basename(word) != "timeout":
            break
    return words


def without_secrets(argv: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Take apart the secrets of ``-x NAME=VALUE``, which ps shows: mpirun passes on its own value of ``-x NAME``."""
    words, secrets = list(argv), {}
    for place, word in enumerate(words):
        name, given, value = word.partition("=")
        if given and words[place - 1] == "-x" and SECRET.search(name):
            words[place], secrets[name] = name, value
    return words, secrets


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        self._task_vars = task_vars or {}
        spec = argument_spec(_yaml_files.parsed(DOCUMENTATION)["options"])
        _validation, options = self.validate_argument_spec(argument_spec=spec)  # type: ignore[no-untyped-call]
        for name, least in (("interval", 1), ("orphan_after", 10)):
            if options[name] < least:
                return {**result, "failed": True, "msg": f"{name} is {options[name]}; at least {least} is needed"}
        if options["site"] and not _SITE.match(options["site"]):
            return {
                **result,
                "failed": True,
                "msg": f"site is {options['site']!r}; give letters, digits, _ and . only, 40 at most",
            }
        if bool(options["argv"]) == bool(options["job"]):
            return {**result, "failed": True, "msg": "give argv to start a job, or job to end one that was kept"}
        if self._task.check_mode:
            return {**result, "changed": False, "skipped": True, "msg": "check mode: not started"}
        self._options = options
        with open(_SUPERVISOR, encoding="utf-8") as stream:
            self._supervisor = stream.read()
        site = options["site"] + "-" if options["site"] else ""
        if options["job"]:
            self._folder = options["job"]
            return {**result, **self._kept()}
        self._folder = os.path.join(options["directory"], _PREFIX + site + uuid.uuid4().hex)
        return {**result, **self._job()}

    # ------------------------------------------------------------------------------------------------------ job

    def _job(self) -> dict[str, Any]:
        options = self._options
        waiting = [str(options["orphan_after"]), str(options["interval"])]
        out, err = Output(), Output()
        progress, silence, seconds = Progress(), Silence(options["stall_limit"]), 0.0
        last = ""
        ended = False
        parent = os.getppid()
        try:
            answer = self._ask(["start", self._folder, *waiting, *with_mark(options["argv"])], patient=False)
            while True:
                seconds = float(answer["seconds"])
                text = out.take(answer["out"], answer["out_at"])
                progress.feed(text, seconds)
                stalled = silence.hear(text + err.take(answer["err"], answer["err_at"]), seconds)
                if answer["state"] != "running" and not answer["more"]:
                    ended = True
                    return self._outcome(answer, out, err)
                if stalled and not answer["more"]:
                    if not options["stall_keep"]:
                        return self._stalled(silence, self._end_and_read(out, err))
                    # The question moves the time after which the supervisor ends a job that no controller asks for.
                    keeping = [str(options["stall_keep"]), "0"]
                    answer = self._ask(["wait", self._folder, *keeping, str(out.at), str(err.at)], patient=True)
                    if answer["state"] == "running" and not answer["out"] and not answer["err"]:
                        ended = True
                        return self._stalled(silence, {"stdout": out.text, "stderr": err.text, "folder": self._folder})
                    continue
                line = describe(progress, seconds, options["expected"], options["limit"])
                if answer["state"] == "running" and line != last:
                    self._tell(line)
                    last = line
                if os.getppid() != parent:
                    # ansible-playbook was killed and left this worker behind: no process takes the result.
                    raise AnsibleError(f"{self._name}: the run that started this job is gone")
                answer = self._ask(["wait", self._folder, *waiting, str(out.at), str(err.at)], patient=True)
        except NoAnswerError as error:
            return {**error.result, "changed": False, "stdout": out.text, "stderr": err.text or _said(error.result)}
        finally:
            # Reached with an exception only (a task timeout, an interrupt, a connection that stays away). Where even
            # this cannot be said any more, the supervisor ends the job by itself.
            if not ended:
                self._end()

    def _stalled(self, silence: Silence, found: dict[str, Any]) -> dict[str, Any]:
        keep = self._options["stall_keep"]
        then = f"It lives for {keep} s more, or until a task ends it (option job)" if keep else "It was ended"
        return {
            **found,
            "failed": True,
            "changed": False,
            "stalled": True,
            "silent": round(silence.seconds, 1),
            "msg": f"{self._name}: no new line of output for {silence.seconds:.0f} s on {self._place} (stall_limit is "
            f"{silence.limit:g} s). {then}.",
        }

    def _kept(self) -> dict[str, Any]:
        """Ends a job that an earlier task kept; being ended is no failure of it."""
        try:
            return {**self._end_and_read(Output(), Output()), "changed": True}
        except NoAnswerError as error:
            return {**error.result, "changed": False}

    def _end_and_read(self, out: Output, err: Output) -> dict[str, Any]:
        self._on_node([self._options["python"], "-c", self._supervisor, "end", self._folder])
        while True:
            # 10: at least one more question is needed if there is much to read.
            answer = self._ask(["wait", self._folder, "10", "30", str(out.at), str(err.at)], patient=True)
            out.take(answer["out"], answer["out_at"])
            err.take(answer["err"], answer["err_at"])
            if answer["state"] == "running":
                said = f"{self._name}: the job on {self._place} does not end, {self._folder} is held"
                return {"failed": True, "stdout": out.text, "stderr": err.text, "msg": said}
            if not answer["more"]:
                found = self._outcome(answer, out, err)
                return found if answer["state"] == "lost" else {**found, "failed": False, "msg": "ended"}

    def _outcome(self, answer: dict[str, Any], out: Output, err: Output) -> dict[str, Any]:
        code = answer["rc"]
        found: dict[str, Any] = {
            "changed": False,
            "stdout": out.text,
            "stderr": err.text,
            "stdout_lines": out.text.splitlines(),
            "stderr_lines": err.text.splitlines(),
            "seconds": round(float(answer["seconds"]), 3),
            "folder": self._folder,
        }
        if answer["state"] == "lost":
            why = answer.get("why") or "it left no word: killed, or the machine was out of memory"
            return {
                **found,
                "failed": True,
                "msg": f"{self._name}: the supervisor of the job ended before the job ({why}). "
                f"What the job had printed is in {self._folder} on {self._place}.",
            }
        found["rc"] = code
        if answer["orphaned"]:
            found["failed"] = True
            found["msg"] = (
                f"{self._name}: the job was ended because no controller had asked for it for "
                f"{self._options['orphan_after']} s (the connection to {self._host} was away that long). "
                "Raise orphan_after if that may happen."
            )
        elif code:
            found["failed"] = True
            found["msg"] = f"{self._name}: non-zero return code {code} on {self._place}"
        return found

    # ---------------------------------------------------------------------------------------------- conversation

    @property
    def _name(self) -> str:
        return str(self._options["name"])

    @property
    def _host(self) -> str:
        return str(self._task_vars.get("inventory_hostname", "the host"))

    @property
    def _place(self) -> str:
        container = self._options["container"]
        return f"{self._host}, container {container}" if container else self._host

    def _tell(self, line: str) -> None:
        callback = str(C.config.get_config_value("DEFAULT_STDOUT_CALLBACK"))
        if wants_progress(self._options["progress"], callback, bool(self._task.no_log)):
            display.display(f"[{self._host}] {self._name}: {line}")

    def _ask(self, words: Sequence[str], patient: bool) -> dict[str, Any]:
        """One question to the supervisor. Patient: a connection that is away is waited for, as long as the job is."""
        since, limit = time.monotonic(), self._options["orphan_after"]
        while True:
            try:
                return self._answer(self._on_node([self._options["python"], "-c", self._supervisor, *words]))
            except AnsibleConnectionFailure as error:
                if not patient:
                    raise
                if time.monotonic() - since > limit:
                    # Not unreachable: no rescue would see that, and what was printed so far has to be saved.
                    said = f"{self._name}: no connection to {self._place} for {limit} s ({error}). Its supervisor ends "
                    said += f"the job; what it printed since is in {self._folder} there."
                    raise NoAnswerError({"failed": True, "msg": said}) from error
                display.vvv(f"{self._name}: no connection to {self._host} ({error}); asking again")
                time.sleep(min(1.0, self._options["interval"]))

    def _on_node(self, argv: list[str]) -> dict[str, Any]:
        if self._options["container"]:
            module = "community.docker.docker_container_exec"
            argv, secrets = without_secrets(argv)
            arguments: dict[str, Any] = {"container": self._options["container"], "argv": argv, "env": secrets}
        else:
            module, arguments = "ansible.legacy.command", {"argv": argv}
        result: dict[str, Any] = self._execute_module(
            module_name=module, module_args=arguments, task_vars=self._task_vars
        )
        return result

    def _answer(self, result: dict[str, Any]) -> dict[str, Any]:
        if not result.get("failed") and result.get("rc", 0) == 0:
            try:
                answer: Any = json.loads(result.get("stdout", ""))
            except ValueError:
                answer = None
            if isinstance(answer, dict) and "state" in answer:
                return answer
        kept: dict[str, Any] = {key: result[key] for key in ("rc", "stderr", "exception") if key in result}
        # The code is that of the question, not of the job: it must not be taken for mpirun's.
        code = kept.pop("rc", None)
        what = result.get("msg") or f"status {code}: {_said(result)}"
        raise NoAnswerError(
            {**kept, "failed": True, "msg": f"{self._name}: no answer from the supervisor on {self._place}: {what}"}
        )

    def _end(self) -> None:
        try:
            self._on_node([self._options["python"], "-c", self._supervisor, "end", self._folder])
        except Exception as error:
            # Nothing to add to the failure that brought us here; the supervisor ends the job when its time is over.
            display.vvv(f"{self._name}: could not end the job on {self._host} at once: {error}")


def _said(result: dict[str, Any]) -> str:
    return str(result.get("stderr") or result.get("stdout") or result.get("msg") or "").strip()[-600:]
