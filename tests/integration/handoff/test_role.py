"""Entry point handoff of role run, as Ansible plays it: files, check mode, a second time, refusals."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from .playing import HOSTS, IMAGE, RDMA, facts, hand_off

WRITTEN = {
    *("SHA256SUMS", "job.json", "nccl.env", "nccl.d/gpu01.env", "nccl.d/gpu02.env", "on-node.sh", "counters.sh"),
    *("submit.sh", "resnet50.sbatch", "torchrun.sh", "mpijob.yaml", "trainjob.yaml", "jobset.yaml"),
}


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def changed(output: str) -> int:
    return int(re.findall(r"changed=(\d+)", output)[0])


def test_check_mode_shows_the_files_a_run_writes_them_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    shown = hand_off(tmp_path, "--check", "--diff", run_handoff_options={"gpus": "true"})
    assert shown.rc == 0, shown.output
    assert changed(shown.output) == 1
    assert not shown.folder.exists()
    assert "NCCL_IB_HCA==mlx5_1:1" in shown.output, "--diff shows what the files would hold"

    first = hand_off(tmp_path, run_handoff_options={"gpus": "true"}, also=({},))
    assert first.rc == 0, first.output
    assert changed(first.output) == 1, "the second time in the same playbook changed something"
    assert set(files(first.folder)) == WRITTEN
    job = json.loads(first.text("job.json"))
    assert (job["image"], job["ranks"], job["nccl_network"], job["probe"]) == (IMAGE, 4, "IB", "step")
    # As the run itself has them: the quiet environment, and each variable with its reason.
    assert job["env"] == {"NCCL_DEBUG": "WARN", "NCCL_NET": "IB"}
    assert {reason["name"] for reason in job["nccl"]["reasons"]} >= {"NCCL_IB_HCA", "NCCL_IB_TC"}
    assert "--master_addr" not in job["command"], "every launcher says itself where rank 0 is"
    assert "hostname)" not in first.text("resnet50.sbatch") and "mpirun" not in first.text("resnet50.sbatch")

    # A rank gets the values of its own node, and keeps what is set already.
    for host, device in zip(HOSTS, ("mlx5_0", "mlx5_1")):
        done = subprocess.run(
            [str(first.folder / "on-node.sh"), "sh", "-c", "echo $NCCL_IB_HCA $GLOO_SOCKET_IFNAME $NCCL_IB_TC"],
            env={**os.environ, "ROCEMESH_NODE": f"{host}.example.org", "NCCL_IB_TC": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        netdev = RDMA[host]["devices"][0]["netdev"]
        assert done.stdout.split() == [f"={device}:1", netdev, "0"], done.stderr
    stranger = subprocess.run(
        [str(first.folder / "on-node.sh"), "true"],
        env={**os.environ, "ROCEMESH_NODE": "db03"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert stranger.returncode == 64
    assert "db03 is none" in stranger.stderr


def test_what_is_wrong_or_edited_is_refused_and_nothing_is_written_over(tmp_path: Path) -> None:
    # The rest of what is refused: tests/unit/handoff/test_job.py.
    wrong = {
        "run_handoff_dir": str(tmp_path / "elsewhere"),
        "run_handoff_options": {"image": "registry.example/multinode:latest"},
    }
    moved = {"run_rdma_facts": {**RDMA, "gpu01": facts("mlx5_3", "ens256", "192.0.2.11")}}
    (tmp_path / "out").mkdir()
    (tmp_path / "out/resnet50.sbatch").write_text("#!/bin/sh\n# mine\n")
    outcome = hand_off(
        tmp_path,
        run_handoff_launchers=["torchrun", "jobset"],
        also=(wrong, moved, {"run_handoff_launchers": ["slurm"]}),
    )
    told = re.findall(r"REFUSED (.*)", outcome.output)
    assert len(told) == 2, outcome.output
    assert "by digest" in told[0]
    assert "another user's, or" in told[1]
    assert not (tmp_path / "elsewhere").exists()
    # Other facts made other files before; the stranger's script stopped the last hand-off as a whole.
    assert "NCCL_IB_HCA==mlx5_3:1" in outcome.text("nccl.d/gpu01.env")
    assert (outcome.text("resnet50.sbatch"), (outcome.folder / "submit.sh").exists()) == ("#!/bin/sh\n# mine\n", False)


def test_a_nodes_own_file_is_written_on_request_and_somebody_elses_is_left_alone(tmp_path: Path) -> None:
    """In a mount namespace with an /etc of its own; both hosts are this machine, so the last one's file stays."""
    for name in ("upper", "work"):
        (tmp_path / name).mkdir()
    layers = f"lowerdir=/etc,upperdir={tmp_path}/upper,workdir={tmp_path}/work"
    mounted = f'mount -t overlay overlay -o {layers} /etc && exec "$@"'
    within = ("unshare", "--mount", "sh", "-c", mounted, "sh")
    installed = {"run_handoff_launchers": ["torchrun"], "run_handoff_options": {"install": True}}
    outcome = hand_off(tmp_path, within=within, **installed)
    assert outcome.rc == 0, outcome.output
    conf = tmp_path / "upper/nccl.conf"
    assert conf.read_text() == outcome.text("nccl.d/gpu02.env")
    conf.write_text("NCCL_DEBUG=INFO\n")
    refused = hand_off(tmp_path, within=within, **installed)
    assert refused.rc != 0
    assert "another owner: NCCL_DEBUG=INFO" in " ".join(refused.output.split())
    assert conf.read_text() == "NCCL_DEBUG=INFO\n"
