"""The machine line of a rank: ``ROCEMESH {...}``, one JSON object, as workloads/resnet50/output.py prints it. Pure."""

from __future__ import annotations

import json
import sys
from typing import Any, Collection, Mapping

from .reading import Problems, who

MARK = "ROCEMESH {"
NEEDLE = MARK.encode()


def record_of(text: str, tag: int | None, problems: Problems) -> dict[str, Any] | None:
    """The record behind the mark in a line with mpirun's ``tag``; None: it cannot be read, which is a problem."""
    try:
        record: dict[str, Any] = json.JSONDecoder().raw_decode(text, text.index(MARK) + len(MARK) - 1)[0]
        check(record)
        return record
    except (json.JSONDecodeError, RecursionError) as error:
        said = f"no whole JSON object ({error})"
    except ValueError as error:
        said = str(error)
    problems.add("unreadable_machine_line", who=who(tag), error=said, line=text[:200])
    return None


def is_foreign(record: Mapping[str, Any], tag: int | None, problems: Problems) -> bool:
    """Whether a record of a job names another rank than the tag of its line, which is a problem."""
    foreign = tag is not None and tag != record["rank"] and record["world"] > 1
    problems.add_if(foreign, "rank_conflict", tag=tag, rank=record["rank"])
    return foreign


def weights_differ(records: Collection[Mapping[str, Any]]) -> bool:
    checksums = {str(record["checksum"]) for record in records if record.get("checksum")}
    return len(checksums) > 1 or any(record.get("checksums_equal") is False for record in records)


def check(record: Mapping[str, Any]) -> None:
    """Raises ValueError unless rank, world and images_per_second are there and make sense."""
    for key in ("rank", "world", "images_per_second"):
        if key not in record:
            raise ValueError(f"it has no {key}")
        if isinstance(record[key], bool) or not isinstance(record[key], (int, float)):
            raise ValueError(f"{key} is {record[key]!r:.60}, not a number")
    rank, world, speed = record["rank"], record["world"], real(record["images_per_second"])
    if not isinstance(rank, int) or not isinstance(world, int) or not 0 <= rank < world:
        raise ValueError(f"rank {rank!r:.20} of {world!r:.20} ranks makes no sense")
    if speed is None or speed <= 0:
        raise ValueError(f"images_per_second {record['images_per_second']!r:.60} is not a positive number")


def real(value: Any) -> float | None:
    """A finite float; None for anything else (also for an integer too large to be one, and for a bool). Ansible's
    numbers are of classes of their own."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) <= sys.float_info.max else None
