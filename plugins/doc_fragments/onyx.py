# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Options and attributes of modules that talk to an Onyx switch."""

    DOCUMENTATION = r"""
requirements:
  - netmiko >= 4.8 with paramiko 4 (C(netmiko[par4])) where the module runs, usually the controller
options:
  hostname:
    description:
      - Address of the switch's management port. Logging in has no effect on traffic.
      - The environment variable E(ONYX_HOST) is used if this is not set.
    type: str
    required: true
  port:
    description: TCP port of the switch's SSH server. No effect on traffic.
    type: int
    default: 22
  username:
    description:
      - User with the C(admin) capability; one that needs no enable password. No effect on traffic.
      - The environment variable E(ONYX_USER) is used if this is not set.
    type: str
    required: true
  password:
    description:
      - Password of O(username). It is never logged or returned. No effect on traffic.
      - The environment variable E(ONYX_PASSWORD) is used if this is not set.
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
      - Seconds of silence after which the switch counts as not answering.
      - Holds for the connection, the login and each command.
      - If it is over, the module stops and does not know whether the line under way still takes effect; run it again.
        It has no effect on traffic of its own.
    type: int
    default: 30
"""

    ATTRIBUTES = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/rocemesh.multinode.onyx) in C(module_defaults) to set the login of the switch once.
    support: full
    membership:
      - rocemesh.multinode.onyx
  check_mode:
    description: Can run in C(check_mode) and return the exact commands without sending one of them.
    support: full
  diff_mode:
    description: Returns what has changed, or would change, in diff format.
    support: full
"""
