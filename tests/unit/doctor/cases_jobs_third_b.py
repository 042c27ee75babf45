"""The second half of the round of ``cases_jobs_third``."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, YES, Case, case
from tests.unit.doctor.cases_jobs_third import NVIDIA
from tests.unit.doctor.cases_threads import G

W = "gpu01:124:392 [0] "

JOBS_THIRD_B: tuple[Case, ...] = (
    case(
        "symbol version of libfabric",
        G + "awslabs/awsome-distributed-ai/issues/292",
        "nccl_version container",
        YES,
        "[0] NCCL INFO NET/Plugin : dlerror=/opt/amazon/efa/lib/libfabric.so.1: version `FABRIC_1.7' not found "
        "(required by libnccl-net.so) No plugin found (libnccl-net.so), using internal implementation\n",
    ),
    case(
        "two wheels of NCCL",
        G + "pytorch/pytorch/issues/186591",
        "nccl_version",
        YES,
        "undefined symbol: ncclCommResume\nnvidia-nccl-cu12==2.29.3\nnvidia-nccl-cu13==2.29.7\n",
    ),
    case(
        "library that stays the old one",
        G + "verl-project/verl/pull/6621",
        "nccl_version",
        YES,
        "torch.cuda.nccl.version() (2, 28, 9)\npip show nvidia-nccl-cu13: Version: 2.30.4\n",
    ),
    case(
        "plugin and a newer NCCL",
        G + "aws/aws-ofi-nccl/issues/1055",
        "nccl_version",
        YES,
        "NCCL 2.28.9 + aws-ofi-nccl deadlocks, NCCL 2.27.7 + aws-ofi-nccl 12.01 GB/s\n",
    ),
    case(
        "librccl and its runtime",
        G + "ROCm/rccl/issues/109",
        "nccl_version",
        YES,
        "ImportError: /opt/rocm/lib/librccl.so: undefined symbol: hipExtLaunchMultiKernelMultiDevice\n",
    ),
    case(
        "level that makes jobs hang",
        G + "lumi-ai-factory/laifs-container-recipes/issues/30",
        "run_env",
        YES,
        "torch.distributed hangs with NCCL_NET_GDR_LEVEL=PHB; removing NCCL_NET_GDR_LEVEL seems to fix it\n",
    ),
    case(
        "plugin that does not listen",
        NVIDIA + "nccl-tests/issues/373",
        "run_env nccl_version",
        CANDIDATES,
        "NCCL_IB_DISABLE=1 not work\nNCCL INFO P2P plugin IBext_v8\nNCCL INFO Using network IBext_v8\n",
    ),
    case(
        "interface of an example file",
        G + "MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark/issues/4",
        "run_env host_routing",
        YES,
        "RuntimeError: [enforce fail at gloo/transport/tcp/device.cc:84] ifa != nullptr. Unable to find address for: "
        "enp1s0f1np1\n",
    ),
    case(
        "loopback as a fallback",
        G + "aws-samples/aws-do-eks/pull/50",
        "run_env host_routing",
        YES,
        "[rank8] Warning: Unable to resolve hostname to a (local) address. Using the loopback address as fallback.\n"
        "[rank8] Gloo connectFullMesh failed: SO_ERROR: Connection refused, remote=[127.0.0.1]:14215\n",
    ),
    case(
        "RoCE switched off",
        G + "timothystewart6/vllm-gb10/pull/24",
        "run_env",
        YES,
        "NCCL_IB_DISABLE=1 cuts throughput ~4x\n",
    ),
    case(
        "name of a worker pod",
        G + "everpeace/kube-openmpi/issues/26",
        "mpi_launch host_routing",
        YES,
        "ssh: Could not resolve hostname mpic-worker-0: Temporary failure in name resolution\nORTE was unable to "
        "reliably start one or more daemons.\n",
    ),
    case(
        "daemon that cannot call back",
        G + "open-mpi/ompi/issues/6297",
        "firewall host_routing mpi_launch",
        CANDIDATES,
        "A process or daemon was unable to complete a TCP connection\nto another process:\n  Local host: b\n  Remote "
        "host: a\nThis is usually caused by a firewall on the remote host.\n",
    ),
    case(
        "orted by hand",
        NVIDIA + "enroot/issues/49",
        "mpi_launch container",
        YES,
        "[dw-1-5:43288] [[INVALID],INVALID] ORTE_ERROR_LOG: Not found in file ess_env_module.c at line 135\n",
    ),
    case(
        "delivery of kubectl",
        G + "kubeflow/mpi-operator/issues/407",
        "container firewall mpi_launch",
        CANDIDATES,
        "kubectl-delivery: Failed to list *v1.Pod: Get https://10.43.0.1:443/api/v1/namespaces/a/pods: dial tcp "
        "10.43.0.1:443: connect: connection refused\n",
    ),
    case(
        "sampler without padding",
        G + "SeungjunNah/DeepDeblur-PyTorch/issues/44",
        "application",
        CANDIDATES,
        "hangs at the end with 100% utilization in 2 of 3 GPUs using DistributedEvalSampler, not with "
        "DistributedSampler\n",
    ),
    case(
        "last batch of one process",
        G + "Chris-hughes10/pytorch-accelerated/pull/53",
        "application",
        YES,
        "One process has a different number of samples than the rest on the last batch, gather() freezes\n",
    ),
    case(
        "descriptors of a trainer",
        G + "aws-neuron/aws-neuron-sdk/issues/713",
        "host_limits",
        YES,
        "332066:332417 [18] bootstrap.cc:106 CCOM WARN Call to accept failed : Too many open files\n",
    ),
    case(
        "region beyond the limit",
        G + "tarickb/the-geek-in-the-corner/issues/6",
        "host_limits",
        CANDIDATES,
        "ibv_reg_mr fails when the BUFFER_SIZE exceeds around 100K\n",
    ),
    case(
        "ping but no connection",
        NVIDIA + "nccl/issues/375",
        "firewall host_routing",
        CANDIDATES,
        "NCCL WARN Connect to 192.0.2.157<46225> failed : Connection timed out\ntwo nodes can ping each other\n",
    ),
    case(
        "connection that software aborts",
        NVIDIA + "nccl-tests/issues/162",
        "firewall host_routing",
        CANDIDATES,
        W + "misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 192.0.2.4<41193> failed : Software caused "
        "connection abort\n",
    ),
    case(
        "scan that hangs up early",
        NVIDIA + "nccl/issues/1612",
        "foreign_traffic",
        CANDIDATES,
        "connection to the listen socket is closed before 8 bytes are sent (security scan)\n[0] misc/socket.cc:71 NCCL "
        "WARN socketProgress: Connection closed by remote peer 192.0.2.3<36138>\n[0] NCCL INFO bootstrap.cc:701 -> 6\n",
    ),
    case(
        "scan of mpirun's port",
        G + "open-mpi/ompi-release/pull/364",
        "foreign_traffic",
        YES,
        "port scanners touch the port and immediately disconnect, oob/tcp segfaults with peer=NULL\n",
    ),
    case(
        "NICs of one subnet",
        NVIDIA + "nccl/issues/1269",
        "host_routing",
        YES,
        "all NICs on the same subnet, all traffic is routed through a single interface on the client side\n",
    ),
    case(
        "address of the unique id",
        NVIDIA + "nccl/issues/474",
        "run_env host_routing",
        CANDIDATES,
        "NCCL WARN NET : No interface found in the same subnet as remote address 192.0.2.18<9000>\n",
    ),
    case(
        "filter of the reverse path",
        G + "openucx/ucx/pull/9839",
        "host_routing",
        YES,
        "two interfaces in one subnet, rp_filter=1, the connection leaves through the other interface and is dropped\n",
    ),
    case(
        "address on the loopback",
        NVIDIA + "nccl/issues/1053",
        "host_routing run_env",
        YES,
        "BGP unnumbered, the server's IP is a /32 on lo; NCCL INFO Bootstrap : Using lo:127.0.0.1<0>\n",
    ),
    case(
        "sound: internal plugin and verbs",
        G + "dstackai/dstack/issues/2712",
        "healthy",
        YES,
        W
        + "NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.\n"
        + W
        + "NCCL INFO Using "
        "network IB\n" + W + "NCCL INFO Channel 00/0 : 9[1] -> 1[1] [receive] via NET/IB/1/GDRDMA\n",
    ),
    case(
        "sound: memory that is not bound",
        G + "open-mpi/ompi/issues/7368",
        "healthy",
        YES,
        "WARNING: Open MPI tried to bind a process but failed.  This is a\nwarning only; your job will continue, "
        "though performance may\nbe degraded.\n\n  Local host:        caa484f9e63a\n  Error message:     failed to "
        "bind memory\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 92.1\n",
    ),
    case(
        "sound: a stack without limit",
        NVIDIA + "nccl/issues/2186#2.30",
        "healthy",
        YES,
        W + "NCCL INFO Stack size limit (unlimited) is unsafe; will use 8192KB for threads\n" + W + "NCCL INFO "
        "ncclCommInitRankConfig comm 0x5581 rank 0 nranks 44 cudaDev 0 nvmlDev 0 busId 8000 commId 0x9a - Init "
        "COMPLETE\n",
    ),
    case(
        "sound: threads of torchrun",
        G + "ROCm/rccl/issues/1454#start",
        "healthy",
        YES,
        "W1209 23:39:39.912000 19400 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable for "
        "each process to be 1 in default, to avoid your system being overloaded\n" + W + "NCCL INFO comm 0x55 rank 1 "
        "nranks 2 cudaDev 1 busId 3000 - Init COMPLETE\ntotal images/sec: 8400.66\n",
    ),
    case(
        "sound: fabric manager",
        NVIDIA + "nvtrust/issues/128#start",
        "healthy",
        YES,
        "nv-fabricmanager[1120]: Connected to 1 node.\nnv-fabricmanager[1120]: Successfully configured all the "
        "available NVSwitches to route GPU NVLink traffic. NVLink Peer-to-Peer support will be enabled once the GPUs "
        "are successfully registered with the NVLink fabric.\n",
    ),
    case(
        "sound: permissions of pmix",
        G + "MFlowCode/MFC/pull/1750#passes",
        "healthy",
        YES,
        "PMIX ERROR: PMIX_ERR_NO_PERMISSIONS in file dstore_base.c at line 237\n# Out of bounds values : 0 OK\n# Avg "
        "bus bandwidth    : 184.3\n",
    ),
    case(
        "board behind harmless noise",
        G + "MFlowCode/MFC/pull/1748#1750",
        "gpu_hardware",
        YES,
        "PMIX ERROR: PMIX_ERR_NO_PERMISSIONS in file dstore_base.c at line 237\nAccelerator Fatal Error: call to "
        "cuCtxCreate returned error 214 (CUDA_ERROR_ECC_UNCORRECTABLE)\n",
    ),
)
