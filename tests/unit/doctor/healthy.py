"""Outputs of systems that work, many of them noisy: (name, where the form is documented, text). Names are made up."""

from __future__ import annotations

N = "gpu01:4321:4321 [0] NCCL INFO "
OUTPUTS: tuple[tuple[str, str, str], ...] = (
    (
        "nccl no plugin 2.7",
        "NVIDIA/nccl issue 259",
        N + "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation",
    ),
    ("nccl no plugin 2.4", "NVIDIA/nccl issue 259", N + "NET/Plugin : No plugin found (libnccl-net.so)."),
    (
        "nccl no plugin 2.23",
        "NVIDIA/nccl issue 1634",
        N + "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
    ),
    ("nccl plugin symbol", "NVIDIA/nccl issue 1292", N + "NET/Plugin: Failed to find ncclNetPlugin_v8 symbol."),
    (
        "nccl plugin symbols old",
        "NVIDIA/nccl issue 1292",
        N + "NET/Plugin: Failed to find ncclNetPlugin symbol (>= v5). ncclNetPlugin symbols v4 and "
        "lower are not supported.",
    ),
    (
        "nccl collnet symbol",
        "NCCL source src/plugin/net",
        N + "NET/Plugin: Failed to find ncclCollNetPlugin_v8 symbol.",
    ),
    (
        "nccl plugin dlerror",
        "NCCL source src/plugin",
        N + "NET/Plugin: Plugin load returned 2 : libnccl-net.so: cannot open shared object file: No "
        "such file or directory : when loading libnccl-net.so",
    ),
    (
        "nccl tuner missing",
        "NCCL source src/plugin/tuner",
        N + "TUNER/Plugin: Could not find: libnccl-tuner.so libnccl-net.so. Using internal tuner plugin.",
    ),
    (
        "nccl tuner dlerror",
        "NCCL source src/plugin/tuner",
        N + "TUNER/Plugin: Plugin load returned 11 : libnccl-net.so: cannot open shared object file: "
        "No such file or directory",
    ),
    (
        "nccl profiler missing",
        "NCCL source src/plugin/profiler",
        N + "PROFILER/Plugin: Could not find: libnccl-profiler.so.",
    ),
    (
        "nccl whole start",
        "NCCL documentation, logging",
        "\n".join(
            (
                N + "Bootstrap : Using ens192:192.0.2.11<0>",
                N + "cudaDriverVersion 12040",
                "NCCL version 2.21.5+cuda12.4",
                N + "NET/Plugin: No plugin found (libnccl-net.so)",
                N + "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB ens192:192.0.2.11<0>",
                N + "Using network IB",
                N + "GPU Direct RDMA Enabled for HCA 0 'mlx5_0'",
                N + "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
                N + "Connected all rings",
                N + "Connected all trees",
                N + "comm 0x55 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 3000 - Init COMPLETE",
            )
        ),
    ),
    (
        "nccl destroy",
        "NCCL documentation, logging",
        N + "comm 0x7f rank 0 nranks 8 cudaDev 0 busId 1b000 - Destroy COMPLETE",
    ),
    ("nccl no nvls", "pytorch issue 105287", N + "NVLS multicast support is not available on dev 1"),
    ("nccl cumem", "NCCL source src/misc/cudawrap", N + "CUMEM support is disabled, using legacy"),
    (
        "nccl p2p off",
        "NCCL source src/graph/paths",
        N + "P2P is disabled between connected GPUs 1 and 0. You can repress this message with "
        "NCCL_IGNORE_DISABLED_P2P=1.",
    ),
    ("nccl dmabuf", "NCCL source src/init", N + "DMA-BUF is available on GPU device 0"),
    ("nccl env", "NCCL documentation, environment", N + "NCCL_IB_TC set by environment to 106."),
    ("nccl-tests ok", "NVIDIA/nccl-tests README", "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 11.0823"),
    (
        "nccl-tests table",
        "NVIDIA/nccl-tests README",
        "#       size         count      type   redop    root     time   algbw   busbw #wrong    "
        " time   algbw   busbw #wrong\n   536870912     134217728     float     sum      -1    "
        "49219   10.91   20.45      0    49219   10.91   20.45      0\n# Avg bus bandwidth    : "
        "20.1",
    ),
    (
        "openib none",
        "Open MPI FAQ, openfabrics",
        "No OpenFabrics connection schemes reported that they were able to be used on a specific "
        "port.  As such, the openib BTL (OpenFabrics support) will be disabled for this port.",
    ),
    ("openib error", "Open MPI FAQ, openfabrics", "WARNING: There was an error initializing an OpenFabrics device."),
    (
        "openib params",
        "Open MPI FAQ, openfabrics",
        "WARNING: No preset parameters were found for the device that Open MPI detected:",
    ),
    (
        "openib allow",
        "Open MPI FAQ, openfabrics",
        "By default, for Open MPI 4.0 and later, infiniband ports on a device are not used by default.",
    ),
    (
        "openmpi fabrics module",
        "Open MPI help-mpi-btl-base",
        "A high-performance Open MPI point-to-point messaging module was unable to find any "
        "relevant network interfaces:\n\nModule: OpenFabrics (openib)\nAnother transport will be "
        "used instead, although this may result in lower performance.",
    ),
    ("openmpi cma", "open-mpi/ompi issue 4948", "Read -1, expected 16424, errno = 1"),
    (
        "openmpi cma notice",
        "Open MPI help-btl-vader",
        "WARNING: Linux kernel CMA support was requested via the btl_vader_single_copy_mechanism "
        "MCA variable, but CMA support is not available due to restrictive ptrace settings.",
    ),
    (
        "openmpi aggregate",
        "Open MPI show_help",
        "3 more processes have sent help message help-mpi-btl-openib.txt / no device params found",
    ),
    (
        "openmpi libcuda",
        "Open MPI help-mpi-common-cuda",
        "The library attempted to open the following supporting CUDA libraries; If you are not "
        "interested in CUDA-aware support, run with --mca mpi_cuda_support 0",
    ),
    ("pmix munge", "openpmix issue 1097", "PMIX ERROR: PMIX_ERR_NOT_FOUND in psec: munge"),
    ("ssh banner", "ssh(1)", "Warning: Permanently added '192.0.2.12' (ED25519) to the list of known hosts."),
    ("ssh x11", "ssh(1)", "Authorization required, but no authorization protocol specified"),
    ("locale", "setlocale(3)", "bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8)"),
    ("kernel taint license", "kernel documentation, tainted kernels", "nvidia: module license 'NVIDIA' taints kernel."),
    ("kernel taint", "kernel documentation, tainted kernels", "Disabling lock debugging due to kernel taint"),
    (
        "kernel out of tree",
        "kernel documentation, tainted kernels",
        "nvidia: loading out-of-tree module taints kernel.",
    ),
    (
        "kernel unsigned",
        "kernel documentation, module signing",
        "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
    ),
    (
        "nvrm loading",
        "NVIDIA driver README",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024",
    ),
    ("mlx5 plugged", "kernel mlx5/core/events.c", "mlx5_core 0000:0b:00.0: Port module event: module 0, Cable plugged"),
    ("mlx5 firmware", "kernel mlx5/core/main.c", "mlx5_core 0000:0b:00.0: firmware version: 22.36.1010"),
    ("mlx5 link", "kernel mlx5/core/en_main.c", "mlx5_core 0000:0b:00.0 ens224: Link up"),
    (
        "mlx5 slot",
        "kernel mlx5/core/events.c",
        "mlx5_core 0000:0b:00.0: mlx5_pcie_event:301:(pid 12): PCIe slot advertised sufficient power (75W).",
    ),
    (
        "mlx5 bandwidth",
        "kernel pci.c",
        "mlx5_core 0000:0b:00.0: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)",
    ),
    ("link ready", "kernel addrconf.c", "IPv6: ADDRCONF(NETDEV_CHANGE): ens224: link becomes ready"),
    ("iommu pt", "kernel iommu.c", "iommu: Default domain type: Passthrough (set via kernel command line)"),
    (
        "ibv_devinfo",
        "rdma-core ibv_devinfo(1)",
        "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand "
        "(0)\n\tfw_ver:\t\t\t\t22.36.1010\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE "
        "(4)\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t4096 "
        "(5)\n\t\t\tlink_layer:\t\tEthernet",
    ),
    (
        "show_gids",
        "Mellanox mlnx-tools show_gids",
        "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  "
        "\t\tVER\tDEV\nmlx5_0\t1\t0\tfe80:0000:0000:0000:0250:56ff:fe00:0001\t\t\tv1\tens224\nmlx"
        "5_0\t1\t1\tfe80:0000:0000:0000:0250:56ff:fe00:0001\t\t\tv2\tens224\nmlx5_0\t1\t2\t0000:0"
        "000:0000:0000:0000:ffff:c000:020b\t192.0.2.11  "
        "\tv1\tens224\nmlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:c000:020b\t192.0.2.11  "
        "\tv2\tens224\nn_gids_found=4",
    ),
    (
        "show_gids ipv6 alone",
        "Mellanox mlnx-tools show_gids",
        "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n"
        "mlx5_0\t1\t0\tfe80:0000:0000:0000:0250:56ff:fe00:0001\t\t\tv1\tens224\n"
        "mlx5_0\t1\t1\tfe80:0000:0000:0000:0250:56ff:fe00:0001\t\t\tv2\tens224\n"
        "mlx5_0\t1\t2\t2001:0db8:0000:0000:0000:0000:0000:0011\t\t\tv1\tens224\n"
        "mlx5_0\t1\t3\t2001:0db8:0000:0000:0000:0000:0000:0011\t\t\tv2\tens224\nn_gids_found=4",
    ),
    (
        "show_gids ipv6 alone, pasted",
        "Mellanox mlnx-tools show_gids",
        "DEV  PORT  INDEX  GID  IPv4  VER  DEV\n"
        "mlx5_0  1  0  fe80:0000:0000:0000:0250:56ff:fe00:0001    v1  ens224\n"
        "mlx5_0  1  1  fe80:0000:0000:0000:0250:56ff:fe00:0001    v2  ens224\n"
        "mlx5_0  1  2  2001:0db8:0000:0000:5d3c:01ab:9f20:77e1    v1  ens224\n"
        "mlx5_0  1  3  2001:0db8:0000:0000:5d3c:01ab:9f20:77e1    v2  ens224\nn_gids_found=4",
    ),
    (
        "mlnx_qos",
        "Mellanox mlnx-tools mlnx_qos",
        "DCBX mode: OS controlled\nPriority trust state: dscp\ndscp2prio mapping:\n\tprio:0 "
        "dscp:07,06,05,04,03,02,01,00,\n\tprio:3 dscp:31,30,29,28,27,26,25,24,\nPFC "
        "configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   "
        "1   0   0   0   0",
    ),
    (
        "ethtool link",
        "ethtool(8)",
        "Settings for ens224:\n\tSpeed: 100000Mb/s\n\tDuplex: Full\n\tAuto-negotiation: on\n\tLink detected: yes",
    ),
    (
        "ethtool counters",
        "NVIDIA mlx5 ethtool counters",
        "NIC statistics:\n     rx_packets: 812331\n     rx_discards_phy: 0\n     tx_errors_phy: "
        "0\n     rx_crc_errors_phy: 0\n     rx_symbol_err_phy: 0\n     rx_prio3_bytes: "
        "99121218\n     rx_prio3_discards: 0",
    ),
    (
        "hw counters",
        "NVIDIA RDMA hw_counters",
        "out_of_sequence: 0\npacket_seq_err: 0\nlocal_ack_timeout_err: 0\nrnr_nak_retry_err: 0",
    ),
    (
        "nvidia-smi",
        "nvidia-smi(1)",
        "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4   "
        "  |\n| N/A   33C    P0             68W / 400W |      0MiB / 81920MiB "
        "|      0%      Default |\n"
        "|  No running processes found                                                           "
        "  |",
    ),
    (
        "nvidia-smi throttle",
        "nvidia-smi(1)",
        "    Clocks Event Reasons\n        Idle                              : Active\n        "
        "SW Power Cap                      : Not Active\n        HW Slowdown                     "
        "  : Not Active\n            HW Thermal Slowdown           : Not Active",
    ),
    (
        "nvidia-smi ecc",
        "nvidia-smi(1)",
        "        Volatile\n            SRAM Uncorrectable            : 0\n            DRAM "
        "Uncorrectable            : 0\n    Remapped Rows\n        Pending                        "
        "   : No\n        Remapping Failure Occurred        : No",
    ),
    (
        "fabric manager",
        "NVIDIA Fabric Manager user guide",
        "nv-fabricmanager[1500]: Successfully configured all the available GPUs and NVSwitches "
        "to route NVLink traffic.",
    ),
    (
        "fabric state",
        "nvidia-smi(1)",
        "    Fabric\n        State                             : Completed\n        Status       "
        "                     : Success",
    ),
    ("lspci link", "lspci(8)", "\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)\n\tKernel driver in use: mlx5_core"),
    (
        "lspci acs off",
        "lspci(8)",
        "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-",
    ),
    (
        "lspci acs vm host",
        "NVIDIA nccl-tests issue 380",
        "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+",
    ),
    ("lspci ats", "lspci(8)", "\t\tATSCtl:\tEnable+, Smallest Translation Unit: 00"),
    (
        "esxcli ats",
        "VMware esxcli system settings kernel",
        "Name        Type  Configured  Runtime  Default  Description\natsSupport  Bool  TRUE     "
        "   TRUE     FALSE    Enable PCIe ATS support",
    ),
    ("esxcli maintenance", "VMware esxcli system maintenanceMode", "Maintenance Mode: Disabled"),
    (
        "vmware.log on",
        "VMware vmware.log",
        "2026-02-01T10:00:00.000Z In(05) vmx - Transitioned vmx/execState/val to "
        "poweredOn\n2026-02-01T10:00:00.000Z| vmx| | I005: Tools: Running status rpc handler",
    ),
    (
        "ulimit",
        "bash ulimit",
        "core file size              (blocks, -c) 0\nmax locked memory           (kbytes, -l) "
        "unlimited\nopen files                          (-n) 1048576",
    ),
    (
        "df shm",
        "df(1)",
        "Filesystem      Size  Used Avail Use% Mounted on\ntmpfs           252G  1.1M  252G   1% "
        "/dev/shm\n/dev/sda2       400G  120G  280G  31% /",
    ),
    (
        "ip route",
        "ip-route(8)",
        "default via 198.51.100.1 dev ens192 proto dhcp metric 100\n192.0.2.0/24 dev ens224 "
        "proto kernel scope link src 192.0.2.11\n198.51.100.0/24 dev ens192 proto kernel scope "
        "link src 198.51.100.11",
    ),
    (
        "ip addr",
        "ip-address(8)",
        "3: ens224: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default "
        "qlen 1000\n    inet 192.0.2.11/24 scope global ens224\n       valid_lft forever "
        "preferred_lft forever",
    ),
    ("ping", "ping(8)", "5 packets transmitted, 5 received, 0% packet loss, time 4004ms"),
    (
        "onyx interface",
        "Onyx manual",
        "Eth1/1:\n  Admin state                      : Enabled\n  Operational state              "
        "  : Up\n  MTU                              : 9216 bytes(Maximum packet size 9238 bytes)",
    ),
    ("docker ps", "docker ps", 'mpi   "/usr/sbin/sshd -D"   2 days ago   Up 2 days (healthy)'),
    (
        "ngc banner",
        "NGC containers",
        "NOTE: The SHMEM allocation limit is set to the default of 64MB.  This may be\n   insufficient for PyTorch.",
    ),
    ("docker swap", "docker info", "WARNING: No swap limit support"),
    (
        "torch omp",
        "torchrun",
        "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to "
        "avoid your system being overloaded",
    ),
    (
        "torch socket name",
        "pytorch issue 159007",
        "[W socket.cpp:460] [c10d] The hostname of the client socket cannot be retrieved. err=-3",
    ),
    (
        "torch barrier device",
        "PyTorch ProcessGroupNCCL",
        "[rank0]:[W ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank 0]  using GPU 0 to "
        "perform barrier as devices used by this process are currently unknown.",
    ),
    (
        "torch destroy",
        "PyTorch ProcessGroupNCCL",
        "[rank0]:[W1124] Warning: WARNING: destroy_process_group() was not called before program "
        "exit, which can leak resources.",
    ),
    (
        "torch env name",
        "PyTorch ProcessGroupNCCL",
        "[W Utils.hpp:164] Warning: Environment variable NCCL_ASYNC_ERROR_HANDLING is "
        "deprecated; use TORCH_NCCL_ASYNC_ERROR_HANDLING instead",
    ),
    (
        "tf numa",
        "TensorFlow gpu_executor",
        "successful NUMA node read from SysFS had negative value (-1), but there must be at "
        "least one NUMA node, so returning NUMA node zero",
    ),
    (
        "tf cpu",
        "TensorFlow",
        "This TensorFlow binary is optimized to use available CPU instructions in performance-critical operations.",
    ),
    (
        "tf factory",
        "TensorFlow",
        "E0000 cuda_dnn.cc:8310] Unable to register cuDNN factory: Attempting to register "
        "factory for plugin cuDNN when one has already been registered",
    ),
    (
        "ucx version",
        "UCX",
        "[1700000000.1] [gpu01:1  :0]     ucp_context.c:2119 UCX  INFO  Version 1.17.0 (loaded from /lib/libucp.so.0)",
    ),
    (
        "perftest",
        "linux-rdma/perftest",
        " Mtu             : 4096[B]\n Link type       : Ethernet\n #bytes     #iterations    BW "
        "peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      5000             97.90  "
        "            97.89              0.186",
    ),
    (
        "perftest frequency",
        "linux-rdma/perftest",
        "Conflicting CPU frequency values detected: 2400.000000 != 3300.000000. CPU Frequency is not max.",
    ),
    (
        "training",
        "tf_cnn_benchmarks",
        "10\timages/sec: 2100.2 +/- 0.0 (jitter = 0.0)\t7.804\ntotal images/sec: 8400.66",
    ),
    (
        "sshd log",
        "sshd(8)",
        "Feb  1 10:00:00 gpu01 sshd[100]: Accepted publickey for mpi from 192.0.2.12 port 40000 "
        "ssh2: ED25519 SHA256:abc",
    ),
    ("slurm", "srun(1)", "srun: job 4711 has been allocated resources"),
)
