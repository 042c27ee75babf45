"""Read published tables of speeds: MXNet's performance guide (batch x model) and DLPerf's (nodes x GPUs). Pure.

So published and own numbers can stand in one table. Values are taken as printed, also where they look odd. A page may
come with every line wrapped in ``| ... |`` (as a listing on the web), and with or without bars at the ends of a row.
The subject of a table is above it: the nearest heading (scoring or training) and the nearest list item (the device).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from .reading import PartsReader, Problems, Several, integer, number, shown
from .tables import Patterns
from .tags import Line

_ROWS = 4096
_LINES = Patterns("perf_tables.yml")
_FIRST = ("batch", "node_num")
_WHOLE = (*_FIRST, "gpu_num")
_SPEEDUP_ROUNDING = 0.0101


@dataclasses.dataclass
class Table:
    """``columns``: names, the first one is batch or node_num; ``rows``: numbers in their order (images/s or samples/s).

    ``kind``: scoring, training, scaling or unknown; ``device``: as the page names it, None if it does not.
    """

    columns: tuple[str, ...]
    heading: str | None
    kind: str
    device: str | None
    rows: list[tuple[float, ...]] = dataclasses.field(default_factory=list)
    problems: Problems = dataclasses.field(default_factory=lambda: Problems("perf_tables"))

    def as_dict(self) -> dict[str, Any]:
        rows = [dict(zip(self.columns, row)) for row in self.rows]
        ok = bool(self.rows) and not self.problems
        return shown(self, "kind", "heading", "device", "columns", "problems", ok=ok, rows=rows)


class Reader(PartsReader[Table]):
    name = "perf_tables"
    wants = "table of speeds (Batch | model ..., or node_num | gpu_num | samples/s)"
    page = True
    _heading: str | None = None
    _item: str | None = None
    _header: tuple[str, ...] | None = None
    _table: Table | None = None

    def line(self, line: Line) -> None:
        text = line.text.strip()
        if "|" in text:
            cells = [cell.strip() for cell in text.strip("| \t").split("|")]
            if len(cells) > 1:
                self._cells(tuple(cells), text, line.ended)
                return
            text = cells[0] if cells else ""
        if heading := _LINES["heading"].match(text):
            self._heading, self._item = heading["text"].strip(), None
        elif item := _LINES["item"].match(text):
            self._item = item["text"].strip()
        if text or self._table is None or self._table.rows:
            self._table = self._header = None

    def found(self) -> Several[Table]:
        for table in self.parts:
            table.problems.add_if(not table.rows, "no_rows", columns=" | ".join(table.columns)[:120])
            _judge(table)
        return self.several("tables", self.parts, self.parts)

    def _cells(self, cells: tuple[str, ...], text: str, ended: bool) -> None:
        if cells[0].lower() in _FIRST:
            self._header, self._table = cells[:64], None
        elif self._header is not None and all(_LINES["rule"].fullmatch(cell) for cell in cells):
            about, device = self._heading, self._item
            kind = next((kind for kind in ("scoring", "training") if kind in (about or "").lower()), "unknown")
            # DLPerf's tables stand in running text: what is above them is not about them.
            if self._header[0].lower() == "node_num":
                about, device, kind = None, None, "scaling"
            self._table = self.begin(None, Table(self._header, about, kind, device))
        elif self._table is not None:
            columns = self._table.columns
            values = [(name.lower() in _WHOLE and integer(cell)) or number(cell) for name, cell in zip(columns, cells)]
            sound = len(cells) == len(columns) and None not in values and integer(cells[0]) is not None
            if not sound or (not ended and not text.endswith("|")):
                self._table.problems.add("unreadable_row", row=text[:160])
            elif len(self._table.rows) < _ROWS:
                self._table.rows.append(tuple(value for value in values if value is not None))


def _judge(table: Table) -> None:
    if not all(math.isfinite(value) and value >= 0 for row in table.rows for value in row):
        table.problems.add("not_finite")
        return
    if table.columns[-1] == "speedup" and "samples/s" in table.columns and table.rows and table.rows[0][-1] == 1:
        speed = table.columns.index("samples/s")
        first = table.rows[0][speed]
        for row in table.rows:
            if first <= 0 or abs(row[speed] / first - row[-1]) >= _SPEEDUP_ROUNDING:
                table.problems.add("speedup_disagrees", speed=row[speed], speedup=row[-1], first=first)


read = Reader.read
