"""What the user is told while a job runs: right stage, right sum over the ranks, an honest guess of the end."""

from __future__ import annotations

import json

import pytest
from ansible_collections.rocemesh.multinode.plugins.action.mpi_job import wants_progress
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.progress import (
    Progress,
    clock,
    describe,
)
from hypothesis import given
from hypothesis import strategies as st


def step(rank: int, number: int, speed: float) -> str:
    return f"[1,{rank}]<stdout>:{number}\timages/sec: {speed} +/- 0.0 (jitter = 0.0)\t7.000\n"


def marked(**said: object) -> str:
    return "[1,0]<stdout>:ROCEMESH-PROGRESS " + json.dumps(said) + "\n"


HEAD = "[1,0]<stdout>:Num batches: 100\n[1,0]<stdout>:Running warm up\n"


def test_a_job_goes_from_starting_to_warm_up_to_training_to_its_end() -> None:
    progress = Progress()
    assert describe(progress, 3) == "starting, 0:03"
    progress.feed(HEAD, 5)
    assert describe(progress, 8, expected=90, limit=600) == "warm-up, 0:08 of about 1:30 (as the last time)"
    assert describe(progress, 8, limit=600) == "warm-up, 0:08 (at most 10:00)"
    progress.feed("[1,0]<stdout>:Done warm up\n", 10)
    progress.feed(step(0, 50, 10.5) + step(1, 50, 11.0), 30)
    assert describe(progress, 30, expected=90) == "training 50/100, 0:30 of about 0:50, 21.5 images/s (2 ranks)"
    progress.feed("[1,0]<stdout>:total images/sec: 21.00\n", 50)
    assert describe(progress, 50).startswith("ending")
    assert progress.images_per_second == 21.0


def test_the_speed_is_the_sum_of_what_each_rank_said_last() -> None:
    progress = Progress()
    progress.feed(step(0, 1, 1.0) + step(1, 1, 2.0) + step(0, 10, 5.0), 1)
    assert (progress.images_per_second, progress.ranks) == (7.0, 2)


def test_totals_are_not_added_up() -> None:
    progress = Progress()
    progress.feed("".join(f"[1,{rank}]<stdout>:total images/sec: 100.00\n" for rank in range(4)), 1)
    assert progress.images_per_second == 100.0


def test_a_late_rank_does_not_set_the_work_back() -> None:
    progress = Progress()
    progress.feed(HEAD + "[1,0]<stdout>:Done warm up\n" + step(0, 20, 1.0) + step(1, 10, 1.0), 10)
    assert progress.done == 20


def test_the_guess_does_not_run_away_between_two_lines() -> None:
    progress = Progress()
    progress.feed(HEAD + "[1,0]<stdout>:Done warm up\n", 0)
    progress.feed(step(0, 10, 1.0), 10)
    assert progress.remaining(10) == 90
    assert progress.remaining(15) == 85
    assert progress.remaining(500) == 0


def test_benchmarks_say_their_stage_themselves() -> None:
    progress = Progress()
    progress.feed(marked(stage="scoring", what="a", done=1, of=4, img_s=12.5), 10)
    progress.feed(marked(stage="scoring", what="resnet50 b32", done=3, of=4, img_s=13.0), 30)
    assert describe(progress, 30) == "scoring 3/4 (resnet50 b32), 0:30 of about 0:37, 13.0 images/s"
    progress.feed(marked(stage="training", done=0, of=4), 40)
    assert describe(progress, 41) == "training 0/4, 0:41"


@pytest.mark.parametrize(
    "line",
    ["ROCEMESH-PROGRESS {", "ROCEMESH-PROGRESS []", 'ROCEMESH-PROGRESS {"stage": 1}', "ROCEMESH-PROGRESS null",
     'ROCEMESH-PROGRESS {"stage": "x", "done": 1e999, "of": 2}', 'ROCEMESH-PROGRESS {"stage":"x","done":null,"of":2}'],
)  # fmt: skip
def test_a_broken_mark_is_no_news(line: str) -> None:
    progress = Progress()
    progress.feed(line + "\n", 1)
    assert describe(progress, 1) == "starting, 0:01"


@given(st.text(), st.integers(1, 7))
def test_no_output_breaks_the_display_whatever_its_pieces(text: str, size: int) -> None:
    whole = HEAD + text + step(0, 3, 4.0)
    progress = Progress()
    for at in range(0, len(whole), size):
        progress.feed(whole[at : at + size], at)
        describe(progress, at)


@pytest.mark.parametrize(("seconds", "said"), [(0, "0:00"), (75, "1:15"), (3599.6, "1:00:00"), (3700, "1:01:40")])
def test_times_are_read_like_a_clock(seconds: float, said: str) -> None:
    assert clock(seconds) == said


@pytest.mark.parametrize(
    ("setting", "callback", "quiet", "shown"),
    [
        ("auto", "default", False, True),
        ("auto", "ansible.builtin.default", False, True),
        ("auto", "community.general.yaml", False, True),
        ("auto", "ansible.posix.json", False, False),
        ("auto", "ansible.posix.jsonl", False, False),
        ("auto", "somebody.own.xml", False, False),
        ("auto", "default", True, False),
        ("always", "ansible.posix.json", False, True),
        ("never", "default", False, False),
    ],
)
def test_only_callbacks_for_people_get_progress(setting: str, callback: str, quiet: bool, shown: bool) -> None:
    assert wants_progress(setting, callback, quiet) is shown
