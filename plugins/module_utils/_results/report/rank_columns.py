"""What the report shows of each rank: key in summary.json, source, and column in both reports. Pure."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

Rank = Mapping[str, Any]


class Column(NamedTuple):
    """``text``: of a rank in summary.json; ``figure``: whether the column is one of numbers."""

    heading: str
    text: Callable[[Rank], str]
    figure: bool = True


def _step(key: str) -> Callable[[Rank], str]:
    def text(rank: Rank) -> str:
        value = (rank.get("step") or {}).get(key)
        return "-" if value is None else f"{value:,.1f}"

    return text


# Keys in summary.json: what reader ``tf_cnn`` says of a rank, and what the machine line of the rank says.
OF_RANK = ("rank", "host", "images_per_second", "source")
OF_MACHINE = ("device", "step", "checksum")
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
    return [
        {**{key: rank.get(key) for key in OF_RANK}, **{key: rank.get("machine", {}).get(key) for key in OF_MACHINE}}
        for rank in per_rank
    ]


def rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """One for each rank, as long as `COLUMNS`."""
    return [[column.text(rank) for column in COLUMNS] for rank in summary["rank_details"]]
