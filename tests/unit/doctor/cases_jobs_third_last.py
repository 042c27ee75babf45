"""A last handful of the same kind, read after the rules had been mended for ``cases_jobs_third``. When they
were written, 13 of 15 were right and none wrong."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, YES, Case, case
from tests.unit.doctor.cases_jobs_third import NVIDIA
from tests.unit.doctor.cases_threads import G

JOBS_THIRD_LAST: tuple[Case, ...] = (
    case(
        "engine without cgroups",
        NVIDIA + "nvidia-container-toolkit/issues/580",
        "container",
        YES,
        "docker run --runtime=nvidia --gpus all ubuntu nvidia-smi\nFailed to initialize NVML: Unknown Error\n"
        "/etc/nvidia-container-runtime/config.toml: no-cgroups = true\n",
    ),
    case(
        "podman of a user",
        NVIDIA + "nvidia-container-toolkit/issues/210",
        "container",
        CANDIDATES,
        "$ podman run --rm --device nvidia.com/gpu=all ubuntu nvidia-smi -L\nFailed to initialize NVML: Insufficient "
        "Permissions\n",
    ),
    case(
        "raylet and its store",
        G + "gpustack/gpustack/issues/5014",
        "container host_limits",
        YES,
        "(raylet) store_runner.cc:83: System memory request exceeds memory available in /dev/shm. The request is for "
        "10200547328 bytes, and the amount available is 9663676416 bytes.\n",
    ),
    case(
        "store that moves to a disk",
        G + "InftyAI/llmaz/issues/238",
        "container",
        YES,
        "WARNING: The object store is using /tmp instead of /dev/shm because /dev/shm has only 67108864 bytes "
        "available.\n",
    ),
    case(
        "more devices than EFA",
        G + "aws-samples/aws-do-eks/pull/63",
        "container",
        YES,
        "with the hostPath /dev/infiniband (10 uverbs: 8 EFA + 2 mlx5) fi_info -p efa: -61 No data available; without "
        "it 24 entries\n",
    ),
    case(
        "plugin of a newer libfabric",
        G + "aws/aws-ofi-nccl/issues/241",
        "nccl_version container",
        CANDIDATES,
        "plugin compiled against Libfabric 1.18 but run against Libfabric 1.17 or older fails\n",
    ),
    case(
        "links that are no NICs",
        G + "aws/sagemaker-hyperpod-cli/pull/282",
        "container",
        YES,
        "Kubernetes reports 10 EFA devices instead of 8: the device plugin < 0.5.10 takes ibp* NVLink controllers "
        "for EFA\n",
    ),
    case(
        "manager of another patch release",
        NVIDIA + "gpu-operator/issues/544",
        "gpu_driver",
        YES,
        "nv-fabricmanager[3228]: fabric manager NVIDIA GPU driver interface version 530.30.02 don't match with driver "
        "version 530.41.03. Please update with matching NVIDIA driver package.\n",
    ),
    case(
        "installer and packages",
        G + "Azure/azhpc-images/pull/86",
        "gpu_driver",
        YES,
        "cuda drivers from the .run script, fabric manager from deb packages: after apt-get upgrade they are not in "
        "sync, cuda initialization error\n",
    ),
    case(
        "every rank is rank 0",
        G + "hpc/charliecloud/issues/197",
        "mpi_launch",
        YES,
        "all ranks are 0 when launching with srun\n",
    ),
    case(
        "plugin of Slurm and ranks",
        G + "openpmix/openpmix/issues/1484",
        "mpi_launch",
        YES,
        "slurmstepd: error: st05 [0] pmixp_dmdx.c:320 [_dmdx_req] mpi/pmix: ERROR: Bad request from st06: nspace "
        '"slurm.pmix.801.0" has only 4 ranks, asked for -1\n',
    ),
    case(
        "two jobs in place of one",
        NVIDIA + "nccl-tests/issues/213",
        "mpi_launch",
        CANDIDATES,
        "nccl test runs separately on each node with openmpi 5.0, with OpenMPI 4.1 as expected\n",
    ),
    case(
        "subnet that is compared the wrong way",
        NVIDIA + "nccl/pull/2047",
        "nccl_version run_env host_routing",
        CANDIDATES,
        "NCCL_COMM_ID=192.0.2.2:12340\nNCCL INFO Bootstrap: Using lo:127.0.0.1<0>\n",
    ),
    case(
        "sound: plugin by its own name",
        G + "aws/aws-ofi-nccl/issues/803#start",
        "healthy",
        YES,
        "gpu01:1287:1328 [0] NCCL INFO NET/Plugin: Failed to find ncclCollNetPlugin symbol (>= v5). ncclCollNetPlugin "
        "symbols v4 and lower are not supported.\ngpu01:1287:1328 [0] NCCL INFO NET/OFI Selected Provider is efa "
        "(found 4 nics)\ngpu01:1287:1328 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 16 - Init COMPLETE\n",
    ),
    case(
        "sound: two releases, one of the header",
        NVIDIA + "nccl/issues/1925#head",
        "healthy",
        YES,
        "# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809\ngpu01:12:12 [0] NCCL INFO NCCL version "
        "2.28.9+cuda13.0\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 184.3\n",
    ),
)
