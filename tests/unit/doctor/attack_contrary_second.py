"""20 more bundles in which an output refutes the cause that the log suggests, as in ``attack_bundles.CONTRARY``.

``STORIES``: case -> (what is refuted, what is right, pieces). ``CONTRARY``: case -> (refuted causes, pieces).
All texts are SIMULATED.
"""

from __future__ import annotations

N = "gpu01:3100:3200 [0] NCCL "
FLUSH = (
    "gpu01:3100:3250 [0] NCCL WARN NET/IB: Got completion from peer 192.0.2.12<48122> with "
    "status=IBV_WC_RETRY_EXC_ERR(12) "
    "opcode=IBV_WC_SEND(0) len=0 vendor err 129 (Send) hca mlx5_0\n"
)
DAY = "2026-02-03 12:"

STORIES: dict[str, tuple[str, str, dict[str, str]]] = {
    "no memory to register, locking is unlimited": (
        "memlock limit of host or container",
        "BAR1 of the GPU is full",
        {
            "job/job.log": N + "WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory\n"
            "$ mpirun -np 2 -npernode 1 bash -c 'ulimit -l'\nunlimited\nunlimited\n",
            "hosts/gpu01/nvidia-smi-q.txt": "$ nvidia-smi -q -d MEMORY\n    BAR1 Memory Usage\n"
            "        Total                             : 256 MiB\n        Used                              : 255 MiB\n"
            "        Free                              : 1 MiB\n",
            "hosts/gpu01/limits.txt": "$ ulimit -l\nunlimited\n$ systemctl show -p LimitMEMLOCK "
            "docker\nLimitMEMLOCK=infinity\n",
        },
    ),
    "retries are used up, large packets pass": (
        "MTU of the path",
        "the switch drops at a port without PFC",
        {
            "job/job.log": FLUSH,
            "hosts/gpu01/mtu.txt": "$ ip link show ens5f0np0\n4: ens5f0np0: "
            "<BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 state UP\n"
            "$ ping -M do -s 8972 -c 3 192.0.2.12\n3 packets transmitted, 3 received, 0% packet loss, time 2004ms\n",
            "hosts/gpu02/mtu.txt": "$ ip link show ens5f0np0\n4: ens5f0np0: "
            "<BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 state UP\n",
            "switches/sw01/interface.txt": "Eth1/5\n  Priority flow control: off\n  Tx\n    92311 discard packets\n",
        },
    ),
    "peer memory is not loaded, DMA-BUF is in use": (
        "nvidia-peermem is not loaded",
        "the GPU's PCIe link runs at 2.5 GT/s",
        {
            "job/job.log": N
            + "INFO NET/IB : GPU Direct RDMA (DMABUF) enabled for HCA 0 'mlx5_0'\n"
            + N
            + "INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n# Avg bus bandwidth    : 3.1\n",
            "hosts/gpu01/lsmod.txt": "$ lsmod | grep -c nvidia_peermem\n0\n",
            "hosts/gpu01/lspci.txt": "$ lspci -s 3b:00.0 -vv | grep Lnk\n"
            "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16\n",
        },
    ),
    "connecting times out, the port is open": (
        "a firewall drops packets",
        "NCCL's sockets use docker0, which exists on each host with the same address",
        {
            "job/job.log": N
            + "INFO NCCL_SOCKET_IFNAME set by environment to docker0\n"
            + N
            + "INFO Bootstrap : Using docker0:172.17.0.1<0>\n"
            + N
            + "WARN socketStartConnect: Connect to 172.17.0.1<41235> failed : Connection timed out\n",
            "hosts/gpu02/iptables.txt": "$ iptables -S\n-P INPUT ACCEPT\n-P FORWARD ACCEPT\n-P OUTPUT ACCEPT\n"
            "$ nft list ruleset\n",
            "hosts/gpu01/nc.txt": "$ nc -zv 192.0.2.12 41235\nConnection to 192.0.2.12 41235 port [tcp/*] succeeded!\n",
        },
    ),
    "retries are used up after a rank died": (
        "anything of the network",
        "rank 8 on gpu02 had no GPU memory left",
        {
            "hosts/gpu01/job.log": DAY + "05:10 " + FLUSH,
            "hosts/gpu02/job.log": DAY
            + "03:02 [rank8]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 "
            "GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.10 GiB is free.\n"
            + DAY
            + "03:04 E torch.distributed.elastic.multiprocessing.api: failed (exitcode: 1) local_rank: 0 (pid: 3100)\n",
        },
    ),
    "MMU fault, whatever the program": (
        "the program reads memory that is not its own",
        "one GPU with uncorrectable errors of its SRAM",
        {
            "hosts/gpu01/dmesg.txt": "[ 100.000001] NVRM: Xid (PCI:0000:3b:00): 31, pid=3100, "
            "name=python3, Ch 00000008, intr "
            "00000000. MMU Fault: ENGINE GRAPHICS GPC2 GPCCLIENT_T1_0 faulted @ 0x7f_1. Fault is of type FAULT_PDE\n"
            "[ 900.000001] NVRM: Xid (PCI:0000:3b:00): 31, pid=4711, name=all_reduce_perf, Ch "
            "00000008, intr 00000000. MMU "
            "Fault: ENGINE GRAPHICS GPC2 GPCCLIENT_T1_0 faulted @ 0x7f_2. Fault is of type FAULT_PDE\n",
            "hosts/gpu01/nvidia-smi-q.txt": "GPU 00000000:3B:00.0\n    ECC Errors\n        Volatile\n"
            "            SRAM Uncorrectable Parity             : 0\n            SRAM Uncorrectable "
            "SEC-DED            : 14\n"
            "        Aggregate\n            SRAM Threshold Exceeded               : Yes\n",
            "job/sanitizer.log": "$ compute-sanitizer ./all_reduce_perf -g 1\n========= ERROR SUMMARY: 0 errors\n",
        },
    ),
    "driver and library differ, but not on the host": (
        "the host's driver was upgraded and not loaded again",
        "the container brings a library of its own before the host's",
        {
            "containers/gpu01/nvidia-smi.txt": "$ nvidia-smi\nFailed to initialize NVML: "
            "Driver/library version mismatch\n"
            "NVML library version: 535.54\n$ echo $LD_LIBRARY_PATH\n/opt/old-driver/lib:/usr/local/nvidia/lib64\n"
            "$ ls /opt/old-driver/lib\nlibcuda.so.535.54.03 libnvidia-ml.so.1 libnvidia-ml.so.535.54.03\n",
            "hosts/gpu01/nvidia-smi.txt": "$ nvidia-smi --query-gpu=driver_version --format=csv,noheader\n550.90.07\n"
            "$ cat /proc/driver/nvidia/version\nNVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07\n"
            "$ dpkg -l | grep libnvidia-compute\nii  libnvidia-compute-550:amd64  550.90.07-0ubuntu1  amd64\n",
        },
    ),
    "Fabric Manager fails where no switch is": (
        "Fabric Manager does not run",
        "/dev/shm of the container is too small",
        {
            "job/job.log": N
            + "WARN Error while creating shared memory segment /dev/shm/nccl-AbCdEf (size 9637888)\n"
            + N
            + "INFO transport/shm.cc:114 -> 2\n",
            "containers/gpu01/df.txt": "$ df -h /dev/shm\nFilesystem      Size  Used Avail Use% Mounted on\n"
            "shm              64M   62M  2.0M  97% /dev/shm\n",
            "hosts/gpu01/journal.txt": "nv-fabricmanager[901]: request to query NVSwitch device "
            "information from NVSwitch driver "
            "failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]\n"
            "systemd[1]: nvidia-fabricmanager.service: Control process exited, code=exited, status=1/FAILURE\n",
            "hosts/gpu01/lspci.txt": "$ lspci | grep -ic nvswitch\n0\n$ nvidia-smi -L\nGPU 0: NVIDIA "
            "L40S (UUID: GPU-0001)\n"
            "GPU 1: NVIDIA L40S (UUID: GPU-0002)\n",
        },
    ),
    "no space in /dev/shm, which is large": (
        "/dev/shm of the container is too small",
        "files left by dead jobs used up the inodes",
        {
            "job/job.log": N
            + "WARN Error while creating shared memory segment /dev/shm/nccl-AbCdEf (size 9637888), error: No "
            "space left on device (28)\n",
            "containers/gpu01/df.txt": "$ df -h /dev/shm\nFilesystem      Size  Used Avail Use% Mounted on\n"
            "tmpfs           512G  1.2G  511G   1% /dev/shm\n$ df -i /dev/shm\n"
            "Filesystem      Inodes   IUsed IFree IUse% Mounted on\ntmpfs          1048576 1048576   "
            "  0  100% /dev/shm\n"
            "$ ls /dev/shm | head -2\nnccl-00a1Bx\nnccl-00a9Qq\n",
        },
    ),
    "a daemon does not start, it is installed": (
        "orted is not in the PATH of the other host",
        "/tmp of the other host is full",
        {
            "job/job.log": "ORTE was unable to reliably start one or more daemons.\nThis usually is caused by:\n"
            "* not finding the required libraries and/or binaries on\n  one or more nodes. Please check your PATH and "
            "LD_LIBRARY_PATH\n  settings, or configure OMPI with --enable-orterun-prefix-by-default\n",
            "hosts/gpu01/ssh.txt": "$ ssh gpu02 'which orted; orted --version'\n/usr/bin/orted\norted (OpenRTE) 4.1.6\n"
            "$ orted --version\norted (OpenRTE) 4.1.6\n",
            "hosts/gpu02/df.txt": "$ df -h /tmp\nFilesystem      Size  Used Avail Use% Mounted on\n"
            "/dev/sda2        20G   20G     0 "
            "100% /tmp\n",
        },
    ),
    "pauses of weeks ago": (
        "PFC pauses hold the traffic back",
        "the NIC has 4 lanes of 16",
        {
            "job/job.log": "# Avg bus bandwidth    : 5.2\n",
            "hosts/gpu01/ethtool-1200.txt": "$ date; ethtool -S ens5f0np0 | grep prio3_pause\nTue "
            "Feb  3 12:00:00 UTC 2026\n"
            "     rx_prio3_pause: 918273645\n     tx_prio3_pause: 81726354\n",
            "hosts/gpu01/ethtool-1210.txt": "$ date; ethtool -S ens5f0np0 | grep prio3_pause\nTue "
            "Feb  3 12:10:00 UTC 2026\n"
            "     rx_prio3_pause: 918273645\n     tx_prio3_pause: 81726354\n",
            "hosts/gpu01/lspci.txt": "$ lspci -s 5e:00.0 -vv | grep Lnk\n\t\tLnkCap:\tPort #0, Speed "
            "32GT/s, Width x16\n"
            "\t\tLnkSta:\tSpeed 32GT/s, Width x4 (downgraded)\n",
        },
    ),
    "an MTU of 1500 on the way of ssh": (
        "MTU of the NIC",
        "the GPU is too hot and slows down",
        {
            "job/job.log": N + "INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eno1:192.0.2.11<0>\nstep 100 took 9.81 "
            "s, before 2.40 s\n",
            "hosts/gpu01/link.txt": "$ ip -o link\n2: eno1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP\n"
            "4: ens5f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 state UP\n$ ibdev2netdev\n"
            "mlx5_0 port 1 ==> ens5f0np0 (Up)\n"
            "$ ibv_devinfo -d mlx5_0 | grep mtu\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t4096 (5)\n",
            "hosts/gpu01/clocks.txt": "$ nvidia-smi -q -d PERFORMANCE\n    Clocks Event Reasons\n"
            "        HW Slowdown                       : Active\n            HW Thermal Slowdown           : Active\n"
            "            HW Power Brake Slowdown       : Not Active\n",
        },
    ),
    "a port without a link that nobody uses": (
        "a port of a NIC is down",
        "no route to the other host",
        {
            "job/job.log": N
            + "INFO NCCL_IB_HCA set to mlx5_0\n"
            + N
            + "INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eno1:192.0.2.11<0>\n"
            + N
            + "WARN socketStartConnect: Connect to 198.51.100.12<41235> failed : No route to host\n",
            "hosts/gpu01/ibstat.txt": "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tPhysical "
            "state: LinkUp\n\t\tRate: 400\n"
            "CA 'mlx5_1'\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Disabled\n\t\tRate: 40\n",
            "hosts/gpu01/route.txt": "$ ip route get 198.51.100.12\nRTNETLINK answers: No route to host\n",
        },
    ),
    "a wheel of another release that is not loaded": (
        "hosts use different releases of NCCL",
        "ranks ask for different sizes",
        {
            "hosts/gpu01/job.log": "gpu01:3100:3100 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
            "[rank0]:[E203 12:00:00 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=81, OpType=ALLREDUCE, NumelIn=262144, NumelOut=262144, Timeout(ms)=600000) ran for 600001 "
            "milliseconds before timing out.\n",
            "hosts/gpu02/job.log": "gpu02:3100:3100 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
            "[rank8]:[E203 12:00:00 ProcessGroupNCCL.cpp:616] [Rank 8] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=81, OpType=ALLREDUCE, NumelIn=131072, NumelOut=131072, Timeout(ms)=600000) ran for 600001 "
            "milliseconds before timing out.\n",
            "hosts/gpu02/pip.txt": "$ pip list | grep nccl\nnvidia-nccl-cu12   2.18.1\n$ python -c 'import torch; "
            "print(torch.cuda.nccl.version())'\n(2, 21, 5)\n",
        },
    ),
    "access control is on, the time goes to the data": (
        "ACS sends peer traffic through the root complex",
        "the loader of the data is slow",
        {
            "job/job.log": N
            + "INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
            + N
            + "INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n# Avg bus bandwidth    : 372.4\n"
            "iter 100 data_time 3.912 forward_time 0.101 backward_time 0.210 comm_time 0.031\n",
            "hosts/gpu01/lspci.txt": "$ lspci -s 17:01.0 -vv | grep ACSCtl\n\t\tACSCtl:\tSrcValid+ "
            "TransBlk- ReqRedir+ CmpltRedir+ "
            "UpstreamFwd+ EgressCtrl- DirectTrans-\n",
        },
    ),
    "no GPU is left in the cluster": (
        "the device plugin does not run",
        "another job has all GPUs",
        {
            "job/describe-pod.txt": "Events:\n  Warning  FailedScheduling  3m  default-scheduler  "
            "0/1 nodes are available: 1 "
            "Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption "
            "victims found for incoming pod.\n",
            "hosts/gpu01/describe-node.txt": "Allocatable:\n  nvidia.com/gpu:     8\nAllocated "
            "resources:\n  Resource  Requests  Limits\n"
            "  nvidia.com/gpu     8  8\n$ kubectl get pods -n gpu-operator\n"
            "nvidia-device-plugin-daemonset-7x2kq   1/1   Running   0   12d\n",
        },
    ),
    "killed, with memory enough": (
        "the kernel killed a process for memory",
        "the job's time was over",
        {
            "job/job.log": "slurmstepd: error: *** JOB 1234 ON gpu01 CANCELLED AT "
            "2026-02-03T12:00:00 DUE TO TIME LIMIT ***\n"
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED\n  "
            "exitcode  : -9 (pid: 3100)\n"
            "  traceback : Signal 9 (SIGKILL) received by PID 3100\n",
            "hosts/gpu01/memory.txt": "$ free -g\n               total        used        free\nMem: "
            "           2015         102        1890\n"
            "$ dmesg -T | grep -ci 'out of memory'\n0\n$ cat /sys/fs/cgroup/memory.events\noom 0\noom_kill 0\n",
        },
    ),
    "a region was invalid before the VM was changed": (
        "the 64-bit MMIO window of the VM is off or too small",
        "no GPU memory is left",
        {
            "job/job.log": DAY + "00:00 [rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried "
            "to allocate 2.00 GiB. "
            "GPU 0 has a total capacity of 79.11 GiB of which 1.10 GiB is free.\n",
            "hosts/gpu01/journal.txt": "Feb 01 09:00:01 gpu01 kernel: NVRM: This PCI I/O region "
            "assigned to your NVIDIA "
            "device is invalid:\nFeb 01 09:00:01 gpu01 kernel: NVRM: BAR1 is 0M @ 0x0 (PCI:0000:03:00.0)\n"
            "-- Boot 2c1d7c0e6f0a4f5e9d0a1b2c3d4e5f60 --\nFeb 01 10:00:01 gpu01 kernel: nvidia 0000:03:00.0: enabling "
            "device (0000 -> 0002)\n",
            "hosts/gpu01/nvidia-smi.txt": "$ nvidia-smi -L\nGPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0001)\n",
            "vms/gpu01/vmware.log": '2026-02-01T09:50:00Z In(05) vmx DICT                   firmware = "efi"\n'
            '2026-02-01T09:50:00Z In(05) vmx DICT   pciPassthru.use64bitMMIO = "TRUE"\n'
            '2026-02-01T09:50:00Z In(05) vmx DICT pciPassthru.64bitMMIOSizeGB = "512"\n',
        },
    ),
    "an ECC error of last week": (
        "memory errors of the GPU",
        "two ranks use one GPU",
        {
            "job/job.log": DAY
            + "00:00 "
            + N
            + "WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000\n",
            "hosts/gpu01/dmesg.txt": "[Tue Jan 27 04:00:00 2026] NVRM: Xid (PCI:0000:3b:00): 48, "
            "pid=900, An uncorrectable double "
            "bit error (DBE) has been detected on GPU in the framebuffer at partition 3, subpartition 0.\n"
            "[Tue Jan 27 04:10:00 2026] NVRM: Xid (PCI:0000:3b:00): 63, pid=900, Row Remapper: New "
            "row marked for remapping, "
            "reset gpu to activate.\n[Tue Jan 27 05:00:00 2026] nvidia 0000:3b:00.0: resetting\n",
            "hosts/gpu01/nvidia-smi-q.txt": "GPU 00000000:3B:00.0\n    ECC Errors\n        Volatile\n"
            "            DRAM Uncorrectable                    : 0\n    Remapped Rows\n        "
            "Correctable Error                 : 0\n"
            "        Uncorrectable Error               : 1\n        Pending                           : No\n"
            "        Remapping Failure Occurred        : No\n",
        },
    ),
    "a name that was unknown at first": (
        "a name of a host cannot be resolved",
        "no GPU memory is left",
        {
            "job/job.log": "[W socket.cpp:697] [c10d] The client socket has failed to connect to "
            "[gpu01]:29500 (errno: -2 - Name or "
            "service not known). Retrying.\n[I socket.cpp:884] [c10d] The client socket has "
            "connected to [gpu01]:29500 on "
            "[gpu02]:51234.\n[rank8]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
            "2.00 GiB. GPU 0 has a total "
            "capacity of 79.11 GiB of which 1.10 GiB is free.\n",
            "hosts/gpu02/dns.txt": "$ getent hosts gpu01\n192.0.2.11      gpu01\n",
        },
    ),
}

NETWORK = (
    "gid_wrong",
    "link_faulty",
    "no_path_between_nics",
    "nic_qos_differs",
    "mtu_differs",
    "switch_pfc",
    "firewall",
)
REFUTED: dict[str, tuple[str, ...]] = {
    "no memory to register, locking is unlimited": ("container_memlock", "memlock_host", "limits_host"),
    "retries are used up, large packets pass": ("mtu_differs", "switch_mtu"),
    "peer memory is not loaded, DMA-BUF is in use": ("peermem_missing", "peermem_abi", "gdr_broken"),
    "connecting times out, the port is open": ("firewall",),
    "retries are used up after a rank died": NETWORK,
    "MMU fault, whatever the program": ("app_illegal_access",),
    "driver and library differ, but not on the host": ("nvml_mismatch", "driver_not_running"),
    "Fabric Manager fails where no switch is": ("fabric_manager",),
    "no space in /dev/shm, which is large": ("container_shm",),
    "a daemon does not start, it is installed": ("launch_failed",),
    "pauses of weeks ago": ("switch_pfc", "nic_qos_differs", "host_slow_receiver"),
    "an MTU of 1500 on the way of ssh": ("mtu_differs", "switch_mtu"),
    "a port without a link that nobody uses": ("link_faulty", "switch_port_off", "fabric_link"),
    "a wheel of another release that is not loaded": ("nccl_mixed",),
    "access control is on, the time goes to the data": ("acs_redirects",),
    "no GPU is left in the cluster": ("container_no_gpu", "driver_not_running", "container_down"),
    "killed, with memory enough": ("app_host_memory", "container_memory", "limits_host", "memory_reservation"),
    "a region was invalid before the VM was changed": ("mmio_window",),
    "an ECC error of last week": ("gpu_fault", "gpu_error_contained"),
    "a name that was unknown at first": ("name_resolution",),
}
CONTRARY = {name: (REFUTED[name], pieces) for name, (_refuted, _right, pieces) in STORIES.items()}
