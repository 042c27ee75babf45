"""30 faults that a release mended: the same log with a release before and with that release (or a later one).

What was mended is from public notes: NVIDIA/nccl (texts of the releases), Open MPI and UCX (NEWS).
"""

from __future__ import annotations

HOST = "gpu01:3100:3200 [0] NCCL "
HANG = (
    "[rank0]:[E203 12:00:00 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn=262144, NumelOut=262144, Timeout(ms)=600000) ran for 600001 "
    "milliseconds before timing out.\n"
)
FRAMES = "[gpu01:03100] *** Process received signal ***\n[gpu01:03100] Signal: Segmentation fault (11)\n"


def hang(op: str = "ALLREDUCE", seq: int = 81) -> str:
    return HANG.format(op=op, seq=seq)


def crash(frame: str) -> str:
    return f"{FRAMES}[gpu01:03100] [ 3] /usr/lib/x86_64-linux-gnu/libnccl.so.2({frame}+0x118)[0x7f3a]\n"


def cards(card: str, hosts: int = 2) -> str:
    return "".join(
        f"#  Rank {n:2d} Group  0 Pid   3100 on gpu{n + 1:02d} device  0 [0000:1b:00] {card}\n" for n in range(hosts)
    )


def settings(**values: str) -> str:
    return "".join(f"{HOST}INFO {name} set by environment to {value}.\n" for name, value in values.items())


# Name -> (release before, release that mended it, how the log says its release, the rest of the log).
NCCL = "gpu01:3100:3100 [0] NCCL INFO NCCL version {}+cuda12.4\n"
PLAIN = "gpu01:3100:3100 [0] NCCL INFO NCCL version {}+cuda11.4\n"
MPI = "$ mpirun --version\nmpirun (Open MPI) {}\n"
UCX = "$ ucx_info -v\n# Library version: {}\n# Library path: /usr/lib/libucs.so.0\n"
VERSIONS: dict[str, tuple[str, str, str, str]] = {
    "2.29.3: slots of the proxy leak on Arm": (
        "2.28.9",
        "2.29.3",
        NCCL,
        "$ uname -m\naarch64\n" + cards("NVIDIA GB200") + hang(seq=347),
    ),
    "2.29.2: hang on GB200 with ConnectX-8 and no GPUDirect": (
        "2.28.9",
        "2.29.2",
        NCCL,
        cards("NVIDIA GB200") + settings(NCCL_NET_GDR_LEVEL="LOC") + "CA type: MT4131 (ConnectX-8)\n" + hang(),
    ),
    "2.29.2: crash of a collective behind send and receive on one buffer": (
        "2.28.7",
        "2.29.2",
        NCCL,
        crash("ncclRegister") + "in ncclSend, then ncclAllReduce on the same registered buffer\n",
    ),
    "2.28.9: order of main and proxy thread at large scale": (
        "2.28.7",
        "2.28.9",
        NCCL,
        f"{HOST}INFO comm 0x55 rank 0 nranks 4096 cudaDev 0 busId 1b000 - Init COMPLETE\n" + hang(),
    ),
    "2.28.7: an error of CUDA that is not drained": (
        "2.28.3",
        "2.28.7",
        NCCL,
        (
            "torch.AcceleratorError: CUDA error: invalid resource handle\nraised in ncclCommInitRank, PyTorch is "
            "linked statically\n"
        ),
    ),
    "2.28.7: crash where no network plugin can be assigned": (
        "2.28.3",
        "2.28.7",
        NCCL,
        f"{HOST}INFO NET/Plugin: Could not find: libnccl-net-x.so\n" + crash("ncclNetInit"),
    ),
    "2.28.7: data corruption of symmetric kernels": (
        "2.28.3",
        "2.28.7",
        NCCL,
        settings(NCCL_SYM_KERNEL="AllReduce_AGxLL_R") + "# Out of bounds values : 118 FAILED\n",
    ),
    "2.27.3: a topology file on a multi-node NVLink system": (
        "2.26.5",
        "2.27.3",
        NCCL,
        cards("NVIDIA GB200")
        + settings(NCCL_TOPO_FILE="/etc/topo.xml")
        + (
            "gpu01: Test NCCL failure common.cu:1000 'internal error - please report this issue to the NCCL "
            "developers'\n"
        ),
    ),
    "2.27.3: crash while a report of RAS is made": (
        "2.26.2",
        "2.27.3",
        NCCL,
        "$ ncclras -v\n" + crash("rasCollCommsInit"),
    ),
    "2.26.5: all-to-all hangs at scale": (
        "2.26.2",
        "2.26.5",
        NCCL,
        f"{HOST}INFO comm 0x55 rank 0 nranks 1024 cudaDev 0 busId 1b000 - Init COMPLETE\n" + hang("ALLTOALL_BASE"),
    ),
    "2.26.2: connections of several communicators": (
        "2.25.1",
        "2.26.2",
        NCCL,
        f"{HOST}INFO comm 0x55 rank 0 nranks 16 - Init START\n{HOST}INFO comm 0x56 rank 0 nranks 16 - Init START\n"
        + hang("COALESCED", 1),
    ),
    "2.26.2: GID detection gives up too soon": (
        "2.24.3",
        "2.26.2",
        NCCL,
        (
            f"{HOST}WARN Call to ibv_query_gid failed with error Invalid argument\n{HOST}INFO the first GIDs of "
            "mlx5_0 are empty in this container\n"
        ),
    ),
    "2.26.2: the test() of a plugin returns an error": (
        "2.25.1",
        "2.26.2",
        NCCL,
        f"{HOST}WARN NET/OFI Request completed with error. RC: 5. Error: Input/output error\n" + hang(),
    ),
    "2.24.3: a connection is tried once": (
        "2.23.4",
        "2.24.3",
        NCCL,
        f"{HOST}WARN socketStartConnect: Connect to 192.0.2.21<40411> failed : Software caused connection abort\n",
    ),
    "2.23.4: an event of InfiniBand that is no error ends the job": (
        "2.22.3",
        "2.23.4",
        NCCL,
        (
            f"{HOST}WARN NET/IB : mlx5_0:1 Got async event : GID table change\ngpu01: Test NCCL failure "
            "all_reduce.cu:44 'unhandled system error'\n"
        ),
    ),
    "2.23.4: a NUMA node of -1": (
        "2.22.3",
        "2.23.4",
        NCCL,
        "$ cat /sys/class/infiniband/mlx5_0/device/numa_node\n-1\n" + crash("ncclTopoGetXmlFromCpu"),
    ),
    "2.22.3: nodes with different CPUs": (
        "2.21.5",
        "2.22.3",
        NCCL,
        "gpu01: Model name: AMD EPYC 7763\ngpu02: Model name: Intel(R) Xeon(R) Platinum 8480+\n" + hang(seq=1),
    ),
    "2.21.5: NCCL_CROSS_NIC differs between ranks": (
        "2.20.5",
        "2.21.5",
        NCCL,
        settings(NCCL_CROSS_NIC="1")
        + "gpu02:3100:3200 [0] NCCL INFO NCCL_CROSS_NIC set by environment to 0.\n"
        + hang(seq=1),
    ),
    "2.21.5: index 0 of the GIDs is the default": (
        "2.20.5",
        "2.21.5",
        NCCL,
        (
            f"{HOST}INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB ens192:192.0.2.20<0>\n{HOST}WARN NET/IB : Got "
            "completion from peer 192.0.2.21<4711> with status=12 opcode=0 len=0 vendor err 129\n$ env | grep "
            "NCCL_IB_GID\n$\n"
        ),
    ),
    "2.20.5: ncclCommSplit and Unix sockets": (
        "2.20.3",
        "2.20.5",
        NCCL,
        (
            f"{HOST}WARN UDS: Sending data over socket /tmp/nccl-socket-1-81f failed : Connection refused (111)\n"
            "in ncclCommSplit\n"
        ),
    ),
    "2.20.3: all-to-all hangs as it connects": ("2.19.4", "2.20.3", NCCL, hang("ALLTOALL", 1)),
    "2.19.1: a bus error for want of shared memory": (
        "2.18.6",
        "2.19.3",
        NCCL,
        (
            "[gpu01:03100] Signal: Bus error (7)\n[gpu01:03100] [ 3] "
            "/usr/lib/libnccl.so.2(ncclShmOpen+0x118)[0x7f3a]\ntmpfs            64M   64M     0 100% /dev/shm\n"
        ),
    ),
    "2.18.3: Tree with LL128 corrupts data, a GPU a NIC": (
        "2.18.1",
        "2.18.3",
        NCCL,
        settings(NCCL_ALGO="Tree", NCCL_PROTO="LL128") + "# Out of bounds values : 41 FAILED\n",
    ),
    "2.16.5: crash in ncclCommAbort": ("2.16.2", "2.16.5", NCCL, crash("ncclCommAbort")),
    "2.12.12: crash with NCCL_SET_THREAD_NAME": (
        "2.12.10",
        "2.12.12",
        PLAIN,
        settings(NCCL_SET_THREAD_NAME="1") + crash("ncclSetThreadName"),
    ),
    "2.8.3: LL128 hangs after 2^31 steps": (
        "2.7.8",
        "2.8.3",
        PLAIN,
        settings(NCCL_PROTO="LL128") + hang(seq=2147483648),
    ),
    "2.7.6: NVSwitch is not visible inside a VM": (
        "2.7.3",
        "2.7.6",
        PLAIN,
        "Hypervisor vendor: VMware\n" + cards("NVIDIA A100-SXM4-40GB") + crash("ncclTopoGetNvlink"),
    ),
    "Open MPI 4.1.1: launch under Slurm 20.11.0 to 2": (
        "20.11.2",
        "20.11.3",
        "$ sinfo --version\nslurm {}\n",
        (
            "An ORTE daemon has unexpectedly failed after launch and before communicating back to mpirun.\n$ "
            "mpirun --version\nmpirun (Open MPI) 4.0.5\n"
        ),
    ),
    "Open MPI 3.1.2: messages of vader are dropped": (
        "3.1.1",
        "3.1.2",
        MPI,
        (
            "--mca btl vader,self --mca pml ob1\n[gpu01:03100] Signal: Segmentation fault (11)\n[gpu01:03100] [ "
            "2] /usr/lib/openmpi/mca_btl_vader.so(+0x4118)[0x7f3a]\n"
        ),
    ),
    "UCX 1.18.0: crash in MPI_Finalize as the CUDA context is gone": (
        "1.17.0",
        "1.18.0",
        UCX,
        (
            "[gpu01:3100:0:3100] Caught signal 11 (Segmentation fault: address not mapped to object at address "
            "0x118)\n 2 /usr/lib/libuct_cuda.so.0(+0x9118)\n 7 /usr/lib/libmpi.so.40(ompi_mpi_finalize+0x211)\n"
        ),
    ),
}
