"""Rules one by one: what is no longer healthy, what is named first, what must not be said. Lines of our own making."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose, evidence_texts

from tests.unit.decisions import decide
from tests.unit.doctor.silent_failures import SOUND_JOBS

GOOD = "gpu01:1:1 [0] NCCL INFO Connected all rings\n"
SOUND_JOB = "\n".join(SOUND_JOBS["two hosts"])


def ask(*lines: str) -> dict[str, Any]:
    return diagnose(None, {"job.log": "\n".join(lines) + "\n"})


def causes(found: dict[str, Any]) -> list[str]:
    return [finding["cause"] for finding in found["findings"]]


LSPCI = (
    "3b:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n"
    "\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+\n"
    "\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n"
    "\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0, Latency L0s unlimited, L1 <64us\n"
    "\t\t\tExtTag+ AttnBtn- AttnInd- PwrInd- RBE+ FLReset+ SlotPowerLimit 0W\n"
    "\t\tDevCtl:\tCorrErr- NonFatalErr+ FatalErr+ UnsupReq-\n"
    "\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-\n"
    "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
    "\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk-\n"
    "\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)\n"
    "\t\t\t EmergencyPowerReduction Not Supported, EmergencyPowerReductionInit-\n"
    "\t\tDevCtl2: Completion Timeout: 50us to 50ms, TimeoutDis- LTR- OBFF Disabled,\n"
    "\t\tLnkCap2: Supported Link Speeds: 2.5-32GT/s, Crosslink- Retimer+ 2Retimers+ DRS-\n"
    "\t\t\t Retimer- 2Retimers- CrosslinkRes: unsupported\n"
    "\tCapabilities: [1b8 v1] Advanced Error Reporting\n"
    "\t\tCESta:\tRxErr- BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr-\n"
    "\t\tCEMsk:\tRxErr- BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr+\n"
    "\t\tAERCap:\tFirst Error Pointer: 00, ECRCGenCap- ECRCGenEn- ECRCChkCap+ ECRCChkEn-\n"
    "\t\tATSCtl:\tEnable-, Smallest Translation Unit: 00\n"
    "\tKernel driver in use: nvidia\n"
)

NOT_HEALTHY = (
    "btl_openib_component.c:3644:handle_wc from gpu01 to: gpu02 error polling LP CQ with status RETRY EXCEEDED ERROR",
    "btl_openib_component.c:3644:handle_wc from gpu01 to: gpu02 with status REMOTE ACCESS ERROR status number 10",
    "systemd[1]: Stopping NVIDIA fabric manager",
    "We see lower performance across two nodes",
    "Read -1, expected 4096, errno = 14",
    "2 more processes have sent help message help-mpi-runtime.txt / mpi_init:startup:internal-failure",
    GOOD + "pod worker-1: fatal: the widget exploded",
    GOOD + "widget: 3 timeouts",
    "gpu01:1:1 [0] NCCL INFO init.cc:1501 -> 2",
    "gpu01:1:1 [0] NCCL INFO transport/nvls.cc: NVLS group could not be bound, error 0",
    "Filesystem Size Used Avail Use% Mounted on\nshm 64M 0 64M 0% /dev/shm",
    "PFC configuration:\n  enabled     0   0   0   0   0   0   0   0",
    "# Avg bus bandwidth    : 0.31",
    "GPU0 X SYS\nNIC0 SYS X",
    "UCX WARN network device 'mlx5_9:1' is not available, please use one or more of: 'mlx5_0:1'",
    "ucp_context.c:1321 UCX  WARN  transport 'ud' is not available, please use one or more of: tcp",
    "UCX  WARN  something that nobody knows",
    GOOD + "gpu01:1:1 [0] NCCL INFO NET/Socket : Using [0]ens192:192.0.2.11<0>",
    "gpu01:1:1 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to lo",
    "Unable to find hostfile, will proceed with training with local resources only.",
    "         8     2     float     sum      -1    20.1    0.0    0.0      3    19.9    0.0    0.0     #wrong 3",
)


@pytest.mark.parametrize("text", NOT_HEALTHY)
def test_trouble_beside_good_words_is_never_healthy(text: str) -> None:
    assert ask(text)["verdict"] != "healthy"


FIRST = (
    ("gid_wrong", "handle_wc from gpu01: error polling LP CQ with status RETRY EXCEEDED ERROR status number 12"),
    ("peer_process_gone", "handle_wc from gpu01: RECEIVER NOT READY RETRY EXCEEDED ERROR status number 13 for wr_id 1"),
    ("container_shm", "Filesystem Size Used Avail Use% Mounted on\nshm 64M 0 64M 0% /dev/shm"),
    ("nic_qos_differs", "PFC configuration:\n  enabled     0   0   0   0   0   0   0   0"),
    ("mtu_differs", "mtu is 9000 on gpu01 but 1500 on gpu02"),
    ("memlock_host", "docker run --ulimit memlock=67108864:67108864 image"),
    ("memlock_host", "Max locked memory         65536                65536                bytes"),
    ("gpu_pcie_degraded", "CESta: RxErr- BadTLP+ BadDLLP- Rollover- Timeout- AdvNonFatalErr-"),
    ("driver_not_running", "Error! Bad return status. Consult /var/lib/dkms/nvidia/550.54/build/make.log"),
    ("driver_not_running", "dkms: nvidia/550.54 build failed"),
    ("guest_ofed_mismatch", "dkms: build failed for mlnx-ofed-kernel/24.04"),
    ("peermem_missing", "gpu01:1:1 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"),
    ("gdr_distance", "NCCL INFO GPU Direct RDMA Disabled for GPU 1000 / HCA 0 (distance 7 > 4)"),
    ("vars_wrong", "gpu01:1:1 [0] NCCL WARN Error: network AWS Libfabric not found."),
    ("container_devices", "NCCL WARN NET/OFI Could not find any optimal provider supporting GPUDirect RDMA"),
    ("container_devices", "NET/OFI fi_getinfo failed: No data available"),
    ("more_ranks_than_gpus", "RuntimeError: CUDA error: invalid device ordinal"),
    ("cuda_arch_not_built", "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
    ("peer_access_missing", "NCCL WARN Cuda failure 217 'peer access is not supported between these two devices'"),
    ("nccl_bug", "export NCCL_CUMEM_ENABLE=0 and the error is gone"),
    ("fabric_manager", "It works if we set NCCL_NVLS_ENABLE=0"),
    ("container_devices", "NCCL WARN Cuda failure: cuMemImportFromShareableHandle: operation not permitted"),
    ("container_no_gpu", "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory"),
    ("container_libraries", "ImportError: libcudart.so.12: cannot open shared object file"),
    ("ib_subnet", "mlx5_0: unable to find pkey 0x8001 in the table"),
    ("ranks_not_started", "Timed out after 301 seconds waiting for clients. 2/4 clients joined."),
    ("firewall", "container istio-proxy started\nNCCL WARN Connection closed by remote peer"),
    ("nic_qos_differs", "np_ecn_marked_roce_packets: 812345"),
    ("vars_wrong", "sharp_coll_init failed: Cannot connect to the daemon"),
    ("wrong_interface", "NCCL WARN Socket creation failed : Address family not supported by protocol"),
    ("link_faulty", "Speed: 25000Mb/s\nexpected 100000Mb/s"),
    ("storage_server_silent", "nfs: server store01 not responding, still trying"),
    (
        "ranks_not_started",
        "NCCL INFO Bootstrap : Using eth0\nNCCL INFO Call to connect returned Connection refused, retrying",
    ),
    ("nccl_call_failed", "gpu01:1:1 [0] NCCL INFO init.cc:1501 -> 2"),
    ("gid_sparse", "gpu01:1:1 [0] NCCL INFO transport/net_ib.cc:282 -> 2"),
    ("wrong_interface", "gpu01:1:1 [0] NCCL INFO misc/socket.cc:567 -> 2"),
    ("wrong_interface", "NCCL WARN socketStartConnect: Connect to a<1> failed : Software caused connection abort"),
    ("ranks_not_started", "NCCL INFO socketPollConnect: connect to a<1> returned Connection refused, retrying (1/34)"),
    ("firewall", "NCCL INFO socketPollConnect: connect to a<1> returned Connection timed out, retrying (1/34)"),
    ("peer_process_gone", "gpu01:1:1 [0] NCCL INFO misc/socket.cc:58 (socketWait) -> 6"),
    ("driver_bug", "IOMMU Fault detected for (vmgpu0/nvidia) Reason: 0x6 (PTE not set to allow Read.)"),
    ("gpu_fault", "nvidia-smi nvlink -s\n\t Link 0: 25.781 GB/s\n\t Link 1: <inactive>"),
    ("switch_pfc", "Ethernet1/7    On    Off (0)     8        0          0"),
    ("link_faulty", "Ethernet0  U  729,839,997  653.87 MB/s  12.77%  77,123  0  0  409,682  556.84 MB/s  10.88%  0  0"),
    ("link_faulty", "Ethernet0  U  729,839,997  653.87 MB/s  12.77%  0  0  0  409,682  556.84 MB/s  10.88%  77,123  0"),
    ("link_faulty", "Ethernet0        U      7100         0         0         0         0         0"),
    ("link_faulty", "Eth1/2\n  Rx\n    51233                fcs errors"),
    ("switch_pfc", "Eth1/2\n  Tx\n    41231                discard packets"),
    ("link_faulty", "swp1      9216  8123310  51233      0 0       8123310      0      0      0 BMRU"),
    ("switch_pfc", "drop-type: no-drop\nEthernet4  U  81,233,100  99.1 MB/s  9.10%  0  412,331  0"),
    ("ssh_failed", "ssh -o BatchMode=yes gpu02 hostname: returned non-zero exit status 255"),
    ("vf_without_guid", "mlx5_2 \t0000000000000000"),
    ("firewall", "[UFW BLOCK] IN=ens9 OUT= MAC=00 SRC=203.0.113.7 DST=192.0.2.12 LEN=40 PROTO=TCP SPT=55555 DPT=23"),
    (
        "gpu_pcie_degraded",
        "mlx5_core 0000:3b:00.0: 126.024 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x16 link at "
        "0000:3a:00.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)",
    ),
    (
        "ice_rdma_off",
        "ice 0000:3b:00.0: RDMA functionality is not available with the current device configuration.\n"
        "No IB devices found",
    ),
    ("firewall", "NCCL WARN NET/OFI Unresponsive receiver (connection never established or unknown)"),
    ("firewall", "NCCL WARN NET/OFI Request 0x7 (SEND) completed with error: err: 113, strerror: Unreachable remote"),
    ("peer_process_gone", "NET/OFI Request 0x7 completed with error. RC: 107. Error: 9 (Bad queue pair (QP) number"),
    ("peer_process_gone", "NCCL WARN NET/OFI Unresponsive receiver (connection previously established)"),
    ("peer_process_gone", "NET/OFI Request completed with error. RC: 107. (Invalid receiver queue pair number"),
    ("peer_process_gone", "NET/OFI Request completed with error. RC: 22. Error: 7 (Remote key (RKEY) not registered"),
    ("efa_stack_differs", "NET/OFI Request 0x7 completed with error. RC: 22. Error: 5 (Invalid local key (LKEY))"),
    ("efa_stack_differs", "NET/OFI Request 0x7 completed with error: err: 22, strerror: Remote feature mismatch"),
)


@pytest.mark.parametrize(("cause", "text"), FIRST)
def test_a_line_leads_to_its_cause_first_and_stays_a_candidate(cause: str, text: str) -> None:
    found = ask(text)
    assert (causes(found)[0], found["verdict"]) == (cause, "cannot_tell")


CERTAIN = (
    (
        "packets_blocked",
        "[UFW BLOCK] IN=ens9 OUT= MAC=00 SRC=192.0.2.11 DST=192.0.2.12 LEN=60 PROTO=TCP DPT=40001\n"
        "NCCL WARN socketPollConnect: connect to 192.0.2.12<40001> returned Connection timed out",
    ),
    ("ib_subnet", "port: 1\n state: PORT_INIT (2)\n sm_lid: 0\n link_layer: InfiniBand"),
    ("gpu_error_contained", "NVRM: Xid (PCI:0000:3b:00): 94, Contained: SM"),
    ("app_gpu_memory", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"),
    ("container_memory", "State: Terminated, Reason: OOMKilled, Exit Code: 137"),
    ("pod_no_gpu_left", "0/4 nodes are available: 4 Insufficient nvidia.com/gpu"),
    ("kernel_headers_missing", "Error! Your kernel headers for kernel 6.8.0-1 cannot be found at /lib/modules"),
    ("pod_no_rdma_left", "0/2 nodes are available: 2 Insufficient rdma/hca_shared."),
    ("name_resolution", "in _create_tcp_store\nValueError: host not found: Name or service not known"),
    ("container_shm", "NCCL WARN Error: failed to extend /dev/shm/nccl-a to 9 bytes\nshm 2G 2G 0 100% /dev/shm"),
    ("nccl_ranks_differ", "NCCL WARN Bootstrap Root : rank 3 of 8 ranks already checked in"),
    ("gpu_fault", "XID error 79"),
    ("gpu_fault", "kernel: NVRM: Xid (PCI:0000:3b:00): 95, Uncontained"),
    ("mtu_differs", "Got completion with error 12\ngpu01 MTU=9000, gpu02 MTU=1500"),
    ("bnxt_firmware", "bnxt_en 0000:3b:00.0 ens9np0: Firmware not responding, status: 0x1008000"),
    (
        "fabric_umad_missing",
        'Kernel module "ib_umad" has not been loaded, fabric manager cannot be started\n'
        "systemd[1]: Failed to start NVIDIA fabric manager service.",
    ),
    ("nccl_mixed", "gpu01: NCCL version 2.21.5\ngpu02: NCCL version 2.22.3"),
    (
        "container_shm",
        "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-a\nshm 64M 0 64M 0% /dev/shm",
    ),
)


@pytest.mark.parametrize(("cause", "text"), CERTAIN)
def test_what_the_lines_state_is_certain(cause: str, text: str) -> None:
    found = ask(text)
    assert (causes(found)[0], found["verdict"]) == (cause, "faulty")


NOT_CERTAIN = (
    "we verified that there is no ACS enabled on either node\nGot completion with error 4, opcode 0, vendor err 81",
    "ens224 MTU 9000, docker0 MTU 1500\nGot completion with error 12",
    "Total uncorrectable ECC errors : 0",
    "dmesg shows no Xid 79 at all",
    "Got completion with error 12\ngpu01 MTU=9000, gpu02 MTU=9000",
    "Got completion with error 12\nnetdev MTU: 9000, active MTU: 4096",
    "Got completion with error 12\nthe mtu is fine but 9000 everywhere",
    "gpu01: NCCL version 2.21.5\ngpu02: NCCL version 2.21",
    "kernel: NVRM: Xid (PCI:0000:3b:00): 63, Row Remapper: New row marked for remapping",
)


@pytest.mark.parametrize("text", NOT_CERTAIN)
def test_a_figure_that_is_right_or_denied_makes_nothing_certain(text: str) -> None:
    assert ask(text)["verdict"] != "faulty"


NOT_SAID = (
    ("nccl_bug", "NCCL_CUMEM_ENABLE=0 does not help, nothing is fixed"),
    ("fabric_manager", "NCCL_NVLS_ENABLE=0 is not how it works"),
    ("limits_host", "torch.cuda.OutOfMemoryError: CUDA out of memory"),
    ("ranks_not_started", "Barrier done. 4/4 clients joined."),
    ("guest_ofed_mismatch", "dkms: nvidia/550.54 build failed"),
    ("memlock_host", "docker run --ulimit memlock=-1 image"),
    (
        "kernel_pinning",
        "ibv_reg_mr failed: Cannot allocate memory. Please set max locked memory (ulimit -l) to 'unlimited'",
    ),
    ("memlock_host", "Max locked memory         8589934592           8589934592           bytes"),
)


@pytest.mark.parametrize(("cause", "text"), NOT_SAID)
def test_a_line_that_means_something_else_does_not_lead_there(cause: str, text: str) -> None:
    assert cause not in causes(ask(text))[:1]


HEALTHY = (
    GOOD + "gpu01:1:1 [0] NCCL INFO comm 0x5d rank 1 nranks 4 cudaDev 1 busId 2b000 - Abort COMPLETE",
    GOOD + "WARNING: Failed to get cpu affinity: libnuma not available",
    GOOD + "        SW Power Cap                      : Active\n        Correctable Error                 : 2",
    GOOD + "vmx - PCIPassthru: Device 0000:3b:00.0 barIndex 0 type 3 realaddr 0x3ffe0000000 size 134217728",
    GOOD + "    0              discard packets\n    0              error packets",
    GOOD + 'pciPassthru.use64bitMMIO = "TRUE"\npciPassthru.64bitMMIOSizeGB = "256"\nnuma.nodeAffinity = "0"',
    GOOD + 'sched.mem.min = "524288"\nsched.mem.minSize = "524288"\nsched.mem.pin = "TRUE"',
    GOOD + "ATS_ENABLED                         False(0)        True(1)         True(1)",
    LSPCI,
    "I tensorflow: Created device GPU:0, compute capability: 9.0\n" + GOOD,
    GOOD + "/usr/lib/python3/loader.py:55: UserWarning: This DataLoader will create 16 worker processes",
    GOOD + "Using a slow image processor as `use_fast` is unset",
    GOOD
    + "[W socket.cpp] The client socket cannot be initialized to connect to [::1]:29500 (errno: 97 - Address family)",
    GOOD + "gpu01:1:1 [0] NCCL INFO Call to connect returned Connection refused, retrying",
    GOOD + "docker run --gpus all --shm-size 16g --ulimit nofile=65536 image",
    GOOD + "mpirun --hostfile hosts -np 16 ./train",
    GOOD + "MASTER_ADDR=gpu01 MASTER_PORT=29500 python -m torch.distributed.elastic",
    GOOD + "NCCL_IB_QPS_PER_CONNECTION=4 NCCL_ALGO=Ring NCCL_PROTO=Simple",
    GOOD + "net.ipv4.conf.all.rp_filter = 2\nnet.ipv4.conf.all.arp_ignore = 1",
    GOOD + "rendezvous backend c10d endpoint gpu01:29500",
    GOOD + "nvidia.com/gpu: 80",
    GOOD + "pip install torch",
    GOOD + "ran ibv_devinfo on node01",
    GOOD + "widget: 0 timeouts",
    GOOD + "System time     : 0.000012345 seconds slow of NTP time\nFrequency       : 12.345 ppm slow",
    GOOD + "  available cpufreq governors: performance powersave\n  current CPU frequency: Unable to call hardware",
    GOOD + "Raw Physical Errors Per Lane       : 10,0,2,5\nLaser tx disabled                         : 0",
    GOOD + "  reporter fw\n    state healthy error 0 recover 0\nSecureBoot disabled",
    GOOD + "type filter hook forward priority filter; policy drop;\n  Tsx async abort:       Not affected",
    "RoCE mode           : lossless\nException list:\nN/A\n  Width reduction mode: Not supported",
    "br-1: port 2(veth1) entered disabled state",
    "\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, LnkDisable- CommClk+",
    "|                               |                      |             Disabled |",
    "    Persistence Mode                      : Disabled\nDriver Version: 550.54.15\n| NVIDIA-SMI 550.54.15 |",
)


@pytest.mark.parametrize("text", HEALTHY)
def test_routine_text_beside_a_sound_job_is_healthy(text: str) -> None:
    found = ask(text, SOUND_JOB)
    assert (found["verdict"], found["unknown"]) == ("healthy", [])
    assert ask(text)["verdict"] == "no_fault_seen"


def test_banks_with_all_their_spare_rows_are_no_trouble() -> None:
    rows = "        Remapping Failure Occurred        : No\n            {}                           : {} bank(s)\n"
    found = {
        low: diagnose(None, {"hosts/gpu01/nvidia-smi-q.txt": rows.format("Low", low)})["verdict"] for low in (0, 2)
    }
    assert found == {0: "no_fault_seen", 2: "cannot_tell"}


def test_ports_that_the_switch_excepts_are_no_routine() -> None:
    roce = "RoCE mode           : lossless\nException list:\n  interface   reason\n  Eth1/3      buffer differs\n"
    assert diagnose(None, {"switches/sw01/roce.txt": roce})["verdict"] == "cannot_tell"


def test_a_hot_card_is_no_routine() -> None:
    hot = "mlx5_core 0000:41:00.1: temp_warn:170:(pid 0): High temperature on sensors with bit set 0 1"
    assert (
        diagnose(None, {"job.log": SOUND_JOB, "hosts/gpu01/dmesg.txt": f"[{8000.5:13.6f}] {hot}\n"})["verdict"]
        == "cannot_tell"
    )


def test_ranks_of_one_host_do_not_hide_another_host_s_plugin() -> None:
    inside = "NCCL INFO Using internal network plugin."
    outside = "NCCL INFO NET/Plugin: Loaded net plugin FastNet (v8)"
    found = ask(
        *(f"gpu01:{rank}:1 [{rank}] {inside}" for rank in range(8)),
        *(f"gpu02:{rank}:1 [{rank}] {inside if rank else outside}" for rank in range(8)),
        *(f"gpu03:{rank}:1 [{rank}] {outside}" for rank in range(8)),
    )
    assert found["verdict"] != "faulty"
    found = ask(
        *(f"gpu01:{rank}:1 [{rank}] {inside}" for rank in range(8)),
        *(f"gpu02:{rank}:1 [{rank}] {outside}" for rank in range(8)),
    )
    assert (causes(found)[0], found["verdict"]) == ("nccl_mixed", "faulty")


def test_the_module_wants_a_bundle_or_evidence() -> None:
    with pytest.raises(ValueError, match="following is required: bundle, evidence"):
        decide("doctor")
    assert decide("doctor", evidence={"a.log": "ulimit -l: unlimited"})["verdict"] == "no_fault_seen"


def test_a_counter_that_is_0_on_one_port_does_not_hide_the_next_port() -> None:
    zero, high = "np_ecn_marked_roce_packets: 0", "np_ecn_marked_roce_packets: 812345"
    assert causes(ask(zero, zero, high))[0] == "nic_qos_differs"
    hosts = {"hosts/gpu01/counters.txt": zero + "\n", "hosts/gpu02/counters.txt": high + "\n"}
    assert diagnose(None, hosts)["findings"][0]["host"] == "gpu02"


def test_what_a_switch_says_is_looked_at_on_the_switch() -> None:
    said = "Jan  2 10:00:00 {host} ERR {program}: :- doTask: Failed to process invalid entry, drop it"
    where = [
        {step["where"] for step in ask(said.format(host=host, program=program))["next"]}
        for host, program in [("sw01", "swss#buffermgrd"), ("gpu01", "nvidia-thing")]
    ]
    assert "on the switch" in where[0] - where[1]


def test_a_host_that_fails_or_does_not_answer_is_never_part_of_a_healthy_site() -> None:
    good = "=== ROCEMESH ulimit.txt\nulimit -l: unlimited\n"
    assert site(gpu01=good)["verdict"] == "no_fault_seen"
    silent = diagnose(None, evidence_texts({"gpu01": {"said": good}, "gpu02": {"unreachable": True}}))
    assert silent["unknown"][0]["file"] == "hosts/gpu02/answer"
    broken = "=== ROCEMESH nvidia-smi.txt\nFailed to initialize NVML: Driver/library version mismatch\n"
    found = site(gpu01=good + broken)
    assert (causes(found), found["findings"][0]["host"]) == (["nvml_mismatch"], "gpu01")
    empty = "=== ROCEMESH ibv_devinfo.txt\nNo IB devices found\n"
    assert causes(site(gpu01=good + empty))[0] == "guest_ofed_mismatch"


def site(**hosts: str) -> dict[str, Any]:
    return diagnose(None, evidence_texts({name: {"said": text} for name, text in hosts.items()}))
