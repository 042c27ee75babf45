"""A mesh whose containers run as an ordinary account of their image: its server, mpirun's daemons and the ranks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.mesh import many
from tests.integration.mesh.fleet import CONTAINER_USER, MESH, Fleet, fleet, missing
from tests.integration.mesh.playing import play
from tests.integration.mesh.test_open_mpi import said
from tests.integration.mesh.test_star import changed, plays

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
USER = {"name": "mpiuser", "uid": 10001, "gid": 10001, "home": "/home/mpiuser"}


@pytest.fixture(scope="module")
def mesh() -> Iterator[Fleet]:
    """Three nodes whose images have the account."""
    with fleet(3) as started:
        for node in started.nodes:
            with (node.root / "etc/passwd").open("a") as accounts:
                accounts.write("mpiuser:x:10001:10001::/home/mpiuser:/bin/sh\n")
            with (node.root / "etc/shadow").open("a") as locked:  # as useradd leaves it; its own server cannot read it
                locked.write("mpiuser:!:19000:0:99999:7:::\n")
            (node.root / CONTAINER_USER.lstrip("/")).write_text("10001 10001 /home/mpiuser\n")
            assert node.inside(["install", "-d", "-o", "10001", "-g", "10001", "/home/mpiuser/.ssh"]).returncode == 0
        done = play(started, plays(container_user=USER), "made")
        assert done.returncode == 0, done.stdout[-3000:]
        for node in started.nodes:
            node.start_container()
        yield started


def test_server_login_and_command_are_that_account(mesh: Fleet) -> None:
    head, *workers = mesh.nodes
    for worker in workers:
        asked = "id -u; id -G; grep -E 'Cap(Eff|Bnd)|NoNewPrivs' /proc/self/status"
        done = head.in_container(["ssh", worker.address, asked])
        assert done.returncode == 0, done.stderr
        own, groups, *status = done.stdout.split("\n")
        assert (own, groups) == ("10001", "10001")
        assert [line.split() for line in status if line] == [
            ["CapEff:", "0000000000000000"], ["CapBnd:", "0000000000000000"], ["NoNewPrivs:", "1"],
        ]  # fmt: skip
        servers = worker.inside(["pgrep", "-f", "-u", "10001", "sshd.*mesh_config"])
        assert servers.stdout.split()


def test_root_is_refused_and_a_worker_opens_nothing(mesh: Fleet) -> None:
    head, *workers = mesh.nodes
    assert head.in_container(["ssh", f"root@{workers[0].address}", "true"]).returncode == 255
    for node in mesh.nodes:
        done = workers[0].in_container(["ssh", "-o", "StrictHostKeyChecking=no", node.address, "true"])
        assert done.returncode == 255


def test_a_rank_reads_the_keys_that_it_needs_and_writes_none(mesh: Fleet) -> None:
    (head, *_workers) = mesh.nodes
    for name in ("authorized_keys", "id_ed25519_cont", "sshd_config", "start_sshd.sh", "new"):
        done = head.in_container(["sh", "-c", f"echo x >> ~/.ssh/{name}"])
        assert done.returncode != 0
    modes = head.inside(["stat", "-c", "%u %a", f"{MESH}/container/id_ed25519_cont", f"{MESH}/container"])
    assert modes.stdout.split() == ["10001", "600", "0", "755"]


def test_mpirun_starts_every_rank_without_root(mesh: Fleet) -> None:
    done = many.mpirun(mesh, ["id", "-u"], said("/usr/bin/mpirun"))
    assert done.returncode == 0, done.stderr[-2000:]
    assert many.answered(done.stdout) == {n: ["10001"] for n in range(3)}


def test_a_second_run_changes_nothing(mesh: Fleet) -> None:
    again = play(mesh, plays(container_user=USER), "again")
    assert again.returncode == 0
    assert set(changed(again.stdout).values()) == {0}, again.stdout[-3000:]
