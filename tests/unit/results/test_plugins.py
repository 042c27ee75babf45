"""The filters as playbooks call them, and the module run_report as Ansible runs it."""

from __future__ import annotations

import functools
import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.rocemesh.multinode.plugins.filter import (
    mpirun_command,
    mpirun_failure,
    nccl_path,
    nccl_run_env,
    nccl_topology,
    nccl_variables,
    read_log,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.registry import BY_NAME
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import summary
from ansible_collections.rocemesh.multinode.plugins.modules import run_report

from tests.unit.decisions import decide

from .logs import LOGS, OWN, log

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Of each kind a log; whoever adds one records a log, too.
WORDS = yaml.safe_load((ROOT / "docs" / "readers.yml").read_text())
LOGS_OF = {**OWN, "answers": "torch_text_form.txt"}
TYPES = {"bool": bool, "int": int, "float": (int, float), "str": str, "list": list, "dict": dict}
HOSTS = [{"name": "gpu01", "address": "192.0.2.11", "slots": 1}, {"name": "gpu02", "address": "192.0.2.12"}]


FILTERS = [mpirun_command, mpirun_failure, nccl_path, nccl_run_env, nccl_topology, nccl_variables, read_log]


@pytest.mark.parametrize("plugin", FILTERS)
def test_every_filter_documents_itself_under_its_own_name(plugin: Any) -> None:
    (name,) = plugin.FilterModule().filters()
    assert yaml.safe_load(plugin.DOCUMENTATION)["name"] == name
    assert f"rocemesh.multinode.{name}" in plugin.EXAMPLES
    yaml.safe_load(plugin.EXAMPLES)
    yaml.safe_load(plugin.RETURN)


def test_the_filter_documents_the_kinds_and_options_of_the_registry() -> None:
    options = yaml.safe_load(read_log.DOCUMENTATION)["options"]
    assert options["kind"]["choices"] == list(BY_NAME)
    known = {kind: {option.name for option in BY_NAME[kind].options} for kind in BY_NAME}
    assert set(options) - {"_input", "kind"} == set().union(*known.values())
    assert known == {kind: set(words.get("options", ())) for kind, words in WORDS["kinds"].items()}


@pytest.mark.parametrize("kind", BY_NAME)
def test_a_log_is_a_text_or_a_path_and_the_result_plain_data(kind: str, tmp_path: pathlib.Path) -> None:
    path = (LOGS / LOGS_OF[kind]).resolve()
    result = read_log.read_log(path.read_text(), kind)
    assert result == read_log.read_log(str(path), kind)
    json.dumps(result, allow_nan=False)
    assert "no_result" not in [problem["code"] for problem in result["problems"]]
    empty = tmp_path / "empty.log"
    empty.write_bytes(b"")
    nothing = read_log.read_log(str(empty), kind)
    assert (nothing["ok"], [problem["code"] for problem in nothing["problems"]]) == (False, ["no_result"])


@pytest.mark.parametrize("kind", BY_NAME)
def test_a_result_is_what_the_schema_of_its_kind_says(kind: str) -> None:
    schema = {**WORDS["common"], **WORDS["kinds"][kind]["gives"]}
    texts = [(LOGS / LOGS_OF[kind]).read_text(), ""] + ([log("dlperf_extractor.txt")] if kind == "mxnet_speed" else [])
    seen = set()
    for text in texts:
        for key, value in read_log.read_log(text, kind).items():
            name, _question, _rest = schema[key]["type"].partition("?")
            assert (value is None and schema[key]["type"].endswith("?")) or isinstance(value, TYPES[name]), (key, value)
            assert not isinstance(value, bool) or name == "bool", key
            seen.add(key)
    assert seen == set(schema)


def test_the_page_about_readers_is_what_the_registry_says() -> None:
    """If this fails: docs/readers.py writes it."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "readers.py"), "--check"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", BY_NAME)
@pytest.mark.parametrize("value", [None, 5, ["a"], "/no/such/file"])
def test_what_is_no_log_is_refused(kind: str, value: Any) -> None:
    with pytest.raises(AnsibleFilterError, match=r"^read_log: "):
        read_log.read_log(value, kind)


@pytest.mark.parametrize(
    ("kind", "options"), [("nonsense", {}), ("perftest", {"ranks": 4}), ("tf_cnn", {"windows": 9})]
)
def test_an_unknown_kind_or_option_is_refused_and_the_known_ones_are_named(kind: str, options: dict[str, int]) -> None:
    with pytest.raises(AnsibleFilterError, match=r"give one of tf_cnn|does not take"):
        read_log.read_log("x", kind, **options)


@pytest.mark.parametrize("ranks", ["many", 0, -1, 2.5])
def test_a_number_of_ranks_that_is_none_is_refused(ranks: Any) -> None:
    with pytest.raises(AnsibleFilterError, match="ranks"):
        read_log.read_log("x", "nccl_tests", ranks=ranks)


def test_number_of_ranks_may_come_as_text_from_jinja() -> None:
    assert read_log.read_log(log("nccl_tests_16_ranks_roce.txt"), "nccl_tests", ranks="16")["ok"] is True


def test_speed_filter_reads_a_log_a_tree_a_dictionary_and_the_extractors_text(tmp_path: pathlib.Path) -> None:
    speed = functools.partial(read_log.read_log, kind="mxnet_speed")
    windows = "".join(f"Epoch[0] Batch[{number}]\tSpeed: 10.0 samples/sec\n" for number in range(3))
    name = "bz8/1n1g/rn50_b8_fp32_1.log"
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(windows)
    of_disk = speed(str(tmp_path), windows=3, dropped=1)
    of_texts = speed({name: windows}, windows=3, dropped="1")
    assert of_disk == of_texts
    assert (of_disk["kind"], of_disk["ok"]) == ("tree", True)
    assert of_disk["result"]["rn50"]["1n1g"]["median_speed"] == 10.0
    assert speed(windows)["kind"] == "log"
    printed = speed(log("dlperf_extractor.txt"), repeats=5)
    assert (printed["kind"], printed["ok"], printed["result"]["rn50"]["4n8g"]["speedup"]) == ("printed", True, 24.93)
    for wrong in ({"dropped": 120}, {"dropped": -1}, {"windows": 0}, {"repeats": "x"}):
        with pytest.raises(AnsibleFilterError):
            speed(windows, **wrong)
    with pytest.raises(AnsibleFilterError):
        speed({"a": 1})


def test_failure_filter_reads_a_module_failure_without_rc() -> None:
    found = mpirun_failure.mpirun_failure({"msg": 'Could not find container "mpicont"'}, HOSTS)
    assert found["cause"] == "container_missing"


def test_failure_filter_names_host_cause_and_remedy() -> None:
    found = mpirun_failure.mpirun_failure(
        {"rc": 255, "stdout": "", "stderr": "ssh: connect to host 192.0.2.12 port 22: Connection refused"}, HOSTS
    )
    assert found["message"].startswith("gpu02: nothing listens on the ssh port.")
    assert "What to do: start the container" in found["message"]


def test_answers_are_in_the_order_of_the_ranks() -> None:
    text = "[1,10]<stdout>:c\n[1,2]<stdout>:b\n[1,0]<stdout>:a\n"
    assert read_log.read_log(text, "answers")["answers"] == [
        {"rank": 0, "lines": ["a"]},
        {"rank": 2, "lines": ["b"]},
        {"rank": 10, "lines": ["c"]},
    ]


def test_answers_name_the_ranks_that_said_nothing() -> None:
    found = read_log.read_log("[1,0]<stdout>:a\nmpirun: a word of its own\n[1,1]<stderr>:b\n", "answers", ranks=2)
    assert (found["ok"], found["answers"]) == (False, [{"rank": 0, "lines": ["a"]}])
    assert [problem["code"] for problem in found["problems"]] == ["missing_ranks"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: mpirun_failure.mpirun_failure("text"),  # type: ignore[arg-type]
        lambda: mpirun_command.mpirun_command([], ["hostname"], "192.0.2.0/24"),
        lambda: mpirun_command.mpirun_command(HOSTS, ["hostname"], "nonsense"),
    ],
)
def test_wrong_input_is_a_filter_error(call: Any) -> None:
    with pytest.raises(AnsibleFilterError):
        call()


def test_module_writes_summary_report_and_log(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("[1,0]<stdout>:x\n")
    options = {"path": str(tmp_path / "reports"), "run_id": "r1", "simulated": True, "log": str(log)}
    result = decide("run_report", **options)
    latest = tmp_path / "reports" / "latest"
    assert result["changed"] is True
    assert json.loads((latest / "summary.json").read_text()) == result["summary"]
    assert (latest / "report.md").read_text().startswith("# SIMULATED")
    assert (latest / "mpirun.log").read_text() == log.read_text()
    assert decide("run_report", **options)["changed"] is False


def test_module_in_check_mode_writes_nothing(tmp_path: pathlib.Path) -> None:
    result = decide("run_report", check=True, path=str(tmp_path / "reports"), run_id="r1")
    assert result["changed"] is True
    assert not (tmp_path / "reports").exists()


def test_module_fails_with_the_reason_when_the_log_is_missing(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RefusedError, match=r"none\.log"):
        decide("run_report", path=str(tmp_path), run_id="r1", log=str(tmp_path / "none.log"))
    assert not (tmp_path / "r1").exists()


def test_documentation_and_argument_spec_agree() -> None:
    documented = yaml.safe_load(run_report.DOCUMENTATION)["options"]
    assert documented["simulated_layers"]["choices"] == list(summary.LAYERS)
    assert documented["simulated_layers"]["default"] == list(summary.SIMULATED_LAYERS)
