from __future__ import annotations


class ModuleDocFragment:
    """Options and attributes of modules that only read a switch, through commands over SSH."""

    DOCUMENTATION = r"""
options:
  hostname:
    description: Address of the switch's management port. Logging in has no effect on traffic.
    type: str
    required: true
  username:
    description: User who may read. No effect on traffic.
    type: str
    required: true
  password:
    description: Password of O(username). It is never logged or returned. No effect on traffic.
    type: str
    required: true
  mode:
    description:
      - What ought to be, V(lossless) (PFC and ECN on O(priority)), V(lossy) (ECN alone) or V(absent). Something else
        becomes one of RV(switch). What only systems with RoCE modes of their own have is refused.
      - If it is not set, anything is right and only contradictions are problems. No effect on traffic.
    type: str
    choices: [lossless, semi-lossless, lossy, lossless-single-ipool, lossy-multi-tc, dci-1, dci-custom, absent]
  vlan:
    description:
      - The VLAN that access ports have to be in, and that trunks have to carry. Any if it is not set. No effect on
        traffic.
    type: int
  mtu:
    description:
      - The least MTU in bytes of the ports, that of the hosts. A larger one is right. Any if it is not set. No effect
        on traffic.
    type: int
  port_mode:
    description:
      - What the ports have to be, access ports, trunks, or routed ports with an address each. Any if it is not set. No
        effect on traffic.
    type: str
    choices: [access, trunk, routed]
"""
