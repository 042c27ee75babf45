"""Marked blocks: nobody else's byte changes."""

from __future__ import annotations

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh import blocks
from hypothesis import given
from hypothesis import strategies as st

LINES = st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=40))
# Arbitrary bytes, with the pieces that make line editors fail: no last newline, CRLF, lone CR, NUL, half markers.
FOREIGN = st.lists(
    st.one_of(
        st.binary(max_size=30),
        st.sampled_from([b"\n", b"\r\n", b"\r", b"\x00", b"ssh-ed25519 AAAA a@b", b"# BEGIN", b"# END rocemesh", b" "]),
    ),
    max_size=12,
).map(b"".join)


def body(content: bytes | None) -> list[str] | None:
    return blocks.edit(content, None)[0]


def ensure(content: bytes | None, lines: list[str]) -> bytes:
    edited = blocks.edit(content, lines)[1]
    assert edited is not None
    return edited


def remove(content: bytes | None) -> bytes | None:
    return blocks.edit(content, None)[1]


def has_marker(content: bytes) -> bool:
    try:
        return body(content) is not None
    except blocks.BlockError:
        return True


@given(FOREIGN.filter(lambda content: not has_marker(content)), LINES, LINES)
def test_removing_the_block_gives_back_the_same_bytes(content: bytes, first: list[str], second: list[str]) -> None:
    edited = ensure(ensure(content, first), second)
    assert body(edited) == second
    assert edited.endswith(content)
    assert remove(edited) == content


@given(LINES)
def test_a_file_that_the_block_made_is_removed_with_it(lines: list[str]) -> None:
    assert remove(ensure(None, lines)) is None


@given(LINES)
def test_an_empty_file_of_somebody_else_stays_an_empty_file(lines: list[str]) -> None:
    assert remove(ensure(b"", lines)) == b""


@given(FOREIGN.filter(lambda content: not has_marker(content)), LINES)
def test_editing_twice_is_editing_once(content: bytes, lines: list[str]) -> None:
    once = ensure(content, lines)
    assert ensure(once, lines) == once


@given(
    FOREIGN.filter(lambda c: not has_marker(c)).map(lambda c: c + b"\n"),
    FOREIGN.filter(lambda c: not has_marker(c)),
    LINES,
    LINES,
)
def test_a_moved_block_is_edited_where_it_stands(before: bytes, after: bytes, old: list[str], new: list[str]) -> None:
    if has_marker(before + after):
        return
    moved = before + ensure(after, old)
    edited = ensure(moved, new)
    assert edited.startswith(before) and edited.endswith(after)
    assert remove(edited) == before + after


@given(FOREIGN.filter(lambda content: not has_marker(content)))
def test_lines_added_to_our_new_file_survive_its_removal(added: bytes) -> None:
    assert remove(ensure(None, ["key"]) + added) == (added or None)


BEGIN, END = blocks.BEGIN + b"\n", blocks.END + b"\n"


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (BEGIN + b"key\n", "line 1: # BEGIN"),
        (b"key\n" + END, "line 2: # END"),
        (END + BEGIN, "line 1: # END"),
        (BEGIN + END + BEGIN + END, "line 3: # BEGIN"),
        (BEGIN + BEGIN + END, "line 2: # BEGIN"),
    ],
    ids=["no-end", "no-begin", "wrong-order", "twice", "nested"],
)
def test_damaged_markers_are_refused_and_shown(content: bytes, shown: str) -> None:
    with pytest.raises(blocks.BlockError) as failure:
        ensure(content, [])
    assert shown in failure.value.raw


def test_the_block_comes_first_so_that_its_restrictions_win() -> None:
    assert ensure(b"old\n", ["new"]).splitlines()[1:] == [b"new", blocks.END, b"old"]
