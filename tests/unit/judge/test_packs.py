"""Rule packs: the collection's own pass the lint, and the lint finds each kind of fault."""

from __future__ import annotations

import copy
import inspect
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils import _yaml_files as yaml_files
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor import catalogue, facts, job_output, readers
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.packs import lint, loader, predicates

from tests.unit.decisions import decide

CAUSE = "causes/cabling/widget_loose.yml"
SOUND: dict[str, dict[str, Any]] = {
    CAUSE: {
        "means": "The widget is loose.",
        "where": "on the host",
        "look": "widgetctl show",
        "fix": "fasten it",
        "source": "widgetctl(8)",
        "refuted_by": ["widget_sleeps"],
        "signs": {
            "widget_gap": {
                "condition": "gap > limit",
                "match": [r"gap (?P<gap>\d+) of (?P<limit>\d+)"],
                "samples": ["widget0: gap 3 of 2"],
            }
        },
        "must_not_match": ["widget0: gap 2 of 2"],
        "rules": {"widget_gap": {"when": "widget_gap !widget_sleeps", "source": "widgetctl(8)"}},
    },
    "facts/widget_sleeps.yml": {
        "match": ["widget sleeps"], "samples": ["widget sleeps"], "must_not_match": ["widget wakes"],
    },
}  # fmt: skip


def problems(folder: pathlib.Path, files: dict[str, dict[str, Any]]) -> list[str]:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return lint.problems(loader.load(folder))


def test_packs_of_the_collection_have_no_problem() -> None:
    packs = loader.load()
    assert lint.problems(packs, yaml_files.read(loader.FOLDER / "readers.yml")["signs"]) == []
    assert len(packs.packs) > 200


def test_readers_yml_names_only_signs_of_readers() -> None:
    listed = yaml_files.read(loader.FOLDER / "readers.yml")
    said = {text for part in (readers, job_output, facts) for text in re.findall(r'"(\w+)"', inspect.getsource(part))}
    said |= {f"checked_{name}" for name in {*listed["measured"].values(), *listed["things"].values(), "other"}}
    said |= typed_signs()
    assert [name for name in listed["signs"] if name.replace("wide_", "") not in said] == []


def typed_signs() -> set[str]:
    table = yaml_files.read(loader.FOLDER / "readings.yml")
    counters = {str(test.get("sign", name)) for name, test in table["counters"].items()}
    return counters.union(*(thing["signs"] for thing in table["things"].values())) - {"trouble"}


def test_readings_yml_names_signs_things_and_looks_that_there_are() -> None:
    packs, table = loader.load(), yaml_files.read(loader.FOLDER / "readings.yml")
    known = {name for _pack, name, _sign in packs.signs()} | packs.lists["readers"]["signs"].keys()
    assert typed_signs() <= known
    assert {thing for fields in table["fields"].values() for thing in fields.values()} <= table["things"].keys()
    looks = {piece for look in packs.lists["looks"].values() for piece in look["pieces"]}
    answered = {thing["look"] for thing in table["things"].values()}
    # What no command of a look prints: of a run alone, and of what vCenter knows of a VM.
    assert answered - looks <= {"unread", "gpu-copy", "speed", "state", "vcenter", "vmx"}


def test_sound_pack_of_a_site_has_no_problem(tmp_path: pathlib.Path) -> None:
    assert problems(tmp_path, SOUND) == []


SIGN = ("signs", "widget_gap")
RULE = ("rules", "widget_gap")


@pytest.mark.parametrize(
    ("place", "key", "value", "words"),
    [
        ((), "source", None, "source is missing"),
        ((), "means", "", "means is ''"),
        ((), "colour", "red", "key is colour"),
        ((), "must_not_match", None, "must_not_match is missing"),
        ((), "must_not_match", ["widget0: gap 2 of 2", "widget0: gap 9 of 2"], "gap 9 of 2', which it must not match"),
        (SIGN, "must_not_match", ["widget0: gap 2 of 2"], "key is must_not_match"),
        (RULE, "source", None, "source is missing"),
        (RULE, "when", "widget_gap !widget_wakes", "sign widget_wakes is not known"),
        (RULE, "also", ["gremlins"], "cause gremlins is not known"),
        (RULE, "certainty", "sure", "certainty is sure"),
        (SIGN, "kind", "odd", "kind is odd"),
        (SIGN, "condition", "gap", "condition is 'gap'"),
        (SIGN, "test", "no_such_test", "matches no sample"),
        (SIGN, "samples", ["widget0: gap 1 of 2"], "matches no sample"),
        (SIGN, "samples", ["gap 3 of 2", "all is well"], "sample 'all is well' is matched by nothing"),
        (SIGN, "trial", ["widget adrift"], "key is trial"),
        (SIGN, "match", None, "match is missing"),
        (SIGN, "match", ["gap ("], "is no pattern"),
        (SIGN, "match", [{"gap": "of"}], "Quote it"),
        (SIGN, "match", ["{no_such_part} gap"], "is no pattern"),
        (SIGN, "match", [r"widget (?:\w+)*!"], "could take hours"),
        (SIGN, "match", [r"(?:a+|b)+ widget"], "could take hours"),
    ],
)
def test_lint_names_the_fault(tmp_path: pathlib.Path, place: tuple[str, ...], key: str, value: Any, words: str) -> None:
    files = copy.deepcopy(SOUND)
    target = files[CAUSE]
    for step in place:
        target = target[step]
    if key == "test":
        del target["condition"]
        value = "acs_said"
        target["samples"] = ["no ACS check: gap 3 of 2"]
    if value is None:
        del target[key]
    else:
        target[key] = value
    found = problems(tmp_path, files)
    assert any(words in text and "widget_loose.yml" in text for text in found), found


def test_name_that_two_files_give_is_named_with_both(tmp_path: pathlib.Path) -> None:
    again = {"match": ["widget gap"], "samples": ["widget gap"], "must_not_match": ["widget"]}
    found = problems(tmp_path, {**SOUND, "symptoms/widget_gap.yml": again})
    assert [text for text in found if "sign widget_gap is in" in text and "widget_loose.yml" in text]


def test_condition_compares_groups_and_numbers() -> None:
    test = predicates.condition("count >= 1000")
    pattern = re.compile(loader.Packs((), {}, {}).pattern([r"(?P<count>\d+)"]))
    assert [test(match) for text in ("999", "1000") if (match := pattern.search(text))] == [False, True]


@pytest.fixture
def _collection_alone() -> Iterator[None]:
    yield
    catalogue.use(())


@pytest.mark.usefixtures("_collection_alone")
def test_doctor_names_a_cause_of_the_site(tmp_path: pathlib.Path) -> None:
    problems(tmp_path, SOUND)
    evidence = {"a.log": "widget0: gap 3 of 2\n"}
    first = decide("doctor", evidence=evidence, packs=[str(tmp_path)])["findings"][0]
    assert (first["cause"], first["layer"], first["rests_on"]) == ("widget_loose", "cabling", ["widgetctl(8)"])
    assert "widget_loose" not in [found["cause"] for found in decide("doctor", evidence=evidence)["findings"]]


@pytest.mark.usefixtures("_collection_alone")
def test_pack_with_a_name_of_the_collection_is_refused(tmp_path: pathlib.Path) -> None:
    problems(tmp_path, {"causes/cabling/link_faulty.yml": SOUND[CAUSE]})
    with pytest.raises(yaml_files.PackError, match="cause link_faulty is in"):
        decide("doctor", evidence={"a.log": "x"}, packs=[str(tmp_path)])


@pytest.mark.usefixtures("_collection_alone")
def test_folder_that_is_not_there_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(yaml_files.PackError, match="is no folder"):
        decide("doctor", evidence={"a.log": "x"}, packs=[str(tmp_path / "none")])
