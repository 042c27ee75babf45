"""Ansible's table of moved plugins, 376 kB of YAML that each ansible-playbook reads before it does anything: what came
of it is kept. And paramiko, which it imports as well, is not given invoke, which it wants for one line of ssh_config.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder

from kept_code import once

TYPE_CHECKING = False  # every Python that a test starts imports this: nothing that takes time
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Callable, Sequence

_READER = "ansible.utils.collection_loader._collection_meta"


class Finder:
    """The module that reads such tables is found as ever; its function is wrapped."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _READER:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def executed(module: Any) -> None:
                execute(module)
                module._meta_yml_to_dict = _kept(self._folder, module._meta_yml_to_dict)

            spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def _kept(folder: str, read: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def kept(text: bytes | str, content_id: Any) -> Any:
        source = text if isinstance(text, bytes) else text.encode()
        return once(folder, source, "routing", lambda: read(text, content_id))

    return kept


def begin(folder: str) -> None:
    sys.meta_path.insert(0, Finder(folder))  # type: ignore[arg-type]
    sys.modules.setdefault("invoke", None)  # type: ignore[arg-type]
