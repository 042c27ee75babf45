"""The four verbs together, on a layer that keeps its state in a dictionary."""

from __future__ import annotations

import dataclasses
import errno
from typing import Any, Callable, Sequence

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    ApplyError,
    Layer,
    LayerError,
    Operation,
    Pending,
    Reboot,
    RefusedError,
    VerifyError,
    converge,
    exit_with,
    strictest,
)

RESULT_KEYS = {
    "changed",
    "diff",
    "operations",
    "undo",
    "reboot_required",
    "reboot_scope",
    "reboot_reasons",
    "warnings",
}

Values = dict[str, int]


class Shelf(Layer[Values, Values]):
    """Keys with a stored and a loaded value; a stored value that is not the loaded one waits for a host reboot.

    ``deaf``: keys that the device accepts and ignores; ``refuses``: key at which it breaks off.
    """

    host = "dev01"

    def __init__(self, stored: Values, loaded: Values | None = None, *, deaf: str = "", refuses: str = "") -> None:
        self.stored = dict(stored)
        self.loaded = dict(stored if loaded is None else loaded)
        self.deaf, self.refuses = deaf, refuses
        self.calls: list[str] = []

    def observe(self) -> Values:
        self.calls.append("observe")
        return dict(self.stored)

    def plan(self, state: Values, wanted: Values) -> list[Operation]:
        return [
            Operation(
                description=f"{key}: {state[key]} -> {value}",
                command=f"set {key} {value}",
                inverse=f"set {key} {state[key]}",
                changes={key: (state[key], value)},
                reboot=Reboot.NONE if value == self.loaded[key] else Reboot.ESXI_HOST,
                payload={"key": key, "value": value},
            )
            for key, value in wanted.items()
            if state[key] != value
        ]

    def apply(self, operation: Operation) -> None:
        self.calls.append(operation.command)
        key = operation.payload["key"]
        if key == self.refuses:
            raise ApplyError("the device said no", host=self.host, thing=key)
        if key not in self.deaf:
            self.stored[key] = operation.payload["value"]

    def commit(self, operations: Sequence[Operation]) -> None:
        self.calls.append(f"commit {len(operations)}")

    def pending(self, state: Values) -> Pending:
        waiting = tuple(f"{key} waits" for key in state if state[key] != self.loaded[key])
        return Pending(Reboot.ESXI_HOST if waiting else Reboot.NONE, waiting)

    def facts(self, state: Values) -> dict[str, Any]:
        return {"stored": state}


class ForesightedShelf(Shelf):
    """Knows what its operations do to what waits."""

    def pending_after(self, state: Values, operations: Sequence[Operation]) -> Pending:
        return self.pending({**state, **{each.payload["key"]: each.payload["value"] for each in operations}})


def test_first_run_changes_and_second_run_does_not() -> None:
    shelf = Shelf({"a": 0, "b": 0}, {"a": 1, "b": 0})
    first = converge(shelf, {"a": 1})
    assert (first["changed"], first["diff"]) == (True, {"before": {"a": 0}, "after": {"a": 1}})
    assert shelf.calls == ["observe", "set a 1", "observe", "commit 1"]
    shelf.calls.clear()
    second = converge(shelf, {"a": 1})
    assert (second["changed"], second["operations"], second["undo"]) == (False, [], [])
    assert shelf.calls == ["observe", "commit 0"]


def test_every_result_has_the_same_keys() -> None:
    for check_mode in (False, True):
        for wanted in ({"a": 0}, {"a": 1}):
            assert set(converge(Shelf({"a": 0}), wanted, check_mode)) == RESULT_KEYS | {"stored"}


def test_check_mode_sends_nothing_and_says_what_a_real_run_would_send() -> None:
    shelf, real = Shelf({"a": 0}), Shelf({"a": 0})
    planned, done = converge(shelf, {"a": 1}, check_mode=True), converge(real, {"a": 1})
    assert (shelf.calls, shelf.stored) == (["observe"], {"a": 0})
    same = RESULT_KEYS - {"reboot_reasons"}
    assert {key: planned[key] for key in same} == {key: done[key] for key in same}
    assert planned["stored"] == {"a": 0}


def test_check_mode_with_nothing_to_do_does_not_save() -> None:
    shelf = Shelf({"a": 1})
    assert converge(shelf, {"a": 1}, check_mode=True)["changed"] is False
    assert shelf.calls == ["observe"]


@pytest.mark.parametrize("kind", [Shelf, ForesightedShelf])
def test_check_mode_predicts_a_restart_that_a_real_run_would_ask_for(kind: Callable[..., Shelf]) -> None:
    planned = converge(kind({"a": 0}), {"a": 1}, check_mode=True)
    assert (planned["reboot_required"], planned["reboot_scope"]) == (True, "esxi_host")
    assert len(planned["reboot_reasons"]) == 1


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_change_back_to_what_is_in_force_ends_the_wait(check_mode: bool) -> None:
    shelf = ForesightedShelf({"a": 1}, loaded={"a": 0})
    assert converge(shelf, {}, check_mode)["reboot_required"] is True
    result = converge(shelf, {"a": 0}, check_mode)
    assert result["changed"] is True
    assert (result["reboot_required"], result["reboot_scope"], result["reboot_reasons"]) == (False, "none", [])


def test_what_waits_from_an_earlier_run_is_still_said() -> None:
    result = converge(Shelf({"a": 1}, loaded={"a": 0}), {"a": 1})
    assert (result["changed"], result["reboot_required"], result["reboot_reasons"]) == (False, True, ["a waits"])


def test_accepted_and_not_in_force_is_an_error_and_nothing_is_saved() -> None:
    shelf = Shelf({"a": 0, "b": 0}, deaf="b")
    with pytest.raises(VerifyError, match=r"^dev01: .*b: 0 -> 1\. What to do: ") as caught:
        converge(shelf, {"a": 1, "b": 1})
    assert "a: 0 -> 1" not in str(caught.value)
    assert caught.value.details["applied"] == ["set a 1", "set b 1"]
    assert caught.value.details["undo"] == ["set b 0", "set a 0"]
    assert not any(call.startswith("commit") for call in shelf.calls)


def test_a_break_in_the_middle_tells_what_was_done_and_how_to_undo_it_last_first() -> None:
    shelf = Shelf({"a": 0, "b": 0, "c": 0, "d": 0}, refuses="c")
    with pytest.raises(ApplyError) as caught:
        converge(shelf, {"a": 1, "b": 1, "c": 1, "d": 1})
    result = caught.value.as_result()
    assert result["applied"] == ["set a 1", "set b 1"]
    assert (result["failed_operation"], result["undo"]) == ("set c 1", ["set b 0", "set a 0"])
    assert (shelf.stored["d"], shelf.calls[-1]) == (0, "set c 1")


def test_file_that_cannot_be_written_is_a_break_in_the_middle() -> None:
    class Full(Shelf):
        def apply(self, operation: Operation) -> None:
            if operation.payload["key"] == "b":
                raise OSError(errno.ENOSPC, "No space left on device", "/etc/rocemesh/mtu/ens224")
            super().apply(operation)

    result = leave(Full({"a": 0, "b": 0}), {"a": 1, "b": 1}).result
    assert (result["error_code"], result["failed_operation"], result["undo"]) == (
        "apply_failed",
        "set b 1",
        ["set a 0"],
    )
    assert "dev01: set b 1: " in result["msg"] and "/etc/rocemesh/mtu/ens224" in result["msg"]


def test_what_cannot_be_taken_back_is_left_out_of_undo() -> None:
    class OneWay(Shelf):
        def plan(self, state: Values, wanted: Values) -> list[Operation]:
            return [
                dataclasses.replace(each, inverse="" if each.payload["key"] == "a" else each.inverse)
                for each in super().plan(state, wanted)
            ]

    assert converge(OneWay({"a": 0, "b": 0}), {"a": 1, "b": 1})["undo"] == ["set b 0"]


def test_diff_of_a_key_that_changes_twice_is_first_before_and_last_after() -> None:
    class TwoSteps(Shelf):
        def plan(self, state: Values, wanted: Values) -> list[Operation]:
            if state == wanted:
                return []
            steps = ({"a": (state["a"], 5)}, {"a": (5, 1)})
            return [
                Operation("step", "step", changes, payload={"key": "a", "value": changes["a"][1]}) for changes in steps
            ]

    assert converge(TwoSteps({"a": 0}), {"a": 1})["diff"] == {"before": {"a": 0}, "after": {"a": 1}}


@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        ([], Reboot.NONE),
        ([Reboot.NONE, Reboot.VM_POWER_CYCLE], Reboot.VM_POWER_CYCLE),
        ([Reboot.ESXI_HOST, Reboot.VM_POWER_CYCLE], Reboot.ESXI_HOST),
    ],
)
def test_the_restart_that_stops_most_counts(scopes: list[Reboot], expected: Reboot) -> None:
    assert strictest(scopes) is expected


class Left(Exception):
    """The module process ended."""


class Module:
    def __init__(self, check_mode: bool = False) -> None:
        self.check_mode = check_mode
        self.warned: list[str] = []
        self.result: dict[str, Any] = {}

    def warn(self, text: str) -> None:
        self.warned.append(text)

    def exit_json(self, **result: Any) -> None:
        self.result = {"failed": False, **result}
        raise Left

    def fail_json(self, **result: Any) -> None:
        self.result = {"failed": True, **result}
        raise Left


def leave(layer: Shelf, wanted: Values) -> Module:
    module = Module()
    with pytest.raises(Left):
        exit_with(module, layer, wanted)
    return module


def test_warnings_reach_the_user_once() -> None:
    class Worried(Shelf):
        def warnings(self, state: Values, wanted: Values) -> list[str]:
            return ["a is odd"] if state["a"] % 2 else []

    module = leave(Worried({"a": 0}), {"a": 1})
    assert module.warned == ["a is odd"]
    assert "warnings" not in module.result


def test_a_typed_error_becomes_the_result_of_a_failed_module() -> None:
    module = leave(Shelf({"a": 0}, refuses="a"), {"a": 1})
    assert module.result["failed"] is True
    assert (module.result["error_code"], module.result["failed_operation"]) == ("apply_failed", "set a 1")
    assert module.result["msg"] == "dev01: a: the device said no."


def test_a_programming_error_is_not_dressed_up_as_a_failure_of_the_device() -> None:
    class Broken(Shelf):
        def plan(self, state: Values, wanted: Values) -> list[Operation]:
            raise KeyError("typo")

    with pytest.raises(KeyError):
        exit_with(Module(), Broken({"a": 0}), {"a": 1})


def test_messages_name_host_thing_value_and_remedy() -> None:
    error: LayerError = RefusedError("no such VLAN.", host="sw01", thing="vlan", value=4095, remedy="use 1 to 4094")
    assert str(error) == "sw01: vlan 4095: no such VLAN. What to do: use 1 to 4094."


@pytest.mark.parametrize("verb", ["observe", "plan", "commit"])
def test_whatever_fails_after_the_change_says_what_was_changed(verb: str) -> None:
    class Late(Shelf):
        def _once_changed(self, name: str) -> None:
            if name == verb and "set a 2" in self.calls:
                raise RefusedError("another user is there; nothing was changed", host=self.host)

        def observe(self) -> Values:
            self._once_changed("observe")
            return super().observe()

        def plan(self, state: Values, wanted: Values) -> list[Operation]:
            self._once_changed("plan")
            return super().plan(state, wanted)

        def commit(self, operations: Sequence[Operation]) -> None:
            self._once_changed("commit")

    with pytest.raises(LayerError) as caught:
        converge(Late({"a": 1}), {"a": 2})
    assert caught.value.details == {"applied": ["set a 2"], "undo": ["set a 1"]}
    assert isinstance(caught.value, VerifyError if verb == "plan" else RefusedError)
