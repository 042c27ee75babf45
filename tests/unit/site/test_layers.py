from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.plugin_utils.decisions.site_outcomes import fold


def outcome(changed: bool, verified: Any) -> dict[str, Any]:
    return {"changed": changed, "verified": verified, "found": {}, "changes": ["x"] if changed else []}


@pytest.mark.parametrize(
    ("outcomes", "changed", "verified"),
    [
        pytest.param({}, False, None, id="nobody_looked_is_not_verified"),
        pytest.param({"a": outcome(False, True)}, False, True, id="read_back_and_right"),
        pytest.param(
            {"a": outcome(True, True), "b": outcome(False, False)}, True, False, id="one_wrong_host_spoils_it"
        ),
        pytest.param(
            {"a": outcome(False, True), "b": outcome(False, None)}, False, None, id="one_unread_host_is_unknown"
        ),
    ],
)
def test_fold(outcomes: dict[str, Any], changed: bool, verified: Any) -> None:
    layer = fold(outcomes)
    assert (layer["changed"], layer["verified"]) == (changed, verified)


def test_each_change_names_its_host() -> None:
    assert fold({"esx01": outcome(True, True)})["changes"] == ["esx01: x"]
