from __future__ import annotations


class ModuleDocFragment:
    """Options and attributes of modules that talk to a switch, in the same words for every system."""

    DOCUMENTATION = r"""
options:
  hostname:
    description:
      - Address of the switch's management port. With Cumulus Linux it is a name that the switch's certificate carries.
        Logging in has no effect on traffic.
      - The environment variable E(SWITCH_HOST) is used if this is not set.
    type: str
    required: true
  username:
    description:
      - Name of the account. No effect on traffic.
      - A user with the C(admin) capability that needs no enable password on Onyx. A user in the group C(nvapply) on
        Cumulus Linux; C(nvshow) is enough to read and for check mode.
      - The environment variable E(SWITCH_USER) is used if this is not set.
    type: str
    required: true
  password:
    description:
      - Password of O(username). It is never logged or returned. No effect on traffic.
      - The environment variable E(SWITCH_PASSWORD) is used if this is not set.
    type: str
    required: true
  timeout:
    description:
      - Seconds after which a switch that sends nothing counts as not answering.
      - It limits the connection, the login and each command or request, not the time that applying a change takes.
      - If it is over, the module stops. A module that changes something does not know whether the line under way still
        takes effect; run it again. It has no effect on traffic of its own.
    type: int
    default: 30
attributes:
  action_group:
    description: Use C(group/rocemesh.multinode.switch) in C(module_defaults) to set the login of the switch once.
    support: full
    membership:
      - rocemesh.multinode.switch
notes:
  - A failure returns C(error_code), one of V(refused), V(credentials), V(unreachable), V(unknown_format),
    V(apply_failed) and V(not_in_force), with Cumulus Linux also V(conflict) and V(not_found).
"""

    CHANGES = r"""
options:
  vlan:
    description:
      - Number of the VLAN for RDMA traffic, 1 to 4094. It is created if it does not exist, as a layer 2 VLAN.
      - Creating it disturbs no traffic; ports that change their VLAN leave the old one.
      - VLANs and port modes are left alone if this is not set.
    type: int
  ports:
    description:
      - Ports that become what O(port_mode) says and get O(mtu), as ports and ranges, such as V(1/1-1/4), V(1/9),
        V(1/10/1-1/10/2) on Onyx and V(swp1-4), V(swp9), V(swp10s0-3) on Cumulus Linux.
      - A range stays within one slot, one kind of ports or one split port, and all of its ports must exist.
      - Only ports that differ are touched. A port that changes its VLAN loses its traffic for a moment, and its link
        may bounce.
    type: list
    elements: str
    default: []
  mtu:
    description:
      - MTU of O(ports) in bytes, 1500 to 9216. Use 9216 for hosts with 9000. Left alone if this is not set.
      - A port whose MTU differs may lose its link for a moment, unless it is shut down.
    type: int
  allow_mode_change:
    description:
      - Ports that may become what O(port_mode) says although they are in use in another way now (VLANs of a trunk or
        hybrid port, addresses, another bridge), as a list of ports and ranges; V(true) for all of O(ports). They lose
        the VLANs or addresses that they carry.
      - Members of a port-channel or bond and ports with subinterfaces are always refused. Ports that carry nothing need
        no permission.
    type: raw
    default: false
  restore:
    description:
      - Settings that an earlier run of this module changed get their values from before that run. O(mode), O(ports) and
        O(svi) are ignored. A port that was a trunk, hybrid or routed port becomes one again.
      - A setting goes back only while it has the value that the earlier run gave it. Any other value stays and is in
        C(left_alone), as do a VLAN and a bridge that another port uses.
      - Taking back a change disturbs the same traffic as the change did. If it is not set, the switch gets what the
        other options say.
    type: dict
  port_mode:
    description:
      - What O(ports) become - access ports of O(vlan), trunks that carry it tagged, or routed ports with O(addresses).
      - A port that changes its mode loses what it carries, and its link may bounce. A trunk that gets the VLAN keeps
        what it carries.
      - V(routed) takes no O(vlan). Routing protocols and VRFs of the ports are left as they are.
    type: str
    choices: [access, trunk, routed]
    default: access
  addresses:
    description:
      - Of routed ports, by port, an address or a list of addresses, each with its prefix length, such as
        V(192.0.2.0/31). Every port of O(ports) needs one, in a network of its own.
      - A port loses its other addresses, and the traffic over them. That needs O(allow_mode_change).
    type: dict
    default: {}
  svi:
    description:
      - Whether to create the layer 3 interface of the VLAN too. An isolated RDMA network does not need one.
      - V(false) does not remove an existing one. Creating it does not disturb traffic.
    type: bool
    default: false
  priority:
    description:
      - The priority of RoCE traffic, 0 to 7, on which PFC and ECN have to be in force. The RoCE modes use 3; a site
        that has moved RoCE to another one says so here. Nothing is moved, so that this has no effect on traffic.
    type: int
    default: 3
  expected_neighbors:
    description:
      - Names of the hosts that may be behind a port that is changed, as LLDP announces them, with shell patterns such
        as V(gpu*), without regard to case. A name without a dot fits that host in any domain.
      - If it is not empty, a port that has a link is refused, before anything is sent, unless all its neighbors fit;
        also if no neighbor announces itself there. Ports without a link, and ports as wanted, are not looked at.
      - If it is empty, a neighbor that calls itself a router or a bridge is a warning.
      - It guards the port settings. A change of the RoCE mode concerns every port, see O(allow_disruption).
    type: list
    elements: str
    default: []
  allow_unexpected_neighbors:
    description:
      - Ports that may be changed whatever is behind them, as a list of ports and ranges; V(true) for all of O(ports).
      - Whatever is behind such a port may lose its link for a moment, and its VLAN for good.
    type: raw
    default: false
  allow_disruption:
    description:
      - How far the changes may reach. What reaches further is refused before anything is sent, in check mode too.
      - V(any) allows a change of the RoCE mode, which may disturb every port of the switch.
      - V(requested_ports) allows that only if no port outside O(ports) has a link.
      - V(none) allows only what disturbs no traffic, such as creating the VLAN.
    type: str
    choices: [any, requested_ports, none]
    default: requested_ports
  save:
    description:
      - When to write the configuration, after the verification. Saving disturbs no traffic.
      - V(when_clean) saves unless another user's changes are unsaved, be it since before this run or made while it
        worked, because saving would write those as well. Unsaved settings that belong to this request, left by a run
        that was interrupted, are no obstacle.
      - V(always) saves in any case, even if the only difference is that another user's changes are unsaved.
      - V(never) does not save. A restart of the switch then takes the changes back, unless it saves by itself (Cumulus
        Linux does since 5.9); the module then warns.
    type: str
    choices: [when_clean, always, never]
    default: when_clean
  wait_for_links:
    description:
      - Seconds to wait for links that were up before and that this run touched. The module fails, unsaved, if one of
        them does not come back.
      - V(0) does not wait and only warns. Waiting itself has no effect on traffic.
    type: int
    default: 60
attributes:
  check_mode:
    description:
      - Can run in C(check_mode) and return the exact changes without sending one of them. Cumulus Linux does not even
        stage a revision then, because it would have to be deleted again, and no release documents that it can do that.
    support: full
notes:
  - C(command) of C(operations) has lines of the switch's command line, separated by line breaks. The API of Cumulus
    Linux gets the equivalent trees, all of them in one revision, and C(undo) takes effect there with
    C(nv config apply).
"""

    SSH = r"""
requirements:
  - netmiko >= 4.8 with paramiko 4 (C(netmiko[par4])) where the module runs, to reach a switch over SSH
options:
  known_hosts:
    description:
      - File with the switch's host key, in the format of OpenSSH. No effect on traffic.
      - The known hosts of the user who runs the module are used if this is not set.
    type: path
  host_key_checking:
    description:
      - Whether to refuse a switch whose host key is not in O(known_hosts).
      - Without it anybody who can answer at O(hostname) gets the password. No effect on traffic.
    type: bool
    default: true
"""

    HTTPS = r"""
options:
  validate_certs:
    description:
      - Whether the switch's certificate must verify.
      - Without it anybody who can answer at O(hostname) gets the password. No effect on traffic.
      - The environment variable E(SWITCH_VALIDATE_CERTS) is used if this is not set.
    type: bool
    default: true
  ca_path:
    description:
      - PEM file with the CA certificates to verify the switch with, on the machine that runs the module. For a switch
        that signed its own certificate that certificate itself, on the switch C(/etc/ssl/certs/cumulus.pem).
      - The system's CA certificates are used if this is not set. No effect on traffic.
      - The environment variable E(SWITCH_CA_PATH) is used if this is not set.
    type: path
"""
