"""A new VM: its driver is installed and reaches no GPU before the maintenance window has set the MMIO space.

Against SIMULATED devices of the size of inventories/example-rails; only gpu01 is played.
"""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.integration.rails import big_site
from tests.integration.rails.big_site import RAILS, Site
from tests.integration.vsphere.conftest import Pki

NODE = "gpu01"
BEFORE = ("playbooks/power.yml", "playbooks/guest.yml", "--limit", f"{NODE},localhost")
NO_WISH: dict[str, Any] = {"gpu_vm_wanted": {}}


@pytest.fixture(scope="module")
def site(pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with big_site.standing(tmp_path_factory.mktemp("site"), pki) as standing:
        standing.guests[NODE].put_gpus_on_bus()
        yield standing


def program(site: Site, name: str, script: str) -> pathlib.Path:
    path = site.guests[NODE].root / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def driver(site: Site, *, on_disk: bool) -> None:
    """No driver is loaded: nvidia-smi finds none."""
    shutil.rmtree(site.guests[NODE].root / "sys" / "module" / "nvidia", ignore_errors=True)
    found = 'case "$*" in *version*) echo 550.54.15 ;; *) echo NVIDIA ;; esac'
    program(site, "modinfo", found if on_disk else "exit 1")
    program(site, "nvidia-smi", "echo 'NVIDIA-SMI has failed: no communication with the driver'; exit 9")


def play(site: Site, *words: str, check: bool = True) -> tuple[int, str]:
    done = site.play(*words, check=check)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_a_driver_that_waits_for_the_window_stops_nothing_before_it_and_is_told(site: Site) -> None:
    driver(site, on_disk=True)
    code, said = play(site, *BEFORE)
    assert code == 0, said[-4000:]
    assert "is loaded, although 550.54.15" in said
    assert "maintenance window sets pciPassthru.64bitMMIOSizeGB" in said


@pytest.mark.parametrize(
    ("on_disk", "variables", "words"),
    [
        (True, NO_WISH, "although 550.54.15 is on the disk. What to do: sudo modprobe nvidia"),
        (False, {}, "no NVIDIA driver is loaded or on the disk"),
        (True, {"guest_ranks": 9}, "9 ranks and 8 GPU(s)"),
        (True, {"container_build_dockerfile": "multinode/Dockerfile"}, "was built without CUDA"),
    ],
    ids=["no_key_waits", "no_driver_on_the_disk", "ranks", "image"],
)
def test_what_no_window_mends_is_refused_before_it(
    site: Site, on_disk: bool, variables: dict[str, str], words: str
) -> None:
    driver(site, on_disk=on_disk)
    site.tell({NODE: variables})
    try:
        code, said = play(site, *BEFORE)
    finally:
        site.tell({})
    assert code == 2 and words in said, said[-4000:]


@pytest.fixture
def after(site: Site, tmp_path: pathlib.Path) -> str:
    call = {"ansible.builtin.include_role": {"name": "rocemesh.multinode.guest", "tasks_from": "after_window"}}
    book = tmp_path / "after.yml"
    book.write_text(yaml.safe_dump([{"hosts": NODE, "gather_facts": False, "tasks": [call]}]))
    return str(book)


def test_after_the_window_a_driver_gets_its_time_to_start(site: Site, after: str, tmp_path: pathlib.Path) -> None:
    driver(site, on_disk=True)
    gpus = "; ".join(f"echo 'GPU {rail}: A100 (UUID: GPU-{rail})'" for rail in range(RAILS))
    program(
        site, "nvidia-smi", f'echo again >> {tmp_path}/asked; [ "$(wc -l < {tmp_path}/asked)" -gt 2 ] || exit 9; {gpus}'
    )
    loaded = site.guests[NODE].root / "sys/module/nvidia"
    loaded.mkdir(parents=True)
    (loaded / "version").write_text("550.54.15\n")
    code, said = play(site, after, check=False)
    assert code == 0, said[-4000:]
    assert (tmp_path / "asked").read_text().count("again") > 2


def test_after_the_window_a_driver_that_does_not_load_is_refused(site: Site, after: str) -> None:
    driver(site, on_disk=True)
    code, said = play(
        site, after, "-e", "guest_gpus_timeout=0", "-e", "guest_gpus_wait_for=pciPassthru.use64bitMMIO", check=False
    )
    assert code == 2 and "is loaded, although 550.54.15" in said, said[-4000:]
