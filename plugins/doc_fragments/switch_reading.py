# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Options and attributes of modules that only read a switch, through commands over SSH."""

    DOCUMENTATION = r"""
requirements:
  - netmiko >= 4.8 with paramiko 4 (C(netmiko[par4])) where the module runs, usually the controller
options:
  hostname:
    description: Address of the switch's management port. Logging in has no effect on traffic.
    type: str
    required: true
  port:
    description: TCP port of the switch's SSH server. No effect on traffic.
    type: int
    default: 22
  username:
    description: User who may read. No effect on traffic.
    type: str
    required: true
  password:
    description: Password of O(username). It is never logged or returned. No effect on traffic.
    type: str
    required: true
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
  timeout:
    description:
      - Seconds of silence after which the switch counts as not answering, for the login and each command.
      - No effect on traffic.
    type: int
    default: 30
  ports:
    description:
      - The ports to look at, as the switch calls them; a range counts up the last number.
      - All ports if this is empty. A port that does not exist is an error. No effect on traffic.
    type: list
    elements: str
    default: []
  mode:
    description:
      - What ought to be, V(lossless) (PFC and ECN on O(priority)), V(lossy) (ECN alone) or V(absent). Something else
        becomes one of RV(problems). What only systems with RoCE modes of their own have is refused.
      - If it is not set, anything is right and only contradictions are problems. No effect on traffic.
    type: str
    choices: [lossless, semi-lossless, lossy, lossless-single-ipool, lossy-multi-tc, dci-1, dci-custom, absent]
  priority:
    description: The priority of RoCE traffic, 0 to 7, on which PFC and ECN ought to be. No effect on traffic.
    type: int
    default: 3
  vlan:
    description: The VLAN that the ports ought to be access ports of. Any if it is not set. No effect on traffic.
    type: int
  mtu:
    description: The MTU in bytes that the ports ought to have. Any if it is not set. No effect on traffic.
    type: int
"""

    ATTRIBUTES = r"""
options: {}
attributes:
  check_mode:
    description: The module never changes anything.
    support: full
  diff_mode:
    description: The module never changes anything.
    support: none
"""
