"""What runs on nodes runs on their Python: 3.8 in Ubuntu 20.04, the guide's guest.

Two ways: read the source for what 3.8 does not have, and, where there is a 3.8, import it.
"""

from __future__ import annotations

import ast
import pathlib
import shutil
import subprocess
from typing import Iterator

import ansible
import pytest

from tests.unit.roles.collection import ROOT

ON_NODES = (
    "gpu_info",
    "mlxconfig_ats",
    "node_info",
    "node_manifest",
    "rdma_info",
    "roce_interface",
    "ssh_container_mesh",
)
GENERIC_SINCE_39 = {"list", "dict", "tuple", "set", "frozenset", "type"}
METHODS_SINCE_39 = {"removeprefix", "removesuffix", "is_relative_to", "with_stem", "readlink"}
KEYWORDS_SINCE_310 = {("dataclass", "slots"), ("dataclass", "kw_only"), ("zip", "strict")}


def closure() -> list[pathlib.Path]:
    """The modules and everything of this collection that they import."""
    waiting = [ROOT / "plugins" / "modules" / (name + ".py") for name in ON_NODES]
    waiting += (ROOT / "roles").glob("*/files/*.py")
    found: list[pathlib.Path] = []
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.append(path)
            waiting += imported(path)
    return sorted(found)


def imported(path: pathlib.Path) -> Iterator[pathlib.Path]:
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
        for candidate in (base, *(base / alias.name for alias in node.names)):
            for file in (candidate.with_suffix(".py"), candidate / "__init__.py"):
                if file.is_file():
                    yield file


class Newer(ast.NodeVisitor):
    """Collects what Python 3.8 would only refuse when the line is reached, or the module imported."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: list[str] = []
        self.generic = set(GENERIC_SINCE_39)
        lazy = False
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                lazy = lazy or any(alias.name == "annotations" for alias in node.names)
            if isinstance(node, ast.ImportFrom) and node.module in ("collections", "collections.abc"):
                self.generic |= {alias.asname or alias.name for alias in node.names}
        self.lazy = lazy
        self.visit(tree)

    def note(self, node: ast.expr, what: str) -> None:
        self.found.append(f"line {node.lineno}: {what}")

    def annotation(self, node: ast.expr | None) -> None:
        if node is not None and not self.lazy:
            self.visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        self.annotation(node.annotation)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.annotation(node.annotation)
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.annotation(node.returns)
        for child in (*node.decorator_list, node.args, *node.body):
            self.visit(child)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Name) and node.value.id in self.generic:
            self.note(node, f"{node.value.id}[...] outside an annotation")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        sides = (node.left, node.right)
        if isinstance(node.op, ast.BitOr) and any(
            (isinstance(side, ast.Constant) and side.value is None) or isinstance(side, ast.Dict) for side in sides
        ):
            self.note(node, "| of types or dictionaries")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        of_os = isinstance(node.value, ast.Name) and node.value.id == "os"  # os.readlink is as old as the hills
        if node.attr in METHODS_SINCE_39 and not of_os:
            self.note(node, "." + node.attr)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        for keyword in node.keywords:
            if (name, keyword.arg) in KEYWORDS_SINCE_310:
                self.note(node, f"{name}({keyword.arg}=)")
        self.generic_visit(node)


def newer(source: str) -> list[str]:
    return Newer(ast.parse(source, feature_version=(3, 8))).found


FUTURE = "from __future__ import annotations\n"


@pytest.mark.parametrize(
    "source",
    [
        "def f(a: list[int]) -> None: ...",
        FUTURE + "Alias = dict[str, int]",
        FUTURE + "import typing\nAlias = typing.Union[int, str] | None",
        FUTURE + "from collections.abc import Mapping\nclass A(Mapping[str, int]): ...",
        FUTURE + "both = {**a} | b",
        FUTURE + "'abc'.removeprefix('a')",
        FUTURE + "@dataclasses.dataclass(frozen=True, slots=True)\nclass A: ...",
        FUTURE + "list(zip(a, b, strict=True))",
    ],
)
def test_what_38_does_not_have_is_found(source: str) -> None:
    assert newer(source)


@pytest.mark.parametrize("source", ["match a:\n    case 1: ...", "with (open(a) as b, open(c) as d): ..."])
def test_syntax_that_38_does_not_have_is_found(source: str) -> None:
    with pytest.raises(SyntaxError):
        newer(source)


def test_lazy_annotations_may_say_what_they_like() -> None:
    assert (
        newer(FUTURE + "def f(a: list[int] | None = None) -> dict[str, int]:\n    b: set[int] = set()\n    return {}")
        == []
    )


def test_the_closure_holds_the_layers_of_the_nodes_and_nothing_of_the_controller() -> None:
    packages = {path.parent.name if path.stem != "_layer" else "_layer" for path in closure()}
    assert packages == {"modules", "_layer", "_nic", "_mesh"}


@pytest.mark.parametrize(
    "path", [*closure(), *sorted((ROOT / "workloads").rglob("*.py"))], ids=lambda path: str(path.relative_to(ROOT))
)
def test_code_of_the_nodes_uses_nothing_that_python_38_lacks(path: pathlib.Path) -> None:
    assert newer(path.read_text()) == []


def python38() -> str | None:
    candidates = [
        shutil.which("python3.8"),
        *sorted((pathlib.Path.home() / ".pyenv/versions").glob("3.8.*/bin/python3.8")),
    ]
    for candidate in candidates:
        # a version manager's shim may be there and start nothing
        if candidate and subprocess.run([str(candidate), "-c", ""], check=False, capture_output=True).returncode == 0:
            return str(candidate)
    return None


@pytest.mark.skipif(python38() is None, reason="no Python 3.8 on this machine")
@pytest.mark.parametrize("module", ON_NODES)
def test_module_of_the_nodes_imports_on_python_38(module: str, tmp_path: pathlib.Path) -> None:
    # ansible alone: the rest of this interpreter's packages is not for 3.8
    (tmp_path / "ansible").symlink_to(pathlib.Path(ansible.__file__).parent)
    (tmp_path / "ansible_collections").symlink_to(ROOT / "collections" / "ansible_collections")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.dont_write_bytecode = True\n"
        f"from ansible_collections.rocemesh.multinode.plugins.modules import {module}\n"
        f"print(sys.version_info[:2], callable({module}.main))"
    )
    done = subprocess.run([str(python38()), "-c", program], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "(3, 8) True"), done.stderr
