# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters as playbooks call them, and the module run_report as Ansible runs it."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rocemesh.multinode.plugins.filter import (
    horovod_synthetic,
    mpirun_answers,
    mpirun_command,
    mpirun_failure,
    mxnet_bandwidth,
    mxnet_perf_tables,
    mxnet_speed,
    nccl_log,
    nccl_path,
    nccl_run_env,
    nccl_tests,
    nccl_topology,
    nccl_variables,
    perftest,
    tf_cnn_log,
    torch_ranks,
)
from ansible_collections.rocemesh.multinode.plugins.modules import run_report

from .logs import LOGS, OWN, log

# filter -> a log that it reads
LOG_FILTERS: dict[Any, str] = {
    tf_cnn_log: OWN["tf_cnn"],
    torch_ranks: OWN["torch_ranks"],
    nccl_tests: OWN["nccl_tests"],
    perftest: OWN["perftest"],
    mxnet_bandwidth: OWN["mxnet_bandwidth"],
    mxnet_speed: OWN["mxnet_speed"],
    mxnet_perf_tables: OWN["perf_tables"],
    horovod_synthetic: OWN["horovod"],
}
HOSTS = [{"name": "gpu01", "address": "192.0.2.11", "slots": 1}, {"name": "gpu02", "address": "192.0.2.12"}]


NCCL_FILTERS = [nccl_log, nccl_path, nccl_run_env, nccl_topology, nccl_variables]


@pytest.mark.parametrize("plugin", [mpirun_answers, mpirun_command, mpirun_failure, *LOG_FILTERS, *NCCL_FILTERS])
def test_every_filter_documents_itself_under_its_own_name(plugin: Any) -> None:
    (name,) = plugin.FilterModule().filters()
    assert yaml.safe_load(plugin.DOCUMENTATION)["name"] == name
    assert f"rocemesh.multinode.{name}" in plugin.EXAMPLES
    yaml.safe_load(plugin.EXAMPLES)
    yaml.safe_load(plugin.RETURN)


@pytest.mark.parametrize("plugin", LOG_FILTERS)
def test_log_filters_take_a_text_or_a_path_and_give_plain_data(plugin: Any, tmp_path: pathlib.Path) -> None:
    ((_name, read),) = plugin.FilterModule().filters().items()
    path = (LOGS / LOG_FILTERS[plugin]).resolve()
    result = read(path.read_text())
    assert result == read(str(path))
    json.dumps(result, allow_nan=False)
    assert "no_result" not in [problem["code"] for problem in result["problems"]]
    empty = tmp_path / "empty.log"
    empty.write_bytes(b"")
    nothing = read(str(empty))
    assert (nothing["ok"], [problem["code"] for problem in nothing["problems"]]) == (False, ["no_result"])
    documented = yaml.safe_load(plugin.DOCUMENTATION)
    for option in documented["positional"].split(", ")[1:]:
        assert option in documented["options"]


@pytest.mark.parametrize("plugin", LOG_FILTERS)
@pytest.mark.parametrize("value", [None, 5, ["a"], "/no/such/file"])
def test_log_filters_refuse_what_is_no_log(plugin: Any, value: Any) -> None:
    ((name, read),) = plugin.FilterModule().filters().items()
    with pytest.raises(AnsibleFilterError, match=f"^{name}: "):
        read(value)


@pytest.mark.parametrize("ranks", ["many", 0, -1, 2.5])
def test_a_number_of_ranks_that_is_none_is_refused(ranks: Any) -> None:
    with pytest.raises(AnsibleFilterError, match="ranks"):
        nccl_tests.nccl_tests("x", ranks=ranks)


def test_number_of_ranks_may_come_as_text_from_jinja() -> None:
    assert nccl_tests.nccl_tests(log("nccl_tests_16_ranks_roce.txt"), ranks="16")["ok"] is True


def test_speed_filter_reads_a_log_a_tree_a_dictionary_and_the_extractors_text(tmp_path: pathlib.Path) -> None:
    windows = "".join(f"Epoch[0] Batch[{number}]\tSpeed: 10.0 samples/sec\n" for number in range(3))
    name = "bz8/1n1g/rn50_b8_fp32_1.log"
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(windows)
    of_disk = mxnet_speed.mxnet_speed(str(tmp_path), windows=3, dropped=1)
    of_texts = mxnet_speed.mxnet_speed({name: windows}, windows=3, dropped="1")
    assert of_disk == of_texts
    assert (of_disk["kind"], of_disk["ok"]) == ("tree", True)
    assert of_disk["result"]["rn50"]["1n1g"]["median_speed"] == 10.0
    assert mxnet_speed.mxnet_speed(windows)["kind"] == "log"
    printed = mxnet_speed.mxnet_speed(log("dlperf_extractor.txt"), repeats=5)
    assert (printed["kind"], printed["ok"], printed["result"]["rn50"]["4n8g"]["speedup"]) == ("printed", True, 24.93)
    for wrong in ({"dropped": 120}, {"dropped": -1}, {"windows": 0}, {"repeats": "x"}):
        with pytest.raises(AnsibleFilterError):
            mxnet_speed.mxnet_speed(windows, **wrong)
    with pytest.raises(AnsibleFilterError):
        mxnet_speed.mxnet_speed({"a": 1})


def test_failure_filter_reads_a_module_failure_without_rc() -> None:
    found = mpirun_failure.mpirun_failure({"msg": 'Could not find container "mpicont"'}, HOSTS)
    assert found["cause"] == "container_missing"


def test_failure_filter_names_host_cause_and_remedy() -> None:
    found = mpirun_failure.mpirun_failure(
        {"rc": 255, "stdout": "", "stderr": "ssh: connect to host 192.0.2.12 port 22: Connection refused"}, HOSTS
    )
    assert found["message"].startswith("gpu02: nothing listens on the ssh port.")
    assert "What to do: start sshd" in found["message"]


def test_answers_are_in_the_order_of_the_ranks() -> None:
    text = "[1,10]<stdout>:c\n[1,2]<stdout>:b\n[1,0]<stdout>:a\n"
    assert mpirun_answers.mpirun_answers(text) == [
        {"rank": 0, "lines": ["a"]},
        {"rank": 2, "lines": ["b"]},
        {"rank": 10, "lines": ["c"]},
    ]


@pytest.mark.parametrize(
    "call",
    [
        lambda: mpirun_answers.mpirun_answers(None),
        lambda: tf_cnn_log.tf_cnn_log(["no", "text"]),
        lambda: mpirun_failure.mpirun_failure("text"),  # type: ignore[arg-type]
        lambda: mpirun_command.mpirun_command([], ["hostname"], "192.0.2.0/24"),
        lambda: mpirun_command.mpirun_command(HOSTS, ["hostname"], "nonsense"),
    ],
)
def test_wrong_input_is_a_filter_error(call: Any) -> None:
    with pytest.raises(AnsibleFilterError):
        call()


def call_module(capsys: pytest.CaptureFixture[str], **arguments: Any) -> dict[str, Any]:
    with patch_module_args(arguments), pytest.raises(SystemExit):
        run_report.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_module_writes_summary_report_and_log(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "train.log"
    log.write_text("[1,0]<stdout>:x\n")
    result = call_module(capsys, path=str(tmp_path / "reports"), run_id="r1", simulated=True, log=str(log))
    latest = tmp_path / "reports" / "latest"
    assert result["changed"] is True
    assert json.loads((latest / "summary.json").read_text()) == result["summary"]
    assert (latest / "report.md").read_text().startswith("# SIMULATED")
    assert (latest / "mpirun.log").read_text() == log.read_text()
    again = call_module(capsys, path=str(tmp_path / "reports"), run_id="r1", simulated=True, log=str(log))
    assert again["changed"] is False


def test_module_in_check_mode_writes_nothing(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = call_module(capsys, path=str(tmp_path / "reports"), run_id="r1", _ansible_check_mode=True)
    assert result["changed"] is True
    assert not (tmp_path / "reports").exists()


def test_module_fails_with_the_reason_when_the_log_is_missing(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = call_module(capsys, path=str(tmp_path), run_id="r1", log=str(tmp_path / "none.log"))
    assert result["failed"] is True
    assert "none.log" in result["msg"]
    assert not (tmp_path / "r1").exists()


def test_documentation_and_argument_spec_agree() -> None:
    documented = yaml.safe_load(run_report.DOCUMENTATION)["options"]
    assert documented["simulated_layers"]["choices"] == list(run_report.LAYERS)
    assert documented["simulated_layers"]["default"] == list(run_report.SIMULATED_LAYERS)
