# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conversation of mpi_job with its supervisor: what a broken connection or a strange answer does to it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.rocemesh.multinode.plugins.action import mpi_job
from ansible_collections.rocemesh.multinode.plugins.action.mpi_job import ActionModule, Output


def answer(state: str, text: bytes, at: int, **more: Any) -> dict[str, Any]:
    said = {"state": state, "rc": None, "orphaned": False, "why": None, "seconds": 1.0, "err": "", "err_at": 0}
    said.update({"out": base64.b64encode(text).decode(), "out_at": at, "more": False, **more})
    return {"rc": 0, "stdout": json.dumps(said)}


class Talk(ActionModule):
    """Asks a list of answers instead of a host; an exception in it is raised."""

    def __init__(self, answers: list[Any], **options: Any) -> None:
        self.answers, self.asked = list(answers), []
        self._options = {
            "name": "train",
            "container": "mpicont",
            "python": "python3",
            "argv": ["mpirun"],
            "interval": 1,
            "orphan_after": 60,
            "expected": 0.0,
            "limit": 0,
            "progress": "never",
            **options,
        }
        self._task_vars = {"inventory_hostname": "gpu01"}
        self._folder, self._supervisor = "/tmp/rocemesh-job-x", "SUPERVISOR"

    def _on_node(self, argv: list[str]) -> dict[str, Any]:
        self.asked.append(argv[3:])
        if argv[3] == "end":
            return {"rc": 0, "stdout": "{}"}
        said = self.answers.pop(0)
        if isinstance(said, Exception):
            raise said
        result: dict[str, Any] = said
        return result

    def _tell(self, line: str) -> None:
        pass


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpi_job.time, "sleep", lambda _seconds: None)


def test_a_broken_connection_costs_one_question_and_not_the_job() -> None:
    lost = AnsibleConnectionFailure("no route to host")
    talk = Talk([answer("running", b"one\n", 4), lost, lost, answer("ended", b"two\n", 8, rc=0)])
    result = talk._job()
    assert (result["rc"], result["stdout"]) == (0, "one\ntwo")
    assert [words[0] for words in talk.asked] == ["start", "wait", "wait", "wait"]
    assert {tuple(words[-2:]) for words in talk.asked[1:]} == {("4", "0")}, "output was skipped or asked for twice"


def test_a_connection_that_stays_away_ends_the_task_and_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 30))
    monkeypatch.setattr(mpi_job.time, "monotonic", lambda: next(clock))
    talk = Talk([answer("running", b"", 0), *[AnsibleConnectionFailure("gone")] * 9])
    with pytest.raises(AnsibleConnectionFailure):
        talk._job()
    assert talk.asked[-1] == ["end", "/tmp/rocemesh-job-x"]


def test_a_start_that_may_have_happened_is_not_repeated() -> None:
    talk = Talk([AnsibleConnectionFailure("gone"), answer("ended", b"", 0, rc=0)])
    with pytest.raises(AnsibleConnectionFailure):
        talk._job()
    assert [words[0] for words in talk.asked] == ["start", "end"]


@pytest.mark.parametrize(
    "said",
    [
        {"rc": 127, "stdout": "", "stderr": "python3: not found"},
        {"rc": 0, "stdout": "Welcome to this container"},
        {"rc": 0, "stdout": "[1, 2]"},
        {"failed": True, "msg": 'Could not find container "mpicont"'},
    ],
    ids=["no_python", "banner", "other_json", "no_container"],
)
def test_a_strange_answer_is_a_failure_that_shows_it_and_keeps_the_output_so_far(said: dict[str, Any]) -> None:
    talk = Talk([answer("running", b"so far\n", 7), said])
    result = talk._job()
    assert result["failed"]
    assert "rc" not in result, "the status of the question would be taken for that of mpirun"
    assert "train" in result["msg"] and "gpu01, container mpicont" in result["msg"]
    assert (said.get("msg") or said.get("stderr") or said["stdout"]) in result["msg"]
    assert result["stdout"] == "so far"
    assert talk.asked[-1][0] == "end"


def test_a_supervisor_that_died_is_told_with_where_the_output_lies() -> None:
    result = Talk([answer("lost", b"half", 4)])._job()
    assert result["failed"]
    assert "rc" not in result
    assert "/tmp/rocemesh-job-x on gpu01" in result["msg"]


def test_a_job_that_was_ended_as_an_orphan_names_the_option() -> None:
    result = Talk([answer("ended", b"", 0, rc=143, orphaned=True)])._job()
    assert result["failed"]
    assert "orphan_after" in result["msg"] and "60 s" in result["msg"]


def test_a_worker_whose_playbook_is_gone_ends_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = iter([100, 1])
    monkeypatch.setattr(mpi_job.os, "getppid", lambda: next(parents))
    talk = Talk([answer("running", b"", 0)])
    with pytest.raises(Exception, match="gone"):
        talk._job()
    assert [words[0] for words in talk.asked] == ["start", "end"]


def test_characters_that_are_cut_by_two_answers_arrive_whole() -> None:
    output = Output()
    raw = "ä\u2028€".encode()
    for at in range(len(raw)):
        output.take(base64.b64encode(raw[at : at + 1]).decode(), at + 1)
    assert output.text == "ä\u2028€"
