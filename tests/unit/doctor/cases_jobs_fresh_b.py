"""A last dozen of the same kind, read after the rules had been mended for ``cases_jobs_fresh_a``. When they were
written, 12 of 12 were right; some print what earlier threads print, too."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, YES, Case, case
from tests.unit.doctor.cases_threads import G

JOBS_LAST: tuple[Case, ...] = (
    case(
        "server refuses the key",
        G + "kubeflow/mpi-operator/issues/472",
        "mpi_launch",
        YES,
        "debug1: Authentications that can continue: publickey,password\nroot@hello-worker-0: Permission denied "
        "(publickey,password).\n",
    ),
    case(
        "only the port of ssh is open",
        G + "horovod/horovod/issues/1414",
        "firewall host_routing",
        CANDIDATES,
        "horovodrun -np 2 -H s1:1,s2:1 hangs, ssh between the servers works, only port 22 is open\n",
    ),
    case(
        "only the port of the store is open",
        G + "pytorch/pytorch/issues/44544",
        "firewall",
        CANDIDATES,
        "MASTER_PORT is open, yet gloo/transport/tcp/pair.cc: connect [192.0.2.3]:41823: Connection timed out\n",
    ),
    case(
        "workers of gpustack",
        G + "gpustack/gpustack/issues/2125",
        "host_routing run_env firewall",
        CANDIDATES,
        "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:144] no error\n",
    ),
    case(
        "pod without the network of its host",
        G + "llm-d-incubation/llm-d-modelservice/pull/180",
        "container rdma_gid host_routing",
        CANDIDATES,
        "hostNetwork: false\nFailed to modify QP 6814 to RTR\n Unable to Connect the HCA's through the link\n",
    ),
    case(
        "module of gdrcopy",
        G + "siderolabs/docs/issues/566",
        "container guest_driver",
        CANDIDATES,
        "gdr_open failed: No such file or directory, /dev/gdrdrv is not in the pod\n",
    ),
    case(
        "driver that cannot answer",
        G + "NVIDIA/nvidia-docker/issues/1137",
        "gpu_driver container",
        CANDIDATES,
        "running prestart hook 0 caused error running hook: exit status 1, stderr: nvidia-container-cli: "
        "initialization error: driver error: failed to process request\n",
    ),
    case(
        "gloo finds its port taken",
        G + "ray-project/ray/issues/35907",
        "application run_env host_limits",
        CANDIDATES,
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:176] bind: Address already in use\n",
    ),
    case(
        "batches of other sizes",
        G + "EleutherAI/bergson/pull/227",
        "application",
        CANDIDATES,
        "ranks see batches with different numbers of tokens, the job hangs\n",
    ),
    case(
        "sockets of many ranks",
        G + "uccl-project/uccl/issues/337",
        "host_limits",
        YES,
        "socket() failed: Too many open files, soft limit 1024, hard limit 1048576\n",
    ),
    case(
        "ecc behind a segmentation fault",
        G + "microsoft/pai/issues/4314",
        "gpu_hardware",
        CANDIDATES,
        "uncorrectable ECC error encountered\nexit code 139: Segmentation fault\n",
    ),
    case(
        "script that counts ecc",
        G + "Azure/azurehpc/pull/617",
        "gpu_hardware",
        CANDIDATES,
        "Warning: Detected a very high GPU DRAM uncorrectable error count (12) for the volatile counter for GPU ID 3\n",
    ),
)
