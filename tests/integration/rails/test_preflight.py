"""Preflight against SIMULATED devices of the size of inventories/example-rails: a right site is quiet, many faults at
once are all named in one run, and neither run changes anything."""

from __future__ import annotations

import hashlib
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.rails import big_site
from tests.integration.rails.big_site import NODES, Site
from tests.integration.vsphere.conftest import Pki

CLOSED = 9  # discard: nobody listens there


@pytest.fixture(scope="module")
def site(pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with big_site.standing(tmp_path_factory.mktemp("site"), pki) as standing:
        for guest in standing.guests.values():
            guest.put_gpus_on_bus()
        yield standing


def digest(site: Site) -> tuple[str, str]:
    """Of what the devices hold, and of every file of the guests."""
    held = hashlib.sha256(json.dumps(site.state(), sort_keys=True, default=str).encode())
    files = hashlib.sha256()
    for path in sorted((site.root / "guests").rglob("*")):
        if path.is_file() and not path.is_symlink():
            files.update(f"{path} {path.stat().st_mode} ".encode() + path.read_bytes())
    return held.hexdigest(), files.hexdigest()


def look(site: Site, *words: str) -> tuple[int, str, dict[str, Any]]:
    place = site.root / "found.json"
    place.unlink(missing_ok=True)
    done = site.play("playbooks/preflight.yml", "-e", f"preflight_dest={place}", *words, check=False)
    assert place.exists(), done.stdout[-3000:] + done.stderr[-1000:]
    return done.returncode, done.stdout + done.stderr, json.loads(place.read_text())


def test_a_right_site_is_quiet(site: Site) -> None:
    """The registry is somebody who listens: no more is asked of it."""
    before = digest(site)
    code, output, told = look(site, "-e", f"container_registry=127.0.0.1:{site.vcenter.port}")
    assert (code, told["problems"], told["cautions"]) == (0, [], []), output[-3000:]
    assert {"leaf01", "leaf02", "vCenter", *NODES} <= set(told["looked_at"])
    assert digest(site) == before


def program(site: Site, node: str, name: str) -> pathlib.Path:
    return site.guests[node].root / "bin" / name


def test_a_dozen_faults_at_once_are_named_in_one_run_and_nothing_is_changed(site: Site) -> None:
    lister = program(site, "gpu01", "nvidia-smi")
    lister.write_text("\n".join(line for line in lister.read_text().splitlines() if not line.startswith("GPU 7:")))
    for name in ("nvidia-ctk", "nvidia-container-runtime-hook"):
        program(site, "gpu02", name).unlink()
    engine = program(site, "gpu02", "docker")
    engine.write_text(engine.read_text().replace('"nvidia": {"path": "nvidia-container-runtime"}, ', ""))
    site.guests["gpu02"].put_on_bus("0000:c1:00.0", "0x068000")
    docker = program(site, "gpu03", "docker")
    docker.write_text("#!/bin/sh\necho 'permission denied while trying to connect' >&2\nexit 1\n")
    site.tell(
        {
            "leaf01": {"switch_password": "{{ vault_of_nobody }}"},
            "leaf02": {"switch_password": "not-the-one"},
            "esx03.example.com": {"esxi_host_name": "esx33.example.com"},
            "gpu01": {"gpu_vm_name": "gpu10", "rocemesh_adress": "10.1.0.11"},
            "gpu02": {"rocemesh_address": ""},
            "gpu03": {"rocemesh_slots": 9, "guest_ofed_profil": "none"},
            "gpu04": {
                "ansible_connection": "ssh",
                "ansible_host": "127.0.0.1",
                "ansible_port": CLOSED,
                "ansible_ssh_common_args": "-F none",
            },
        }
    )
    before = digest(site)
    code, output, told = look(site, "-e", f"container_registry=127.0.0.1:{CLOSED}")
    assert digest(site) == before, "preflight changed something"
    assert code == 2
    named = {
        (row["place"], row["thing"]): row["text"] + " " + row["remedy"] for row in told["problems"] + told["cautions"]
    }
    expected = (
        ("leaf01", "switch_password", "'vault_of_nobody' is undefined"),
        ("leaf02", "switch", "refused"),
        ("esx33.example.com", "ESXi host", "esxi_host_name"),
        ("gpu10", "VM", "gpu_vm_name"),
        ("gpu01", "NVIDIA driver", "nvidia-smi -L shows 7"),
        ("gpu01", "rocemesh_adress", "write rocemesh_address"),
        ("gpu02", "rocemesh_address", "it is not set"),
        ("gpu02", "NVIDIA container toolkit", "container_toolkit_source"),
        ("gpu02", "Fabric Manager", "Fabric Manager is not installed"),
        ("gpu03", "rocemesh_slots", "9 ranks and 8 GPU(s)"),
        ("gpu03", "guest_ofed_profil", "write guest_ofed_profile"),
        ("gpu03", "Docker engine", "permission denied"),
        ("gpu03", f"registry 127.0.0.1:{CLOSED}", "refused"),
        ("gpu04", "ssh", "Connection refused"),
    )
    lost = [row for row in expected if row[2] not in named.get(row[:2], "")]
    assert not lost, json.dumps({str(key): text for key, text in named.items()}, indent=1)
    assert "Nothing was changed." in " ".join(output.split())
