"""mpirun's output taken apart: whatever the interleaving, each rank's lines come back whole and in order."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import answers
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.tags import (
    Demultiplexer,
    Line,
    lines_of,
)
from hypothesis import given
from hypothesis import strategies as st

RECORDED = pathlib.Path(__file__).parent / "fixtures" / "openmpi414"

# Text of a rank: no control characters, and nothing that looks like a tag.
WORDS = st.text(st.characters(codec="ascii", min_codepoint=32, exclude_characters="[]<>"), min_size=1, max_size=12)


@st.composite
def interleavings(draw: st.DrawFn) -> tuple[str, dict[int, list[str]]]:
    """Output as Open MPI 4.1 makes it: each rank's stream is cut anywhere, each piece gets a tag at its start and after
    each newline in it, and pieces of different ranks follow each other without regard to lines."""
    said = {rank: draw(st.lists(WORDS, max_size=4)) for rank in range(draw(st.integers(1, 4)))}
    pieces: dict[int, list[str]] = {}
    for rank, lines in said.items():
        stream = "".join(line + "\n" for line in lines)
        cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=4)))
        edges = [0, *cuts, len(stream)]
        pieces[rank] = [stream[a:b] for a, b in zip(edges, edges[1:]) if a < b]
    order = draw(st.permutations([rank for rank, parts in pieces.items() for _part in parts]))
    out = ""
    for rank in order:
        piece = pieces[rank].pop(0)
        tag = f"[1,{rank}]<stdout>:"
        body = piece[:-1].replace("\n", "\n" + tag) + "\n" if piece.endswith("\n") else piece.replace("\n", "\n" + tag)
        out += tag + body
    return out, said


@given(interleavings())
def test_every_line_returns_to_its_rank_whatever_the_interleaving(case: tuple[str, dict[int, list[str]]]) -> None:
    out, said = case
    lines = [line for line in lines_of(out) if line.rank is not None]
    for rank, expected in said.items():
        assert [line.text for line in lines if line.rank == rank] == expected


@given(interleavings(), st.data())
def test_the_size_of_the_chunks_does_not_matter(case: tuple[str, dict[int, list[str]]], data: st.DataObject) -> None:
    out, _said = case
    reader = Demultiplexer()
    lines: list[Line] = []
    rest = out
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        lines += reader.lines(rest[:size])
        rest = rest[size:]
    assert [*lines, *reader.rest()] == lines_of(out)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1,0]<stdout>:a\n", [Line(0, "stdout", "a")]),
        ("[1,12]<stderr>:a\n", [Line(12, "stderr", "a")]),
        ("[1,1]<stdout>:a[1,0]<stdout>:b\n[1,1]<stdout>:\n", [Line(0, "stdout", "b"), Line(1, "stdout", "a")]),
        ("mpirun says[1,0]<stdout>:b\n", [Line(None, "stdout", "mpirun says"), Line(0, "stdout", "b")]),
        ("[1,0]<stdout>:50%\r100%\n", [Line(0, "stdout", "50%"), Line(0, "stdout", "100%")]),
        ("[1,0]<stdout>:a\r\n", [Line(0, "stdout", "a")]),
        ("[1,0]<stdout>:no newline", [Line(0, "stdout", "no newline", ended=False)]),
        ("Sat Nov 21 07:06:02 2026<stdout>:a\n", [Line(None, "stdout", "a")]),
        ("[1,0]<stdout>:50%\r\r100%\r\n", [Line(0, "stdout", "50%"), Line(0, "stdout", "100%")]),
        ("Sat Nov 21 07:42:28 2026[1,3]<stdout>:a\n", [Line(3, "stdout", "a")]),
        ("[Sat Nov 21 07:33:55 2026][1,3]<stdout>: a\n", [Line(3, "stdout", " a")]),
        ("a[Sat Nov 21 07:42:28 2026[1,3]<stdout>:b\n", [Line(None, "stdout", "a["), Line(3, "stdout", "b")]),
        ("plain\n", [Line(None, "stdout", "plain")]),
        ("", []),
    ],
)
def test_forms_of_tags(text: str, expected: list[Line]) -> None:
    assert lines_of(text) == expected


def test_recorded_timestamps_and_unterminated_lines() -> None:
    said = answers.read((RECORDED / "tag_timestamp.txt").read_bytes()).parts
    assert {each.rank: each.lines for each in said} == {rank: ["out", "partial 50%", "100%"] for rank in range(4)}


def test_recorded_traceback_torn_by_tags_is_whole_again() -> None:
    text = (RECORDED / "traceback_gpu_memory.txt").read_text()
    assert "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:11454" in [
        line.text for line in lines_of(text) if line.rank == 0
    ]
