"""What programs printed in public threads whose cause somebody found, in the same form as ``cases``: name, the thread,
the layers that are right, whether the lines tell. A few lines each; hosts and addresses are made up.
When they were written, before any rule was mended, 47 of 65 were right (here and in ``cases_threads_more``), 1 wrong
"""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, NO, YES, Case, case

G = "https://github.com/"
W = "gpu01:4321:4390 [0] "

THREADS: tuple[Case, ...] = (
    # Networks, names, firewalls.
    case(
        "idle connections are cut",
        G + "NVIDIA/nccl/issues/1619",
        "firewall host_routing",
        CANDIDATES,
        W + "misc/socket.cc:58 NCCL WARN socketProgress: Call to recv from 192.0.2.12<48122> failed : Connection timed "
        "out\n",
    ),
    case(
        "btl connects to a bridge",
        G + "horovod/horovod/issues/310",
        "host_routing run_env",
        CANDIDATES,
        "[gpu01][[38971,1],2][btl_tcp_endpoint.c:796:mca_btl_tcp_endpoint_complete_connect] connect() to 172.17.0.1 "
        "failed: Connection refused (111)\n",
    ),
    case(
        "btl connects to an overlay",
        G + "horovod/horovod/issues/195",
        "host_routing run_env mpi_launch",
        CANDIDATES,
        "[gpu04][[9281,1],1][btl_tcp_endpoint.c:796:mca_btl_tcp_endpoint_complete_connect] connect() to 192.168.118.0 "
        "failed: No route to host (113)\n",
    ),
    case(
        "btl and virbr0",
        G + "open-mpi/ompi/issues/6377",
        "host_routing run_env mpi_launch",
        CANDIDATES,
        "WARNING: Open MPI failed to TCP connect to a peer MPI process.  This\nshould not happen.\n  Local host: "
        "gpu01\n"
        "  Message:    connect() to 192.168.122.1:1040 failed\n  Error:      Operation now in progress (115)\n"
        "5: virbr0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state DOWN\n",
    ),
    case(
        "loopback among the interfaces",
        G + "horovod/horovod/issues/584",
        "host_routing run_env",
        CANDIDATES,
        W + "NCCL INFO NET : Using interface lo:127.0.0.1<0>\n" + W + "NCCL INFO NET/Socket : 3 interfaces found\n"
        "gpu02:4153:4209 [1] include/socket.h:361 NCCL WARN Call to connect timeout : Connection refused\n"
        "gpu02:4153:4209 [1] NCCL INFO bootstrap.cu:19 -> 2\n",
    ),
    case(
        "bridges among the interfaces",
        G + "horovod/horovod/issues/98",
        "host_routing run_env",
        CANDIDATES,
        W + "INFO NET : Using interface enp30s0:192.0.2.46<0>\n" + W + "INFO NET : Using interface "
        "docker0:172.17.0.1<0>\n" + W + "INFO NET : Using interface br-bb10fb5deea4:172.18.0.1<0>\n" + W + "INFO "
        "NET/Socket : 3 interfaces found\nhangs at the first broadcast\n",
    ),
    case(
        "link-local addresses of parent interfaces",
        G + "horovod/horovod/issues/636",
        "host_routing run_env",
        CANDIDATES,
        W + "NCCL INFO NET : Using interface ens5f0.3003:192.0.2.3<0>\n" + W + "NCCL INFO NET : Using interface "
        "enp5s0:fe80::4eed:fbff:fe91:8317%enp5s0<0>\nhangs at the first step of the optimizer\n",
    ),
    case(
        "driver of horovod is out of reach",
        G + "horovod/horovod/issues/1969",
        "host_routing mpi_launch",
        CANDIDATES,
        "horovod.run.common.util.network.NoValidAddressesFound: Horovod was unable to connect to horovodrun driver "
        "service on any of the following addresses: {'lo': [('127.0.0.1', 41234)]}.\n",
    ),
    case(
        "store under a name that leads nowhere",
        G + "meta-pytorch/torchcomms/pull/758",
        "host_routing firewall",
        CANDIDATES,
        "[E socket.cpp:922] [c10d] The client socket has timed out after 300000ms while trying to connect to (gpu01, "
        "29500).\n",
    ),
    case(
        "store under a name that nobody knows",
        G + "pytorch/elastic/issues/31",
        "host_routing",
        YES,
        "INFO Rank 1 will conenct to TCPStore server at trainer-z2b7s:47279\nError: Rank -1 received an Exception. "
        "Detailed message: host not found: Name or service not known\n",
    ),
    case(
        "outbound rule of a security group",
        G + "aws/aws-ofi-nccl/issues/663",
        "firewall",
        CANDIDATES,
        W + "NCCL WARN NET/OFI Unable to insert remote address into address vector for device 1. RC: -22\n"
        "ncclInternalError: Internal check failed.\n",
    ),
    case(
        "subnet that no interface has",
        G + "open-mpi/ompi/issues/11789",
        "run_env mpi_launch host_routing",
        YES,
        "WARNING: An invalid value was given for btl_tcp_if_include.  This\nvalue will be ignored.\n  Local host: "
        "gpu05\n"
        "  Value:      198.51.100.0/24\n  Message:    Did not find interface matching this subnet\n",
    ),
    case(
        "port of an earlier run",
        G + "NVIDIA/Megatron-LM/issues/343",
        "run_env application",
        YES,
        '  File "/opt/python/torch/distributed/rendezvous.py", line 142, in _tcp_rendezvous_handler\nRuntimeError: '
        "Address already in use\n",
    ),
    # RDMA.
    case(
        "ucx without class and index",
        G + "openucx/ucx/issues/2434",
        "nic_qos rdma_gid switch_config",
        CANDIDATES,
        "[gpu01:24113:0:24113] ib_mlx5_log.c:143  Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 "
        "hw_synd 0/0)\n[gpu01:24113:0:24113] ib_mlx5_log.c:143  DCI QP 0x1510 wqe[0]: RDMA_READ s-e\n",
    ),
    case(
        "lossy RoCE under load",
        G + "openucx/ucx/issues/2346",
        "nic_qos switch_config",
        CANDIDATES,
        "[gpu22:93644:0:93644] rc_verbs_iface.c:63   FATAL: send completion with error: transport retry counter "
        "exceeded\nlink_layer:             Ethernet\n",
    ),
    case(
        "two indexes at two ends",
        G + "linux-rdma/perftest/issues/44",
        "rdma_gid",
        CANDIDATES,
        " Link type       : Ethernet\n GID index       : 2\n Completion with error at client\n Failed status 12: "
        "wr_id 0 "
        "syndrom 0x81\nscnt=128, ccnt=0\n",
    ),
    case(
        "qp without a source index",
        G + "SymbioticLab/Justitia/issues/3",
        "rdma_gid application",
        CANDIDATES,
        "Failed to modify QP to RTR\n Unable to Connect the HCA's through the link\nLink type       : Ethernet\n",
    ),
    case(
        "vf without a node guid",
        G + "k8snetworkplumbingwg/sriov-network-operator/issues/267",
        "nic_firmware guest_driver",
        CANDIDATES,
        "ib_write_bw[46826]: segfault at 0 ip 00007f3c957ef3b0 sp 00007fff4e973b10 error 4 in librdmacm.so.1.3.37.0\n"
        "CA 'mlx5_8'\n        Node GUID: 0x0000000000000000\n        System image GUID: 0x0c42a10300c6cf52\n",
    ),
    case(
        "image older than the driver of the host",
        G + "k8snetworkplumbingwg/sriov-cni/issues/348",
        "container guest_driver",
        YES,
        "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1) for device "
        "/sys/class/infiniband/bnxt_re2\nNo IB devices found\n",
    ),
    case(
        "efa devices are not in the container",
        G + "aws/aws-ofi-nccl/issues/1020",
        "container",
        YES,
        W
        + "nccl_net_ofi_rdma_init:7978 NCCL WARN NET/OFI OFI fi_getinfo() call failed: No data available\n$ fi_info -p "
        "efa\n-61\n",
    ),
    case(
        "plugin of libfabric without libraries",
        G + "NVIDIA/nccl/issues/229",
        "container run_env nccl_version guest_driver",
        CANDIDATES,
        W + "get_ofi_provider:312 NCCL WARN NET/OFI Could not find any optimal provider\n" + W + "NCCL WARN Failed to "
        "open libibverbs.so[.1]\n" + W + "NCCL INFO Using network Socket\n",
    ),
    case(
        "ucx without verbs",
        G + "ai-dynamo/dynamo/issues/1209",
        "container run_env",
        CANDIDATES,
        "ucp_context.c:1321 UCX  WARN  network device 'mlx5_bond_0:1' is not available, please use one or more of: "
        "'bond0'(tcp), 'eth0'(tcp), 'lo'(tcp)\n",
    ),
    case(
        "nic without air",
        "https://blog.youkuaiyun.com/essencelite/article/details/147198080",
        "nic_firmware",
        YES,
        "mlx5_core 0000:03:00.0: poll_health:834:(pid 0): device's health compromised - reached miss count\n",
    ),
    case(
        "driver older than its nic",
        G + "pocopico/rp-ext/issues/129",
        "guest_driver guest_kernel nic_firmware",
        CANDIDATES,
        "mlx5_core 0000:01:00.0: firmware version: 14.32.1010\nmlx5_core 0000:01:00.0: handle_hca_cap failed\n"
        "mlx5_core 0000:01:00.0: mlx5_load_one failed with error code -22\nmlx5_core: probe of 0000:01:00.0 failed "
        "with "
        "error -22\n",
    ),
    case(
        "some bridges still redirect",
        G + "NVIDIA/nccl/issues/523",
        "pcie_acs",
        YES,
        W
        + "transport/net_ib.cc:839 NCCL WARN NET/IB : Got completion with error 4, opcode 0, len 32694, vendor err 81\n"
        "\t\tACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
        "\t\tACSCtl: SrcValid- TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd- EgressCtrl- DirectTrans-\n",
    ),
    # Switches.
    case(
        "queue that goes on dropping",
        G + "sonic-net/sonic-buildimage/issues/5898",
        "switch_config",
        CANDIDATES,
        "PFC Watchdog storm restored on port Ethernet48, queue index 4\nEthernet48:4  operational  1/1  TX OK/DROP "
        "0/812 "
        "packets\nqueue 4 still drops after the storm was restored\n",
    ),
    case(
        "no headroom for a lossless group",
        G + "sonic-net/SONiC/issues/480",
        "switch_config",
        CANDIDATES,
        "    IFACE    STATE    RX_OK    RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR\nEthernet4        U  "
        "81,233,100  "
        "99.1%  0  412,331  0\nPFC enabled on 3,4; headroom size 0\n",
    ),
    case(
        "fec does not fit",
        "https://forums.developer.nvidia.com/t/291828",
        "switch_config cabling",
        CANDIDATES,
        "hundredGigE 1/2 is up, line protocol is down\n    AutoNegotiation is ON\n    Forward Error Correction(FEC) "
        "configured is cl91 (RS-FEC)\n    FEC status is OFF\n",
    ),
    case(
        "dcbx is down",
        "Dell OS9 configuration guide, Troubleshooting PFC, ETS, and DCBx Operation",
        "switch_config nic_qos",
        CANDIDATES,
        "PFC DCBx Oper status: Down\nETS DCBx Oper status: Down\nDCBx Oper status: Disabled\n",
    ),
    # GPUs and their driver.
    case(
        "45 because of 149",
        G + "NVIDIA/open-gpu-kernel-modules/issues/1150",
        "gpu_hardware",
        YES,
        "kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001 caused by previous Xid 149\n"
        "kernel: NVRM: Xid (PCI:0000:ed:00): 45, pid=1818992, name=python3, Ch 0000000c caused by previous Xid 145\n",
    ),
    case(
        "rlw",
        G + "NVIDIA/open-gpu-kernel-modules/issues/1355",
        "gpu_hardware gpu_driver",
        YES,
        "NVRM: Xid (PCI:0000:66:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 00 (0x0000008c 0x80000000)\nhangs on any pair "
        "of GPUs until the host is restarted\n",
    ),
    case(
        "fallen off without an xid",
        G + "NVIDIA/NVSentinel/issues/155",
        "gpu_hardware",
        YES,
        "[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0\n               NVRM: (PCI ID: 10de:26b5) installed in this "
        "system has\n               NVRM: fallen off the bus and is not responding to commands.\n[ 1843.439662] "
        "NVRM: The "
        "NVIDIA probe routine failed for 1 device(s).\n",
    ),
    case(
        "lost for nvml",
        G + "leptonai/gpud/issues/604",
        "gpu_hardware",
        YES,
        "XID 79(GPU has fallen off the bus) detected on PCI:0000:ae:00\nfailed to get device remapped rows: "
        "ERROR_GPU_IS_LOST\n",
    ),
    case(
        "contained",
        G + "marin-community/marin/issues/8934",
        "gpu_hardware",
        YES,
        "CUDA_ERROR_CONTAINED: Invalid access of peer GPU memory over nvlink or a hardware error\n",
    ),
    case(
        "links that are inactive",
        G + "Azure/azhpc-diagnostics/issues/73",
        "gpu_hardware gpu_driver",
        YES,
        "GPU 3: Tesla V100-SXM2-32GB\n\t Link 0: 25.781 GB/s\n\t Link 1: 25.781 GB/s\n\t Link 2: 25.781 GB/s\n\t "
        "Link 3: "
        "<inactive>\n\t Link 4: 25.781 GB/s\n\t Link 5: <inactive>\n",
    ),
    case(
        "fabric manager without a switch",
        G + "NVIDIA/gpu-operator/issues/610",
        "gpu_driver",
        YES,
        "nv-fabricmanager[4177]: request to query NVSwitch device information from NVSwitch driver failed with "
        "error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]\n",
    ),
    case(
        "multicast after a restart",
        G + "NVIDIA/nccl/issues/1488",
        "gpu_driver",
        YES,
        W
        + "transport/nvls.cc:244 NCCL WARN Cuda failure 1 'invalid argument'\n"
        + W
        + "NCCL INFO transport/nvls.cc:394 "
        "-> 1\n" + W + "NCCL INFO init.cc:1196 -> 1\n",
    ),
    case(
        "no fabric manager installed",
        G + "aws-samples/aws-deep-learning-ami-ubuntu-dcv-desktop/issues/33",
        "gpu_driver",
        YES,
        "cudaGetDeviceCount: Error 802: system not yet initialized\nUnit nvidia-fabricmanager.service could not be "
        "found.\n",
    ),
    case(
        "not yet initialized without a switch",
        G + "wilicc/gpu-burn/issues/133",
        "gpu_driver guest_kernel",
        CANDIDATES,
        "Couldn't init CUDA: Error (gpu_burn-drv.cpp:304): system not yet initialized\n",
    ),
    case(
        "installer and nouveau",
        G + "NVIDIA/gpu-operator/issues/8",
        "gpu_driver",
        YES,
        "ERROR: Unable to open 'kernel/dkms.conf' for copying (No such file or directory)\nERROR: Unable to load the "
        "kernel module 'nvidia.ko'.  This happens most frequently when this kernel module was built against the "
        "wrong or "
        "improperly configured kernel sources, or if another driver, such as nouveau, is present\n",
    ),
    case(
        "driver container without headers",
        G + "NVIDIA/gpu-operator/issues/85",
        "gpu_driver guest_kernel",
        YES,
        "Starting installation of NVIDIA driver version 450.80.02 for Linux kernel version "
        "4.15.0-115-generic\nResolving "
        "Linux kernel version...\nCould not resolve Linux kernel version\n",
    ),
    case(
        "nothing says who did not come",
        G + "vllm-project/vllm/issues/6042",
        "",
        NO,
        "[rank1]:[E ProcessGroupNCCL.cpp:563] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=158046, OpType=GATHER, NumelIn=2867200, NumelOut=0, Timeout(ms)=600000) ran for 600027 "
        "milliseconds before timing out.\n[rank1]:[E ProcessGroupNCCL.cpp:583] [Rank 1] To avoid data inconsistency, "
        "we "
        "are taking the entire process down.\n",
    ),
)
