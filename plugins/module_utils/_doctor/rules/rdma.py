# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA work requests and the GIDs that they use: completion codes, GID table, QP set-up. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, ECHO, FACT, GOOD, LIKELY, Cause, rule, sign

_WC = "rdma-core: enum ibv_wc_status in libibverbs/verbs.h; "
_NCCL = "NCCL source: src/transport/net_ib, src/misc/ibvwrap.cc"

CAUSES = (
    Cause(
        "gid_wrong",
        "rdma_gid",
        "The GID index in use is not the routable RoCE v2 one (IPv4 or global IPv6), so packets cannot reach the peer.",
        "on both hosts of the pair that is named",
        "show_gids (or grep -H . /sys/class/infiniband/*/ports/1/gid_attrs/types/*); compare with NCCL_IB_GID_INDEX",
        "NCCL >= 2.21: leave NCCL_IB_GID_INDEX unset; older: the index of the RoCE v2 row with the cluster address",
        "NCCL environment documentation, NCCL_IB_GID_INDEX; NVIDIA RoCE documentation, show_gids",
        role="run",
    ),
    Cause(
        "gid_moved",
        "rdma_gid",
        "The GID table was renumbered (address or port event), and a pinned or remembered index "
        "points to nothing or to "
        "another GID.",
        "on the host that complains",
        "show_gids now, and dmesg or ip monitor for the time of the change",
        "do not pin NCCL_IB_GID_INDEX (NCCL >= 2.21 chooses by address); start the job again, a "
        "running one does not "
        "read the table again",
        "kernel: drivers/infiniband/core/roce_gid_mgmt.c adds and removes GIDs at address events",
        role="run",
    ),
    Cause(
        "gid_sparse",
        "rdma_gid",
        "Low indexes of the GID table are empty (a VF or macvlan in a pod or network namespace), "
        "and NCCL reads the "
        "kind of a GID that does not exist.",
        "in the container of the rank",
        "grep -H . /sys/class/infiniband/*/ports/1/gids/* | grep -v 0000:0000:0000:0000:0000:0000:0000:0000",
        "a NCCL that skips empty indexes, or NCCL_IB_GID_INDEX set for each container to a row that exists",
        "kernel: reading gid_attrs/types of an empty index gives EINVAL",
        role="run",
    ),
    Cause(
        "no_path_between_nics",
        "fabric_routing",
        "The two NICs have no way to each other: rails that are not joined, no route between "
        "their subnets, another VLAN.",
        "between the two addresses that are named, from the NIC that is named",
        "ping -I ADDRESS_OF_NIC PEER_ADDRESS, then ib_write_bw -d DEVICE -x INDEX PEER between just these two NICs",
        "join the rails (routes between the subnets), or keep to rails: NCCL_CROSS_NIC=0 and PXN",
        "NCCL documentation, NCCL_CROSS_NIC; the kernel resolves the peer's MAC when a QP goes to RTR",
    ),
    Cause(
        "host_out_of_reach",
        "host_routing",
        "The host has no neighbour entry or route for the peer's RoCE address, or takes another "
        "interface for it (several "
        "interfaces in one subnet: ARP answers come from the wrong one).",
        "on the host that complains",
        "ip route get PEER from ADDRESS_OF_NIC; ip neigh; sysctl net.ipv4.conf.all.arp_ignore "
        "net.ipv4.conf.all.arp_announce",
        "one subnet per NIC, or source routes with arp_ignore=1 and arp_announce=2",
        "kernel: Documentation/networking/ip-sysctl, arp_ignore, arp_announce",
    ),
)

SIGNS = (
    # ibv_devinfo, ibstat, ibv_devices.
    sign(
        "node_guid_zero",
        r"\bnode[_ ]guid:?\s+(?:0x)?0{4}:?0{4}:?0{4}:?0{4}\b|^\s*(?:mlx[45]|bnxt_re|irdma)\w*\s+0{16}\s*$"
        r"|\bnode[_ ]guid\b.{0,40}\b(?:zeros?|not set|unset|empty|all 0)",
    ),
    sign(
        "wc_retry_exceeded",
        r"got completion.*?(?:status=|error )12\b|IBV_WC_RETRY_EXC_ERR"
        r"|transport[ _]retry[ _](?:count(?:er)?[ _])?exc(?:eeded|_ERR)|failed status (?:12"
        r"|transport retry counter exceeded)|IBV_WC_RESP_TIMEOUT|completion with error 12\b"
        r"|TRANSPORT_RETRY_EXC|status number 12\b|(?<!NOT READY )RETRY EXCEEDED ERROR",
    ),
    sign(
        "wc_rnr_exceeded",
        r"got completion.*?(?:status=|error )13\b|IBV_WC_RNR_RETRY_EXC_ERR|RNR retry counter exceeded"
        r"|status number 13\b",
    ),
    sign(
        "wc_loc_prot",
        r"got completion.*?(?:status=|error )4\b|IBV_WC_LOC_PROT_ERR|local protection error"
        r"|failed status 4\b",
    ),
    sign("wc_flush", r"got completion.*?(?:status=|error )5\b|IBV_WC_WR_FLUSH_ERR|work request flushed", ECHO),
    sign("wc_loc_len", r"got completion.*?(?:status=|error )1\b|IBV_WC_LOC_LEN_ERR|local length error"),
    sign("wc_loc_qp", r"got completion.*?(?:status=|error )2\b|IBV_WC_LOC_QP_OP_ERR|local qp operation error"),
    sign("wc_rem_access", r"got completion.*?(?:status=|error )10\b|IBV_WC_REM_ACCESS_ERR|remote access error"),
    sign("wc_rem_op", r"got completion.*?(?:status=|error )11\b|IBV_WC_REM_OP_ERR|remote operation error"),
    sign("wc_rem_inv", r"got completion.*?(?:status=|error )9\b|IBV_WC_REM_INV_REQ_ERR|remote invalid request"),
    sign("wc_general", r"got completion.*?(?:status=|error )(?:21|22)\b|IBV_WC_GENERAL_ERR|IBV_WC_FATAL_ERR"),
    sign(
        "qp_access_event",
        r"async event ?: ?(?:local access violation|local work queue catastrophic|QP access)"
        r"|IBV_EVENT_QP_(?:FATAL|ACCESS_ERR|REQ_ERR)|local access violation work queue error",
    ),
    sign(
        "modify_qp_timeout",
        r"ibv_modify_qp\b.*?(?:\b110\b|connection timed out|timed out|timeout)|modify_qp.*ETIMEDOUT"
        r"|failed to modify QP\b.*timed out",
    ),
    sign("modify_qp_unreachable", r"ibv_modify_qp\b.*?(?:network is unreachable|\b101\b|no route to host|\b113\b)"),
    sign("modify_qp_no_data", r"ibv_modify_qp\b.*?(?:\b61\b|no data available)|modify_qp.*ENODATA"),
    sign("modify_qp_invalid", r"ibv_modify_qp\b.*?(?:\b22\b|invalid argument)|modify_qp.*EINVAL"),
    sign("modify_qp_no_device", r"ibv_modify_qp\b.*?(?:no such device|\b19\b|ENODEV)"),
    sign("mixed_link_layers", r"NET/IB ?: ?Using .*(?:/IB\b.*/RoCE|/RoCE\b.*/IB\b)", FACT),
    sign(
        "modify_qp_other",
        # perftest, Mooncake and others name the state; perftest gives up with the second line.
        r"(?:call to )?ibv_modify_qp failed|failed to modify QP\b.{0,20}\bto (?:INIT|RTR|RTS)\b(?!.*timed out)"
        r"|Unable to Connect the HCA's",
    ),
    sign(
        "gid_query_failed",
        r"ibv_query_gid\b.*fail|failed to query gid|unable to query gid|Failed to get GID"
        r"|ncclIbRoceGetVersionNum|no (?:suitable |usable |matching )?GID found"
        r"|could not find.*\bgid\b|no valid gid|invalid gid"
        r"|gid index.*(?:invalid|not (?:exist|found|valid)|out of range|does not exist)"
        r"|gid_attrs/types/\S+.*(?:invalid argument|no such file)",
    ),
    sign(
        "gid_changed",
        r"IBV_EVENT_GID_CHANGE|\bgid[ _](?:index|idx|table)\b.*\b(?:chang\w+|renumber\w+|shift\w+"
        r"|mov(?:ed|es)|drift\w*|re-?order\w*|differ\w*)|(?:chang|renumber|shift|drift"
        r"|re-?order)\w* .{0,40}\bgid|\bgid\b.*\bdrift|index \d+ ?(?:->|=>|→"
        r"|to) ?\d+\b.*(?:observed|drift|gid|minutes|min\b)|gid \S+ (?:disappeared|vanished|gone"
        r"|removed)",
    ),
    sign("gid_mention", r"NCCL_IB_GID_INDEX\s*[= ]\s*(?P<value>\d+)", FACT),
    sign(
        "gid_link_local",
        r"(?:local|remote) ?gids? ?fe80:|\b[ds]gid fe80:|GID_Index \d+\) ?fe:?80|all gids? .*(?:link-local|fe80)"
        r"|(?:local"
        r"|remote) GID fe80|\bgid\b.{0,30}\bfe80::|only link-local|link-local gid",
        FACT,
    ),
    sign("gid_rocev1", r"\bRoCE ?v1\b|GID index \d+ .{0,20}v1\b|IB/RoCE v1", FACT),
    sign("completion_peer_fe80", r"got completion.*(?:localGid|peer) ?fe80", FACT),
    sign(
        "nic_pair_other_subnet",
        r"subnets?\b.*(?:differ|not the same|other subnet)|different subnets?|(?:not"
        r"|no)\b.{0,30}(?:route|routing|connectivity|reachab\w+).{0,30}(?:between"
        r"|across).{0,20}(?:rails?|subnets?|nics?)|rails? .*(?:not (?:connected|joined|routed)"
        r"|isolated)",
    ),
    sign("cross_rail", r"cross[- ]?rails?|NCCL_CROSS_NIC\s*[= ]\s*[12]|between NIC ?\d+ .*NIC ?\d+", FACT),
    sign(
        "ib_port_not_active",
        r"\bstate:?\s+(?:\d: )?(?:PORT_)?(?:DOWN|INIT|INITIALIZING|ARMED)\b|port_state.*DOWN"
        r"|state: ?PORT_DOWN|phys_state:?\s+(?:\d: )?(?:Disabled|Polling|Sleep)"
        r"|physical state: ?(?:Disabled|Polling)|NET/IB : (?:No active ports?"
        r"|Port \d+ (?:is )?(?:down|not active))|port .*(?:is )?not active",
    ),
    sign("ib_port_active", r"\bstate:\s+(?:\d: )?(?:PORT_)?ACTIVE\b|port_state: ?PORT_ACTIVE", kind=GOOD),
)

RULES = (
    rule(
        "vf_guid",
        "node_guid_zero",
        CANDIDATE,
        "vf_without_guid guest_ofed_mismatch",
        "rdma-core: librdmacm finds a device by its node GUID; mlx5: whoever makes a VF has to set it",
    ),
    rule(
        "vf_guid_seen",
        "node_guid_zero create_failed|mr_refused|rdma_cm_failed|reg_mr_enomem|no_hca_host",
        CANDIDATE,
        "vf_without_guid",
        "two facts: a function without a node GUID, and what fails on it",
    ),
    rule(
        "retry_exceeded",
        "wc_retry_exceeded",
        CANDIDATE,
        "gid_wrong link_faulty no_path_between_nics nic_qos_differs mtu_differs",
        _WC + "12: the peer never acknowledged; " + _NCCL,
    ),
    rule(
        "retry_roce",
        "wc_retry_exceeded ethernet_wanted !gid_link_local|completion_peer_fe80|gids_link_local_only",
        CANDIDATE,
        "nic_qos_differs gid_wrong switch_pfc",
        "RoCE drops packets where the path is not lossless; InfiniBand does not",
    ),
    rule(
        "retry_link_local",
        "wc_retry_exceeded|modify_qp_timeout|modify_qp_unreachable"
        "|modify_qp_other gid_link_local|completion_peer_fe80|gids_link_local_only",
        CANDIDATE,
        "gid_wrong",
        "RFC 4291 2.5.6: a link-local address is not routed, and NCCL before 2.21 takes index 0",
    ),
    rule(
        "retry_link_local_only_here",
        "wc_retry_exceeded gid_link_local gids_routable !ib_port_not_active|link_down|mtu_said_different",
        LIKELY,
        "gid_wrong",
        "three facts: nobody acknowledges, the connection's GID is link-local, and the table has a routable one",
    ),
    rule(
        "retry_link_down",
        "wc_retry_exceeded link_flap|ib_port_not_active|link_down",
        CANDIDATE,
        "link_faulty",
        "without a link nobody acknowledges",
    ),
    rule(
        "rnr_exceeded",
        "wc_rnr_exceeded",
        CANDIDATE,
        "peer_process_gone gdr_broken nic_qos_differs",
        _WC + "13: the peer had no receive posted: its process is stuck or gone",
    ),
    rule(
        "local_protection",
        "wc_loc_prot",
        CANDIDATE,
        "acs_redirects gdr_broken peermem_abi",
        _WC + "4: the NIC may not reach the buffer; vendor 81 of mlx5 is a local protection error. ACS "
        "first: NCCL troubleshooting, PCI Access Control Services",
    ),
    rule(
        "flushed",
        "wc_flush|qp_access_event",
        CANDIDATE,
        "acs_redirects mtu_differs gid_wrong",
        _WC + "5: flushed because the QP had failed before; the first error is elsewhere",
    ),
    rule(
        "length",
        "wc_loc_len",
        CANDIDATE,
        "mtu_differs nccl_mixed app_collective_mismatch",
        _WC + "1: more data than the receive holds: messages of another size, or QPs with different path MTUs",
    ),
    rule(
        "length_mtu",
        "wc_loc_len|wc_flush|wc_retry_exceeded mtu_said_different",
        LIKELY,
        "mtu_differs",
        "two facts: the error, and MTUs that differ",
    ),
    rule(
        "local_qp",
        "wc_loc_qp",
        CANDIDATE,
        "nic_firmware_fault gdr_broken mtu_differs",
        _WC + "2: inconsistency of the QP",
    ),
    rule(
        "remote_access",
        "wc_rem_access|wc_rem_op|wc_rem_inv",
        CANDIDATE,
        "acs_redirects gdr_broken nccl_mixed peer_process_gone",
        _WC + "9 to 11: the peer's NIC refused or failed the access to its memory",
    ),
    rule("general", "wc_general", CANDIDATE, "nic_firmware_fault gdr_broken link_faulty", _WC + "21, 22"),
    rule(
        "qp_timeout",
        "modify_qp_timeout",
        CANDIDATE,
        "no_path_between_nics gid_wrong link_faulty host_out_of_reach",
        "kernel: rdma_resolve of the peer's MAC fails with ETIMEDOUT when nobody answers ARP or ND",
    ),
    rule(
        "qp_unreachable",
        "modify_qp_unreachable",
        CANDIDATE,
        "host_out_of_reach gid_wrong no_path_between_nics",
        "kernel: no route to the remote GID's address from the local one",
    ),
    rule(
        "qp_no_data",
        "modify_qp_no_data",
        CANDIDATE,
        "gid_moved gid_wrong gid_sparse",
        "kernel: ENODATA, the GID at this index is gone (rdma_get_gid_attr)",
    ),
    rule(
        "qp_invalid",
        "modify_qp_invalid",
        CANDIDATE,
        "gid_wrong mtu_differs gid_sparse",
        "kernel: EINVAL: GIDs of different kinds, an index without GID, or a path MTU above the port's",
    ),
    rule(
        "qp_other",
        "modify_qp_other !modify_qp_no_device|modify_qp_timeout|modify_qp_unreachable"
        "|modify_qp_no_data|modify_qp_invalid",
        CANDIDATE,
        "gid_wrong no_path_between_nics mtu_differs",
        _NCCL,
    ),
    rule(
        "qp_no_device",
        "modify_qp_no_device",
        CANDIDATE,
        "vars_wrong guest_ofed_mismatch container_devices gid_wrong",
        "errno ENODEV: the port or GID of this device cannot be used; NCCL_IB_HCA chooses devices",
    ),
    rule(
        "link_layers",
        "mixed_link_layers modify_qp_other|modify_qp_invalid|modify_qp_no_device"
        "|modify_qp_timeout|wc_retry_exceeded|hang|slow",
        CANDIDATE,
        "vars_wrong nccl_bug",
        "a RoCE port cannot talk to an InfiniBand port: NCCL_IB_HCA has to leave one kind out",
    ),
    rule(
        "gid_table",
        "gid_query_failed",
        CANDIDATE,
        "gid_sparse gid_wrong",
        "kernel: gid_attrs of an empty index cannot be read",
    ),
    rule("gid_drift", "gid_changed", CANDIDATE, "gid_moved", "kernel: drivers/infiniband/core/roce_gid_mgmt.c"),
    rule(
        "gids_local",
        "gids_link_local_only|gids_v1_only",
        CANDIDATE,
        "gid_wrong",
        "RFC 4291; RoCE v1 has no IP header and is not routed",
    ),
    rule(
        "rails",
        "modify_qp_timeout|modify_qp_other|wc_retry_exceeded|hang nic_pair_other_subnet|cross_rail",
        CANDIDATE,
        "no_path_between_nics",
        "two facts: a QP that fails, and NICs of different rails or subnets",
    ),
    rule(
        "rails_said",
        "nic_pair_other_subnet",
        CANDIDATE,
        "no_path_between_nics host_out_of_reach",
        "IP: a route is needed between subnets",
    ),
    rule(
        "port_inactive",
        "ib_port_not_active",
        CANDIDATE,
        "link_faulty switch_port_off gid_wrong",
        "verbs: a port carries traffic in state ACTIVE only",
    ),
)
