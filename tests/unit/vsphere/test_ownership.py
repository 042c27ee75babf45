from __future__ import annotations

import datetime
import re

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.ownership import (
    Lease,
    MaintenanceEvent,
    Mark,
    describe_lease,
    last_entry,
    not_ours,
    own_entry,
    read_lease,
    read_mark,
    who_entered,
    write_lease,
    write_mark,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.run_identity import Run
from hypothesis import given
from hypothesis import strategies as st

T0 = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.timezone.utc)
MARK = Mark(Run("3f2a9c0d1e5b", "ctl01", "f61df3a7.4026531836.4711.99"), T0, 17)


def entered(key: int, seconds: float = 0.0, user: str = "LAB\\automation") -> MaintenanceEvent:
    return MaintenanceEvent(key, "entered", T0 + datetime.timedelta(seconds=seconds), user)


def left(key: int, seconds: float, user: str = "LAB\\anna") -> MaintenanceEvent:
    return MaintenanceEvent(key, "left", T0 + datetime.timedelta(seconds=seconds), user)


OURS = entered(17)


@pytest.mark.parametrize(
    ("mark", "events", "why"),
    [
        pytest.param(MARK, [OURS], "", id="the_event_of_the_mark_is_the_last_word"),
        pytest.param(MARK, [entered(3, -90), left(4, -80), OURS], "", id="what_was_before_does_not_count"),
        pytest.param(MARK, [OURS, entered(18, 60, "")], "", id="report_of_a_host_that_came_back"),
        pytest.param(None, [OURS], "no run of this collection", id="no_mark"),
        pytest.param(MARK, None, "does not tell the events", id="events_unreadable"),
        pytest.param(MARK, [], "no such event", id="event_is_not_there"),
        pytest.param(MARK, [entered(17, 40)], "no such event", id="same_key_at_another_time"),
        pytest.param(MARK, [entered(16)], "no such event", id="same_time_under_another_key"),
        pytest.param(Mark(MARK.run, T0, 0), [OURS], "no such event", id="mark_without_an_event"),
        pytest.param(MARK, [OURS, left(18, 5)], "LAB\\anna ended", id="somebody_left"),
        pytest.param(MARK, [OURS, left(18, 5), entered(19, 9, "LAB\\anna")], "LAB\\anna ended", id="left_and_entered"),
        pytest.param(MARK, [entered(19, 9), OURS, left(18, 5)], "ended", id="order_of_the_answer_does_not_matter"),
        pytest.param(MARK, [OURS, entered(18, 5, "LAB\\anna")], "LAB\\anna entered it again", id="entered_again"),
        pytest.param(MARK, [OURS, entered(18, 5)], "automation entered it again", id="our_own_account_entered_again"),
        pytest.param(MARK, [OURS, left(18, 5, "")], "an unnamed user ended", id="left_by_nobody_in_particular"),
    ],
)
def test_mark_counts_only_while_its_event_is_the_last_word(
    mark: Mark | None, events: list[MaintenanceEvent] | None, why: str
) -> None:
    doubt = not_ours(mark, events)
    assert bool(doubt) is bool(why) and why in doubt


@given(st.lists(st.tuples(st.sampled_from(["entered", "left"]), st.sampled_from(["", "LAB\\anna", "LAB\\automation"]))))
def test_after_our_event_any_exit_and_any_named_entry_is_somebody_elses(later: list[tuple[str, str]]) -> None:
    events = [OURS] + [
        MaintenanceEvent(18 + place, kind, T0 + datetime.timedelta(seconds=1 + place), user)
        for place, (kind, user) in enumerate(later)
    ]
    ours = all(kind == "entered" and not user for kind, user in later)
    assert (not_ours(MARK, events) == "") is ours


def test_last_word_names_who_entered() -> None:
    assert last_entry([left(18, 5), OURS]) is None and last_entry([]) is None
    assert who_entered([OURS]) == "entered by LAB\\automation at 2026-01-02 03:04:05 UTC"
    assert "do not name" in who_entered([OURS, left(18, 5)]) and "do not name" in who_entered(None)
    assert "a user that vCenter does not name" in who_entered([entered(1, 0, "")])


LEASE = Lease(MARK.run, "LAB\\automation", T0, T0, T0 + datetime.timedelta(minutes=30))


def test_what_is_written_is_read_again_and_fits_into_a_custom_attribute() -> None:
    assert read_mark(write_mark(MARK)) == MARK and read_lease(write_lease(LEASE)) == LEASE
    long = Run("r" * 40, "c" * 48, "f61df3a7.4026531836.4194304.99999999999")
    user = "VSPHERE.LOCAL\\a-very-long-name-of-an-automation-account"
    written = write_lease(Lease(long, user, T0, T0, T0))
    assert len(written) <= 320 and read_lease(written) is not None
    assert len(write_mark(Mark(long, T0, 2**31 - 1))) <= 255
    assert read_mark("") is None and read_lease("  ") is None


@pytest.mark.parametrize(
    "text",
    [
        "please ask Anna",
        "rocemesh-window",
        "rocemesh-window run=a controller=b entered=yesterday event=1",
        "rocemesh-window run a",
    ],
)
def test_text_that_is_not_ours_is_an_error_and_never_a_mark(text: str) -> None:
    other = text.replace("rocemesh-window", "rocemesh-lease")
    with pytest.raises(ValueError, match=re.escape(text.split(maxsplit=1)[0])):
        read_mark(text)
    with pytest.raises(ValueError, match=re.escape(other.split()[0])):
        read_lease(other)


def test_lease_is_described_with_holder_age_and_end() -> None:
    text = describe_lease(LEASE, T0 + datetime.timedelta(minutes=5))
    for words in (
        "run 3f2a9c0d1e5b on controller ctl01 as LAB\\automation",
        "(5 min ago)",
        "until 2026-01-02 03:34:05 UTC",
    ):
        assert words in text


ANNA = "LAB\\anna"


@pytest.mark.parametrize(
    ("events", "key"),
    [
        pytest.param([entered(17, 1)], 17, id="ours"),
        pytest.param([entered(17, 1), left(18, 2), entered(19, 3, ANNA)], 17, id="somebody_entered_again"),
        pytest.param([entered(17, 1), left(18, 2), entered(19, 3)], 17, id="under_our_account_too"),
        pytest.param([entered(17, 1), left(18, 2)], 17, id="somebody_left"),
        pytest.param([entered(15, 1, ANNA), left(16, 2), entered(17, 3)], 17, id="the_first_under_our_name"),
        pytest.param([entered(17, 1, "other\\spelling")], 17, id="account_spelled_otherwise"),
        pytest.param([entered(17, 1, "lab\\AUTOMATION")], 17, id="account_in_other_letters"),
        pytest.param([entered(17, -5)], 17, id="stamped_by_a_clock_that_is_late"),
        pytest.param([entered(16, -5, ANNA), left(17, -4)], None, id="over_before_we_asked"),
        pytest.param([entered(17, -90)], None, id="long_before_we_asked"),
        pytest.param([], None, id="not_written_yet"),
    ],
)
def test_entry_of_a_task_is_the_first_since_it_was_asked_for(events: list[MaintenanceEvent], key: int | None) -> None:
    found = own_entry(events, T0, "LAB\\automation")
    assert (found.key if found else None) == key
