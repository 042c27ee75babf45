from __future__ import annotations


class ModuleDocFragment:
    """Options and attributes of modules that talk to a switch."""

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
notes:
  - A failure returns C(error_code), one of V(refused), V(credentials), V(unreachable), V(unknown_format),
    V(apply_failed) and V(not_in_force), with Cumulus Linux also V(conflict) and V(not_found).
"""

    GROUP = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/rocemesh.multinode.switch) in C(module_defaults) to set the login of the switch once.
    support: full
    membership:
      - rocemesh.multinode.switch
"""

    CHANGES = r"""
options: {}
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
