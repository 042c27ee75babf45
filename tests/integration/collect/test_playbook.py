"""playbooks/collect.yml as a person starts it: what answers is collected, what does not is named, no name goes out."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tarfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLOSED = 9  # discard: nobody listens there


def play(folder: pathlib.Path, *arguments: str) -> tuple[int, str]:
    command = [str(pathlib.Path(sys.executable).with_name("ansible-playbook")), "playbooks/collect.yml", *arguments]
    done = subprocess.run(
        [*command, "-e", f"collect_dest={folder}/out.tar.gz"], cwd=ROOT, capture_output=True, text=True, timeout=600,
        check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": str(folder / "home"), "ANSIBLE_SSH_RETRIES": "0"},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def members(path: pathlib.Path) -> dict[str, str]:
    with tarfile.open(path) as packed:
        return {member.name: packed.extractfile(member).read().decode() for member in packed}  # type: ignore[union-attr]


def test_whatever_of_a_site_answers_is_in_the_archive_without_its_names(tmp_path: pathlib.Path) -> None:
    away = {"ansible_host": "127.0.0.1", "ansible_port": CLOSED, "ansible_ssh_common_args": "-F none"}
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "ansible_become": False}
    inventory = {
        "switches": {"hosts": {"leaf-q7": {"ansible_host": "127.0.0.1", "switch_port": CLOSED}}},
        "gpu_vms": {"hosts": {"vmq81": here, "vmq82": away}},
        "all": {"vars": {"switch_password": "hunter-of-7-switches", "switch_ports": ["1/1"], "switch_vlan": 5,
                         "switch_host_key_checking": "false"}},
    }  # fmt: skip
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(inventory))
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "out.log").write_text("vmq82:1:2 [0] NCCL INFO pass hunter-of-7-switches to vmq81 192.0.2.81\n")
    status, output = play(tmp_path, "-i", str(tmp_path / "hosts.yml"), "-e", f"collect_bundle={tmp_path}/job")
    assert (tmp_path / "out.tar.gz").is_file(), output
    assert (tmp_path / "out.tar.gz").stat().st_mode & 0o777 == 0o600
    held = members(tmp_path / "out.tar.gz")
    everything = "".join([*held, *held.values()])
    assert not [name for name in ("vmq8", "leaf-q7", "hunter-of", "192.0.2.81") if name in everything]
    (kernel,) = [text for name, text in held.items() if name.endswith("/kernel.txt")]
    assert "Linux" in kernel
    (silent,) = [text for name, text in held.items() if name.startswith("hosts/") and name.endswith("/answer")]
    assert silent.startswith("unreachable: ") and "Connection refused" in silent
    (switch,) = [text for name, text in held.items() if name.startswith("switches/") and name.endswith("/answer")]
    assert switch.startswith("unreachable: ")
    assert "hunter-of" not in output and "Nothing was sent" in output
    assert status in (0, 4)  # a host that does not answer is told at the end, too


def test_a_log_alone_needs_no_inventory_and_a_second_run_does_not_overwrite(tmp_path: pathlib.Path) -> None:
    (tmp_path / "job.log").write_text("gpu01:1:2 [0] NCCL WARN Call to connect to 192.0.2.7<5> failed\n")
    first = [*("-i", "localhost,"), "-e", f"collect_bundle={tmp_path}/job.log"]
    status, output = play(tmp_path, *first, "--check")
    assert status == 0 and "would hold 1 pieces" in " ".join(output.split()), output
    assert not (tmp_path / "out.tar.gz").exists()
    status, output = play(tmp_path, *first)
    assert status == 0, output
    before = (tmp_path / "out.tar.gz").read_bytes()
    assert members(tmp_path / "out.tar.gz")["job.log"].startswith("host-1:1:2 [0] NCCL WARN")
    status, output = play(tmp_path, *first, "--check")
    assert status == 2 and "something already" in output
    status, output = play(tmp_path, *first)
    assert status == 2 and "something already" in output
    assert (tmp_path / "out.tar.gz").read_bytes() == before
