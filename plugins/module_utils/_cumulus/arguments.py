# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the login, which all Cumulus modules share; documented in the fragment ``cumulus``.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible.module_utils.common.parameters import env_fallback

from .rest import Endpoint

if TYPE_CHECKING:
    from .ssh import SshShell

PORTS = {"nvue": 8765, "nclu": 22}


def _from_environment(variable: str, **rest_of_it: object) -> dict[str, object]:
    return {"fallback": (env_fallback, [variable]), **rest_of_it}


LOGIN: dict[str, dict[str, object]] = {
    "hostname": _from_environment("CUMULUS_HOST", type="str", required=True),
    "transport": {"type": "str", "default": "nvue", "choices": list(PORTS)},
    "port": {"type": "int"},
    "username": _from_environment("CUMULUS_USER", type="str", required=True),
    "password": _from_environment("CUMULUS_PASSWORD", type="str", required=True, no_log=True),
    "validate_certs": _from_environment("CUMULUS_VALIDATE_CERTS", type="bool", default=True),
    "ca_path": _from_environment("CUMULUS_CA_PATH", type="path"),
    "known_hosts": {"type": "path"},
    "host_key_checking": {"type": "bool", "default": True},
    "timeout": {"type": "int", "default": 30},
}


def endpoint(params: Mapping[str, Any]) -> Endpoint:
    """Where and how to log in with O(transport=nvue)."""
    return Endpoint(
        host=params["hostname"],
        username=params["username"],
        password=params["password"],
        port=params["port"] or PORTS["nvue"],
        validate_certs=params["validate_certs"],
        ca_path=params["ca_path"],
        timeout=params["timeout"],
    )


def shell(module: AnsibleModule) -> SshShell:
    """A shell on the switch, with O(transport=nclu)."""
    # Imported here: paramiko takes longer to load than NVUE to answer.
    from .._switch.transport import Settings  # noqa: PLC0415
    from . import ssh  # noqa: PLC0415

    if ssh.IMPORT_ERROR:
        module.fail_json(msg=missing_required_lib("netmiko[par4]"), exception=ssh.IMPORT_ERROR)
    params = module.params
    return ssh.SshShell(
        Settings(
            host=params["hostname"],
            username=params["username"],
            password=params["password"],
            port=params["port"] or PORTS["nclu"],
            known_hosts=params["known_hosts"],
            host_key_checking=params["host_key_checking"],
            timeout=params["timeout"],
        )
    )
