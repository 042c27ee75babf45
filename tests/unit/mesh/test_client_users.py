"""As whom ssh logs in: on a node as its user, in a container as its root."""

from __future__ import annotations

from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.render import client_config
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.state import Peer, Wanted


def peer(name: str, user: str = "nvidia", port: int = 22) -> Peer:
    address = {"gpu01": "192.0.2.1", "gpu02": "192.0.2.2"}[name]
    return Peer(name, (address,), port, user)


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


def test_peers_like_this_node_need_no_user_of_their_own() -> None:
    wanted = Wanted(state="present", name="gpu01", user="nvidia", guide=True, port=22, peers=(peer("gpu02"),))
    host, container = (sections(client_config(wanted, inside=inside)) for inside in (False, True))
    assert list(host) == ["gpu02", "gpu02 192.0.2.2"] and host["gpu02"] == {"HostName": "192.0.2.2"}
    assert host["gpu02 192.0.2.2"]["User"] == container["*"]["User"] == "nvidia"
    assert "gpu02 192.0.2.2" not in container


def test_a_peer_with_another_user_is_entered_as_that() -> None:
    peers = (peer("gpu01"), peer("gpu02", user="ubuntu", port=2022))
    wanted = Wanted(state="present", name="gpu01", user="nvidia", guide=True, port=22, peers=peers)
    for found in (sections(client_config(wanted, inside=inside)) for inside in (False, True)):
        assert found["gpu02 192.0.2.2"] == {"Port": "2022", "User": "ubuntu"}
    assert "gpu01 192.0.2.1" not in sections(client_config(wanted, inside=False))


def test_a_container_is_entered_as_its_root_on_the_meshs_port() -> None:
    peers = (peer("gpu01", port=2222), peer("gpu02", user="ubuntu", port=2022))
    found = sections(client_config(Wanted(state="present", name="gpu01", user="nvidia", peers=peers), inside=True))
    assert (found["*"]["User"], found["*"]["Port"]) == ("root", "2222")
    assert found["gpu02 192.0.2.2"] == {"Port": "2022"} and "gpu01 192.0.2.1" not in found
    closed = ("ForwardAgent", "ForwardX11", "ForwardX11Trusted", "PermitLocalCommand")
    assert {found["*"][word] for word in closed} == {"no"}
