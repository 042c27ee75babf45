"""Role run, tasks probe and train, as Ansible runs them; the container engine and mpirun are stand-ins."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.plays import ROOT, ansible
from tests.unit.results.nccl_shapes import Job

HOSTS = ("gpu01", "gpu02")
RUN_ENV = {"NCCL_IB_DISABLE": "0", "NCCL_DEBUG": "INFO"}
QUIET = {"NCCL_IB_DISABLE": "0", "NCCL_NET": "IB"}
OBSERVED = {
    "NCCL_DEBUG": "INFO",
    "NCCL_DEBUG_SUBSYS": "INIT,NET,ENV,GRAPH",
    "NCCL_DEBUG_FILE": "/tmp/rocemesh-nccl-one-timed.%h.%p.log",
}
# As the mesh leads into the container of gpu02, whose /tmp is another folder.
SSH = """#!/bin/sh
exec sh -c "$(printf '%s' "$2" | sed 's,/gpu01/,/gpu02/,g')"
"""


@dataclasses.dataclass(frozen=True)
class Outcome:
    failed: str
    calls: list[list[str]]
    path: dict[str, Any]
    logs: Path

    def environment(self, call: int) -> dict[str, str]:
        """What mpirun was told to set; a name alone (the mark of the job) is passed on as it is."""
        words = self.calls[call]
        return dict(
            words[at + 1].split("=", 1) for at, word in enumerate(words) if word == "-x" and "=" in words[at + 1]
        )


def _texts(job: Job) -> dict[str, str]:
    """What NCCL writes on each host."""
    return {
        host: "".join(line + "\n" for rank in range(job.size) for line in job.rank_lines(rank) if line.startswith(host))
        for host in job.hosts
    }


def play(
    folder: Path,
    job: Job,
    *,
    rc: int = 0,
    stderr: str = "",
    steps: tuple[str, ...] = ("probe", "train"),
    answers: dict[str, str] | None = None,
    timed: Job | None = None,
    **variables: Any,
) -> Outcome:
    """Run tasks of the role on the head. ``answers``: word of a command line -> what mpirun prints for it; ``timed``:
    what NCCL writes in the training, if not the same as in the probe. The path is that of the last step that wrote one.
    """
    docker = folder / "collections/ansible_collections/community/docker/plugins/modules"
    docker.mkdir(parents=True)
    for stub in (Path(__file__).parent / "stub_docker").glob("*.py"):
        shutil.copy(stub, docker)
    stub_dir = folder / "stub"
    for place in ("bin", "jobs"):
        (stub_dir / place).mkdir(parents=True)
    mpirun = stub_dir / "bin" / "mpirun"
    mpirun.write_text(f"#!{sys.executable}\n" + (Path(__file__).parent / "mpirun.py").read_text())
    mpirun.chmod(0o755)
    (stub_dir / "bin/ssh").write_text(SSH)
    (stub_dir / "bin/ssh").chmod(0o755)
    plan = {"nccl": _texts(job), "timed": _texts(timed) if timed else {}, "head": HOSTS[0], "rc": rc, "stderr": stderr}
    (stub_dir / "plan.json").write_text(json.dumps({**plan, "answers": answers or {}}))
    for host in HOSTS:
        interpreter = folder / f"python-{host}"
        interpreter.write_text(f'#!/bin/sh\nexport STUB_HOST={host} STUB_DIR={stub_dir}\nexec {sys.executable} "$@"\n')
        interpreter.chmod(0o755)
    hosts = {
        host: {"ansible_connection": "local", "ansible_python_interpreter": str(folder / f"python-{host}")}
        for host in HOSTS
    }
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
    include = "ansible.builtin.include_role"
    tasks: list[dict[str, Any]] = [{include: {"name": "rocemesh.multinode.run", "tasks_from": name}} for name in steps]
    tasks.append(
        {
            "ansible.builtin.copy": {
                "content": "{{ (__run_nccl_path if __run_path | default({}) else {}) | to_json }}",
                "dest": str(folder / "path.json"),
            }
        }
    )
    plays = [
        {
            "hosts": HOSTS[0],
            "gather_facts": False,
            "vars": {
                "ansible_become": False,
                "run_hosts": [
                    {"name": host, "address": f"192.0.2.{number}"} for number, host in enumerate(HOSTS, start=11)
                ],
                "run_log_dir": str(folder / "logs"),
                "__run_name": "one",
                "__run_expected_names": list(HOSTS),
                "__run_pinned_network": "192.0.2.0/24",
                "__run_open_mpi": {"stdout_lines": ["mpirun (Open MPI) 4.1.4"]},
                "__run_cuda_hosts": 2,
                **variables,
            },
            "tasks": tasks,
        }
    ]
    (folder / "play.yml").write_text(yaml.safe_dump(plays))
    done = ansible(
        folder,
        *("-i", "hosts.yml", "play.yml"),
        ANSIBLE_COLLECTIONS_PATH=f"{folder / 'collections'}:{ROOT / 'collections'}",
        ANSIBLE_PIPELINING="1",
    )
    record = stub_dir / "calls.jsonl"
    calls = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    written = folder / "path.json"
    said = done.stdout + done.stderr
    return Outcome(
        "" if done.returncode == 0 else said,
        calls,
        json.loads(written.read_text()) if written.exists() else {},
        folder / "logs" / "one",
    )


def test_probe_and_training_write_their_path_into_files_on_the_same_network(tmp_path: Path) -> None:
    outcome = play(tmp_path, Job(hosts=HOSTS), run_require_path="gdrdma")
    assert outcome.failed == ""
    assert (outcome.path["verdict"], outcome.path["ok"], outcome.path["hosts"]) == ("gdrdma", True, list(HOSTS))
    probe, timed = outcome.environment(0), outcome.environment(1)
    assert (probe["NCCL_DEBUG"], probe["NCCL_NET"]) == ("INFO", "IB")
    assert probe["NCCL_DEBUG_FILE"] == "/tmp/rocemesh-nccl-one.%h.%p.log"
    assert probe["NCCL_RUN_RAS_DIAGNOSTICS"] == "1"
    assert timed == {**QUIET, **OBSERVED}
    assert outcome.calls[0][-4:] == ["--num_batches", "5", "--num_warmup_batches", "1"]
    assert outcome.calls[1][-4:] != outcome.calls[0][-4:]
    for name in ("nccl-probe.log", "nccl.log"):
        assert "via NET/IB/0/GDRDMA" in (outcome.logs / name).read_text()
    assert "<system" in (outcome.logs / "nccl-topology.xml").read_text()
    assert not list((tmp_path / "stub").glob("gpu*/*")), "NCCL's files stay in the containers"


def test_path_of_the_training_is_read_from_the_training_itself(tmp_path: Path) -> None:
    """Peer memory went away after the probe: the probe's path is good, that of the training is not."""
    staged = Job(hosts=HOSTS, send="NET/IB/0", receive="NET/IB/0")
    outcome = play(tmp_path, Job(hosts=HOSTS), run_require_path="gdrdma", timed=staged)
    assert outcome.failed == ""
    assert (outcome.path["verdict"], outcome.path["ok"]) == ("rdma_via_host", False)
    assert "GDRDMA" in (outcome.logs / "nccl-probe.log").read_text()
    assert "GDRDMA" not in (outcome.logs / "nccl.log").read_text()


def test_failed_training_is_explained_by_warnings_in_the_files(tmp_path: Path) -> None:
    warning = (
        "gpu01:1000:2000 [0] NCCL WARN NET/IB : Got completion from peer 192.0.2.12<40000> with status=12 opcode=0 "
        "len=0 vendor err 129 (Recv)"
    )
    outcome = play(tmp_path, Job(hosts=HOSTS), rc=1, timed=Job(hosts=HOSTS, extra=(f"Setup begins.\n{warning}",)))
    assert len(outcome.calls) == 2, "the training did not begin"
    assert "Got completion from peer 192.0.2.12" in outcome.failed
    assert warning in (outcome.logs / "nccl.log").read_text()


def test_path_that_is_worse_than_required_stops_the_run(tmp_path: Path) -> None:
    job = Job(hosts=HOSTS, send="NET/IB/0", receive="NET/IB/0")
    outcome = play(tmp_path, job, run_require_path="gdrdma")
    assert "data path is rdma_via_host (gdrdma without any" in " ".join(outcome.failed.split())
    assert len(outcome.calls) == 1, "trained although the path was refused"


def test_failed_probe_is_explained_by_nccl(tmp_path: Path) -> None:
    job = Job(hosts=HOSTS, extra=("NCCL_IB_GID_INDEX set by environment to 0.",), channels=False, complete=False)
    outcome = play(tmp_path, job, rc=1, stderr="something broke")
    assert "cannot reach" in outcome.failed
    assert (outcome.logs / "nccl-probe.log").exists()


@pytest.mark.parametrize("variables", [{"__run_cuda_hosts": 1}, {"run_probe": "false"}])
def test_without_gpus_on_all_hosts_the_training_is_what_it_was(tmp_path: Path, variables: dict[str, Any]) -> None:
    outcome = play(tmp_path, Job(hosts=HOSTS), run_rdma_facts={"gpu01": "never looked at"}, **variables)
    assert outcome.failed == ""
    assert outcome.path == {}
    assert len(outcome.calls) == 1 and outcome.environment(0) == RUN_ENV
    assert "python3" in outcome.calls[0] and "sh" not in outcome.calls[0]


def reading(number: int, index: int = 3, **changes: Any) -> dict[str, Any]:
    """What rdma_info returns on a node with one RoCE port."""
    gid = {"index": index, "gid": f"0000:0000:0000:0000:0000:ffff:c000:02{number:02x}", "type": "RoCE v2"}
    port = {"name": "mlx5_0", "port": 1, "netdev": "ens192", "link_layer": "Ethernet", "active_mtu": 4096}
    return {"devices": [{**port, "gids": [gid]}], "simulated": False, "unreadable": [], "error": "", **changes}


DSCP = {"dscp": 26, "reason": "leaf01: RoCE on"}


def test_what_was_found_on_the_nodes_becomes_variables_of_probe_and_training(tmp_path: Path) -> None:
    found = {"gpu01": reading(11), "gpu02": reading(12)}
    outcome = play(tmp_path, Job(hosts=HOSTS), run_rdma_found=found, run_rdma_dscp_found=DSCP)
    assert outcome.failed == ""
    for call in (0, 1):
        given = outcome.environment(call)
        assert (given["NCCL_IB_HCA"], given["NCCL_IB_GID_INDEX"], given["NCCL_IB_TC"]) == ("=mlx5_0:1", "3", "106")


def test_gid_index_of_each_node_is_set_there(tmp_path: Path) -> None:
    found = {"gpu01": reading(11), "gpu02": reading(12, index=5)}
    outcome = play(tmp_path, Job(hosts=HOSTS), run_rdma_found=found, run_rdma_dscp=10, run_rdma_dscp_found=DSCP)
    assert outcome.failed == ""
    assert "NCCL_IB_GID_INDEX" not in outcome.environment(1)
    # NCCL's diagnostics would call these variables, which differ by intent, a mismatch.
    assert "NCCL_RUN_RAS_DIAGNOSTICS" not in outcome.environment(0)
    assert outcome.environment(1)["NCCL_IB_TC"] == "42", "what somebody gave goes before what was found"
    script = outcome.calls[1][outcome.calls[1].index("sh") + 2]
    assert 'gpu02) export NCCL_IB_GID_INDEX="${NCCL_IB_GID_INDEX:-5}"' in script


def rails(number: int) -> dict[str, Any]:
    """Two ports in two networks, and one of a storage network."""
    ports = []
    for name, network in (("mlx5_0", "c000:02"), ("mlx5_1", "c633:64"), ("mlx5_2", "cb00:71")):
        gid = f"0000:0000:0000:0000:0000:ffff:{network}{number:02x}"
        ports.append(
            {**reading(number)["devices"][0], "name": name, "gids": [{"index": 3, "gid": gid, "type": "RoCE v2"}]}
        )
    return {**reading(number), "devices": ports}


def test_each_rail_is_used_and_the_nccl_of_the_image_chooses_the_gid(tmp_path: Path) -> None:
    told = {"torch": "2.6.0", "cuda": "12.4", "nccl": "2.21.5", "available": True, "gpus": 1}
    answers = "".join(f"[1,{rank}]<stdout>:ROCEMESH-STACK {json.dumps(told)}\n" for rank in range(2))
    outcome = play(
        tmp_path,
        Job(hosts=HOSTS),
        steps=("gpu_stack", "probe", "train"),
        answers={"ROCEMESH-STACK": answers},
        __run_gpus={host: ["GPU 0"] for host in HOSTS},
        run_rdma_found={"gpu01": rails(11), "gpu02": rails(12)},
        run_rdma_network=["192.0.2.0/24", "198.51.100.0/24"],
        run_rdma_dscp_found=DSCP,
    )
    assert outcome.failed == ""
    probe, train = outcome.environment(1), outcome.environment(2)
    for given in (probe, train):
        assert given["NCCL_IB_HCA"] == "=mlx5_0:1,mlx5_1:1"
        assert given["NCCL_IB_ADDR_RANGE"] == "192.0.0.0/5" and "NCCL_IB_GID_INDEX" not in given
        assert (given["NCCL_CROSS_NIC"], given["NCCL_IB_TC"]) == ("0", "106")


@pytest.mark.parametrize(
    "second",
    [{}, reading(212)],
    ids=["not-read", "no-gid-in-the-network"],
)
def test_a_node_that_does_not_tell_changes_nothing(tmp_path: Path, second: dict[str, Any]) -> None:
    network = {"run_rdma_network": "192.0.2.0/25"}
    found = {"gpu01": reading(11), "gpu02": second}
    outcome = play(tmp_path, Job(hosts=HOSTS), run_rdma_found=found, **network)
    assert outcome.failed == ""
    assert outcome.environment(1) == {**QUIET, **OBSERVED}


def test_facts_that_somebody_gave_must_allow_a_choice(tmp_path: Path) -> None:
    facts = {"gpu01": {"devices": []}, "gpu02": {"devices": []}}
    outcome = play(tmp_path, Job(hosts=HOSTS), run_rdma_facts=facts)
    assert "no RDMA device" in outcome.failed and outcome.calls == []
