"""What the report finds of the stages."""

import json
import os
import pathlib


def test_each_stage_is_noted_in_order_with_its_time():
    written = json.loads((pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"]) / "marks.json").read_text())
    marks = written["marks"]
    assert [mark["name"] for mark in marks] == ["first", "second"]
    # Seconds since 1970 in UTC, as they are when the converge writes them.
    assert written["at"] - 60 < marks[0]["at"] <= marks[1]["at"] <= written["at"]
