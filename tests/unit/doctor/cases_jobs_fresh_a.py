"""Public threads of the same layers, read after the rules had been mended for ``cases_jobs_a`` and ``cases_jobs_b``.
When they were written, 25 of 30 and 1 of 3 sound outputs were right, none wrong."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, YES, Case, case
from tests.unit.doctor.cases_threads import G, W

JOBS_FRESH: tuple[Case, ...] = (
    case(
        "handle that another container cannot open",
        G + "NVIDIA/nccl/issues/360",
        "container run_env",
        CANDIDATES,
        "worker-1:297:305 [0] transport/p2p.cc:238 NCCL WARN failed to open CUDA IPC handle : 11 invalid argument\n"
        "NVIDIA_VISIBLE_DEVICES=0 in one container, 1 in the other\n",
    ),
    case(
        "container without a usable address",
        G + "NVIDIA/nccl-tests/issues/14",
        "container host_routing",
        CANDIDATES,
        "e66aa18dc444:3171:3171 [0] misc/ibvwrap.cu:61 WARN Failed to open libibverbs.so[.1]\ne66aa18dc444:3171:3171 "
        "[0] "
        "include/socket.h:311 WARN Socket creation failed : Address family not supported by protocol\n",
    ),
    case(
        "containers behind their own bridges",
        G + "pytorch/pytorch/issues/23363",
        "container host_routing firewall",
        CANDIDATES,
        "ProcessGroupNCCL.cpp:272, unhandled system error\nnode 0 and node 1 each in a docker container on its own "
        "bridge; "
        "both ranks in one container run\n",
    ),
    case(
        "devices that only the host has",
        G + "NVIDIA/nccl/issues/952",
        "container",
        YES,
        "docker run --gpus all --shm-size=1g --ipc=host --network=host nvcr.io/nvidia/pytorch:23.06-py3\n"
        + W
        + "NCCL INFO "
        "NET/IB : No device found.\nthe same scripts work outside of docker\n",
    ),
    case(
        "system error in a container",
        G + "NVIDIA/nccl/issues/473",
        "container host_limits",
        CANDIDATES,
        "in docker: fastmoe: Test NCCL failure common.cu:777 'unhandled system error'\nRuntimeError: NCCL Error 2: "
        "unhandled "
        "system error\n",
    ),
    case(
        "driver library of the other container",
        G + "horovod/horovod/issues/313",
        "container gpu_driver mpi_launch",
        YES,
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory\nmpirun inside docker, "
        "second "
        "node\n",
    ),
    case(
        "release that hangs",
        G + "pytorch/pytorch/pull/174338",
        "nccl_version",
        CANDIDATES,
        "NCCL version 2.29.2+cuda13.0\nall_gather hangs; with 2.29.3 it does not\n",
    ),
    case(
        "crash that a later release lacks",
        G + "NVIDIA/nccl/issues/1050",
        "nccl_version",
        CANDIDATES,
        "NCCL version 2.18.5+cuda12.2\nib-vm-61: Caught signal 11 (Segmentation fault: address not mapped to object) "
        "in "
        "all_reduce_perf, sometimes; 2.19.3 seems to fix it\n",
    ),
    case(
        "clique that is too large",
        G + "NVIDIA/nccl/issues/2186",
        "nccl_version",
        CANDIDATES,
        "cliqueSize 44 healthMask 0xaa\nSIGSEGV in ncclCommInitRank, with 40 ranks it passes\n",
    ),
    case(
        "heap that is spoilt",
        G + "NVIDIA/nccl/issues/1043",
        "nccl_version",
        YES,
        "free(): invalid next size (fast) in all_reduce_perf with NCCL 2.19.3 and 2.18.5, no error with 2.16.5\n",
    ),
    case(
        "build with fault injection",
        G + "ROCm/TheRock/issues/7903",
        "nccl_version",
        CANDIDATES,
        "RCCL of ROCm 7.14.0: messages of 64 MB to 512 MB are slower on several nodes than with 7.13, single node is "
        "not "
        "affected\n",
    ),
    case(
        "client of another version",
        G + "stackhpc/ansible-slurm-appliance/issues/287",
        "gpu_driver",
        YES,
        "kernel: NVRM: API mismatch: the client has the version 535.54.03, but NVRM: this kernel module has the "
        "version "
        "530.30.02.\n",
    ),
    case(
        "unknown error after an upgrade",
        G + "diku-dk/futhark/issues/1117",
        "gpu_driver",
        CANDIDATES,
        "CUDA call cuInit(0) failed with error code 999 (unknown error)\nit worked before the system upgrade\n",
    ),
    case(
        "mismatch by way of the toolkit",
        G + "lightgbm-org/LightGBM/issues/5546",
        "gpu_driver",
        YES,
        "docker: Error response from daemon: failed to create shim task: OCI runtime create failed: runc create "
        "failed\n"
        "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown.\n",
    ),
    case(
        "driver of the cluster is old",
        G + "jade-hpc-gpu/jade-hpc-gpu.github.io/issues/10",
        "gpu_driver",
        YES,
        "NVIDIA-SMI 375.66                 Driver Version: 375.66\nCUDA error at test.cu:44 "
        'code=35(cudaErrorInsufficientDriver) "cudaMalloc((void **)&d_u, n)"\n',
    ),
    case(
        "fewer batches on one rank",
        G + "microsoft/PyMarlin/issues/80",
        "application",
        CANDIDATES,
        "rank 0: 120 batches, rank 1: 119 batches\nDDP hangs at the end of the epoch\n",
    ),
    case(
        "samples are not shared evenly",
        G + "QwenAudio/CosyVoice/issues/297",
        "application",
        CANDIDATES,
        "Detected uneven workload distribution: Rank 3 successfully reached monitoredBarrier\n[unbound_buffer.cc:81] "
        "Timed out "
        "waiting 30000ms for recv operation to complete\n",
    ),
    case(
        "barrier that two ranks never reach",
        G + "dylanyunlon/Neuron_SP/issues/73",
        "application",
        CANDIDATES,
        "rank=0: before forward (step=0 micro=0)\nrank 1 and rank 2 never print [data], stuck in dist.barrier() at "
        "step 0\n",
    ),
    case(
        "daemon of slurm behind ufw",
        G + "nebari-dev/nebari-slurm/pull/116",
        "firewall",
        YES,
        "kernel: [43351.006693] [UFW BLOCK] IN=ens3 OUT= SRC=192.0.2.4 DST=192.0.2.5 PROTO=TCP SPT=55926 "
        "DPT=6818\nslurmctld: "
        "error: Nodes hpc-worker-02 not responding, setting DOWN\n",
    ),
    case(
        "static rendezvous times out",
        G + "huggingface/transformers/issues/14878",
        "firewall host_routing",
        CANDIDATES,
        'File "torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py", line 61, in '
        "next_rendezvous\nRuntimeError: "
        "connect() timed out. Original timeout was 900000 ms.\n",
    ),
    case(
        "port of another service",
        G + "eth-cscs/cscs-docs/pull/178",
        "run_env foreign_traffic",
        CANDIDATES,
        "export MASTER_PORT=6000\nsilent tcp socket timeout at init_process_group\n",
    ),
    case(
        "head of ray by its name",
        G + "meta-pytorch/torchx/issues/540",
        "host_routing firewall",
        CANDIDATES,
        "[W socket.cpp:558] [c10d] The IPv4 network addresses of (ray-head-sjvwx, 50176) cannot be retrieved (gai "
        "error: -2 - "
        "Name or service not known).\n[E socket.cpp:610] [c10d] The client socket has failed to connect to any network "
        "address of (ray-head-sjvwx, 50176).\n",
    ),
    case(
        "launch that slurm gives up",
        G + "NVIDIA/pyxis/issues/107",
        "mpi_launch container",
        CANDIDATES,
        "srun: error: slurm_receive_msgs: [[n1]:6818] failed: Socket timed out on send/recv operation\nsrun: error: "
        "Task launch "
        "for StepId=96.0 failed on node n2: No such process\n",
    ),
    case(
        "ssh out of a container",
        G + "NVIDIA/pyxis/issues/164",
        "mpi_launch",
        YES,
        "Host key verification failed.\nORTE was unable to reliably start one or more daemons.\n",
    ),
    case(
        "peer is another rank than thought",
        G + "NVIDIA/pyxis/issues/114",
        "mpi_launch host_routing",
        CANDIDATES,
        "[gpu01][[16971,28321],8][btl_tcp_endpoint.c:625:mca_btl_tcp_endpoint_recv_connect_ack] received unexpected "
        "process "
        "identifier [[16971,28321],13]\n",
    ),
    case(
        "kind of pmi that does not start",
        G + "NVIDIA-NeMo/Speech/issues/14829",
        "mpi_launch",
        YES,
        "srun: StepId=77.0 aborted before step completely launched.\nsrun: error: task 0 launch failed: Unspecified "
        "error\n"
        "--mpi=pmix fails, --mpi=pmi2 works\n",
    ),
    case(
        "security component is not in the image",
        G + "NVIDIA/pyxis/issues/139",
        "mpi_launch container",
        YES,
        "A requested component was not found, or was unable to be opened.\nFramework: psec\nComponent: munge\nIt looks "
        "like "
        "pmix_init failed for some reason; your parallel process is likely to abort.\n",
    ),
    case(
        "built without pmi",
        G + "apptainer/singularity/issues/5203",
        "mpi_launch",
        YES,
        "[n2109:21202] OPAL ERROR: Not initialized in file pmix2x_client.c at line 112\nbut OMPI was not built with "
        "SLURM's PMI "
        "support and therefore cannot execute.\n",
    ),
    case(
        "hook of lxc",
        G + "canonical/lxd/issues/11427",
        "container",
        YES,
        "nvidia.runtime=true\nlxc c1 20230301193658.390 ERROR    conf - conf.c:run_buffer:322 - Script exited with "
        "status 1\nlxc "
        "c1 20230301193658.390 ERROR    conf - conf.c:lxc_setup:4437 - Failed to run mount hooks\n",
    ),
    case(
        "rules of devices in a nested container",
        G + "NVIDIA/nvidia-docker/issues/1546",
        "container",
        YES,
        "nvidia-container-cli: mount error: failed to add device rules: unable to generate new device filter program: "
        "bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted: unknown\n",
    ),
    # Sound.
    case(
        "metrics that are asked for",
        "uvicorn: access log; vLLM documentation: metrics",
        "healthy",
        YES,
        'INFO:     192.0.2.9:40312 - "GET /metrics HTTP/1.1" 200 OK\nINFO 03-01 10:00:00 Avg prompt throughput: 812.1 '
        "tokens/s, Avg generation throughput: 93.2 tokens/s\n",
    ),
    case(
        "guess of a barrier",
        G + "Sense-X/UniFormer/issues/33",
        "healthy",
        YES,
        "[W ProcessGroupNCCL.cpp:1569] Rank 1 using best-guess GPU 1 to perform barrier as devices used by this "
        "process are "
        "currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect.Specify "
        "device_ids in "
        "barrier() to force use of a particular device.\nEpoch: [0]  [ 10/625]  loss: 6.92  time: 0.51\n",
    ),
    case(
        "sockets of services that nobody runs",
        G + "NVIDIA/nvidia-container-runtime/issues/78",
        "healthy",
        YES,
        "W0927 09:57:18.074937 718 nvc_info.c:277] missing ipc /var/run/nvidia-persistenced/socket\nW0927 "
        "09:57:18.074987 718 "
        "nvc_info.c:277] missing ipc /tmp/nvidia-mps\nI0927 09:57:18.081113 718 nvc_info.c:523] listing device "
        "/dev/nvidia0 "
        "(GPU-1b952bb0 at 00000000:01:00.0)\nNVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2\n",
    ),
)
