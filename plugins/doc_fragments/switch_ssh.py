from __future__ import annotations


class ModuleDocFragment:
    """How a switch is reached over SSH."""

    DOCUMENTATION = r"""
requirements:
  - netmiko >= 4.8 with paramiko 4 (C(netmiko[par4])) where the module runs, usually the controller
options:
  port:
    description: TCP port of the switch's SSH server. No effect on traffic.
    type: int
    default: 22
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
      - If it is over, the module stops. One that changes something does not know whether the line under way still takes
        effect; run it again. It has no effect on traffic of its own.
    type: int
    default: 30
"""

    LOOK = r"""
options:
  ports:
    description:
      - The ports to look at, as the switch calls them, and ranges of them that count up the last number.
      - All ports if this is empty. A port that does not exist is an error. No effect on traffic.
    type: list
    elements: str
    default: []
  priority:
    description: The priority of RoCE traffic, 0 to 7, on which PFC and ECN ought to be in force. No effect on traffic.
    type: int
    default: 3
"""
