"""What roles refuse, judge and leave out: per task the variables under which all is well, and what each change of them
has to lead to. Words: they stand in the message of the refusal."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.unit.roles.collection import ROOT

OK, SKIPPED, AGAIN, FAILED, CHANGED, UNCHANGED = "passes", "skipped", "again", "failed", "changed", "unchanged"


class Task(NamedTuple):
    """``right``: variables under which it ends as ``well``; ``cases``: changes of them, and what these lead to."""

    role: str
    file: str
    name: str
    right: dict[str, Any]
    cases: tuple[tuple[dict[str, Any], str], ...]
    well: str = OK


DIGEST = "sha256:" + "a1" * 32
TOOLKIT = {"repository": "deb https://mirror /", "key_url": "https://mirror/key", "key_checksum": DIGEST}
ARCHIVE = {"url": "https://mirror/x", "checksum": DIGEST}
REGISTRY = {"container_registry": "registry:5000", "container_registry_password": "", "container_registry_username": ""}
IMAGE = {"__container_repository": "registry:5000/multinode", "__container_tag": "1"}
CHECK = {"ansible_check_mode": True}
HOSTS = [{"name": "gpu01", "address": "10.1.0.11", "slots": 8}, {"name": "gpu02", "address": "10.1.0.12", "slots": 8}]
GROUPS = {"all": ["gpu01", "gpu02", "gpu03"]}
INFO = {"exists": True, "container": {"State": {"Running": True, "Status": "running"}, "Image": "sha256:1"}}
LIMITS = {"memlock_kib": "unlimited", "stack_kib": "65536", "shm_kib": 1048576, "gpus": True, "digest": "a"}
JOB = {"verdict": "gdrdma", "reason": "as the log says", "problems": []}
BAD = [{"message": "a channel over TCP"}]
PEER = {"peer_memory": {"dma_buf": True}, "driver": {"kernel": "6.8"}}
QOS = {"trust": "dscp", "pfc_priorities": [3], "dscp_prio": {}}
APT = {"pkg_mgr": "apt", "distribution": "Ubuntu", "distribution_version": "20.04", "service_mgr": "systemd"}


def rank(number: int, total: int, ok: bool = True) -> dict[str, Any]:
    return {"host": f"gpu{number:02d}", "ok": ok, "sum": total, "milliseconds": 1.0}


def of(name: str, namespace: str = "") -> dict[str, Any]:
    """A container as it was looked at."""
    return {"item": {"name": name}, "container": {"HostConfig": {"PidMode": namespace}}}


def port(qos: dict[str, Any]) -> dict[str, Any]:
    return {"devices": [{"netdev": "eth1", "qos": qos}], "unreadable": []}


PODMAN = {"listens": True, "podman": True, "old": True, "engine": {"rc": 0, "stderr": "3.4.4"}}
NODE = {
    "listens": True,
    "daemon": False,
    "podman": False,
    "old": False,
    "rdma": True,
    "mesh": {"isdir": True},
    "seen": {"inside": {"sshd": ""}, "info": {"exists": False, "container": {}}},
    "engine": {"rc": 0, "stderr": "4.9.4"},
}
PENDING = {"pending": ["runtime nvidia"], "live_restore": False, "running": ["theirs"]}


DOWN = {"rc": 1, "stderr": "Cannot connect to the Docker daemon"}


def held(container: dict[str, Any]) -> dict[str, Any]:
    """A node that has a container of the wanted name."""
    return {"__container_node": {**NODE, "seen": {"info": {"exists": True, "container": container}}}}


THEIRS = {"State": {"Status": "exited"}, "Config": {"Image": "theirs:1"}, "HostConfig": {"Binds": ["/data:/data"]}}
OURS = {**THEIRS, "HostConfig": {"Binds": ["/etc/rocemesh/mesh/container:/root/.ssh:ro"]}}
EXITED = {"Running": False, "Status": "exited"}
# A container that has all it needs.
STARTABLE: dict[str, Any] = {
    **IMAGE,
    "container_engine": "docker",
    "container_replace_in_use": False,
    "__container_node": NODE,
    "__container_ready": True,
    "__container_gpu_way": "cdi",
    "__container_has_cdi": True,
    "__container_gpu_nodes": [],
    "__container_use_gpus": True,
    "__container_use_rdma": True,
    "__container_toolkit": True,
    "__container_engine_state": {**PENDING, "pending": []},
    "__container_local": {"images": [{"Id": "1"}]},
    "__container_has_sshd": {"rc": 0},
    "__container_inside": {"rc": 0},
}
SSHD = {"container_add_sshd": True}
TASKS = (
    # ---- container
    Task(
        "container",
        "preflight.yml",
        "Preflight | Check the request for registry and image",
        {**REGISTRY, "container_build_context": str(ROOT / "workloads")},
        (
            ({"container_registry": "https://registry:5000"}, "without https://"),
            ({"container_registry": "registry:5000/path"}, "without a path"),
            ({"container_registry": ""}, "container_registry is empty"),
            # Docker would ask its own hub for a name without dot and port.
            ({"container_registry": "registry"}, "container_registry is registry"),
            ({"container_registry": "localhost"}, OK),
            ({"container_registry": "registry.example.com"}, OK),
            ({"container_image": "site/multi-node", "container_image_tag": "v1.0"}, OK),
            ({"container_image": "Multinode"}, "container_image Multinode"),
            ({"container_image": "a//b"}, "use lower-case letters"),
            ({"container_image_tag": "-1"}, "container_image_tag -1"),
            ({"container_image_tag": "a b"}, "not a name that a registry takes"),
            ({"container_registry_username": "me"}, "only one of them is set"),
            ({"container_registry_password": "x"}, "only one of them is set"),
            ({"container_registry_username": "me", "container_registry_password": "x"}, OK),
            ({"container_build_dockerfile": "none"}, "there is no none in the build context"),
            ({"container_build_dockerfile": "none", "container_build": False}, OK),
            ({**SSHD, "container_build_args": {"BASE_IMAGE": "registry/x:1"}}, OK),
            (SSHD, "BASE_IMAGE is not set"),
            (
                {**SSHD, "container_build_args": {"BASE_IMAGE": "x"}, "container_build": False},
                "expected true and an image",
            ),
            ({"container_image": "Multinode", "container_registry": ""}, "without a path. container_image Multinode"),
        ),
    ),
    Task(
        "container",
        "preflight.yml",
        "Preflight | Compare the distributions with those that are supported",
        {"__container_system": {"problems": []}},
        (({"__container_system": {"problems": ["gpu01: Fedora 42 is not supported"]}}, FAILED),),
        UNCHANGED,
    ),
    Task(
        "container",
        "build.yml",
        "Build | Refuse an image that is neither there nor to be built",
        {**REGISTRY, **IMAGE, "__container_ask": True, "container_build": False, "__container_digest": DIGEST},
        (
            ({"__container_digest": ""}, "container_build"),
            ({"__container_digest": "", "container_build": True}, OK),
            ({"__container_digest": "", "__container_ask": False}, SKIPPED),
        ),
    ),
    Task(
        "container",
        "pull.yml",
        "Pull | Refuse a registry without the image",
        {**REGISTRY, **IMAGE, "__container_ask": True, "__container_digest": DIGEST, "container_build_host": "gpu01"},
        (
            ({"__container_digest": ""}, "The build host gpu01"),
            ({"__container_digest": "", **CHECK}, SKIPPED),
            ({"__container_ask": False}, SKIPPED),
            (CHECK, OK),
        ),
    ),
    Task(
        "container",
        "pull.yml",
        "Pull | Check that the image was pulled",
        {**REGISTRY, **IMAGE, "__container_ask": True, "__container_digest": DIGEST, "__container_pulled": {}},
        (
            ({"__container_pulled": {"failed": True, "msg": "write /x: no space left on device"}}, "docker system df"),
            ({"__container_pulled": {"failed": True, "msg": "connection refused"}}, "curl https://registry:5000/v2/"),
            ({}, OK),
        ),
    ),
    Task(
        "container",
        "pull.yml",
        "Pull | Check the digest",
        {
            **REGISTRY,
            **IMAGE,
            "__container_ask": True,
            "__container_digest": DIGEST,
            "__container_pulled": {"image": {"RepoDigests": [f"registry:5000/multinode@{DIGEST}"]}},
        },
        (
            ({"__container_pulled": {"image": {"RepoDigests": ["registry:5000/multinode@sha256:other"]}}}, "run again"),
            (CHECK, SKIPPED),
        ),
    ),
    Task(
        "container",
        "install.yml",
        "Install | Refuse an engine that is not the wanted one, or is missing and may not be installed",
        {
            "__container_node": NODE,
            "container_engine": "docker",
            "__container_engine": {"rc": 0, "stderr": ""},
            "container_install_engine": True,
            "ansible_facts": APT,
        },
        (
            ({"__container_engine": {"rc": 1, "stderr": "no socket"}}, OK),
            ({"__container_engine": {"rc": 1, "stderr": "no socket"}, "container_install_engine": False}, "no socket"),
            ({"__container_engine": {"rc": 1, "stderr": "no socket"}, "ansible_facts": {"pkg_mgr": "dnf"}}, "with apt"),
            (
                {
                    "__container_engine": {"rc": 1, "stderr": "no socket"},
                    "ansible_facts": {"pkg_mgr": "dnf"},
                    "__container_node": {**NODE, "daemon": True},
                },
                OK,
            ),
            ({"container_install_engine": False}, OK),
            ({"ansible_facts": {"pkg_mgr": "dnf"}}, OK),
        ),
    ),
    Task(
        "container",
        "install_engine.yml",
        "Install | Check that the engine answers",
        {
            "container_engine": "docker",
            "__container_ready": True,
            "__container_packages": ["docker.io"],
            "__container_stopped_engine": False,
            "__container_engine": {"stderr": "dead"},
            "__container_begun": {"results": [{"msg": "Job for docker.service failed"}]},
        },
        (
            ({"__container_ready": False}, "(docker.io), but does not answer"),
            ({"__container_ready": False, "__container_stopped_engine": True}, "Job for docker.service failed"),
            (
                {"__container_begun": {"failed": True, "results": [{"msg": "no unit"}]}},
                "not all of its units start. no unit",
            ),
            ({"__container_ready": False, **CHECK}, SKIPPED),
        ),
    ),
    Task(
        "container",
        "absent.yml",
        "Absent | Refuse to end what runs in the container",
        # That the Python of the node lacks a module says nothing of who works in the container.
        {
            **held(OURS),
            "container_engine": "docker",
            "__container_ready": False,
            "__container_engine": {"rc": 0, "stderr": "24.0"},
            "__container_inside": {"rc": 0, "stdout": ""},
        },
        (
            (
                {"__container_inside": {"rc": 0, "stdout": "7 python3 train.py"}},
                "an idle container: 7 python3 train.py.",
            ),
            (
                {"__container_inside": {"rc": 1, "stdout": "", "msg": "mpicont is paused"}},
                "runs in it (mpicont is paused)",
            ),
            ({"__container_inside": {"rc": 1, "stdout": "", "msg": "mpicont is not running"}}, OK),
            ({"__container_inside": {"rc": 1, "msg": "paused"}, "container_replace_in_use": True}, SKIPPED),
            ({**held(THEIRS), "__container_inside": {"rc": 0, "stdout": "7 theirs"}}, SKIPPED),
        ),
    ),
    Task(
        "container",
        "start.yml",
        "Run | Check that the container can be started",
        STARTABLE,
        (
            ({"container_engine": "podman"}, "listens Docker, expected Podman 4.3 or newer"),
            ({"__container_node": {**NODE, "podman": True}}, "listens Podman, expected Docker"),
            ({"__container_node": {**NODE, "podman": True}, "container_engine": "podman"}, OK),
            ({"__container_node": {**NODE, **PODMAN}, "container_engine": "podman"}, "listens Podman 3.4.4, expected"),
            ({"__container_node": {**NODE, "listens": False}, "container_engine": "podman"}, OK),
            # Whose container it is.
            (held(THEIRS), "is there, exited, from image theirs:1, and this role has not made it"),
            ({**held({**THEIRS, "HostConfig": {}}), "container_replace_in_use": True}, "this role has not made it"),
            (held(OURS), OK),
            # How GPUs are given.
            ({"__container_has_cdi": False, "container_engine": "podman"}, "from 5.4 on (it is 4.9.4)"),
            ({"container_engine": "podman", "__container_gpu_way": "hook"}, "by CDI alone"),
            ({"__container_has_cdi": False}, "nvidia-ctk cdi generate"),
            ({"__container_has_cdi": False, "__container_gpu_way": "hook"}, OK),
            ({"__container_gpu_way": "nodes"}, "there is no /dev/nvidia*"),
            ({"__container_gpu_way": "nodes", "__container_gpu_nodes": ["/dev/nvidia0"]}, OK),
            ({"__container_has_cdi": False, **CHECK}, OK),
            ({"__container_engine_state": PENDING, "__container_gpu_way": "hook"}, "engine stops theirs"),
            # CDI needs neither the hook nor the runtime.
            ({"__container_engine_state": PENDING}, OK),
            ({"__container_engine_state": PENDING, "__container_gpu_way": "none"}, OK),
            ({"__container_engine_state": PENDING, "__container_gpu_way": "hook", **CHECK}, OK),
            ({"__container_toolkit": False}, "Run the entry point toolkit"),
            ({"__container_toolkit": False, "__container_use_gpus": False}, OK),
            ({"__container_node": {**NODE, "rdma": False}}, "/dev/infiniband exists: False"),
            ({"__container_node": {**NODE, "rdma": False}, "__container_use_rdma": False}, OK),
            ({"__container_toolkit": False, "__container_ready": False, **CHECK}, OK),
            # Engine, directory of the mesh, image.
            ({"__container_ready": False}, "does not answer at"),
            ({"__container_ready": False, **CHECK}, OK),
            ({"__container_node": {**NODE, "mesh": {"isdir": False}}}, "Run the role mesh first"),
            ({"__container_node": {**NODE, "mesh": {"isdir": False}}, **CHECK}, OK),
            ({"__container_local": {"images": []}}, "no image registry:5000/multinode:1"),
            ({"__container_local": {"images": []}, **CHECK}, OK),
            ({"__container_has_sshd": {"rc": 10, "stderr": ""}}, "openssh-server of at least 7.8\n(not found)"),
            ({"__container_has_sshd": {"rc": 125, "stderr": "docker: Error response"}}, "docker: Error response"),
            ({"__container_has_sshd": {"rc": 11}}, "has no account root with uid\n0 and gid 0"),
            ({"__container_has_sshd": {"rc": 12}}, "an OpenSSH without SetEnv, expected 7.8 or newer"),
            ({"__container_has_sshd": {"rc": 13}}, 'RUN usermod -p "*" root'),
            ({"__container_has_sshd": {"skipped": True}}, OK),
            # What runs in it.
            ({"__container_inside": {"msg": "Container mpicont is paused"}}, "is paused. Nothing was changed"),
            ({"__container_inside": {"rc": 2, "stderr": "killed"}}, "what runs in it: killed"),
            ({"__container_inside": {"msg": "Error: No such container: mpicont"}}, OK),
            ({"__container_inside": {"msg": "Container mpicont is not running"}}, OK),
            ({"__container_inside": {"msg": "paused"}, "container_replace_in_use": True}, OK),
            (
                {
                    "__container_inside": {"msg": "paused"},
                    "__container_ready": False,
                    "__container_engine": DOWN,
                    **CHECK,
                },
                OK,
            ),
            # All at once.
            (
                {"__container_gpu_way": "nodes", "__container_local": {"images": []}},
                "container_gpu_access to auto. The node",
            ),
        ),
    ),
    Task(
        "container",
        "check.yml",
        "Verify | Check image, GPUs, shared memory and locked memory of the container",
        {
            **IMAGE,
            "container_engine": "docker",
            "__container_node": NODE,
            "__container_info": INFO,
            "__container_local": {"images": [{"Id": "sha256:1"}]},
            "__container_limits": LIMITS,
            "__container_gpus_inside": {"rc": 0},
            "ansible_play_hosts": ["gpu01", "gpu02"],
            "hostvars": {"gpu01": {"container_limits": LIMITS}},
            "container_shm_size": "1G",
            "container_memlock": -1,
            "container_memlock_required": True,
        },
        (
            ({"__container_info": {"exists": False}}, "it is missing"),
            (
                {"__container_info": {"exists": True, "container": {**INFO["container"], "State": EXITED}}},
                "it is exited",
            ),
            ({"__container_local": {"images": [{"Id": "sha256:2"}]}}, "image sha256:1"),
            ({"__container_local": {"images": []}}, "image sha256:1"),
            ({"__container_info": {"exists": False}, **CHECK}, SKIPPED),
            ({"__container_gpus_inside": {"rc": 255, "stdout": "NVML: Unknown Error"}}, "systemd was reloaded"),
            ({"__container_gpus_inside": {"rc": 127, "stdout": "no nvidia-smi"}}, "on the node itself"),
            ({"__container_gpus_inside": {"msg": "gone"}}, "none now: gone"),
            ({"__container_gpus_inside": {"rc": 255}, "__container_limits": {**LIMITS, "gpus": False}}, OK),
            ({"__container_gpus_inside": {"rc": 255}, **CHECK}, SKIPPED),
            ({"__container_node": {**NODE, "seen": {"inside": {"sshd": "none"}}}}, "no SSH server 10 s after"),
            ({"__container_limits": {**LIMITS, "shm_kib": 1048575}}, "1048575 KiB inside"),
            ({"__container_limits": {**LIMITS, "memlock_kib": "64"}}, "asked for no limit"),
            ({"__container_limits": {**LIMITS, "memlock_kib": "64"}, "container_memlock_required": False}, OK),
            ({"__container_limits": {**LIMITS, "memlock_kib": "64"}, "container_memlock": 65536}, OK),
            ({"__container_limits": {**LIMITS, "memlock_kib": "63"}, "container_memlock": 65536}, "asked for 64 KiB"),
            ({"__container_limits": {**LIMITS, "digest": "b"}}, "different images (it is b, of gpu01 a)"),
            ({"__container_limits": {**LIMITS, "digest": "b"}, **CHECK}, SKIPPED),
            ({"hostvars": {"gpu01": {}}}, OK),
        ),
    ),
    Task(
        "container",
        "toolkit_install.yml",
        "Toolkit | Check the source of the toolkit",
        {
            "ansible_facts": APT,
            "container_toolkit_source": TOOLKIT,
        },
        (
            ({"ansible_facts": {"pkg_mgr": "dnf"}}, "this one has dnf"),
            ({"container_toolkit_source": {**TOOLKIT, "repository": ""}}, "container_toolkit_source.repository (it is"),
            (
                {"container_toolkit_source": {**TOOLKIT, "key_url": ""}},
                "container_toolkit_source.key_url (it is empty)",
            ),
            ({"container_toolkit_source": {**TOOLKIT, "key_checksum": "a1"}}, "(it is a1)"),
        ),
    ),
    Task(
        "container",
        "topology.yml",
        "Topology | Refuse a topology that does not help",
        {
            "container_nccl_topology": "required",
            "__container_nccl_topology_vm": "gpu01",
            "__container_topology": {"gpudirect": True},
        },
        (
            (
                {"__container_topology": {"gpudirect": False, "level": "SYS", "pairs": []}},
                "are SYS apart in the ESXi host",
            ),
            ({"__container_topology": {"gpudirect": False}, "container_nccl_topology": "auto"}, SKIPPED),
            ({"__container_topology": {"gpudirect": False}, "container_nccl_topology": "off"}, SKIPPED),
        ),
    ),
    # ---- guest
    Task(
        "guest",
        "preflight.yml",
        "Guest | Check distribution and MTU",
        {"guest_mtu": 9000, "__guest_supported": {"problems": []}},
        (
            ({"guest_mtu": 0}, OK),
            ({"guest_mtu": 1500}, OK),
            ({"guest_mtu": 9900}, OK),
            ({"guest_mtu": 1499}, "guest_mtu is 1499"),
            ({"guest_mtu": 9901}, "guest_mtu is 9901"),
            ({"guest_mtu": -1}, "guest_mtu is -1"),
            ({"__guest_supported": {"problems": ["gpu01: SLES 15 is not supported"]}}, "SLES 15"),
        ),
    ),
    Task(
        "guest",
        "request.yml",
        "Guest | Check the source of MLNX_OFED",
        {"guest_ofed_profile": "guide", "guest_ofed_url": "https://mirror/x.tgz", "guest_ofed_checksum": DIGEST},
        (
            ({"guest_ofed_url": ""}, "guest_ofed_url (it is empty)"),
            ({"guest_ofed_checksum": "md5:1"}, "(it is md5:1)"),
            (
                {"guest_ofed_url": "https://a:p@w@mirror/x.tgz", "guest_ofed_checksum": ""},
                "(it is https://mirror/x.tgz)",
            ),
            ({"guest_ofed_url": "", "guest_ofed_profile": "none"}, SKIPPED),
        ),
    ),
    Task(
        "guest",
        "request.yml",
        "Guest | Check the source of DOCA-OFED",
        {
            "guest_ofed_profile": "current",
            "guest_doca_repository": "deb https://mirror /",
            "guest_doca_key_url": "https://mirror/key",
            "guest_doca_key_checksum": DIGEST,
        },
        (
            ({"guest_doca_repository": ""}, "needs guest_doca_repository"),
            ({"guest_doca_key_url": "", "guest_doca_key_checksum": ""}, "guest_doca_key_url, guest_doca_key_checksum"),
            ({"guest_doca_source": "deb"}, "guest_doca_deb_url, guest_doca_deb_checksum"),
            ({"guest_doca_repository": "", "guest_ofed_profile": "mstflint"}, SKIPPED),
        ),
    ),
    Task(
        "guest",
        "request.yml",
        "Guest | Check the wanted nv_peer_memory",
        {
            "guest_peer_memory": "nv_peer_memory",
            "guest_ofed_profile": "guide",
            "guest_nv_peer_memory": ARCHIVE,
        },
        (
            ({"guest_ofed_profile": "current"}, "needs guest_ofed_profile guide (it is current"),
            ({"guest_nv_peer_memory": {**ARCHIVE, "url": ""}}, "guest_nv_peer_memory.url (it is empty)"),
            ({"guest_nv_peer_memory": {**ARCHIVE, "checksum": "x"}}, "(it is x)"),
            ({"guest_nv_peer_memory": {"url": "https://a:pw@mirror/x", "checksum": ""}}, "(it is https://mirror/x)"),
            ({"guest_nv_peer_memory": {**ARCHIVE, "version": "1.2"}}, "up to 5.2 that is 1.1-0 or 1.0-9"),
            ({"guest_nv_peer_memory": {**ARCHIVE, "version": "1.2"}, "guest_ofed_version": "5.3-1.0.0.1"}, OK),
            ({"guest_peer_memory": "auto", "guest_ofed_profile": "none"}, SKIPPED),
        ),
    ),
    Task(
        "guest",
        "request.yml",
        "Guest | Check the wanted QoS",
        {"guest_qos_enabled": True, "ansible_facts": APT},
        (
            ({"guest_qos_pfc": "0,0,0,1"}, "guest_qos_pfc is 0,0,0,1"),
            ({"guest_qos_pfc": "0,0,0,2,0,0,0,0"}, "eight digits 0 or 1"),
            ({"ansible_facts": {"service_mgr": "openrc"}}, "is openrc (wanted: systemd"),
            ({"guest_qos_tos": -4, "guest_qos_trust": "pcp"}, "guest_qos_tos is -4"),
            ({"guest_qos_tos": 256, "guest_qos_trust": "pcp"}, "guest_qos_tos is 256"),
            ({"guest_qos_tos": 255, "guest_qos_trust": "pcp"}, OK),
            ({"guest_qos_tos": 0}, OK),
            # DSCP 8 goes to priority 1, which has no PFC.
            ({"guest_qos_tos": 32}, "DSCP 8 of guest_qos_tos goes to priority 1"),
            ({"guest_qos_tos": 32, "guest_qos_trust": "pcp"}, OK),
            ({"guest_qos_tos": 32, "guest_qos_dscp_priority": {8: 3}}, OK),
            ({"guest_qos_tos": 999, "guest_qos_enabled": False}, SKIPPED),
        ),
    ),
    Task(
        "guest",
        "gpus.yml",
        "Guest | Check that the GPUs can be used as wanted",
        {"guest_gpus": {"problems": []}},
        (({"guest_gpus": {"problems": ["no driver."]}}, "no driver."),),
    ),
    Task(
        "guest",
        "gpus.yml",
        "Guest | Report GPUs that wait for the maintenance window",
        {"guest_gpus": {"waiting": []}},
        (({"guest_gpus": {"waiting": ["the driver waits."]}}, UNCHANGED),),
        SKIPPED,
    ),
    Task(
        "guest",
        "configure.yml",
        "Guest | Set up peer memory",
        {"guest_peer_memory": "nvidia_peermem"},
        (
            ({"guest_gpus": {"waiting": ["the driver waits."]}}, SKIPPED),
            ({"guest_gpus": {"waiting": []}}, UNCHANGED),
            # guest_check_gpus false: nobody looked.
            ({"guest_gpus": {"skipped": True}}, UNCHANGED),
            ({"guest_peer_memory": "none"}, SKIPPED),
        ),
        UNCHANGED,
    ),
    Task(
        "guest",
        "after_window.yml",
        "Guest | Set up peer memory after the window",
        {"guest_peer_memory": "nvidia_peermem"},
        (({"guest_peer_memory": "none"}, SKIPPED),),
        UNCHANGED,
    ),
    Task(
        "guest",
        "install.yml",
        "Guest | Check that there is a configuration tool",
        {"__guest_has_tool": True, "guest_ofed_profile": "none"},
        (
            ({"__guest_has_tool": False}, "guest_ofed_profile"),
            ({"__guest_has_tool": False, "guest_ofed_profile": "mstflint"}, OK),
        ),
    ),
    Task(
        "guest",
        "install_doca.yml",
        "Guest | Check that no MLNX_OFED is installed",
        {
            "__guest_found": {"doca-ofed": "", "mlnx-ofed-kernel-dkms": "installed 24.10.OFED"},
            "__guest_ofed_info": {"rc": 2},
        },
        (
            (
                {"__guest_found": {"doca-ofed": "", "mlnx-ofed-kernel-dkms": "installed 5.2-OFED.5.2.2.2.4.1"}},
                "does not replace a driver",
            ),
            ({"__guest_ofed_info": {"stdout": "MLNX_OFED_LINUX-24.10-2.1.8.0:"}}, "MLNX_OFED_LINUX-24.10-2.1.8.0"),
            # DOCA-OFED whose installation was interrupted, and one that is there.
            ({"__guest_ofed_info": {"stdout": "OFED-internal-24.10-1.1.4:"}}, OK),
            ({"__guest_found": {"doca-ofed": "installed 2.9.0", "mlnx-ofed-kernel-dkms": "installed 5.2"}}, OK),
        ),
    ),
    Task(
        "guest",
        "install_ofed.yml",
        "Guest | Wait for a running installer",
        {"__guest_ofed_wait": {"rc": 1}},
        (
            ({"__guest_ofed_wait": {"rc": 0}}, UNCHANGED),
            ({"__guest_ofed_wait": {"rc": 66}}, FAILED),
            (CHECK, SKIPPED),
        ),
        UNCHANGED,
    ),
    Task(
        "guest",
        "install_ofed.yml",
        "Guest | Check that no installer runs",
        {"__guest_ofed_wait": {"rc": 0}},
        (
            ({"__guest_ofed_wait": {"rc": 1}}, "an installation of MLNX_OFED still runs"),
            ({"__guest_ofed_wait": {"rc": 1}, **CHECK}, SKIPPED),
        ),
    ),
    Task(
        "guest",
        "install_ofed.yml",
        "Guest | Check that no other MLNX_OFED is installed",
        {"__guest_ofed": {"state": "missing", "found": ""}},
        (
            ({"__guest_ofed": {"state": "other", "found": "5.0"}}, "guest_allow_driver_replacement"),
            ({"__guest_ofed": {"state": "other", "found": "5.0"}, "guest_allow_driver_replacement": True}, OK),
            ({"__guest_ofed": {"state": "wanted", "found": "5.2"}}, OK),
        ),
    ),
    Task(
        "guest",
        "install_ofed.yml",
        "Guest | Check the system for MLNX_OFED",
        {"__guest_ofed_todo": True, "ansible_facts": APT, "guest_ofed_system": "ubuntu20.04"},
        (
            ({"ansible_facts": {**APT, "distribution_version": "22.04"}}, "this is Ubuntu 22.04"),
            (
                {
                    "ansible_facts": {"distribution": "Debian", "distribution_version": "10.9"},
                    "guest_ofed_system": "debian10.8",
                },
                OK,
            ),
            ({"ansible_facts": {**APT, "distribution_version": "22.04"}, "__guest_ofed_todo": False}, SKIPPED),
            ({"ansible_facts": {**APT, "distribution_version": "22.04"}, **CHECK}, SKIPPED),
        ),
    ),
    Task(
        "guest",
        "install_ofed.yml",
        "Guest | Compare MLNX_OFED with the wanted version",
        {"__guest_ofed_todo": True, "__guest_ofed": {"state": "wanted", "found": "5.2"}},
        (
            ({"__guest_ofed": {"state": "other", "found": "5.0"}}, "is not there: found 5.0 (other)"),
            ({"__guest_ofed": {"state": "missing", "found": ""}}, "found none (missing)"),
            ({"__guest_ofed": {"state": "other", "found": "5.0"}, "__guest_ofed_todo": False}, SKIPPED),
            ({"__guest_ofed": {"state": "other", "found": "5.0"}, **CHECK}, SKIPPED),
        ),
    ),
    Task(
        "guest",
        "peer_memory.yml",
        "Guest | Check dma-buf",
        {"guest_peer_memory": "dma_buf", "__guest_peer": PEER},
        (
            ({"__guest_peer": {**PEER, "peer_memory": {"dma_buf": False}}}, "cannot do it"),
            ({"__guest_peer": {**PEER, "peer_memory": {"dma_buf": None}}}, "does not say whether it can"),
            ({"__guest_peer": {**PEER, "peer_memory": {"dma_buf": False}}, "guest_peer_memory": "auto"}, SKIPPED),
        ),
    ),
    Task(
        "guest",
        "finish_dpkg.yml",
        "Guest | Configure half-configured packages",
        {"__guest_audit": {"stdout": "half installed"}, "__guest_configured": {"rc": 0, "stderr": ""}},
        (
            ({"__guest_configured": {"rc": 1, "stderr": "dpkg frontend lock is held"}}, AGAIN),
            ({"__guest_configured": {"rc": 1, "stderr": "broken"}}, CHANGED),
            ({"__guest_audit": {"stdout": ""}}, SKIPPED),
            (CHECK, SKIPPED),
        ),
        CHANGED,
    ),
    Task(
        "guest",
        "restart_driver.yml",
        "Guest | Check that the card is unused",
        {"guest_allow_openibd_restart": True, "__guest_in_use": {"refusals": []}},
        (
            ({"__guest_in_use": {"refusals": ["this connection comes in over eth1"]}}, "comes in over eth1"),
            ({"__guest_in_use": {"refusals": ["x"]}, "guest_allow_openibd_restart": False}, SKIPPED),
        ),
    ),
    Task(
        "guest",
        "space.yml",
        "Guest | Check the free space",
        {"__guest_compared": {"space": {"shortages": []}}},
        (({"__guest_compared": {"space": {"shortages": ["/usr has 1 of 3 GiB"]}}}, "/usr has 1 of 3 GiB"),),
    ),
    Task(
        "guest",
        "verify_mtu.yml",
        "Guest | Compare the MTU",
        {"guest_mtu": 9000, "item": {"name": "eth1", "mtu": 9000}},
        (({"item": {"name": "eth1", "mtu": 1500}}, "eth1 has MTU 1500, wanted 9000"),),
    ),
    Task(
        "guest",
        "verify_qos.yml",
        "Guest | Compare the RoCE QoS",
        {"item": "eth1", "__guest_qos_now": port(QOS), "guest_qos_trust": "dscp", "guest_qos_pfc": "0,0,0,1,0,0,0,0"},
        (
            ({"__guest_qos_now": port({**QOS, "trust": "pcp"})}, "has not trust dscp"),
            ({"item": "eth2", "__guest_interfaces": [{"ports": ["eth1", "eth2"]}]}, SKIPPED),
            ({"__guest_qos_now": port({**QOS, "pfc_priorities": [3, 4]})}, "PFC on [3]"),
            ({"__guest_qos_now": port({**QOS, "dscp_prio": {"26": "2"}})}, "not so in the map: {26: 3}"),
            ({"item": "eth2", "__guest_interfaces": [{"ports": ["eth2"]}]}, "'trust': 'unknown'"),
        ),
    ),
    Task(
        "guest",
        "verify_qos.yml",
        "Guest | Check the traffic class",
        {"guest_qos_tos": 106, "item": {"rc": 0, "stdout": "106\n", "item": "mlx5_0"}},
        (
            ({"item": {"rc": 0, "stdout": "0", "item": "mlx5_0"}}, "mlx5_0 has traffic class 0"),
            ({"item": {"rc": 2, "stdout": "", "item": "mlx5_0"}}, SKIPPED),
            ({"item": {"rc": 0, "stdout": "0", "item": "mlx5_0"}, "guest_qos_tos": 0}, SKIPPED),
        ),
    ),
    # ---- mesh
    Task(
        "mesh",
        "request.yml",
        "Request | Compare the distributions with those that are supported",
        {"__mesh_systems": {"problems": []}, "mesh_state": "present"},
        (
            ({"__mesh_systems": {"problems": ["gpu01: Fedora 42 is not supported"]}}, FAILED),
            ({"mesh_state": "absent"}, SKIPPED),
        ),
        UNCHANGED,
    ),
    Task(
        "mesh",
        "request.yml",
        "Request | Check the hosts",
        {
            "mesh_state": "present",
            "__mesh_head": "gpu01",
            "ansible_play_hosts_all": ["gpu01", "gpu02"],
            "ansible_play_hosts": ["gpu01", "gpu02"],
            "ansible_play_batch": ["gpu01", "gpu02"],
        },
        (
            ({"ansible_limit": "gpu01"}, "With --limit gpu01".lower()),
            (
                {"ansible_limit": "gpu01,gpu02", "groups": {"gpu_vms": ["gpu01", "gpu02", "gpu03"]}},
                "with --limit gpu01,gpu02",
            ),
            ({"ansible_limit": "all:!leaf01", "groups": {"gpu_vms": ["gpu02", "gpu01"]}}, "passes"),
            ({"ansible_play_batch": ["gpu01"]}, "gpu02 would come later"),
            ({"__mesh_head": "gpu09"}, "mesh_head is gpu09, the play has gpu01, gpu02"),
            ({"__mesh_head": "gpu09", "mesh_state": "absent"}, SKIPPED),
        ),
    ),
    Task(
        "mesh",
        "read.yml",
        "Verify | Refuse a node without keys or without its container",
        {"__mesh_container": {"rc": 0, "stdout": "true\n"}, "__mesh_keyless": []},
        (
            ({"__mesh_keyless": ["gpu02"]}, "gpu02 have no keys"),
            ({"__mesh_keyless": ["gpu02"], **CHECK}, SKIPPED),
            ({"__mesh_container": {"rc": 0, "stdout": "false"}}, "does not run (stopped)"),
            ({"__mesh_container": {"rc": 1, "stdout": "true", "stderr": "no such object"}}, "no such object"),
            ({"__mesh_container": {"rc": 1, "stdout": ""}, **CHECK}, SKIPPED),
        ),
    ),
    Task(
        "mesh",
        "verify.yml",
        "Verify | Log in over the mesh",
        {
            "mesh_verify_from": "head",
            "__mesh_head": "gpu01",
            "__mesh_container": {"rc": 0},
            "__mesh_keyless": [],
        },
        (
            ({"__mesh_head": "gpu02"}, SKIPPED),
            ({"__mesh_head": "gpu02", "mesh_verify_from": "all"}, UNCHANGED),
            ({"__mesh_container": {"rc": 1}}, SKIPPED),
            ({"__mesh_keyless": ["gpu01"]}, SKIPPED),
        ),
        UNCHANGED,
    ),
    Task(
        "mesh",
        "log_in.yml",
        "Verify | Check every login",
        {
            "__mesh_closed": False,
            "mesh_transport": "container",
            "mesh_user": "nvidia",
            "mesh_container_name": "mpicont",
            "__mesh_tried": {"wrong": [], "summary": []},
        },
        (
            ({"__mesh_tried": {"wrong": ["gpu02 (exit status 255)"]}}, "no login to gpu02 (exit status 255)"),
            ({"__mesh_tried": {"wrong": ["gpu02"]}}, "docker logs mpicont"),
            ({"__mesh_tried": {"wrong": ["gpu02"]}, "mesh_transport": "guide"}, "have to name nvidia"),
            ({"__mesh_tried": {"wrong": ["gpu02"]}, "__mesh_closed": True}, "the key should be refused everywhere"),
        ),
    ),
    Task(
        "mesh",
        "peers.yml",
        "Peers | Refuse a mesh with a hole",
        {"__mesh_silent": []},
        (({"__mesh_silent": ["gpu02"]}, "strategy linear"),),
    ),
    # ---- run
    Task(
        "run",
        "network.yml",
        "Check the list of hosts",
        {"run_hosts": HOSTS, "groups": GROUPS},
        (
            ({"run_hosts": []}, "run_hosts is []"),
            ({"run_hosts": [*HOSTS, {"name": "gpu09", "address": "10.1.0.19"}]}, "only hosts of the inventory"),
            ({"inventory_hostname": "gpu02"}, "this host (the head) first"),
        ),
    ),
    Task(
        "consistency",
        "main.yml",
        "Consistency | Assert that the layers agree",
        {"consistency_report": {"consistent": True, "mismatches": []}, "consistency_fail": True},
        (
            (
                {"consistency_report": {"consistent": False, "mismatches": [f"port {n}" for n in range(2048)]}},
                "2048 contradictions, all in the table above. port 0 port 1 port 2 port 3 port 4 port 5 port 6 port 7",
            ),
            ({"consistency_report": {"consistent": False, "mismatches": ["x"]}, "consistency_fail": "false"}, SKIPPED),
        ),
    ),
    Task(
        "run",
        "preflight.yml",
        "Query Open MPI of the head's container",
        {"__run_open_mpi": {"rc": 0, "stdout": "mpirun (Open MPI) 4.1.4"}},
        (
            ({"__run_open_mpi": {"rc": 0, "stdout": "mpiexec (MPICH) 4.0"}}, FAILED),
            ({"__run_open_mpi": {"rc": 126, "stdout": "Open MPI"}}, FAILED),
            ({"__run_open_mpi": {"msg": "no such container", "stdout": "Open MPI"}}, FAILED),
        ),
        UNCHANGED,
    ),
    Task(
        "run",
        "hostname.yml",
        "Check the host names against the inventory",
        {"__run_names": ["gpu02", "gpu01"], "__run_expected_names": ["gpu01", "gpu02"]},
        (
            ({"__run_names": ["gpu01", "gpu01"]}, "missing: ['gpu02']"),
            ({"__run_names": ["gpu01", "gpu02", "gpu02"]}, "answered 3 names instead of 2;"),
            ({"__run_names": ["gpu01", "db03"]}, "not expected: ['db03']"),
        ),
    ),
    Task(
        "run",
        "preflight.yml",
        "Check that every container runs, in a PID namespace of its own",
        {"__run_seen": {"stopped": []}, "__run_inspected": [of("gpu01"), of("gpu02")]},
        (
            (
                {
                    "__run_seen": {"stopped": ["gpu02 unreachable"]},
                    "__run_inspected": [of("gpu01"), {"item": {"name": "gpu02"}, "unreachable": True}],
                },
                "mpicont: gpu02 unreachable.",
            ),
            ({"__run_inspected": [of("gpu01"), of("gpu02", "host")]}, "mpicont: gpu02 has --pid=host."),
        ),
    ),
    Task(
        "run",
        "collective.yml",
        "Check that every rank got n(n+1)/2",
        {"__run_ranks": 2, "__run_sums": [rank(1, 3), rank(2, 3)]},
        (
            ({"__run_sums": [rank(1, 3)]}, "over 2 ranks must give 3.0"),
            ({"__run_sums": [rank(1, 3), rank(2, 3, ok=False)]}, "Do not train on this MPI"),
            ({"__run_sums": [rank(1, 3), rank(2, 1)]}, "1 of them wrong: gpu02 got 1."),
        ),
    ),
    Task(
        "run",
        "gpu_check.yml",
        "Check that every host shows at least one GPU per slot",
        {
            "run_expect_gpus": "auto",
            "item": {"name": "gpu01", "slots": 2},
            "__run_gpus": {"gpu01": ["a", "b"], "gpu02": ["a"]},
        },
        (
            ({"__run_gpus": {"gpu01": ["a"], "gpu02": ["a", "b"]}}, "gpu01: 1 GPU(s)"),
            ({"__run_gpus": {"gpu02": ["a"]}}, "gpu01: 0 GPU(s)"),
            ({"__run_gpus": {"gpu01": [], "gpu02": []}}, SKIPPED),
            ({"__run_gpus": {"gpu01": [], "gpu02": []}, "run_expect_gpus": "true"}, "nvidia-smi on this host"),
            ({"__run_gpus": {"gpu01": ["a"]}, "run_expect_gpus": "false"}, SKIPPED),
            # As YAML reads them without quotes, which the specification of the argument takes.
            ({"__run_gpus": {"gpu01": [], "gpu02": []}, "run_expect_gpus": True}, "nvidia-smi on this host"),
            ({"__run_gpus": {"gpu01": ["a"]}, "run_expect_gpus": False}, SKIPPED),
        ),
    ),
    Task(
        "run",
        "gpu_check.yml",
        "Check that no GPU is left idle",
        {"run_expect_gpus": "auto", "item": {"name": "gpu01", "slots": 2}, "__run_gpus": {"gpu01": ["a", "b"]}},
        (
            ({"__run_gpus": {"gpu01": ["a", "b", "c"]}}, "in run_hosts to 3"),
            ({"__run_gpus": {"gpu01": ["a", "b", "c"]}, "run_allow_idle_gpus": True}, SKIPPED),
            ({"__run_gpus": {"gpu01": ["a", "b", "c"]}, "run_expect_gpus": "false"}, SKIPPED),
        ),
    ),
    Task(
        "run",
        "gpu_stack.yml",
        "Check that PyTorch supports the GPUs",
        {"run_workload": "torch", "__run_cuda_hosts": 2, "__run_stack": {"problems": []}},
        (
            ({"__run_stack": {"problems": ["gpu01: built without CUDA"]}}, "built without CUDA"),
            ({"__run_stack": {"problems": ["x"]}, "run_allow_cpu": True}, SKIPPED),
            ({"__run_stack": {"problems": ["x"]}, "__run_cuda_hosts": 0}, SKIPPED),
            ({"__run_stack": {"problems": ["x"]}, "run_workload": "tf_cnn_benchmarks"}, SKIPPED),
        ),
    ),
    Task(
        "run",
        "handoff_install.yml",
        "Refuse to overwrite a foreign file",
        {"item": {"content": "IyBOQ0NMJ3MgdmFyaWFibGVzIGZvciBncHUwMQo=", "item": {"name": "gpu01"}}},
        (
            (
                {"item": {"content": "TkNDTF9ERUJVRz1JTkZPCg==", "item": {"name": "gpu01"}}},
                "belongs to another owner: NCCL_DEBUG=INFO",
            ),
            # Its file has the node's own name.
            ({"item": {"content": "QQ==", "item": {"name": "a", "hostname": "node1.example.org"}}}, "nccl.d/node1.env"),
            ({"item": {"msg": "file not found", "item": {"name": "gpu01"}}}, OK),
        ),
    ),
    Task(
        "run",
        "handoff.yml",
        "Read NCCL's topology on each node",
        {"__run_handoff_container": {"container": {"Config": {"Env": ["A=1", "NCCL_TOPO_FILE=/t.xml"]}}}},
        (
            # An old one, which is not given to the container any more.
            ({"__run_handoff_container": {"container": {"Config": {"Env": ["A=1"]}}}}, SKIPPED),
            ({"__run_handoff_container": {"container": None, "exists": False}}, UNCHANGED),
            ({"__run_handoff_container": {"msg": "no engine"}}, UNCHANGED),
        ),
        well=UNCHANGED,
    ),
    Task(
        "run",
        "leftovers.yml",
        "Refuse to run beside a foreign job",
        {"__run_judged": {"others": [], "over": []}},
        (
            ({"__run_judged": {"others": [{"text": "gpu02: 77 train.py of bob"}]}}, "77 train.py of bob."),
            ({"__run_judged": {"others": [{"text": f"process {pid}"} for pid in range(2048)]}}, "process 7; and more."),
        ),
    ),
    Task(
        "run",
        "leftovers.yml",
        "End jobs of killed runs of this site",
        {"__run_leftovers": {"rc": 0, "stdout": '{"ended": [], "left": []}'}},
        (
            ({"__run_leftovers": {"rc": 0, "stdout": '{"ended": [77], "left": []}'}}, CHANGED),
            ({"__run_leftovers": {"rc": 1, "stdout": '{"ended": []}'}}, UNCHANGED),
            ({"__run_leftovers": {"rc": 2, "stdout": '{"ended": []}'}}, FAILED),
            ({"__run_leftovers": {"msg": "no answer"}}, FAILED),
        ),
        UNCHANGED,
    ),
    Task(
        "run",
        "probe.yml",
        "Check that the data path is as good as wanted",
        {"__run_path": JOB, "run_require_path": "gdrdma", "__run_name": "n", "run_log_dir": "/r"},
        (
            ({"__run_path": {**JOB, "verdict": "rdma_via_host"}}, "gdrdma without any problem is required"),
            ({"__run_path": {**JOB, "problems": BAD}}, "a channel over TCP"),
            ({"__run_path": {**JOB, "verdict": "tcp", "problems": BAD}, "run_require_path": "any"}, OK),
            (
                {"__run_path": {**JOB, "verdict": "not_one_job"}, "run_require_path": "any"},
                "one job without any problem",
            ),
            ({"__run_path": {**JOB, "verdict": "rdma_via_host"}, "run_require_path": "rdma_via_host"}, OK),
            ({"run_require_path": "rdma_via_host"}, OK),
            ({"__run_path": {**JOB, "verdict": "receive_only"}, "run_require_path": "rdma_via_host"}, OK),
            ({"__run_path": {**JOB, "verdict": "receive_only"}}, "the data path is receive_only"),
            ({"__run_path": {}}, SKIPPED),
        ),
    ),
    Task(
        "run",
        "verify.yml",
        "Check that the figures support each other",
        {"__run_result": {"ok": True}, "__run_log": "/r/log"},
        (
            (
                {"__run_result": {"ok": False, "problems": [{"message": "the sum is not the total"}]}},
                "the sum is not the total",
            ),
        ),
    ),
    Task(
        "run",
        "verify.yml",
        "Check that the training took a path as good as wanted",
        {
            "__run_path": JOB,
            "__run_nccl_path": JOB,
            "run_require_path": "gdrdma",
            "__run_name": "n",
            "run_log_dir": "/r",
        },
        (
            ({"__run_nccl_path": {**JOB, "verdict": "rdma_via_host"}}, "path of the training is rdma_via_host"),
            ({"__run_nccl_path": {**JOB, "problems": BAD}}, "a channel over TCP"),
            (
                {"__run_nccl_path": {**JOB, "verdict": "not_one_job"}, "run_require_path": "any"},
                "one job without any problem",
            ),
            ({"__run_nccl_path": {**JOB, "verdict": "receive_only"}, "run_require_path": "rdma_via_host"}, OK),
            ({"__run_path": {}}, SKIPPED),
        ),
    ),
    Task(
        "run",
        "verify.yml",
        "Check that each rank trained on its host",
        {
            "run_workload": "torch",
            "__run_expected_names": ["gpu01", "gpu02"],
            "__run_log": "/r/log",
            "__run_result": {"per_rank": [{"host": "gpu02"}, {"host": "gpu01"}]},
        },
        (
            ({"__run_result": {"per_rank": [{"host": "gpu01"}, {"host": "gpu01"}]}}, "without a rank: ['gpu02']"),
            ({"__run_result": {"per_rank": []}, "run_workload": "tf_cnn_benchmarks"}, SKIPPED),
        ),
    ),
    # ---- others
    Task(
        "benchmark",
        "setup.yml",
        "Check the name of the measurement",
        {"__benchmark_name": "20260102-night", "benchmark_dir": "/r"},
        (({"__benchmark_name": "latest"}, "latest"), ({"__benchmark_name": "../up"}, "../up")),
    ),
    Task(
        "benchmark",
        "scaling.yml",
        "Check the number of scaling steps",
        {"__benchmark_scaling": {"dropped": 2, "iterations": 10}},
        (
            ({"__benchmark_scaling": {"dropped": 10, "iterations": 10}}, "benchmark_scaling.dropped"),
            ({"__benchmark_scaling": {"dropped": -1, "iterations": 10}}, "benchmark_scaling.dropped"),
            ({"__benchmark_scaling": {"dropped": 0, "iterations": 10}}, OK),
        ),
    ),
    Task(
        "gpu_vm",
        "preflight.yml",
        "GPU VM | Check the NUMA affinity",
        {"gpu_vm_numa_node_affinity": "auto"},
        (
            ({"gpu_vm_numa_node_affinity": "absent"}, OK),
            ({"gpu_vm_numa_node_affinity": ["0", "1"]}, OK),
            ({"gpu_vm_numa_node_affinity": "0"}, "gpu_vm_numa_node_affinity"),
            ({"gpu_vm_numa_node_affinity": 1}, "gpu_vm_numa_node_affinity"),
        ),
    ),
    Task(
        "gpu_vm",
        "verify.yml",
        "GPU VM | Assert that the keys are set",
        {"__gpu_vm_observed": {"operations": []}},
        (
            ({"__gpu_vm_observed": {"operations": [{"description": "set pciPassthru.allowP2P to TRUE"}]}}, "allowP2P"),
            ({"__gpu_vm_observed": {"operations": [{"description": "x"}]}, **CHECK}, SKIPPED),
        ),
    ),
    Task(
        "esxi_host",
        "preflight.yml",
        "ESXi host | Check that there is something to set",
        {},
        (({"esxi_host_kernel_settings": {}}, "esxi_host_kernel_settings"),),
    ),
    Task(
        "esxi_host",
        "verify.yml",
        "ESXi host | Assert that the settings are configured",
        {"__esxi_host_observed": {"operations": []}},
        (
            ({"__esxi_host_observed": {"operations": [{"description": "set atsSupport to TRUE"}]}}, "atsSupport"),
            ({"__esxi_host_observed": {"operations": [{"description": "x"}]}, **CHECK}, SKIPPED),
        ),
    ),
    Task(
        "esxi_host",
        "verify.yml",
        "ESXi host | Assert that the settings are in force",
        {"__esxi_host_observed": {"reboot_required": False, "reboot_reasons": []}, "esxi_host_require_runtime": True},
        (
            ({"__esxi_host_observed": {"reboot_required": True, "reboot_reasons": ["atsSupport waits"]}}, "reboot"),
            ({"__esxi_host_observed": {"reboot_required": True}, "esxi_host_require_runtime": False}, SKIPPED),
            ({"__esxi_host_observed": {"reboot_required": True}, **CHECK}, SKIPPED),
        ),
    ),
    Task(
        "fabric",
        "look.yml",
        "Plan the check on trial",
        {"__fabric_planned": {"failed": False}},
        (
            ({"__fabric_planned": {"failed": True, "no_plan": True}}, UNCHANGED),
            ({"__fabric_planned": {"failed": True}}, FAILED),
        ),
        UNCHANGED,
    ),
    Task(
        "fabric",
        "gate.yml",
        "Stop where a check was required",
        {"fabric_gate": "required", "__fabric_reasons": []},
        (
            ({"__fabric_reasons": ["no check is younger than a day"]}, "no check is younger than a day"),
            ({"__fabric_reasons": ["x"], "fabric_gate": "warn"}, SKIPPED),
            ({"__fabric_reasons": ["x"], **CHECK}, SKIPPED),
        ),
    ),
    Task(
        "preflight",
        "main.yml",
        "Preflight | Stop before anything is changed",
        {"__preflight": {"ready": True}, "preflight_fail": True},
        (
            (
                {"__preflight": {"ready": False, "table": ["! fd00::e: ssh: No route. What to do: look."]}},
                ": fd00::e: ssh.",
            ),
            ({"__preflight": {"ready": False, "table": ["? a: b: c."]}, "preflight_fail": False}, SKIPPED),
        ),
    ),
    Task(
        "consistency",
        "node.yml",
        "Consistency | Read the MTUs that the container sees",
        {
            "__consistency_nic": {"devices": [{"netdev": "ens1"}]},
            "__consistency_inspected": {"container": {"State": {"Running": True}}},
        },
        (
            ({"__consistency_inspected": {"container": None, "exists": False}}, SKIPPED),
            # An engine that is not there or does not answer is a row of the table, too.
            ({"__consistency_inspected": {"failed": True, "msg": "Error connecting"}}, SKIPPED),
        ),
        UNCHANGED,
    ),
)
