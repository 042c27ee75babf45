"""Bundles of several hosts: 5 faults in 8 layouts, 30 with clocks that differ, 20 with a fact that refutes a cause."""

from __future__ import annotations

import dataclasses
import datetime
import gzip
import io
import json
import lzma
import subprocess
import tarfile
from typing import Callable

Pieces = dict[str, bytes]

# Fault: cause, host, and what each host printed: (host, kind) -> text. Each states its cause in one line.
QUIET = (
    "[    0.000000] Linux version 5.15.0-101-generic\n[    9.100000] systemd[1]: Reached target Multi-User System.\n"
)
FAULTS: dict[str, tuple[str, str, dict[tuple[str, str], str]]] = {
    "a GPU falls off the bus": (
        "gpu_fault",
        "gpu02",
        {
            ("gpu01", "dmesg"): QUIET,
            ("gpu02", "dmesg"): QUIET
            + "[81231.118204] NVRM: Xid (PCI:0000:3b:00): 79, pid=4411, name=python3, GPU has fallen off the bus.\n",
            ("gpu03", "dmesg"): QUIET,
        },
    ),
    "fabric manager of another version": (
        "fabric_manager",
        "gpu03",
        {
            ("gpu01", "messages"): "Feb  3 08:00:01 gpu01 systemd[1]: Started NVIDIA fabric manager service.\n",
            (
                "gpu03",
                "messages",
            ): "Feb  3 08:00:01 gpu03 nv-fabricmanager[1201]: fabric manager NVIDIA GPU driver interface "
            "version 550.54.14 don't match with driver version 550.54.15. Please update with matching NVIDIA "
            "driver package.\n",
        },
    ),
    "a module without a signature": (
        "module_not_signed",
        "gpu04",
        {
            ("gpu03", "messages"): "Feb  3 08:00:01 gpu03 systemd[1]: Started NVIDIA Persistence Daemon.\n",
            ("gpu04", "messages"): "Feb  3 08:00:01 gpu04 systemd-modules-load[612]: modprobe: ERROR: could not insert "
            "'nvidia': Key was rejected by service\n",
        },
    ),
    "module and user space of the driver differ": (
        "nvml_mismatch",
        "gpu01",
        {
            (
                "gpu01",
                "nvidia-smi",
            ): "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.90\n",
            ("gpu02", "nvidia-smi"): "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4  |\n",
        },
    ),
    "no more open files": (
        "files_limit",
        "gpu02",
        {
            ("gpu01", "messages"): "Feb  3 08:00:01 gpu01 sshd[911]: Server listening on 0.0.0.0 port 22.\n",
            ("gpu02", "messages"): "Feb  3 08:00:09 gpu02 python3[4411]: OSError: [Errno 24] Too many open files: "
            "'/data/shards/000118.tar'\n",
        },
    ),
}


def _paths(form: str, also: dict[str, str] | None = None) -> Callable[[dict[tuple[str, str], str]], Pieces]:
    names = also or {}
    return lambda outputs: {
        form.format(host=host, kind=names.get(kind, kind)): text.encode() for (host, kind), text in outputs.items()
    }


COMMANDS = {"dmesg": "dmesg", "messages": "journalctl -b --no-pager", "nvidia-smi": "nvidia-smi"}


def _prompts(outputs: dict[tuple[str, str], str]) -> Pieces:
    """What was pasted of one terminal after the other."""
    text = "".join(
        f"[root@{host} ~]# {COMMANDS[kind]}\n{said}[root@{host} ~]# exit\n" for (host, kind), said in outputs.items()
    )
    return {"paste.txt": text.encode()}


def zst(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


def _packed(outputs: dict[tuple[str, str], str]) -> Pieces:
    """Each host's file packed by another program, by turns."""
    packs: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
        (".gz", gzip.compress),
        (".xz", lzma.compress),
        (".zst", zst),
    )
    return {
        f"{host}/var/log/{kind}.1{packs[n % 3][0]}": packs[n % 3][1](text.encode())
        for n, ((host, kind), text) in enumerate(sorted(outputs.items(), reverse=True))
    }


def _kubernetes(outputs: dict[tuple[str, str], str]) -> Pieces:
    """Logs of a debug pod on each node: CRI and Docker's JSON by turns."""
    pieces = {}
    for n, ((host, kind), text) in enumerate(outputs.items()):
        lines = text.splitlines()
        if n % 2:
            said = [
                json.dumps({"log": line + "\n", "stream": "stdout", "time": "2026-02-03T08:00:01.1Z"}) for line in lines
            ]
        else:
            said = [f"2026-02-03T08:00:01.118204911Z stdout F {line}" for line in lines]
        name = f"nodes/{host}/var/log/pods/default_node-debugger-{host}-x7k2p_{n}f1c/{kind}/0.log"
        pieces[name] = "".join(f"{line}\n" for line in said).encode()
    return pieces


SOS = {
    "dmesg": "sos_commands/kernel/dmesg",
    "messages": "var/log/messages",
    "nvidia-smi": "sos_commands/nvidia/nvidia-smi",
}
NODE = {"dmesg": "dmesg", "messages": "journal.log", "nvidia-smi": "nvidia-smi.log"}
LAYOUTS: dict[str, Callable[[dict[tuple[str, str], str]], Pieces]] = {
    "ansible.builtin.fetch": _paths("fetched/{host}/var/log/{kind}"),
    "logs/HOST/": _paths("logs/{host}/{kind}.txt"),
    "HOST-KIND.log": _paths("{host}-{kind}.log"),
    "sosreport": _paths("sosreport-{host}-4711-2026-02-03-qwertzu/{kind}", SOS),
    "must-gather": _paths("must-gather.local.118/quay-io-release-sha256-9f/nodes/{host}/{kind}", NODE),
    "one file with prompts": _prompts,
    "gz, xz and zst": _packed,
    "CRI and JSON of Kubernetes": _kubernetes,
}


def tar(pieces: Pieces) -> bytes:
    """An archive in memory, as a bundle travels."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in pieces.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


# Clocks. True time of what happened; each host writes it by its own clock.
NOON = datetime.datetime(2026, 2, 3, 12, 0, 0)


@dataclasses.dataclass(frozen=True)
class Clocked:
    first: str  # the host that failed first
    offsets: bool  # whether the bundle says how far the clocks are off
    pieces: dict[str, str]


HOSTS = ("gpu01", "gpu02", "gpu03", "gpu04")
LOST = "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error"
# What the first host prints, and what the others print seconds later, who suffer from it (or fail by themselves then).
STORIES: dict[str, tuple[str, str]] = {
    "memory": (
        "kernel: Out of memory: Killed process 4411 (python3) total-vm:91231188kB, anon-rss:61203344kB",
        "python3[4411]: " + LOST,
    ),
    "Xid": (
        "kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=4411, name=python3, GPU has fallen off the bus.",
        (
            "python3[4411]: [rank2]:[E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=81, "
            "OpType=ALLREDUCE) ran for 600001 milliseconds before timing out."
        ),
    ),
    "two GPUs": (
        "kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=4411, name=python3, GPU has fallen off the bus.",
        "kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=4411, name=python3, GPU has fallen off the bus.",
    ),
    "traceback": (
        "python3[4411]: ValueError: cannot reshape array of size 118 into shape (16,16)",
        "python3[4411]: " + LOST,
    ),
    "link": (
        "kernel: mlx5_core 0000:13:00.0 ens192np0: Link down",
        (
            "python3[4411]: NCCL WARN NET/IB : Got completion from peer 192.0.2.20<4711> with status=12 opcode=0 "
            "len=0 vendor err 129"
        ),
    ),
}
SKEWS = ((0, 180, -180, 0), (180, 0, 0, -180), (-180, 180, 0, 180))


def _clocked(story: str, skew: tuple[int, ...], first: int, offsets: bool) -> Clocked:
    cause, effect = STORIES[story]
    pieces = {}
    for n, host in enumerate(HOSTS):
        true = NOON + datetime.timedelta(seconds=0 if n == first else 20 + n)
        shown = true + datetime.timedelta(seconds=skew[n])
        before = shown - datetime.timedelta(seconds=90)
        said = cause if n == first else effect
        pieces[f"hosts/{host}/messages.txt"] = (
            f"{before:%b %d %H:%M:%S} {host} systemd[1]: Started Session 12 of User train.\n"
            f"{shown:%b %d %H:%M:%S} {host} {said}\n"
        )
        if offsets:
            way = "fast" if skew[n] >= 0 else "slow"
            pieces[f"hosts/{host}/chronyc_tracking.txt"] = (
                f"[root@{host} ~]# chronyc tracking\n"
                "Reference ID    : C0000201 (ntp.example.org)\nStratum         : 3\n"
                f"System time     : {abs(skew[n])}.000000000 seconds {way} of NTP time\n"
                "Last offset     : +0.000011211 seconds\nLeap status     : Normal\n"
            )
    return Clocked(HOSTS[first], offsets, pieces)


CLOCKS: dict[str, Clocked] = {
    f"{story}, clocks {skew}, {'offsets' if offsets else 'no offsets'}": _clocked(story, skew, (n + m) % 4, offsets)
    for n, story in enumerate(STORIES)
    for m, skew in enumerate(SKEWS)
    for offsets in (True, False)
}

NCCL = "gpu01:3100:3200 [0] NCCL "
RETRY = (
    f"{NCCL}WARN NET/IB : Got completion from peer 192.0.2.21<4711> with status=12 opcode=0 len=0 vendor err 129 "
    "(Recv)\n"
)
ENOMEM = f"{NCCL}WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n"
TIMED = (
    "[rank2]:[E203 12:00:00 ProcessGroupNCCL.cpp:616] [Rank 2] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=81, OpType=ALLREDUCE) ran for 600001 milliseconds before timing out.\n"
)
REFUSED = (
    "[E socket.cpp:957] [c10d] The client socket has timed out after 60s while trying to connect to (gpu01, 29500).\n"
)
DEVINFO = (
    "hca_id:\tmlx5_0\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tmax_mtu:\t\t4096 (5)\n"
    "\t\t\tactive_mtu:\t\t4096 (5)\n"
)
IDLE = (
    "Clocks Event Reasons\n    SW Power Cap              : Not Active\n    HW Slowdown               : Not "
    "Active\n        HW Thermal Slowdown   : Not Active\n    SW Thermal Slowdown       : Not Active\n"
)
SLOW = "rank 3: step 120 took 4.812 s, the mean of all ranks is 1.204 s: rank 3 is a straggler\n"
# Name -> (the cause that is refuted, or causes; what was read).
CONTRARY: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "locked memory: no limit in the container": (
        ("container_memlock", "memlock_host"),
        {
            "job/a.log": ENOMEM,
            "containers/gpu01/ulimit.txt": "$ ulimit -l\nunlimited\n",
            "hosts/gpu01/ulimit.txt": "$ ulimit -l\nunlimited\n",
        },
    ),
    "locked memory: no limit, by mpirun": (
        ("container_memlock", "memlock_host"),
        {"job/a.log": ENOMEM + "+ mpirun -np 2 -H gpu01,gpu02 sh -c 'ulimit -l'\nunlimited\nunlimited\n"},
    ),
    "error 12: the link never went down, no error is counted": (
        ("link_faulty",),
        {
            "job/a.log": RETRY,
            **{
                f"hosts/gpu0{n}/ethtool.txt": "Settings for ens192np0:\n\tSpeed: 200000Mb/s\n\tLink detected: yes\n"
                "NIC statistics:\n     rx_symbol_err_phy: 0\n     rx_crc_errors_phy: 0\n     link_down_events_phy: 0\n"
                for n in (1, 2)
            },
        },
    ),
    "error 12: the MTU is the same everywhere": (
        ("mtu_differs",),
        {
            "job/a.log": RETRY,
            "hosts/gpu01/ibv_devinfo.txt": DEVINFO,
            "hosts/gpu02/ibv_devinfo.txt": DEVINFO,
            "hosts/gpu01/ping.txt": (
                "$ ping -M do -s 8972 -c 2 192.0.2.21\n8980 bytes from 192.0.2.21: icmp_seq=1 ttl=64 time=0.071 "
                "ms\n2 packets transmitted, 2 received, 0% packet loss\n"
            ),
        },
    ),
    "error 12: the GID is the routable one": (
        ("gid_wrong",),
        {
            "job/a.log": f"{NCCL}INFO NCCL_IB_GID_INDEX set by environment to 3.\n" + RETRY,
            **{
                f"hosts/gpu0{n}/show_gids.txt": (
                    "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4\t\tVER\tDEV\nmlx5_0\t1\t3\t0000:0000:0000:0000:0000:"
                    f"ffff:c000:021{n}\t192.0.2.2{n}\tv2\tens192np0\n"
                )
                for n in (1, 2)
            },
        },
    ),
    "shared memory: /dev/shm is large and empty": (
        ("container_shm",),
        {
            "job/a.log": f"{NCCL}WARN Error while creating shared memory segment /dev/shm/nccl-x7k2p (size 9637888)\n",
            "containers/gpu01/df.txt": (
                "$ df -h /dev/shm\nFilesystem      Size  Used Avail Use% Mounted on\ntmpfs           512G   12K  "
                "512G   1% /dev/shm\n"
            ),
        },
    ),
    "no device: the container sees and may open it": (
        ("container_devices",),
        {
            "job/a.log": f"{NCCL}INFO NET/IB : No device found.\n",
            "containers/gpu01/ibv_devices.txt": (
                "$ ibv_devices\n    device                 node GUID\n    ------              ----------------\n "
                "   mlx5_0              b8cef60300a1b2c3\n$ ls -l /dev/infiniband\ncrw-rw-rw- 1 root root 231, "
                "192 Feb  3 08:00 uverbs0\ncrw-rw-rw- 1 root root  10, 58 Feb  3 08:00 rdma_cm\n"
            ),
        },
    ),
    "no GPUDirect: the peer memory module is loaded": (
        ("peermem_missing",),
        {
            "job/a.log": f"{NCCL}INFO GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n",
            "hosts/gpu01/lsmod.txt": (
                "Module                  Size  Used by\nnvidia_peermem         16384  0\nnvidia              "
                "56717312  412 nvidia_uvm,nvidia_peermem\nib_core              430080  9 nvidia_peermem,mlx5_ib\n"
            ),
        },
    ),
    "connect times out: no firewall on either end": (
        ("firewall",),
        {
            "job/a.log": REFUSED,
            **{
                f"hosts/gpu0{n}/firewall.txt": (
                    "$ systemctl is-active firewalld ufw nftables\ninactive\ninactive\ninactive\n$ iptables -S\n"
                    "-P INPUT ACCEPT\n-P FORWARD ACCEPT\n-P OUTPUT ACCEPT\n$ nft list ruleset\n"
                )
                for n in (1, 2)
            },
            "hosts/gpu02/nc.txt": (
                "$ nc -vz gpu01 29500\nConnection to gpu01 (192.0.2.20) 29500 port [tcp/*] succeeded!\n"
            ),
        },
    ),
    "connect times out: the name is known": (
        ("name_resolution",),
        {
            "job/a.log": REFUSED,
            **{
                f"hosts/gpu0{n}/getent.txt": "$ getent hosts gpu01\n192.0.2.20      gpu01.example.org gpu01\n"
                for n in (1, 2)
            },
        },
    ),
    "a process is killed: the container has no limit": (
        ("container_memory",),
        {
            "job/a.log": "[launch.py:321:sigkill_handler] process 4411 exits with return code = -9\n",
            "hosts/gpu01/docker.txt": (
                "$ docker inspect -f '{{.HostConfig.Memory}} {{.State.OOMKilled}}' train\n0 false\n$ cat "
                "/sys/fs/cgroup/memory.max\nmax\n"
            ),
        },
    ),
    "no CUDA device: the container lists eight": (
        ("container_no_gpu",),
        {
            "job/a.log": "RuntimeError: CUDA error: no CUDA-capable device is detected\n",
            "containers/gpu01/nvidia-smi.txt": "$ nvidia-smi -L\n"
            + "".join(f"GPU {n}: NVIDIA A100-SXM4-80GB (UUID: GPU-0{n})\n" for n in range(8)),
        },
    ),
    "system not yet initialized: the fabric is up": (
        ("fabric_manager",),
        {
            "job/a.log": "CUDA error: system not yet initialized (802)\n",
            "hosts/gpu01/fm.txt": (
                "$ systemctl status nvidia-fabricmanager\n     Active: active (running) since Tue 2026-02-03 08:"
                "00:01 UTC; 4h ago\n$ nvidia-smi -q | grep -A2 Fabric\n    Fabric\n        State                 "
                "            : Completed\n        Status                            : Success\n$ nvidia-smi | "
                "grep Version\n| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4  |\n$ "
                "nv-fabricmanager --version\nFabric Manager version is : 550.54.15\n"
            ),
        },
    ),
    "truncated: one NCCL on all ranks": (
        ("nccl_mixed",),
        {
            "job/a.log": "".join(
                (
                    f"gpu0{n}:3100:3100 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\ngpu0{n}:3100:3100 [0] NCCL "
                    "INFO NET/Plugin: Using internal network plugin.\n"
                )
                for n in (1, 2)
            )
            + f"{NCCL}WARN Message truncated : received 1024 bytes instead of 256\n"
        },
    ),
    "a slow rank: its clocks are not held down": (
        ("gpu_throttled",),
        {"job/a.log": SLOW, "hosts/gpu01/nvidia-smi-q.txt": IDLE, "hosts/gpu02/nvidia-smi-q.txt": IDLE},
    ),
    "a slow rank: its PCIe link is full": (
        ("gpu_pcie_degraded",),
        {
            "job/a.log": SLOW,
            "hosts/gpu01/lspci.txt": (
                "3b:00.0 3D controller: NVIDIA Corporation GA100 (rev a1)\n\t\tLnkCap:\tPort #0, Speed 16GT/s, "
                "Width x16, ASPM not supported\n\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)\n"
            ),
        },
    ),
    "slow: no frame was paused or dropped": (
        ("switch_pfc", "nic_qos_differs"),
        {
            "job/a.log": "# Avg bus bandwidth    : 2.1 \nbusbw is a fifth of what was measured last week\n",
            "switches/leaf01/counters.txt": (
                "Ethernet1/1\n  Rx PFC frames priority 3: 0\n  Tx PFC frames priority 3: 0\n  Rx discards: 0\n  "
                "Tx discards: 0\n"
            ),
            "hosts/gpu01/ethtool.txt": (
                "NIC statistics:\n     rx_prio3_pause: 0\n     tx_prio3_pause: 0\n     rx_discards_phy: 0\n     "
                "rx_out_of_buffer: 0\n"
            ),
        },
    ),
    "GPUDirect crawls: nothing is redirected": (
        ("acs_redirects",),
        {
            "job/a.log": (
                f"{NCCL}INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA\nbusbw 1.9 GB/s, without "
                "GPUDirect 11.2 GB/s\n"
            ),
            "hosts/gpu01/lspci.txt": (
                "17:00.0 PCI bridge: Broadcom PEX880xx PCIe Gen 4 Switch\n\t\tACSCap:\tSrcValid+ TransBlk+ "
                "ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl+ DirectTrans+\n\t\tACSCtl:\tSrcValid- TransBlk- "
                "ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
            ),
            "hosts/gpu01/cmdline.txt": (
                "BOOT_IMAGE=/vmlinuz-5.15.0-101-generic root=/dev/vg0/root ro iommu=off amd_iommu=off\n"
            ),
        },
    ),
    "no thread: no limit is near": (
        ("limits_host",),
        {
            "job/a.log": "RuntimeError: can't start new thread\n",
            "hosts/gpu01/limits.txt": (
                "$ ulimit -u\nunlimited\n$ cat /sys/fs/cgroup/pids.max\nmax\n$ cat /proc/sys/kernel/threads-max\n"
                "8252118\n$ ps -eLf | wc -l\n1911\n"
            ),
        },
    ),
    "a watchdog: one driver on all hosts": (
        ("driver_differs",),
        {
            "job/a.log": TIMED,
            **{
                f"hosts/gpu0{n}/nvidia-smi.txt": (
                    "$ nvidia-smi --query-gpu=driver_version --format=csv,noheader\n550.54.15\n550.54.15\n"
                )
                for n in (1, 2, 3)
            },
        },
    ),
}
