"""Tables that SONiC's commands print for people. Pure.

Source of the forms: sonic-net/sonic-utilities, doc/Command-Reference.md (show version, interfaces counters, pfc
counters, queue counters, queue wredcounters, lldp table) and scripts/lldpshow. Columns are found by the line of dashes
below the headings, as the library tabulate draws it, so that a column may be empty and a cell may have blanks.
"""

from __future__ import annotations

import re
from typing import Iterator, Mapping

from .._layer import ParseError
from .._switch.guards import Neighbor

_RULE = re.compile(r"\s*-+(?:\s+-+)+\s*")
_VERSION = re.compile(r"^SONiC Software Version: (?:SONiC\.)?(\S+)", re.MULTILINE)
_NUMBER = re.compile(r"\d[\d,]*")
Row = Mapping[str, str]


def version(host: str, text: str) -> str:
    match = _VERSION.search(text)
    if match is None:
        raise ParseError("no release in 'show version'", host=host, raw=text)
    return match[1]


def tables(host: str, what: str, text: str) -> Iterator[list[Row]]:
    """Each table of the text as rows by heading. Raises `ParseError` if there is none, or a line does not fit."""
    lines, found = text.splitlines(), False
    for number, line in enumerate(lines):
        if number and _RULE.fullmatch(line):
            found = True
            spans = [match.span() for match in re.finditer(r"-+", line)]
            heads = _cells(lines[number - 1], spans)
            if heads is None or "" in heads:
                raise ParseError(f"headings of {what} do not stand above their columns", host=host, raw=text)
            yield list(_rows(host, what, lines[number + 1 :], heads, spans))
    if not found:
        raise ParseError(f"no table in {what}", host=host, raw=text)


def _rows(host: str, what: str, lines: list[str], heads: list[str], spans: list[tuple[int, int]]) -> Iterator[Row]:
    begun = False
    for line in lines:
        if not line.strip():
            if begun:
                return
            continue
        if set(line.strip()) == {"-"}:  # what closes the table of LLDP
            return
        cells = _cells(line, spans)
        if cells is None:
            raise ParseError(f"a line of {what} does not fit its columns", host=host, raw=line)
        begun = True
        yield dict(zip(heads, cells))


def _cells(line: str, spans: list[tuple[int, int]]) -> list[str] | None:
    """None: words stand between the columns."""
    cells = [line[start:end].strip() for start, end in spans]
    between = [line[: spans[0][0]]] + [line[end:start] for (_a, end), (start, _b) in zip(spans, spans[1:])]
    return None if any(gap.strip() for gap in [*between, line[spans[-1][1] :]]) else cells


def count(host: str, cell: str) -> int | None:
    """A counter with its commas; None for N/A, which is no zero. Raises `ParseError`."""
    if cell in ("N/A", ""):
        return None
    if not _NUMBER.fullmatch(cell):
        raise ParseError("not a counter", host=host, raw=cell)
    return int(cell.replace(",", ""))


def states(host: str, text: str) -> dict[str, tuple[bool | None, dict[str, int]]]:
    """Of 'show interfaces counters': port -> (link, counters).

    STATE is U (up), D (down) or X (switched off); N/A is not known.
    """
    found = {}
    for table in tables(host, "'show interfaces counters'", text):
        for row in table:
            if not {"IFACE", "STATE", "RX_DRP", "TX_DRP"} <= set(row) or row["STATE"] not in ("U", "D", "X", "N/A"):
                raise ParseError("not a row of 'show interfaces counters'", host=host, raw=str(dict(row)))
            counters = {"rx_discards": count(host, row["RX_DRP"]), "tx_discards": count(host, row["TX_DRP"])}
            link = None if row["STATE"] == "N/A" else row["STATE"] == "U"
            kept = {name: value for name, value in counters.items() if value is not None}
            found[row["IFACE"]] = (link, kept)
    return found


def pauses(host: str, text: str, priority: int) -> dict[str, dict[str, int]]:
    """Of 'show pfc counters': port -> rx_pfc_pause and tx_pfc_pause of the priority."""
    found: dict[str, dict[str, int]] = {}
    for table in tables(host, "'show pfc counters'", text):
        for row in table:
            direction = next((word for word in ("rx", "tx") if f"Port {word.title()}" in row), None)
            if direction is None or f"PFC{priority}" not in row:
                raise ParseError("not a row of 'show pfc counters'", host=host, raw=str(dict(row)))
            value = count(host, row[f"PFC{priority}"])
            if value is not None:
                found.setdefault(row[f"Port {direction.title()}"], {})[f"{direction}_pfc_pause"] = value
    return found


def queues(host: str, text: str, heading: str) -> dict[tuple[str, int], int]:
    """Of 'show queue counters' or 'wredcounters': (port, unicast queue) -> the counter below the heading."""
    found = {}
    for table in tables(host, f"queue counters ({heading})", text):
        for row in table:
            if not {"Port", "TxQ", heading} <= set(row):
                raise ParseError(f"not a row of queue counters with {heading}", host=host, raw=str(dict(row)))
            match = re.fullmatch(r"UC(\d+)", row["TxQ"])
            value = count(host, row[heading]) if match else None
            if match and value is not None:
                found[row["Port"], int(match[1])] = value
    return found


def neighbors(host: str, text: str) -> dict[str, tuple[Neighbor, ...]]:
    """Of 'show lldp table': local port -> who is there. Capabilities R (router) and B (bridge) forward."""
    found: dict[str, tuple[Neighbor, ...]] = {}
    if not text.strip():
        return found
    for row in next(tables(host, "'show lldp table'", text)):
        if not {"LocalPort", "RemoteDevice", "RemotePortID"} <= set(row):
            raise ParseError("not a row of 'show lldp table'", host=host, raw=str(dict(row)))
        forwards = bool(set(row.get("Capability", "")) & {"R", "B"})
        neighbor = Neighbor(row["RemoteDevice"], row["RemotePortID"], row.get("RemotePortDescr", ""), forwards)
        found[row["LocalPort"]] = (*found.get(row["LocalPort"], ()), neighbor)
    return found
