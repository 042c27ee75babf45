"""What sound systems printed in public threads and manuals though it sounds bad: (name, where, text). Hosts and
addresses are made up. When they were written, 9 of 20 were called healthy, none faulty."""

from __future__ import annotations

G = "https://github.com/"
DONE = "total images/sec: 8400.66\n"
TABLE = (
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "   536870912     134217728     float     sum      -1    49219   10.91   20.45      0    49219   10.91   20.45   "
    "   0\n"
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 20.1\n"
)

SOUND: tuple[tuple[str, str, str], ...] = (
    (
        "Omni-Path beside openib",
        G + "shankar1729/jdftx/issues/270",
        "By default, for Open MPI 4.0 and later, infiniband ports on a device\nare not used by default.  The intent "
        "is to "
        "use UCX for these devices.\nYou can override this policy by setting the btl_openib_allow_ib MCA parameter\nto "
        "true.\n\n  Local host:              gpu01\n  Local adapter:           hfi1_0\n  Local port:              1\n\n"
        "WARNING: There was an error initializing an OpenFabrics device.\n\n  Local host:   gpu01\n  Local device: "
        "hfi1_0\n" + DONE,
    ),
    (
        "debugger sees peer access refused",
        G + "NVIDIA/nccl/issues/258",
        "warning: Cuda API error detected: cudaDeviceEnablePeerAccess returned (0x2c0)\nwarning: Cuda API error "
        "detected: "
        "cudaGetLastError returned (0x2c0)\n" + TABLE,
    ),
    (
        "DeepSpeed on one host",
        G + "deepspeedai/DeepSpeed/issues/1481",
        "[WARNING] [runner.py:122:fetch_hostfile] Unable to find hostfile, will proceed with training with local "
        "resources "
        "only.\n[INFO] [runner.py:360:main] cmd = python -u -m deepspeed.launcher.launch --world_info=eyJ\nstep=100, "
        "skipped=0, lr=[0.0001], loss=2.31\nTraining complete\n",
    ),
    (
        "driver container that comes up",
        G + "NVIDIA/gpu-operator/issues/8",
        "========== NVIDIA Software Installer ==========\nStarting installation of NVIDIA driver version 418.87.01 for "
        "Linux kernel version 4.15.0-66-generic\nStopping NVIDIA persistence daemon...\nUnloading NVIDIA driver kernel "
        "modules...\nUnmounting NVIDIA driver rootfs...\nChecking NVIDIA driver packages...\nWARNING: The nvidia-drm "
        "module will not be installed. As a result, DRM-KMS will not function with this installation of the NVIDIA "
        "driver.\nLoading NVIDIA driver kernel modules...\nStarting NVIDIA persistence daemon...\nDone, now waiting "
        "for "
        "signal\n| NVIDIA-SMI 418.87.01    Driver Version: 418.87.01    CUDA Version: 10.1     |\n",
    ),
    (
        "horovodrun checks its hosts",
        G + "horovod/horovod/issues/1086",
        "Filtering local host names.\nChecking ssh on all remote hosts.\nSSH was successful into all the remote "
        "hosts.\n"
        "Testing interfaces on all the hosts.\nLaunched horovodrun server.\nAttempted to launch horovod task servers.\n"
        "Waiting for the hosts to acknowledge.\nNotified all the hosts that the registration is "
        "complete.\nHost-to-host "
        "interface checking successful.\nInterfaces on all the hosts were successfully checked.\n" + DONE,
    ),
    (
        "ConnectX lowers a limit",
        G + "PeterSuh-Q3/tinycore-redpill/issues/9",
        "mlx5_core 0000:03:00.0: firmware version: 14.32.1010\nmlx5_core 0000:03:00.0: handle_hca_cap:438:(pid 6016): "
        "log_max_qp value in current profile is 18, changing it to HCA capability limit (17)\nmlx5_core "
        "0000:03:00.0: Port "
        "module event: module 0, Cable plugged\n",
    ),
    (
        "boot with links that come up",
        G + "leptonai/gpud/pull/1209",
        "systemd[1]: systemd-pcrmachine.service - TPM2 PCR Machine ID Measurement was skipped because of an unmet "
        "condition check (ConditionSecurity=measured-uki).\nkernel: mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link INIT\n"
        "kernel: workqueue: ib_cache_event_task [ib_core] hogged CPU for >10000us 4 times, consider switching to "
        "WQ_UNBOUND\nsystemd[1]: Starting systemd-udev-trigger.service - Coldplug All udev Devices...\nkernel: EXT4-fs "
        "(md127p3): re-mounted 0f3cd65a r/w. Quota mode: none.\nkernel: mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link "
        "ACTIVE\n",
    ),
    (
        "fabric manager of Hopper",
        G + "NVIDIA/nvtrust/issues/128",
        "systemd[1]: Starting nvidia-fabricmanager.service - NVIDIA fabric manager service...\n"
        "nvidia-fabricmanager-start.sh[1049]: Detected Pre-NVL5 system\nnv-fabricmanager[1120]: Connected to 1 node.\n"
        "nv-fabricmanager[1120]: Successfully configured all the available NVSwitches to route GPU NVLink traffic. "
        "NVLink "
        "Peer-to-Peer support will be enabled once the GPUs are successfully registered with the NVLink fabric.\n"
        'nvidia-fabricmanager-start.sh[1049]: Started "Nvidia Fabric Manager"\n',
    ),
    (
        "topology of a DGX A100",
        G + "NVIDIA/DCGM/issues/149",
        "        GPU0    GPU1    NIC0    NIC1    CPU Affinity    NUMA Affinity   GPU NUMA ID\nGPU0     X      NV12   "
        " PXB "
        "    SYS     48-63,176-191   3               N/A\nGPU1    NV12     X      PXB     SYS     48-63,176-191   3  "
        "     "
        "        N/A\nNIC0    PXB     PXB      X      SYS\n\nLegend:\n\n  X    = Self\n  SYS  = Connection "
        "traversing PCIe "
        "as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n  NODE = Connection traversing PCIe as "
        "well "
        "as the interconnect between PCIe Host Bridges within a NUMA node\n  PHB  = Connection traversing PCIe as "
        "well as "
        "a PCIe Host Bridge (typically the CPU)\n",
    ),
    (
        "links of a GB200",
        G + "NVIDIA/k8s-test-infra/issues/371",
        "GPU 0: NVIDIA GB200 (UUID: GPU-d1b93026)\n\t Link 0: 53.125 GB/s\n\t Link 1: 53.125 GB/s\n\t Link 17: 53.125 "
        "GB/s\nGPU 0: NVIDIA GB200 (UUID: GPU-d1b93026)\n\t NVLE: disabled\n\t Firmware Version:\n\t     MSE: 14:4:0\n",
    ),
    (
        "perftest over InfiniBand",
        G + "linux-rdma/perftest/issues/132",
        "                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n Connection type : "
        "RC\t\tUsing SRQ      : OFF\n PCIe relax order: ON\n Mtu             : 4096[B]\n Link type       : IB\n "
        "rdma_cm "
        "QPs\t : OFF\n Data ex. method : Ethernet\n local address: LID 0x02 QPN 0x0032 PSN 0x5f2841 RKey 0x002440 "
        "VAddr "
        "0x007f2e5f64b000\n #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 2      "
        "    "
        "5000           0.042350            0.042185            2.636533\n 65536      5000             97.90         "
        "     "
        "97.89              0.186\n",
    ),
    (
        "providers of other makers",
        G + "linux-rdma/perftest/issues/262",
        "libibverbs: Warning: couldn't load driver 'libmana-rdmav34.so': libmana-rdmav34.so: cannot open shared object "
        "file: No such file or directory\nlibibverbs: Warning: couldn't load driver 'liberdma-rdmav34.so': "
        "liberdma-rdmav34.so: cannot open shared object file: No such file or directory\n                    "
        "RDMA_Write BW "
        "Test\n Link type       : Ethernet\n GID index       : 3\n #bytes     #iterations    BW peak[Gb/sec]    BW "
        "average[Gb/sec]   MsgRate[Mpps]\n 65536      5000             97.90              97.89              0.186\n",
    ),
    (
        "nccl-tests take less memory",
        G + "NVIDIA/nccl-tests/issues/323",
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
        "validation: 1 graph: 0\n#\n# Using devices\n# Reducing maxBytes to 550000000 due to memory limitation\nNCCL "
        "version 2.27.3+cuda12.9\n" + TABLE,
    ),
    (
        "srun waits for its turn",
        G + "open-mpi/ompi/issues/12146",
        "srun: Job 18952480 step creation temporarily disabled, retrying (Requested nodes are busy)\nsrun: Step "
        "created "
        "for StepId=18952480.2\n" + DONE,
    ),
    (
        "container of pyxis",
        G + "openucx/ucx/issues/8440",
        "pyxis: imported docker image: registry.example.com/train:0.4\ndpkg: warning: version "
        "'4.18.0-372.9.1.el8.x86_64' has bad syntax: invalid character in revision number\nSTARTING TIMING RUN AT "
        "2026-02-01 07:29:27 PM\n" + DONE,
    ),
    (
        "NCCL 2.4 asks for NVLink",
        G + "horovod/horovod/issues/98",
        "gpu01:14733:14828 [1] INFO nvmlDeviceGetNvLinkCapability() failed: Not Supported \ngpu01:14732:14831 [0] INFO "
        "nvmlDeviceGetNvLinkCapability() failed: Not Supported \n" + DONE,
    ),
    (
        "PFC of NX-OS",
        "Cisco Nexus 9000 NX-OS quality of service guide, show interface priority-flow-control",
        "slot  1\n=======\nRxPause: No. of pause frames received\nTxPause: No. of pause frames transmitted\n"
        "TxCos: Cos on which PFC is enabled\nInterface      Admin Oper (VL bmap)  VL Bmap  RxPPP      TxPPP\n"
        "Ethernet1/1    Auto  On  (8)     8        0          0\n" + DONE,
    ),
    (
        "PFC of EOS",
        "Arista EOS user manual, show priority-flow-control",
        "The hardware supports PFC on priorities 0 1 2 3 4 5 6 7\nPFC receive processing is enabled on priorities 0 "
        "1 2 3 "
        "4 5 6 7\nThe PFC watchdog timeout is 0.0 second(s) (default)\nThe PFC watchdog action is errdisable\nGlobal "
        "PFC : "
        "Enabled\nE: PFC Enabled, D: PFC Disabled, A: PFC Active, W: PFC Watchdog Enabled\nPort  Status  Priorities  "
        "Action"
        "      Timeout\nEt1/1    E A -      3           -           -\n" + DONE,
    ),
    (
        "counters of SONiC",
        "SONiC command reference, show interfaces counters, show pfcwd stats",
        "      IFACE    STATE    RX_OK      RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR\n  Ethernet0        U  "
        "812,331 "
        "    12.1 MB/s   0.10%         0         0         0\n       QUEUE       STATUS    STORM DETECTED/RESTORED   "
        " TX "
        "OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST OK/DROP\nEthernet0:3  operational                      "
        "0/0           0/0           0/0                0/0                0/0\n" + DONE,
    ),
    (
        "fan of warnings of a start with Hugging Face",
        G + "hiyouga/LlamaFactory/issues/8261",
        "The attention mask and the pad token id were not set. As a consequence, you may observe unexpected behavior.\n"
        "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.\n{'loss': 3.5534, "
        "'grad_norm': 1.4142, 'learning_rate': 2.04e-06, 'epoch': 0.01}\n  1%|          | 10/1752 [00:29<1:22:01,  "
        "2.83s/it]\n{'train_runtime': 4999.1}\n",
    ),
)
