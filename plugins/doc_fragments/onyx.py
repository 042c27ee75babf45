from __future__ import annotations


class ModuleDocFragment:
    """Options and attributes of modules that talk to an Onyx switch."""

    DOCUMENTATION = r"""
options:
  hostname:
    description:
      - Address of the switch's management port. Logging in has no effect on traffic.
      - The environment variable E(ONYX_HOST) is used if this is not set.
    type: str
    required: true
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
"""

    GROUP = r"""
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
