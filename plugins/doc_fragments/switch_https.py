from __future__ import annotations


class ModuleDocFragment:
    """How a switch is reached over HTTPS."""

    DOCUMENTATION = r"""
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
