"""What is wrong in the variables is refused when the files are made; what is right becomes the files."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._handoff.job import files_of, job_of
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.plugin_utils.decisions.handoff_job import topologies

from .asking import IMAGE, asked

HOST = {"name": "gpu01", "address": "192.0.2.11", "slots": 2}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"image": "registry.example/multinode:latest"},
            ["run_handoff_options.image", "another image tomorrow", "RepoDigests"],
        ),
        ({"image": "registry.example/multinode@sha256:123"}, ["not a digest", "64 hexadecimal"]),
        ({"image": IMAGE.upper()}, ["run_handoff_options.image"]),
        ({"image": IMAGE + "0"}, ["not a digest"]),
        ({"image": ""}, ["mpijob and trainjob and jobset", "none is known by digest", "container_registry"]),
        ({"image": "", "launchers": ["slurm"], "pyxis": True}, ["slurm with pyxis"]),
        ({"nccl": {"shared": {"NCCL_IB_HCA": "=mlx5_7:1"}}}, ["gpu01", "mlx5_7:1", "there are: mlx5_0:1"]),
        ({"nccl": {"shared": {"NCCL_IB_HCA": "=mlx5_0:2"}}}, ["mlx5_0:2", "there are: mlx5_0:1"]),
        ({"env": {"NCCL_IB_HCA": "=mlx5_9"}}, ["gpu01", "mlx5_9", "there are: mlx5_0:1"]),
        ({"nccl": {"shared": {"NCCL_IB_HCA": "mlx4"}}}, ["no such RDMA device"]),
        ({"nccl": {"shared": {"NCCL_IB_HCA": "=mlx5_0;id"}}}, ["NCCL's file can hold"]),
        ({"namespace": "Training"}, ["run_handoff_options.namespace", "'Training'", "lower-case"]),
        ({"namespace": "a" * 64}, ["at most 63"]),
        ({"namespace": ""}, ["run_handoff_options.namespace"]),
        ({"namespace": "kube-system"}, ["Kubernetes' own"]),
        ({"rdma_resource": "mlx5_0"}, ["run_handoff_options.rdma_resource", "Allocatable"]),
        ({"rdma_resource": "rdma..example/hca"}, ["run_handoff_options.rdma_resource", "Allocatable"]),
        ({"rdma_resource": "requests.rdma.example/hca"}, ["run_handoff_options.rdma_resource", "Allocatable"]),
        ({"gpu_resource": "nvidia/gpu/0"}, ["run_handoff_options.gpu_resource"]),
        ({"gpu_resource": ""}, ["need GPUs"]),
        ({"name": "ResNet_50"}, ["run_handoff_name"]),
        ({"name": "50resnet"}, ["run_handoff_name", "beginning with a letter"]),
        ({"name": "1"}, ["run_handoff_name"]),
        ({"name": "a" * 41}, ["at most 40"]),
        ({"hosts": []}, ["no host"]),
        (
            {"hosts": [HOST, {**HOST, "name": "gpu02", "address": "192.0.2.12", "slots": 1}]},
            ["gpu01 2, gpu02 1", "same"],
        ),
        ({"hosts": [HOST, {**HOST, "name": "gpu02"}]}, ["two hosts have it", "192.0.2.11"]),
        ({"hosts": [{**HOST, "address": "198.51.100.1"}]}, ["gpu01", "not in the cluster network 192.0.2.0/24"]),
        ({"hosts": [{**HOST, "address": "gpu01"}]}, ["not an address"]),
        ({"hosts": [{**HOST, "hostname": "gpu$(id)"}]}, ["not a host name"]),
        ({"env": {"RANK": "0"}}, ["run_env", "launcher says this itself"]),
        ({"env": {"SLURM_NTASKS": "4"}}, ["run_env"]),
        ({"env": {"HF_TOKEN": "x"}}, ["run_env", "everybody may read"]),
        ({"env": {"A": "1\n2"}}, ["line break"]),
        ({"env": {"A B": "1"}}, ["name of a variable"]),
        ({"command": "python3 train.py"}, ["run_handoff_command", "list of strings"]),
        ({"command": []}, ["run_handoff_command"]),
        ({"command": ["sh", "-c", "a\nb"]}, ["line break"]),
        ({"launchers": ["lsf"]}, ["not a launcher", "slurm, torchrun"]),
        ({"workload": "tf_cnn_benchmarks"}, ["slurm", "asks MPI for its rank"]),
        ({"partition": "gpu; rm"}, ["run_handoff_options.partition", "sinfo"]),
        ({"account": "a b"}, ["run_handoff_options.account"]),
        ({"port": 80}, ["run_master_port"]),
        ({"seconds": 5}, ["run_timeout"]),
        ({"shared_memory": "much"}, ["run_handoff_options.shared_memory"]),
        ({"mpi": 3}, ["Open MPI"]),
        ({"pod_network": "a\nb: c"}, ["run_handoff_options.pod_network"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_variable_is_refused_with_its_name_and_a_way_out(changes: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(RefusedError) as refused:
        job_of(asked(**changes))
    message = str(refused.value)
    for word in [*words, "What to do:"] if refused.value.remedy else words:
        assert word in message


def test_a_job_that_lacks_a_word_is_an_error_that_names_it() -> None:
    with pytest.raises(KeyError, match="hosts"):
        job_of({key: value for key, value in asked().items() if key != "hosts"})


def test_topologies_are_those_of_the_hosts_that_have_one() -> None:
    text = base64.b64encode(b"<system/>").decode()
    looked = [
        {"item": {"name": "gpu01", "hostname": "node1.example.org"}, "content": text},
        {"item": {"name": "gpu02"}, "content": text},
        {"item": {"name": "gpu03"}, "failed": True},
    ]
    assert topologies(looked) == {"node1": "<system/>", "gpu02": "<system/>"}


def test_without_kubernetes_no_namespace_and_no_image_are_needed() -> None:
    job = job_of(asked(launchers=["torchrun", "slurm"], image="", namespace="", gpu_resource=""))
    assert (job["image"], job["kubernetes"]) == ("", {})


def test_the_tag_beside_a_digest_goes() -> None:
    assert job_of(asked(image=IMAGE.replace("multinode@", "multinode:1.2@")))["image"] == IMAGE


def test_what_a_person_set_goes_before_what_was_computed_on_every_node() -> None:
    job = job_of(asked(env={"NCCL_IB_HCA": "mlx5"}))
    assert job["env"]["NCCL_IB_HCA"] == "mlx5"
    assert all("NCCL_IB_HCA" not in values for values in job["nccl"]["nodes"].values())


@pytest.mark.parametrize("wanted", ["mlx5:1", "mlx5_0:1,mlx5_1", "=mlx5_0", "^mlx5_7"])
def test_devices_that_nccl_finds_are_accepted(wanted: str) -> None:
    """Without = a name is the beginning of one, with a port too."""
    both = {"devices": [{"name": "mlx5_0", "port": 1}, {"name": "mlx5_1", "port": 1}]}
    job = job_of(asked(env={"NCCL_IB_HCA": wanted}, facts={"gpu01": both, "gpu02": both}))
    assert job["env"]["NCCL_IB_HCA"] == wanted
    with pytest.raises(RefusedError):
        job_of(asked(env={"NCCL_IB_HCA": "mlx5:2"}, facts={"gpu01": both, "gpu02": both}))


def test_setting_of_a_tokenizer_is_no_secret() -> None:
    assert job_of(asked(env={"TOKENIZERS_PARALLELISM": "false"}))["env"] == {"TOKENIZERS_PARALLELISM": "false"}


def test_each_node_has_its_own_file_and_what_is_alike_stands_in_the_common_one() -> None:
    files = files_of(job_of(asked()), {})
    assert "NCCL_IB_HCA==mlx5_0:1\n" in files["nccl.d/gpu01.env"]
    assert "NCCL_IB_HCA==mlx5_1:1\n" in files["nccl.d/gpu02.env"]
    assert "NCCL_IB_TC=106\n" in files["nccl.env"] and "NCCL_IB_HCA" not in files["nccl.env"]
    assert json.loads(files["job.json"])["ranks"] == 4
    # NCCL before it knew comments skips a line without "=".
    assert not [line for text in files.values() for line in text.splitlines() if line.startswith("#") and "=" in line]


def test_a_topology_that_all_nodes_share_is_one_file_and_others_are_kept_apart() -> None:
    job = job_of(asked())
    alike = files_of(job, {"gpu01": "<system/>", "gpu02": "<system/>"})
    assert alike["topology.xml"] == "<system/>\n"
    assert "NCCL_TOPO_FILE=/etc/rocemesh/nccl/topology.xml\n" in alike["nccl.d/gpu02.env"]
    some = files_of(job, {"gpu01": "<system/>"})
    assert some["topology.d/gpu01.xml"] == "<system/>" and "topology.xml" not in some
    assert "NCCL_TOPO_FILE" not in some["nccl.d/gpu02.env"]


def test_a_host_that_calls_itself_otherwise_has_its_file_under_that_name() -> None:
    job = job_of(asked(hosts=[{**HOST, "hostname": "Node-A.example.org"}]))
    assert "nccl.d/Node-A.env" in files_of(job, {})
    assert job["hosts"][0]["node"] == "node-a.example.org"  # as kubelet registers it


@pytest.mark.parametrize(
    ("told", "written"),
    [
        ("1g", "1Gi"),
        ("64Gi", "64Gi"),
        ("64gi", "64Gi"),
        ("1kib", "1Ki"),
        ("512m", "512Mi"),
        ("1073741824", "1073741824"),
    ],
)
def test_sizes_are_written_as_kubernetes_reads_them(told: str, written: str) -> None:
    assert job_of(asked(shared_memory=told))["limits"]["shared_memory"] == written
