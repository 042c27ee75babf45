"""What a run leaves: the log of all its ranks on the controller, and nothing in the containers."""

import os
import pathlib
import re

PREPARED = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"]) / "prepared"
LOGS = pathlib.Path(os.environ["MOLECULE_SCENARIO_DIRECTORY"]) / "reports" / "logs"


def test_the_log_of_the_training_has_every_rank():
    logs = [path for path in LOGS.glob("*/train.log") if path.stat().st_mtime > PREPARED.stat().st_mtime]
    assert len(logs) == 1, "one training since the scenario was prepared"
    text = logs[0].read_text()
    assert set(re.findall(r"^\[1,(\d+)\]<stdout>", text, re.M)) == {"0", "1", "2", "3"}
    assert "images/sec" in text


def test_server_and_container_run_without_root_and_without_capabilities(host):
    with host.sudo():
        status = host.check_output("docker exec mpicont cat /proc/1/status")
        processes = host.check_output("docker top mpicont -eo pid,uid")
    assert {line.split()[1] for line in processes.splitlines()[1:]} == {"10001"}
    assert re.findall(r"^Cap(?:Eff|Bnd):\t(\w+)", status, re.M) == ["0" * 16] * 2


def test_no_ranks_are_left(host):
    with host.sudo():
        processes = host.check_output("docker top mpicont -eo pid,args")
    assert "orted" not in processes
    assert "resnet50" not in processes
