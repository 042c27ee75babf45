from __future__ import annotations


class ModuleDocFragment:
    """What is asked of a switch in the same words, whatever its operating system."""

    DOCUMENTATION = r"""
options:
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
"""
