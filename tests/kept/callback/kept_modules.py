"""For every ansible-playbook that a test starts: the archive that carries a module to its node is built once a session.

Kept are modules of Ansible's distribution, of this collection's tree as it stands, and by its source a module of a
collection that a test made; one of a folder ``library`` never is. Only whole archives, of plays that came to their
end."""

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


_COLLECTIONS = "ansible_collections."


@functools.cache
def _collection(namespace: str, name: str) -> pathlib.Path | None:
    """Where a play finds it first; one of Ansible's distribution if it is nowhere else."""
    for path in (*C.COLLECTIONS_PATHS, _CORE.parent):
        found = pathlib.Path(path) / "ansible_collections" / namespace / name
        if found.is_dir():
            return found.resolve()
    return None


def _state() -> str:
    """Of the files that archives are made of: any change makes it another one."""
    files = sorted(str(path) for room in ("modules", "module_utils") for path in (_OURS / room).rglob("*.py"))
    told = [str(_CORE), ansible.__version__, *(f"{path} {os.stat(path).st_mtime_ns}" for path in files)]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


@functools.cache
def _kept(module: str) -> str | None:
    """What tells its archive from others of this name, None where that is not known: of a collection of a test's own
    the module is all that is in it."""
    if not module.startswith(_COLLECTIONS):
        name = module.rpartition(".")[2]
        return "" if module == f"ansible.modules.{name}" and (_CORE / "modules" / f"{name}.py").exists() else None
    _root, namespace, name, _plugins, _modules, *path = module.split(".")
    found = _collection(namespace, name)
    if found is None or found in (_OURS.parent, _CORE.parent / "ansible_collections" / namespace / name):
        return None if found is None else ""
    source = found.joinpath("plugins", "modules", *path).with_suffix(".py")
    if (found / "plugins" / "module_utils").exists() or not source.is_file():
        return None
    text = source.read_bytes()
    return None if b"ansible_collections" in text else f"@{hashlib.sha256(text).hexdigest()[:16]}"


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
        for archive in self.kept.glob("*-*"):
            name, mark, digest = archive.name.partition("@")
            if not name.startswith(".") and _kept(name.partition("-")[0]) == mark + digest:
                (self.own / name).symlink_to(archive)

    def v2_playbook_on_stats(self, stats: object) -> None:
        if self.kept is None:
            return
        for archive in self.own.iterdir():
            mark = _kept(archive.name.partition("-")[0])
            if archive.suffix == ".lock" or mark is None:
                continue
            kept = self.kept / f"{archive.name}{mark}"
            if kept.exists():
                continue
            part = self.kept / f".{archive.name}.{os.getpid()}"
            shutil.copyfile(archive, part)
            os.replace(part, kept)
