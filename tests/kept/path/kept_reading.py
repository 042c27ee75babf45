"""What each start of Ansible reads before it does anything is read once: its table of moved plugins (376 kB of YAML),
its list of settings, and the YAML of this tree and of the distribution, which then is copied for each role that asks.
Each of its processes compiles the templates that it fills: their code is kept. And paramiko, which it imports as well,
is not given invoke, which it wants for one line of ssh_config.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder, SourceFileLoader

from kept_code import once

TYPE_CHECKING = False  # every Python that a test starts imports this: nothing that takes time
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Callable, Sequence

_TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class Finder:
    """Modules are found as ever; after its own code, what ``changes`` has for its name is done to the module."""

    def __init__(self, changes: dict[str, Callable[[Any], None]]) -> None:
        self._changes = changes

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        change = self._changes.get(name)
        spec = PathFinder.find_spec(name, path, target) if change else None
        # A loader of an archive has more than one module.
        if change and spec is not None and isinstance(spec.loader, SourceFileLoader):
            execute = spec.loader.exec_module

            def executed(module: Any) -> None:
                execute(module)
                change(module)

            spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def _tables(folder: str, module: Any) -> None:
    read = module._meta_yml_to_dict

    def kept(text: bytes | str, content_id: Any) -> Any:
        return once(folder, text, "routing", lambda: read(text, content_id))

    module._meta_yml_to_dict = kept


def _settings(folder: str, module: Any) -> None:
    read = module.yaml_load

    def kept(stream: Any) -> Any:
        text = stream.read()
        return once(folder, text, "settings", lambda: read(text))

    module.yaml_load = kept


def _copies(module: Any) -> None:
    """A text or number with its tags never changes, as one without: a copy of it is itself."""
    for name in ("_AnsibleTaggedStr", "_AnsibleTaggedInt", "_AnsibleTaggedFloat"):
        getattr(module, name).__deepcopy__ = lambda self, _memo: self


def _yaml(folder: str, module: Any) -> None:
    """What a play of a test brings is read as ever: reading may warn."""
    import pickle  # noqa: PLC0415

    import ansible.release  # noqa: PLC0415

    tags = module._tags
    ours = (_TREE + os.sep, os.path.dirname(ansible.release.__file__) + os.sep)

    loader = module.AnsibleLoader

    class Kept:
        """Of a loader, what yaml.load() asks."""

        def __init__(self, stream: str, key: str) -> None:
            self._stream = stream
            self._key = key

        def get_single_data(self) -> Any:
            return pickle.loads(once(folder, self._key, "yaml", self._read))

        def _read(self) -> bytes:
            reader = loader(self._stream)
            try:
                return pickle.dumps(reader.get_single_data(), pickle.HIGHEST_PROTOCOL)
            finally:
                reader.dispose()

        def dispose(self) -> None:
            pass

    def load(stream: Any) -> Any:
        origin = tags.Origin.get_tag(stream) if isinstance(stream, str) else None
        if origin is None or not os.path.realpath(origin.path or "").startswith(ours):
            return loader(stream)
        trusted = tags.TrustedAsTemplate.is_tagged_on(stream)
        place = (ansible.release.__version__, origin.path, origin.line_num, origin.description, trusted)
        return Kept(stream, f"{place}{module.AnsibleTagHelper.untag(stream)}")

    module.AnsibleLoader = load


def _templates(folder: str, module: Any) -> None:
    """Ansible leaves nothing of a template to be worked out when it is compiled: its code is one of its text."""
    environment = module.AnsibleEnvironment
    compile_template, compile_code = environment.compile, environment._compile
    tag = sys.implementation.cache_tag

    def template(self: Any, source: Any, name: Any = None, filename: Any = None, *rest: Any, **more: Any) -> Any:
        if not isinstance(source, str) or name or filename or rest or more:
            return compile_template(self, source, name, filename, *rest, **more)
        context = module._TemplateCompileContext.current(optional=True)
        delimiters = [getattr(self, field) for field in module._TEMPLATE_OVERRIDE_FIELD_NAMES]
        of = (
            source,
            context and context.escape_backslashes,
            delimiters,
            module._TemplateConfig.allow_embedded_templates,
        )
        return once(folder, repr(of), f"template.{tag}", lambda: compile_template(self, source))

    def code(self: Any, source: str, filename: str) -> Any:
        return once(folder, f"{filename}\n{source}", f"expression.{tag}", lambda: compile_code(self, source, filename))

    environment.compile, environment._compile = template, code


def begin(folder: str) -> None:
    changes: dict[str, Callable[[Any], None]] = {
        "ansible.utils.collection_loader._collection_meta": lambda module: _tables(folder, module),
        "ansible.config.manager": lambda module: _settings(folder, module),
        "ansible.module_utils._internal._datatag": _copies,
        "ansible._internal._templating._jinja_bits": lambda module: _templates(folder, module),
        "ansible._internal._yaml._loader": lambda module: _yaml(folder, module),
    }
    sys.meta_path.insert(0, Finder(changes))  # type: ignore[arg-type]
    sys.modules.setdefault("invoke", None)  # type: ignore[arg-type]
