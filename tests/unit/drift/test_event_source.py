"""The event source drift: one event for each change of drift.json, none while nothing changes."""

from __future__ import annotations

import asyncio
import json
import pathlib
from typing import Any

import pytest
import yaml

from tests.unit.roles.collection import ROOT, program

SOURCE = program(ROOT / "extensions" / "eda" / "plugins" / "event_source" / "drift.py")
ROW = {"host": "gpu01", "layer": "guest", "device": "", "state": "differs", "what": ["MTU 1500 -> 9000"]}


def answer(verdict: str = "right", *rows: dict[str, Any], simulated: bool = False) -> dict[str, Any]:
    return {"verdict": verdict, "simulated": simulated, "drift": list(rows)}


@pytest.mark.parametrize(
    ("before", "now", "new", "gone"),
    [
        (answer(), answer("differs", ROW), [ROW], []),
        (answer("differs", ROW), answer(), [], [ROW]),
        (answer("differs", ROW), answer("differs", {**ROW, "host": "gpu02"}), [{**ROW, "host": "gpu02"}], [ROW]),
        (answer(), answer("not readable"), [], []),
    ],
)
def test_a_change_is_an_event(before: Any, now: Any, new: Any, gone: Any) -> None:
    found = SOURCE.event(before, now)["drift"]
    assert (found["verdict"], found["before"], found["new"], found["gone"]) == (
        now["verdict"],
        before["verdict"],
        new,
        gone,
    )


@pytest.mark.parametrize("same", [answer(), answer("differs", ROW), answer("not readable")])
def test_no_change_is_no_event(same: Any) -> None:
    assert SOURCE.event(same, same) is None


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"verdict": "right"}'])
def test_a_file_that_is_no_answer_is_not_readable(tmp_path: pathlib.Path, text: str | None) -> None:
    path = tmp_path / "drift.json"
    if text is not None:
        path.write_text(text)
    found = SOURCE.read(path)
    assert found["verdict"] == "not readable" and str(path) in found["error"]


def test_the_source_speaks_once_for_each_change(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "drift.json"
    path.write_text(json.dumps(answer("differs", ROW, simulated=True)))

    async def listen() -> list[Any]:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.create_task(SOURCE.main(queue, {"path": str(path), "seconds": 0.01}))
        first = await asyncio.wait_for(queue.get(), 10)
        path.write_text(json.dumps(answer("differs", ROW, simulated=True)) + "\n")  # written again, and the same
        path.write_text(json.dumps(answer()))
        second = await asyncio.wait_for(queue.get(), 10)
        task.cancel()
        return [first, second, queue.qsize()]

    first, second, left = asyncio.run(listen())
    assert first["drift"]["simulated"] and first["drift"]["new"] == [ROW]
    assert second["drift"]["gone"] == [ROW] and left == 0


def test_the_rulebook_asks_for_what_the_source_says() -> None:
    (rulebook,) = yaml.safe_load((ROOT / "extensions" / "eda" / "rulebooks" / "drift.yml").read_text())
    assert list(rulebook["sources"][0]) == ["rocemesh.multinode.drift"]
    asked = " ".join(rule["condition"] for rule in rulebook["rules"])
    assert (
        all(f'"{verdict}"' in asked for verdict in ("right", "differs", "not readable"))
        and "event.drift.verdict" in asked
    )
