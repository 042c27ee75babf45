from __future__ import annotations

from ansible.module_utils.common.parameters import env_fallback

from .._switch import ssh

_FROM = {"hostname": "ONYX_HOST", "username": "ONYX_USER", "password": "ONYX_PASSWORD"}
LOGIN: dict[str, dict[str, object]] = {
    name: {**option, **({"fallback": (env_fallback, [_FROM[name]])} if name in _FROM else {})}
    for name, option in ssh.OPTIONS.items()
}
