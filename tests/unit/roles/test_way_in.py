"""What a contributor is told is so: files, names, commands and versions of documents, workflow and hooks."""

from __future__ import annotations

import re
from typing import Any, Iterator

import pytest

from tests.unit.roles.collection import ROOT, load

GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
DOCUMENTS = ("CONTRIBUTING.md", "SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md")
FOLDERS = ("docs", "inventories", "lab", "meta", "molecule", "playbooks", "plugins", "roles", "tests", "workloads")
ROOMS = ("_proof", "_results", "_vsphere")  # CONTRIBUTING.md says where they lie
PLACEHOLDERS = re.compile(r"NAME|ROLE|\bmine\b")
WORKFLOW: dict[str, Any] = load(ROOT / ".github" / "workflows" / "test.yml")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def quoted(text: str) -> Iterator[str]:
    """Words in backquotes; those of commands one by one."""
    for each in re.findall(r"`([^`]+)`", re.sub(r"\s+", " ", text)):
        yield from each.split()


def paths(text: str) -> list[str]:
    """Those of the words and links that are files or folders here, from the repository's root."""
    found = []
    for word in [*quoted(text), *re.findall(r"\]\(([^)#:]+)\)", text)]:
        path = word.partition("::")[0].strip(".,;:")
        first = path.partition("/")[0]
        if PLACEHOLDERS.search(path) or "/" not in path:
            continue
        if first in FOLDERS:
            found.append(path)
        elif first in ROOMS:
            found.append("plugins/module_utils/" + path)
    return found


def steps() -> list[str]:
    """The numbered steps of the recipes."""
    return re.findall(r"^\d+\. .*(?:\n   .*)*", GUIDE[GUIDE.index("## Recipes") :], re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_a_document_names_exist(document: str) -> None:
    assert [path for path in paths((ROOT / document).read_text()) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("step", steps(), ids=lambda step: step[:40])
def test_names_in_a_step_stand_in_a_file_of_the_step(step: str) -> None:
    """Constants and functions: whoever renames one finds the recipe here."""
    names = {word.partition("(")[0] for word in quoted(step) if re.fullmatch(r"_?[A-Z][A-Z_]{3,}|\w+\(\)", word)}
    names = {name for name in names if not PLACEHOLDERS.search(name)}
    files = [ROOT / path for path in paths(step) if (ROOT / path).is_file()]
    known = "\n".join(path.read_text() for path in files)
    assert not files or [name for name in sorted(names) if not re.search(rf"\b{name}\b", known)] == []


def test_recipes_are_read() -> None:
    assert len(steps()) > 30
    assert len(paths(GUIDE)) > 60


def test_recipes_have_at_most_ten_lines() -> None:
    recipes = re.split(r"^### ", GUIDE, flags=re.MULTILINE)[1:]
    long = [recipe.splitlines()[0] for recipe in recipes if len([line for line in recipe.splitlines() if line]) > 11]
    assert long == []


def test_commands_that_the_documents_and_the_workflow_name_are_those_of_the_makefile() -> None:
    named = {suite for job in WORKFLOW["jobs"].values() for suite in job["strategy"]["matrix"].get("suite", [])}
    assert {"lint", "unit", "sanity", "integration", "site", "molecule"} <= named
    for document in DOCUMENTS:
        for command in re.findall(r"(?:`|^ {4})make ([a-z -]+)", (ROOT / document).read_text(), re.MULTILINE):
            named |= set(command.split())
    assert named - TARGETS == set()


def test_the_workflow_begins_with_the_oldest_versions_that_are_promised() -> None:
    cells = WORKFLOW["jobs"]["versions"]["strategy"]["matrix"]["include"]
    core = re.match(r">=(\d+\.\d+)", load(ROOT / "meta" / "runtime.yml")["requires_ansible"])
    python = re.search(r'requires-python = ">=(\d+\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert core and python
    for key, promised in (("core", core[1]), ("python", python[1])):
        assert min((cell[key] for cell in cells), key=lambda text: tuple(map(int, text.split(".")))) == promised


def test_the_workflow_may_only_read_and_takes_actions_by_their_major_version() -> None:
    text = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert "secrets." not in text and "pull_request_target" not in text
    used = re.findall(r"uses: (\S+)", text)
    assert used and all(re.fullmatch(r"[\w./-]+@v\d+", each) for each in used), used


def test_hooks_are_the_tools_of_the_test_runner() -> None:
    runner = (ROOT / "tests" / "run.sh").read_text()
    for hook in load(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]:
        tool, *words = hook["entry"].removeprefix(".venv/bin/").split()
        if tool == "python":
            assert (ROOT / words[0]).is_file()
        else:
            assert f"{tool} {words[0]}" in runner
