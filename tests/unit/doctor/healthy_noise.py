"""Whole outputs of systems that work, of several makers and versions, with the noise that they print: (name, where the
form is documented, text). Hosts and addresses are made up; nothing here was recorded."""

from __future__ import annotations

N = "gpu01:4321:4321 [0] NCCL INFO "
NOISY: tuple[tuple[str, str, str], ...] = (
    (
        "boot of an AMD server",
        "kernel drivers/acpi, drivers/pci/pcie/aer.c, net/wireless/reg.c, arch/x86",
        "[    0.000000] Linux version 6.8.0-45-generic\n"
        "[    0.201001] x86/cpu: SGX disabled by BIOS.\n"
        "[    0.412345] ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PCI0.GPP0], AE_NOT_FOUND\n"
        "[    0.412350] ACPI Error: AE_NOT_FOUND, During name lookup/catalog (20230628/psobject-220)\n"
        "[    1.100000] pcieport 0000:00:01.1: AER: enabled with IRQ 28\n"
        "[    1.300000] ata3: SATA link down (SStatus 0 SControl 300)\n"
        "[    1.900000] i8042: No controller found\n"
        "[    2.200000] platform regulatory.0: Direct firmware load for regulatory.db failed with error -2\n"
        "[    2.210000] cfg80211: failed to load regulatory.db\n"
        "[    2.400000] EDAC amd64: ECC disabled in the BIOS or no ECC capability, module will not load.\n",
    ),
    (
        "boot of an Intel server",
        "kernel drivers/acpi, drivers/platform, kernel/watchdog.c",
        "[    0.000000] [Firmware Bug]: TSC ADJUST: CPU0: -6 force to 0\n"
        "[    0.350000] NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.\n"
        "[    0.900000] ACPI Warning: SystemIO range 0x0000000000000528-0x000000000000052F conflicts with OpRegion\n"
        "[    0.900100] ACPI: OSL: Resource conflict; ACPI support missing from driver?\n"
        "[    1.200000] lpc_ich: Resource conflict(s) found affecting gpio_ich\n"
        "[    1.400000] ERST: Error Record Serialization Table (ERST) support is initialized.\n"
        "[    1.500000] GHES: Failed to enable APEI firmware first mode.\n"
        "[    3.100000] acpi PNP0A08:00: _OSC: platform does not support [SHPCHotplug AER LTR]\n",
    ),
    (
        "journal of Ubuntu 24.04",
        "systemd, audit, snapd, apparmor as distributed",
        "Feb 01 10:00:00 gpu01 kernel: kauditd_printk_skb: 12 callbacks suppressed\n"
        'Feb 01 10:00:01 gpu01 kernel: audit: type=1400 audit(1769940001.1:31): apparmor="STATUS" '
        'operation="profile_load"'
        ' profile="unconfined" name="docker-default"\n'
        "Feb 01 10:00:02 gpu01 systemd[1]: Started NVIDIA Persistence Daemon.\n"
        "Feb 01 10:00:03 gpu01 systemd-networkd-wait-online[900]: Timeout occurred while waiting for network "
        "connectivity.\n"
        "Feb 01 10:00:04 gpu01 thermald[901]: Unsupported cpu model or platform\n"
        "Feb 01 10:00:05 gpu01 multipathd[902]: sda: failed to get udev uid: No data available\n",
    ),
    (
        "kernel with Broadcom NICs",
        "kernel drivers/net/ethernet/broadcom/bnxt",
        "bnxt_en 0000:41:00.0 (unnamed net_device): Device requests max timeout of 100 seconds, may trigger hung task "
        "watchdog\nbnxt_en 0000:41:00.0 eth0: Broadcom BCM57508 NetXtreme-E Ethernet found at mem 20083c10000\n"
        "bnxt_en 0000:41:00.0: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)\n"
        "bnxt_en 0000:41:00.0 ens3f0np0: NIC Link is Up, 200000 Mbps full duplex, Flow control: none\n"
        "bnxt_en 0000:41:00.0 ens3f0np0: FEC autoneg off encoding: Clause 91 RS(544,514)\n",
    ),
    (
        "kernel with ConnectX-7",
        "kernel drivers/net/ethernet/mellanox/mlx5",
        "mlx5_core 0000:3b:00.0: firmware version: 28.39.1002\n"
        "mlx5_core 0000:3b:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)\n"
        "mlx5_core 0000:3b:00.0: E-Switch: Total vports 2, per vport: max uc(128) max mc(2048)\n"
        "mlx5_core 0000:3b:00.0: Port module event: module 0, Cable plugged\n"
        "mlx5_core 0000:3b:00.0: mlx5_pcie_event:301:(pid 9): PCIe slot advertised sufficient power (75W).\n"
        "mlx5_core 0000:3b:00.0: mlx5e_dcbnl_ieee_setets: TC bandwidth is not configured\n",
    ),
    (
        "driver 570 on 8 GPUs",
        "NVIDIA driver README; kernel documentation, tainted kernels",
        "nvidia: loading out-of-tree module taints kernel.\n"
        "nvidia: module verification failed: signature and/or required key missing - tainting kernel\n"
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 508\n"
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n"
        "[drm] [nvidia-drm] [GPU ID 0x00001b00] Loading driver\n"
        "[drm] Initialized nvidia-drm 0.0.0 for 0000:1b:00.0 on minor 1\n"
        "nvidia 0000:1b:00.0: [drm] Cannot find any crtc or sizes\n"
        "nvidia_uvm: module uses symbols nvUvmInterfaceDisableAccessCntr from proprietary module nvidia, inheriting "
        "taint.\n",
    ),
    (
        "nvidia-smi 535 with MIG and idle clocks",
        "nvidia-smi(1)",
        "| NVIDIA-SMI 535.129.03             Driver Version: 535.129.03   CUDA Version: 12.2     |\n"
        "|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |\n"
        "| N/A   27C    P0              60W / 400W |      4MiB / 81920MiB |      0%      Default |\n"
        "|                                         |                      |             Disabled |\n"
        "|  No running processes found                                                           |\n",
    ),
    (
        "nvidia-smi -q 560",
        "nvidia-smi(1)",
        "    Persistence Mode                      : Disabled\n    GPU Virtualization Mode\n"
        "        Virtualization Mode               : Pass-Through\n        Host VGPU Mode                    : N/A\n"
        "    GPU Reset Status\n        Reset Required                    : No\n"
        "        Drain and Reset Recommended       : No\n    Clocks Event Reasons\n"
        "        Idle                              : Active\n        SW Power Cap                      : Not Active\n"
        "        HW Power Brake Slowdown           : Not Active\n    ECC Errors\n        Volatile\n"
        "            SRAM Uncorrectable Parity     : 0\n            DRAM Uncorrectable            : 0\n"
        "    Remapped Rows\n        Correctable Error                 : 2\n        Uncorrectable Error               "
        ": 0\n"
        "        Pending                           : No\n        Remapping Failure Occurred        : No\n",
    ),
    (
        "fabric manager log 550",
        "NVIDIA Fabric Manager user guide",
        "[Feb 01 2026 10:00:00] [INFO] [tid 1500] Fabric Manager version 550.54.15 is running with the following "
        "configuration options\n[Feb 01 2026 10:00:00] [INFO] [tid 1500] Abort CUDA jobs when FM exits = 1\n"
        "[Feb 01 2026 10:00:09] [INFO] [tid 1500] Successfully configured all the available GPUs and NVSwitches to "
        "route "
        "NVLink traffic.\n",
    ),
    (
        "NCCL 2.14 on sockets for its bootstrap",
        "NCCL documentation, logging",
        N + "Bootstrap : Using ens192:192.0.2.11<0>\n" + N + "NET/Plugin : No plugin found (libnccl-net.so), using "
        "internal implementation\n" + N + "NET/IB : Using [0]mlx5_0:1/RoCE ; OOB ens192:192.0.2.11<0>\n" + N + "Using "
        "network IB\n"
        + N
        + "Channel 00/02 :    0   1\n"
        + N
        + "Connected all trees\n"
        + N
        + "comm 0x7f rank 0 nranks 2 "
        "cudaDev 0 busId 3000 - Init COMPLETE\n",
    ),
    (
        "NCCL 2.27 with tuner and profiler lines",
        "NCCL source, src/plugin",
        N
        + "ENV/Plugin: Could not find: libnccl-env.so\n"
        + N
        + "NET/Plugin: Could not find: libnccl-net.so\n"
        + N
        + "TUNER/Plugin: Could not find: libnccl-tuner.so\n"
        + N
        + "PROFILER/Plugin: Could not find: "
        "libnccl-profiler.so\n"
        + N
        + "ncclCommInitRankConfig comm 0x55 rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 1b000 "
        "commId 0x1 - Init START\n" + N + "RAS client listening socket at 127.0.0.1<28028>\n" + N + "MNNVL busId "
        "0x1b000 fabric UUID 0.0 cliqueId 0x0 state 3 healthMask 0x0\n" + N + "Init timings - ncclCommInitRankConfig: "
        "rank 0 nranks 16 total 1.20\n" + N + "ncclCommInitRankConfig comm 0x55 rank 0 nranks 16 cudaDev 0 nvmlDev 0 "
        "busId 1b000 commId 0x1 - Init COMPLETE\n",
    ),
    (
        "NCCL in a VM warns of the IOMMU and NUMA balancing",
        "NCCL source, src/init.cc, src/misc",
        "gpu01:1:1 [0] misc/utils.cc:40 NCCL WARN NUMA auto balancing enabled which can lead to variability in the "
        "NCCL "
        'performance! Disable by "sudo sysctl kernel.numa_balancing=0"\n' + N + "Connected all rings\n",
    ),
    (
        "EFA with its plugin",
        "aws-ofi-nccl README",
        N + "NET/OFI Initializing aws-ofi-nccl 1.12.1\n" + N + "NET/OFI Using Libfabric version 1.22\n" + N + "NET/OFI "
        "Selected provider is efa, fabric is efa (found 4 nics)\n"
        + N
        + "Using network Libfabric\n"
        + N
        + "Connected all "
        "rings\n",
    ),
    (
        "Open MPI 5 starts",
        "Open MPI 5 documentation; PRRTE",
        "3 more processes have sent help message help-mpi-btl-base.txt / btl:no-nics\n"
        '[gpu01:4711] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages\n'
        "[1,0]<stdout>:total images/sec: 2100.20\n",
    ),
    (
        "Open MPI 4 beside UCX",
        "Open MPI FAQ, openfabrics; UCX",
        "WARNING: There was an error initializing an OpenFabrics device.\n\n  Local host:   gpu01\n  Local device: "
        "mlx5_0\n"
        "[1769940001.1] [gpu01:812  :0]     ucp_context.c:2119 UCX  INFO  Version 1.17.0 (loaded from "
        "/lib/libucp.so.0)\n"
        "[1769940001.2] [gpu01:812  :0]          parser.c:2036 UCX  WARN  unused environment variable: UCX_HOME "
        "(maybe: "
        "UCX_TLS?)\ntotal images/sec: 8400.66\n",
    ),
    (
        "Slurm job that ended well",
        "srun(1), sacct(1)",
        "srun: job 4711 queued and waiting for resources\nsrun: job 4711 has been allocated resources\n"
        "slurmstepd: task_p_pre_launch: Using sched_affinity for tasks\nJobID State ExitCode\n4711 COMPLETED 0:0\n",
    ),
    (
        "torchrun 2.5",
        "PyTorch documentation, torchrun; ProcessGroupNCCL",
        "W0201 10:00:00.1 812 torch/distributed/run.py:793] \n"
        "W0201 10:00:00.1 812 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable for each "
        "process "
        "to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal "
        "performance in your application as needed. \n"
        "/usr/lib/python3/torch/utils/data/dataloader.py:617: UserWarning: This DataLoader will create 16 worker "
        "processes "
        "in total. Our suggested max number of worker in current system is 8\n"
        "[rank0]:[W201 10:10:00.1 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed "
        "before "
        "we destruct ProcessGroupNCCL. On normal program exit, the application should call destroy_process_group\n"
        "epoch 1 step 100 loss 2.31 throughput 812 samples/s\nTraining complete\n",
    ),
    (
        "DeepSpeed checks what it could build",
        "DeepSpeed documentation, ds_report",
        "[INFO] [real_accelerator.py:222:get_accelerator] Setting ds_accelerator to cuda (auto detect)\n"
        " [WARNING]  async_io requires the dev libaio .so object and headers but these were not found.\n"
        " [WARNING]  sparse_attn requires a torch version >= 1.5 and < 2.0 but detected 2.5\n"
        " [WARNING]  using untested triton version (3.1.0), only 1.0.0 is known to be compatible\n"
        "step=100, skipped=0, lr=[0.0001], loss=2.31\nTraining complete\n",
    ),
    (
        "TensorFlow 2.16 starts",
        "TensorFlow source, stream_executor",
        "E0000 00:00:1 cuda_blas.cc:1418] Unable to register cuBLAS factory: Attempting to register factory for plugin "
        "cuBLAS when one has already been registered\nI0000 cpu_feature_guard.cc:210] This TensorFlow binary is "
        "optimized "
        "to use available CPU instructions in performance-critical operations.\nTo enable the following "
        "instructions: AVX2 "
        "AVX512F FMA, in other operations, rebuild TensorFlow with the appropriate compiler flags.\n"
        "W0000 utils.cc:38] TF-TRT Warning: Could not find TensorRT\nstep 100 loss: 2.3\nTraining finished\n",
    ),
    (
        "container of NGC",
        "NGC containers, release notes",
        "=============\n== PyTorch ==\n=============\n\nNVIDIA Release 24.10 (build 114410972)\nNOTE: The SHMEM "
        "allocation "
        "limit is set to the default of 64MB.  This may be\n   insufficient for PyTorch.  NVIDIA recommends the use "
        "of the "
        "following flags:\n   docker run --gpus all --ipc=host --ulimit memlock=-1 --ulimit stack=67108864 ...\n"
        "NOTE: MOFED driver for multi-node communication was not detected.\n      Multi-node communication "
        "performance may "
        "be reduced.\n",
    ),
    (
        "docker info",
        "docker info",
        "Server Version: 27.3.1\n Storage Driver: overlay2\n Runtimes: io.containerd.runc.v2 nvidia runc\n"
        " Default Runtime: runc\nWARNING: bridge-nf-call-iptables is disabled\nWARNING: bridge-nf-call-ip6tables is "
        "disabled\n",
    ),
    (
        "pod that was late",
        "Kubernetes documentation, kubectl describe",
        "Status:           Running\n    Ready:          True\n    Restart Count:  0\nQoS Class: Guaranteed\nEvents:\n"
        "  Normal   Pulled     3m   kubelet  Container image already present on machine\n"
        "  Normal   Started    3m   kubelet  Started container worker\ntotal images/sec: 8400.66\n",
    ),
    (
        "Onyx 3.10",
        "NVIDIA Onyx user manual",
        "RoCE mode           : lossless\nLLDP                : enabled\nPort trust mode     : L3\nApplication TLV:\n"
        "Eth1/1:\n  Admin state                      : Enabled\n  Operational state                : Up\n"
        "  Last change in operational status: 3d and 2:11:05 ago (1 oper change)\n  Actual speed                     "
        ": 100G\n"
        "  MTU                              : 9216 bytes(Maximum packet size 9238 bytes)\n    0              discard "
        "packets\n    0              error packets\n",
    ),
    (
        "NVUE 5.9",
        "Cumulus Linux user guide, nv show",
        "                    operational  applied\n------------------  -----------  -------\nenable                  "
        "         "
        "on\nmode                lossless     lossless\ncongestion-control\n  congestion-mode   ECN          ECN\n"
        "pfc\n  pfc-priority      3            3\n  rx-enabled        enabled      enabled\n  tx-enabled        "
        "enabled      "
        "enabled\nswp1  up  100G  9216\n",
    ),
    (
        "SONiC",
        "SONiC command reference",
        "  Interface            Lanes    Speed    MTU    FEC           Alias    Vlan    Oper    Admin\n"
        "Ethernet0  0,1,2,3     100G   9100     rs  etp1  trunk      up       up\n"
        "       PORT    STATUS    QUEUE    TX OK/DROP    RX OK/DROP\n"
        "total images/sec: 8400.66\n",
    ),
    (
        "NX-OS",
        "Cisco NX-OS interfaces guide",
        "Ethernet1/1 is up\nadmin state is up, Dedicated Interface\n  MTU 9216 bytes, BW 100000000 Kbit , DLY 10 usec\n"
        "  full-duplex, 100 Gb/s, media type is 100G\n    0 runts  0 giants  0 CRC  0 no buffer\n    0 input error  "
        "0 short "
        "frame  0 overrun   0 underrun  0 ignored\n    0 output error  0 collision  0 deferred  0 late collision\n"
        "total images/sec: 8400.66\n",
    ),
    (
        "EOS",
        "Arista EOS user manual",
        "Ethernet1/1 is up, line protocol is up (connected)\n  IP MTU 9214 bytes , BW 100000000 kbit\n  Up 3 days, 2 "
        "hours\n"
        "     0 runts, 0 giants\n     0 input errors, 0 CRC, 0 alignment, 0 symbol, 0 input discards\n     0 output "
        "errors, 0 "
        "collisions\n     0 late collision, 0 deferred, 0 output discards\ntotal images/sec: 8400.66\n",
    ),
    (
        "ESXi 8 host",
        "esxcli reference",
        "Name        Type  Configured  Runtime  Default  Description\n"
        "atsSupport  Bool  TRUE        TRUE     FALSE    Enable PCIe ATS support\nMaintenance Mode: Disabled\n"
        "Power Policy: High Performance\n0000:3b:00.0  true  true\n",
    ),
    (
        "vmware.log of a VM that started",
        "VMware vmware.log",
        "2026-02-01T10:00:00.1Z In(05) vmx - PCIPassthru: Device 0000:3b:00.0 registered\n"
        '2026-02-01T10:00:00.2Z In(05) vmx - DICT  pciPassthru.use64bitMMIO = "TRUE"\n'
        "2026-02-01T10:00:01.1Z In(05) vmx - Transitioned vmx/execState/val to poweredOn\n"
        "2026-02-01T10:00:30.1Z In(05) vmx - Tools: Running status rpc handler: 0 => 1.\n"
        "2026-02-01T10:00:31.1Z Wa(03) vmx - GuestRpc: application toolbox-dnd, changing channel 65535 -> 0\n",
    ),
    (
        "sysctl and limits of a tuned host",
        "kernel ip-sysctl; limits.conf(5)",
        "net.ipv4.conf.all.rp_filter = 2\nnet.ipv4.conf.all.arp_ignore = 1\nkernel.numa_balancing = 0\n"
        "vm.overcommit_memory = 1\nmax locked memory           (kbytes, -l) unlimited\nopen files                    "
        "      "
        "(-n) 1048576\n",
    ),
    (
        "sshd with scans from outside",
        "sshd(8)",
        "Feb  1 10:00:00 gpu01 sshd[100]: Accepted publickey for mpi from 192.0.2.12 port 40000 ssh2: ED25519 "
        "SHA256:abc\n"
        "Feb  1 10:00:01 gpu01 sshd[100]: pam_unix(sshd:session): session opened for user mpi(uid=1000)\n"
        "Feb  1 10:01:01 gpu01 sshd[100]: Received disconnect from 192.0.2.12 port 40000:11: disconnected by user\n",
    ),
    (
        "cloud-init and apt",
        "cloud-init, apt as distributed",
        "Cloud-init v. 24.1 finished at Sun, 01 Feb 2026 10:00:00 +0000. Datasource DataSourceVMware.  Up 31.00 "
        "seconds\n"
        "WARNING: apt does not have a stable CLI interface. Use with caution in scripts.\n"
        "WARNING: Running pip as the 'root' user can result in broken permissions and conflicting behaviour with the "
        "system "
        "package manager. It is recommended to use a virtual environment instead.\nulimit -l: unlimited\n",
    ),
    (
        "lspci of an NVSwitch system",
        "lspci(8)",
        "05:00.0 Bridge: NVIDIA Corporation GH100 [H100 NVSwitch] (rev a1)\n\tControl: I/O- Mem+ BusMaster+ SERR- "
        "DisINTx+\n"
        "\tStatus: Cap+ 66MHz- UDF- FastB2B- ParErr- DEVSEL=fast >TAbort- <TAbort- <MAbort- >SERR- <PERR- INTx-\n"
        "\t\tDevSta:\tCorrErr+ NonFatalErr- FatalErr- UnsupReq+ AuxPwr- TransPend-\n"
        "\t\tLnkSta:\tSpeed 16GT/s (ok), Width x2 (ok)\n\tKernel driver in use: nvidia-nvswitch\n",
    ),
    (
        "perftest over several queue pairs",
        "linux-rdma/perftest",
        "                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n Number of qps   "
        ": 4\t\t"
        "Transport type : IB\n Connection type : RC\t\tUsing SRQ      : OFF\n PCIe relax order: ON\n ibv_wr* API     "
        ": ON\n"
        " Mtu             : 4096[B]\n Link type       : Ethernet\n GID index       : 3\n #bytes     #iterations    BW "
        "peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      20000            392.11             392.05  "
        "            "
        "0.747\n",
    ),
    (
        "nccl-tests 2.13 with 16 ranks",
        "NVIDIA/nccl-tests README",
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
        "validate: 1 graph: 0\n#\n# Using devices\n#  Rank  0 Group  0 Pid   4711 on      gpu01 device  0 [0x1b] "
        "NVIDIA H100 "
        "80GB HBM3\n#       size         count      type   redop    root     time   algbw   busbw #wrong     time   "
        "algbw   "
        "busbw #wrong\n           8             2     float     sum      -1    29.11    0.00    0.00      0    28.99 "
        "   0.00    "
        "0.00      0\n  8589934592    2147483648     float     sum      -1  35012.1  245.34  460.02      0  35010.8  "
        "245.35  "
        "460.04      0\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 160.412\n#\n",
    ),
)
