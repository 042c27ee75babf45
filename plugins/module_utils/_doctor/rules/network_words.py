# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks of a job: strangers on its ports, gloo's mesh, interfaces that lead nowhere, limits of the kernel.

Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, FACT, QUIET, rule, sign

SIGNS = (
    # Who connects and is no rank: scanners, probes, clients of another protocol.
    sign(
        "stranger",
        r"\bnmap\b|port[- ]?scan\w*|masscan|zgrab|Nessus|Qualys|(?:security|vulnerability|network) scan\w*|\bnc -z\w*"
        r"|(?:liveness|readiness|startup)[- ]?probes?\b(?! (?:failed|errored))|tcpSocket|blackbox[-_ ]exporter|(?:node"
        r"|dcgm)[-_]exporter.{0,60}(?:port|connect|scrap)"
        r"|health[- ]?(?:check|probe)\w*.{0,80}(?:connect|port|socket)|load ?balancer.{0,60}(?:probe|connect|health)"
        r"|(?:unknown|invalid|unexpected) (?:query|request) (?:type|magic)|(?:query|validation) magic|Miscellaneous\w* "
        r"error occurred in .*TCPStore"
        r"|\bTLS ?(?:ClientHello|handshake)\b|SSH-2\.0-\w*.{0,60}(?:magic|unexpected|received)|stray connection"
        r"|unsolicited connection",
    ),
    # Access logs of a server that answers.
    sign("served", r"\"?(?:GET|POST|HEAD) /\S* HTTP/[12](?:\.\d)?\"? (?:200|204|304)\b", QUIET),
    sign("store_suffers", r"bad_alloc|length_error|runs? out of memory|ran out of memory|TCPStore", FACT),
    sign(
        "gloo_mesh",
        r"connectFullMesh failed|Gloo\b.{0,80}(?:connect|bind|rendezvous|timed? ?out|Unable|failed)"
        r"|gloo/transport/\S+\].{0,60}(?:connect|bind|Socket closed|Connection)",
    ),
    sign("gloo_loopback", r"Unable to resolve hostname to a \(local\) address|Using the loopback address as fallback"),
    sign(
        "if_virtual",
        r"(?:Bootstrap|NET/Socket|OOB|rendezvous|interface)\b.{0,30}(?:Using|:|=)\s*(?:\[\d+\])?(?:br-|docker|virbr"
        r"|veth|lxc|lxd|cilium|flannel|cali|kube|cni|nerdctl|tun|tap"
        r"|wg|tailscale|zt|utun|vmnet|vboxnet|wlan|wlp|wlP|wlo|wlx|usb|ovs|podman|ib-mgmt|idrac|bmc)\w*\S*:[\da-f]",
    ),
    # A prefix of a name takes sub-interfaces, too.
    sign("if_many", r"NET/Socket : Using \[0\](\w+):\S+ \[1\]\1\.\d+"),
    sign("ifname_excludes", r"NCCL_SOCKET_IFNAME\W.{0,40}\^", FACT),
    sign("if_loopback", r"Using \[?\d*\]?lo:|\blo:127\.0\.0\.1<", FACT),
    sign("ifname_set", r"NCCL_SOCKET_IFNAME|GLOO_SOCKET_IFNAME|btl_tcp_if_include", FACT),
    sign(
        "names_differ",
        r"(?:node|host|server|machine)\w*\W{1,3}(?:uses? )?(?:en[opsx]\w+|eth\d+|ib\d+|bond\d+)\b.{0,60}(?:node|host"
        r"|server|machine)\w*\W{1,3}(?:uses? )?(?:en[opsx]\w+|eth\d+|ib\d+|bond\d+)\b",
        FACT,
    ),
    sign(
        "policy_drop",
        r"Chain INPUT \(policy (?:DROP|REJECT)|REJECT .{0,40}reject-with icmp|ACL deny"
        r"|anti-?virus|endpoint protection|Hyper-V firewall",
    ),
    # Limits of the kernel on connections and memory of sockets.
    sign(
        "kernel_sockets",
        r"neighbou?r: arp_cache: neighbor table overflow|TCP: out of memory|TCP: too many orphaned sockets"
        r"|nf_conntrack: table full"
        r"|possible SYN flooding|Cannot assign requested address.{0,80}(?:port|connect)|ip_local_port_range|somaxconn"
        r"|max_map_count"
        r"|inotify\b.{0,60}(?:limit|watch|No space)|User limit of inotify|HugePages_(?:Total"
        r"|Free):\s+0\b.{0,60}(?:hugetlb|huge)",
    ),
    sign(
        "limit_asked",
        r"(?:srun|mpirun|mpiexec|docker|kubectl|ssh|sbatch|pdsh)\b.{0,80}ulimit -[HS]?(?P<value>[lna])\b",
        FACT,
    ),
    sign(
        "gpu_hangs_alone",
        r"works? (?:fine )?(?:on|with|in) (?:one|a single|1|single) (?:node|host|machine)\b|single[- ]node (?:works|is "
        r"fine|runs|OK)|(?:two|2|multi)[- ]?nodes?\b.{0,40}(?:hang|fail|stuck|timeout)"
        r"|on one host it works|intra-?node works",
        FACT,
    ),
)

RULES = (
    rule(
        "stranger",
        "stranger",
        CANDIDATE,
        "foreign_client firewall",
        "PyTorch TCPStore and NCCL sockets: whoever connects is taken for a rank first",
    ),
    rule(
        "stranger_store",
        "stranger store_suffers|torch_store|oom_host|other_magic|connect_refused|hang|remote_closed|connect_timeout",
        CANDIDATE,
        "foreign_client launch_failed",
        "two facts: a stranger on a port of the job, and a job that fails",
    ),
    rule(
        "gloo_mesh",
        "gloo_mesh",
        CANDIDATE,
        "wrong_interface vars_wrong firewall",
        "gloo source: transport/tcp; PyTorch: GLOO_SOCKET_IFNAME",
    ),
    rule(
        "gloo_loopback",
        "gloo_loopback",
        CANDIDATE,
        "wrong_interface name_resolution vars_wrong",
        "PyTorch source: ProcessGroupGloo.cpp: the name of the host leads to no address of it",
    ),
    rule(
        "if_virtual",
        "if_virtual",
        CANDIDATE,
        "wrong_interface vars_wrong",
        "NCCL documentation, NCCL_SOCKET_IFNAME: bridges, tunnels and wireless links are not told from a cluster "
        "network",
    ),
    rule(
        "if_many",
        "if_many",
        CANDIDATE,
        "vars_wrong wrong_interface",
        "NCCL documentation, NCCL_SOCKET_IFNAME: a prefix; = for the exact name",
    ),
    rule(
        "excludes_all",
        "ifname_excludes if_loopback",
        CANDIDATE,
        "vars_wrong wrong_interface",
        "NCCL documentation, NCCL_SOCKET_IFNAME: an exclusion of one's own replaces the default one of lo and docker",
    ),
    rule(
        "ifname_named",
        "ifname_set if_missing",
        CANDIDATE,
        "vars_wrong",
        "two facts: a name that was set, and no interface",
    ),
    rule(
        "names_differ",
        "names_differ ifname_set|if_missing|nccl_internal|connect_timeout|hang",
        CANDIDATE,
        "vars_wrong wrong_interface",
        "NCCL documentation: interfaces with other names on other hosts want a list or a file per host",
    ),
    rule("policy_drop", "policy_drop", CANDIDATE, "firewall", "iptables(8), nft(8)"),
    rule(
        "kernel_sockets",
        "kernel_sockets",
        CANDIDATE,
        "limits_host wrong_interface firewall",
        "kernel: Documentation/networking/ip-sysctl",
    ),
    rule(
        "limit_asked",
        "limit_asked !memlock_unlimited|reg_mr_enomem|create_enomem|memlock_small",
        CANDIDATE,
        "memlock_host container_memlock",
        "Slurm and ssh hand on other limits than those of a login",
    ),
    rule(
        "across_hosts",
        "gpu_hangs_alone hang|watchdog|remote_closed|connect_timeout|connect_refused|prrte",
        CANDIDATE,
        "wrong_interface firewall no_path_between_nics launch_failed",
        "one host works, two do not: what lies between them",
    ),
)
