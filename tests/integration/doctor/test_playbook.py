"""playbooks/doctor.yml as a person starts it: a log, a site of which little answers, a terminal; its exit status."""

from __future__ import annotations

import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLOSED = 9  # discard: nobody listens there
XID = "Feb  1 10:00:00 gpu03 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
MEMLOCK = "gpu01:1:2 [0] NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory\n"


def command(folder: pathlib.Path, *arguments: str) -> list[str]:
    program = str(pathlib.Path(sys.executable).with_name("ansible-playbook"))
    return [program, "playbooks/doctor.yml", *arguments, "-e", f"doctor_dest={folder}/doctor.json"]


def environment(folder: pathlib.Path) -> dict[str, str]:
    more = {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": str(folder / "home"), "ANSIBLE_SSH_RETRIES": "0"}
    return {**os.environ, **more}


def play(folder: pathlib.Path, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    done = subprocess.run(
        command(folder, *arguments), cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
        stdin=subprocess.DEVNULL, env=environment(folder),
    )  # fmt: skip
    output = done.stdout + done.stderr
    assert (folder / "doctor.json").is_file(), output
    return done.returncode, output, json.loads((folder / "doctor.json").read_text())


@pytest.mark.parametrize(("text", "status"), [("ulimit -l unlimited\n", 6), (XID, 2), (MEMLOCK, 3)])
def test_the_exit_status_is_the_verdict(text: str, status: int, tmp_path: pathlib.Path) -> None:
    (tmp_path / "job.log").write_text(text)
    found = play(tmp_path, "-i", "localhost,", "-e", f"doctor_bundle={tmp_path}/job.log")
    assert found[0] == status, found[1]


@pytest.fixture
def inventory(tmp_path: pathlib.Path) -> str:
    """A switch, an ESXi host and a VM that do not answer, and a VM that does."""
    away = {"ansible_host": "127.0.0.1", "ansible_port": CLOSED, "ansible_ssh_common_args": "-F none"}
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "ansible_become": False}
    vcenter = {"hostname": "127.0.0.1", "port": CLOSED, "username": "u", "password": "p", "validate_certs": False}
    switch = {"password": "x", "ports": ["1/1"], "vlan": 5, "host_key_checking": "false"}
    variables = {
        **{f"switch_{name}": value for name, value in switch.items()},
        **{f"rocemesh_vcenter_{name}": value for name, value in vcenter.items()},
    }
    site = {
        "switches": {"hosts": {"leaf1": {"ansible_host": "127.0.0.1", "switch_port": CLOSED}}},
        "esxi_hosts": {"hosts": {"esx01": {}}},
        "gpu_vms": {"hosts": {"vm1": here, "vm2": away}},
        "all": {"vars": variables},
    }
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(site))
    return str(tmp_path / "hosts.yml")


def test_what_does_not_answer_is_named_and_does_not_hide_the_rest(inventory: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "job.log").write_text(XID)
    status, output, found = play(tmp_path, "-i", inventory, "-e", f"doctor_job={tmp_path}/job.log")
    assert status == 2, output
    assert (found["findings"][0]["cause"], found["findings"][0]["host"]) == ("gpu_fault", "gpu03")
    read = set(found["read"])
    assert {"hosts/vm2/answer", "switches/leaf1/answer", "esxi/esx01/answer", "esxi/vcenter/answer"} <= read
    assert "hosts/vm1/kernel.txt" in read
    assert ("node_not_answering", ["vm2"]) in [(each["cause"], each["hosts"]) for each in found["findings"]]


def test_a_part_of_the_site_is_read_alone(inventory: str, tmp_path: pathlib.Path) -> None:
    status, output, found = play(tmp_path, "-i", inventory, "--limit", "leaf1")
    assert (status, found["read"]) == (3, ["switches/leaf1/answer"]), output


def test_a_person_at_a_terminal_gives_a_file_and_one_cause_is_left(tmp_path: pathlib.Path) -> None:
    (tmp_path / "job.log").write_text(MEMLOCK)
    (tmp_path / "out.txt").write_text("ulimit -l: 64\n")
    arguments = ["-i", "localhost,", "-e", f"doctor_bundle={tmp_path}/job.log", "-e", "doctor_interactive=true"]
    status, said = _at_a_terminal(command(tmp_path, *arguments), environment(tmp_path), f"{tmp_path}/out.txt")
    assert status == 2, said
    assert "Question 1." in said
    found = json.loads((tmp_path / "doctor.json").read_text())
    assert (found["findings"][0]["cause"], found["settled"]) == ("memlock_host", "memlock_host"), said


def _at_a_terminal(program: list[str], variables: dict[str, str], answer: str) -> tuple[int, str]:
    """Exit status and output of a program that has a terminal of its own, where each question is answered so. What is
    typed before the program reads is thrown away by it, so a question without a reaction is answered again."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT)
        os.execve(program[0], program, variables)
    said = ""
    until = time.monotonic() + 300
    while True:
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError(f"no end within 300 s: {said[-3000:]}")
        if not select.select([terminal], [], [], 1)[0]:
            if "q: stop." in said.rpartition("Question")[2][-600:]:
                os.write(terminal, answer.encode() + b"\x04")
            continue
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        said += part.decode("utf-8", "replace")
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said
