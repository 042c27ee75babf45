from __future__ import annotations


class ModuleDocFragment:
    """How a switch is reached over SSH."""

    DOCUMENTATION = r"""
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
