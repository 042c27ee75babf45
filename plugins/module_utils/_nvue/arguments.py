"""The options of the login, which all Cumulus modules share; documented in the fragment ``cumulus``."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.parameters import env_fallback

from .rest import Endpoint

PORT = 8765


def _from_environment(variable: str, **rest_of_it: object) -> dict[str, object]:
    return {"fallback": (env_fallback, [variable]), **rest_of_it}


LOGIN: dict[str, dict[str, object]] = {
    "hostname": _from_environment("CUMULUS_HOST", type="str", required=True),
    "port": {"type": "int", "default": PORT},
    "username": _from_environment("CUMULUS_USER", type="str", required=True),
    "password": _from_environment("CUMULUS_PASSWORD", type="str", required=True, no_log=True),
    "validate_certs": _from_environment("CUMULUS_VALIDATE_CERTS", type="bool", default=True),
    "ca_path": _from_environment("CUMULUS_CA_PATH", type="path"),
    "timeout": {"type": "int", "default": 30},
}


def endpoint(module: AnsibleModule) -> Endpoint:
    """Where and how to log in. Ansible masks the password by itself, and from here on the login made of it."""
    params = module.params
    result = Endpoint(host=params["hostname"], **{name: params[name] for name in LOGIN if name != "hostname"})
    module.no_log_values.add(result.token)
    return result
