# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the login, which all Onyx modules share; documented in the fragment ``onyx``."""

from __future__ import annotations

from typing import Any, Mapping

from ansible.module_utils.common.parameters import env_fallback

from .._switch.ssh import Settings

LOGIN: dict[str, dict[str, object]] = {
    "hostname": {"type": "str", "required": True, "fallback": (env_fallback, ["ONYX_HOST"])},
    "port": {"type": "int", "default": 22},
    "username": {"type": "str", "required": True, "fallback": (env_fallback, ["ONYX_USER"])},
    "password": {"type": "str", "required": True, "no_log": True, "fallback": (env_fallback, ["ONYX_PASSWORD"])},
    "known_hosts": {"type": "path"},
    "host_key_checking": {"type": "bool", "default": True},
    "timeout": {"type": "int", "default": 30},
}


def session_settings(params: Mapping[str, Any]) -> Settings:
    return Settings(
        host=params["hostname"],
        username=params["username"],
        password=params["password"],
        port=params["port"],
        known_hosts=params["known_hosts"],
        host_key_checking=params["host_key_checking"],
        timeout=params["timeout"],
    )
