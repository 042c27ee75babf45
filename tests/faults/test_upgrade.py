"""A rolling upgrade of the lab's four hosts: ten kills on the way, and a host that is worse stops it.

The packages are made here, and lie in a folder of each node: no network. Version 3.0 takes the NIC of gpu02 away, any
other gives it back.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import json
import pathlib
import re
import signal
import subprocess
import tarfile
from collections.abc import Callable

import pytest

from lab import config, engine
from tests import site_run
from tests.faults.triggers import seldom
from tests.site_run import ALLOW, SHORT

NODES = tuple(node.name for node in config.NODES)
# Image and mesh take minutes, and an upgrade has the same stages for them as the site.
NO_CONTAINERS = ("--skip-tags", "image,mesh,run,report")
PLACE = "/var/local/rocemesh-test"
RECORD, CHANGED = "/var/lib/rocemesh-upgrade.json", "/run/rocemesh-upgrade"
POSTINST = """#!/bin/sh
touch /run/tiny-is-configured
sleep 4
program=/usr/local/bin/lab-sysfs
if [ VERSION = 3.0 ] && [ "$(hostname)" = gpu02 ]; then
  [ -e $program.kept ] || { cp $program $program.kept; printf '#!/bin/sh\\n' > $program; }
else
  [ ! -e $program.kept ] || mv $program.kept $program
fi
rm -f /run/tiny-is-configured
"""


def package(folder: pathlib.Path, version: str) -> pathlib.Path:
    tree = folder / version
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(
        f"Package: tiny\nVersion: {version}\nArchitecture: all\nMaintainer: tests <tests@example.org>\n"
        "Description: stands for a driver\n"
    )
    (tree / "DEBIAN/postinst").write_text(POSTINST.replace("VERSION", version))
    (tree / "DEBIAN/postinst").chmod(0o755)
    made = folder / f"tiny_{version}_all.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, made], check=True, capture_output=True)
    return made


def archive(folder: pathlib.Path) -> bytes:
    """The repository, and apt told of no other one, as files of a node."""
    index = ""
    files: dict[str, bytes] = {}
    for version in ("1.0", "2.0", "3.0"):
        made = package(folder, version)
        content = files[f"{PLACE}/{made.name}"] = made.read_bytes()
        control = (folder / version / "DEBIAN/control").read_text()
        index += f"{control}Filename: ./{made.name}\nSize: {len(content)}\n"
        index += f"SHA256: {hashlib.sha256(content).hexdigest()}\n\n"
    files[f"{PLACE}/Packages"] = index.encode()
    files[f"{PLACE}/sources.list"] = f"deb [trusted=yes] file:{PLACE} ./\n".encode()
    files["/etc/apt/apt.conf.d/99rocemesh-test"] = (
        f'Dir::Etc::sourcelist "{PLACE}/sources.list";\nDir::Etc::sourceparts "-";\n'.encode()
    )
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name.lstrip("/"))
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@pytest.fixture(scope="module")
def upgradable(twin: None, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A finished site whose nodes have tiny 1.0."""
    site_run.reset()
    run = site_run.play("site.yml", *ALLOW, *SHORT, *NO_CONTAINERS)
    assert run.rc == 0, run.tail()
    packed = base64.b64encode(archive(tmp_path_factory.mktemp("repository"))).decode()
    for node in config.NODES:
        engine.docker("exec", "--interactive", node.container, "sh", "-c", "base64 -d | tar x -C /", stdin=packed)
        site_run.on_node(node.name, "sh", "-c", "apt-get update && apt-get install -y tiny=1.0")


def upgrade(version: str, *more: str, **known: object) -> site_run.Run:
    given = json.dumps({"rocemesh_upgrade": {"packages": {"tiny": version}}})
    return site_run.play("upgrade.yml", "-e", given, *NO_CONTAINERS, *more, **known)  # type: ignore[arg-type]


def versions() -> dict[str, str]:
    return {node: site_run.on_node(node, "dpkg-query", "-W", "-f=${Version}", "tiny") for node in NODES}


def there(node: str, path: str) -> bool:
    return "yes" in site_run.on_node(node, "sh", "-c", f"test -e {path} && echo yes || true")


def boot(node: str) -> str:
    return site_run.on_node(node, "cat", "/proc/sys/kernel/random/boot_id")


def installed(node: str, version: str) -> bool:
    return site_run.on_node(node, "dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", "tiny") == (
        f"installed {version}"
    )


def unfinished() -> list[str]:
    return [node for node in NODES if there(node, RECORD)]


def unfinished_hosts() -> set[str]:
    """ESXi hosts: the VMs of one are upgraded in one window."""
    return {config.BY_NAME[node].host for node in unfinished()}


def moments() -> dict[str, Callable[[], Callable[[], bool]]]:
    """Name -> what makes the question, asked while the run goes on."""

    def at(question: Callable[[], bool]) -> Callable[[], Callable[[], bool]]:
        return lambda: seldom(question)

    def restarted(node: str) -> Callable[[], bool]:
        before = boot(node)
        return seldom(lambda: boot(node) != before)

    return {
        "state_of_the_first_is_kept": at(lambda: there("gpu01", RECORD)),
        "packages_of_the_first_are_begun": at(lambda: there("gpu01", CHANGED)),
        "package_of_the_first_is_configured": at(lambda: there("gpu01", "/run/tiny-is-configured")),
        "package_of_the_first_is_there": at(lambda: installed("gpu01", "2.0")),
        "package_of_the_second_is_configured": at(lambda: there("gpu02", "/run/tiny-is-configured")),
        "first_has_restarted": functools.partial(restarted, "gpu01"),
        "first_is_proved": at(lambda: installed("gpu01", "2.0") and not there("gpu01", RECORD)),
        "second_is_proved": at(lambda: installed("gpu02", "2.0") and not there("gpu02", RECORD)),
        "package_of_the_third_is_configured": at(lambda: there("gpu03", "/run/tiny-is-configured")),
        "last_has_restarted": functools.partial(restarted, "gpu04"),
    }


def test_check_lists_the_upgrade_and_changes_nothing(upgradable: None) -> None:
    before = site_run.durable()
    run = upgrade("2.0", "--check")
    assert run.rc == 0 and site_run.durable() == before, run.tail()
    assert re.search(r"tiny: 1\.0 -> 2\.0", run.out) and "guests restart" in run.out, run.tail()
    # Without the permission it stops before the first host.
    run = upgrade("2.0")
    assert run.rc != 0 and "restart of guests; stops gpu01" in run.out and site_run.durable() == before, run.tail()


@pytest.mark.parametrize("where", list(moments()))
def test_upgrade_that_is_killed_leaves_one_host_unfinished(where: str, upgradable: None) -> None:
    begun = unfinished_hosts()
    reached = moments()[where]()
    run = upgrade("2.0", *ALLOW, when=(reached, site_run.kill))
    assert run.rc == -signal.SIGKILL, f"the run ended before its moment came: {run.tail()}"
    now = unfinished_hosts()
    assert len(now) <= 1, "two hosts are unfinished at once"
    assert now >= begun or all(installed(node.name, "2.0") for node in config.NODES if node.host in begun), (
        "another host was begun before this one was finished"
    )


def test_the_run_after_the_last_kill_finishes_all_hosts(upgradable: None) -> None:
    run = upgrade("2.0", *ALLOW)
    assert run.rc == 0, run.tail()
    assert set(versions().values()) == {"2.0"} and unfinished() == []
    assert not any(there(node, CHANGED) for node in NODES), "a guest has not restarted since its upgrade"
    boots = [boot(node) for node in NODES]
    again = upgrade("2.0", *ALLOW)
    assert again.rc == 0 and again.changed == {} and [boot(node) for node in NODES] == boots, again.tail()


def test_host_that_is_worse_stops_the_upgrade_and_goes_back(upgradable: None) -> None:
    run = upgrade("3.0", *ALLOW)
    assert run.rc != 0, run.tail()
    assert "gpu02: NIC" in run.out and "is gone" in run.out, run.tail()
    assert versions() == {"gpu01": "3.0", "gpu02": "3.0", "gpu03": "2.0", "gpu04": "2.0"}
    assert unfinished() == ["gpu02"]
    # Nothing was repaired: the same command stops at the same host.
    again = upgrade("3.0", *ALLOW)
    assert again.rc != 0 and "gpu02: NIC" in again.out and versions()["gpu03"] == "2.0", again.tail()
    back = upgrade("2.0", *ALLOW)
    assert back.rc == 0, back.tail()
    assert set(versions().values()) == {"2.0"} and unfinished() == []
