# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""As whom ssh logs in: on the host as the node's user, in containers as the account of the mesh where there is one."""

from __future__ import annotations

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.render import container_config, host_config
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.state import Peer, Wanted


def peer(name: str, user: str = "nvidia", login: str = "rocemesh", port: int = 22) -> Peer:
    address = {"gpu01": "192.0.2.1", "gpu02": "192.0.2.2"}[name]
    return Peer(name, (address,), port, user, None, None, (), login=login)


def sections(text: str) -> dict[str, dict[str, str]]:
    """Host line -> its settings; of two sections for the same hosts both count."""
    found: dict[str, dict[str, str]] = {}
    hosts = ""
    for line in text.splitlines():
        word, _blank, value = line.strip().partition(" ")
        if word == "Host":
            hosts = value
            found.setdefault(hosts, {})
        elif hosts:
            found[hosts][word] = value
    return found


@pytest.mark.parametrize("login", ["", "rocemesh"])
def test_peers_like_this_node_need_no_user_of_their_own(login: str) -> None:
    own = login or "nvidia"
    wanted = Wanted(state="present", name="gpu01", user="nvidia", login=login, peers=(peer("gpu02", login=own),))
    host, container = sections(host_config(wanted)), sections(container_config(wanted))
    assert list(host) == ["gpu02", "gpu02 192.0.2.2"] and host["gpu02"] == {"HostName": "192.0.2.2"}
    assert host["gpu02 192.0.2.2"]["User"] == "nvidia"
    assert "gpu02 192.0.2.2" not in container and container["*"]["User"] == own


def test_a_peer_with_another_user_or_account_is_entered_as_that() -> None:
    peers = (peer("gpu01"), peer("gpu02", user="ubuntu", login="mesh2", port=2222))
    wanted = Wanted(state="present", name="gpu01", user="nvidia", login="rocemesh", peers=peers)
    assert sections(host_config(wanted))["gpu02 192.0.2.2"] == {"Port": "2222", "User": "ubuntu"}
    assert sections(container_config(wanted))["gpu02 192.0.2.2"] == {"Port": "2222", "User": "mesh2"}
    assert "gpu01 192.0.2.1" not in sections(host_config(wanted))
