"""Every manifest is what the published schemas of its kind and of the core allow, strictly, for every kind of job."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Iterator

import jsonschema
import kubernetes_validate
import pytest
import yaml

from .asking import IMAGE, asked
from .reduce_schemas import CORE
from .rendering import render

SCHEMAS = {
    path.stem: json.loads(path.read_text()) for path in sorted((Path(__file__).parent / "schemas").glob("*.json"))
}
MANIFESTS = {"mpijob.yaml": ["MPIJob"], "trainjob.yaml": ["TrainingRuntime", "TrainJob"], "jobset.yaml": ["JobSet"]}
TOPOLOGY = {"gpu01": "<system version='1'>\n</system>\n", "gpu02": "<system/>\n"}
JOBS: dict[str, dict[str, Any]] = {
    "usual": {},
    "cpu": {"gpus": False, "rdma_resource": "", "probe": "", "nccl": {}, "facts": {}},
    "own program": {
        "command": ["sh", "-c", 'echo "$HOME" # {{ x }} \\ : - \''],
        "probe": "inside",
        "own_command": True,
    },
    "pod network": {"pod_network": "rail-1,rail-2"},
    "one host": {"hosts": [{"name": "gpu01", "address": "192.0.2.11", "slots": 8}]},
    "Open MPI 5": {"mpi": 5, "env": {}},
    "simulated": {"simulated": True},
}


def strict(document: dict[str, Any]) -> None:
    """Raises the validators' own errors."""
    kind = document["kind"]
    if kind not in SCHEMAS:
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
        return
    jsonschema.Draft202012Validator(SCHEMAS[kind]).validate(document)
    templates = list(pods(SCHEMAS[kind], document))
    assert templates or kind == "TrainJob"
    for template in templates:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", **template.get("metadata", {})}}
        kubernetes_validate.validate(
            {**pod, "spec": template["spec"]}, kubernetes_validate.latest_version(), strict=True
        )


def pods(schema: dict[str, Any], value: Any) -> Iterator[dict[str, Any]]:
    """The pod templates of a document, by the marks in its schema."""
    if schema.get(CORE):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from pods(schema.get("properties", {}).get(key) or schema.get("additionalProperties") or {}, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from pods(schema.get("items", {}), inner)


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("manifest", MANIFESTS)
@pytest.mark.parametrize("topologies", [{}, TOPOLOGY], ids=["no-topology", "topology"])
def test_every_manifest_validates_strictly(manifest: str, job: str, topologies: dict[str, str]) -> None:
    documents = list(yaml.safe_load_all(render(manifest, asked(**JOBS[job]), topologies)))
    assert [document["kind"] for document in documents] == ["ConfigMap", *MANIFESTS[manifest]]
    assert {document["metadata"]["namespace"] for document in documents} == {"training"}
    for document in documents:
        strict(document)


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_the_validation_sees_a_wrong_field_at_every_level(manifest: str) -> None:
    """Every mapping of the manifest but free ones gets a field that does not exist: each time somebody objects."""
    documents = list(yaml.safe_load_all(render(manifest, asked())))
    seen = 0
    for document in documents[1:]:
        for place in list(mappings(document)):
            place["notAField"] = 1
            with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError)):
                strict(document)
            del place["notAField"]
            seen += 1
    assert seen > 15


FREE = ("labels", "annotations", "matchLabels", "limits", "requests", "data")


def mappings(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for key, inner in value.items():
            if key not in FREE:
                yield from mappings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from mappings(inner)


def worker(manifest: str, **changes: Any) -> dict[str, Any]:
    documents = list(yaml.safe_load_all(render(manifest, asked(**changes), TOPOLOGY)))
    (kind,) = [document for document in documents if document["kind"] in ("MPIJob", "TrainingRuntime", "JobSet")]
    found: dict[str, Any] = list(pods(SCHEMAS[kind["kind"]], kind))[-1]["spec"]
    return found


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_a_pod_has_its_nodes_variables_devices_memory_and_image(manifest: str) -> None:
    documents = list(yaml.safe_load_all(render(manifest, asked(), TOPOLOGY)))
    assert "NCCL_IB_HCA==mlx5_1:1" in documents[0]["data"]["gpu02.conf"]
    assert documents[0]["data"]["gpu01.xml"] == TOPOLOGY["gpu01"]
    spec = worker(manifest)
    (container,) = spec["containers"]
    assert spec["hostNetwork"] is True
    assert container["image"] == IMAGE
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 2, "rdma/rdma_shared_device_a": 1}
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    assert mounts["/etc/nccl.conf"]["subPathExpr"] == "$(ROCEMESH_NODE).conf"
    assert mounts["/etc/rocemesh/nccl/topology.xml"]["subPathExpr"] == "$(ROCEMESH_NODE).xml"
    assert container["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
    names = [entry["name"] for entry in container["env"]]
    assert names[0] == "ROCEMESH_NODE" or "ROCEMESH_NODE" in names
    assert len(names) == len(set(names))


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_pod_without_devices_asks_for_no_memory(manifest: str) -> None:
    """A node with less than a limit of memory is never chosen for the pod."""
    assert worker(manifest, **JOBS["cpu"])["containers"][0]["resources"]["limits"] == {}


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_a_pod_with_a_network_of_its_own_gets_no_name_of_the_nodes_interfaces(manifest: str) -> None:
    text = render(manifest, asked(pod_network="rail-1"), TOPOLOGY)
    assert "hostNetwork" not in text
    data = next(yaml.safe_load_all(text))["data"]
    assert "NCCL_IB_TC=106" in data["gpu01.conf"]
    assert not [word for word in ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_TOPO_FILE") if word in str(data)]
    assert "--interface_cidr" not in text
    assert "topology.xml" not in text


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_the_users_words_reach_the_pod_as_they_were_given(manifest: str) -> None:
    """The kubelet makes $$ a $, and $(NAME) the value of a variable of the pod, in words and in values of variables."""
    command = ["python3", "a b", "$HOME", "'\"", "x: y # z", "{{ 1 }}", "kill $$", "$(NOTE)"]
    text = render(manifest, asked(command=command, env={"NOTE": "$$ $(NOTE)"}))
    assert "$$$$ $$(NOTE)" in text and not re.search(r"(?<!\$)\$(\$\$)*\(NOTE\)", text)
    command = [word.replace("$", "$$") for word in command]
    documents = list(yaml.safe_load_all(text))
    words = [
        word
        for document in documents
        for found in lists(document)
        if all(isinstance(one, str) for one in found)
        for word in [found]
    ]
    assert [found for found in words if found[-len(command) :] == command]


def lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from lists(inner)


@pytest.mark.parametrize(
    ("changes", "pinned"),
    [
        ({}, True),
        ({"mpi": 5}, True),
        ({"pod_network": "rail-1"}, False),
        ({"network": "fd00::/64", "hosts": [{"name": "gpu01", "address": "fd00::1"}]}, False),
    ],
    ids=str,
)
def test_mpi_of_an_mpijob_keeps_to_the_nodes_network(changes: dict[str, Any], pinned: bool) -> None:
    """On the network of the nodes it would take docker0, which every node with Docker has with the same address."""
    (*_maps, document) = yaml.safe_load_all(render("mpijob.yaml", asked(**changes)))
    words = document["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    assert ("--mca btl_tcp_if_include 192.0.2.0/24" in " ".join(words)) is pinned


@pytest.mark.parametrize("mpi", [4, 5])
def test_open_mpi_5_is_told_the_hosts_of_the_operator(mpi: int) -> None:
    """5.0.11 ends with "not enough slots" under the variables that mpi-operator sets; 4.1.4 reads them."""
    (*_maps, document) = yaml.safe_load_all(render("mpijob.yaml", asked(mpi=mpi)))
    words = document["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    assert ("--hostfile /etc/mpi/hostfile" in " ".join(words)) is (mpi == 5)


def test_sshd_of_a_worker_starts_in_an_image_without_host_keys(tmp_path: Path) -> None:
    """mpi-operator brings no host keys, and mounts the login as a secret, whose directory all may write to."""
    for name in ("ssh-keygen", "sshd"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (tmp_path / name).chmod(0o755)
    shell, option, script = worker("mpijob.yaml")["containers"][0]["command"]
    script = script.replace("/usr/sbin/sshd", str(tmp_path / "sshd")).replace("/run/sshd", str(tmp_path / "run"))
    done = subprocess.run(
        ["/bin/sh", option, script], env={"PATH": f"{tmp_path}:/bin"}, capture_output=True, text=True, check=True
    )
    assert (shell, (tmp_path / "run").is_dir()) == ("sh", True)
    options = f"-p 2200 -o StrictModes=no -o SetEnv=PATH={tmp_path}:/bin"
    assert done.stdout.splitlines() == ["ssh-keygen -A", f"sshd -De {options}"]


# What is in hidden partitions alone, sinfo shows to -a or -p, and takes not both (src/sinfo/opts.c).
HIDDEN = 'case " $* " in *" -a "*" -p "*) exit 1;; *" -a "* | *" -p "*) ;; *) exit 0;; esac; '


@pytest.mark.parametrize(
    ("partition", "options", "state", "rc"),
    [
        ("gpu", [], "idle", 0),
        ("gpu,debug", [], "idle", 0),
        ("", ["-p", "debug,gpu"], "mixed", 0),
        ("", [], "idle", 0),
        ("gpu,none", [], "idle", 65),
        ("gpu", [], "inval", 65),  # fewer GPUs than slurm.conf says
    ],
)
def test_job_for_several_partitions_is_submitted(
    tmp_path: Path, partition: str, options: list[str], state: str, rc: int
) -> None:
    """Slurm starts a job in the first of a list of partitions that has room for it."""
    hidden = HIDDEN if partition or options else ""
    for name, text in {
        "sbatch": "echo submitted",
        "srun": "echo --container-env",
        "sinfo": hidden
        + f'case "$*" in *%T*) echo {state};; *%G*) echo gpu:h100:8;; *) printf "%s 1\\n" gpu debug;; esac',
        "scontrol": "echo SelectType = select/cons_tres",
        "submit.sh": render("submit.sh", asked(partition=partition)),
        "resnet50.sbatch": render("resnet50.sbatch", asked(partition=partition)),
    }.items():
        (tmp_path / name).write_text(text if name[0] == "r" or name == "submit.sh" else f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        [tmp_path / "submit.sh", *options],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (rc, "" if rc else "submitted\n"), done.stderr


@pytest.mark.parametrize("script", ["resnet50.sbatch", "submit.sh", "torchrun.sh", "on-node.sh", "counters.sh"])
@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("pyxis", [True, False])
def test_every_script_is_one_for_its_shell(script: str, job: str, pyxis: bool) -> None:
    text = render(script, asked(**{**JOBS[job], "pyxis": pyxis}))
    shell = text.splitlines()[0].removeprefix("#!").split()
    done = subprocess.run([*shell, "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    if script == "resnet50.sbatch":
        assert ("--container-image" in text) is pyxis
        assert ("SIMULATED" in text) is (job == "simulated")


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        ("registry.example:5000/team/multinode", "registry.example:5000#team/multinode"),
        ("nvcr.io/nvidia/pytorch", "nvcr.io#nvidia/pytorch"),
        ("docker.io/library/ubuntu", "library/ubuntu"),
        ("team/multinode", "team/multinode"),
    ],
)
def test_enroot_gets_the_digest_in_the_place_of_a_tag(image: str, reference: str) -> None:
    """enroot 3.5.0 and 4.1.2 took this form; 3.5.0 calls one with @ an invalid image reference."""
    digest = IMAGE.partition("@")[2]
    text = render("resnet50.sbatch", asked(image=f"{image}@{digest}", pyxis=True))
    assert f"{reference}:{digest}" in text and "@sha256" not in text


def test_image_of_enroot_leaves_the_jobs_variables() -> None:
    """pyxis puts the image's own value of a variable in the place of the job's, but for those that are named."""
    text = render("resnet50.sbatch", asked(pyxis=True))
    names = text.partition("--container-env=")[2].split()[0].split(",")
    assert {"MASTER_ADDR", "MASTER_PORT", "NCCL_DEBUG", "NCCL_DEBUG_FILE", "NOTE"} <= set(names)
    assert "NVIDIA_VISIBLE_DEVICES:-all" in text
    assert "NVIDIA_" not in render("resnet50.sbatch", asked(pyxis=True, **JOBS["cpu"]))


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_node_with_a_domain_is_named_whole(manifest: str) -> None:
    """Nodes of OpenShift are often called so; files beside the manifest keep the short name."""
    host = {**asked()["hosts"][0], "hostname": "node-a.example.org"}
    text = render(manifest, asked(hosts=[host], launchers=[manifest.partition(".")[0]]), {"node-a": "<system/>"})
    assert '["node-a.example.org"]' in text and '"node-a.example.org.conf": |' in text
    assert '"node-a.example.org.xml"' in text and "node-a.conf" not in text
