"""The manifest of a node: what roles wrote there, and what another release left."""

from __future__ import annotations

import json
import pathlib

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError, converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.manifest import (
    PATH,
    ROLES,
    ManifestLayer,
    Wish,
    leftovers,
    read,
    written,
)

NETPLAN = "/etc/netplan/90-rocemesh-mtu.yaml"
UNIT = "/etc/systemd/system/rocemesh-mtu.service"
QOS = "/etc/systemd/system/rocemesh-qos.service"
WANTS = "/etc/systemd/system/multi-user.target.wants"
CONTAINER = "/etc/rocemesh/keys"
DROPIN = "/etc/systemd/network/10-netplan-ens224.network.d/90-rocemesh-mtu.conf"
OLD = {NETPLAN: "guest", UNIT: "guest", QOS: "guest", f"{WANTS}/rocemesh-mtu.service": "guest",
       f"{WANTS}/rocemesh-qos.service": "guest", CONTAINER: "mesh"}  # fmt: skip
OWN = {DROPIN: "guest", "/etc/rocemesh/nccl": "container", "/etc/rocemesh/mesh": "mesh"}


def write(root: pathlib.Path, path: str, text: str = "text\n") -> None:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


@pytest.fixture(name="node")
def fixture_node(tmp_path: pathlib.Path) -> pathlib.Path:
    """Files of this release and of another, an operator's own among them."""
    for path in (NETPLAN, UNIT, QOS, DROPIN, "/etc/rocemesh/nccl/topology.xml", "/etc/rocemesh/mesh/login/x"):
        write(tmp_path, path)
    write(tmp_path, f"{CONTAINER}/config")
    write(tmp_path, f"{CONTAINER}/id_ed25519_cont")
    write(tmp_path, "/home/other/.ssh/rocemesh/config", "Host *\n")
    write(tmp_path, "/etc/netplan/50-cloud-init.yaml")
    for unit in ("rocemesh-mtu", "rocemesh-qos", "ssh"):
        (tmp_path / WANTS.lstrip("/")).mkdir(exist_ok=True, parents=True)
        (tmp_path / WANTS.lstrip("/") / f"{unit}.service").symlink_to(f"/etc/systemd/system/{unit}.service")
    write(tmp_path, PATH, json.dumps({"schema": 1, "files": OLD}))
    return tmp_path


def layer(root: pathlib.Path) -> ManifestLayer:
    return ManifestLayer("gpu01", str(root), str(root / "proc"))


def there(root: pathlib.Path) -> set[str]:
    return {"/" + str(path.relative_to(root)) for path in root.rglob("*") if path.is_symlink() or path.is_file()}


def manifest(root: pathlib.Path) -> dict[str, str]:
    return dict(json.loads((root / PATH.lstrip("/")).read_text())["files"])


def test_leftovers_are_named_with_their_role(node: pathlib.Path) -> None:
    assert leftovers(str(node), written(str(node)), read(str(node))) == OLD


def test_present_removes_leftovers_and_records_the_rest(node: pathlib.Path) -> None:
    before = there(node)
    converge(layer(node), Wish(ROLES))
    gone = {NETPLAN, UNIT, QOS, f"{WANTS}/rocemesh-mtu.service", f"{WANTS}/rocemesh-qos.service",
            f"{CONTAINER}/config", f"{CONTAINER}/id_ed25519_cont"}  # fmt: skip
    assert there(node) == before - gone | {PATH}
    assert manifest(node) == OWN
    assert not converge(layer(node), Wish(ROLES))["changed"]


def test_check_mode_changes_nothing(node: pathlib.Path) -> None:
    before = there(node)
    result = converge(layer(node), Wish(ROLES), check_mode=True)
    assert result["changed"] and there(node) == before


def test_record_of_other_roles_stays_as_it_is(node: pathlib.Path) -> None:
    """A role that runs first does not record what later ones write, so a second run changes nothing."""
    converge(layer(node), Wish(("guest",)))
    assert manifest(node) == {DROPIN: "guest", CONTAINER: "mesh"}
    converge(layer(node), Wish(("mesh", "container")))
    assert manifest(node) == OWN
    assert not converge(layer(node), Wish(("guest",)))["changed"]


def test_absent_removes_the_files_of_the_role_alone(node: pathlib.Path) -> None:
    converge(layer(node), Wish(("container",)))
    converge(layer(node), Wish(("guest",), absent=True))
    assert not any("rocemesh-mtu" in path or "rocemesh-qos" in path for path in there(node))
    assert manifest(node) == {"/etc/rocemesh/nccl": "container", CONTAINER: "mesh"}
    assert (node / CONTAINER.lstrip("/")).is_dir()


def test_absent_of_all_roles_leaves_no_path(node: pathlib.Path) -> None:
    converge(layer(node), Wish(ROLES, absent=True))
    left = {path for path in there(node) if "rocemesh" in path}
    assert left == {"/home/other/.ssh/rocemesh/config"} and not (node / CONTAINER.lstrip("/")).exists()


def test_directory_in_use_stays_with_a_warning(node: pathlib.Path) -> None:
    write(node, "/proc/77/mountinfo", f"700 600 8:2 {CONTAINER} /root/.ssh rw - ext4 /dev/sda2 rw\n")
    result = converge(layer(node), Wish(ROLES))
    assert (node / CONTAINER.lstrip("/")).is_dir()
    assert [CONTAINER in text for text in result["warnings"]] == [True]


@pytest.mark.parametrize(
    "text",
    ["{",
     '{"schema": 2, "files": {}}', '{"schema": 1, "files": {"/etc/passwd": "guest"}}',
     '{"schema": 1, "files": {"/etc/rocemesh/../passwd": "guest"}}',
     '{"schema": 1, "files": {"/etc/rocemesh": "root"}}'],
)  # fmt: skip
def test_unknown_manifest_is_refused_and_nothing_removed(node: pathlib.Path, text: str) -> None:
    write(node, PATH, text)
    before = there(node)
    with pytest.raises(RefusedError):
        converge(layer(node), Wish(ROLES, absent=True))
    assert there(node) == before


def test_undo_holds_the_text_of_a_removed_file(node: pathlib.Path) -> None:
    write(node, NETPLAN, "network: {}\n")
    undo = converge(layer(node), Wish(ROLES))["undo"]
    assert any(NETPLAN in line and "network: {}" in line for line in undo)
