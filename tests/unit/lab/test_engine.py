from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import pytest

from lab import base_image, config, engine, images, keys, nodes, preflight

ALL = (1 << 38) - 1
SYS_RESOURCE = 1 << 24


def test_machine_with_every_capability_gets_plain_privileged() -> None:
    assert engine.privileged_arguments(ALL, cgroup_v2=False) == ["--privileged"]


def test_cgroup_v2_needs_a_namespace_of_its_own() -> None:
    assert engine.privileged_arguments(ALL, cgroup_v2=True) == ["--cgroupns=private", "--privileged"]


def test_capability_that_the_machine_lacks_is_not_asked_for() -> None:
    arguments = engine.privileged_arguments(ALL & ~SYS_RESOURCE, cgroup_v2=False)
    named = {arguments[i + 1] for i, word in enumerate(arguments) if word == "--cap-add"}
    assert "--privileged" not in arguments
    assert "SYS_RESOURCE" not in named
    assert {"SYS_ADMIN", "NET_ADMIN", "MKNOD"} <= named
    assert len(named) == 37
    assert arguments[-2:] == ["--device-cgroup-rule", "a *:* rwm"]


def client(directory: Path, version: str, buildx: bool) -> str:
    path = directory / "docker"
    directory.mkdir()
    path.write_text(
        f'#!/bin/sh\ncase $1 in --version) echo "Docker version {version}, build x" ;; '
        f"buildx) exit {0 if buildx else 1} ;; esac\n"
    )
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("first", "second", "chosen"),
    [
        (("28.2.2", False), ("20.10.24+dfsg1", False), 1),
        (("28.2.2", True), ("20.10.24+dfsg1", False), 0),
        (("20.10.24+dfsg1", False), ("28.2.2", True), 0),
        (("28.2.2", False), ("27.0.1", False), 0),
    ],
    ids=["bare-new-client-first", "buildx-first", "old-client-first", "none-can-build"],
)
def test_client_that_can_build_is_preferred(
    tmp_path: Path, first: tuple[str, bool], second: tuple[str, bool], chosen: int
) -> None:
    candidates = [client(tmp_path / "a", *first), client(tmp_path / "b", *second)]
    assert engine.pick_client(candidates) == candidates[chosen]


def test_machine_without_docker_is_told_what_to_do() -> None:
    with pytest.raises(config.LabError, match=r"bootstrap\.sh"):
        engine.pick_client([])


@pytest.mark.parametrize(
    ("host", "info", "words"),
    [
        ("tcp://198.51.100.1:2375", {}, "not on this machine"),
        ("", {"SecurityOptions": ["name=seccomp", "name=rootless"]}, "rootless"),
    ],
)
def test_engine_that_cannot_carry_nodes_is_refused(host: str, info: dict[str, object], words: str) -> None:
    with pytest.raises(config.LabError, match=words):
        engine._refuse_unfit(info, host)


# --- addresses


@pytest.mark.parametrize(
    ("destination", "clash"),
    [
        ("10.0.0.0/8", True),
        ("10.78.0.0/16", True),
        ("10.78.0.128/25", True),
        ("10.78.0.5", True),
        ("10.79.0.0/24", False),
        ("default", False),
        ("0.0.0.0/0", False),
        ("fd00::/8", False),
    ],
)
def test_route_over_the_cluster_network_is_found(destination: str, clash: bool) -> None:
    found = preflight.overlapping_route([{"dst": destination, "dev": "tun0"}], config.SUBNET)
    assert (found is not None) is clash
    if found:
        assert "tun0" in found


def test_address_in_use_is_named() -> None:
    with contextlib.closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(config.LabError, match=f"127.0.0.1:{port} is in use"):
            preflight._free("127.0.0.1", port)
    preflight._free("127.0.0.1", port)


def test_nodes_have_distinct_addresses_and_hosts_of_two() -> None:
    assert [node.host for node in config.NODES] == ["esx01", "esx01", "esx02", "esx02"]
    assert all((node.vcenter, node.vm, node.esxi) == ("vsphere", node.name, node.host) for node in config.NODES)
    assert [node.ssh_ip for node in config.NODES] == [f"127.78.0.{n}" for n in (11, 12, 13, 14)]
    assert [node.cluster_ip for node in config.NODES] == [f"10.78.0.{n}" for n in (11, 12, 13, 14)]


# --- nodes


@pytest.mark.parametrize(
    ("texts", "servers"),
    [
        (["nameserver 198.51.100.53\n"], ["198.51.100.53"]),
        (["nameserver 127.0.0.53\n", "nameserver 198.51.100.1\nnameserver 198.51.100.2\n"], None),
        (["nameserver 127.0.0.1\nnameserver 198.51.100.9\n"], ["198.51.100.9"]),
        (["# none\n"], []),
    ],
)
def test_loopback_resolver_is_of_no_use_to_a_node(texts: list[str], servers: list[str] | None) -> None:
    assert nodes.usable_resolvers(texts) == (["198.51.100.1", "198.51.100.2"] if servers is None else servers)


def test_only_physics_starts_a_node_and_its_ports_stay_on_loopback(tmp_path: Path) -> None:
    arguments = nodes.create_arguments(
        config.NODES[0], config.Paths(tmp_path), privileges=["--privileged"], controller_key="k", resolvers=[]
    )
    pairs = list(zip(arguments, arguments[1:]))
    assert ("--restart", "no") in pairs
    assert [value for word, value in pairs if word == "--publish"] == ["127.78.0.11:2222:22"]
    assert ("--volume", f"{tmp_path}/hw/gpu01:/var/lib/lab-hw") in pairs


# --- images


@pytest.mark.parametrize(
    ("text", "mirror"),
    [
        ("Types: deb\n# a comment\nURIs: http://mirror.example/debian\n", "http://mirror.example/debian"),
        ("# x\ndeb [signed-by=/k] http://mirror.example/d bookworm main\n", "http://mirror.example/d"),
        ("deb-src http://mirror.example/d bookworm main\n", None),
        ("", None),
    ],
)
def test_package_mirror_is_read_from_both_formats(text: str, mirror: str | None) -> None:
    assert base_image.mirror_from_sources([text]) == mirror


def test_image_digest_follows_content_mode_and_base(tmp_path: Path) -> None:
    source = tmp_path / "Dockerfile"
    source.write_text("FROM x\n")
    first = images.digest(tmp_path, "base1")
    assert images.digest(tmp_path, "base1") == first
    assert images.digest(tmp_path, "base2") != first
    source.chmod(0o755)
    second = images.digest(tmp_path, "base1")
    assert second != first
    source.write_text("FROM y\n")
    assert images.digest(tmp_path, "base1") != second


def test_image_digest_ignores_what_python_leaves_behind(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    first = images.digest(tmp_path, "base")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("x")
    assert images.digest(tmp_path, "base") == first


# --- keys


def test_second_call_makes_no_key(tmp_path: Path) -> None:
    paths = config.Paths(tmp_path)
    assert len(keys.make_all(paths)) == 10
    content = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert keys.make_all(paths) == []
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == content


def test_secrets_and_private_keys_are_for_the_owner_only(tmp_path: Path) -> None:
    paths = config.Paths(tmp_path)
    keys.make_all(paths)
    private = [*paths.secrets.iterdir(), *paths.pki.glob("*.key"), paths.controller_key, paths.switch / "host_key"]
    assert {path.stat().st_mode & 0o777 for path in private} == {0o600}
    assert all("\n" not in path.read_text() for path in paths.secrets.iterdir())


def test_key_of_the_ca_is_not_kept(tmp_path: Path) -> None:
    paths = config.Paths(tmp_path)
    keys.make_all(paths)
    assert sorted(path.name for path in paths.pki.iterdir()) == [
        "ca.crt",
        "registry.crt",
        "registry.key",
        "vcenter.crt",
        "vcenter.key",
    ]


def test_known_hosts_line_has_address_and_port_and_no_comment() -> None:
    line = keys.known_hosts_line("127.78.0.11", 2222, "ssh-ed25519 AAAA root@gpu01\n")
    assert line == "[127.78.0.11]:2222 ssh-ed25519 AAAA"
