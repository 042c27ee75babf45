"""What all readers share."""

from __future__ import annotations

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.perf_tables import PerfTables, Table
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.reading import Problem

ODD = Problem("odd", "looks odd")


def table(*problems: str) -> Table:
    made = Table(("batch", "resnet"), None, "scoring", None, [(1.0, 2.0)])
    for problem in problems:
        made.problems.add(problem, "is wrong")
    return made


@pytest.mark.parametrize(
    ("tables", "problems", "good", "codes"),
    [
        ((table(), table()), (), True, []),
        ((), (), False, []),
        ((table(),), (ODD,), False, ["odd"]),
        ((table(), table("cut")), (), False, ["cut"]),
        ((table("cut"), table("odd")), (ODD,), False, ["odd", "cut", "odd"]),
    ],
    ids=["right", "nothing", "the log", "a part", "both"],
)
def test_a_result_of_several_parts_is_good_if_there_are_some_and_nothing_is_wrong(
    tables: tuple[Table, ...], problems: tuple[Problem, ...], good: bool, codes: list[str]
) -> None:
    found = PerfTables(tables, problems)
    assert found.good is found.as_dict()["ok"] is good
    assert [problem["code"] for problem in found.as_dict()["problems"]] == codes
    assert found.as_dict()["tables"] == [part.as_dict() for part in tables]
