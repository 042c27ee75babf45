"""NVIDIA's runtime in daemon.json: the user's keys stay, and nobody restarts the engine for nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.decisions import decide

NVIDIA = {"args": [], "path": "nvidia-container-runtime"}
# nvidia-ctk sorts, and replaces what is called nvidia.
OFFER = json.dumps({"data-root": "/data", "runtimes": {"nvidia": NVIDIA, "runc2": {"path": "runc2"}}})


def docker_runtime(config: str, offer: str) -> dict[str, Any]:
    found: dict[str, Any] = decide("container_engine", config=config, offer=offer)["merged"]
    return found


def engine_pending(probe: str, configured: bool) -> dict[str, Any]:
    found: dict[str, Any] = decide("container_engine", probe=probe + "configured\n" * configured)["state"]
    return found


def test_every_key_of_the_user_stays_in_its_place() -> None:
    own = {"runtimes": {"runc2": {"path": "runc2"}}, "log-opts": {"max-size": "10m"}, "data-root": "/data", "mtu": 9000}
    answer = docker_runtime(json.dumps(own), OFFER)
    new = json.loads(answer["content"])
    assert (answer["changed"], answer["problem"], list(new)) == (True, "", list(own))
    assert new == {**own, "runtimes": {**own["runtimes"], "nvidia": NVIDIA}}  # type: ignore[dict-item]
    again = docker_runtime(answer["content"], OFFER)
    assert (again["changed"], again["kept"], again["content"]) == (False, "", answer["content"])


@pytest.mark.parametrize("text", ["", "\n", "{}"])
def test_no_file_gets_the_runtime_alone(text: str) -> None:
    assert json.loads(docker_runtime(text, OFFER)["content"]) == {"runtimes": {"nvidia": NVIDIA}}


def test_an_entry_of_the_users_is_never_replaced() -> None:
    own = json.dumps({"runtimes": {"nvidia": {"path": "/opt/own", "args": ["--x"]}}})
    answer = docker_runtime(own, OFFER)
    assert (answer["changed"], answer["content"], answer["problem"]) == (False, own, "")
    assert "/opt/own" in answer["kept"]
    # other arguments of the same program are the user's business
    own = json.dumps({"runtimes": {"nvidia": {"path": NVIDIA["path"], "args": ["--x"]}}})
    assert docker_runtime(own, OFFER) == {"content": own, "changed": False, "kept": "", "problem": ""}


@pytest.mark.parametrize(
    ("own", "offer", "words"),
    [
        ('{"mtu": 9000,}', OFFER, "cannot be read"),
        ("[]", OFFER, "list, not an object"),
        ('{"runtimes": []}', OFFER, "runtimes is no object"),
        ("{}", "", "no runtime nvidia"),
        ("{}", "level=error", "no runtime nvidia"),
        ("{}", '{"runtimes": {"nvidia": []}}', "no runtime nvidia"),
    ],
)
def test_what_cannot_be_read_is_not_written(own: str, offer: str, words: str) -> None:
    answer = docker_runtime(own, offer)
    assert words in answer["problem"]
    assert (answer["changed"], answer["content"]) == (False, own)


PROBE = (
    'started 1000\nhook %d\nruntimes {"runc":{"path":"runc"}%s}\nlive_restore false\ncontainer mpicont\ncontainer db\n'
)
LOADED = ',"nvidia":{"path":"nvidia-container-runtime"}'


@pytest.mark.parametrize(
    ("text", "configured", "words"),
    [
        (PROBE % (900, LOADED), True, []),
        (PROBE % (1000, LOADED), True, []),
        (PROBE % (900, ""), False, []),
        (PROBE % (1001, LOADED), True, []),  # an upgrade of the toolkit
        (PROBE % (1001, ""), False, ["before the NVIDIA container toolkit"]),
        (PROBE % (900, ""), True, ["has not read the runtime nvidia"]),
        (PROBE % (1001, ""), True, ["before the NVIDIA", "has not read"]),
        ("hook 1001\n", True, []),  # no engine runs
    ],
)
def test_each_reason_for_a_restart_is_named(text: str, configured: bool, words: list[str]) -> None:
    answer = engine_pending(text, configured)
    assert len(answer["pending"]) == len(words)
    assert all(word in reason for word, reason in zip(words, answer["pending"]))
    assert answer["running"] == (["mpicont", "db"] if "started" in text else [])


def test_figures_that_are_none_are_an_error() -> None:
    with pytest.raises(ValueError):
        engine_pending("started soon\n", True)
