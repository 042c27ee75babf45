"""What each rank said: the tagged output of any program under mpirun, taken apart."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

from .reading import RECORD_LIMIT, LogReader, Problem, Several, names, plain_problems
from .tags import Line


@dataclasses.dataclass(frozen=True)
class Answers(Several):
    PARTS = "by_rank"
    by_rank: Mapping[int, tuple[str, ...]]
    problems: tuple[Problem, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "ok": self.good,
            "answers": [{"rank": rank, "lines": list(lines)} for rank, lines in sorted(self.by_rank.items())],
            "problems": plain_problems(self.problems),
        }


class Reader(LogReader[Answers]):
    wants = "line with the tag of a rank"

    def __init__(self, ranks: int | None = None) -> None:
        super().__init__()
        self._ranks = ranks
        self._said: dict[int, list[str]] = {}
        self._kept = 0

    def line(self, line: Line) -> None:
        text = line.text.strip()
        if line.rank is None or line.stream != "stdout" or not text:
            return
        if self._kept >= RECORD_LIMIT:
            self.problems.add("too_many_lines", f"more than {RECORD_LIMIT} lines of answers; the rest is left out")
            return
        self._kept += 1
        self._said.setdefault(line.rank, []).append(text)

    def result(self) -> Answers:
        self.finish()
        if not self._said and not self.problems:
            self.nothing()
        elif self._ranks is not None:
            silent = [rank for rank in range(self._ranks) if rank not in self._said]
            if silent:
                self.problems.add("missing_ranks", f"of {self._ranks} ranks these said nothing: {names(silent)}")
        return Answers({rank: tuple(lines) for rank, lines in self._said.items()}, self.problems.all())


read = Reader.read
