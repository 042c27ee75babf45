"""Switches that confirm, fail or end a login in a way of their own.

That a revision shows "ays" while it waits for its confirmation, and that "apply" confirms it, is what NVIDIA's fleet
tool (nv-config-manager) expects; "confirm" and "confirm_yes" is what gpncfg and a NAPALM driver expect. "Rolling back"
behind "apply_fail" is in networkop/cx, issue 10.
"""

from __future__ import annotations

import base64
import copy
import itertools
import json
import urllib.parse
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import CredentialError, LayerError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue.rest import Endpoint, Session

from lab.nvue.tree import at
from tests.unit.nvue.harness import Run, Twin, run


@pytest.mark.parametrize("accept_warnings", [False, True], ids=["warnings-refused", "warnings-accepted"])
@pytest.mark.parametrize("takes", ["confirm_yes", "apply"])
def test_ays_of_an_applied_revision_is_the_wait_for_our_confirmation(takes: str, accept_warnings: bool) -> None:
    twin = Twin()
    twin.fault(name="confirm_ays", takes=takes)
    result = run(twin, accept_warnings=accept_warnings)
    assert result["saved"] and twin.states()["2"] == "applied_and_saved"
    assert twin.clock.now < 60  # it was answered, not waited out
    assert not run(twin)["changed"]


@pytest.mark.parametrize("takes", ["confirm_yes", "apply"])
def test_a_change_that_shows_ays_is_taken_back_when_it_is_not_in_force(takes: str) -> None:
    twin = Twin()
    before = copy.deepcopy(twin.applied)
    twin.fault(name="confirm_ays", takes=takes)
    twin.fault(name="not_in_force", pattern="mtu")
    with pytest.raises(LayerError, match="previous configuration again"):
        run(twin)
    assert twin.applied == before and twin.clock.now < 60


def test_what_the_switch_has_taken_back_is_never_applied_again_without_its_guard() -> None:
    """The confirmation comes too late: "apply" now would be a second, unguarded change."""
    twin = Twin()
    before = copy.deepcopy(twin.applied)
    twin.fault(name="confirm_ays", takes="apply")
    first = Run(twin, confirm_timeout=61)
    original = first.session.send

    def late(method: str, path: str, body: Any = None, **query: Any) -> Any:
        if isinstance(body, dict) and body.get("state") == "confirm_yes":
            twin.clock.sleep(100)
        return original(method, path, body, **query)

    first.session.send = late  # type: ignore[method-assign]
    with pytest.raises(LayerError, match="came too late"):
        first()
    assert twin.applied == before


def test_a_confirmation_that_is_never_taken_is_told_as_what_it_leads_to() -> None:
    """The end of the run rejects what it could not confirm: nothing of it is in force then."""
    twin = Twin()
    before = copy.deepcopy(twin.applied)
    first = Run(twin, apply_timeout=20)
    original = first.session.send

    def deaf(method: str, path: str, body: Any = None, **query: Any) -> Any:
        if isinstance(body, dict) and body.get("state") == "confirm_yes":
            return {}
        return original(method, path, body, **query)

    first.session.send = deaf  # type: ignore[method-assign]
    with pytest.raises(LayerError, match="does not take the confirmation") as caught:
        first()
    assert twin.applied == before
    assert caught.value.details["applied"] == caught.value.details["undo"] == []
    assert "is in force" not in str(caught.value) and "by hand" not in str(caught.value)


def test_accepted_warnings_are_answered_by_the_run_itself() -> None:
    """A switch that does not take the answer that came along with the apply asks all the same."""
    twin = Twin(ays_seconds=20.0)
    twin.fault(name="warn", message="swp1 is edited by hand")
    first = Run(twin, accept_warnings=True)
    original = first.session.send

    def without_prompt(method: str, path: str, body: Any = None, **query: Any) -> Any:
        if isinstance(body, dict) and body.get("state") == "apply":
            body = {key: value for key, value in body.items() if key != "auto-prompt"}
        return original(method, path, body, **query)

    first.session.send = without_prompt  # type: ignore[method-assign]
    assert first()["saved"]


@pytest.mark.parametrize("rollback", [False, True], ids=["left-alone", "rollback"])
@pytest.mark.parametrize("state", ["ignore_fail", "apply_fail"])
def test_a_switch_that_rolls_back_slowly_is_waited_for(state: str, rollback: bool) -> None:
    twin = Twin()
    before = copy.deepcopy(twin.applied)
    twin.fault(name="end_in", state=state, partial=True, back_after=40)
    with pytest.raises(LayerError, match="is as before") as caught:
        run(twin, rollback=rollback)
    assert "is in force" not in str(caught.value) and "rolled_back" not in caught.value.details
    assert twin.applied == before and not caught.value.details["undo"]


def test_a_login_that_ends_behind_the_apply_is_no_claim_that_nothing_happened() -> None:
    """Every request from number ``left`` on is refused, for all of them from the apply to the last."""
    behind = 0
    for left in range(18, 48):
        twin = Twin()
        first = Run(twin)
        numbers = itertools.count(1)

        def refused(
            *request: Any, left: int = left, original: Any = first.session._request, numbers: Any = numbers
        ) -> Any:
            if next(numbers) > left:
                raise CredentialError("the login was refused", host="sw02")
            return original(*request)

        first.session._request = refused  # type: ignore[method-assign]
        try:
            first()
        except LayerError as error:
            told = [each for each in first.session.written if each.startswith("PATCH /nvue_v1/revision/2")]
            if told and not twin.states()["2"].startswith("applied"):
                behind += 1
                assert "Without a confirmation" in str(error) or "order to apply" in str(error), str(error)
            elif told:
                assert error.details["applied"] and error.details["undo"]
    assert behind >= 8


def test_the_lab_lets_somebody_else_change_something_behind_any_request() -> None:
    twin = Twin()
    twin.fault(name="foreign_apply", pattern=r"GET /nvue_v1/system")
    run(twin, check_mode=True)
    assert at(twin.applied, "interface", "swp22", "description") == "changed by somebody else"


SECRET = "p>>>???word-47111"


def echoed(text: str) -> str:
    session = Session(Endpoint("sw02", "cumulus", SECRET))
    with pytest.raises(LayerError) as caught:
        session._judge(500, text, "GET /nvue_v1/system")
    return json.dumps(caught.value.as_result())


TOKEN = base64.b64encode(f"cumulus:{SECRET}".encode()).decode()
assert {"/", "+", "="} <= set(TOKEN)  # what proxies and encoders write in another way
ECHOES = [
    ("json", json.dumps({"detail": f"headers: Authorization: Basic {TOKEN}"})),
    ("header", f"GET / HTTP/1.1\r\nAuthorization: Basic {TOKEN}\r\n"),
    ("other-keys", json.dumps({"request": {"Authorization": f"Basic {TOKEN}"}})),
    ("url-quoted", "Authorization=Basic%20" + urllib.parse.quote(TOKEN, safe="")),
    ("escaped-slash", json.dumps({"x": TOKEN}).replace("/", "\\/")),
    ("cut-short", f"Authorization: Basic {TOKEN}"[:60]),
    ("plain", f"user=cumulus password={SECRET}"),
]


@pytest.mark.parametrize("text", [row[1] for row in ECHOES], ids=[row[0] for row in ECHOES])
def test_an_error_page_that_repeats_the_request_does_not_show_the_login(text: str) -> None:
    shown = echoed(text)
    assert TOKEN.rstrip("=")[:30] not in shown and SECRET not in shown and "********" in shown
    assert urllib.parse.quote(TOKEN, safe="")[:30] not in shown


def test_ordinary_words_of_a_server_are_not_masked() -> None:
    assert "Basic authentication is required" in echoed("Basic authentication is required")
