"""Event-driven Ansible on what playbooks/drift.yml finds: an event when a device changes, and one when it is right.

The event source is played by a loop of its own. With ROCEMESH_RULEBOOK=/path/to/ansible-rulebook before a command the
rulebook of the collection is played as well; that program needs Java 17 and is no part of `make dev`.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.integration.day2.drift_site import DriftSite, right_site
from tests.integration.vsphere.conftest import ROOT, Pki

RULEBOOK = os.environ.get("ROCEMESH_RULEBOOK", "")
SOURCE = """
import asyncio, importlib.util, json, sys
spec = importlib.util.spec_from_file_location("drift", sys.argv[1])
source = importlib.util.module_from_spec(spec)
spec.loader.exec_module(source)
class Queue:
    async def put(self, event):
        print(json.dumps(event), flush=True)
asyncio.run(source.main(Queue(), {"path": sys.argv[2], "seconds": 0.2}))
"""


def command(listener: str, site: DriftSite) -> list[str]:
    path = site.folder / "reports/drift.json"
    if listener == "source":
        return [sys.executable, "-c", SOURCE, str(ROOT / "extensions/eda/plugins/event_source/drift.py"), str(path)]
    variables = site.folder / "vars.json"
    variables.write_text(json.dumps({"drift_file": str(path), "drift_seconds": 0.2}))
    words = ["--rulebook", "rocemesh.multinode.drift", "--inventory", str(site.folder / "inventory.json")]
    return [RULEBOOK, *words, "--vars", str(variables), "--print-events"]


@contextlib.contextmanager
def listening(listener: str, site: DriftSite) -> Iterator[pathlib.Path]:
    """Where it writes what it says."""
    said = site.folder / "said"
    environment = {
        **os.environ,
        # It asks ansible-galaxy where the collection is.
        "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
    }
    with said.open("w") as stream:
        process = subprocess.Popen(
            command(listener, site), cwd=site.folder, env=environment, stdout=stream, stderr=subprocess.STDOUT
        )
        try:
            yield said
        finally:
            process.kill()
            process.wait()


def wait_for(said: pathlib.Path, times: int) -> None:
    """Until it has spoken so often of what differs."""
    deadline = time.monotonic() + 120
    while said.read_text().count("name VLAN 111 rdma") != times:
        assert time.monotonic() < deadline, said.read_text()
        time.sleep(0.1)


@pytest.mark.parametrize("listener", ["source", *(["rulebook"] if RULEBOOK else [])])
def test_change_of_a_device_is_an_event(listener: str, binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path) -> None:
    each = 2 if listener == "rulebook" else 1  # it shows the event, and a rule says it
    with right_site(binary, pki, tmp_path, 1, {"esx01": ["gpu01"]}) as site:
        site.drift(0)
        with listening(listener, site) as said:
            site.on_the_switch("leaf01", "vlan 111 name other", "configuration write")
            site.drift(2)
            wait_for(said, each)
            assert "differs" in said.read_text()
            site.on_the_switch("leaf01", "vlan 111 name rdma", "configuration write")
            site.drift(0)
            wait_for(said, 2 * each)
            assert "right" in said.read_text().replace("'before': 'right'", "").replace('"before": "right"', "")
