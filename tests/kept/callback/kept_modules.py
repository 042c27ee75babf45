"""For every ansible-playbook that a test starts: the archive that carries a module to its node is built once a session.

Kept are modules of Ansible itself and of this collection's tree as it stands; a stand-in of a test never is. Only whole
archives, of plays that came to their end."""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import shutil

import ansible
import kept_code
import kept_forks
from ansible import constants as C
from ansible.plugins.callback import CallbackBase
from ansible.utils.collection_loader import _collection_finder

_CORE = pathlib.Path(ansible.__file__).parent
_OURS = pathlib.Path(__file__).resolve().parents[3] / "plugins"
_PREFIX = "ansible_collections.rocemesh.multinode.plugins.modules."


@functools.cache
def _ours_is_played() -> bool:
    """The collection that a play finds first is this tree."""
    for path in C.COLLECTIONS_PATHS:
        found = pathlib.Path(path) / "ansible_collections" / "rocemesh" / "multinode" / "plugins"
        if found.is_dir():
            return found.resolve() == _OURS
    return False


def _state() -> str:
    """Of the files that archives are made of: any change makes it another one."""
    files = sorted(str(path) for room in ("modules", "module_utils") for path in (_OURS / room).rglob("*.py"))
    told = [str(_CORE), ansible.__version__, *(f"{path} {os.stat(path).st_mtime_ns}" for path in files)]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _kept(archive: str) -> bool:
    module = archive.partition("-")[0]
    if module.startswith(_PREFIX):
        return _ours_is_played()
    name = module.rpartition(".")[2]
    return module == f"ansible.modules.{name}" and (_CORE / "modules" / f"{name}.py").exists()


def _keep_byte_code(folder: str) -> None:
    """Of plugins of collections and what they import: Ansible compiles them in every worker that needs one."""
    keeping = kept_code.keeping(folder, lambda path, source: compile(source, path, "exec", 0, True))
    _collection_finder.compile = lambda source, filename, **_more: keeping(filename, source)


class CallbackModule(CallbackBase):  # type: ignore[misc]
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "kept_modules"

    def __init__(self, *arguments: object, **more: object) -> None:
        super().__init__(*arguments, **more)
        folder = os.environ.get("ROCEMESH_TESTS_KEPT", "")
        self.own = pathlib.Path(C.DEFAULT_LOCAL_TMP) / "ansiballz_cache"
        self.kept = pathlib.Path(folder) / _state() if os.access(folder, os.W_OK) else None
        if self.kept is None:
            return
        self.kept.mkdir(exist_ok=True)
        _keep_byte_code(folder)
        kept_forks.begin(self.kept)
        if self.own.exists():
            return
        self.own.mkdir()
        for archive in self.kept.glob("[!.]*"):
            if _kept(archive.name):
                (self.own / archive.name).symlink_to(archive)

    def v2_playbook_on_stats(self, stats: object) -> None:
        if self.kept is None:
            return
        for archive in self.own.iterdir():
            kept = self.kept / archive.name
            if archive.suffix == ".lock" or not _kept(archive.name) or kept.exists():
                continue
            part = self.kept / f".{archive.name}.{os.getpid()}"
            shutil.copyfile(archive, part)
            os.replace(part, kept)
