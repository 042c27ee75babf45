"""Whole module calls on a real file system with real keys."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, ParseError, RefusedError

from tests.unit.mesh.harness import Node

MakeNode = Callable[..., Node]
# No newline at the end, a comment, a blank line, options: what an administrator's file may look like.
FOREIGN = b'# the admins\nssh-ed25519 AAAAadmin admin@jump\n\nno-pty,command="/bin/backup" ssh-rsa AAAAbackup b@c'


@pytest.fixture
def pair(make_node: MakeNode) -> tuple[Node, Node, list[dict[str, Any]]]:
    one, two = make_node("gpu01", 1), make_node("gpu02", 2)
    return one, two, [one.identity(), two.identity()]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def authorized(node: Node) -> list[str]:
    return (node.ssh / "authorized_keys").read_text().splitlines()


# -- identity


def test_identity_makes_both_pairs_once_and_returns_only_public_halves(node: Node) -> None:
    first = node.run(state="identity")
    assert first["changed"] and not node.run(state="identity")["changed"]
    identity = first["identity"]
    assert identity["addresses"] == ["10.0.0.1"] and identity["port"] == 22
    assert len(identity["ssh_host_keys"]) == 2
    for name, field in (
        ("id_ed25519_host", "host_public_keys"),
        ("container/id_ed25519_cont", "container_public_keys"),
    ):
        private = node.at(name)
        assert mode(private) == 0o600
        derived = subprocess.run(["ssh-keygen", "-y", "-f", private], check=True, capture_output=True, text=True).stdout
        assert [" ".join(derived.split()[:2])] == identity[field]
    assert "PRIVATE KEY" not in json.dumps(first)
    assert not [path for path in node.ssh.rglob("*") if path.name.startswith(".")], "temporary files were left"


@pytest.mark.parametrize(
    ("guide", "names", "kind", "bits"),
    [
        (False, ("id_ed25519_host", "container/id_ed25519_cont"), "ssh-ed25519", "256"),
        (True, ("id_rsa_host", "container/id_rsa_cont"), "ssh-rsa", "3072"),
    ],
    ids=["ed25519", "guide"],
)
def test_guide_compatible_chooses_the_guides_names_and_rsa(
    node: Node, guide: bool, names: tuple[str, str], kind: str, bits: str
) -> None:
    identity = node.identity(guide_compatible=guide)
    assert {identity[key][0].split()[0] for key in ("host_public_keys", "container_public_keys")} == {kind}
    for name in names:
        told = subprocess.run(["ssh-keygen", "-lf", node.at(name)], check=True, capture_output=True, text=True)
        assert told.stdout.split()[0] == bits
    node.run(peers=[identity], guide_compatible=guide)
    files = set(node.snapshot())
    # The guide's own list, without authorized_keys in the container's directory, which nothing ever reads.
    wanted = {"authorized_keys", "config", "mpicont.sh", "container/config", *names, *(n + ".pub" for n in names)}
    assert {str(node.at(name).relative_to(node.home.parent)) for name in wanted} <= files


def test_identity_in_check_mode_promises_keys_and_writes_nothing(node: Node) -> None:
    planned = node.run(check=True, state="identity")
    assert planned["changed"] and planned["identity"]["addresses"] == ["10.0.0.1"]
    assert planned["identity"]["host_public_keys"] == planned["identity"]["container_public_keys"] == []
    assert node.untouched()


def test_a_key_with_an_open_mode_is_closed_not_replaced(node: Node) -> None:
    before = node.identity()
    private = node.container / "id_ed25519_cont"
    private.chmod(0o644)
    repaired = node.run(state="identity")
    assert repaired["changed"] and repaired["identity"] == before and mode(private) == 0o600


def test_a_missing_public_half_is_computed_from_the_private_key(node: Node) -> None:
    before = node.identity()
    (node.ssh / "id_ed25519_host.pub").unlink()
    assert node.identity() == before
    assert (node.ssh / "id_ed25519_host.pub").read_text().split()[:2] == before["host_public_keys"][0].split()


def test_a_public_half_of_another_key_is_refused(node: Node) -> None:
    node.identity()
    (node.ssh / "id_ed25519_host.pub").write_bytes((node.container / "id_ed25519_cont.pub").read_bytes())
    with pytest.raises(RefusedError, match="not the public half"):
        node.identity()


def test_a_key_with_passphrase_is_refused_with_a_way_out(node: Node) -> None:
    node.ssh.mkdir(mode=0o700)
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", node.ssh / "id_ed25519_host"], check=True
    )
    with pytest.raises(LayerError, match="without passphrase"):
        node.identity()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"addresses": ["10.0.0.99"]}, "not an address of this node"),
        ({"addresses": ["gpu01"]}, "is not an IP address"),
        ({"cidr": ["192.168.7.0/24"], "addresses": []}, "no address of this node lies in it"),
        ({"cidr": ["10.0.0.7/24"]}, "is not a network"),
    ],
)
def test_an_address_that_peers_would_never_see_is_refused(node: Node, params: dict[str, Any], message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        node.run(state="identity", **{"addresses": [], **params})


def test_cidr_selects_the_cluster_address_and_never_docker0(node: Node) -> None:
    identity = node.identity(addresses=[], cidr=["10.0.0.0/16"])
    assert identity["addresses"] == ["10.0.0.1"]


# -- present


def test_foreign_lines_stay_byte_identical_and_absent_restores_the_file(pair: Any) -> None:
    one, _two, peers = pair
    path = one.ssh / "authorized_keys"
    path.write_bytes(FOREIGN)
    path.chmod(0o640)
    (one.ssh / "config").write_bytes(b"ServerAliveInterval 7\nHost jump\n  User me")
    before = {name: data for name, data in one.snapshot().items() if "id_" not in name}
    assert one.run(peers=peers)["changed"]
    assert path.read_bytes().endswith(b"\n" + FOREIGN) and mode(path) == 0o640
    assert not one.run(peers=peers)["changed"]
    assert one.run(state="absent")["changed"]
    assert one.snapshot() == before
    assert not (one.container).exists()
    assert not one.run(state="absent")["changed"]


def test_absent_after_a_clean_start_leaves_an_empty_directory(pair: Any) -> None:
    one, _two, peers = pair
    one.run(peers=peers)
    one.run(state="absent")
    assert one.snapshot() == {} and list(one.ssh.iterdir()) == []


def test_every_key_is_bound_to_the_addresses_of_its_node(pair: Any) -> None:
    one, _two, peers = pair
    one.run(peers=peers)
    for peer in peers:
        lines = [
            line for line in authorized(one) if line.endswith((f"{peer['name']}:host", f"{peer['name']}:container"))
        ]
        assert len(lines) == 2
        assert all(f'from="{peer["addresses"][0]}"' in line and line.startswith("restrict,") for line in lines)
    forced = [line for line in authorized(one) if ":container" in line]
    assert all(f'command="/bin/bash {one.home}/.ssh/mpicont.sh"' in line and ",pty" not in line for line in forced)


def test_topology_head_accepts_only_the_heads_container(pair: Any) -> None:
    one, _two, peers = pair
    one.run(peers=peers, head="gpu02")
    assert [line.rsplit(" ", 1)[1] for line in authorized(one) if "command=" in line] == ["gpu02:container"]


def test_without_host_login_the_user_logs_in_as_before(pair: Any) -> None:
    """ssh offers a host of `config_mesh` the key of the mesh alone (IdentitiesOnly), which opens no login then."""
    one, _two, peers = pair
    one.run(peers=peers)
    assert effective(one.ssh / "config_mesh", "10.0.0.2")["identitiesonly"] == "yes"
    one.run(peers=peers, host_login=False)
    assert not {"config", "config_mesh", "known_hosts_mesh"} & {path.name for path in one.ssh.iterdir()}
    assert one.run(peers=peers, host_login=False)["changed"] is False


def test_host_login_can_be_left_out(pair: Any) -> None:
    one, _two, peers = pair
    one.run(peers=peers, host_login=False)
    assert not [line for line in authorized(one) if line.endswith(":host")]


def test_every_address_of_a_node_may_use_its_key(pair: Any) -> None:
    one, _two, peers = pair
    peers[1]["addresses"] = ["10.9.0.2", "fd00::2"]
    one.run(peers=peers)
    lines = [line for line in authorized(one) if line.endswith(("gpu02:host", "gpu02:container"))]
    assert len(lines) == 2 and all('from="10.9.0.2,fd00::2"' in line for line in lines)


def test_a_peer_that_is_left_out_loses_its_access(pair: Any) -> None:
    one, _two, peers = pair
    one.run(peers=peers)
    one.run(peers=peers[:1])
    assert "gpu02" not in (one.ssh / "authorized_keys").read_text()
    assert "10.0.0.2" not in (one.ssh / "known_hosts_mesh").read_text()


def effective(config: Path, host: str) -> dict[str, str]:
    """What the real ssh client makes of a configuration file."""
    done = subprocess.run(["ssh", "-G", "-F", config, host], check=True, capture_output=True, text=True)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("port", [22, 2222])
def test_the_ssh_client_pins_host_keys_and_never_asks(pair: Any, port: int) -> None:
    one, _two, peers = pair
    peers[1]["port"] = port
    one.run(peers=peers)
    inside = effective(one.container / "config", "10.0.0.2")
    assert inside["stricthostkeychecking"] in ("yes", "true") and inside["batchmode"] == "yes"
    assert inside["userknownhostsfile"] == "/root/.ssh/known_hosts" and inside["globalknownhostsfile"] == "/dev/null"
    assert inside["identityfile"] == "/root/.ssh/id_ed25519_cont" and inside["connecttimeout"] == "10"
    assert inside["port"] == str(port) and inside["user"] == "nvidia"
    by_name = effective(one.container / "config", "gpu02")
    assert (by_name["hostname"], by_name["port"]) == ("10.0.0.2", str(port))
    entry = "10.0.0.2" if port == 22 else f"[10.0.0.2]:{port}"
    known = one.container / "known_hosts"
    assert subprocess.run(["ssh-keygen", "-F", entry, "-f", known], check=False, capture_output=True).returncode == 0


def test_the_users_other_hosts_keep_their_settings(pair: Any) -> None:
    one, _two, peers = pair
    config = one.ssh / "config"
    config.write_text("ServerAliveInterval 7\nHost jump\n  Port 77\n")
    before = effective(config, "jump")
    one.run(peers=peers)
    # ssh looks a relative Include up in the home directory of the password database, so make it absolute here.
    text = config.read_text()
    assert "Include config_mesh" in text.splitlines()
    config.write_text(text.replace("Include config_mesh", f"Include {one.ssh}/config_mesh"))
    assert effective(config, "jump") == before
    assert effective(config, "10.0.0.2")["identityfile"].endswith("id_ed25519_host")


def test_modes_are_what_ssh_demands(pair: Any) -> None:
    one, _two, peers = pair
    one.run(peers=peers)
    wanted = {
        ".": 0o700, "authorized_keys": 0o600, "config": 0o600, "config_mesh": 0o644, "known_hosts_mesh": 0o644,
        "mpicont.sh": 0o755, "container": 0o755, "container/config": 0o600, "container/known_hosts": 0o600,
        "container/id_ed25519_cont": 0o600,
    }  # fmt: skip
    assert {name: mode(one.at(name)) for name in wanted} == wanted


def test_a_changed_mode_is_put_right(pair: Any) -> None:
    one, _two, peers = pair
    one.run(peers=peers)
    (one.container / "config").chmod(0o666)
    again = one.run(peers=peers)
    assert again["changed"] and mode(one.container / "config") == 0o600


def test_an_edit_inside_the_block_is_undone_and_outside_is_kept(pair: Any) -> None:
    one, _two, peers = pair
    one.run(peers=peers)
    path = one.ssh / "authorized_keys"
    wanted = path.read_bytes()
    path.write_bytes(b"above\n" + wanted.replace(b"restrict,", b"") + b"below")
    one.run(peers=peers)
    assert path.read_bytes() == b"above\n" + wanted + b"below"


def test_a_file_of_somebody_else_is_refused_and_kept(pair: Any) -> None:
    one, _two, peers = pair
    script = one.ssh / "mpicont.sh"
    script.write_text('docker exec mpicont /bin/bash -c "$SSH_ORIGINAL_COMMAND"\n')
    script.chmod(0o775)
    before = script.read_bytes(), mode(script)
    with pytest.raises(RefusedError, match="not written by this module"):
        one.run(peers=peers)
    assert (script.read_bytes(), mode(script)) == before
    told = one.run(state="absent")["warnings"]
    assert (script.read_bytes(), mode(script)) == before
    assert any("mpicont.sh was not made by this module and stays" in text for text in told)


def test_a_directory_with_a_file_of_others_stays(pair: Any) -> None:
    one, _two, peers = pair
    one.run(peers=peers)
    (one.container / "notes").write_text("mine")
    assert one.run(state="absent")["changed"] and not one.run(state="absent")["changed"]
    assert [path.name for path in one.container.iterdir()] == ["notes"]


def test_keys_that_somebody_else_made_are_used_and_never_deleted(make_node: MakeNode) -> None:
    node = make_node()
    node.ssh.mkdir(mode=0o700)
    key = node.ssh / "id_rsa_host"
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-N", "", "-C", "me@here", "-f", key], check=True)
    before = key.read_bytes()
    identity = node.identity(guide_compatible=True)
    node.run(peers=[identity], guide_compatible=True)
    result = node.run(state="absent")
    assert key.read_bytes() == before and not (node.container).exists()
    assert any("id_rsa_host was not made by this module" in text for text in result["warnings"])


def test_present_before_identity_is_refused(make_node: MakeNode) -> None:
    one, two = make_node("gpu01", 1), make_node("gpu02", 2)
    peers = [two.identity()]
    with pytest.raises(RefusedError, match="state=identity first"):
        one.run(peers=peers)


# -- a star: a worker has to know the head alone, and needs one call

STAR: dict[str, Any] = {"head": "gpu01", "host_login": False, "cidr": ["10.0.0.0/24"]}


def test_a_worker_of_a_star_is_made_by_one_call(make_node: MakeNode) -> None:
    head, worker = make_node("gpu01", 1), make_node("gpu02", 2)
    peers = [head.identity()]
    planned = worker.run(check=True, peers=peers, **STAR)
    assert worker.untouched() and not planned["identity"]["container_public_keys"]
    done = worker.run(peers=peers, **STAR)
    assert done["operations"] == planned["operations"]
    # The same identity, and the same files, as by the two calls.
    assert done["identity"] == worker.identity() and done["identity"]["container_public_keys"]
    assert worker.run(peers=peers, **STAR)["changed"] is False
    assert worker.run(peers=peers, **{**STAR, "cidr": []})["changed"] is False
    keys = [line for line in (worker.ssh / "authorized_keys").read_text().splitlines() if "ssh-ed25519" in line]
    assert [line.rpartition(" ")[2] for line in keys] == ["gpu01:container"]
    told = head.run(peers=[*peers, done["identity"]], **STAR)
    assert told["changed"] and "identity" not in told
    assert "10.0.0.2" in (head.container / "known_hosts").read_text()


def test_a_worker_keeps_the_keys_that_it_has(make_node: MakeNode) -> None:
    head, worker = make_node("gpu01", 1), make_node("gpu02", 2)
    before = worker.identity()
    assert worker.run(peers=[head.identity()], **STAR)["identity"] == before


def test_a_worker_with_a_wrong_network_is_refused_before_anything_is_made(make_node: MakeNode) -> None:
    head, worker = make_node("gpu01", 1), make_node("gpu02", 2)
    with pytest.raises(RefusedError, match="no address of this node lies in it"):
        worker.run(peers=[head.identity()], **{**STAR, "cidr": ["192.0.2.0/24"]})
    assert worker.untouched()


def test_a_wide_network_gives_no_address_that_only_this_node_reaches(make_node: MakeNode) -> None:
    node = make_node("gpu01", 1)
    given = [("127.0.0.1", 8), ("10.0.0.1", 24), ("::1", 128), ("fd00::1", 64), ("fe80::1", 64)]
    rows = [{"family": "inet6" if ":" in local else "inet", "local": local, "prefixlen": bits} for local, bits in given]
    node.transport.address_report = lambda: json.dumps([{"ifname": "eth0", "addr_info": rows}])  # type: ignore[method-assign]
    assert node.identity(cidr=["0.0.0.0/0", "::/0"], addresses=[])["addresses"] == ["10.0.0.1", "fd00::1"]


def test_a_stale_identity_is_refused(pair: Any) -> None:
    one, _two, peers = pair
    for path in (one.ssh / "id_ed25519_host", one.ssh / "id_ed25519_host.pub"):
        path.unlink()
    one.identity()
    with pytest.raises(RefusedError, match="not the key that peers has"):
        one.run(peers=peers)


def test_a_copied_private_key_is_reported(pair: Any) -> None:
    one, _two, peers = pair
    peers[1]["container_public_keys"] = peers[0]["container_public_keys"]
    assert any("share one private key" in text for text in one.run(peers=peers)["warnings"])


# -- check mode and diff


def test_a_whole_site_can_be_planned_from_nothing(make_node: MakeNode) -> None:
    nodes = [make_node("gpu01", 1), make_node("gpu02", 2)]
    peers = [node.identity(check=True) for node in nodes]
    for node in nodes:
        planned = node.run(check=True, peers=peers)
        assert planned["changed"] and node.untouched()
        assert "gpu02: its keys do not exist yet" in json.dumps(planned["diff"])
        with pytest.raises(RefusedError, match="has no container_public_keys"):
            node.run(peers=peers)


def test_diff_shows_our_lines_and_nobody_elses_and_no_private_key(pair: Any) -> None:
    one, _two, peers = pair
    (one.ssh / "authorized_keys").write_bytes(FOREIGN)
    before = one.snapshot()
    planned = one.run(check=True, peers=peers)
    assert one.snapshot() == before
    shown = json.dumps(planned["diff"])
    assert "gpu02:container" in shown and str(one.ssh / "mpicont.sh") in shown
    assert "AAAAadmin" not in shown and "PRIVATE" not in shown
    real = one.run(peers=peers)
    assert real["diff"] == planned["diff"] and real["operations"] == planned["operations"]


# -- what is never touched


@pytest.mark.parametrize(
    "name",
    ["authorized_keys", "config", "mpicont.sh", "container", "container/config"],
)
@pytest.mark.parametrize("state", ["present", "absent"])
def test_symbolic_links_are_refused_and_their_target_stays(pair: Any, tmp_path: Path, name: str, state: str) -> None:
    one, _two, peers = pair
    target = tmp_path / "elsewhere"
    one.run(peers=peers)
    path = one.at(name)
    if path.is_dir():
        path.rename(target)
    else:
        path.unlink()
        target.write_bytes(FOREIGN)
    path.symlink_to(target)
    listing = sorted(os.listdir(target)) if target.is_dir() else target.read_bytes()
    with pytest.raises(RefusedError, match="symbolic link") as failure:
        one.run(state=state, peers=peers if state == "present" else [])
    assert name in str(failure.value) and "gpu01" in str(failure.value)
    assert (sorted(os.listdir(target)) if target.is_dir() else target.read_bytes()) == listing
    assert path.is_symlink()


def test_a_linked_ssh_directory_is_refused_before_any_key_is_made(node: Node, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir()
    node.ssh.symlink_to(target)
    with pytest.raises(RefusedError, match="symbolic link"):
        node.identity()
    assert not list(target.iterdir())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name", ["authorized_keys", "config", "mpicont.sh", "id_ed25519_host"])
def test_a_file_of_a_third_user_is_refused(pair: Any, name: str) -> None:
    one, _two, peers = pair
    one.run(peers=peers)
    os.chown(one.ssh / name, 12345, 12345)
    with pytest.raises(RefusedError, match="belongs to uid 12345"):
        one.run(peers=peers)


def test_damaged_markers_stop_the_run_and_show_the_lines(pair: Any) -> None:
    one, _two, peers = pair
    one.run(peers=peers)
    path = one.ssh / "authorized_keys"
    broken = path.read_bytes().replace(b"# END rocemesh.multinode mesh\n", b"")
    path.write_bytes(broken)
    with pytest.raises(ParseError, match="line 1: # BEGIN rocemesh"):
        one.run(peers=peers)
    assert path.read_bytes() == broken


INJECTED = "ssh-ed25519 AAAA x\nssh-ed25519 AAAAevil evil"


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("name", "gpu02 *", RefusedError),
        ("name", 'a"b', RefusedError),
        ("name", "gpu02\nHost *", RefusedError),
        ("addresses", ['10.0.0.2",command="x'], RefusedError),
        ("addresses", ["*"], RefusedError),
        ("addresses", [], RefusedError),
        ("ssh_host_keys", [], RefusedError),
        ("ssh_host_keys", [INJECTED], ParseError),
        ("host_public_keys", [INJECTED], ParseError),
        ("host_public_keys", [], RefusedError),
        ("container_public_keys", ['command="sh" ssh-ed25519 AAAA'], ParseError),
        ("container_public_keys", ["ssh-ed25519 AAAAC3NzaC1yc2EAAAA"], ParseError),
        ("container_public_keys", "ssh-ed25519 AAAA", ParseError),
        ("container_public_keys", [], RefusedError),
        ("name", "-oProxyCommand=id", RefusedError),
        ("name", "gpu02,gpu01", RefusedError),
        ("name", "@cert-authority", RefusedError),
        ("name", "!gpu01", RefusedError),
        ("addresses", ["0.0.0.0/0"], RefusedError),
        ("addresses", ["10.0.0.2,10.0.0.3"], RefusedError),
        ("addresses", ["!10.0.0.1"], RefusedError),
        ("addresses", ["10.0.0.2\n10.0.0.3"], RefusedError),
        # A zone is free text in Python's ipaddress.
        ("addresses", ["fe80::1%eth0"], RefusedError),
        ("addresses", ['fe80::1%",command="id'], RefusedError),
        ("addresses", ["fe80::1%x\n    ProxyCommand id"], RefusedError),
        ("ssh_host_keys", ["@cert-authority * ssh-ed25519 AAAA"], ParseError),
        ("ssh_host_keys", ["ssh-ed25519-cert-v01@openssh.com AAAA"], ParseError),
        ("container_public_keys", ["sk-ssh-ed25519@openssh.com AAAA"], ParseError),
        ("user", "-oProxyCommand=id", RefusedError),
        ("user", "root\n", RefusedError),
        ("port", 70000, RefusedError),
    ],
)
def test_a_peer_cannot_smuggle_anything_into_key_files(
    pair: Any, field: str, value: Any, error: type[LayerError]
) -> None:
    one, _two, peers = pair
    before = one.snapshot()
    with pytest.raises(error) as failure:
        one.run(peers=[peers[0], {**peers[1], field: value}])
    assert one.snapshot() == before
    assert "What to do:" in str(failure.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"name": "gpu01"}, "'gpu01': stands for two peers"), ({"addresses": ["10.0.0.1"]}, "10.0.0.1 port 22")],
)
def test_two_peers_with_one_name_or_address_are_refused(pair: Any, change: dict[str, Any], message: str) -> None:
    one, _two, peers = pair
    with pytest.raises(RefusedError, match=message):
        one.run(peers=[peers[0], {**peers[1], **change}])
