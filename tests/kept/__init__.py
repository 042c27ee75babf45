"""What every ansible-playbook of a test session would make again, kept in one folder as long as the session lasts
(``callback`` and ``path``): the archive of each module, the byte code of what lies in it and of plugins of collections,
Ansible's own tables; and modules on this machine run in forks of one Python per play. A module costs a third of a
second of processor time without this and a twentieth with it, a start of ansible-playbook costs a quarter less, and a
session runs thousands. With an empty ROCEMESH_TESTS_KEPT nothing is kept.
"""

from __future__ import annotations

import atexit
import os
import pathlib
import shutil
import sys
import tempfile

FOLDER = "ROCEMESH_TESTS_KEPT"
HERE = pathlib.Path(__file__).resolve().parent


def begin() -> None:
    """In the environment of this process and of all that it starts. Workers of pytest-xdist find it there already."""
    if str(HERE / "path") not in sys.path:
        sys.path.append(str(HERE / "path"))
    if FOLDER in os.environ:
        return
    # Where a throw-away disk sees it, too.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="rocemesh-kept-", dir=memory)
    atexit.register(_end, folder, os.getpid())
    os.environ[FOLDER] = folder
    os.environ.setdefault("ANSIBLE_CALLBACK_PLUGINS", str(HERE / "callback"))
    paths = [str(HERE / "path"), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


def _end(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
