# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The job: NCCL and its plugins, variables, launchers, torch, the program itself. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, ECHO, FACT, LIKELY, Compare, rule, sign

SIGNS = (
    sign("nccl_version", r"NCCL version (?P<value>\d+\.\d+\.\d+)", FACT),
    sign(
        "nccl_pip",
        r"nvidia-nccl-cu\d+\s*(?:==|\s)\s*(?P<value>\d+\.\d+\.\d+).*(?:=="
        r"|nvidia-nccl-cu\d+).*\d+\.\d+\.\d+|different (?:versions? of NCCL|NCCL versions?)"
        r"|(?:NCCL|nccl) (?:versions? )?(?:mismatch\w*|differ\w*)|mismatch\w* (?:NCCL|nccl)"
        r"|NCCL \d+\.\d+\S* .{0,40}(?:vs|versus|while|but|and) .{0,40}\b2\.\d+\.\d+",
    ),
    sign(
        "nccl_plugin",
        r"NET/Plugin ?:? ?(?P<value>Could not find|No plugin found|Plugin load returned"
        r"|Loaded net plugin|Using internal|Successfully loaded)"
        r"|NET/Plugin: (?:Failed to find ncclNetPlugin_v\d+ symbol)|(?P<v2>Plugin Path)",
        FACT,
    ),
    sign(
        "plugin_internal",
        r"Using internal (?:net(?:work)? plugin|network)|NET/Plugin ?: ?(?:No plugin found"
        r"|Could not find)|No plugin found \(libnccl-net",
        FACT,
    ),
    sign(
        "plugin_external",
        r"Plugin Path ?: ?\S*/\S+|Loaded net plugin (?!Socket|IB)\S+|NET/OFI (?:Initializing"
        r"|Using)|P2P plugin|Loaded collnet plugin SHARP|Using network (?:AWS Libfabric|UCX"
        r"|Libfabric|gIB|FasTrak|IBext\S*|SHARP)|NET/IB ?: ?Using .*plugin",
        FACT,
    ),
    sign(
        "plugin_version_bad",
        r"plugin.{0,60}(?:incompatible|mismatch\w*|fail\w* to (?:init|load)"
        r"|version .*not supported)|ncclNet_v\d.*(?:fail|abort|error)|aws-ofi-nccl.*(?:fail\w*"
        r"|incompatible|mismatch)|NET/OFI.*(?:fail\w*|error|No eligible)|OFI.*(?:fail\w*"
        r"|No eligible)",
    ),
    sign("family_zero", r"with family 0 is neither AF_INET|unexpected family|connecting to address with family"),
    sign(
        "nccl_internal",
        r"NCCL (?:error|WARN).*internal error|ncclInternalError|internal error - please report"
        r"|Message truncated : received \d+ bytes instead of|bootstrap.*(?:mismatch|truncat\w+"
        r"|size)|unsupported (?:protocol|version)|Mismatched? .*(?:version|rank|collective)"
        r"|symbol lookup error.*nccl|undefined symbol: nccl\w+|version .(?:NCCL"
        r"|libnccl).*not found|libnccl\S*: (?:undefined|version)",
    ),
    sign(
        "nccl_upgrade_said",
        r"(?:up|down)grad\w+ .{0,40}\bNCCL\b|\bNCCL\b.{0,40}(?:up|down)grad\w+|(?:regress\w+"
        r"|works? (?:with|on|in)|since|starting (?:from|with)|only (?:with|in|on)|broke\w*"
        r"|fail\w* (?:with|on)).{0,30}\bNCCL\b ?(?:version )?v?2\.\d+"
        r"|\bNCCL\b ?v?2\.\d+\S*.{0,60}(?:works?|hangs?|crash\w*|fails?|slower|regress\w+|bug"
        r"|broken|segfault\w*)|RCCL.{0,40}(?:regress|version)",
    ),
    sign(
        "env_said",
        r"Unknown environment|(?:invalid|unknown|unsupported|undocumented|wrong) (?:value|setting"
        r"|variable|option|env\w*).{0,60}(?:NCCL|UCX|OMPI|CUDA|RCCL|GLOO|TORCH)|(?:NCCL|UCX"
        r"|OMPI_MCA|RCCL|TORCH_NCCL|GLOO)_\w+.{0,40}(?:invalid|unknown|unsupported|not (?:valid"
        r"|recogni[sz]ed|set|found)|wrong|typo|ignored|deprecat\w+)|NCCL_IB_HCA.*(?:not|no"
        r"|invalid|missing)|/etc/nccl\.conf",
    ),
    sign(
        "env_harmful",
        r"\bNCCL_(?:IB_DISABLE\s*[= ]\s*1|NET\s*[= ]\s*\"?Socket|P2P_DISABLE\s*[= ]\s*1"
        r"|SHM_DISABLE\s*[= ]\s*1|IGNORE_NET_MISMATCH\s*[= ]\s*1|IB_USE_INLINE|IB_PREPOST\w*"
        r"|CHUNK_?SIZE|P2P_NET_CHUNKSIZE|BUFFSIZE\s*[= ]\s*\d|(?:MAX|MIN)_NCHANNELS\s*[= ]\s*1\b"
        r"|NTHREADS\s*[= ]\s*\d|LAUNCH_MODE|MAX_CTAS\s*[= ]\s*1\b"
        r"|IB_PCI_RELAXED_ORDERING\s*[= ]\s*0)|NCCL_(?:IB_DISABLE"
        r"|P2P_DISABLE|SHM_DISABLE) set by environment to 1|NCCL_NET set by environment to Socket"
        r"|NET/IB ?: ?(?:IB|disabled by|Disabled)|CUDA_VISIBLE_DEVICES\s*[= ]\s*(?:\"\"|''|-1"
        r"|NoDevFiles)",
    ),
    sign("env_loopback", r"NCCL_SOCKET_IFNAME\s*(?:=|set (?:by environment )?to)\s*\"?=?lo\b"),
    sign("env_ifname", r"NCCL_SOCKET_IFNAME\s*(?:=|set (?:by environment )?to)\s*\S*|GLOO_SOCKET_IFNAME\s*=", FACT),
    sign(
        "too_good",
        r"(?:silently )?(?:wrong|incorrect|corrupt\w*|bad) (?:results?|data|sums?|values?|output)"
        r"|#wrong\s+[1-9]|Out of bounds values\s*:\s*[1-9]\d*\s+FAILED|data (?:validation"
        r"|corruption|mismatch)|validation failed|results? (?:is|are) (?:wrong|incorrect)"
        r"|checksum mismatch|all_?reduce.{0,40}\bnan\b|\bnan\b.{0,40}all_?reduce",
    ),
    sign(
        "invalid_usage",
        r"invalid usage|ncclInvalidUsage|Duplicate GPU detected"
        r"|rank \d+ and rank \d+ both on CUDA device|invalid argument .*nccl|ncclInvalidArgument",
    ),
    sign("duplicate_gpu", r"Duplicate GPU detected|both on CUDA device"),
    sign(
        "torch_store",
        r"TCPStore|rendezvous.{0,40}(?:fail|time|error)|RendezvousConnectionError|RendezvousTimeoutError"
        r"|c10d.*(?:socket"
        r"|store|fail|error|timed)|DistNetworkError|DistStoreError|The (?:client"
        r"|server) socket has (?:timed out|failed)"
        r"|init_process_group.*(?:time|hang|fail)|store->get.*timeout",
    ),
    sign("port_taken", r"Address already in use|EADDRINUSE|errno: 98"),
    sign(
        "remote_closed",
        r"Connection closed by remote peer|remote process exited or there was a network error"
        r"|ncclRemoteError|unhandled system error|ncclSystemError|Connection reset by peer"
        r"|ECONNRESET|Broken pipe|EPIPE|Socket closed|NCCL communicator was aborted"
        r"|peer .*(?:disconnected|exited|died|gone)|lost connection|Connection closed by peer"
        r"|Call to (?:recv|send|recvmsg|connect).*fail\w*|proxy (?:call|connect\w*"
        r"|service).*(?:fail\w*|error|abort\w*)|ncclProxy\w*.*(?:fail|error|abort)|RPC timed out"
        r"|NCCL operations have failed or timed out|DistBackendError"
        r"|has received (?:a )?(?:SIGTERM|signal)|Process group watchdog thread terminated"
        r"|Socket recv failed|abort\w* the (?:communicator|process)|exited with (?:exit )?code"
        r"|SignalException|ChildFailedError|prior to calling"
        r"|Primary job terminated|killed by signal|to avoid data inconsistency"
        r"|last enqueued NCCL work|NCCL WARN (?:Error: )?(?:Connection|socket|proxy)|NCCL error"
        r"|WARN .*Proxy",
        ECHO,
    ),
    # The way of an error through NCCL's own calls; what failed first stands above it.
    sign("nccl_trail", r"NCCL INFO \S+\.(?:cc|cu|h):\d+ -> [1-9]", ECHO),
    sign(
        "watchdog",
        r"Watchdog caught collective|collective operation timeout|heartbeat monitor"
        r"|HeartbeatMonitor|failed to pass monitoredBarrier|monitoredBarrier|(?<!PFC )Watchdog timeout"
        r"|gloo.*Timed out waiting|timed out (?:after|in) \d+ ?(?:ms|milliseconds"
        r"|seconds).*(?:collective|barrier|allreduce)|stall(?:ed)? (?:ops|tensors|ranks)"
        r"|One or more tensors were submitted to be reduced",
        ECHO,
    ),
    sign("ib_size_mismatch", r"NET/IB ?: ?collective mismatch"),
    sign("hpcx", r"HPC-?X|nccl_rdma_sharp|sharp_plugin", FACT),
    sign(
        "mismatch_said",
        r"(?:collective|tensor|shape|size|dtype|sequence) (?:number )?mismatch"
        r"|Detected mismatch between collectives|mismatch\w* (?:collective|tensor|shape|size)"
        r"|ranks? .*different (?:number|order|collective|shape)|uneven (?:inputs|batches|number)"
        r"|CollectiveFingerPrint|Truncation|Message truncated",
    ),
    sign(
        "traceback",
        r"^(?:\S+ )?Traceback \(most recent call last\)|ModuleNotFoundError|No module named"
        r"|FileNotFoundError|KeyError:|ValueError:|TypeError:|AssertionError|AttributeError:"
        r"|IndexError|NotImplementedError|SyntaxError|ImportError|can't open file"
        r"|size mismatch for|shapes? cannot be|Expected (?:all )?tensors?|unused parameters"
        r"|Expected to have finished reduction|find_unused_parameters|unrecognized arguments"
        r"|NaN\b.*loss|loss.{0,10}\bnan\b|RuntimeError: (?!NCCL|CUDA|Distributed|\[|unable"
        r"|DataLoader)|segmentation fault|segfault|SIGSEGV|core dumped|signal 11",
        alone=True,
    ),
    sign(
        "hang",
        r"\bhangs?\b|\bhung\b|\bhanging\b|\bstuck\b|deadlock\w*|freez\w+|froze\w*"
        r"|never (?:returns?|finish\w*|complete\w*|starts?|ends?)|no (?:progress|output"
        r"|error code)|waits? (?:forever|indefinitely)|blocks? (?:forever|indefinitely)"
        r"|stops? (?:after|at|there|here|responding)|training stops|log (?:stops|ends)|(?:GPU"
        r"|SM) util\w* 100 ?%|stand(?:s|ing)? still|does not (?:return|continue|proceed|start"
        r"|finish)|infinite loop|\bstalls?\b",
    ),
    sign(
        "slow",
        r"\bslow(?:er|ly|down(?!\s*:)|ness|s)?\b|\b\d+(?:\.\d+)? ?% of\b|(?:only|just|about"
        r"|~) ?\d+(?:\.\d+)? ?(?:GB/s|Gb/s|Gbps|MB/s|GiB/s|Gbit/s)|\bhalf\b.{0,30}(?:bandwidth"
        r"|rate|speed|performance|throughput)|(?:bandwidth|busbw|algbw|throughput|performance"
        r"|speed|BW)\b.{0,60}(?:low\w*|poor|bad|drop\w*|degrad\w+|half|worse|slow\w*|instead"
        r"|limited|expected|less|below|only|decreas\w+|far from|capped|fluctuat\w+|unstable"
        r"|falls?|fell|goes down|collaps\w+|plateau\w*|tops? out|maxes out)"
        r"|(?:low\w*|poor|bad|degrad\w+|worse|half|unexpected\w*|reduced|limited"
        r"|terrible) .{0,30}(?:bandwidth|busbw|algbw|throughput|performance|speed)"
        r"|instead of (?:>|<|~)? ?\d+ ?(?:GB|Gb)|does(?:n't| not) scale|scal\w+ (?:poorly|badly)"
        r"|latency .{0,20}(?:high\w*|increas\w+|spik\w+)|bottleneck\w*|straggler|\d+x slower",
    ),
    sign(
        "no_change",
        r"no (?:change|difference|improvement|effect|speed-?up|gain)|same (?:speed|performance"
        r"|throughput|bandwidth|result)|not (?:any )?(?:faster|improv\w+)",
        FACT,
    ),
    sign("nic_counts", r"NET/IB ?: ?Using (?P<value>(?:\[\d+\]\S+ ?)+)", FACT),
    sign(
        "net_mismatch",
        r"net(?:work)?(?: type| device)?s? mismatch|NCCL_IGNORE_NET_MISMATCH|(?:different|unequal"
        r"|mismatch\w*) (?:number|count)s? of (?:NICs?|HCAs?|NET|devices|channels|local ranks"
        r"|GPUs)|heterogen\w+|localRanks?.*mismatch"
        r"|Channel \d+.*(?:GDRDMA).*Channel \d+ -> NET/IB/\d+(?!/GDRDMA)|number of (?:channels"
        r"|GPUs|ranks).*(?:differ|mismatch)|mixed? (?:transport|GPU|NIC)s?",
    ),
    sign("init_start", r"Bootstrap ?: ?Using|Init START|ncclCommInitRank.*START", FACT),
    sign(
        "init_end",
        r"(?:Init|Destroy) COMPLETE|ncclCommInit\w+ comm.*COMPLETE|Connected all (?:rings|trees)"
        r"|Avg bus bandwidth|busbw|total images/sec|Channel \d+(?:/\d+)? ?:|\bvia (?:P2P|NET|SHM)"
        r"|Using network|images/sec|it/s\]|loss[=:]",
        FACT,
    ),
)

COMPARES = (
    Compare("nccl_versions", "nccl_version", "nccl_mixed", "NCCL: versions are not compatible on the wire"),
    Compare(
        "plugins",
        "plugin_internal+plugin_external",
        "nccl_mixed",
        "two implementations of the network do not talk to each other",
    ),
    Compare("mtus", "mtu_value", "mtu_differs", "nodes compared: the path MTU is the smaller one", LIKELY),
    Compare("link_mtus", "link_mtu", "mtu_differs", "nodes compared: MTU of interfaces", CANDIDATE),
)

RULES = (
    rule(
        "version_said", "nccl_pip|family_zero", CANDIDATE, "nccl_mixed", "NCCL: versions are not compatible on the wire"
    ),
    rule(
        "version_both",
        "nccl_pip family_zero",
        LIKELY,
        "nccl_mixed",
        "two facts: two versions, and a message that NCCLs do not understand",
    ),
    rule("version_change", "nccl_upgrade_said", CANDIDATE, "nccl_bug nccl_mixed", "NCCL release notes"),
    rule("internal", "nccl_internal", CANDIDATE, "nccl_mixed nccl_bug vars_wrong", "NCCL: ncclInternalError"),
    rule(
        "plugin",
        "plugin_version_bad !no_provider",
        CANDIDATE,
        "nccl_mixed nccl_bug container_libraries",
        "NCCL plugins: one interface version per release",
    ),
    rule(
        "plugin_mixed",
        "plugin_internal plugin_external hang|watchdog|remote_closed",
        CANDIDATE,
        "nccl_mixed",
        "two implementations of the network",
    ),
    rule("env", "env_said", CANDIDATE, "vars_wrong", "NCCL documentation: environment variables"),
    rule(
        "env_harmful",
        "env_harmful !p2p_hang|gdr_lower",
        CANDIDATE,
        "vars_wrong",
        "NCCL documentation: variables that switch off a transport or change sizes",
    ),
    rule(
        "env_loopback",
        "env_loopback",
        CANDIDATE,
        "vars_wrong wrong_interface",
        "NCCL documentation, NCCL_SOCKET_IFNAME: the loopback leads to no other host",
    ),
    rule(
        "env_ifname",
        "env_ifname if_missing|connect_timeout|connect_refused|no_route",
        CANDIDATE,
        "vars_wrong wrong_interface",
        "NCCL documentation, NCCL_SOCKET_IFNAME",
    ),
    rule(
        "too_good",
        "too_good",
        CANDIDATE,
        "vars_wrong nccl_bug acs_redirects gpu_fault",
        "a wrong sum is never a matter of speed: sizes that were forced, versions, or a "
        "peer-to-peer path that loses data",
    ),
    rule(
        "usage",
        "invalid_usage !duplicate_gpu !ib_dev_missing",
        CANDIDATE,
        "application_failed vars_wrong nccl_bug",
        "NCCL: ncclInvalidUsage, ncclInvalidArgument",
    ),
    rule(
        "duplicate",
        "duplicate_gpu",
        CANDIDATE,
        "app_gpu_shared vars_wrong launch_failed",
        "NCCL says it: two ranks on one device",
    ),
    rule(
        "store",
        "torch_store !port_taken|name_unknown",
        CANDIDATE,
        "wrong_interface firewall vars_wrong",
        "PyTorch: every rank connects to MASTER_ADDR",
    ),
    rule(
        "port",
        "port_taken",
        CANDIDATE,
        "vars_wrong application_failed launch_failed",
        "errno EADDRINUSE: an earlier run, or two jobs with one port",
    ),
    rule(
        "closed",
        "remote_closed|nccl_trail",
        CANDIDATE,
        "peer_process_gone firewall wrong_interface",
        "an echo: the first rank that failed knows more",
    ),
    rule(
        "watchdog",
        "watchdog",
        CANDIDATE,
        "peer_process_gone no_path_between_nics app_collective_mismatch",
        "an echo: who never came knows more",
    ),
    rule(
        "ib_sizes",
        "ib_size_mismatch",
        CANDIDATE,
        "app_collective_mismatch nccl_mixed relaxed_ordering",
        "NCCL source: net_ib checks the size that the peer announced",
    ),
    rule(
        "ib_sizes_ordering",
        "ib_size_mismatch relaxed_ordering",
        CANDIDATE,
        "relaxed_ordering nic_firmware_setting",
        "two facts: announcements out of order, and relaxed ordering that is forced",
    ),
    rule(
        "hpcx_hang",
        "hpcx hang|slow|watchdog",
        CANDIDATE,
        "nccl_bug nccl_mixed",
        "HPC-X brings a network plugin of its own, which has to fit OFED and NCCL",
    ),
    rule(
        "order", "mismatch_said", CANDIDATE, "app_collective_mismatch nccl_mixed", "PyTorch distributed documentation"
    ),
    rule(
        "program",
        "traceback !libcuda_missing|cuda_library_missing|name_unknown",
        CANDIDATE,
        "application_failed",
        "Python",
    ),
    rule(
        "hang",
        "hang",
        CANDIDATE,
        "wrong_interface no_path_between_nics peer_process_gone firewall",
        "a hang alone has many reasons",
    ),
    rule(
        "net_differs",
        "net_mismatch",
        CANDIDATE,
        "gdr_distance container_devices nccl_mixed",
        "NCCL: all ranks have to see the same kinds of networks",
    ),
)
