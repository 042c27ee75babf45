"""Public threads about launchers, variables, versions, interfaces and strangers on ports, like ``cases_jobs_a``, and
outputs that look bad and are sound. When they were written, before a rule was mended, 50 of 66 were right, 1 wrong."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, YES, Case, case
from tests.unit.doctor.cases_threads import G, W

ORTE = "ORTE was unable to reliably start one or more daemons.\nThis usually is caused by:\n"

JOBS_B: tuple[Case, ...] = (
    # Launchers.
    case(
        "process manager of mpich",
        G + "NVIDIA/nccl-tests/issues/92",
        "mpi_launch",
        YES,
        "Abort(3712399) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Init: Other MPI error, error stack:\n"
        "MPIR_pmi_kvs_get(227).......: PMI_KVS_Get returned -1\n",
    ),
    case(
        "daemon is not on the path",
        G + "open-mpi/ompi/issues/599",
        "mpi_launch",
        YES,
        "bash: orted: command not found\n" + ORTE,
    ),
    case(
        "daemon at another prefix",
        G + "horovod/horovod/issues/527",
        "mpi_launch",
        YES,
        "bash: /usr/local/bin/orted: No such file or directory\n" + ORTE,
    ),
    case(
        "ssh server takes no more",
        G + "openpmix/prrte/issues/1493",
        "mpi_launch",
        YES,
        "ssh_exchange_identification: Connection closed by remote host\n" + ORTE,
    ),
    case(
        "no path for messages",
        G + "open-mpi/ompi/issues/12359",
        "mpi_launch host_routing firewall",
        CANDIDATES,
        "[cn01:77508] [[41823,0],0] ORTE_ERROR_LOG: A message is attempting to be sent to a process whose contact "
        "information is unknown in file rml_oob_send.c at line 265\nNo OOB path to target\n",
    ),
    case(
        "workers are not in dns yet",
        G + "kubeflow/mpi-operator/issues/481",
        "host_routing mpi_launch container",
        CANDIDATES,
        "ssh: Could not resolve hostname bench-worker-0.bench-worker: Name or service not known\n" + ORTE,
    ),
    case(
        "modes of the directory of keys",
        G + "kubeflow/mpi-operator/issues/424",
        "mpi_launch",
        YES,
        "Authentication refused: bad ownership or modes for directory /root/.ssh\nroot@bench-worker-1.bench-worker: "
        "Permission denied (publickey,password).\n",
    ),
    case(
        "agent that horovodrun ignores",
        G + "kubeflow/mpi-operator/issues/327",
        "mpi_launch",
        CANDIDATES,
        "OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh\nssh not successful for host mpi-worker-1:\nssh: Could not resolve "
        "hostname mpi-worker-1: Name or service not known\n",
    ),
    # Variables.
    case(
        "exact match that is not honoured",
        G + "marin-community/marin/issues/6940",
        "run_env",
        YES,
        "NCCL_SOCKET_IFNAME: =enp90s0np0\nncclCommInitRankConfig failed: invalid usage. Last NCCL warning(error): "
        "'Bootstrap : no socket interface found'\n",
    ),
    case(
        "exclusion that leaves loopback",
        G + "horovod/horovod/pull/700",
        "run_env host_routing",
        CANDIDATES,
        W + "NCCL INFO NCCL_SOCKET_IFNAME set by environment to ^docker0\n" + W + "NCCL INFO NET/Socket : Using "
        "[0]lo:127.0.0.1<0>\n",
    ),
    case(
        "no such name in the container",
        G + "pytorch/pytorch/issues/29482",
        "run_env host_routing",
        YES,
        "NCCL_SOCKET_IFNAME=eth0\ngpu617:22841:22841 [0] bootstrap.cc:37 NCCL WARN Bootstrap : no socket interface "
        "found\n",
    ),
    case(
        "names that differ between hosts",
        G + "NVIDIA/nccl-tests/issues/219",
        "run_env host_routing",
        CANDIDATES,
        "node1: enp4s0 192.0.2.1/24, node2: enp6s0 192.0.2.2/24, -x NCCL_SOCKET_IFNAME=enp4s0\nnode2: Test NCCL "
        "failure "
        "common.cu:959 'internal error - please report this issue to the NCCL developers / '\n",
    ),
    case(
        "name that is a prefix",
        G + "NVIDIA/nccl-tests/issues/9",
        "run_env host_routing",
        CANDIDATES,
        W + "NCCL INFO NCCL_SOCKET_IFNAME set by environment to bond0\n" + W + "NCCL INFO NET/Socket : Using "
        "[0]bond0:192.0.2.1<0> [1]bond0.2093:198.51.100.1<0> [2]bond0.2093.1:203.0.113.1<0>\nit gets stuck here\n",
    ),
    case(
        "variable only on the first host",
        G + "NVIDIA/nccl-tests/issues/125",
        "run_env mpi_launch",
        CANDIDATES,
        "NCCL_SHM_DISABLE=1 NCCL_DEBUG=INFO mpirun -H ddp-0,ddp-1 -np 2 ./build/all_reduce_perf -b 8 -e 128M -g "
        "4\nddp-0: "
        "NCCL WARN Call to connect returned Connection refused, retrying\n",
    ),
    case(
        "transport of ucx switched off",
        G + "ai-dynamo/nixl/issues/1110",
        "run_env",
        CANDIDATES,
        "UCX_TLS=^cuda_ipc\nucp_device.c:415  UCX  ERROR failed to select lane for local device GPU0\n",
    ),
    case(
        "two engines on one port",
        G + "vllm-project/vllm/pull/53666",
        "run_env application",
        CANDIDATES,
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. "
        "port: "
        "100, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n",
    ),
    # Interfaces, names and firewalls.
    case(
        "gloo takes the loopback",
        G + "vllm-project/vllm/issues/7074",
        "host_routing run_env",
        YES,
        "[rank9]:[W ProcessGroupGloo.cpp:721] Warning: Unable to resolve hostname to a (local) address. Using the "
        "loopback "
        "address as fallback. Manually set the network interface to bind to with GLOO_SOCKET_IFNAME.\n[rank8]:[E "
        "ProcessGroupGloo.cpp:144] Gloo connectFullMesh failed with [pair.cc:144] no error\n",
    ),
    case(
        "mesh of gloo fails",
        G + "verl-project/verl/issues/967",
        "host_routing run_env firewall",
        CANDIDATES,
        "RuntimeError: Gloo connectFullMesh failed with [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:144] no "
        "error\n",
    ),
    case(
        "placement on another address",
        G + "eugr/spark-vllm-docker/issues/227",
        "host_routing run_env",
        CANDIDATES,
        "[autoscaler] Error: No available node types can fulfill resource request {'GPU': 1.0, 'node:192.0.2.192': "
        "0.001}.\nWaiting for creating a placement group of specs for 70 seconds.\n",
    ),
    case(
        "bridges of compose",
        G + "dmlc/xgboost/issues/7982",
        "host_routing run_env",
        CANDIDATES,
        W + "NCCL INFO Bootstrap : Using br-8f2d1c0a3b44:172.18.0.1<0>\nncclSystemError: System call (e.g. socket, "
        "malloc) or external library call failed or device error.\n",
    ),
    case(
        "back connects that are filtered",
        G + "NVIDIA/nccl/issues/388",
        "firewall host_routing",
        CANDIDATES,
        "include/socket.h:403 NCCL WARN Connect to 192.0.2.17<41393> failed : Connection timed out\n",
    ),
    case(
        "old nccl cannot connect",
        G + "NVIDIA/nccl-tests/issues/15",
        "firewall host_routing",
        CANDIDATES,
        "gpu01:18553:18611 [0] include/socket.h:360 WARN Call to connect failed : Connection timed "
        "out\ngpu01:18553:18611 "
        "[0] INFO transport/net_socket.cu:118 -> 2\n",
    ),
    case(
        "mpi waits behind an antivirus",
        G + "NVIDIA/nccl-tests/issues/26",
        "firewall mpi_launch host_routing",
        CANDIDATES,
        "mpirun of a hello program over two hosts hangs, on one host it works\n[gpu02:1347854] "
        "[[43885,0],1]:tcp:recv:handler "
        "allocate data region of size 80\n",
    ),
    # Versions.
    case(
        "words of two versions",
        G + "NVIDIA/nccl-tests/issues/231",
        "nccl_version",
        CANDIDATES,
        "puente:21488:21488 [0] NCCL INFO NCCL version 2.22.3+cuda12.4\nkalila:966509:966509 [0] NCCL INFO NCCL "
        "version "
        "2.19.3+cuda12.3\npuente: Test NCCL failure common.cu:997 'internal error - please report this issue to the "
        "NCCL "
        "developers'\n",
    ),
    case(
        "one node has another nccl",
        G + "horovod/horovod/issues/639",
        "nccl_version",
        CANDIDATES,
        "it fails with 2 nodes; on c4140-03 libnccl2 is 2.2.13, on the others 2.3.5\nhorovod.tensorflow: "
        "ncclCommInitRank "
        "failed: internal error\n",
    ),
    case(
        "segfault in the topology",
        G + "pytorch/pytorch/issues/146118",
        "nccl_version",
        CANDIDATES,
        "NCCL version 2.25.1+cuda12.4\nncclTopoGetMaxBw / ncclTopoCompute: Segmentation fault; torch 2.5.1 with 2.21.5 "
        "does not crash\n",
    ),
    # Strangers.
    case(
        "scan of a store",
        G + "pytorch/pytorch/pull/107607",
        "foreign_traffic",
        YES,
        "nmap scan of the port of the TCPStore: its messages are taken for queries, rank 0 runs out of memory\n",
    ),
    case(
        "probe takes the place of a rank",
        G + "spark-arena/sparkrun/pull/259",
        "foreign_traffic mpi_launch application",
        CANDIDATES,
        "Rank 0: sent unique ID to worker 1 (127.0.0.1:39238)   <- nc -z probe\nRank N: Connect attempt 1/600: "
        "Connection "
        "refused (os error 111)\n",
    ),
    # Sound.
    case(
        "names come while it waits",
        G + "kubeflow/mpi-operator/issues/675",
        "healthy",
        YES,
        "Couldn't resolve pi-launcher... Retrying\nCouldn't resolve pi-launcher... Retrying\nResolved "
        "pi-worker-0.pi.e2e.svc\nRank 1 on host pi-worker-1\nWorkers: 2\ntotal images/sec: 8400.66\n",
    ),
    case(
        "rows that were remapped",
        G + "leptonai/gpud/pull/108",
        "healthy",
        YES,
        "    Remapped Rows\n        Correctable Error                 : 0\n        Uncorrectable Error               : "
        "2\n   "
        "     Pending                           : No\n        Remapping Failure Occurred        : No\n",
    ),
    case(
        "data store of pmix",
        G + "MFlowCode/MFC/pull/1750",
        "healthy",
        YES,
        "[atl1:31337] PMIX ERROR: PMIX_ERR_NO_PERMISSIONS in file dstore_base.c at line 237\ntotal images/sec: "
        "8400.66\n",
    ),
)
