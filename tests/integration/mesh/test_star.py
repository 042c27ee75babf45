"""Role mesh over real SSH servers where only the head logs in: one call per worker, and what that must not break."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.mesh.fleet import Fleet, Node, fleet, missing
from tests.integration.mesh.playing import OURS, play

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


def plays(tasks: str = "main", **variables: Any) -> list[dict[str, Any]]:
    (found,) = copy.deepcopy(OURS)
    del found["roles"]
    found["tasks"] = [{"ansible.builtin.import_role": {"name": "rocemesh.multinode.mesh", "tasks_from": tasks}}]
    found["vars"].update(variables)
    return [found]


def files(node: Node) -> dict[str, bytes]:
    found = [*(node.root / "root/.ssh").rglob("*"), *(node.root / "etc/rocemesh").rglob("*")]
    return {str(path.relative_to(node.root)): path.read_bytes() for path in found if path.is_file()}


def changed(output: str) -> dict[str, int]:
    return {name: int(count) for name, count in re.findall(r"^(gpu\d+) +: ok=\d+ +changed=(\d+)", output, re.MULTILINE)}


def reaches(nodes: Fleet, head: Node | None = None) -> None:
    head = head or nodes.nodes[0]
    for node in nodes.nodes:
        if not node.connections():
            node.start_container()
        done = head.in_container(["ssh", "-o", "BatchMode=yes", node.address, "true"])
        assert done.returncode == 0, (node.name, done.returncode, done.stderr)


def without(lost: Node) -> tuple[str, str]:
    """Nothing listens where this node is looked for."""
    return "-e", json.dumps({"ansible_port": f"{{{{ 9 if inventory_hostname == '{lost.name}' else 22 }}}}"})


@pytest.fixture
def nodes() -> Iterator[Fleet]:
    with fleet(3) as started:
        yield started


def test_check_mode_plans_a_mesh_from_nothing_and_makes_none(nodes: Fleet) -> None:
    before = [files(node) for node in nodes.nodes]
    done = play(nodes, plays(), "planned", "--check", "--diff")
    assert done.returncode == 0, done.stdout[-3000:]
    assert [files(node) for node in nodes.nodes] == before
    assert all(changed(done.stdout).values()), done.stdout[-3000:]


def test_a_worker_is_told_of_the_head_alone_and_a_second_run_changes_nothing(nodes: Fleet) -> None:
    done = play(nodes, plays(), "made")
    assert done.returncode == 0, done.stdout[-3000:]
    reaches(nodes)
    head, *workers = nodes.nodes
    for worker in workers:
        text = b"".join(content for path, content in files(worker).items() if "ssh_host" not in path).decode()
        assert head.address in text
        assert not any(re.search(rf"\b{re.escape(other.address)}\b", text) for other in workers if other is not worker)
    again = play(nodes, plays(), "again")
    assert set(changed(again.stdout).values()) == {0}, again.stdout[-3000:]


def test_a_worker_that_does_not_answer_leaves_the_head_as_it_was_and_is_named(nodes: Fleet) -> None:
    head, _worker, lost = nodes.nodes
    before = {path: content for path, content in files(head).items() if "_ed25519" not in path}
    done = play(nodes, plays(), "hole", *without(lost))
    said = " ".join(done.stdout.split())
    assert done.returncode != 0
    assert f"no keys are known of {lost.name}" in said and "The head is as it was" in said, done.stdout[-3000:]
    assert {path: content for path, content in files(head).items() if "_ed25519" not in path} == before
    done = play(nodes, plays(), "mended")
    assert done.returncode == 0, done.stdout[-3000:]
    reaches(nodes)


def test_a_head_that_does_not_answer_leaves_all_as_they_were(nodes: Fleet) -> None:
    before = [files(node) for node in nodes.nodes]
    done = play(nodes, plays(), "headless", *without(nodes.nodes[0]))
    assert done.returncode != 0 and "gpu001" in done.stdout
    assert [files(node) for node in nodes.nodes] == before


def test_the_head_can_be_any_host_of_the_play(nodes: Fleet) -> None:
    """It is asked before the others only where it is the first; else every node is asked before any is told."""
    assert play(nodes, plays(), "first").returncode == 0
    other = plays(mesh_head="gpu003")
    done = play(nodes, other, "moved")
    assert done.returncode == 0, done.stdout[-3000:]
    assert set(changed(play(nodes, other, "again").stdout).values()) == {0}
    reaches(nodes, nodes.nodes[2])
    former = nodes.nodes[0].in_container(["ssh", "-o", "StrictHostKeyChecking=no", nodes.nodes[1].address, "true"])
    assert former.returncode == 255 and "Permission denied" in former.stderr, former.stderr


def test_the_shape_can_be_changed_and_changed_back(nodes: Fleet) -> None:
    assert play(nodes, plays(), "star").returncode == 0

    def settings() -> list[dict[str, bytes]]:
        """The guide's way takes the server's key away, and the way back makes another."""
        return [
            {p: text for p, text in files(n).items() if "host_" not in p and "known_" not in p} for n in nodes.nodes
        ]

    star = settings()
    for shape in ({"mesh_topology": "all"}, {"mesh_transport": "guide"}):
        done = play(nodes, plays(**shape), "other")
        assert done.returncode == 0 and all(changed(done.stdout).values()), done.stdout[-3000:]
        assert set(changed(play(nodes, plays(**shape), "again").stdout).values()) == {0}, shape
    assert play(nodes, plays(), "star").returncode == 0
    assert settings() == star
    reaches(nodes)


def test_after_a_rotation_there_is_nothing_to_change(nodes: Fleet) -> None:
    assert play(nodes, plays(), "made").returncode == 0
    reaches(nodes)
    head, worker = nodes.nodes[:2]
    assert head.inside(["cp", "/etc/rocemesh/mesh/container/id_ed25519_cont", "/root/old"]).returncode == 0
    old = [
        "ssh",
        "-F",
        "none",
        "-i",
        "/root/old",
        "-p",
        "2222",
        "-o",
        "BatchMode=yes",
        "-o",
        "StrictHostKeyChecking=no",
    ]
    assert head.inside([*old, f"root@{worker.address}", "true"]).returncode == 0
    before = [files(node) for node in nodes.nodes]
    done = play(nodes, plays("rotate"), "rotated")
    assert done.returncode == 0, done.stdout[-3000:]
    after = [files(node) for node in nodes.nodes]
    assert all(one != other for one, other in zip(before, after, strict=True))
    assert [sorted(each) for each in before] == [sorted(each) for each in after], "a file is left over, or is gone"
    again = play(nodes, plays(), "again")
    assert set(changed(again.stdout).values()) == {0}, again.stdout[-3000:]
    # The servers that were there read the new keys by themselves, and the old one opens nothing any more.
    reaches(nodes)
    refused = head.inside([*old, f"root@{worker.address}", "true"])
    assert refused.returncode == 255 and "Permission denied" in refused.stderr, refused.stderr


def test_verify_proves_that_the_head_gets_in_and_no_worker_does(nodes: Fleet) -> None:
    """Refused by the server for its key, which a broken network would not prove; a planted key is found."""
    checked = plays("verify", mesh_verify_from="all")
    assert play(nodes, plays(), "made").returncode == 0
    for node in nodes.nodes:
        node.start_container()
    done = play(nodes, checked, "checked")
    said = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"gpu001: gpu001 \d+ ms, gpu002 \d+ ms, gpu003 \d+ ms", said), done.stdout[-3000:]
    assert "gpu002: gpu001 refused, gpu002 refused, gpu003 refused" in said

    worker, last = nodes.nodes[1:]
    public = (worker.root / "etc/rocemesh/mesh/container/id_ed25519_cont.pub").read_text()
    with (last.root / "etc/rocemesh/mesh/container/authorized_keys").open("a") as stream:
        stream.write(public)
    done = play(nodes, checked, "planted")
    assert done.returncode != 0
    assert "gpu002: from its container the key should be refused everywhere" in " ".join(done.stdout.split())
    assert f"not by gpu003 ({last.address}, exit status 0" in " ".join(done.stdout.split()), done.stdout[-3000:]


def test_a_part_of_the_nodes_is_refused_with_the_way_out(nodes: Fleet) -> None:
    """--limit, serial and the strategies that do not go in step: each by its own name, and before anything is made."""
    before = [files(node) for node in nodes.nodes]
    (serial,), (free,), (pinned,) = plays(), plays(), plays()
    serial["serial"], free["strategy"], pinned["strategy"] = 1, "free", "host_pinned"
    for made, arguments, told in (
        (plays(), ["--limit", "gpu002"], "Run this without --limit."),
        ([serial], [], "Take serial out of this play"),
        ([free], [], "needs strategy linear"),
        ([pinned], [], "needs strategy linear"),
    ):
        done = play(nodes, made, "part", *arguments)
        said = " ".join(done.stdout.split())
        assert done.returncode != 0 and told in said, done.stdout[-3000:]
        # The head may have its keys: without them there is nothing to tell.
        assert [files(node) for node in nodes.nodes[1:]] == before[1:], told
