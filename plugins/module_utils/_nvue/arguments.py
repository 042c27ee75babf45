"""The options of a login over HTTPS; documented in the fragment ``switch.https``."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.parameters import env_fallback

from .._switch.request import check_login
from .rest import Endpoint

PORT = 8765
TLS: dict[str, dict[str, object]] = {
    "validate_certs": {"type": "bool", "default": True, "fallback": (env_fallback, ["SWITCH_VALIDATE_CERTS"])},
    "ca_path": {"type": "path", "fallback": (env_fallback, ["SWITCH_CA_PATH"])},
}


def endpoint(module: AnsibleModule) -> Endpoint:
    """Where and how to log in, which Ansible masks from here on. Raises `RefusedError` for what cannot be."""
    params = module.params
    check_login(params)
    names = ("username", "password", "timeout", *TLS)
    result = Endpoint(host=params["hostname"], port=params["port"] or PORT, **{name: params[name] for name in names})
    module.no_log_values.add(result.token)
    return result
