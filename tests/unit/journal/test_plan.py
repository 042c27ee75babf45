"""A plan for the change board: what --check wrote is what the run does, and a site that moved on is refused."""

from __future__ import annotations

import json
import pathlib
import random
import re
import subprocess
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.plan import AtsWanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import tree as trees
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted
from ansible_collections.rocemesh.multinode.plugins.plugin_utils import child_play, journal, journal_file
from ansible_collections.rocemesh.multinode.plugins.plugin_utils.planned import PlannedAction

from lab.switch.grammar import CONFIG, Cli, execute
from tests.unit.decisions import decide
from tests.unit.journal.test_journal import SCHEMA
from tests.unit.journal.test_undo import END, RUN, begin, change
from tests.unit.nic.twin import Rack, card
from tests.unit.nvue.harness import Run as NvueRun
from tests.unit.nvue.harness import Twin
from tests.unit.onyx.harness import Run as OnyxRun
from tests.unit.onyx.harness import new_switch

SITES = 50
Changes = dict[tuple[str, str, str, str], str]


class RandomSite:
    """Two switches and the cards of one VM in a random state, and a random request."""

    def __init__(self, seed: int, folder: pathlib.Path) -> None:
        chosen = random.Random(seed)
        self.chosen = chosen
        self.onyx, self.nvue = new_switch(), Twin()
        for _number in range(chosen.randrange(4)):
            self.move_onyx()
            self.move_nvue()
        cards = [
            card(
                pci=f"0000:3b:00.{each}",
                params={"ATS_ENABLED": {"default": 0, "current": 0, "next": chosen.choice([0, 1])}},
            )
            for each in range(chosen.choice([1, 2]))
        ]
        self.rack = Rack(folder, cards)
        self.mtu, self.vlan = chosen.choice([None, 4200, 9216]), chosen.choice([None, 111, 200])
        self.mode = chosen.choice(["lossless", "lossy"])
        self.numbers = sorted(chosen.sample(range(1, 5), chosen.randrange(1, 5)))
        self.ats = AtsWanted(enabled=chosen.choice([True, False]))

    def move_onyx(self) -> None:
        port = self.chosen.randrange(1, 5)
        line = self.chosen.choice(["mtu 4000 force", "mtu 9216 force", "switchport access vlan 1"])
        execute(Cli(self.onyx, mode=CONFIG), f"interface ethernet 1/{port} {line}")

    def move_nvue(self) -> None:
        port, mtu = f"swp{self.chosen.randrange(1, 5)}", self.chosen.choice([1500, 4000, 9216])
        self.nvue.switch.applied = trees.merge(self.nvue.switch.applied, {"interface": {port: {"link": {"mtu": mtu}}}})

    def play(self, check: bool) -> list[dict[str, Any]]:
        """What the journal has of it."""
        request = {"mode": self.mode, "vlan": self.vlan, "mtu": self.mtu}
        onyx = Wanted(ports=tuple(f"1/{number}" for number in self.numbers), **request)
        nvue = Wanted(ports=tuple(f"swp{number}" for number in self.numbers), **request)
        results = {
            "onyx_roce": OnyxRun(self.onyx, onyx)(check),
            "switch_roce": NvueRun(self.nvue, nvue, check)(),
            "mlxconfig_ats": converge(self.rack.layer(), self.ats, check),
        }
        return [
            entry
            for module, result in results.items()
            for entry in journal.entries(
                journal.Task("Set it", journal.COLLECTION + module, "", "leaf01"), result, plan=check
            )
        ]


def changes(entries: list[dict[str, Any]]) -> Changes:
    return journal_file.changes([entry for entry in entries if entry["kind"] == "change"])


@pytest.mark.parametrize("seed", range(SITES))
def test_run_of_a_random_site_does_its_plan_and_nothing_else(seed: int, tmp_path: pathlib.Path) -> None:
    site = RandomSite(seed, tmp_path)
    plan = changes(site.play(check=True))
    assert changes(site.play(check=True)) == plan
    done = changes(site.play(check=False))
    assert journal_file.differences(plan, done) == []
    assert changes(site.play(check=True)) == {}


@pytest.mark.parametrize("seed", range(SITES))
def test_plan_of_a_random_site_that_moved_on_is_refused(seed: int, tmp_path: pathlib.Path) -> None:
    site = RandomSite(seed, tmp_path)
    site.mtu, site.numbers = 9216, [1, 2, 3, 4]
    plan = changes(site.play(check=True))
    execute(Cli(site.onyx, mode=CONFIG), "interface ethernet 1/2 mtu 4321 force")
    lines = journal_file.differences(plan, changes(site.play(check=True)))
    assert any("port 1/2 mtu: 4321 -> 9216" in line and line.startswith("+ leaf01") for line in lines), lines


def test_keys_of_a_vm_are_in_the_plan_whoever_asks_for_them() -> None:
    keys = {"pciPassthru.allowP2P": None}, {"pciPassthru.allowP2P": "TRUE"}

    def of(host: str, vcenter: str) -> dict[str, Any]:
        entry = change("vmx_passthru", host, *keys, device="gpu01")
        return {**entry, "identity": {"vcenter_uuid": vcenter, "vm_uuid": "4711"}}

    plan = journal_file.changes([of("gpu01", "a")])
    assert journal_file.differences(plan, journal_file.changes([of("esx01", "a")])) == []
    (planned, needed) = journal_file.differences(plan, journal_file.changes([of("esx01", "b")]))
    assert planned.startswith("- gpu01: ") and needed.startswith("+ gpu01: ")


def write(path: pathlib.Path, *entries: dict[str, Any], **about: Any) -> pathlib.Path:
    lines = [begin(RUN, check_mode=True, **about), *entries, END]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


MTU = change("onyx_roce", "leaf01", {"port 1/1 mtu": 1500}, {"port 1/1 mtu": 9216})


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same command with --check: what its journal says, or that it fails."""

    def set_now(*entries: dict[str, Any], rc: int = 0, **about: Any) -> None:
        def run(command: list[str], env: dict[str, str], **_more: Any) -> subprocess.CompletedProcess[str]:
            assert command[-1] == "--check" and "rocemesh.multinode.journal" in env["ANSIBLE_CALLBACKS_ENABLED"]
            if entries:
                write(pathlib.Path(env["ROCEMESH_JOURNAL"]) / f"{RUN}-plan.jsonl", *entries, **about)
            return subprocess.CompletedProcess(command, rc, "fatal: [leaf01]: no answer\n", "")

        monkeypatch.setattr(child_play.subprocess, "run", run)

    return set_now


def test_approved_plan_of_an_unchanged_site_goes_on(now: Any, tmp_path: pathlib.Path) -> None:
    now(MTU)
    found = decide("approved_plan", path=str(write(tmp_path / "p.jsonl", MTU)))
    assert found["count"] == 1 and "ada" in found["whose"]


@pytest.mark.parametrize(
    ("entries", "options", "words"),
    [
        ([{**MTU, "before": {"port 1/1 mtu": 4000}}], {}, "moved on.*4000 -> 9216"),
        ([], {}, "moved on.*- leaf01: port 1/1 mtu"),
        ([MTU, change("onyx_roce", "leaf02", {"roce": None}, {"roce": "lossless"})], {}, r"moved on.*\+ leaf02: roce"),
        ([MTU], {"limit": "leaf01"}, "limit is"),
        ([MTU], {"tags": ["switch"]}, "tags is"),
        ([MTU], {"rc": 2}, "exit status 2.*no answer"),
    ],
)  # fmt: skip
def test_approved_plan_of_a_site_that_moved_on_is_refused(
    now: Any, tmp_path: pathlib.Path, entries: list[dict[str, Any]], options: dict[str, Any], words: str
) -> None:
    now(*entries, **options)
    with pytest.raises(ValueError, match="Nothing was changed") as caught:
        decide("approved_plan", path=str(write(tmp_path / "p.jsonl", MTU)))
    assert re.search(words, str(caught.value), re.DOTALL)


def test_a_journal_of_a_run_is_no_plan(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (begin(RUN), MTU, END)))
    with pytest.raises(ValueError, match="expected a plan"):
        decide("approved_plan", path=str(path))
    failed = {**MTU, "kind": "failed", "message": "leaf02 does not answer"}
    with pytest.raises(ValueError, match="leaf02 does not answer"):
        decide("approved_plan", path=str(write(path, MTU, failed)))


def action(*results: dict[str, Any], check: bool = False) -> tuple[PlannedAction, list[bool]]:
    """The action with a module that answers so; and in which mode it was started."""
    one = PlannedAction.__new__(PlannedAction)
    modes: list[bool] = []
    answers = iter(results)
    one._task = SimpleNamespace(check_mode=check, args={}, _role=None, action=MTU["module"], async_val=0)
    one._task.get_name = lambda: "Set it"
    one._connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir="/nowhere"))

    def module(_variables: dict[str, Any]) -> dict[str, Any]:
        modes.append(one._task.check_mode)
        return next(answers)

    one._module = module  # type: ignore[method-assign]
    one._remove_tmp_path = lambda _path: None
    return one, modes


CHANGED = {
    "changed": True,
    "diff": {"before": MTU["before"], "after": MTU["after"]},
    "operations": [{"description": "x", "command": "y", "disrupts": "", "reboot": "none"}],
    "undo": ["z"],
}


def test_action_writes_its_plan_before_the_change(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("ROCEMESH_JOURNAL_OF_RUN", str(tmp_path / "run.jsonl"))
    one, modes = action(CHANGED, {"changed": True, "done": True})
    assert one.run(task_vars={"inventory_hostname": "leaf01"})["done"] and modes == [True, False]
    (line,) = (tmp_path / "run.jsonl").read_text().splitlines()
    jsonschema.validate(json.loads(line), SCHEMA)
    assert (json.loads(line)["kind"], json.loads(line)["before"]) == ("planned", MTU["before"])


@pytest.mark.parametrize("answer", [{"changed": False}, {"failed": True, "changed": False}])
def test_action_starts_the_module_once_where_nothing_changes(
    answer: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("ROCEMESH_JOURNAL_OF_RUN", str(tmp_path / "run.jsonl"))
    one, modes = action(answer)
    assert one.run(task_vars={}) == answer and modes == [True]


def test_action_starts_the_module_once_without_journal_and_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROCEMESH_JOURNAL_OF_RUN", raising=False)
    one, modes = action(CHANGED)
    assert one.run(task_vars={}) == CHANGED and modes == [False]


def test_action_refuses_what_is_not_in_the_plan(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "p.jsonl", {**MTU, "device": ""})
    variables = {"inventory_hostname": "leaf01", "rocemesh_plan": str(path)}
    one, modes = action(CHANGED, {"changed": True})
    assert one.run(task_vars=variables) == {"changed": True} and modes == [True, False]
    more = {**CHANGED, "diff": {"before": {"roce": None}, "after": {"roce": "lossless"}}}
    one, modes = action(more, {"changed": True})
    refused = one.run(task_vars=variables)
    assert refused["failed"] and "+ leaf01: roce" in refused["msg"] and modes == [True]


def test_action_changes_nothing_where_the_journal_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    place = tmp_path / "none" / "run.jsonl"
    monkeypatch.setenv("ROCEMESH_JOURNAL_OF_RUN", str(place))
    one, modes = action(CHANGED, {"changed": True})
    result = one.run(task_vars={"inventory_hostname": "leaf01"})
    assert result["failed"] and result["error_code"] == "journal" and modes == [True]
    assert result["msg"].startswith("controller: ") and str(place) in result["msg"]
