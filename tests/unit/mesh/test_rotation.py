"""Keys change while the mesh stays open, and an interruption at any place can be repaired by running again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.mesh.harness import Node

CONTAINER_KEY = "container/id_ed25519_cont"


def rotate(nodes: tuple[Node, Node], rotation: str) -> None:
    peers = [node.identity(rotation=rotation) for node in nodes]
    for node in nodes:
        node.run(peers=peers)


def public(node: Node, name: str = CONTAINER_KEY) -> str:
    return " ".join(node.at(name + ".pub").read_text().split()[:2])


def test_both_keys_are_accepted_until_the_new_one_is_in_use(nodes: tuple[Node, Node]) -> None:
    one, two = nodes
    rotate(nodes, "none")
    old = public(one)
    rotate(nodes, "prepare")
    following = public(one, CONTAINER_KEY + ".next")
    authorized = (two.ssh / "authorized_keys").read_text()
    assert old in authorized and following in authorized and public(one) == old
    rotate(nodes, "commit")
    authorized = (two.ssh / "authorized_keys").read_text()
    assert old not in authorized and following in authorized and public(one) == following
    assert not list(one.ssh.rglob("*.next*"))


def test_preparing_twice_keeps_the_next_keys(nodes: tuple[Node, Node]) -> None:
    rotate(nodes, "none")
    rotate(nodes, "prepare")
    following = public(nodes[0], CONTAINER_KEY + ".next")
    again = nodes[0].run(state="identity", rotation="prepare")
    assert not again["changed"] and again["identity"]["container_public_keys"][1] == following


def test_preparing_a_node_without_keys_makes_both_pairs(node: Node) -> None:
    identity = node.identity(rotation="prepare")
    assert len(set(identity["container_public_keys"])) == len(set(identity["host_public_keys"])) == 2
    assert node.identity(rotation="prepare") == identity


def test_committing_what_nobody_prepared_changes_nothing(nodes: tuple[Node, Node]) -> None:
    rotate(nodes, "none")
    before = nodes[0].snapshot()
    assert not nodes[0].run(state="identity", rotation="commit")["changed"]
    assert nodes[0].snapshot() == before


def test_a_usual_run_in_the_middle_keeps_both_keys(nodes: tuple[Node, Node]) -> None:
    rotate(nodes, "none")
    rotate(nodes, "prepare")
    rotate(nodes, "none")
    assert public(nodes[0], CONTAINER_KEY + ".next") in (nodes[1].ssh / "authorized_keys").read_text()


def test_check_mode_prepares_nothing(nodes: tuple[Node, Node]) -> None:
    rotate(nodes, "none")
    before = nodes[0].snapshot()
    planned = nodes[0].run(check=True, state="identity", rotation="prepare")
    assert planned["changed"] and nodes[0].snapshot() == before


def test_absent_takes_the_next_keys_away_too(nodes: tuple[Node, Node]) -> None:
    rotate(nodes, "none")
    rotate(nodes, "prepare")
    nodes[0].run(state="absent")
    assert not list(nodes[0].home.rglob("id_*"))


class Crash(Exception):
    pass


@pytest.mark.parametrize("survived", range(6), ids=lambda number: f"after_{number}_steps")
def test_an_interrupted_commit_ends_with_the_next_keys(nodes: tuple[Node, Node], survived: int) -> None:
    rotate(nodes, "none")
    rotate(nodes, "prepare")
    one = nodes[0]
    following = public(one, CONTAINER_KEY + ".next")
    steps = 0

    def dying(action: Any) -> Any:
        def step(*arguments: Any, **named: Any) -> Any:
            nonlocal steps
            if steps == survived:
                raise Crash
            steps += 1
            return action(*arguments, **named)

        return step

    both = (one.transport, one.system)
    kept = [(transport.unlink, transport.replace) for transport in both]
    for transport in both:
        transport.unlink = dying(transport.unlink)  # type: ignore[method-assign]
        transport.replace = dying(transport.replace)  # type: ignore[method-assign]
    with pytest.raises(Crash):
        one.run(state="identity", rotation="commit")
    for transport, (unlink, replace) in zip(both, kept, strict=True):
        transport.unlink, transport.replace = unlink, replace  # type: ignore[method-assign]
    rotate(nodes, "commit")
    assert public(one) == following and not list(one.ssh.rglob("*.next*"))
    assert not one.run(state="identity")["changed"]
    assert one.at(CONTAINER_KEY).stat().st_mode & 0o777 == 0o600


def test_files_of_a_rotation_stay_in_the_mesh(nodes: tuple[Node, Node]) -> None:
    rotate(nodes, "none")
    rotate(nodes, "prepare")
    below = {path.relative_to(nodes[0].home).parts[0] for path in nodes[0].home.rglob("*")}
    assert below == {".ssh"}
    held = {path for path in nodes[0].root.rglob("*") if path.is_file()}
    assert held and all(path.parent == nodes[0].container for path in held)
