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
            "stall_limit": 0,
            "stall_keep": 0,
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


def test_a_connection_that_stays_away_ends_the_job_and_keeps_its_output(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 30))
    monkeypatch.setattr(mpi_job.time, "monotonic", lambda: next(clock))
    talk = Talk([answer("running", b"step 1\n", 7), *[AnsibleConnectionFailure("gone")] * 9])
    result = talk._job()
    assert result["failed"] and "rc" not in result and result["stdout"] == "step 1"
    assert "gpu01" in result["msg"] and "/tmp/rocemesh-job-x" in result["msg"] and "(gone)" in result["msg"]
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


def quiet(seconds: float, text: bytes = b"", at: int = 0, **more: Any) -> dict[str, Any]:
    return answer("running", text, at, seconds=seconds, **more)


def test_a_job_that_prints_nothing_any_more_is_ended_and_all_that_it_says_then_is_returned() -> None:
    """Its silence counts from its last line by the clock of its host."""
    said = [quiet(1, b"step 1\n", 7), quiet(29, b"half a line", 18), quiet(30.9, b"", 18), quiet(31, b"", 18)]
    last = answer("ended", b"\nended by signal 15\n", 38, rc=143)
    talk = Talk([*said, last], stall_limit=30)
    result = talk._job()
    assert (result["failed"], result["stalled"], result["silent"], result["rc"]) == (True, True, 30.0, 143)
    assert "no new line of output for 30 s on gpu01, container mpicont" in result["msg"] and "ended" in result["msg"]
    assert result["stdout"] == "step 1\nhalf a line\nended by signal 15"
    assert [words[0] for words in talk.asked][:5] == ["start", "wait", "wait", "wait", "end"]


def test_what_was_printed_while_the_connection_was_away_is_no_silence() -> None:
    said = [quiet(1), AnsibleConnectionFailure("gone"), quiet(500, b"step 9\n", 7), answer("ended", b"", 7, rc=0)]
    assert Talk(said, stall_limit=30)._job()["rc"] == 0


def test_words_on_standard_error_are_a_sign_of_life() -> None:
    alive = base64.b64encode(b"warning\n").decode()
    said = [quiet(1), quiet(40, err=alive, err_at=8), answer("ended", b"", 0, rc=0, seconds=41.0)]
    assert Talk([said[0], {**said[1]}, said[2]], stall_limit=39)._job()["rc"] == 0


def test_a_job_without_a_limit_may_be_silent_for_ever() -> None:
    assert Talk([quiet(1), quiet(1e6), answer("ended", b"", 0, rc=0)])._job()["rc"] == 0


def test_a_kept_job_lives_and_has_the_time_that_was_asked_for() -> None:
    talk = Talk([quiet(1, b"step 1\n", 7), quiet(40, b"", 7), quiet(40, b"", 7)], stall_limit=30, stall_keep=120)
    result = talk._job()
    assert (result["stalled"], result["folder"], result["stdout"]) == (True, "/tmp/rocemesh-job-x", "step 1")
    assert "rc" not in result, "it has not ended"
    assert talk.asked[-1] == ["wait", "/tmp/rocemesh-job-x", "120", "0", "7", "0"]


def test_a_job_that_speaks_or_ends_at_the_last_question_was_not_stuck() -> None:
    said = [quiet(1), quiet(40), quiet(40.1, b"step 2\n", 7), answer("ended", b"", 7, rc=0, seconds=41.0)]
    assert Talk(said, stall_limit=30, stall_keep=120)._job()["rc"] == 0
    assert Talk([quiet(1), quiet(40), answer("ended", b"", 0, rc=0)], stall_limit=30, stall_keep=9)._job()["rc"] == 0


def test_ending_a_kept_job_returns_all_of_its_output_and_is_no_failure() -> None:
    whole = [answer("ended", b"one\n", 4, rc=143, more=True), answer("ended", b"two\n", 8, rc=143)]
    talk = Talk(whole, job="/tmp/rocemesh-job-x")
    result = talk._kept()
    assert (result["failed"], result["rc"], result["stdout"]) == (False, 143, "one\ntwo")
    assert [words[0] for words in talk.asked] == ["end", "wait", "wait"]


def test_a_kept_job_that_does_not_end_is_a_failure_without_a_status() -> None:
    result = Talk([answer("running", b"", 0)], job="/tmp/rocemesh-job-x")._kept()
    assert result["failed"] and "rc" not in result and "does not end" in result["msg"]
