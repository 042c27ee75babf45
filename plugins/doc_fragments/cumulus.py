from __future__ import annotations


class ModuleDocFragment:
    """Options and attributes of modules that talk to a Cumulus switch."""

    DOCUMENTATION = r"""
options:
  hostname:
    description:
      - Address of the switch's management port, a name that its certificate carries.
      - Logging in has no effect on traffic.
      - The environment variable E(CUMULUS_HOST) is used if this is not set.
    type: str
    required: true
  port:
    description:
      - TCP port.
      - That of NVUE's REST API, which is on since 5.6; before that nginx has to be set up for it. No effect on traffic.
    type: int
    default: 8765
  username:
    description:
      - User in the group C(nvapply). Check mode needs C(nvshow) only. No effect on traffic.
      - The environment variable E(CUMULUS_USER) is used if this is not set.
    type: str
    required: true
  password:
    description:
      - Password of O(username). It is never logged or returned. No effect on traffic.
      - The environment variable E(CUMULUS_PASSWORD) is used if this is not set.
    type: str
    required: true
  validate_certs:
    description:
      - Whether the switch's certificate must verify.
      - Without it anybody who can answer at O(hostname) gets the password. No effect on traffic.
      - The environment variable E(CUMULUS_VALIDATE_CERTS) is used if this is not set.
    type: bool
    default: true
  ca_path:
    description:
      - PEM file with the CA certificates to verify the switch with, on the machine that runs the module. For a switch
        that signed its own certificate that certificate itself, on the switch C(/etc/ssl/certs/cumulus.pem).
      - The system's CA certificates are used if this is not set. No effect on traffic.
      - The environment variable E(CUMULUS_CA_PATH) is used if this is not set.
    type: path
  timeout:
    description:
      - Seconds after which the switch counts as not answering.
      - Holds for the connection, the login and each request, not for the time that applying a change takes.
      - If it is over, the module stops; run it again, it reads what is there. No effect on traffic of its own.
    type: int
    default: 30
"""

    GROUP = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/rocemesh.multinode.cumulus) in C(module_defaults) to set the login of the switch once.
    support: full
    membership:
      - rocemesh.multinode.cumulus
  check_mode:
    description:
      - Can run in C(check_mode) and return the exact changes without sending one of them.
      - Only reading requests are sent. A revision is not even staged, because it would have to be deleted again, and no
        release of Cumulus Linux documents that it can do that.
    support: full
  diff_mode:
    description: Returns what has changed, or would change, in diff format.
    support: full
"""
