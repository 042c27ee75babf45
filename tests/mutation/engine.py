"""Runs tests on one mutant after the other, in a copy of the tree.

This process has loaded everything that does not change (pytest, ansible, the libraries); each mutant gets a fork of it,
which reads the tree anew. So a mutant costs what its tests cost.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pathlib
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

import hypothesis
import pytest

from tests.mutation.mutant import Mutant
from tests.mutation.plugin import Recorder, Selector

_LIBRARIES = (
    "ansible.module_utils.basic", "ansible.plugins.loader", "ansible.template", "ansible.parsing.dataloader",
    "asyncssh", "cryptography.hazmat.primitives.asymmetric.rsa", "hypothesis.strategies", "jinja2",
    "jsonschema", "netmiko", "nvueschema", "pyVim.connect", "pyVmomi", "requests", "unittest.mock", "yaml",
)  # fmt: skip
# A stuck test is a test that notices; tests of a room take seconds. Patience is CPU time, so that a busy machine is no
# stuck test; what waits without working has this many times as long.
_PATIENCE = 20.0
_WAITING = 10.0


def copied(home: pathlib.Path) -> pathlib.Path:
    """The working tree as it is, without what git ignores."""
    copy = pathlib.Path(tempfile.mkdtemp(prefix="rocemesh-mutation-"))
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=home, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        source, target = home / name, copy / name
        if source.is_symlink() or source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    (copy / ".venv").symlink_to((home / ".venv").resolve())
    return copy


def load_libraries() -> None:
    for name in _LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    hypothesis.settings.register_profile("mutation", derandomize=True, database=None, max_examples=30, deadline=None)
    hypothesis.settings.load_profile("mutation")
    gc.freeze()


@contextlib.contextmanager
def planted(mutant: Mutant) -> Iterator[Mutant]:
    path = pathlib.Path(mutant.file)
    original = path.read_bytes()
    try:
        path.write_text(mutant.text)
        _forget_compiled(path)
        yield mutant
    finally:
        path.write_bytes(original)
        _forget_compiled(path)


def _forget_compiled(path: pathlib.Path) -> None:
    """Python tells by second and size whether a file changed; a mutant may have both."""
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()


def ask(tests: Sequence[str], patience: float = _PATIENCE) -> str:
    """Which of the tests (named as for pytest, the likeliest first) fails now, or what ended them, or nothing."""
    files = list(dict.fromkeys(name.split("::")[0] for name in tests))
    selector = Selector(tests)

    def run() -> str:
        code = pytest.main(["-x", "-q", "--tb=no", "--no-header", *_QUIET, *files], plugins=[selector])
        return json.dumps(selector.failed or ("" if code in (0, 5) else f"pytest ended with {int(code)}"))

    said = _in_a_fork(run, patience)
    return str(json.loads(said)) if said else "did not end in time, or died"


# Without its plugin hypothesis does not read all modules for constants first; load_libraries() gives it its settings.
_PLUGINS = ("xdist", "testinfra", "molecule", "ansible", "hypothesispytest")
_QUIET = [word for name in _PLUGINS for word in ("-p", f"no:{name}")]


def control(tests: Sequence[str]) -> None:
    """What is said of a mutant means something only if the same tests, asked the same way, pass on the right code."""
    found = ask(tests, 600.0)
    if found:
        raise SystemExit(f"{found} fails although nothing is changed")


def record(paths: Sequence[str], files: Sequence[str]) -> dict[str, dict[str, list[int] | float]]:
    """Runs these tests once on the tree as it is: per test its seconds and what it enters of ``files``."""
    root = pathlib.Path.cwd()
    # Modules are imported through the link collections/ansible_collections/..., which is this folder again.
    link = root / "collections/ansible_collections/rocemesh/multinode"
    names = {str(link / name): name for name in files} | {str(root / name): name for name in files}

    def run() -> str:
        recorder = Recorder(list(names))
        code = pytest.main(["-q", "--tb=short", "--no-header", *_QUIET, *paths], plugins=[recorder])
        if code != 0:
            return json.dumps({"failed": recorder.failed or [f"pytest ended with {int(code)}"]})
        found: dict[str, dict[str, list[int] | float]] = {}
        for test, lines in recorder.entered.items():
            entry: dict[str, list[int] | float] = {"seconds": recorder.seconds[test]}
            for path, line in sorted(lines):
                numbers = entry.setdefault(names[path], [])
                assert isinstance(numbers, list)
                numbers.append(line)
            found[test] = entry
        return json.dumps(found)

    said = json.loads(_in_a_fork(run, 3600.0) or '{"failed": ["the recording ended early"]}')
    if "failed" in said:
        raise SystemExit(f"{_LOG.read_text()[-5000:]}\nthe tests fail without any mutant: {said['failed']}")
    return dict(said)


_LOG = pathlib.Path.cwd() / ".build/mutation.log"


def _in_a_fork(run: Callable[[], str], patience: float) -> str:
    """What ``run`` returns in a child, or nothing: it died, or took longer. Nothing that it started is left."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (int(patience) + 1, int(patience) + 2))
        _child(run, read_end, write_end)
    os.close(write_end)
    try:
        return _read(read_end, patience * _WAITING)
    finally:
        os.close(read_end)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _child(run: Callable[[], str], read_end: int, write_end: int) -> None:
    os.setpgid(0, 0)
    os.close(read_end)
    _LOG.parent.mkdir(exist_ok=True)
    log = os.open(_LOG, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    for number in (1, 2):
        os.dup2(log, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    said = b""
    with contextlib.suppress(BaseException):
        said = run().encode()
    while said:
        said = said[os.write(write_end, said) :]
    sys.stdout.flush()
    os._exit(0)


def _read(descriptor: int, patience: float) -> str:
    end, said = time.monotonic() + patience, b""
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            return ""
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            return said.decode()
        said += piece
