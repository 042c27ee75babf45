"""The documents form one site: every page is reachable from the map, and what is generated is current."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
import types

import pytest

from tests.mutation import figures
from tests.unit.roles.collection import ROOT


@pytest.fixture(scope="module")
def site() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("documents_site", ROOT / "docs" / "site.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference_page_is_current(site: types.ModuleType) -> None:
    assert (ROOT / "docs" / "reference.md").read_text() == site.reference(), (
        f"run {sys.executable} docs/site.py --reference"
    )


def test_each_page_is_in_the_map(site: types.ModuleType) -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    linked = {
        (ROOT / "docs" / f"{target}.md").resolve() for _part, targets in site.contents(index) for target in targets
    }
    pages = {path for path in (ROOT / "docs").glob("*.md") if path.name != "index.md"}
    assert pages - linked == set()


def test_link_to_a_missing_file_is_refused(site: types.ModuleType) -> None:
    page = ROOT / "docs" / "index.md"
    with pytest.raises(ValueError, match=r"docs/index\.md.*missing\.yml"):
        site.with_links("[a](../missing.yml)", page, set())


def test_link_to_a_file_without_page_leads_to_the_repository(site: types.ModuleType) -> None:
    page = ROOT / "docs" / "index.md"
    assert site.with_links("[a](../site.yml)", page, set()) == f"[a]({site.REPOSITORY}site.yml)"
    assert site.with_links("[a](install.md)", page, {ROOT / "docs" / "install.md"}) == "[a](install.md)"


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 120


def test_no_page_is_larger_than_galaxy_takes() -> None:
    """512 KiB: galaxy_importer.utils.markup."""
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs").glob("*.md")}
    assert {name: size for name, size in sizes.items() if size > 512 << 10} == {}


def test_glossary_is_sorted_and_defines_each_word_once() -> None:
    rows = [line.split("|")[1].strip() for line in (ROOT / "docs" / "glossary.md").read_text().splitlines()[6:]]
    assert rows == sorted(set(rows), key=str.casefold)
    assert len(rows) > 30
    assert pathlib.Path(ROOT / "docs" / "glossary.md").read_text().count("](") >= 2


def test_the_page_of_mutations_is_made_from_the_results() -> None:
    assert figures.PAGE.read_text() == figures.page(), "python -m tests.mutation.figures"
