"""Plan, records and documents of the benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures.benchmarks import (
    cases_of,
    digest,
    dlperf,
    records,
    repeat_record,
    saved,
    scaling_results,
)

from tests.unit.decisions import decide
from tests.unit.results.logs import FIXTURES

HOSTS = [{"name": f"gpu{number:02}", "address": f"192.0.2.{number}", "slots": 8} for number in range(1, 5)]
PARAMETERS = {"image_size": 224, "iterations": 120, "dropped": 20, "env": {"NCCL_DEBUG": "WARN"}}


def benchmark_plan(hosts: list[dict[str, Any]], parameters: dict[str, Any], **given: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = decide("benchmark_plan", hosts=hosts, parameters=parameters, **given)["plan"]
    return found


def plan(**changed: Any) -> list[dict[str, Any]]:
    given: dict[str, Any] = {"cases": ["1n1g", "2n8g"], "batches": {"fp32": 128, "bf16": 256}, "repeats": 2}
    return benchmark_plan(HOSTS, PARAMETERS, **{**given, **changed})


def test_the_plan_has_every_repeat_once_and_all_first_ones_before_the_second_ones() -> None:
    entries = plan()
    assert [(each["repeat"], each["case"], each["precision"], each["batch"]) for each in entries] == [
        (repeat, case, precision, batch)
        for repeat in (1, 2)
        for case in ("1n1g", "2n8g")
        for precision, batch in (("fp32", 128), ("bf16", 256))
    ]
    assert len({each["name"] for each in entries}) == 8


def test_a_case_uses_its_hosts_with_its_slots_from_the_head_on() -> None:
    (entry,) = plan(cases=["2n4g"], batches={"fp32": 1}, repeats=1)
    assert [(host["name"], host["slots"]) for host in entry["hosts"]] == [("gpu01", 4), ("gpu02", 4)]
    assert (entry["nodes"], entry["gpus_per_node"]) == (2, 4)


def test_more_than_nine_nodes_are_a_case_too() -> None:
    many = [{"name": f"n{number}", "address": f"192.0.2.{number}", "slots": 8} for number in range(1, 17)]
    (entry,) = benchmark_plan(many, {}, cases=["16n8g"], batches={"fp32": 128}, repeats=1)
    assert entry["nodes"] == 16


@pytest.mark.parametrize(
    ("slots", "cases"),
    [
        ([1, 1, 1, 1], ["1n1g", "2n1g", "4n1g"]),
        ([8], ["1n1g", "1n2g", "1n4g", "1n8g"]),
        ([8, 8, 8], ["1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "3n8g"]),
        ([2, 1], ["1n1g", "1n2g", "2n1g"]),
    ],
)
def test_default_cases_double_up_to_everything(slots: list[int], cases: list[str]) -> None:
    assert (
        cases_of([{"name": f"n{n}", "address": f"192.0.2.{n + 1}", "slots": count} for n, count in enumerate(slots)])
        == cases
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"parameters": {**PARAMETERS, "image_size": 192}},
        {"parameters": {**PARAMETERS, "env": {"NCCL_DEBUG": "WARN", "NCCL_ALGO": "Ring"}}},
        {"batches": {"fp32": 64}},
        {"hosts": [{**HOSTS[0], "address": "192.0.2.99"}, *HOSTS[1:]]},
    ],
    ids=["image_size", "environment", "batch", "address"],
)
def test_whatever_decides_the_figure_changes_the_name_of_the_repeat(changed: dict[str, Any]) -> None:
    given: dict[str, Any] = {"hosts": HOSTS, "parameters": PARAMETERS, "batches": {"fp32": 128}, **changed}
    hosts, parameters = given.pop("hosts"), given.pop("parameters")
    (same,) = benchmark_plan(HOSTS, PARAMETERS, cases=["1n1g"], batches={"fp32": 128}, repeats=1)
    (other,) = benchmark_plan(hosts, parameters, cases=["1n1g"], repeats=1, **given)
    assert other["name"] != same["name"]


def test_the_order_of_keys_decides_nothing() -> None:
    assert digest({"a": 1, "b": {"c": 2, "d": 3}}) == digest({"b": {"d": 3, "c": 2}, "a": 1})


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"cases": ["5n1g"]}, "needs 5 host(s)"),
        ({"cases": ["1n9g"]}, "gpu01 (8)"),
        ({"cases": ["0n1g"]}, "not a case"),
        ({"cases": ["4n"]}, "not a case"),
        ({"repeats": 0}, "not a number of repeats"),
        ({"batches": {"fp32": "many"}}, "many"),
    ],
)
def test_impossible_plans_are_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises((LayerError, ValueError), match=words.replace("(", r"\(").replace(")", r"\)")):
        plan(**changed)


def test_a_saved_record_counts_only_whole_and_with_the_same_parameters(tmp_path: Path) -> None:
    def read(text: str, parameters: dict[str, Any]) -> dict[str, Any]:
        (tmp_path / "record.json").write_text(text)
        return saved(tmp_path / "record.json", parameters)

    (entry,) = plan(cases=["1n1g"], batches={"fp32": 1}, repeats=1)
    text = json.dumps({"parameters": entry["parameters"], "img_s": 1.0})
    assert read(text, entry["parameters"]) == json.loads(text)
    assert read(text[:-5], entry["parameters"]) == {}
    assert read(text, {**entry["parameters"], "batch": 2}) == {}
    assert read("[]", entry["parameters"]) == {}
    assert read("", {}) == {}
    assert saved(tmp_path / "none.json", {}) == {}


def test_records_are_read_from_tagged_and_glued_output() -> None:
    text = (
        '[1,0]<stdout>:ROCEMESH-BENCHMARK {"settings": {"backend": "gloo"}}[1,1]<stdout>:noise\n[1,0]<stdout>:\n'
        '[1,0]<stdout>:ROCEMESH-BENCHMARK {"model": "resnet50"}\n[1,0]<stdout>:ROCEMESH-BENCHMARK {"problem": "p"}\n'
        '[1,0]<stdout>:ROCEMESH-BENCHMARK {"problem": "p"}\n[1,0]<stdout>:ROCEMESH-BENCHMARK {"model": "cut o\n'
        '[1,0]<stdout>:ROCEMESH-BENCHMARK {"trace": {"file": "/t", "bytes": 3}}\n'
    )
    found = records(text)
    assert found["results"] == [{"model": "resnet50"}]
    assert found["settings"] == {"backend": "gloo"}
    assert found["trace"] == {"file": "/t", "bytes": 3}
    assert found["problems"] == ["p", 'a broken line: ROCEMESH-BENCHMARK {"model": "cut o']


def done(entry: dict[str, Any], speed: float) -> dict[str, Any]:
    ranks = [{"images_per_second": speed, "machine": {"backend": "nccl", "warmup_seconds": 2.5}}]
    return repeat_record(entry, {"total": speed, "per_rank": ranks}, 12.3456)


def test_results_have_all_repeats_their_mean_and_median_and_missing_ones_are_told() -> None:
    entries = plan(cases=["1n1g", "2n8g"], batches={"fp32": 128}, repeats=3)
    ones = [each for each in entries if each["case"] == "1n1g"]
    kept = [done(entry, speed) for entry, speed in zip(ones, (10.0, 30.0, 11.0))]
    results, problems = scaling_results(entries, kept)
    (result,) = results
    assert (result["repeats"], result["mean"], result["median"]) == ([10.0, 30.0, 11.0], 17.0, 11.0)
    assert result["warmup_s"] == [2.5] * 3
    assert problems == ["2n8g fp32 b128: 0 of 3 repeats; missing: [1, 2, 3]"]
    document = decide(
        "benchmark_file", check=True, folder="/", kind="scaling", plan=entries, repeats=kept, simulated=True
    )["document"]
    assert (document["backend"], document["simulated"]) == ("nccl", True)
    assert document["problems"] == problems
    json.dumps(document, allow_nan=False)


# The figures that DLPerf published for 1n1g and 4n8g (ResNet-50 v1b, MXNet, fp32, batch 128), run by run.
PUBLISHED = {"1n1g": (385.31, 384.16, 384.19, 385.23, 384.04), "4n8g": (9568.3, 9611.24, 9579.55, 9579.74, 9631.67)}


def test_the_published_runs_give_the_published_table() -> None:
    entries = plan(cases=list(PUBLISHED), batches={"fp32": 128}, repeats=5)
    kept = [done(entry, PUBLISHED[entry["case"]][entry["repeat"] - 1]) for entry in entries]
    results, problems = scaling_results(entries, kept)
    assert not problems
    assert dlperf(results, "fp32", 128) == {
        "rn50": {
            "1n1g": {
                "average_speed": 384.59,
                "batch_size_per_device": 128,
                "median_speed": 384.19,
                "speedup": 1.0,
            },
            "4n8g": {
                "average_speed": 9594.1,
                "batch_size_per_device": 128,
                "median_speed": 9579.74,
                "speedup": 24.93,
            },
        }
    }


def test_without_one_gpu_there_is_no_speedup() -> None:
    entries = plan(cases=["2n8g"], batches={"fp32": 1}, repeats=1)
    results, _problems = scaling_results(entries, [done(entries[0], 5.0)])
    assert dlperf(results, "fp32", 1)["rn50"]["2n8g"]["speedup"] is None


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="guesses"):
        decide("benchmark_file", folder="/", kind="guesses")


def test_files_are_written_whole_and_found_again_with_the_same_parameters(tmp_path: Path) -> None:
    entries = plan(cases=["1n1g"], batches={"fp32": 128}, repeats=2)
    kept = [done(entry, 5.0) for entry in entries]
    wanted = {"image_size": 224}
    common = {"folder": str(tmp_path), "kind": "scaling", "parameters": wanted}
    assert decide("benchmark_file", check=True, plan=entries, repeats=kept, **common)["document"]["problems"] == []
    assert list(tmp_path.iterdir()) == []
    assert decide("benchmark_file", state="known", **common)["document"] == {}
    written = decide("benchmark_file", plan=entries, repeats=kept, **common)["document"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fp32_bz128_result.json", "scaling.json"]
    assert decide("benchmark_file", state="known", **common)["document"] == written
    assert decide("benchmark_file", state="known", **{**common, "parameters": {"image_size": 8}})["document"] == {}
    decide("benchmark_file", plan=entries, repeats=kept[:1], **common)
    assert decide("benchmark_file", state="known", **common)["document"] == {}, "one with a problem is not done"


def test_a_plan_knows_what_is_done_and_a_broken_file_is_not(tmp_path: Path) -> None:
    entries = plan(cases=["1n1g"], batches={"fp32": 128}, repeats=3)
    (tmp_path / f"{entries[0]['name']}.json").write_text(json.dumps(done(entries[0], 5.0)))
    (tmp_path / f"{entries[1]['name']}.json").write_text(json.dumps(done(entries[1], 5.0))[:-9])
    found = decide(
        "benchmark_plan",
        hosts=HOSTS,
        parameters=PARAMETERS,
        cases=["1n1g"],
        batches={"fp32": 128},
        repeats=3,
        folder=str(tmp_path),
    )
    assert [record["name"] for record in found["done"]] == [entries[0]["name"]]
    assert found["todo"] == entries[1:]


def test_a_repeat_is_kept_only_if_its_figures_support_each_other(tmp_path: Path) -> None:
    (entry,) = plan(cases=["1n1g"], batches={"fp32": 128}, repeats=1)
    common = {"folder": str(tmp_path), "kind": "repeat", "repeat": entry, "seconds": 12.5}
    with pytest.raises(ValueError, match=r"nothing was measured.*Log: a\.log"):
        decide("benchmark_file", output="", log="a.log", **common)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="log contradicts itself"):
        decide("benchmark_file", output=(FIXTURES / "guide_sample.txt").read_text(), **common)
    assert list(tmp_path.iterdir()) == []
    sound = (FIXTURES / "openmpi414" / "tag_output_glued.txt").read_text()
    made = decide("benchmark_file", output=sound, **common)["document"]
    assert (made["name"], made["job_s"], made["img_s"]) == (entry["name"], 12.5, 8400.0)
    assert json.loads((tmp_path / f"{entry['name']}.json").read_text()) == made
