"""What the report shows of each rank: key in summary.json, source, and column in both reports. Pure."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

Rank = Mapping[str, Any]


class Fact(NamedTuple):
    """``schema``: of the value in summary.json; ``of``: takes it from what reader ``tf_cnn`` says of a rank."""

    key: str
    schema: Mapping[str, Any]
    of: Callable[[Rank], Any]


class Column(NamedTuple):
    """``text``: of a rank in summary.json; ``figure``: whether the column is one of numbers."""

    heading: str
    text: Callable[[Rank], str]
    figure: bool = True


def _machine(key: str) -> Callable[[Rank], Any]:
    return lambda rank: rank.get("machine", {}).get(key)


def _told(key: str) -> Callable[[Rank], Any]:
    return lambda rank: rank.get(key)


def _step(key: str) -> Callable[[Rank], str]:
    def text(rank: Rank) -> str:
        value = (rank.get("step") or {}).get(key)
        return "-" if value is None else f"{value:,.1f}"

    return text


_TEXT = {"type": ["string", "null"]}
FACTS = (
    Fact("rank", {"type": ["integer", "null"]}, _told("rank")),
    Fact("host", _TEXT, _told("host")),
    Fact("images_per_second", {"type": "number"}, _told("images_per_second")),
    Fact("source", _TEXT, _told("source")),
    Fact("device", _TEXT, _machine("device")),
    Fact("step", {"type": ["object", "null"], "additionalProperties": {"type": "number"}}, _machine("step")),
    Fact("checksum", _TEXT, _machine("checksum")),
)
# The sum of the ranks and the printed total stand below the third.
COLUMNS = (
    Column("rank", lambda rank: "?" if rank["rank"] is None else str(rank["rank"])),
    Column("host", lambda rank: rank["host"] or "unknown", False),
    Column("images/s", lambda rank: f"{rank['images_per_second']:,.2f}"),
    Column("median step, ms", _step("median_ms")),
    Column("95th percentile, ms", _step("p95_ms")),
    Column("device", lambda rank: rank["device"] or "unknown", False),
)


def details(per_rank: Sequence[Rank]) -> list[dict[str, Any]]:
    return [{fact.key: fact.of(rank) for fact in FACTS} for rank in per_rank]


def rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """One for each rank, as long as `COLUMNS`."""
    return [[column.text(rank) for column in COLUMNS] for rank in summary["rank_details"]]
