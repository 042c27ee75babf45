"""Words that hide the subject of a sentence stay rare in what ships: name the user, host or run instead."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

from tests.unit.roles.collection import ROOT

MOST = (
    20  # in all folders together: names that others gave (the account nobody), and sentences still to be written anew
)
FOLDERS = ("plugins", "roles", "playbooks", "docs")
WORDS = re.compile(r"\b(told|somebody|nobody|whoever|stands)\b", re.IGNORECASE)


def _found(path: pathlib.Path) -> Iterator[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return
    for number, line in enumerate(lines, 1):
        for word in WORDS.findall(line):
            yield f"{path.relative_to(ROOT)}:{number}: {word}"


def test_words_without_a_subject_are_rare() -> None:
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]
    # A list of words has no sentences.
    texts = [path for path in files if "__pycache__" not in path.parts and path.name != "words.txt"]
    found = [place for path in texts for place in _found(path)]
    assert len(files) > 500
    assert len(found) <= MOST, "\n".join(found)


def test_words_are_found_in_any_case_but_not_in_names() -> None:
    assert WORDS.findall("Nobody was told; it stands. WHOEVER, somebody's") == [
        "Nobody",
        "told",
        "stands",
        "WHOEVER",
        "somebody",
    ]
    assert not WORDS.findall("_told, understands, TOLD_BY")
