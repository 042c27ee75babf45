"""What each rank said: the tagged output of any program under mpirun, taken apart."""

from __future__ import annotations

import dataclasses

from .reading import RECORD_LIMIT, PartsReader, Several, names
from .tags import Line


@dataclasses.dataclass(frozen=True)
class RankLines:
    rank: int
    lines: list[str]


class Reader(PartsReader[RankLines]):
    name = "answers"
    wants = "line with the tag of a rank"
    MOST = MOST_RANKS = RECORD_LIMIT

    def line(self, line: Line) -> None:
        text = line.text.strip()
        if line.rank is None or line.stream != "stdout" or not text:
            return
        if self.rows >= RECORD_LIMIT:
            self.problems.add("too_many_lines", most=RECORD_LIMIT)
            return
        self.rows += 1
        (self.current.get(line.rank) or self.begin(line.rank, RankLines(line.rank, []))).lines.append(text)

    def found(self) -> Several[RankLines]:
        silent = [rank for rank in range(self.expected_ranks or 0) if rank not in self.current]
        if self.parts or self.problems:
            self.problems.add_if(silent, "missing_ranks", ranks=self.expected_ranks, silent=names(silent))
        return self.several("answers", sorted(self.parts, key=lambda part: part.rank), self.parts)


read = Reader.read
