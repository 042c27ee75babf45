"""What each rank said: the tagged output of any program under mpirun, taken apart."""

from __future__ import annotations

import dataclasses

from .reading import RECORD_LIMIT, LogReader, Several, names
from .tags import Line


@dataclasses.dataclass(frozen=True)
class RankLines:
    rank: int
    lines: list[str]


class Reader(LogReader[Several[RankLines]]):
    name = "answers"
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
            self.problems.add("too_many_lines", most=RECORD_LIMIT)
            return
        self._kept += 1
        self._said.setdefault(line.rank, []).append(text)

    def result(self) -> Several[RankLines]:
        self.finish()
        if not self._said and not self.problems:
            self.nothing()
        elif self._ranks is not None:
            silent = [rank for rank in range(self._ranks) if rank not in self._said]
            if silent:
                self.problems.add("missing_ranks", ranks=self._ranks, silent=names(silent))
        return Several("answers", tuple(RankLines(*said) for said in sorted(self._said.items())), self.problems.all())


read = Reader.read
