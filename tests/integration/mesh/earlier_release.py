"""The release that started ranks through a broker of root's, as git has it: to upgrade from, and to compare with.

Its role runs under the present ansible-playbook, from a folder of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.integration.mesh.fleet import CONTAINER, NETWORK

ROOT = Path(__file__).resolve().parents[3]
COMMIT = "57a25bd4"
PARTS = ("ansible.cfg", "collections", "meta", "plugins", "roles/mesh")
ACCOUNT = "rocemesh-mesh"


def missing() -> str:
    """Why it cannot be had here; empty if it can."""
    found = subprocess.run(
        ["git", "-C", ROOT, "cat-file", "-e", f"{COMMIT}^{{commit}}"], capture_output=True, check=False
    )
    if found.returncode != 0:
        return f"needs the history of git with {COMMIT}"
    return "" if shutil.which("sudo") and shutil.which("useradd") else "needs sudo and passwd"


@contextmanager
def tree() -> Iterator[Path]:
    """Its files, where `playing.play` takes them as ``tree``."""
    with tempfile.TemporaryDirectory(prefix="rocemesh-earlier-") as folder:
        packed = subprocess.run(["git", "-C", ROOT, "archive", COMMIT, *PARTS], capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        yield Path(folder)


def plays(*prefixes: str) -> list[dict[str, Any]]:
    """Its role with its defaults. ``prefixes``: where Open MPI lies, which its broker has to be told. A node of the
    fleet has no system log."""
    chosen = {"mesh_user": "root", "mesh_cidr": [NETWORK], "mesh_container_name": CONTAINER}
    own = {"mesh_broker_log_required": False, "mesh_mpi_prefixes": ["/usr", *prefixes]}
    return [{"hosts": "all", "gather_facts": False, "vars": {**chosen, **own}, "roles": ["rocemesh.multinode.mesh"]}]
